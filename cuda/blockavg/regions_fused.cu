/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Block average of regions in one launch: the choice of kernel, and where the kernel finds the
 * list and the picture.
 */
#include "cuda/blockavg/regions_fused.h"

#include <stdlib.h>
#include <string.h>

#include "cuda/blockavg/job.cuh"
#include "cuda/blockavg/regions_fused_kernel.cuh"
#include "cuda/common/int_math.cuh"
#include "cuda/common/launch.cuh"

extern "C" {
#include "plan/coverage.h"
#include "plan/strips.h"
}

namespace cf::blockavg
{

namespace
{

typedef void (*FusedKernel)(FusedFrame, BoxList<kInlineRegions>);

/* The kernels of minima and maxima, and of fills, which need no sums; NULL for soft shapes, of
 * which few are filtered so. */
template <bool Soft> FusedKernel largest_kernel_for(const CfFormatInfo *format)
{
  if constexpr (Soft)
    return nullptr;
  else if (cf_sample_bytes(format) == 2)
    return average_units<LargestWords, 1, false>;
  else
    return format->plane[0].channels == 4 ? average_units<LargestBytes, 4, false>
                                          : average_units<LargestBytes, 1, false>;
}

/* The kernel for a format; NULL if there is none. */
template <bool Soft> FusedKernel kernel_for(const CfFormatInfo *format, int mode)
{
  if (mode != CF_BLOCKAVG_AVERAGE)
    return largest_kernel_for<Soft>(format);
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
  BoxList<kInlineRegions> inline_list; /* the same, while it is short */
  bool soft;                           /* shapes are ellipses, or have a feather */
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
  return try_launch(how, self->kernel, self->frame, self->inline_list);
}

/* Puts the list where the kernel finds it: with the parameters or, if it is long, at `memory`. */
bool place_list(FusedRegions *self, BoxList<kMostRegions> *memory, void *stream, CfStatus *status)
{
  const BoxList<kMostRegions> *list = &self->list.list;

  self->frame.list = memory;
  if (memory)
    return cf_upload(memory, list, sizeof *list, stream, status);
  memcpy(self->inline_list.box, list->box, sizeof self->inline_list.box);
  memcpy(self->inline_list.start, list->start, sizeof self->inline_list.start);
  return true;
}

/* Copies the picture into scratch memory, from which `work` then reads. */
bool copy_source(const FusedRegions *self, uint8_t *memory, CfJob *work, CfStatus *status)
{
  CfPicture copy = {};

  cf_strips_lay_out(&self->video, self->video.height, memory, &copy);
  if (!cf_copy_picture(CF_COPY_ON_DEVICE, &self->video, &copy, &work->source, work->stream, status))
    return false;
  work->source = copy;
  return true;
}

} // namespace

FusedRegions *open_fused(CfDevice *device, const CfVideo *video, CfStatus *status)
{
  FusedRegions *self = (FusedRegions *)cf_zeroed(sizeof *self, status);

  if (!self)
    return nullptr;
  self->device = device;
  self->video = *video;
  self->cooperates = device->cooperates;
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

  if (format->plane[0].channels == 3 || regions->outside ||
      !make_region_plan(&self->list, &self->video, params, regions))
    return false;
  frame->job = plan_codes(&self->video);
  frame->job.inverted = params->mode == CF_BLOCKAVG_MIN ? frame->job.mask : 0;
  frame->job.fills = params->mode == CF_BLOCKAVG_FILL;
  for (int p = 0; p < format->planes; p++)
    cf_color_pixel(&self->video, params->fill_color, p, (uint8_t *)&frame->job.plane[p].fill);
  frame->coverage = cf_coverage_rule(regions);
  self->soft = frame->coverage.ellipse || frame->coverage.reach > 0;

  const FusedKernel kernel =
      self->soft ? kernel_for<true>(format, params->mode) : kernel_for<false>(format, params->mode);
  if (kernel != self->kernel)
    self->resident = 0;
  self->kernel = kernel;
  if (!kernel)
    return false;
  if (list->needs_grid_barrier && !are_resident(self) && !count_units(&self->list, &self->video))
    return false;
  static_cast<UnitPlan &>(*frame) = *list;
  return true;
}

bool run_fused(FusedRegions *self, const CfJob *job, CfStatus *status)
{
  const CfVideo *video = &self->video;
  const bool in_place = job->source.data[0] == job->destination.data[0];
  const bool waits = in_place && self->list.needs_grid_barrier && are_resident(self);
  const bool reads_copy = in_place && self->list.needs_grid_barrier && !waits;
  const size_t list_bytes = self->list.boxes > kInlineRegions ? sizeof self->list.list : 0;
  const size_t bytes =
      list_bytes + (reads_copy ? cf_strips_lay_out(video, video->height, nullptr, nullptr) : 0);
  CfJob work = *job;
  cudaError_t result = cudaSuccess;

  if (!in_place && !cf_copy_picture(CF_COPY_ON_DEVICE, video, &job->destination, &job->source,
                                    job->stream, status))
    return false;
  if (self->list.boxes == 0)
    return true;
  const bool good = cf_with_scratch(self->device, bytes, job->stream, status, [&](uint8_t *memory) {
    if ((reads_copy && !copy_source(self, memory + list_bytes, &work, status)) ||
        !place_list(self, list_bytes > 0 ? (BoxList<kMostRegions> *)memory : nullptr, job->stream,
                    status))
      return false;
    set_pictures(&self->frame.job, &work);
    result = launch(self, waits, (cudaStream_t)job->stream);
    return cf_cuda_ok(result, "averaging the blocks of regions",
                      result == cudaErrorCooperativeLaunchTooLarge ? nullptr : status);
  });
  if (result != cudaErrorCooperativeLaunchTooLarge)
    return good;
  /* The occupancy is that of a whole GPU; with MPS a process may have a part of it. */
  self->cooperates = false;
  return run_fused(self, job, status);
}

} // namespace cf::blockavg
