/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Blends a filtered picture, or one colour, into the source where regions cover it, for engines
 * that cannot filter single samples.
 */
#pragma once

#include "cuda/common/context.cuh"

extern "C" {
#include "plan/coverage.h"
}

/* Enqueues one launch for all planes and regions. Each sample of `destination` becomes that of
 * `source` where its coverage is 0, that of `filtered` where it is full, and a mix in between
 * (plan/coverage_rule.h). All three are pictures of `video` in device memory; of `filtered` only
 * cf_coverage_bounds() is read, and needs to be valid. `source` and `destination` may be the same:
 * then only covered samples are written. */
bool cf_cuda_blend(CfDevice *device, const CfVideo *video, const CfRegions *regions,
                   const CfPicture *source, const CfPicture *filtered, const CfPicture *destination,
                   void *stream, CfStatus *status);

/* As cf_cuda_blend(), with the colour `argb` (0xAARRGGBB) for `filtered`. With `regions` NULL the
 * whole picture is filled. */
bool cf_cuda_fill(CfDevice *device, const CfVideo *video, const CfRegions *regions,
                  const CfPicture *source, uint32_t argb, const CfPicture *destination,
                  void *stream, CfStatus *status);
