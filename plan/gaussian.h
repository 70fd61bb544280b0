/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The sampled Gaussian, normalised: g[i] = exp(-i^2 / (2 sigma^2)) / sum, i = -R..R, R = ceil(4
 * |sigma|).
 */
#pragma once

#define CF_GAUSSIAN_MOST_TAPS 2001 /* 2 R + 1 of CF_LARGEST_SIGMA */

/* R, 0 where the Gaussian is a delta. The part beyond R changes an edge between black and white by
 * at most 0.01 codes of 8 bits. */
int cf_gaussian_radius(double sigma);

/* Writes the 2 `radius` + 1 taps, whose sum is 1. */
void cf_gaussian_taps(double sigma, int radius, double *tap);

/* Turns 2 `radius` + 1 taps into 2 delta - taps, which sharpen as much as the taps blur. */
void cf_sharpening_taps(int radius, double *tap);
