#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The examples in Python, run as their first lines say, and what they leave looked at."""
import json
import os
import pathlib
import subprocess
import tempfile

import numpy as np
import PIL.Image

import harness
from frames import photographs

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples/python"
PYTHON = "/usr/bin/python3"  # Debian's modules belong to it
ENVIRONMENT = dict(os.environ, GST_PRESET_PATH=str(EXAMPLES.parents[1] / "presets"),
                   GST_PLUGIN_FEATURE_RANK="fakevideosink:MAX")


def lacks(*modules):
    """The first that is not there, or None. `NAME:VERSION` is one of introspection."""
    for module in modules:
        name, _, version = module.partition(":")
        what = (f"import gi; gi.require_version({name!r}, {version!r})" if version
                else f"import {name}")
        if subprocess.run([PYTHON, "-c", what], check=False,
                          stderr=subprocess.DEVNULL).returncode != 0:
            return name
    return None


def start(name, *words, cwd=None):
    return subprocess.run([PYTHON, EXAMPLES / name, *map(str, words)], env=ENVIRONMENT, cwd=cwd,
                          check=False, text=True, timeout=harness.TIMEOUT_SECONDS,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def read(path):
    return np.asarray(PIL.Image.open(path).convert("RGB")).astype(int)


def check_numpy(tap, folder):
    """Blocks are means, whichever way an array goes in; odd widths, gray and alpha, too."""
    lacking = lacks("Gst:1.0", "cv2")
    if lacking:
        tap.skip("numpy_filter.py", f"{lacking} is missing")
        return
    picture = photographs.photograph("chelsea.png")[:240, :320]
    PIL.Image.fromarray(picture).save(folder / "cat.png")
    done = start("numpy_filter.py", folder / "cat.png", folder / "blocks.png",
                 "cudablockavg block-width=16 block-height=16")
    blocks = picture.reshape(15, 16, 20, 16, 3).mean((1, 3))
    good = done.returncode == 0 and np.abs(
        read(folder / "blocks.png")[::16, ::16] - blocks).max() <= 0.51
    tap.check(good, "numpy_filter.py filters a file with OpenCV", done.stdout)
    program = f"""
import sys
sys.path.insert(0, {str(EXAMPLES)!r})
import numpy as np
from numpy_filter import Filter
with Filter("cudablockavg block-width=4096 block-height=4096") as mean:
    for shape in ((11, 7), (11, 7, 3), (12, 9, 4), (240, 321, 3), (240, 321, 3)):
        array = np.random.default_rng(1).integers(0, 256, shape, np.uint8)
        array[..., 3:] = 255
        result = mean(array)
        assert result.shape == shape, result.shape
        assert abs(result.astype(float) - array.mean((0, 1))).max() <= 1.01, shape
try:
    with Filter("cudallf engine=sampled intensity-levels=1") as refused:
        refused(array)
except RuntimeError as error:
    assert "intensity-levels" in str(error), error
else:
    raise SystemExit("no error was told")
"""
    done = subprocess.run([PYTHON, "-c", program], env=ENVIRONMENT, check=False, text=True,
                          timeout=60, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    tap.check(done.returncode == 0, "numpy_filter.Filter takes arrays of all shapes",
              done.stdout)


def check_detector(tap, folder):
    """A white ball on black: in every frame its edge is in blocks, and the rest as it was."""
    lacking = lacks("Gst:1.0", "GstVideo:1.0")
    if lacking:
        tap.skip("detector_callback.py", f"{lacking} is missing")
        return
    source = ("videotestsrc num-buffers=20 pattern=ball ! "
              "video/x-raw,format=I420,width=322,height=240")
    done = start("detector_callback.py", source, f"filesink location={folder}/masked.raw")
    harness.launch(source, f"! filesink location={folder}/plain.raw")
    plain, masked = (np.frombuffer((folder / f"{name}.raw").read_bytes(), np.uint8).reshape(
        20, -1)[:, :324 * 240].reshape(20, 240, 324)[..., :322] for name in ("plain", "masked"))
    wrong = []
    for number, (before, after) in enumerate(zip(plain, masked)):
        rows, columns = np.nonzero(before > 200)
        reach = 0.2 * (np.ptp(rows) + 1) + 1
        changed = np.nonzero(before != after)
        inside = all(values.min() - reach <= place.min() and place.max() <= values.max() + reach
                     for values, place in zip((rows, columns), changed) if len(place))
        if len(changed[0]) < 100 or not inside:
            wrong.append(f"frame {number}: {len(changed[0])} pixels changed")
    tap.check(done.returncode == 0 and not wrong,
              "detector_callback.py covers what its detector sees, in every frame",
              done.stdout + "\n".join(wrong))
    done = start("detector_callback.py", "filesrc location=/nonexistent ! decodebin", "fakesink")
    tap.check(done.returncode == 1 and "not found" in done.stdout,
              "detector_callback.py tells of an error", done.stdout)


def probe(path):
    return json.loads(subprocess.run(
        ["ffprobe", "-v", "error", "-show_streams", "-of", "json", path], check=True,
        stdout=subprocess.PIPE).stdout)["streams"]


def frame_at(path, seconds):
    data = subprocess.run(
        ["ffmpeg", "-v", "error", "-ss", str(seconds), "-i", path, "-frames:v", "1", "-f",
         "rawvideo", "-pix_fmt", "rgb24", "-"], check=True, stdout=subprocess.PIPE).stdout
    return np.frombuffer(data, np.uint8).astype(int).reshape(240, 320, 3)


def check_edit(tap, folder):
    lacking = lacks("GES:1.0", "GstPbutils:1.0")
    if lacking or not harness_has("ffprobe"):
        tap.skip("edit.py", f"{lacking or 'ffprobe'} is missing")
        return
    clip = folder / "clip.mp4"
    harness.launch("videotestsrc num-buffers=75 pattern=checkers-8 ! "
                   "video/x-raw,format=I420,width=320,height=240,framerate=25/1 ! x264enc ! "
                   "h264parse ! queue max-size-time=0 max-size-bytes=0 ! mp4mux name=mux ! "
                   "filesink", [f"location={clip}"],
                   "audiotestsrc num-buffers=130 ! audioconvert ! avenc_aac ! aacparse ! "
                   "queue max-size-time=0 max-size-bytes=0 ! mux.")
    done = start("edit.py", clip, folder / "cut.mp4", "cudablockavg block-width=64 block-height=64")
    if not tap.check(done.returncode == 0, "edit.py renders", done.stdout):
        return
    streams = {stream["codec_type"]: stream for stream in probe(folder / "cut.mp4")}
    video = streams.get("video", {})
    tap.check(set(streams) == {"video", "audio"} and
              (video.get("width"), video.get("height")) == (320, 240) and
              1.9 < float(video["duration"]) < 2.2, "its size, length and sound are right",
              str(streams))
    contrast = [frame_at(folder / "cut.mp4", seconds).std((0, 1)).max() for seconds in (0.3, 1.6)]
    tap.check(contrast[0] > 100 and contrast[1] < 10, "its second half is filtered, and only that",
              str(contrast))


def harness_has(program):
    return subprocess.run(["sh", "-c", f"command -v {program}"], check=False,
                          stdout=subprocess.DEVNULL).returncode == 0


def check_batch(tap, folder):
    lacking = lacks("Gst:1.0", "tqdm")
    if lacking:
        tap.skip("batch.py", f"{lacking} is missing")
        return
    photos, results = folder / "photos", folder / "results"
    photos.mkdir()
    for name in ("chelsea.png", "coffee.png", "astronaut.png"):
        PIL.Image.fromarray(photographs.photograph(name)).save(photos / name)
    turned = PIL.Image.fromarray(photographs.photograph("coffee.png"))
    tags = turned.getexif()
    tags[0x0112] = 6  # a camera that was held upright
    turned.save(photos / "turned.jpg", exif=tags)
    (photos / "broken.jpg").write_bytes(b"this is no photograph")
    done = start("batch.py", photos, results, "cudallf @preset=landscape")
    sizes = {path.name: PIL.Image.open(path).size for path in results.iterdir()}
    tap.check(done.returncode == 1 and "broken.jpg" in done.stdout and "5/5" in done.stdout and
              sizes == {"chelsea.jpg": (451, 300), "coffee.jpg": (600, 400),
                        "astronaut.jpg": (512, 512), "turned.jpg": (400, 600)},
              "batch.py filters all but the broken one, which it names", f"{sizes}{done.stdout}")
    before, after = read(photos / "chelsea.png"), read(results / "chelsea.jpg")
    tap.check(1 < np.abs(after - before).mean() < 25 and after.std() > before.std(),
              "and what it writes is the same picture with more detail",
              f"{np.abs(after - before).mean()} {before.std()} {after.std()}")
    done = start("batch.py", photos, results, "cudanothing")
    tap.check(done.returncode == 1 and "cudanothing" in done.stdout,
              "batch.py names a filter that is not there", done.stdout)


def check_notebook(tap, folder):
    lacking = lacks("Gst:1.0", "nbclient", "nbformat", "ipykernel", "PIL")
    if lacking:
        tap.skip("notebook.ipynb", f"{lacking} is missing")
        return
    PIL.Image.fromarray(photographs.photograph("chelsea.png")).save(folder / "photo.jpg")
    program = f"""
import nbclient, nbformat
notebook = nbformat.read({str(EXAMPLES / "notebook.ipynb")!r}, 4)
notebook.metadata.kernelspec = dict(name="python3", display_name="", language="python")
nbclient.NotebookClient(notebook, timeout=60,
                        resources={{"metadata": {{"path": {str(EXAMPLES)!r}}}}}).execute()
pictures = [output for cell in notebook.cells if cell.cell_type == "code"
            for output in cell.outputs if "image/png" in output.get("data", {{}})]
assert len(pictures) == 2, len(pictures)
"""
    done = subprocess.run([PYTHON, "-c", program], check=False, text=True, timeout=120,
                          env=dict(ENVIRONMENT, PHOTOGRAPH=str(folder / "photo.jpg"),
                                   IPYTHONDIR=str(folder), JUPYTER_RUNTIME_DIR=str(folder)),
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    tap.check(done.returncode == 0, "notebook.ipynb runs, and shows its pictures", done.stdout)


def run(tap):
    with tempfile.TemporaryDirectory() as name:
        for check in (check_numpy, check_detector, check_edit, check_batch, check_notebook):
            check(tap, pathlib.Path(name))


if __name__ == "__main__":
    harness.main(run)
