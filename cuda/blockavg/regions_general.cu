/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * RegionWork is one region's share: its footprint, which is the blocks of its grid that it may
 * cover, and where its items stand in each grid. sum_slices: a warp sums up some rows of a block.
 * finish_blocks: a thread turns the sums of a block into a colour. write_samples: a CTA looks at a
 * tile of samples that a region may cover, and writes those that the region owns. As nothing is
 * written before all sums are there, source and destination may be the same.
 */
#include "cuda/blockavg/regions_general.h"

#include <limits.h>
#include <stdlib.h>

#include "cuda/blockavg/tuning.h"
#include "cuda/common/int_math.cuh"
#include "cuda/common/launch.cuh"
#include "cuda/regions/shape_list.cuh"

extern "C" {
#include "plan/mosaic.h"
}

namespace cf::blockavg
{

namespace
{

constexpr int kWarps = kThreads / 32;

/* Sums of a slice fit 32 bits, also of colours times alpha. */
static_assert(kSlicePixels <= 16384, "as a row of the widest block");

/* Samples of a tile of write_samples: a thread each. */
constexpr int kTileWidth = 32, kTileHeight = kThreads / kTileWidth;

struct RegionWork {
  int shape;           /* index in the shape list; -1: what lies outside all regions */
  CfRect rect;         /* luma pixels that may be covered */
  CfGrid grid;         /* its origin is where the footprint's first block starts */
  int columns, rows;   /* of blocks */
  int slices;          /* of a block */
  int tiles_x;         /* of write_samples, side by side */
  bool keeps;          /* single pixels of formats with alpha stay as they are */
  int64_t first_block; /* blocks of the regions before it; alike in each plane */
  int64_t first_slice; /* likewise */
  int64_t first_tile;  /* likewise */
};

struct Plane {
  const uint8_t *source;
  uint8_t *destination;
  ptrdiff_t source_stride, destination_stride; /* bytes */
  int width, height, channels, shift_x, shift_y;
};

struct Frame {
  Plane plane[CF_MAX_PLANES];
  int mode;       /* CfBlockavgMode */
  int alpha;      /* channel by which colours are weighted, -1 without */
  int shift;      /* of code values in samples */
  uint32_t mask;  /* of a code value */
  uint32_t empty; /* pixel of blocks without any alpha */
  int count;      /* of regions */
  const RegionWork *work;
  int64_t blocks, slices, tiles; /* of all regions, in each plane */
  unsigned long long *sums;      /* [plane][block][CF_MAX_CHANNELS] */
  uint64_t *colours;             /* [plane][block]: a pixel as in memory */
  CfShapeList shapes;
};

/* The region that has item `number` of those that `first` counts. */
__device__ int find_work(const Frame &frame, int64_t RegionWork::*first, int64_t number)
{
  int low = 0, high = frame.count;

  while (high - low > 1) {
    const int middle = (low + high) / 2;

    if (frame.work[middle].*first <= number)
      low = middle;
    else
      high = middle;
  }
  return low;
}

/* The samples of a block of a region in one plane. */
__device__ CfRect block_samples(const RegionWork &own, const Plane &plane, int column, int row)
{
  const CfGrid &grid = own.grid;

  return {cf_grid_start(grid.x, grid.width, plane.shift_x, column, plane.width),
          cf_grid_start(grid.y, grid.height, plane.shift_y, row, plane.height),
          cf_grid_start(grid.x, grid.width, plane.shift_x, column + 1, plane.width),
          cf_grid_start(grid.y, grid.height, plane.shift_y, row + 1, plane.height)};
}

/* --- sums --- */

__device__ uint32_t combine(int mode, uint32_t a, uint32_t b)
{
  return mode == CF_BLOCKAVG_AVERAGE ? a + b : mode == CF_BLOCKAVG_MIN ? min(a, b) : max(a, b);
}

template <typename Sample>
__device__ void add_pixel(const Frame &frame, const Plane &plane, const Sample *pixel,
                          uint32_t (&total)[CF_MAX_CHANNELS])
{
  const bool weighted = frame.alpha >= 0 && frame.mode == CF_BLOCKAVG_AVERAGE;
  const uint32_t weight = weighted ? pixel[frame.alpha] : 1;

#pragma unroll
  for (int k = 0; k < CF_MAX_CHANNELS; k++) {
    if (k < plane.channels) {
      const uint32_t code = (uint32_t)pixel[k] >> frame.shift & frame.mask;

      total[k] = combine(frame.mode, total[k], k == frame.alpha ? code : code * weight);
    }
  }
}

/* A warp's slice of a block, added to the block's sums. */
template <typename Sample>
__global__ void __launch_bounds__(kThreads) sum_slices(const __grid_constant__ Frame frame)
{
  const int lane = (int)threadIdx.x % 32;
  const int64_t number = (int64_t)blockIdx.x * kWarps + (int)threadIdx.x / 32;
  if (number >= frame.slices)
    return;

  const Plane &plane = frame.plane[blockIdx.y];
  const RegionWork &own = frame.work[find_work(frame, &RegionWork::first_slice, number)];
  const int64_t local = number - own.first_slice;
  const int block = (int)(local / own.slices), slice = (int)(local % own.slices);
  const int column = block % own.columns, row = block / own.columns;
  const int slice_rows = div_up(own.grid.height, own.slices);
  CfRect samples = block_samples(own, plane, column, row);
  const int top = own.grid.y + row * own.grid.height + slice * slice_rows;
  const int bottom = min(top + slice_rows, own.grid.y + (row + 1) * own.grid.height);
  samples.y0 = max(samples.y0, cf_grid_start(top, 1, plane.shift_y, 0, plane.height));
  samples.y1 = min(samples.y1, cf_grid_start(bottom, 1, plane.shift_y, 0, plane.height));

  const uint32_t neutral = frame.mode == CF_BLOCKAVG_MIN ? ~0u : 0;
  uint32_t total[CF_MAX_CHANNELS];
#pragma unroll
  for (int k = 0; k < CF_MAX_CHANNELS; k++)
    total[k] = neutral;
  for (int y = samples.y0; y < samples.y1; y++) {
    const Sample *source = (const Sample *)(plane.source + y * plane.source_stride);

    for (int x = samples.x0 + lane; x < samples.x1; x += 32)
      add_pixel(frame, plane, source + (ptrdiff_t)x * plane.channels, total);
  }

  unsigned long long *sums =
      frame.sums + (blockIdx.y * frame.blocks + own.first_block + block) * CF_MAX_CHANNELS;
#pragma unroll
  for (int k = 0; k < CF_MAX_CHANNELS; k++) {
    for (int distance = 16; distance; distance /= 2)
      total[k] = combine(frame.mode, total[k], __shfl_xor_sync(~0u, total[k], distance));
    if (lane != 0 || k >= plane.channels || total[k] == neutral)
      continue;
    if (frame.mode == CF_BLOCKAVG_AVERAGE)
      atomicAdd(sums + k, (unsigned long long)total[k]);
    else if (frame.mode == CF_BLOCKAVG_MIN)
      atomicMin(sums + k, (unsigned long long)total[k]);
    else
      atomicMax(sums + k, (unsigned long long)total[k]);
  }
}

/* --- colours --- */

/* One channel of a block's colour; `area` in samples, not 0. */
__device__ uint32_t channel_value(const Frame &frame, const unsigned long long *sums, int k,
                                  unsigned long long area)
{
  if (frame.mode != CF_BLOCKAVG_AVERAGE)
    return (uint32_t)sums[k];

  const unsigned long long divisor = frame.alpha < 0 || k == frame.alpha ? area : sums[frame.alpha];
  return (uint32_t)((sums[k] + divisor / 2) / divisor);
}

/* A thread each. `sample_bits` is 8 or 16. */
__global__ void __launch_bounds__(kThreads)
    finish_blocks(const __grid_constant__ Frame frame, int sample_bits)
{
  const int64_t number = (int64_t)blockIdx.x * kThreads + threadIdx.x;
  if (number >= frame.blocks)
    return;

  const Plane &plane = frame.plane[blockIdx.y];
  const RegionWork &own = frame.work[find_work(frame, &RegionWork::first_block, number)];
  const int block = (int)(number - own.first_block);
  const CfRect samples = block_samples(own, plane, block % own.columns, block / own.columns);
  const unsigned long long area =
      (unsigned long long)(samples.x1 - samples.x0) * (unsigned)(samples.y1 - samples.y0);
  const int64_t at = blockIdx.y * frame.blocks + number;
  const unsigned long long *sums = frame.sums + at * CF_MAX_CHANNELS;
  uint64_t colour = 0;

  if (area == 0) /* blocks smaller than a chroma sample may own none */
    return;
  if (frame.alpha >= 0 && frame.mode == CF_BLOCKAVG_AVERAGE && sums[frame.alpha] == 0) {
    colour = frame.empty;
  } else {
    for (int k = 0; k < plane.channels; k++)
      colour |= (uint64_t)(channel_value(frame, sums, k, area) << frame.shift) << sample_bits * k;
  }
  frame.colours[at] = colour;
}

/* --- samples --- */

/* `pixel` holds the source's samples where it is covered in part. */
template <typename Sample>
__device__ void write_pixel(const Frame &frame, const Plane &plane, const Sample *source,
                            Sample *pixel, uint64_t colour, uint32_t coverage)
{
  constexpr int kBits = 8 * (int)sizeof(Sample);

  if (sizeof(Sample) == 1 && frame.alpha >= 0 && coverage < CF_COVERED) {
    uint8_t before[4], filtered[4];

    for (int k = 0; k < 4; k++) {
      before[k] = (uint8_t)source[k];
      filtered[k] = (uint8_t)(colour >> 8 * k);
    }
    cf_mix_weighted((uint8_t *)pixel, before, filtered, frame.alpha, coverage);
    return;
  }
  for (int k = 0; k < plane.channels; k++) {
    const uint32_t filtered = (uint32_t)(Sample)(colour >> kBits * k);

    pixel[k] =
        coverage < CF_COVERED
            ? (Sample)(cf_mix((uint32_t)source[k] >> frame.shift, filtered >> frame.shift, coverage)
                       << frame.shift)
            : (Sample)filtered;
  }
}

/* A tile of the samples that a region may cover: those that the region owns. */
template <typename Sample>
__global__ void __launch_bounds__(kThreads) write_samples(const __grid_constant__ Frame frame)
{
  __shared__ CfTileShapes near;
  const int64_t number = blockIdx.x;
  const Plane &plane = frame.plane[blockIdx.y];
  const RegionWork &own = frame.work[find_work(frame, &RegionWork::first_tile, number)];
  const int tile = (int)(number - own.first_tile);
  const int x1 = div_up(own.rect.x1, 1 << plane.shift_x);
  const int y1 = div_up(own.rect.y1, 1 << plane.shift_y);
  const int left = (own.rect.x0 >> plane.shift_x) + tile % own.tiles_x * kTileWidth;
  const int top = (own.rect.y0 >> plane.shift_y) + tile / own.tiles_x * kTileHeight;
  const int x = left + (int)threadIdx.x % kTileWidth, y = top + (int)threadIdx.x / kTileWidth;

  if (own.keeps || left >= x1 || top >= y1)
    return;
  cf_find_shapes(frame.shapes,
                 {left << plane.shift_x, top << plane.shift_y, (left + kTileWidth) << plane.shift_x,
                  (top + kTileHeight) << plane.shift_y},
                 &near);
  if (x >= x1 || y >= y1)
    return;

  const CfCovered covered =
      cf_sample_coverage(frame.shapes, near, x, y, plane.shift_x, plane.shift_y);
  if (covered.coverage <= 0 || (own.shape >= 0 && covered.owner != own.shape))
    return;
  const int column = cf_grid_block(own.grid.x, own.grid.width, plane.shift_x, x);
  const int row = cf_grid_block(own.grid.y, own.grid.height, plane.shift_y, y);
  const int64_t block = own.first_block + (int64_t)row * own.columns + column;
  const ptrdiff_t offset = (ptrdiff_t)x * plane.channels;

  write_pixel(frame, plane, (const Sample *)(plane.source + y * plane.source_stride) + offset,
              (Sample *)(plane.destination + y * plane.destination_stride) + offset,
              frame.colours[blockIdx.y * frame.blocks + block], (uint32_t)covered.coverage);
}

} // namespace

/* --- the host --- */

struct GeneralRegions {
  CfDevice *device;
  CfVideo video;
  int capacity;
  RegionWork *work; /* capacity of them */
};

namespace
{

bool reserve(GeneralRegions *self, int count, CfStatus *status)
{
  if (count <= self->capacity)
    return true;

  RegionWork *work = (RegionWork *)malloc((size_t)count * sizeof *work);
  if (!work)
    return cf_fail(status, CF_ERROR_NO_MEMORY, "out of host memory");
  free(self->work);
  self->work = work;
  self->capacity = count;
  return true;
}

/* The share of the region that may cover luma pixels `rect`. Its blocks are those of all planes: a
 * chroma sample may belong to a block before those of its luma pixels. */
RegionWork make_work(const CfVideo *video, CfGrid grid, const CfRect &rect, int shape)
{
  const CfFormatInfo *format = cf_format_info(video->format);
  int shift_x = 0, shift_y = 0;
  RegionWork own = {};

  for (int p = 0; p < format->planes; p++) {
    shift_x = larger(shift_x, (int)format->plane[p].subsampling_x);
    shift_y = larger(shift_y, (int)format->plane[p].subsampling_y);
  }
  const int column = cf_grid_block(grid.x, grid.width, shift_x, rect.x0 >> shift_x);
  const int row = cf_grid_block(grid.y, grid.height, shift_y, rect.y0 >> shift_y);

  own.shape = shape;
  own.rect = rect;
  own.columns = cf_grid_block(grid.x, grid.width, 0, rect.x1 - 1) + 1 - column;
  own.rows = cf_grid_block(grid.y, grid.height, 0, rect.y1 - 1) + 1 - row;
  grid.x += column * grid.width;
  grid.y += row * grid.height;
  own.grid = grid;
  own.slices = div_up(grid.height, larger(kSlicePixels / grid.width, 1));
  own.tiles_x = div_up(rect.x1 - rect.x0, kTileWidth);
  own.keeps = format->alpha && grid.width == 1 && grid.height == 1;
  return own;
}

/* Counts blocks, slices and tiles through the regions. */
bool add_work(GeneralRegions *self, Frame *frame, RegionWork own, CfStatus *status)
{
  const int64_t blocks = (int64_t)own.columns * own.rows;

  own.first_block = frame->blocks;
  own.first_slice = frame->slices;
  own.first_tile = frame->tiles;
  frame->blocks += blocks;
  frame->slices += blocks * own.slices;
  frame->tiles += (int64_t)own.tiles_x * div_up(own.rect.y1 - own.rect.y0, kTileHeight);
  if (frame->slices > INT_MAX || frame->tiles > INT_MAX)
    return cf_fail(status, CF_ERROR_NO_MEMORY,
                   "the regions of one frame have more blocks than the GPU can count: use larger "
                   "blocks or fewer regions");
  self->work[frame->count++] = own;
  return true;
}

/* A share for each shape, in the order and number of cf_shape_list_make(). */
bool add_regions(GeneralRegions *self, Frame *frame, const CfBlockavgParams *params,
                 const CfRegions *regions, CfStatus *status)
{
  const CfVideo *video = &self->video;
  const bool single = cf_mosaic_is_single(params, regions);
  const CfGrid frame_grid = cf_mosaic_frame_grid(params, video, regions->field);

  if (regions->outside)
    return add_work(self, frame,
                    make_work(video, frame_grid, {0, 0, video->width, video->height}, -1), status);

  for (int i = 0; i < regions->count; i++) {
    const CfRect bounds = cf_region_bounds(video, regions, &regions->region[i]);
    CfShape shape;

    if (cf_rect_is_empty(bounds) || !cf_shape_make(&shape, video, regions, &regions->region[i]))
      continue;
    const CfGrid grid = single ? frame_grid : cf_mosaic_region_grid(params, &shape);
    if (!add_work(self, frame, make_work(video, grid, bounds, frame->count), status))
      return false;
  }
  return true;
}

void describe(Frame *frame, const CfVideo *video, int mode, const CfJob *job)
{
  const CfFormatInfo *format = cf_format_info(video->format);

  frame->mode = mode;
  frame->alpha = cf_alpha_channel(&format->plane[0]);
  frame->shift = format->shift;
  frame->mask = (uint32_t)cf_max_code(format);
  for (int k = 0; k < format->plane[0].channels; k++) {
    const CfRole role = format->plane[0].role[k];

    if (role == CF_ROLE_CHROMA_BLUE || role == CF_ROLE_CHROMA_RED)
      frame->empty |= (uint32_t)cf_chroma_centre(video) << 8 * k;
  }
  for (int p = 0; p < format->planes; p++)
    frame->plane[p] = {(const uint8_t *)job->source.data[p],
                       (uint8_t *)job->destination.data[p],
                       job->source.stride[p],
                       job->destination.stride[p],
                       cf_plane_width(video, p),
                       cf_plane_height(video, p),
                       format->plane[p].channels,
                       format->plane[p].subsampling_x,
                       format->plane[p].subsampling_y};
}

template <typename Sample>
bool launch_all(const Frame &frame, int planes, cudaStream_t stream, CfStatus *status)
{
  Launch how = {};

  how.block = dim3(kThreads);
  how.stream = stream;
  how.grid = dim3((unsigned)div_up<int64_t>(frame.slices, kWarps), (unsigned)planes);
  if (!launch(how, "summing up the blocks of regions", status, sum_slices<Sample>, frame))
    return false;
  how.grid.x = (unsigned)div_up<int64_t>(frame.blocks, kThreads);
  if (!launch(how, "averaging the blocks of regions", status, finish_blocks, frame,
              8 * (int)sizeof(Sample)))
    return false;
  how.grid.x = (unsigned)frame.tiles;
  return launch(how, "filling the blocks of regions", status, write_samples<Sample>, frame);
}

/* Scratch: sums, colours, the list of regions. */
bool run_frame(const GeneralRegions *self, Frame *frame, cudaStream_t stream, CfStatus *status)
{
  const CfFormatInfo *format = cf_format_info(self->video.format);
  const size_t values = (size_t)frame->blocks * format->planes;
  const size_t sum_bytes = values * CF_MAX_CHANNELS * sizeof *frame->sums;
  const size_t colour_bytes = values * sizeof *frame->colours;
  const size_t list_bytes = (size_t)frame->count * sizeof(RegionWork);
  uint8_t *scratch = (uint8_t *)cf_scratch_take(self->device, sum_bytes + colour_bytes + list_bytes,
                                                stream, status);

  if (!scratch)
    return false;
  frame->sums = (unsigned long long *)scratch;
  frame->colours = (uint64_t *)(scratch + sum_bytes);
  frame->work = (const RegionWork *)(scratch + sum_bytes + colour_bytes);
  const bool good =
      cf_device_fill(scratch, frame->mode == CF_BLOCKAVG_MIN ? 0xff : 0, sum_bytes, stream,
                     status) &&
      cf_cuda_ok(cudaMemcpyAsync(scratch + sum_bytes + colour_bytes, self->work, list_bytes,
                                 cudaMemcpyHostToDevice, stream),
                 "copying regions to the device", status) &&
      (cf_sample_bytes(format) == 2 ? launch_all<uint16_t>(*frame, format->planes, stream, status)
                                    : launch_all<uint8_t>(*frame, format->planes, stream, status));
  return cf_scratch_give(self->device, scratch, stream, good ? status : nullptr) && good;
}

} // namespace

GeneralRegions *open_general(CfDevice *device, const CfVideo *video, CfStatus *status)
{
  GeneralRegions *self = (GeneralRegions *)calloc(1, sizeof *self);

  if (!self) {
    cf_fail(status, CF_ERROR_NO_MEMORY, "out of host memory");
    return nullptr;
  }
  self->device = device;
  self->video = *video;
  return self;
}

void close_general(GeneralRegions *self)
{
  if (self)
    free(self->work);
  free(self);
}

bool run_general(GeneralRegions *self, const CfBlockavgParams *params, const CfJob *job,
                 CfStatus *status)
{
  const cudaStream_t stream = (cudaStream_t)job->stream;
  Frame frame = {};
  void *shapes;

  if (job->source.data[0] != job->destination.data[0] &&
      !cf_copy_picture(CF_COPY_ON_DEVICE, &self->video, &job->destination, &job->source,
                       job->stream, status))
    return false;
  describe(&frame, &self->video, params->mode, job);
  if (!reserve(self, larger(job->regions->count, 1), status) ||
      !add_regions(self, &frame, params, job->regions, status))
    return false;
  if (frame.count == 0)
    return true;
  if (!cf_shape_list_make(&frame.shapes, self->device, &self->video, job->regions, job->stream,
                          &shapes, status))
    return false;
  const bool good = run_frame(self, &frame, stream, status);
  return (!shapes || cf_scratch_give(self->device, shapes, stream, good ? status : nullptr)) &&
         good;
}

} // namespace cf::blockavg
