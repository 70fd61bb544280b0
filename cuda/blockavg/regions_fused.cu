/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cuda/blockavg/regions_fused.h"

#include <stdlib.h>
#include <string.h>

#define CF_BLOCKAVG_THREADS 256
#include "cuda/blockavg/dispatch.cuh"
#include "cuda/blockavg/regions_fused_kernel.cuh"

extern "C" {
#include "plan/coverage.h"
}

namespace
{

typedef CarriedBoxes<kFewRegions> FewBoxes;
typedef CarriedBoxes<kMostRegions> ManyBoxes;

struct KernelPair {
  void (*few)(RectangleFrame, FewBoxes);
  void (*many)(RectangleFrame, ManyBoxes);
};

template <bool Soft> struct Kernels {
  typedef KernelPair Type;
  template <template <int, bool> class Kind, int Channels> static KernelPair get()
  {
    if constexpr (Channels == 3)
      return {};
    else
      return {average_units<Kind, Channels, Soft, kFewRegions>,
              average_units<Kind, Channels, Soft, kMostRegions>};
  }
};

} // namespace

struct CfBlockRectangles {
  CfDevice *device;
  CfVideo video;

  KernelPair kernel;
  int resident;         /* CUDA blocks of it that the GPU runs at once; 0: not asked yet */
  int resident_threads; /* of so many threads */
  RectangleFrame frame; /* but for pictures and the counter */
  CfPatchList list;
  bool soft; /* ellipses, or with a feather */

  /* The counter of units that have read belongs to the first stream that was used. */
  bool has_stream;
  cudaStream_t stream;
  unsigned *arrived;
  unsigned awaited; /* what it counts to by the end of all jobs so far */
};

namespace
{

/* Of a CUDA block. Samples that are looked at one by one want more than there are items. */
int threads(const CfBlockRectangles *self)
{
  const int items = (self->list.items + 31) / 32 * 32;

  return self->soft ? cf_greater(items, kUnitItems) : items;
}

/* CUDA blocks that copy what lies around the regions. */
int blocks_around(const CfBlockRectangles *self, int threads)
{
  const CfFormatInfo *format = cf_format_info(self->video.format);
  const int rows = threads / 32 * kAroundRows, tile = 32 * kColumnBytes;
  int blocks = 0;

  for (int p = 0; p < format->planes; p++)
    blocks += ((int)cf_row_bytes(&self->video, p) + tile - 1) / tile *
              ((cf_plane_height(&self->video, p) + rows - 1) / rows);
  return blocks;
}

/* Whether all CUDA blocks can wait for each other. */
bool are_resident(CfBlockRectangles *self)
{
  const int size = threads(self);

  if (self->resident == 0 || self->resident_threads != size) {
    int few = 0, many = 0;

    if (!cf_cuda_ok(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&few, self->kernel.few, size, 0),
                    "asking for what fits a multiprocessor", nullptr) ||
        !cf_cuda_ok(
            cudaOccupancyMaxActiveBlocksPerMultiprocessor(&many, self->kernel.many, size, 0),
            "asking for what fits a multiprocessor", nullptr))
      return false;
    self->resident_threads = size;
    self->resident = (few < many ? few : many) * self->device->info.multiprocessors;
  }
  return self->list.blocks <= self->resident;
}

template <int Boxes> CarriedBoxes<Boxes> carried(const CfBlockRectangles *self)
{
  CarriedBoxes<Boxes> boxes;

  memcpy(boxes.box, self->list.box, (size_t)self->list.boxes * sizeof(CfBox));
  if (self->list.counted)
    memcpy(boxes.start, self->list.start, (size_t)self->list.boxes * sizeof(uint16_t));
  return boxes;
}

/* `around`: what no region covers is copied, too. */
bool launch(CfBlockRectangles *self, bool around, unsigned *arrived, unsigned awaited,
            cudaStream_t stream, CfStatus *status)
{
  const int size = around ? cf_greater(threads(self), kUnitItems) : threads(self);
  const int blocks = self->list.blocks + (around ? blocks_around(self, size) : 0);
  const int across = self->list.counted ? blocks : self->list.blocks / self->list.boxes;
  cudaLaunchConfig_t config = {};
  cudaLaunchAttribute together = {};

  self->frame.arrived = arrived;
  self->frame.awaited = awaited;
  self->frame.waits = arrived != nullptr;
  together.id = cudaLaunchAttributeCooperative;
  together.val.cooperative = 1;
  config.gridDim = dim3((unsigned)across, (unsigned)((blocks + across - 1) / across));
  config.blockDim = (unsigned)size;
  config.stream = stream;
  config.attrs = &together;
  config.numAttrs = self->frame.waits ? 1 : 0;
  if (self->list.boxes > kFewRegions)
    return cf_cuda_ok(
        cudaLaunchKernelEx(&config, self->kernel.many, self->frame, carried<kMostRegions>(self)),
        "averaging the blocks of regions", status);
  return cf_cuda_ok(
      cudaLaunchKernelEx(&config, self->kernel.few, self->frame, carried<kFewRegions>(self)),
      "averaging the blocks of regions", status);
}

bool wait_on_own_stream(CfBlockRectangles *self, CfStatus *status)
{
  const unsigned awaited = self->awaited + (unsigned)self->list.blocks;

  if (!launch(self, false, self->arrived, awaited, self->stream, status))
    return false;
  self->awaited = awaited;
  return true;
}

bool wait_on_other_stream(CfBlockRectangles *self, cudaStream_t stream, CfStatus *status)
{
  unsigned *arrived = (unsigned *)cf_scratch_take(self->device, sizeof *arrived, stream, status);

  if (!arrived)
    return false;
  const bool good = cf_device_fill(arrived, 0, sizeof *arrived, stream, status) &&
                    launch(self, false, arrived, (unsigned)self->list.blocks, stream, status);
  return cf_scratch_give(self->device, arrived, stream, good ? status : nullptr) && good;
}

bool run_in_place(CfBlockRectangles *self, cudaStream_t stream, CfStatus *status)
{
  if (!self->list.waits)
    return launch(self, false, nullptr, 0, stream, status);
  if (!self->has_stream) {
    if (!cf_device_fill(self->arrived, 0, sizeof *self->arrived, stream, status))
      return false;
    self->has_stream = true;
    self->stream = stream;
  }
  return stream == self->stream ? wait_on_own_stream(self, status)
                                : wait_on_other_stream(self, stream, status);
}

} // namespace

CfBlockRectangles *cf_blockavg_rectangles_new(CfDevice *device, const CfVideo *video,
                                              CfStatus *status)
{
  CfBlockRectangles *self = (CfBlockRectangles *)calloc(1, sizeof *self);

  if (!self) {
    cf_fail(status, CF_ERROR_NO_MEMORY, "out of host memory");
    return nullptr;
  }
  self->device = device;
  self->video = *video;
  self->arrived = (unsigned *)cf_device_alloc(sizeof *self->arrived, status);
  if (!self->arrived) {
    free(self);
    return nullptr;
  }
  return self;
}

void cf_blockavg_rectangles_free(CfBlockRectangles *self)
{
  if (self)
    cf_device_free(self->arrived);
  free(self);
}

bool cf_blockavg_rectangles_plan(CfBlockRectangles *self, const CfBlockavgParams *params,
                                 const CfRegions *regions, bool stays)
{
  const CfFormatInfo *format = cf_format_info(self->video.format);
  const CfPatchList *list = &self->list;
  RectangleFrame *frame = &self->frame;

  if (format->plane[0].channels == 3 || regions->outside ||
      !cf_patch_list_make(&self->list, &self->video, params, regions, stays))
    return false;
  frame->job = plan_codes(&self->video, params->mode);
  frame->patches = list->rule;
  frame->coverage = cf_coverage_rule(regions);
  frame->alpha = cf_alpha_channel(&format->plane[0]);
  frame->boxes = list->boxes;
  frame->units[0] = list->units[0];
  frame->units[1] = list->units[1];
  frame->unit_items = list->unit_items;
  frame->cut[0] = list->cut[0];
  frame->cut[1] = list->cut[1];
  frame->meets = list->meets;

  const bool soft = frame->coverage.ellipse || frame->coverage.reach > 0;
  self->soft = soft;
  const KernelPair kernel = soft ? choose_kernel<Kernels<true>>(format, params->mode)
                                 : choose_kernel<Kernels<false>>(format, params->mode);
  if (kernel.few != self->kernel.few)
    self->resident = 0;
  self->kernel = kernel;
  if (list->waits && !are_resident(self) &&
      !(cf_patch_list_count(&self->list, &self->video) && are_resident(self)))
    return false;
  frame->counted = list->counted;
  frame->blocks = list->blocks;
  return true;
}

bool cf_blockavg_rectangles_run(CfBlockRectangles *self, const CfJob *job, CfStatus *status)
{
  const cudaStream_t stream = (cudaStream_t)job->stream;
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
  return copies ? launch(self, around, nullptr, 0, stream, status)
                : run_in_place(self, stream, status);
}
