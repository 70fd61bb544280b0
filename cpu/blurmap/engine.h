/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Blurs whose sigma varies from sample to sample, on the CPU: each tile blends the levels
 * (plan/blurmap_levels.h) that its samples lie between. Small levels are filtered in the tile,
 * large ones are read from pyramids, which are made only where some tile needs them.
 */
#pragma once

#include "cpu/blurmap/field.h"
#include "plan/fir.h"

/* Belongs to one caller at a time; runs work on the pool's threads. */
typedef struct CfCpuBlurMap CfCpuBlurMap;

/* NULL without memory, with the reason. */
CfCpuBlurMap *cf_cpu_blurmap_open(const CfVideo *video, int threads, CfStatus *status);

/* Makes the samples of rows->job in one rectangle a plane. Its field varies (cf_blur_field_varies);
 * `changed` says whether that has been set since the last call. Allocates where this field needs
 * more memory than any before. */
bool cf_cpu_blurmap_run(CfCpuBlurMap *blur, const CfBlurRows *rows, bool changed,
                        const CfRect rects[CF_MAX_PLANES], CfStatus *status);

/* NULL is allowed. */
void cf_cpu_blurmap_close(CfCpuBlurMap *blur);
