/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Interpolation of 8-bit pictures in fixed point: samples with 7 fractional bits in 16 bits, taps
 * as in cf_lines_fixed. This is one bit more than in cf_lines_fixed; it fits, since samples are not
 * added before they are multiplied, and no tap of the spline is negative.
 */
#pragma once

#include "cpu/fir/line_ops.h"
#include "plan/pyramid.h"

/* Rounds single-precision samples, all in -255..255, to fixed point. */
void cf_fixed_from_float(const float *from, int samples, int16_t *to);

/* The sum for cf_row_expand, with taps of cf_lines_fixed. */
extern const CfLines cf_fixed_spline;

/* The sum of four rows, each times its tap, rounded to bytes; without taps, the first row alone. */
void cf_fixed_blend_rows(const CfLineTaps *taps, const int16_t *const row[4], int samples,
                         uint8_t *to);

/* The sum of four rows, each times its tap; without taps, the first row alone. */
void cf_fixed_sum_rows(const CfLineTaps *taps, const int16_t *const row[4], int samples,
                       int16_t *to);

/* Sharpening blurs v - G_y v / 2 along x, less this many codes, so that 16 bits hold its sign and
 * sums of two samples. */
#define CF_FIXED_MIDDLE 64

/* Computes v - G_y v / 2 - CF_FIXED_MIDDLE, as working samples of cf_lines_fixed. `blurred` is G_y
 * v. */
void cf_fixed_less_half(const uint8_t *from, const int16_t *blurred, int samples, int16_t *to);

/* 4 v - 2 G_y v - 2 G_x (v - G_y v / 2), clamped to 0..255. `along_y` is G_y v; `along_x` is G_x of
 * the result of cf_fixed_less_half. */
void cf_fixed_sharpen(const uint8_t *from, const int16_t *along_y, const int16_t *along_x,
                      int samples, uint8_t *to);
