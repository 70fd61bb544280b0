/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Sharpening with a large sigma on the CPU. With G_x and G_y the blurs along one axis, each axis is
 * filtered with 2 - G, so the result is
 *
 *   (2 - G_x) w = 2 w - G_x w,    w = (2 - G_y) v = 2 v - G_y v
 *
 * A pyramid (cpu/pyramid/engine.h) blurs columns; each row of w is then blurred by the tables of
 * another one. The result is rounded once. The error of a pyramid counts up to five times.
 */
#pragma once

#include "plan/coverage.h"
#include "plan/fir.h"

/* Sharpens one plane. Used by one caller at a time; works on the pool's threads. */
typedef struct CfCpuSharpen CfCpuSharpen;

/* Whether pyramids sharpen a plane of this many bits faster than taps, and within a code of the
 * definition. `weighted`: a plane that is not opaque. The sigmas are those of G, in samples of the
 * plane. */
bool cf_cpu_sharpen_pays(int bits, bool weighted, double horizontal, double vertical);

/* NULL when out of memory, with CF_ERROR_NO_MEMORY. Has no plan until the first update. */
CfCpuSharpen *cf_cpu_sharpen_open(const CfVideo *video, int plane, int threads, CfStatus *status);

/* Prepares for the channels of `plan`, and for sigmas for which cf_cpu_sharpen_pays. On failure
 * there is no plan. */
bool cf_cpu_sharpen_update(CfCpuSharpen *sharpen, const CfFirPlan *plan, double horizontal,
                           double vertical, CfStatus *status);

/* Filters the samples in `rect` (of the plane) from the job's source to its destination. Returns
 * the arithmetic, as a constant string; NULL where nothing was done, because the plane is not
 * opaque and pyramids do not pay for it. */
const char *cf_cpu_sharpen_run(CfCpuSharpen *sharpen, const CfJob *job, CfRect rect);

/* NULL is allowed. */
void cf_cpu_sharpen_close(CfCpuSharpen *sharpen);
