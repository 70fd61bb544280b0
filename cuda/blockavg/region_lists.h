/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Block average of regions: which of two ways a list goes, and what was prepared for the last list,
 * which serves all frames that have the same.
 */
#pragma once

#include "cuda/common/context.cuh"

extern "C" {
#include "blockavg.h"
}

namespace cf::blockavg
{

/* The regions of one stream of pictures. Used by one caller at a time. */
struct Regions;

/* NULL on failure. `device` is borrowed. */
Regions *open_regions(CfDevice *device, const CfVideo *video, CfStatus *status);

/* NULL is allowed. */
void close_regions(Regions *self);

/* Enqueues a job that has regions. Host memory grows with the longest list so far. */
bool run_regions(Regions *self, const CfBlockavgParams *params, const CfJob *job, CfStatus *status);

} // namespace cf::blockavg
