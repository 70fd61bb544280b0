/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Rows of interleaved pixels on their way through a pyramid along x: in single precision or, down
 * to fine samples, in the 16-bit samples of cf_lines_fixed.
 *
 * Sums are computed for whole granules, so they read behind the ends of rows. Samples there are
 * cleared: 16-bit samples of an earlier row, read in single precision, can be subnormal numbers,
 * which some processors compute a hundred times as slowly.
 */
#pragma once

#include "cpu/fir/line_ops.h"
#include "plan/pyramid.h"

/* Pixels outside 0..size-1 that filters along a row read. */
typedef struct {
  int before, after; /* numbers of pixels */
  const int *index;  /* source of each of the `before` + `after` pixels, left to right; -1: the
                        border pixel */
} CfRowMargins;

/* Copies `count` pixels of `pixel` bytes to `to`, after margins.before pixels, fills both margins,
 * and clears CF_LINE_GRANULE samples of single precision behind them. */
void cf_row_extend(const void *from, int count, size_t pixel, const CfRowMargins *margins,
                   const void *border_pixel, void *to);

/* A filter that keeps one pixel in `step`: to[k] = sum over t of tap[t] * line[k step + t]. `line`
 * has (count - 1) step + taps pixels and, with a step of 1, cleared samples behind them;
 * cf_row_work() is the size of `work`. */
typedef struct {
  const CfLines *lines; /* cf_lines_float or cf_lines_fixed */
  int step;
  int channels;
  CfLineTaps taps;
} CfRowFilter;
void cf_row_filter(const CfRowFilter *filter, const void *line, int count, void *work, void *to);

/* Interpolates `count` pixels from `first`, a multiple of D, on; coarse[0] is coarse pixel
 * axis->coarse_first. `lines` is cf_lines_float or cf_fixed_spline, `spline` has the taps of each
 * phase. cf_row_work() is the size of `work`; `to` has room for count + D - 1 pixels. */
void cf_row_expand(const CfLines *lines, const CfPyramidAxis *axis, const CfLineTaps *spline,
                   int channels, const void *coarse, int first, int count, void *work, void *to);

/* Samples of `work` that suffice for both functions, for lines of `pixels` pixels with a step, or
 * D, of `phases`. */
size_t cf_row_work(int pixels, int channels, int phases);

/* Converts working samples of `lines` to single precision. */
void cf_row_to_float(const CfLines *lines, const void *from, int samples, float *to);
