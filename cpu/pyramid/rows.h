/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Rows of interleaved pixels on their way through a pyramid along x, in single precision or, down
 * to fine samples, in the 16 bits of cf_lines_fixed.
 */
#pragma once

#include "cpu/fir/line_ops.h"
#include "plan/pyramid.h"

/* Pixels of a row that filters along it also read outside 0..size-1. */
typedef struct {
  int before, after; /* how many */
  const int *index;  /* of these `before` + `after` pixels, left to right; -1: the border pixel */
} CfRowMargins;

/* Copies `count` pixels of `pixel` bytes behind room for margins.before pixels and fills both
 * margins. */
void cf_row_extend(const void *from, int count, size_t pixel, const CfRowMargins *margins,
                   const void *border_pixel, void *to);

/* A filter that keeps one pixel in `step`: to[k] = sum over t of tap[t] * line[k step + t]. `line`
 * has (count - 1) step + taps pixels. `work` has room for them and 64 samples a phase more. */
typedef struct {
  const CfLines *lines; /* cf_lines_float or cf_lines_fixed */
  int step;
  int channels;
  CfLineTaps taps;
} CfRowFilter;
void cf_row_filter(const CfRowFilter *filter, const void *line, int count, void *work, void *to);

/* Interpolates `count` pixels from `first`, a multiple of D, on; coarse[0] is coarse pixel
 * axis->coarse_first. `lines` are cf_lines_float or cf_fixed_spline, `spline` the taps of each
 * phase. `work` has room for all phases of count / D + 1 pixels and 64 samples each, and `to` for
 * count + D - 1 pixels. */
void cf_row_expand(const CfLines *lines, const CfPyramidAxis *axis, const CfLineTaps *spline,
                   int channels, const void *coarse, int first, int count, void *work, void *to);

/* Samples of `work` that suffice for both, for lines of `pixels` pixels in steps or phases of
 * `phases`. */
size_t cf_row_work(int pixels, int channels, int phases);

/* From the working samples of `lines` to single precision. */
void cf_row_to_float(const CfLines *lines, const void *from, int samples, float *to);
