/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Block average of regions: one launch for all of them, or two where their blocks overlap: values
 * first, and the covered samples after.
 */
#pragma once

#include "device.cuh"

extern "C" {
#include "blockavg.h"
}

/* Scratch on the host, grown where a frame has more regions than any before. Zeros at first; freed
 * by cf_blockavg_regions_free. */
struct CfBlockRegionTables {
  void *memory;
  size_t bytes;
};

void cf_blockavg_regions_free(CfBlockRegionTables *tables);

/* Enqueues a job that has regions. */
bool cf_blockavg_regions_run(CfBlockRegionTables *tables, CfDevice *device, const CfVideo *video,
                             const CfBlockavgParams *params, const CfJob *job, CfStatus *status);
