/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Kernel launches with attributes, and error checks.
 */
#pragma once

#include <cuda_runtime.h>

#include "cuda/common/context.cuh"

namespace cf
{

/* The launch attribute for clusters of `ctas` CTAs along x. */
inline cudaLaunchAttribute cluster_attribute(int ctas)
{
  cudaLaunchAttribute attribute = {};

  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim.x = (unsigned)ctas;
  attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
  return attribute;
}

/* Prefers a carveout for a kernel of the current context: `percent` of what an SM has for shared
 * memory and L1 cache. CTAs start on an SM with a smaller one only when no others run there.
 * Launches of other threads wait for the call, so a state makes it in its first frame after an
 * update only. A kernel's carveout is shared by all states of the context: that of the last call.
 */
inline bool prefer_carveout(const void *kernel, int percent, const char *doing, CfStatus *status)
{
  return cf_cuda_ok(
      cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout, percent), doing,
      status);
}

struct Launch {
  dim3 grid, block;
  size_t shared_bytes; /* dynamic shared memory */
  cudaStream_t stream;
  bool dependent;   /* programmatic dependent launch: the kernel waits itself (pdl.cuh) */
  bool cooperative; /* all CTAs are co-resident, or the launch fails */
  int cluster;      /* CTAs of a cluster along x; 0 or 1: no clusters */
};

/* Enqueues `kernel`. `dependent` and `cluster` need CfDevice.code >= 90, which the caller checks. A
 * caller with a fallback must pass a failure to cf_cuda_ok(), which clears the runtime's last
 * error. */
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

/* As try_launch(), with an error message that starts with `doing` ("blurring columns"). */
template <typename... Parameters, typename... Arguments>
bool launch(const Launch &how, const char *doing, CfStatus *status, void (*kernel)(Parameters...),
            Arguments &&...arguments)
{
  return cf_cuda_ok(try_launch(how, kernel, static_cast<Arguments &&>(arguments)...), doing,
                    status);
}

/* Launches a one-dimensional grid, for a job with all planes of a picture, as the first of a frame:
 * an ordinary launch, which starts when all earlier work of the stream is done. */
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

/* Launches a later grid of the frame: a dependent launch where the job's `overlaps` is set. */
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

/* The job's plane that this CTA works for. The CTAs of a grid are numbered plane after plane;
 * `first` is the member that holds the number of each plane's first one. `*index` is set to the
 * CTA's number within the plane. */
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
