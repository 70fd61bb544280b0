#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""HDR files, whose light is known, become SDR files by cudafilters-transcode: ffprobe says that
nothing in them speaks of HDR, and their pixels are what that light is in SDR.
"""
import pathlib
import subprocess
import tempfile

import numpy as np

import clips
from clips import harness, transcode
import frames
import tonemap

WIDTH, HEIGHT = 320, 200
FRAMES = 30
TRANSFERS = {"pq": "smpte2084", "hlg": "arib-std-b67"}
LAYOUT = frames.Layout("I420_10LE", WIDTH, HEIGHT)
SDR = ["bt709"] * 3


def photograph():
    return frames.shrunk(frames.photograph(frames.PHOTOGRAPHS[0]), WIDTH, HEIGHT)


def coded(light, transfer):
    """A frame of 10 bits, of light in nits."""
    signal = (tonemap.to_pq if transfer == "pq" else tonemap.to_hlg)(light)
    planes = tonemap.planes_of(signal, tonemap.LUMINANCE_2020, LAYOUT.format, False)
    return bytes(LAYOUT.pack({role: np.floor(plane + 0.5) for role, plane in planes.items()}))


def make_hdr(path, light, transfer, pixels="yuv420p10le", darkens=0.0):
    """A clip with sound, without loss, that says what HDR10 and HLG files do. Each frame has less
    light by `darkens`, of 1, than the one before."""
    words = clips.HDR.replace("smpte2084", TRANSFERS[transfer])
    if transfer == "hlg":
        words = words.split(":hdr10")[0]
    command = ["ffmpeg", "-v", "error", "-y", "-f", "rawvideo", "-pix_fmt", "yuv420p10le", "-s",
               f"{WIDTH}x{HEIGHT}", "-r", "25", "-i", "-", "-f", "lavfi", "-i", "sine=duration=1",
               "-pix_fmt", pixels, "-c:v", "libx265", "-x265-params",
               f"{words}:lossless=1:keyint=10", "-color_primaries", "bt2020", "-color_trc",
               TRANSFERS[transfer], "-colorspace", "bt2020nc", "-tag:v", "hvc1", "-c:a", "aac",
               str(path)]
    subprocess.run(command, check=True, input=b"".join(
        coded(light * (1 - darkens) ** number, transfer) for number in range(FRAMES)))


def first_frame(path):
    """R'G'B' in 0..1, as a player shows it."""
    raw = subprocess.run(["ffmpeg", "-v", "error", "-i", str(path), "-frames:v", "1", "-vf",
                          "scale=in_color_matrix=auto:flags=accurate_rnd+full_chroma_int",
                          "-pix_fmt", "rgb24", "-f", "rawvideo", "-"], check=True,
                         capture_output=True).stdout
    return np.frombuffer(raw, np.uint8).reshape(HEIGHT, WIDTH, 3) / 255


def side_data(path):
    """Kinds of side data, of the container and of the first frame."""
    found = clips.ffprobe(path, "-select_streams", "v", "-show_streams", "-show_frames",
                          "-read_intervals", "%+#1")
    return [data["side_data_type"] for part in (found["streams"][0], found["frames"][0])
            for data in part.get("side_data_list", [])]


def colours(path):
    stream = clips.streams(path)[0]
    return [stream.get(f"color_{name}") for name in ("space", "transfer", "primaries")]


def check_sdr(tap, title, source, result):
    """That the file says so, and that the rest of it stayed."""
    stream = clips.streams(result)[0]
    tap.check(colours(result) == SDR and stream["pix_fmt"] == "yuv420p" and
              stream["color_range"] == "tv", f"{title}: BT.709, 8 bits",
              f"{stream['pix_fmt']} {colours(result)}")
    left = [kind for kind in side_data(result) if "Mastering" in kind or "light" in kind]
    tap.check(not left, f"{title}: no metadata of HDR", str(left))
    problem = clips.differing(clips.times(source, "v"), clips.times(result, "v"), 0.025)
    tap.check(problem is None, f"{title}: every frame", problem or "")
    sound = [[packet.md5 for packet in clips.packets(path, "a")] for path in (source, result)]
    tap.check(sound[0] == sound[1] != [], f"{title}: the sound")


def check_packed_sdr(tap, directory, transfer, extension):
    """SDR that was packed into HDR comes back."""
    before = photograph()
    light = 203 * before ** 2.4 @ tonemap.TO_2020.T
    source = directory / f"packed-{transfer}.{extension}"
    result = directory / f"unpacked-{transfer}.{extension}"
    make_hdr(source, light, transfer)
    tap.check(colours(source)[1] == TRANSFERS[transfer], f"the clip is {transfer}",
              str(colours(source)))
    status, _, said = transcode(source, result, "--to-sdr", "--filter", "cudatonemap peak=203",
                                "--quality", "1")
    if not tap.check(status == 0 and "Warning" not in said, f"{transfer}: to SDR", said):
        return
    check_sdr(tap, transfer, source, result)
    after = first_frame(result)
    difference = 255 * (after - before)
    shift, error = difference.mean((0, 1)), np.abs(difference @ tonemap.LUMINANCE_709)
    tap.check(np.abs(shift).max() < 1.5 and error.mean() < 1.5,
              f"{transfer}: the picture that was packed comes back",
              f"colours moved by {shift}, luma by {error.mean():.2f}")


def check_highlights(tap, directory):
    """What is brighter than white of SDR does not become a white blot."""
    light = tonemap.graded(photograph())
    source, result = directory / "bright.mp4", directory / "shown.mkv"
    make_hdr(source, light, "pq")
    tap.check(len(side_data(source)) >= 2, "the clip has metadata of HDR10", str(side_data(source)))
    status, _, said = transcode(source, result, "--to-sdr", "--encoder", "h264", "--quality", "1")
    if not tap.check(status == 0, "highlights", said):
        return
    check_sdr(tap, "highlights", source, result)
    nits = light @ tonemap.LUMINANCE_2020
    bright = (nits > 250) & (nits < 900)
    luma = 255 * first_frame(result) @ tonemap.LUMINANCE_709
    tap.check(luma[bright].std() > 6 and (luma[bright] > 253).mean() < 0.15,
              "highlights: what is brighter than white keeps its detail",
              f"deviation {luma[bright].std():.1f}, white {(luma[bright] > 253).mean():.2f}")


def check_parts(tap, directory):
    """Parts know what dynamic=true has seen before them."""
    source = directory / "darker.mp4"
    make_hdr(source, tonemap.graded(photograph()), "pq", darkens=0.04)
    pixels = []
    parts = (("--part", "1/3"), ("--part", "2/3"), ("--part", "3/3"), ("--join", "3"))
    for name, dynamic, runs in (("whole", "true", ((),)), ("still", "false", ((),)),
                                ("parted", "true", parts)):
        result, said = directory / f"{name}.mkv", ""
        for words in runs:
            _, _, text = transcode(source, result, "--to-sdr", "--filter",
                                   f"cudatonemap dynamic={dynamic}", "--chunk", "0.4", *words)
            said += text
        if tap.check(result.exists(), f"dynamic={dynamic}, {name}", said):
            check_sdr(tap, name, source, result)
            pixels.append(clips.frames_md5(result))
    tap.check(len(pixels) == 3 and pixels[0] == pixels[2] != pixels[1],
              "parts of dynamic=true are those of a whole run", str(pixels))


def check_ways(tap, directory):
    """cudatonemap may be anywhere in the filter, with or without --to-sdr."""
    source = directory / "bright.mp4"
    for options in (("--filter", "cudatonemap"), ("--filter", "videoflip ! cudatonemap detail=1.2"),
                    ("--to-sdr", "--filter", "videobalance brightness=0.1")):
        result, title = directory / "way.mp4", " ".join(options)
        status, line, said = transcode(source, result, *options, "--overwrite")
        if tap.check(status == 0, title, said):
            check_sdr(tap, title, source, result)
        _, line, _ = transcode(source, result, *options, "--dry-run")
        tap.check(line.count("cudatonemap") == 1, f"{title}: one cudatonemap", line)
    fine = directory / "fine.mkv"
    make_hdr(fine, tonemap.graded(photograph()), "hlg", "yuv422p10le")
    status, line, said = transcode(fine, directory / "way.mkv", "--to-sdr", "--dry-run")
    tap.check(status == 0 and "4:2:0" in said, "4:2:2 becomes 4:2:0, and it says so", said)
    ran = subprocess.run(["bash", "-c", line], check=False, capture_output=True, text=True,
                         timeout=60)
    tap.check(ran.returncode == 0 and colours(directory / "way.mkv") == SDR,
              "--dry-run prints a line that makes SDR", f"{line}\n{ran.stderr}")


def check_other_files(tap, directory):
    plain, result = directory / "plain.mkv", directory / "same.mkv"
    clips.make(plain, "-c:v", "libx265", "-x265-params", "log-level=none", "-pix_fmt",
               "yuv420p10le", seconds=0.4)
    status, _, said = transcode(plain, result, "--to-sdr")
    tap.check(status == 0 and "not marked as HDR" in said, "SDR passes, and it says so", said)
    tap.check(clips.streams(result)[0]["pix_fmt"] == "yuv420p10le", "... with its bits")
    status, _, said = transcode(plain, result, "--overwrite")
    tap.check(status == 2 and "--to-sdr" in said, "nothing to do is refused", said)


def run(tap):
    clips.skip_without_tools()
    with tempfile.TemporaryDirectory() as name:
        directory = pathlib.Path(name)
        check_packed_sdr(tap, directory, "pq", "mp4")
        check_packed_sdr(tap, directory, "hlg", "mkv")
        check_highlights(tap, directory)
        check_parts(tap, directory)
        check_ways(tap, directory)
        check_other_files(tap, directory)


if __name__ == "__main__":
    harness.main(run)
