# SPDX-License-Identifier: LGPL-2.1-or-later
"""What a method makes of an HDR clip, in numbers. Frames are red, green and blue, 0..1."""
import numpy as np

import hdr_clips
import tmqi
from hdr_clips import FRAMES, HEIGHT, LUMA_2020, LUMA_709, STEP, TO_2020, WIDTH, pq

LOOKED_AT = (0, FRAMES // 2, FRAMES - 1)
BLOCK = 16  # local means are those of such squares
SDR_WHITE = 100.0
TO_LMS = np.array([[1688, 2146, 262], [683, 2951, 462], [99, 309, 3688]]) / 4096
TO_ICTCP = np.array([[2048, 2048, 0], [6610, -13613, 7003], [17933, -17390, -543]]) / 4096


def luma(frame):
    return 255 * (frame @ LUMA_709)


def qualities(scene, frames):
    """TMQI, its S and its N: the means over the frames that are looked at."""
    return np.mean([tmqi.tmqi(hdr_clips.shown(scene, number) @ LUMA_2020, luma(frames[number]))
                    for number in LOOKED_AT], 0)


def registered_means(frames):
    """Over time, of what all frames of the pan see."""
    first = STEP * (FRAMES - 1)
    columns = (WIDTH - first) // BLOCK * BLOCK
    means = []
    for number, frame in enumerate(frames):
        left = first - STEP * number
        plane = luma(frame)[:HEIGHT // BLOCK * BLOCK, left:left + columns]
        means.append(plane.reshape(HEIGHT // BLOCK, BLOCK, -1, BLOCK).mean((1, 3)))
    return np.stack(means)


def flicker(_scene, frames):
    """Codes by which a local mean leaves the line between its neighbours in time, of the worst
    thousandth: the scene itself does not change."""
    means = registered_means(frames)
    return float(np.percentile(np.abs(means[1:-1] - (means[:-2] + means[2:]) / 2), 99.9))


def drift(_scene, frames):
    """Codes that a local mean moves in all during the pan, of the worst hundredth."""
    return float(np.percentile(np.ptp(registered_means(frames), 0), 99))


def ictcp(nits):
    return pq(np.maximum(nits @ TO_LMS.T, 0)) @ TO_ICTCP.T


def hue(scene, frames):
    """Degrees in ICtCp by which hues turn, the mean over what is clearly coloured in both."""
    errors = []
    for number in LOOKED_AT:
        before = ictcp(hdr_clips.shown(scene, number))
        after = ictcp(SDR_WHITE * frames[number] ** 2.4 @ TO_2020.T)
        planes = [before[..., 1] + 1j * before[..., 2], after[..., 1] + 1j * after[..., 2]]
        coloured = np.logical_and(*(np.abs(plane) > 0.02 for plane in planes))
        turned = np.abs(np.angle(planes[1] / np.where(planes[0] == 0, 1, planes[0]), deg=True))
        errors.append(turned[coloured].mean() if coloured.any() else 0.0)
    return float(np.mean(errors))


def clipped(_scene, frames):
    """Percent of pixels that are white."""
    return 100 * float(np.mean([(frames[number].min(-1) > 253.5 / 255).mean()
                                for number in LOOKED_AT]))
