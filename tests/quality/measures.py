# SPDX-License-Identifier: LGPL-2.1-or-later
"""What a method makes of the clips, in numbers. Each measure takes the clips before and after."""
import numpy as np

import clips
from clips import HEIGHT, OBJECT_FRAMES, PAN_STEP, WIDTH, chroma, detail, luma

BLOCK = 16  # local means are those of such squares
EDGE = 16   # what the frame's edge may change is not looked at


def inner(plane):
    return plane[EDGE:-EDGE, EDGE:-EDGE]


def deviation(plane):
    return float(inner(plane).std())


def texture(before, after, name="fur"):
    """Gain of the contrast of fine detail."""
    return deviation(detail(after[name][0])) / deviation(detail(before[name][0]))


def texture_in_haze(before, after):
    return texture(before, after, "haze")


def flat_noise(before, after):
    """Gain of sensor noise on a grey wall."""
    return deviation(luma(after["flat"][0])) / deviation(luma(before["flat"][0]))


def textured_noise(before, after):
    """Gain of the same noise on fur."""
    def added(shown):
        return luma(shown["fur with noise"][0]) - luma(shown["fur"][0])

    return deviation(added(after)) / deviation(added(before))


def dark_chroma(before, after):
    """Gain of the noise of colours in the dark."""
    def added(shown):
        noisy, clean = shown["dark"]
        return chroma(noisy) - chroma(clean)

    return deviation(added(after)) / deviation(added(before))


def overshoot(_before, after):
    """Codes by which luma beside a step leaves what it is far from it, the larger side."""
    line = luma(after["step"][0])[HEIGHT // 2]
    middle = WIDTH // 2
    dark, bright = line[:middle], line[middle:]
    return float(max(np.median(dark) - dark.min(), bright.max() - np.median(bright)))


def clipped(before, after):
    """Percent of the sky's pixels of which a colour is newly black or white."""
    def full(frame):
        return (frame == 0) | (frame == 255)

    new = full(after["sky"][0]) & ~full(before["sky"][0])
    return 100 * float(new.any(-1).mean())


def blocks(before, after):
    """Gain of the steps at the borders of JPEG's blocks over those elsewhere."""
    def visible(frame):
        steps = np.abs(np.diff(luma(frame), axis=1))
        border = np.arange(1, WIDTH) % 8 == 0
        return steps[:, border].mean() - steps[:, ~border].mean()

    return float(visible(after["jpeg"][0]) / visible(before["jpeg"][0]))


def banding(_before, after):
    """The largest step of a gradient whose own steps are one code."""
    return int(np.abs(np.diff(inner(after["gradient"][0][..., 1].astype(int)), axis=1)).max())


def local_means(frame, columns):
    plane = luma(frame)[:, :columns // BLOCK * BLOCK]
    return plane.reshape(HEIGHT // BLOCK, BLOCK, -1, BLOCK).mean((1, 3))


def distant_means(after):
    """Over time, of what is two blocks and more away from where the object ever comes."""
    columns = clips.object_at(OBJECT_FRAMES - 1) - 2 * BLOCK
    return np.stack([local_means(frame, columns) for frame in after["entering"]])


def drift(_before, after):
    """Codes by which a distant local mean is moved in all by the object, the largest."""
    means = distant_means(after)
    return float(np.ptp(means, axis=0).max())


def flicker(_before, after):
    """Codes by which a distant local mean leaves the line between its neighbours in time."""
    means = distant_means(after)
    return float(np.abs(means[1:-1] - (means[:-2] + means[2:]) / 2).max())


def shimmer(before, after):
    """Gain of what changes from frame to frame of a pan, registered."""
    def changes(shown):
        planes = [luma(frame) for frame in shown["pan"]]
        return np.mean([deviation(b[:, :-PAN_STEP] - a[:, PAN_STEP:])
                        for a, b in zip(planes, planes[1:])])

    return float(changes(after) / changes(before))


def fade_gains(before, after):
    return np.array([deviation(detail(b)) / deviation(detail(a))
                     for a, b in zip(before["fade"], after["fade"])])


def pulsing(before, after):
    """Percent between least and largest contrast of a texture during a fade and a flash."""
    gains = fade_gains(before, after)
    return 100 * float(np.ptp(gains) / gains.mean())


# Heading, measure, format; what the columns of the table in docs/reference/quality.md are.
COLUMNS = (
    ("detail", texture, "{:.2f}"),
    ("in haze", texture_in_haze, "{:.2f}"),
    ("noise", flat_noise, "{:.2f}"),
    ("on detail", textured_noise, "{:.2f}"),
    ("dark colour", dark_chroma, "{:.2f}"),
    ("JPEG", blocks, "{:.2f}"),
    ("overshoot", overshoot, "{:.1f}"),
    ("clipped, %", clipped, "{:.2f}"),
    ("banding", banding, "{}"),
    ("shimmer", shimmer, "{:.2f}"),
    ("drift", drift, "{:.2f}"),
    ("flicker", flicker, "{:.2f}"),
    ("pulsing, %", pulsing, "{:.1f}"),
)
