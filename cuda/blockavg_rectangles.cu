/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "blockavg_rectangles.h"

#include <stdlib.h>

#define CF_BLOCKAVG_THREADS 256
#include "blockavg_kernels.cuh"
#include "blockavg_rectangles.cuh"

namespace
{

constexpr size_t kKeptBytes = kMostUnits * sizeof(CfUnit) + kMostCovers * sizeof(CfCover);

/* Copies of up to 64 KiB have left the host's memory when the call returns. */
static_assert(kKeptBytes <= 64 * 1024, "copied at once");

struct KernelPair {
  void (*kept)(RectangleFrame);
  void (*carried)(RectangleFrame, CarriedUnits);
};

struct Kernels {
  typedef KernelPair Type;
  template <template <int, bool> class Kind, int Channels> static KernelPair get()
  {
    if constexpr (Channels == 3)
      return {};
    else
      return {average_kept<Kind, Channels>, average_carried<Kind, Channels>};
  }
};

} // namespace

struct CfBlockRectangles {
  CfDevice *device;
  CfVideo video;

  KernelPair kernel;
  int resident;         /* CUDA blocks of it that the GPU runs at once; 0: not asked yet */
  int resident_threads; /* of so many threads */
  RectangleFrame frame; /* but for pictures and where the units are */
  CfUnitTable table;

  /* What is kept on the GPU belongs to the first stream that was used. */
  bool has_stream;
  cudaStream_t stream;
  void *memory;     /* kKeptBytes, and the counter of units that wait */
  bool seen, kept;  /* whether the list came before, and is in that memory */
  unsigned awaited; /* the counter after all jobs so far */
};

namespace
{

/* Whether all units can wait for each other. */
bool are_resident(CfBlockRectangles *self)
{
  const int threads = (self->table.items + 31) / 32 * 32;

  if (self->resident == 0 || self->resident_threads != threads) {
    int kept = 0, carried = 0;

    if (!cf_cuda_ok(
            cudaOccupancyMaxActiveBlocksPerMultiprocessor(&kept, self->kernel.kept, threads, 0),
            "asking for what fits a multiprocessor", nullptr) ||
        !cf_cuda_ok(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&carried, self->kernel.carried,
                                                                  threads, 0),
                    "asking for what fits a multiprocessor", nullptr))
      return false;
    self->resident_threads = threads;
    self->resident = (kept < carried ? kept : carried) * self->device->info.multiprocessors;
  }
  return self->table.units <= self->resident;
}

/* ---- Jobs ---- */

size_t table_bytes(const CfBlockRectangles *self)
{
  return (size_t)self->table.units * sizeof(CfUnit) + (size_t)self->table.covers * sizeof(CfCover);
}

bool upload(CfBlockRectangles *self, void *memory, cudaStream_t stream, CfStatus *status)
{
  return cf_cuda_ok(
      cudaMemcpyAsync(memory, self->table.unit, table_bytes(self), cudaMemcpyHostToDevice, stream),
      "copying regions to the device", status);
}

bool launch(CfBlockRectangles *self, bool carried, cudaStream_t stream, CfStatus *status)
{
  cudaLaunchConfig_t config = {};
  cudaLaunchAttribute together = {};

  together.id = cudaLaunchAttributeCooperative;
  together.val.cooperative = 1;
  config.gridDim = self->table.units;
  config.blockDim = (self->table.items + 31) / 32 * 32;
  config.stream = stream;
  config.attrs = &together;
  config.numAttrs = self->table.waiting > 0 ? 1 : 0;
  return cf_cuda_ok(carried ? cudaLaunchKernelEx(&config, self->kernel.carried, self->frame,
                                                 *(const CarriedUnits *)self->table.unit)
                            : cudaLaunchKernelEx(&config, self->kernel.kept, self->frame),
                    "averaging the blocks of regions", status);
}

/* A list travels with its first launch, and is copied to the device when it comes again. */
bool run_on_own_stream(CfBlockRectangles *self, CfStatus *status)
{
  const bool carried = !self->seen && table_bytes(self) <= sizeof(CarriedUnits);

  self->seen = true;
  if (!carried && !self->kept && !(self->kept = upload(self, self->memory, self->stream, status)))
    return false;
  self->frame.kept = (const CfUnit *)self->memory;
  self->frame.arrived = (unsigned *)((uint8_t *)self->memory + kKeptBytes);
  self->frame.awaited = self->awaited + (unsigned)self->table.waiting;
  if (!launch(self, carried, self->stream, status))
    return false;
  self->awaited = self->frame.awaited;
  return true;
}

bool run_on_other_stream(CfBlockRectangles *self, cudaStream_t stream, CfStatus *status)
{
  const size_t bytes = table_bytes(self);
  uint8_t *scratch =
      (uint8_t *)cf_scratch_take(self->device, bytes + sizeof(unsigned), stream, status);

  if (!scratch)
    return false;
  self->frame.kept = (const CfUnit *)scratch;
  self->frame.arrived = (unsigned *)(scratch + bytes);
  self->frame.awaited = (unsigned)self->table.waiting;
  const bool good = cf_device_fill(scratch + bytes, 0, sizeof(unsigned), stream, status) &&
                    upload(self, scratch, stream, status) && launch(self, false, stream, status);
  return cf_scratch_give(self->device, scratch, stream, good ? status : nullptr) && good;
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
  self->memory = cf_device_alloc(kKeptBytes + sizeof(unsigned), status);
  if (!self->memory) {
    free(self);
    return nullptr;
  }
  return self;
}

void cf_blockavg_rectangles_free(CfBlockRectangles *self)
{
  if (self)
    cf_device_free(self->memory);
  free(self);
}

bool cf_blockavg_rectangles_plan(CfBlockRectangles *self, const CfBlockavgParams *params,
                                 const CfRegions *regions, bool stays)
{
  const CfFormatInfo *format = cf_format_info(self->video.format);
  RectangleFrame *frame = &self->frame;

  self->seen = stays;
  self->kept = false;
  if (format->plane[0].channels == 3 || regions->outside || regions->feather > 0 ||
      regions->shape != CF_REGION_RECTANGLE)
    return false;
  frame->job = plan_codes(&self->video, params->mode);
  const KernelPair kernel = choose_kernel<Kernels>(format, params->mode);
  if (kernel.kept != self->kernel.kept)
    self->resident = 0;
  self->kernel = kernel;
  if (!cf_unit_table_make(&self->table, &self->video, params, regions, stays))
    return false;
  frame->units = self->table.units;
  frame->waiting = self->table.waiting;
  return self->table.waiting == 0 || are_resident(self);
}

bool cf_blockavg_rectangles_run(CfBlockRectangles *self, const CfJob *job, CfStatus *status)
{
  const cudaStream_t stream = (cudaStream_t)job->stream;

  if (self->table.units == 0)
    return true;
  set_pictures(&self->frame.job, job);
  if (!self->has_stream) {
    if (!cf_device_fill((uint8_t *)self->memory + kKeptBytes, 0, sizeof(unsigned), stream, status))
      return false;
    self->has_stream = true;
    self->stream = stream;
  }
  return stream == self->stream ? run_on_own_stream(self, status)
                                : run_on_other_stream(self, stream, status);
}
