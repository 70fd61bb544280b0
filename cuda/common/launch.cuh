/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * One way to launch a kernel, with the attributes that a launch may have.
 */
#pragma once

#include <cuda_runtime.h>

#include "cuda/common/context.cuh"

namespace cf
{

/* The attribute for clusters of `ctas` CTAs along x. */
inline cudaLaunchAttribute cluster_attribute(int ctas)
{
  cudaLaunchAttribute attribute = {};

  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim.x = (unsigned)ctas;
  attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
  return attribute;
}

struct Launch {
  dim3 grid, block;
  size_t shared_bytes; /* dynamic shared memory */
  cudaStream_t stream;
  bool dependent;   /* may start while the previous grid runs: the kernel waits (pdl.cuh) */
  bool cooperative; /* all CTAs are resident together, or the launch fails */
  int cluster;      /* CTAs of a cluster along x; 0 or 1: none */
};

/* Enqueues `kernel`. Whether the GPU knows programmatic dependent launch is the caller's to ask
 * (CfDevice.code >= 90). A caller that can do without an attribute looks at the result; cf_cuda_ok
 * must then clear it. */
template <typename... Parameters, typename... Arguments>
cudaError_t try_launch(const Launch &how, void (*kernel)(Parameters...), Arguments &&...arguments)
{
  cudaLaunchConfig_t config = {};
  cudaLaunchAttribute attributes[3] = {};
  unsigned count = 0;

  if (how.dependent) {
    attributes[count].id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attributes[count++].val.programmaticStreamSerializationAllowed = 1;
  }
  if (how.cooperative) {
    attributes[count].id = cudaLaunchAttributeCooperative;
    attributes[count++].val.cooperative = 1;
  }
  if (how.cluster > 1)
    attributes[count++] = cluster_attribute(how.cluster);
  config.gridDim = how.grid;
  config.blockDim = how.block;
  config.dynamicSmemBytes = how.shared_bytes;
  config.stream = how.stream;
  config.attrs = attributes;
  config.numAttrs = count;
  return cudaLaunchKernelEx(&config, kernel, static_cast<Arguments &&>(arguments)...);
}

/* The same; `doing` is the error message's subject ("blurring columns"). */
template <typename... Parameters, typename... Arguments>
bool launch(const Launch &how, const char *doing, CfStatus *status, void (*kernel)(Parameters...),
            Arguments &&...arguments)
{
  return cf_cuda_ok(try_launch(how, kernel, static_cast<Arguments &&>(arguments)...), doing,
                    status);
}

/* One-dimensional grids for a job that holds all planes of a picture. The first of a frame is an
 * ordinary launch, so that all older work is done. */
template <typename Job>
bool launch_first(void (*kernel)(Job), const Job *job, int ctas, int threads, void *stream,
                  const char *doing, CfStatus *status)
{
  Launch how = {};

  how.grid = dim3((unsigned)ctas);
  how.block = dim3((unsigned)threads);
  how.stream = (cudaStream_t)stream;
  return launch(how, doing, status, kernel, *job);
}

/* The others are dependent ones, where the job's `overlaps` says that they may be. */
template <typename Job>
bool launch_job(void (*kernel)(Job), const Job *job, int ctas, int threads, int shared_bytes,
                void *stream, const char *doing, CfStatus *status)
{
  Launch how = {};

  how.grid = dim3((unsigned)ctas);
  how.block = dim3((unsigned)threads);
  how.shared_bytes = (size_t)shared_bytes;
  how.stream = (cudaStream_t)stream;
  how.dependent = job->overlaps;
  return launch(how, doing, status, kernel, *job);
}

#ifdef __CUDACC__

/* The plane of a job that this CTA works for, where `first` is the member that holds each plane's
 * first CTA; `index` becomes the CTA's number within the plane. */
template <typename Job, typename Plane>
__device__ const Plane &plane_of_cta(const Job &job, int Plane::*first, int *index)
{
  int p = 0;

  while (p + 1 < job.planes && (int)blockIdx.x >= job.plane[p + 1].*first)
    p++;
  *index = (int)blockIdx.x - job.plane[p].*first;
  return job.plane[p];
}

#endif

} // namespace cf
