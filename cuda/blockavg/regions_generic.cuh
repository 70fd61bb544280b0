/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Block average of regions: one launch for all of them, or two, values of blocks first and covered
 * samples after: where blocks of different grids overlap, blocks are large, or samples are covered
 * in part.
 */
#pragma once

#include "cuda/common/context.cuh"

extern "C" {
#include "blockavg.h"
}

/* The regions of one stream of pictures: what was prepared for the last list of them, which serves
 * all frames that have the same. Used by one caller at a time. */
struct CfBlockRegions;

/* NULL on failure. `device` is borrowed. */
CfBlockRegions *cf_blockavg_regions_new(CfDevice *device, const CfVideo *video, CfStatus *status);

/* NULL is allowed. */
void cf_blockavg_regions_free(CfBlockRegions *self);

/* Enqueues a job that has regions. */
bool cf_blockavg_regions_run(CfBlockRegions *self, const CfBlockavgParams *params, const CfJob *job,
                             CfStatus *status);
