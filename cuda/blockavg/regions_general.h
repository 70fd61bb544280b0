/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Block average of any list of regions: any number, shape, grid, format and alignment. Three small
 * grids, whose speed is that of plain loops; regions_fused.h serves most lists faster.
 */
#pragma once

#include "cuda/common/context.cuh"

extern "C" {
#include "blockavg.h"
#include "regions.h"
}

namespace cf::blockavg
{

/* The regions of one stream of pictures. Used by one caller at a time. */
struct GeneralRegions;

/* NULL on failure. `device` is borrowed. */
GeneralRegions *open_general(CfDevice *device, const CfVideo *video, CfStatus *status);

/* NULL is allowed. */
void close_general(GeneralRegions *self);

/* Enqueues a job with `regions`. Host memory grows with the longest list so far; device memory is
 * scratch. */
bool run_general(GeneralRegions *self, const CfBlockavgParams *params, const CfJob *job,
                 CfStatus *status);

} // namespace cf::blockavg
