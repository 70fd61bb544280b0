/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Block average of whole frames and of lists of any number of regions, in blocks of any size; every
 * mode but fill, every format, rows at any address. Simple kernels: frame_kernel.cuh and
 * regions_fused.h are faster for most jobs.
 */
#pragma once

#include "cuda/common/context.cuh"

extern "C" {
#include "blockavg.h"
#include "regions.h"
}

namespace cf::blockavg
{

/* For pictures of one CfVideo. Not for use by several threads at once. */
struct GeneralMosaic {
  CfDevice *device; /* borrowed */
  CfVideo video;
  struct RegionWork *work; /* [capacity], host memory, NULL at first; the owner frees it */
  int capacity;
};

/* Enqueues a job. Allocates host memory if the list is longer than any before; device memory is
 * scratch. */
bool run_general(GeneralMosaic *self, const CfBlockavgParams *params, const CfJob *job,
                 CfStatus *status);

} // namespace cf::blockavg
