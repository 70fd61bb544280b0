/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Block average of regions in one launch: the choice of kernel, the cooperative launch, and its
 * fallback.
 */
#include "cuda/blockavg/regions_fused.h"

#include <stdlib.h>

#include "cuda/blockavg/job.cuh"
#include "cuda/blockavg/regions_fused_kernel.cuh"
#include "cuda/common/int_math.cuh"
#include "cuda/common/launch.cuh"

extern "C" {
#include "plan/coverage.h"
}

namespace cf::blockavg
{

namespace
{

typedef void (*FusedKernel)(FusedFrame, BoxList);

/* The kernel for averages of a format; NULL for formats of three channels. */
template <bool Soft> FusedKernel kernel_for(const CfFormatInfo *format)
{
  if (cf_sample_bytes(format) == 2)
    return average_units<MeanWords, 1, Soft>;
  if (format->alpha)
    return average_units<MeanPremultiplied, 4, Soft>;
  switch (format->plane[0].channels) {
  case 3:
    return nullptr;
  case 4:
    return average_units<MeanBytes, 4, Soft>;
  default:
    return average_units<MeanBytes, 1, Soft>;
  }
}

} // namespace

struct FusedRegions {
  CfDevice *device;
  CfVideo video;
  bool cooperates; /* the GPU supports cooperative launches, and none has been too large yet */

  FusedKernel kernel;
  int resident;         /* CTAs of the kernel that are resident at once; 0: not asked yet */
  int resident_threads; /* threads of these CTAs */
  FusedFrame frame;     /* without pictures */
  RegionPlan list;
  bool soft; /* shapes are ellipses, or have a feather */
};

namespace
{

/* Threads of a CTA: one for each item; of soft shapes at least kUnitItems, which divide the samples
 * of queued items. */
int threads(const FusedRegions *self)
{
  const int items = (self->list.items + 31) / 32 * 32;

  return self->soft ? larger(items, kUnitItems) : items;
}

/* Whether all CTAs of the plan are resident at once, as a grid barrier needs it. */
bool are_resident(FusedRegions *self)
{
  const int size = threads(self);

  if (!self->cooperates)
    return false;
  if (self->resident == 0 || self->resident_threads != size) {
    int ctas = 0;

    if (!cf_cuda_ok(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&ctas, self->kernel, size, 0),
                    "asking for what fits a multiprocessor", nullptr))
      return false;
    self->resident_threads = size;
    self->resident = ctas * self->device->info.multiprocessors;
  }
  return self->list.ctas <= self->resident;
}

cudaError_t launch(FusedRegions *self, bool waits, cudaStream_t stream)
{
  const RegionPlan *list = &self->list;
  const int across = list->exact_offsets ? list->ctas : list->ctas / list->boxes;
  Launch how = {};

  self->frame.needs_grid_barrier = waits;
  how.grid = dim3((unsigned)across, (unsigned)(list->ctas / across));
  how.block = dim3((unsigned)threads(self));
  how.stream = stream;
  how.cooperative = waits;
  return try_launch(how, self->kernel, self->frame, list->list);
}

} // namespace

FusedRegions *open_fused(CfDevice *device, const CfVideo *video, CfStatus *status)
{
  FusedRegions *self = (FusedRegions *)calloc(1, sizeof *self);
  int index = 0, cooperates = 0;

  if (!self) {
    cf_fail(status, CF_ERROR_NO_MEMORY, "out of host memory");
    return nullptr;
  }
  if (!cf_cuda_ok(cudaGetDevice(&index), "asking for the current GPU", status) ||
      !cf_cuda_ok(cudaDeviceGetAttribute(&cooperates, cudaDevAttrCooperativeLaunch, index),
                  "reading the GPU's properties", status)) {
    free(self);
    return nullptr;
  }
  self->device = device;
  self->video = *video;
  self->cooperates = cooperates != 0;
  return self;
}

void close_fused(FusedRegions *self)
{
  free(self);
}

bool plan_fused(FusedRegions *self, const CfBlockavgParams *params, const CfRegions *regions)
{
  const CfFormatInfo *format = cf_format_info(self->video.format);
  const RegionPlan *list = &self->list;
  FusedFrame *frame = &self->frame;

  if (format->plane[0].channels == 3 || params->mode != CF_BLOCKAVG_AVERAGE || regions->outside ||
      !make_region_plan(&self->list, &self->video, params, regions))
    return false;
  frame->job = plan_codes(&self->video);
  frame->coverage = cf_coverage_rule(regions);
  self->soft = frame->coverage.ellipse || frame->coverage.reach > 0;

  const FusedKernel kernel = self->soft ? kernel_for<true>(format) : kernel_for<false>(format);
  if (kernel != self->kernel)
    self->resident = 0;
  self->kernel = kernel;
  if (list->needs_grid_barrier && !are_resident(self) &&
      !(count_units(&self->list, &self->video) && are_resident(self)))
    return false;
  static_cast<UnitPlan &>(*frame) = *list;
  return true;
}

bool run_fused(FusedRegions *self, const CfJob *job, bool *served, CfStatus *status)
{
  const bool copies = job->source.data[0] != job->destination.data[0];
  const bool waits = self->list.needs_grid_barrier && !copies;

  *served = true;
  if (copies && !cf_copy_picture(CF_COPY_ON_DEVICE, &self->video, &job->destination, &job->source,
                                 job->stream, status))
    return false;
  if (self->list.boxes == 0)
    return true;
  set_pictures(&self->frame.job, job);

  /* The occupancy is that of a whole GPU; with MPS a process may have a part of it. */
  const cudaError_t result = launch(self, waits, (cudaStream_t)job->stream);
  *served = result != cudaErrorCooperativeLaunchTooLarge;
  self->cooperates = self->cooperates && *served;
  return cf_cuda_ok(result, "averaging the blocks of regions", *served ? status : nullptr);
}

} // namespace cf::blockavg
