/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Block average of up to 256 regions in one launch: averages only, blocks of up to 8192 luma
 * pixels, pictures of 1, 2 or 4 channels a plane whose rows start at multiples of 16 bytes. Other
 * lists are for general.h.
 */
#pragma once

#include "cuda/common/context.cuh"

extern "C" {
#include "blockavg.h"
#include "regions.h"
}

namespace cf::blockavg
{

/* Used by one caller at a time. */
struct FusedRegions;

/* NULL on failure. `device` is borrowed. */
FusedRegions *open_fused(CfDevice *device, const CfVideo *video, CfStatus *status);

/* NULL is allowed. */
void close_fused(FusedRegions *self);

/* Prepares for a list of regions; false where the list, the format or the GPU is not of the kind.
 * Allocates nothing. */
bool plan_fused(FusedRegions *self, const CfBlockavgParams *params, const CfRegions *regions);

/* Enqueues a job for the list that was planned last. Not `served`, and the job is as it was, where
 * the GPU turns out to have no room for CTAs that wait for each other, as it may with MPS. */
bool run_fused(FusedRegions *self, const CfJob *job, bool *served, CfStatus *status);

} // namespace cf::blockavg
