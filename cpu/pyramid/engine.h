/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Blurs of large sigma on the CPU, by plan/pyramid.h along both axes. What runs over all samples,
 * the column prefilter and the column interpolation, is done in the arithmetic that suits the
 * format (cpu/fir/line_ops.h); all that lies between runs over few, in single precision.
 */
#pragma once

#include "plan/coverage.h"
#include "plan/fir.h"
#include "plan/pyramid.h"

/* The pyramid of one plane. Belongs to one caller at a time; runs work on the pool's threads. */
typedef struct CfCpuPyramid CfCpuPyramid;

/* Whether a pyramid blurs planes of so many bits, whose colours may be weighted by alpha, faster
 * than the taps would, which may be fast (cf_cpu_fir_is_fast), and accurately: within a tenth of a
 * code of 8 bits, a quarter of finer ones, but for colours where next to nothing is visible
 * (docs/reference/accuracy.md). Then `x` and `y` get its factors. */
bool cf_cpu_pyramid_pays(int bits, bool weighted, bool fast_taps, double horizontal,
                         double vertical, CfPyramidFactors *x, CfPyramidFactors *y);

/* NULL without memory. It has no plan yet. */
CfCpuPyramid *cf_cpu_pyramid_open(const CfVideo *video, int plane, int threads, CfStatus *status);

/* From the next update on borders that mirror or wrap may be folded into taps of whole columns; not
 * for one that others share samples with. */
void cf_cpu_pyramid_allow_folding(CfCpuPyramid *pyramid);

/* Takes over what happens to the channels, and both sigmas in samples of the plane. With `owner`, a
 * pyramid of the same plane, plan and factors but no smaller sigmas, the fine samples and the
 * scratch are those of the owner, which stays as it is as long as this one is used. On failure
 * nothing changes. */
bool cf_cpu_pyramid_update(CfCpuPyramid *pyramid, const CfFirPlan *plan, double horizontal,
                           double vertical, const CfPyramidFactors *x, const CfPyramidFactors *y,
                           const CfCpuPyramid *owner, CfStatus *status);

/* Filters the plane of the job's pictures, but only samples in `rect`. Returns the arithmetic. */
const char *cf_cpu_pyramid_run(CfCpuPyramid *pyramid, const CfJob *job, CfRect rect);

/* The same in steps, for blur maps, which read many pyramids in tiles of rows y0..y1-1: first the
 * fine samples of every owner, then the coarse ones of all. `weighted` by alpha is for
 * premultiplied planes only. Not several calls at once. */
void cf_cpu_pyramid_make_fine(CfCpuPyramid *pyramid, const CfJob *job, bool weighted, int y0,
                              int y1);
void cf_cpu_pyramid_make_coarse(CfCpuPyramid *pyramid, int y0, int y1);

/* One tile before rounding, as sums that cf_lines_float stores; tile.x0 is a multiple of 16. `to`
 * has rows of `stride` floats, with room for 64 more than the tile needs. Callable from any
 * threads.
 */
void cf_cpu_pyramid_tile(const CfCpuPyramid *pyramid, CfRect tile, float *work, float *to,
                         size_t stride);

/* Floats that `work` has. */
size_t cf_cpu_pyramid_tile_work(const CfCpuPyramid *pyramid, int width, int height);

/* NULL is allowed. */
void cf_cpu_pyramid_close(CfCpuPyramid *pyramid);
