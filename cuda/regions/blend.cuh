/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Puts a filtered picture, or one colour, into the source where regions cover it, for engines that
 * filter whole areas rather than single samples.
 */
#pragma once

#include "cuda/common/context.cuh"

extern "C" {
#include "plan/coverage.h"
}

/* Enqueues, in one launch for all planes and regions: `destination` becomes the source where
 * nothing is covered, `filtered` where all is, and a mix in between (plan/coverage_rule.h). All
 * three are pictures of `video` in device memory; `filtered` is read in cf_coverage_bounds() only,
 * so only that part of it needs to be in memory. `source` and `destination` may be the same, and
 * then only covered samples are written. */
bool cf_cuda_blend(CfDevice *device, const CfVideo *video, const CfRegions *regions,
                   const CfPicture *source, const CfPicture *filtered, const CfPicture *destination,
                   void *stream, CfStatus *status);

/* The same with a colour, 0xAARRGGBB, for `filtered`; `regions` may be NULL for the whole picture.
 */
bool cf_cuda_fill(CfDevice *device, const CfVideo *video, const CfRegions *regions,
                  const CfPicture *source, uint32_t argb, const CfPicture *destination,
                  void *stream, CfStatus *status);
