/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cuda/blockavg/regions_fused.h"

#include <stdlib.h>
#include <string.h>

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

typedef void (*FusedKernel)(FusedFrame, InlineList);

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
  bool cooperates; /* the GPU launches grids whose CTAs can wait for each other */

  FusedKernel kernel;
  int resident;         /* CTAs of the kernel that the GPU runs at once; 0: not asked yet */
  int resident_threads; /* of so many threads */
  FusedFrame frame;     /* but for pictures */
  RegionPlan list;
  bool soft; /* ellipses, or with a feather */
};

namespace
{

/* Of a CTA. Samples that are looked at one by one want more than there are items. */
int threads(const FusedRegions *self)
{
  const int items = (self->list.items + 31) / 32 * 32;

  return self->soft ? larger(items, kUnitItems) : items;
}

/* CTAs that copy what lies around the regions. */
int blocks_around(const FusedRegions *self, int threads)
{
  const CfFormatInfo *format = cf_format_info(self->video.format);
  const int rows = threads / 32 * kAroundRows, tile = 32 * kColumnBytes;
  int blocks = 0;

  for (int p = 0; p < format->planes; p++)
    blocks += ((int)cf_row_bytes(&self->video, p) + tile - 1) / tile *
              ((cf_plane_height(&self->video, p) + rows - 1) / rows);
  return blocks;
}

/* Whether all CTAs are on the GPU at once, and so can wait for each other. */
bool are_resident(FusedRegions *self)
{
  const int size = threads(self);

  if (!self->cooperates)
    return false;
  if (self->resident == 0 || self->resident_threads != size) {
    int blocks = 0;

    if (!cf_cuda_ok(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, self->kernel, size, 0),
                    "asking for what fits a multiprocessor", nullptr))
      return false;
    self->resident_threads = size;
    self->resident = blocks * self->device->info.multiprocessors;
  }
  return self->list.blocks <= self->resident;
}

/* `around`: what no region covers is copied, too. */
cudaError_t launch(FusedRegions *self, bool around, bool waits, cudaStream_t stream)
{
  const int size = around ? larger(threads(self), kUnitItems) : threads(self);
  const int blocks = self->list.blocks + (around ? blocks_around(self, size) : 0);
  const int across = self->list.exact_offsets ? blocks : self->list.blocks / self->list.boxes;
  Launch how = {};
  InlineList boxes;

  memcpy(boxes.box, self->list.box, (size_t)self->list.boxes * sizeof(Box));
  if (self->list.exact_offsets)
    memcpy(boxes.start, self->list.start, (size_t)self->list.boxes * sizeof(uint16_t));
  self->frame.needs_grid_barrier = waits;
  how.grid = dim3((unsigned)across, (unsigned)div_up(blocks, across));
  how.block = dim3((unsigned)size);
  how.stream = stream;
  how.cooperative = waits;
  return try_launch(how, self->kernel, self->frame, boxes);
}

bool launched(cudaError_t result, CfStatus *status)
{
  return cf_cuda_ok(result, "averaging the blocks of regions", status);
}

/* Reads from a copy of the picture, so that no CTA waits for another. */
bool run_from_copy(FusedRegions *self, const CfJob *job, CfStatus *status)
{
  const CfFormatInfo *format = cf_format_info(self->video.format);
  CfPicture copy = {};
  size_t bytes = 0;

  for (int p = 0; p < format->planes; p++) {
    copy.stride[p] = (ptrdiff_t)round_up<size_t>(cf_row_bytes(&self->video, p), kColumnBytes);
    bytes += scratch_bytes((size_t)copy.stride[p] * cf_plane_height(&self->video, p));
  }
  uint8_t *const scratch = (uint8_t *)cf_scratch_take(self->device, bytes, job->stream, status);
  if (!scratch)
    return false;
  uint8_t *next = scratch;
  for (int p = 0; p < format->planes; p++) {
    copy.data[p] = next;
    next += scratch_bytes((size_t)copy.stride[p] * cf_plane_height(&self->video, p));
  }

  CfJob from_copy = *job;
  from_copy.source = copy;
  set_pictures(&self->frame.job, &from_copy);
  const bool good =
      cf_copy_picture(CF_COPY_ON_DEVICE, &self->video, &copy, &job->source, job->stream, status) &&
      launched(launch(self, false, false, (cudaStream_t)job->stream), status);
  return cf_scratch_give(self->device, scratch, job->stream, good ? status : nullptr) && good;
}

/* Occupancy counts a whole GPU; with MPS a process may have less, and a cooperative launch fails.
 */
bool run_in_place(FusedRegions *self, const CfJob *job, CfStatus *status)
{
  const cudaStream_t stream = (cudaStream_t)job->stream;
  const bool waits = self->list.needs_grid_barrier;

  if (waits && !self->cooperates)
    return run_from_copy(self, job, status);
  const cudaError_t result = launch(self, false, waits, stream);
  if (!waits || result != cudaErrorCooperativeLaunchTooLarge)
    return launched(result, status);
  launched(result, nullptr);
  self->cooperates = false;
  return run_from_copy(self, job, status);
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

bool plan_fused(FusedRegions *self, const CfBlockavgParams *params, const CfRegions *regions,
                bool stays)
{
  const CfFormatInfo *format = cf_format_info(self->video.format);
  const RegionPlan *list = &self->list;
  FusedFrame *frame = &self->frame;

  if (format->plane[0].channels == 3 || params->mode != CF_BLOCKAVG_AVERAGE || regions->outside ||
      !make_region_plan(&self->list, &self->video, params, regions, stays))
    return false;
  frame->job = plan_codes(&self->video, params->mode);
  frame->rule = list->rule;
  frame->coverage = cf_coverage_rule(regions);
  frame->alpha = cf_alpha_channel(&format->plane[0]);
  frame->boxes = list->boxes;
  frame->units[0] = list->units[0];
  frame->units[1] = list->units[1];
  frame->unit_items = list->unit_items;
  frame->cut[0] = list->cut[0];
  frame->cut[1] = list->cut[1];
  frame->overlaps = list->overlaps;
  self->soft = frame->coverage.ellipse || frame->coverage.reach > 0;

  const FusedKernel kernel = self->soft ? kernel_for<true>(format) : kernel_for<false>(format);
  if (kernel != self->kernel)
    self->resident = 0;
  self->kernel = kernel;
  if (list->needs_grid_barrier && !are_resident(self) &&
      !(count_units(&self->list, &self->video) && are_resident(self)))
    return false;
  frame->exact_offsets = list->exact_offsets;
  frame->blocks = list->blocks;
  return true;
}

bool run_fused(FusedRegions *self, const CfJob *job, CfStatus *status)
{
  const bool copies = job->source.data[0] != job->destination.data[0];

  /* Single pixels may stay as they were, so that they have to be there already. */
  const bool around = copies && !self->soft && self->list.boxes > 0 &&
                      !(self->frame.alpha >= 0 && self->list.has_pixels);

  if (copies && !around &&
      !cf_copy_picture(CF_COPY_ON_DEVICE, &self->video, &job->destination, &job->source,
                       job->stream, status))
    return false;
  if (self->list.boxes == 0)
    return true;
  set_pictures(&self->frame.job, job);
  return copies ? launched(launch(self, around, false, (cudaStream_t)job->stream), status)
                : run_in_place(self, job, status);
}

} // namespace cf::blockavg
