# SPDX-License-Identifier: LGPL-2.1-or-later
"""TMQI, written from H. Yeganeh and Z. Wang, "Objective Quality Assessment of Tone Mapped Images",
IEEE Transactions on Image Processing 22(2), 2013; equations are numbered as there."""
import math

import numpy as np
import scipy.ndimage
import scipy.special

LEVELS = (0.0448, 0.2856, 0.3001, 0.2363, 0.1333)  # weights of the scales, finest first
CYCLES = 16.0        # per degree, of the finest scale; half of it a scale
C1, C2 = 0.01, 10.0
RANGE = 2.0 ** 32 - 1  # of the HDR picture, which is stretched to it
A, ALPHA, BETA = 0.8012, 0.3046, 0.7088

BRIGHTNESS, BRIGHTNESS_DEVIATION = 115.94, 27.99
CONTRAST, CONTRAST_BETA = 64.29, (4.4, 10.1)
BLOCK = 11

TAPS = np.exp(-0.5 * (np.arange(11) - 5) ** 2 / 1.5 ** 2)


def smooth(plane):
    taps = TAPS / TAPS.sum()
    lines = scipy.ndimage.correlate1d(scipy.ndimage.correlate1d(plane, taps, 0), taps, 1)
    return lines[5:-5, 5:-5]


def normal(x, mean, deviation):
    return 0.5 * (1 + scipy.special.erf((x - mean) / (deviation * math.sqrt(2))))


def visible(deviation, cycles):
    """Equations 4 to 8: how probable it is that a contrast is seen."""
    sensitivity = 260 * (0.0192 + 0.114 * cycles) * math.exp(-(0.114 * cycles) ** 1.1)
    threshold = 128 / (1.4 * sensitivity)
    return normal(deviation, threshold, threshold / 3)


def local_fidelity(hdr, ldr, cycles):
    """Equation 2, the mean of the map."""
    mean_hdr, mean_ldr = smooth(hdr), smooth(ldr)
    deviation_hdr = np.sqrt(np.maximum(smooth(hdr * hdr) - mean_hdr ** 2, 0))
    deviation_ldr = np.sqrt(np.maximum(smooth(ldr * ldr) - mean_ldr ** 2, 0))
    covariance = smooth(hdr * ldr) - mean_hdr * mean_ldr
    seen_hdr, seen_ldr = visible(deviation_hdr, cycles), visible(deviation_ldr, cycles)
    strength = (2 * seen_hdr * seen_ldr + C1) / (seen_hdr ** 2 + seen_ldr ** 2 + C1)
    structure = (covariance + C2) / (deviation_hdr * deviation_ldr + C2)
    return float((strength * structure).mean())


def halved(plane):
    rows, columns = plane.shape[0] // 2 * 2, plane.shape[1] // 2 * 2
    return plane[:rows, :columns].reshape(rows // 2, 2, columns // 2, 2).mean((1, 3))


def structure(hdr, ldr):
    """Equations 2 to 9: S. `hdr` is linear luminance in any unit, `ldr` luma in 0..255."""
    hdr = (hdr - hdr.min()) / (hdr.max() - hdr.min()) * RANGE
    cycles, product = CYCLES, 1.0
    for weight in LEVELS:
        product *= max(local_fidelity(hdr, ldr, cycles), 0.0) ** weight
        hdr, ldr, cycles = halved(hdr), halved(ldr), cycles / 2
    return product


def beta_density(x, a, b):
    return x ** (a - 1) * (1 - x) ** (b - 1) if 0 < x < 1 else 0.0


def naturalness(ldr):
    """Equations 10 to 13: N, over its most."""
    rows, columns = ldr.shape[0] // BLOCK * BLOCK, ldr.shape[1] // BLOCK * BLOCK
    blocks = ldr[:rows, :columns].reshape(rows // BLOCK, BLOCK, -1, BLOCK)
    contrast = blocks.std((1, 3), ddof=1).mean() / CONTRAST
    a, b = CONTRAST_BETA
    best = (a - 1) / (a + b - 2)
    brightness = math.exp(-0.5 * ((ldr.mean() - BRIGHTNESS) / BRIGHTNESS_DEVIATION) ** 2)
    return brightness * beta_density(contrast, a, b) / beta_density(best, a, b)


def tmqi(hdr, ldr):
    """(Q, S, N)."""
    s, n = structure(hdr, ldr), naturalness(ldr)
    return A * s ** ALPHA + (1 - A) * n ** BETA, s, n
