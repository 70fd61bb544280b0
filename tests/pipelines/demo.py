#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""What tools/demo leaves, with a clip of one second: every file there, before on the left, and on
the right what the element is for."""
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import PIL.Image

import harness
from frames import photographs

TOOLS = pathlib.Path(__file__).resolve().parents[2] / "tools"
sys.path.append(str(TOOLS))
import demo_render as demo  # noqa: E402


def halves(picture, width):
    return picture[:, :width].astype(float), picture[:, width + demo.GAP:].astype(float)


def contrast(picture):
    """Mean difference of neighbours."""
    return np.abs(np.diff(picture, axis=1)).mean()


def unevenness(picture):
    """Mean standard deviation inside the blocks that cudablockavg was asked for."""
    rows, columns = (length // 16 for length in picture.shape[:2])
    blocks = picture[:rows * 16, :columns * 16].reshape(rows, 16, columns, 16, -1)
    return blocks.std((1, 3)).mean()


def looks_right(element, before, after):
    """Whether `after` shows what the element was asked for."""
    if element in ("cudallf", "cudatonemap"):
        return contrast(after) > 1.3 * contrast(before)
    if element == "cudagaussblur":
        return contrast(after) < 0.5 * contrast(before)
    if element == "cudablockavg":
        return unevenness(after) < 0.2 * unevenness(before)
    return abs(after.mean() - 127.5) < 6 and np.ptp(after) > 100


def check_still(tap, show, directory):
    picture = np.asarray(PIL.Image.open(directory / f"{show.element}.png"))
    photograph = photographs.photograph(show.picture)
    if show.hdr:
        photograph = np.rint(255 * demo.hdr_signal(photograph))
    before, after = halves(picture, photograph.shape[1])
    tap.check((before == photograph).all(), f"{show.element}.png: the photograph on the left")
    tap.check(looks_right(show.element, before, after),
              f"{show.element}.png: the effect on the right")


def check_clip(tap, show, directory, frames):
    path = directory / f"{show.element}.mp4"
    tap.check(b"avc1" in path.read_bytes(), f"{path.name}: H.264")
    raw = directory / "clip.raw"
    width, height = 2 * demo.WIDTH + demo.GAP, demo.HEIGHT
    # Where the width is no multiple of 16, GStreamer 1.26's decoder that writes into downstream's
    # frames now and then aborts.
    harness.launch("filesrc", [f"location={path}"], "! qtdemux ! h264parse ! "
                   "avdec_h264 direct-rendering=false ! videoconvert ! "
                   f"video/x-raw,format=GRAY8,width={width},height={height} ! "
                   "filesink", [f"location={raw}"])
    pictures = np.memmap(raw, np.uint8, "r").reshape(-1, height, width)
    tap.check(len(pictures) == frames, f"{path.name}: {frames} frames of {width}x{height}",
              f"{len(pictures)} frames")
    before, after = halves(pictures[frames // 2], demo.WIDTH)
    tap.check(looks_right(show.element, before, after), f"{path.name}: the effect on the right",
              f"contrast {contrast(before):.2f} became {contrast(after):.2f}, unevenness "
              f"{unevenness(before):.2f} became {unevenness(after):.2f}, mean {after.mean():.1f}")
    moved = np.abs(pictures[0].astype(float) - pictures[frames // 8])[:, :demo.WIDTH].mean()
    tap.check(moved > 3, f"{path.name}: it moves", f"frames differ by {moved:.2f}")


def check_command_line(tap):
    """Nothing is built or made for these."""
    for words, status, says in ((["--help"], 0, "PHOTOGRAPH"),
                                (["--size=3"], 2, "no option --size=3"),
                                (["out", "none.jpg"], 2, "no photograph none.jpg")):
        done = subprocess.run([TOOLS / "demo", *words], stdin=subprocess.DEVNULL, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        tap.check(done.returncode == status and says in done.stdout,
                  f"tools/demo {' '.join(words)}", done.stdout)


def check_own_photograph(tap, directory):
    """One that lies on its side, as cameras store them, is shown upright."""
    exif = PIL.Image.Exif()
    exif[0x0112] = 6  # to be turned clockwise by a quarter
    path = directory / "own.png"
    PIL.Image.fromarray(np.zeros((90, 160, 3), np.uint8)).save(path, exif=exif)
    tap.check(demo.own_photograph(path).shape == (160, 90, 3), "a photograph of one's own, upright")
    (directory / "words.jpg").write_text("no picture")
    try:
        demo.own_photograph(directory / "words.jpg")
        tap.check(False, "a file that is no photograph is refused")
    except SystemExit as error:
        tap.check("words.jpg is no photograph" in str(error),
                  "a file that is no photograph is refused", str(error))


def run(tap):
    check_command_line(tap)
    with tempfile.TemporaryDirectory() as name:
        check_own_photograph(tap, pathlib.Path(name))
    if not demo.exists("x264enc") or not demo.exists("avdec_h264"):
        tap.skip("the demo", "needs x264enc and avdec_h264")
        return
    with tempfile.TemporaryDirectory() as name:
        directory = pathlib.Path(name)
        done = subprocess.run([sys.executable, TOOLS / "demo_render.py", directory, "--seconds=1"],
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False)
        if not tap.check(done.returncode == 0, "the demo runs", done.stdout):
            return
        for show in demo.SHOWS:
            for suffix in ("png", "mp4"):
                words = f"{show.element}.{suffix} (backend {harness.backends()[-1]})"
                tap.check(words in done.stdout, f"says {words}", done.stdout)
            check_still(tap, show, directory)
            check_clip(tap, show, directory, demo.FRAMES_PER_SECOND)


if __name__ == "__main__":
    harness.main(run)
