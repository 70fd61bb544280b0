/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Blurs of large sigma on the CPU, by plan/pyramid.h along both axes. The steps that touch every
 * sample of the picture, column prefilter and column interpolation, use the arithmetic that suits
 * the format (cpu/fir/line_ops.h); the steps between touch few samples, and use single precision.
 */
#pragma once

#include "plan/coverage.h"
#include "plan/fir.h"
#include "plan/pyramid.h"

/* The pyramid of one plane. Used by one caller at a time; runs use the pool's threads. */
typedef struct CfCpuPyramid CfCpuPyramid;

/* Whether a pyramid blurs planes of this many bits faster than taps, and accurately: within a tenth
 * of a code for 8 bits, a quarter for more, except for colours of next to no alpha
 * (docs/reference/accuracy.md). `weighted`: colours are weighted by alpha; `fast_taps`:
 * cf_cpu_fir_is_fast(). `x` and `y` get the factors. */
bool cf_cpu_pyramid_pays(int bits, bool weighted, bool fast_taps, double horizontal,
                         double vertical, CfPyramidFactors *x, CfPyramidFactors *y);

/* NULL when out of memory, with CF_ERROR_NO_MEMORY. Has no plan until the first update. */
CfCpuPyramid *cf_cpu_pyramid_open(const CfVideo *video, int plane, int threads, CfStatus *status);

/* Lets updates fold borders that mirror or wrap into taps of coarse rows (fold.c). Not for a
 * pyramid that is an owner or has one. */
void cf_cpu_pyramid_allow_folding(CfCpuPyramid *pyramid);

/* Prepares for the channels of `plan`, and for both sigmas in samples of the plane. With `owner`, a
 * pyramid of the same plane, plan and factors and with sigmas that are no smaller, this pyramid
 * uses the owner's fine samples and scratch; the owner must not change as long as this one is used.
 * On failure nothing changes. */
bool cf_cpu_pyramid_update(CfCpuPyramid *pyramid, const CfFirPlan *plan, double horizontal,
                           double vertical, const CfPyramidFactors *x, const CfPyramidFactors *y,
                           const CfCpuPyramid *owner, CfStatus *status);

/* Filters the plane of the job's pictures, but only samples in `rect`. Returns the arithmetic, as a
 * constant string. */
const char *cf_cpu_pyramid_run(CfCpuPyramid *pyramid, const CfJob *job, CfRect rect);

/* The same in steps, for blur maps, which read many pyramids in tiles of the rows y0..y1-1: first
 * the fine samples of all owners, then the coarse samples of all pyramids. `weighted` by alpha:
 * premultiplied planes only. One call at a time. */
void cf_cpu_pyramid_make_fine(CfCpuPyramid *pyramid, const CfJob *job, bool weighted, int y0,
                              int y1);
void cf_cpu_pyramid_make_coarse(CfCpuPyramid *pyramid, int y0, int y1);

/* One tile before rounding, as sums that cf_lines_float stores. tile.x0 is a multiple of 16, the
 * height at most CF_PYRAMID_TILE_HEIGHT. `to` has rows of `stride` floats, with room for 64 floats
 * more than the tile needs. Callable from the threads of a loop. */
#define CF_PYRAMID_TILE_HEIGHT 32
void cf_cpu_pyramid_tile(const CfCpuPyramid *pyramid, CfRect tile, float *to, size_t stride);

/* NULL is allowed. */
void cf_cpu_pyramid_close(CfCpuPyramid *pyramid);
