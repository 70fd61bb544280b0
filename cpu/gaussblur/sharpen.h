/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Sharpening of large sigma on the CPU. With G_x and G_y the blurs along one axis, each axis is
 * filtered with 2 - G, so the result is
 *
 *   (2 - G_x) w = 2 w - G_x w,    w = (2 - G_y) v = 2 v - G_y v
 *
 * A pyramid (cpu/pyramid/engine.h) blurs columns; rows of w are blurred along themselves, each on
 * its own, by the tables of another. The result is rounded once: a pyramid's error counts up to
 * five times.
 */
#pragma once

#include "plan/coverage.h"
#include "plan/fir.h"

/* The sharpening of one plane. Belongs to one caller at a time; works on the pool's threads. */
typedef struct CfCpuSharpen CfCpuSharpen;

/* Whether pyramids sharpen a plane of so many bits faster than the taps would, and within a code.
 * `weighted`: where it is not opaque. Both sigmas are those of G, in samples of the plane. */
bool cf_cpu_sharpen_pays(int bits, bool weighted, double horizontal, double vertical);

/* NULL without memory. It has no plan yet. */
CfCpuSharpen *cf_cpu_sharpen_open(const CfVideo *video, int plane, int threads, CfStatus *status);

/* Takes over what happens to the channels, for sigmas that pay. On failure it has no plan. */
bool cf_cpu_sharpen_update(CfCpuSharpen *sharpen, const CfFirPlan *plan, double horizontal,
                           double vertical, CfStatus *status);

/* Filters the samples in `rect` (of the plane) from the job's source to its destination. Returns
 * the arithmetic as a constant string; NULL where nothing was done, since the plane is not opaque
 * and pyramids do not pay for it. */
const char *cf_cpu_sharpen_run(CfCpuSharpen *sharpen, const CfJob *job, CfRect rect);

/* NULL is allowed. */
void cf_cpu_sharpen_close(CfCpuSharpen *sharpen);
