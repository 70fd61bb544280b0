/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Block average of up to 1024 regions in one launch, in blocks of up to 22500 luma pixels, of
 * planes of 1, 2 or 4 channels whose rows are aligned to 16 bytes. All other lists are for
 * general.h.
 */
#pragma once

#include "cuda/common/context.cuh"

extern "C" {
#include "blockavg.h"
#include "regions.h"
}

namespace cf::blockavg
{

/* Not for use by several threads at once. */
struct FusedRegions;

/* NULL on failure. `device` is borrowed. */
FusedRegions *open_fused(CfDevice *device, const CfVideo *video, CfStatus *status);

/* NULL is allowed. */
void close_fused(FusedRegions *self);

/* Prepares for a list of regions; false if list, format or GPU are not supported. Allocates
 * nothing. */
bool plan_fused(FusedRegions *self, const CfBlockavgParams *params, const CfRegions *regions);

/* Enqueues a job for the list that was planned last. Takes scratch memory for long lists, and for a
 * copy of the picture if CTAs must not write before all have read, but do not fit the GPU together.
 */
bool run_fused(FusedRegions *self, const CfJob *job, CfStatus *status);

} // namespace cf::blockavg
