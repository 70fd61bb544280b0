/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Blurs whose sigma varies from sample to sample, on the CPU. Each tile blends the levels
 * (plan/blurmap_levels.h) between which its samples lie. Small levels are filtered in the tile;
 * large ones are read from pyramids, of which only those are computed that some tile needs.
 */
#pragma once

#include "cpu/blurmap/field.h"
#include "plan/fir.h"

/* Used by one caller at a time; its loops run on the pool's threads. */
typedef struct CfCpuBlurMap CfCpuBlurMap;

/* NULL when out of memory, with CF_ERROR_NO_MEMORY. The caller closes it. */
CfCpuBlurMap *cf_cpu_blurmap_open(const CfVideo *video, int threads, CfStatus *status);

/* Writes the samples of one rectangle per plane of rows->job, whose field varies
 * (cf_blur_field_varies). `changed` says whether the field has been set since the last call.
 * Allocates where this field needs more memory than any before. */
bool cf_cpu_blurmap_run(CfCpuBlurMap *blur, const CfBlurRows *rows, bool changed,
                        const CfRect rects[CF_MAX_PLANES], CfStatus *status);

/* NULL is allowed. */
void cf_cpu_blurmap_close(CfCpuBlurMap *blur);
