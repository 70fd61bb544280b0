/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Blurs whose sigma varies over the picture: each sample is a blend of two levels, of a series of
 * Gaussian blurs (plan/blurmap_levels.h), between whose sigmas its own lies. README.md has the
 * launches.
 */
#pragma once

#include "cuda/common/context.cuh"

extern "C" {
#include "plan/blur_field.h"
}

typedef struct CfCudaBlurMap CfCudaBlurMap;

CfCudaBlurMap *cf_cuda_blur_map_open(const CfVideo *video, CfDevice *device, CfStatus *status);

/* Filters a whole picture, or the job's rows of it. cf_blur_field_varies() must be true for
 * `field`; `changed` must be set if its params may differ from those of the last run. Allocates
 * device memory if these params need more than any before, else only stream-ordered scratch. After
 * a failure, runs with other fields are possible. */
bool cf_cuda_blur_map_run(CfCudaBlurMap *blur, const CfBlurField *field, bool changed,
                          const CfJob *job, CfStatus *status);

/* As CfEngine.algorithm, of the last run: "levels" on tensor cores, or "levels-fp32". */
const char *cf_cuda_blur_map_algorithm(const CfCudaBlurMap *blur);

void cf_cuda_blur_map_close(CfCudaBlurMap *blur);
