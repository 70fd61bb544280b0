/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Block average of up to 256 rectangles in one launch. Other lists are for
 * cuda/blockavg/regions_generic.cu.
 */
#pragma once

#include "cuda/common/context.cuh"

extern "C" {
#include "blockavg.h"
}

/* Used by one caller at a time. */
struct CfBlockRectangles;

/* NULL on failure. `device` is borrowed. */
CfBlockRectangles *cf_blockavg_rectangles_new(CfDevice *device, const CfVideo *video,
                                              CfStatus *status);

/* NULL is allowed. */
void cf_blockavg_rectangles_free(CfBlockRectangles *self);

/* Prepares for a list of regions; false where the list or the format is not of the kind. It may
 * `stay` for many jobs. All pictures are aligned to 16 bytes. */
bool cf_blockavg_rectangles_plan(CfBlockRectangles *self, const CfBlockavgParams *params,
                                 const CfRegions *regions, bool stays);

/* Enqueues a job for what was planned last. */
bool cf_blockavg_rectangles_run(CfBlockRectangles *self, const CfJob *job, CfStatus *status);
