#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""What docs/guides/moving-over.md says to those who come from another filter: the new command makes
the same picture as the old one. Old filters that are not installed are skipped.
"""
import shutil
import subprocess

import numpy as np

import frames
import harness

WIDTH, HEIGHT = 160, 120
MARGIN = 30  # borders differ

# Old and new command, a format of both, and by how many codes old ones are off themselves: they cut
# their kernels earlier, and some round in between.
ELEMENTS = (
    ("gaussianblur sigma=2", "cudagaussblur sigma=2", "AYUV", 3),
    ("gaussianblur sigma=6", "cudagaussblur sigma=6", "AYUV", 4),
    ("gaussianblur sigma=-1.5", "cudagaussblur sigma=-1.5", "AYUV", 4),
    ("cvsmooth kernel-width=13 kernel-height=13 color=2",
     "cudagaussblur sigma=2 border=reflect-101", "RGB", 3),
    ("cvsmooth", "cudasepconv preset=binomial preset-size=3 border=reflect-101", "RGB", 1),
    ("cvsmooth kernel-width=5 kernel-height=5",
     "cudasepconv preset=binomial preset-size=5 border=reflect-101", "RGB", 1),
    ("cvsmooth kernel-width=9 kernel-height=9",
     "cudasepconv preset=gaussian preset-size=9 border=reflect-101", "RGB", 2),
    ("cvsmooth type=blur kernel-width=5 kernel-height=5",
     "cudasepconv preset=box preset-size=5 border=reflect-101", "RGB", 1),
)
GRAPHS = (
    ("gblur=sigma=3:steps=6", "cudagaussblur sigma=3", 12),
    ("convolution=1 2 1 2 4 2 1 2 1",
     "cudasepconv row-kernel=<1,2,1> column-kernel=<1,2,1> normalize=true", 1),
    ("convolution=-1 0 1 -2 0 2 -1 0 1:0bias=128",
     "cudasepconv preset=sobel-x preset-size=3 scale=8 bias=0.00196", 1),
    ("convolution=0 0 0 0 1 2 3 0 0:0mode=row",
     "cudasepconv row-kernel=<0,0,0,0,1,2,3,0,0> normalize=true", 1),
    ("avgblur=sizeX=2", "cudasepconv preset=box preset-size=5", 1),
)


def has_element(name):
    return subprocess.run(["gst-inspect-1.0", "--exists", name], check=False).returncode == 0


def largest_difference(layout, one, other):
    old, new = layout.unpack(one), layout.unpack(other)
    inner = np.s_[MARGIN:-MARGIN, MARGIN:-MARGIN]
    return max(np.abs(old[role][inner] - new[role][inner]).max() for role in old)


def check_elements(tap, image):
    for old, new, format_name, most in ELEMENTS:
        title = f"{old} -> {new}"
        if not has_element(old.split()[0]):
            tap.skip(title, f"no {old.split()[0]} here")
            continue
        layout = frames.Layout(format_name, WIDTH, HEIGHT)
        frame = layout.pack(frames.components_of(image, format_name))
        outputs = [harness.filter_frames(layout, [frame], words.split())[0]
                   for words in (old, f"{new} backend=cpu")]
        off = largest_difference(layout, *outputs)
        tap.check(off <= most, title, f"they differ by up to {off} codes, expected are {most}")


def through_ffmpeg(layout, frame, graph):
    return subprocess.run(
        ["ffmpeg", "-loglevel", "error", "-f", "rawvideo", "-pix_fmt", "gray", "-s",
         f"{layout.width}x{layout.height}", "-i", "-", "-vf", graph, "-f", "rawvideo", "-pix_fmt",
         "gray", "-"], input=frame, check=True, capture_output=True).stdout


def check_graphs(tap, image):
    layout = frames.Layout("GRAY8", WIDTH, HEIGHT)
    frame = layout.pack(frames.components_of(image, "GRAY8"))
    for graph, new, most in GRAPHS:
        title = f"ffmpeg {graph} -> {new}"
        if not shutil.which("ffmpeg"):
            tap.skip(title, "no ffmpeg here")
            continue
        output, = harness.filter_frames(layout, [frame], f"{new} backend=cpu".split())
        off = largest_difference(layout, through_ffmpeg(layout, frame, graph), output)
        tap.check(off <= most, title, f"they differ by up to {off} codes, expected are {most}")


def run(tap):
    image = frames.shrunk(frames.photograph(frames.PHOTOGRAPHS[2]), WIDTH, HEIGHT)
    check_elements(tap, image)
    check_graphs(tap, image)


if __name__ == "__main__":
    harness.main(run)
