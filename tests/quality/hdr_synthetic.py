# SPDX-License-Identifier: LGPL-2.1-or-later
"""Pictures of known light, through `cudatonemap` in a pipeline: edges, ramps, greys, and SDR that
was graded as HDR."""
import os
import tempfile

import numpy as np

import harness
from hdr_clips import LUMA_2020, TO_2020, pq

WIDTH, HEIGHT = 512, 128
WHITE = 203.0  # nits of SDR's white in HDR, BT.2408


def packed(nits):
    """Y444_16LE of limited range, from nits of BT.2020: no subsampling, and no coarse steps."""
    encoded = pq(nits)
    luma = encoded @ LUMA_2020
    planes = (16 + 219 * luma, 128 + 224 * (encoded[..., 2] - luma) / 1.8814,
              128 + 224 * (encoded[..., 0] - luma) / 1.4746)
    return b"".join(np.rint(256 * plane).astype("<u2").tobytes() for plane in planes)


def tonemapped(pictures, words):
    """Pictures of nits of one size -> red, green and blue of 8 bits."""
    height, width = pictures[0].shape[:2]
    with tempfile.TemporaryDirectory() as directory:
        source, result = (os.path.join(directory, name) for name in ("in.raw", "out.raw"))
        with open(source, "wb") as file:
            file.writelines(packed(picture) for picture in pictures)
        caps = (f"video/x-raw,format=Y444_16LE,width={width},height={height},framerate=25/1,"
                "colorimetry=bt2100-pq")
        harness.launch("filesrc", [f"location={source}"], "! typefind", [f"force-caps={caps}"],
                       "! queue ! rawvideoparse use-sink-caps=true ! cudatonemap backend=cpu"
                       f" dither=false {words} ! video/x-raw,format=RGBA ! filesink",
                       [f"location={result}"])
        data = np.fromfile(result, np.uint8)
    return list(data.reshape(len(pictures), height, width, 4)[..., :3].astype(int))


def grey(plane):
    return np.repeat(np.asarray(plane, float)[..., None], 3, -1)


def edge(dark, bright, blur):
    """Nits; `blur` is the slope of a logistic in log light, in pixels, 0 for none."""
    x = np.arange(WIDTH) - WIDTH / 2 + 0.5
    share = (x > 0).astype(float) if blur == 0 else 1 / (1 + np.exp(-x / blur))
    return grey(np.tile(dark ** (1 - share) * bright ** share, (HEIGHT, 1)))


def overshoot(picture):
    """Codes by which what is beside the edge leaves what is far from it."""
    line = picture[HEIGHT // 2, :, 1]
    dark, bright = line[:WIDTH // 2], line[WIDTH // 2:]
    return max(np.median(dark[:WIDTH // 4]) - dark.min(),
               bright.max() - np.median(bright[WIDTH // 4:]))


def sdr_as_hdr(picture):
    """Nits of BT.2020 of an SDR picture of 8 bits, as BT.2408 puts it into HDR."""
    return WHITE * (picture / 255) ** 2.4 @ TO_2020.T
