# SPDX-License-Identifier: LGPL-2.1-or-later
"""Pictures of known light, through `cudatonemap` in a pipeline: edges, ramps, greys, and SDR that
was graded as HDR."""
import colorsys
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


def saturated():
    """Nits of BT.2020: the hues of BT.709 at its edge, a column each, from 20 to 800 nits, no
    component beyond 1000."""
    columns = [np.array(colorsys.hsv_to_rgb(hue, 1, 1)) ** 2.2 @ TO_2020.T
               for hue in np.arange(0, 1, 1 / 32)]
    rows = np.geomspace(20, 800, 16)
    light = np.array([[column / (column @ LUMA_2020) * row for column in columns] for row in rows])
    return light * np.minimum(1, 1000 / light.max(-1, keepdims=True))


def oklab_hue(light):
    """Of linear light of BT.709, as a complex number: the angle is the hue (Ottosson 2020)."""
    roots = np.cbrt(np.maximum(light, 0) @ np.array(
        [[0.4122214708, 0.2119034982, 0.0883024619], [0.5363325363, 0.6806995451, 0.2817188376],
         [0.0514459929, 0.1073969566, 0.6299787005]]))
    return roots @ np.array([1.9779984951 + 0.0259040371j, -2.4285922050 + 0.7827717662j,
                             0.4505937099 - 0.8086757660j])


def turned(nits, codes):
    """Degrees in Oklab by which hues turn."""
    before = oklab_hue(nits @ np.linalg.inv(TO_2020).T)
    return np.abs(np.angle(oklab_hue((codes / 255) ** 2.4) / before, deg=True))


def sdr_as_hdr(picture):
    """Nits of BT.2020 of an SDR picture of 8 bits, as BT.2408 puts it into HDR."""
    return WHITE * (picture / 255) ** 2.4 @ TO_2020.T
