/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * How kernels of blurs are launched, each for all planes of a picture. A job has
 * the number of `planes`, the `plane`s, and says whether launches of it may overlap.
 */
#pragma once

#include <cuda_runtime.h>

#include "cuda/common/context.cuh"

constexpr int kPyramidThreads = 128;

/* Launches so that the grid may be set up while the kernel before it still runs, where the device
 * can do that. */
template <typename Job>
bool cf_launch_after(void (*kernel)(Job), const Job *job, int blocks, int bytes, void *stream,
                     const char *doing, CfStatus *status, int threads = kPyramidThreads)
{
  cudaLaunchConfig_t config = {};
  cudaLaunchAttribute attribute = {};

  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  config.gridDim = dim3((unsigned)blocks);
  config.blockDim = dim3((unsigned)threads);
  config.dynamicSmemBytes = (size_t)bytes;
  config.stream = (cudaStream_t)stream;
  config.attrs = &attribute;
  config.numAttrs = job->overlaps ? 1 : 0;
  return cf_cuda_ok(cudaLaunchKernelEx(&config, kernel, *job), doing, status);
}

/* The plane that a block works for, of which `first` tells the first blocks, and the block's number
 * within it. */
template <typename Job, typename Plane>
__device__ const Plane &cf_plane_of_block(const Job &job, int Plane::*first, int *index)
{
  int p = 0;

  while (p + 1 < job.planes && (int)blockIdx.x >= job.plane[p + 1].*first)
    p++;
  *index = (int)blockIdx.x - job.plane[p].*first;
  return job.plane[p];
}
