#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Decoders write padded frames to who can read them: what filesink gets, which cannot, is the same
bytes with an element that changes nothing as with none."""
import os
import tempfile

import harness

FRAMES, WIDTH, HEIGHT = 8, 322, 242
SIZE = 324 * 242 + 2 * 164 * 121  # GStreamer's I420: rows of multiples of four bytes

UNCHANGED = ("cudagaussblur sigma=0", "cudasepconv", "cudallf alpha=1 beta=1",
             "cudablockavg block-width=1 block-height=1", "cudablockavg roi-mode=inside",
             "cudagaussblur sigma=2 roi-mode=inside", "cudatonemap")
CHANGED = ("cudagaussblur sigma=2", "cudasepconv preset=sharpen", "cudallf", "cudablockavg")


def decoded(clip, folder, elements):
    result = os.path.join(folder, "frames.yuv")
    harness.launch("filesrc", [f"location={clip}"],
                   "! qtdemux ! h264parse ! avdec_h264 max-threads=1 !", elements, "! filesink",
                   [f"location={result}"])
    with open(result, "rb") as file:
        return file.read()


def run(tap):
    with tempfile.TemporaryDirectory() as folder:
        clip = os.path.join(folder, "clip.mp4")
        harness.launch(f"videotestsrc num-buffers={FRAMES} !",
                       [f"video/x-raw,format=I420,width={WIDTH},height={HEIGHT}"],
                       "! x264enc ! mp4mux ! filesink", [f"location={clip}"])
        source = decoded(clip, folder, "identity")
        tap.check(len(source) == FRAMES * SIZE, "the clip", f"{len(source)} bytes")
        for elements in UNCHANGED:
            result = decoded(clip, folder, elements)
            tap.check(result == source, f"{elements}: the same bytes",
                      f"{len(result)} bytes of {len(source)}")
        for elements in CHANGED:
            result = decoded(clip, folder, elements)
            tap.check(len(result) == len(source) and result != source, f"{elements}: whole frames",
                      f"{len(result)} bytes of {len(source)}")


harness.main(run)
