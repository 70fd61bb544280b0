/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Interpolation of 8-bit pictures in fixed point: samples with 7 fractional bits in 16 bits, taps
 * as those of cf_lines_fixed. One bit more than these have fits because no samples are added before
 * they are multiplied, and no tap of the spline is negative.
 */
#pragma once

#include "cpu/fir/line_ops.h"
#include "plan/pyramid.h"

/* Rounds single-precision samples, all -255..255, to fixed point. */
void cf_fixed_from_float(const float *from, int samples, int16_t *to);

/* For cf_row_expand, with taps of cf_lines_fixed. */
extern const CfLines cf_fixed_spline;

/* Adds up four rows, each by its tap, and rounds to bytes; without taps, the first row alone. */
void cf_fixed_blend_rows(const CfLineTaps *taps, const int16_t *const row[4], int samples,
                         uint8_t *to);

/* Adds up four rows, each by its tap; without taps, the first row alone. */
void cf_fixed_sum_rows(const CfLineTaps *taps, const int16_t *const row[4], int samples,
                       int16_t *to);

/* Sharpening. What is blurred along x is v - G_y v / 2 less this many codes, so that 16 bits hold
 * its sign and sums of two. */
#define CF_FIXED_MIDDLE 64

/* That, as working samples of cf_lines_fixed. `blurred` is G_y v. */
void cf_fixed_less_half(const uint8_t *from, const int16_t *blurred, int samples, int16_t *to);

/* 4 v - 2 G_y v - 2 G_x (v - G_y v / 2); `along_x` is what is blurred along x, less the middle. */
void cf_fixed_sharpen(const uint8_t *from, const int16_t *along_y, const int16_t *along_x,
                      int samples, uint8_t *to);
