/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Blurs whose sigma varies over the picture: each sample blends the two of a series of Gaussian
 * levels (plan/blurmap_levels.h) that its own sigma lies between. README.md has the launches.
 */
#pragma once

#include "cuda/common/context.cuh"

extern "C" {
#include "plan/blur_field.h"
}

typedef struct CfCudaBlurMap CfCudaBlurMap;

CfCudaBlurMap *cf_cuda_blur_map_open(const CfVideo *video, CfDevice *device, CfStatus *status);

/* Filters a whole picture, or the job's rows of it. The field varies (cf_blur_field_varies);
 * `changed` says that its params may not be those of the last run. Allocates where these need more
 * memory than any before, else nothing but stream-ordered scratch. On failure the next run of
 * another field is as good as ever. */
bool cf_cuda_blur_map_run(CfCudaBlurMap *blur, const CfBlurField *field, bool changed,
                          const CfJob *job, CfStatus *status);

/* As CfEngine.algorithm, of the last run: "levels" on tensor cores, or "levels-fp32". */
const char *cf_cuda_blur_map_algorithm(const CfCudaBlurMap *blur);

void cf_cuda_blur_map_close(CfCudaBlurMap *blur);
