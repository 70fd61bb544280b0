/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Blurs whose sigma varies over the picture: blends of levels (plan/blurmap_levels.h), of which
 * small ones are filtered in the tile that needs them, and large ones are read from pyramids.
 */
#pragma once

#include "cuda/common/context.cuh"

extern "C" {
#include "plan/blur_field.h"
}

typedef struct CfCudaBlurMap CfCudaBlurMap;

CfCudaBlurMap *cf_cuda_blur_map_open(const CfVideo *video, CfDevice *device, CfStatus *status);

/* Filters a whole picture. The field varies (cf_blur_field_varies); `changed` says that its params
 * may not be those of the last run. */
bool cf_cuda_blur_map_run(CfCudaBlurMap *blur, const CfBlurField *field, bool changed,
                          const CfJob *job, CfStatus *status);

void cf_cuda_blur_map_close(CfCudaBlurMap *blur);
