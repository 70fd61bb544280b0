/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Block average of regions: first all colours, then all covered samples, for blocks of different
 * grids may overlap each other and what is filtered in place.
 */
#pragma once

#include "cpu/blockavg/lines.h"

/* Belongs to one caller at a time; runs work on the pool's threads. */
typedef struct CfBlockRegions CfBlockRegions;

/* Scratch for pictures of `video`, NULL if there is no memory. */
CfBlockRegions *cf_block_regions_new(const CfVideo *video, int threads);

/* NULL is allowed. */
void cf_block_regions_free(CfBlockRegions *self);

/* Filters a job that has regions. Allocates only where a frame has more blocks than any before. */
bool cf_block_regions_run(CfBlockRegions *self, const CfBlockavgParams *params, const CfJob *job,
                          CfStatus *status);
