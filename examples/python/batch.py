#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""All photographs of a folder through an element, with a bar that tells how far it is.

    batch.py FOLDER RESULTS "cudallf @preset=landscape"

Turned upright as the camera says, and written as JPEG under the same names. One that cannot be
read is told of, and the others go on; the exit status is then 1.
"""
import concurrent.futures
import os
import pathlib
import sys

import gi
import tqdm

gi.require_version("Gst", "1.0")
from gi.repository import GLib, Gst

PICTURES = {".jpg", ".jpeg", ".png", ".webp", ".tif", ".tiff", ".bmp"}


def read_orientation():
    """jpegparse tells how the camera was held; decoders are chosen without it."""
    parser = Gst.ElementFactory.find("jpegparse")
    if parser:
        parser.set_rank(Gst.Rank.PRIMARY + 1)


def convert(source, result, description):
    """None, or what went wrong. The result is there whole or not at all."""
    part = result.with_suffix(".part")
    pipeline = Gst.parse_launch(
        f"filesrc name=source ! decodebin ! videoconvert ! videoflip video-direction=auto ! "
        f"videoconvert ! {description} ! videoconvert ! jpegenc quality=92 ! filesink name=result")
    pipeline.get_by_name("source").set_property("location", str(source))
    pipeline.get_by_name("result").set_property("location", str(part))
    pipeline.set_state(Gst.State.PLAYING)
    message = pipeline.get_bus().timed_pop_filtered(
        Gst.CLOCK_TIME_NONE, Gst.MessageType.ERROR | Gst.MessageType.EOS)
    pipeline.set_state(Gst.State.NULL)
    if message.type == Gst.MessageType.ERROR:
        part.unlink(missing_ok=True)
        return f"{source.name}: {message.parse_error()[0].message}"
    part.replace(result)
    return None


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    Gst.init(None)
    read_orientation()
    folder, results, description = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3]
    sources = sorted(path for path in folder.iterdir() if path.suffix.lower() in PICTURES)
    results.mkdir(parents=True, exist_ok=True)
    try:
        Gst.parse_bin_from_description(description, False)
    except GLib.Error as error:
        sys.exit(error.message)
    problems = []
    # Reading and writing go on beside filtering, which has all cores to itself.
    with concurrent.futures.ThreadPoolExecutor(min(4, os.cpu_count() or 1)) as pool:
        jobs = [pool.submit(convert, path, results / f"{path.stem}.jpg", description)
                for path in sources]
        for job in tqdm.tqdm(concurrent.futures.as_completed(jobs), total=len(jobs),
                             unit="photograph"):
            if job.result():
                problems.append(job.result())
                tqdm.tqdm.write(job.result(), file=sys.stderr)
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
