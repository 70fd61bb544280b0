/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Block average of anything: frames, and lists of any number of regions, in blocks of any size;
 * every mode but fill, every format, rows at any address. Three small grids, whose speed is that of
 * plain loops; frame_kernel.cuh and regions_fused.h serve most jobs faster.
 */
#pragma once

#include "cuda/common/context.cuh"

extern "C" {
#include "blockavg.h"
#include "regions.h"
}

namespace cf::blockavg
{

/* Of one stream of pictures. Used by one caller at a time. */
struct GeneralMosaic;

/* NULL on failure. `device` is borrowed. */
GeneralMosaic *open_general(CfDevice *device, const CfVideo *video, CfStatus *status);

/* NULL is allowed. */
void close_general(GeneralMosaic *self);

/* Enqueues a job. Host memory grows with the longest list so far; device memory is scratch. */
bool run_general(GeneralMosaic *self, const CfBlockavgParams *params, const CfJob *job,
                 CfStatus *status);

} // namespace cf::blockavg
