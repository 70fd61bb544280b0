/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Block average of any list of regions, in three launches. sum_slices: groups of lanes sum slices
 * of a block, some of its rows. finish_blocks: a thread turns the sums of a block into a colour.
 * write_samples: a CTA writes those samples of a tile that the region owns. Nothing is written
 * before all sums are complete, so source and destination may be the same. RegionWork describes
 * each region: its footprint, the blocks that it may cover, and the numbers of its slices, blocks
 * and tiles in these grids. A whole frame is treated as everything outside an empty list.
 */
#include "cuda/blockavg/general.h"

#include <limits.h>
#include <stdlib.h>

#include "cuda/blockavg/job.cuh"
#include "cuda/common/int_math.cuh"
#include "cuda/common/launch.cuh"
#include "cuda/regions/shape_list.cuh"

extern "C" {
#include "plan/mosaic.h"
}

namespace cf::blockavg
{

struct RegionWork {
  int shape;         /* index in the shape list; -1: everything outside all regions */
  CfRect rect;       /* luma pixels that may be covered */
  CfGrid grid;       /* its origin is the start of the footprint's first block */
  int columns, rows; /* blocks of the footprint */
  int slices;        /* slices of a block */
  int tiles_x;       /* tiles of write_samples side by side */
  bool keeps;        /* blocks of one pixel in formats with alpha: nothing is written */

  /* Numbers of the region's first block, slice and tile; the same in each plane. */
  int64_t first_block;
  int64_t first_slice;
  int64_t first_tile;
};

namespace
{

/* Sums of a slice fit 32 bits, also of colours times alpha. */
static_assert(kSlicePixels <= 16384, "no more than a row of the widest block");

constexpr int kTileWidth = 128, kTileHeight = 16; /* samples of a tile of write_samples */

/* The kernels' parameter. */
struct Frame {
  Job job;
  int mode;  /* CfBlockavgMode */
  int lanes; /* lanes for each slice: 1, 2, 4 .. 32 */
  int count; /* regions */
  const RegionWork *work;
  int64_t blocks, slices, tiles;           /* of all regions, in each plane */
  unsigned long long *sums[CF_MAX_PLANES]; /* [block][channel] */
  uint32_t *colours;                       /* [plane][block]: a pixel as in memory */
  CfShapeList shapes;
};

/* The index of the region to which block, slice or tile `number` belongs; `first` is the member
 * with the region's first one. */
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
__device__ CfRect block_samples(const RegionWork &work, const Plane &plane, int column, int row)
{
  const CfGrid &grid = work.grid;

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
  const Job &job = frame.job;
  const bool weighted = job.alpha >= 0 && frame.mode == CF_BLOCKAVG_AVERAGE;
  const uint32_t weight = weighted ? pixel[job.alpha] : 1;

#pragma unroll
  for (int k = 0; k < CF_MAX_CHANNELS; k++) {
    if (k < plane.channels) {
      const uint32_t code = (uint32_t)pixel[k] >> job.shift & job.mask;

      total[k] = combine(frame.mode, total[k], k == job.alpha ? code : code * weight);
    }
  }
}

/* Adds a slice of a block to the block's sums. */
template <typename Sample>
__global__ void __launch_bounds__(kThreads) sum_slices(const __grid_constant__ Frame frame)
{
  const int lane = (int)threadIdx.x % frame.lanes;
  const int64_t item =
      (int64_t)blockIdx.x * (kThreads / frame.lanes) + (int)threadIdx.x / frame.lanes;
  const int64_t number = min(item, frame.slices - 1); /* all lanes must take part in shuffles */

  const Plane &plane = frame.job.plane[blockIdx.y];
  const RegionWork work = frame.work[find_work(frame, &RegionWork::first_slice, number)];
  const int local = (int)(number - work.first_slice);
  const int block = local / work.slices, slice = local % work.slices;
  const int column = block % work.columns, row = block / work.columns;
  const int slice_rows = div_up(work.grid.height, work.slices);
  CfRect samples = block_samples(work, plane, column, row);
  const int top = work.grid.y + row * work.grid.height + slice * slice_rows;
  const int bottom = min(top + slice_rows, work.grid.y + (row + 1) * work.grid.height);
  samples.y0 = max(samples.y0, cf_grid_start(top, 1, plane.shift_y, 0, plane.height));
  samples.y1 = min(samples.y1, cf_grid_start(bottom, 1, plane.shift_y, 0, plane.height));

  const uint32_t neutral = frame.mode == CF_BLOCKAVG_MIN ? ~0u : 0;
  uint32_t total[CF_MAX_CHANNELS];
#pragma unroll
  for (int k = 0; k < CF_MAX_CHANNELS; k++)
    total[k] = neutral;
  const int across = min(frame.lanes, samples.x1 - samples.x0 <= 16 ? 16 : 32);
  for (int y = samples.y0 + lane / across; y < samples.y1; y += frame.lanes / across) {
    const Sample *source = (const Sample *)(plane.source + y * plane.source_stride);

    for (int x = samples.x0 + lane % across; x < samples.x1; x += across)
      add_pixel(frame, plane, source + (ptrdiff_t)x * plane.channels, total);
  }

  unsigned long long *sums = frame.sums[blockIdx.y] + (work.first_block + block) * plane.channels;
#pragma unroll
  for (int k = 0; k < CF_MAX_CHANNELS; k++) {
    if (k >= plane.channels)
      break;
    for (int distance = frame.lanes / 2; distance; distance /= 2)
      total[k] = combine(frame.mode, total[k], __shfl_xor_sync(~0u, total[k], distance));
    if (lane != 0 || item > number || total[k] == neutral)
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

  const int alpha = frame.job.alpha;
  const unsigned long long divisor = alpha < 0 || k == alpha ? area : sums[alpha];
  return (uint32_t)rounded_mean(sums[k], divisor);
}

/* A thread for each block. `sample_bits` is 8 or 16. */
__global__ void __launch_bounds__(kThreads)
    finish_blocks(const __grid_constant__ Frame frame, int sample_bits)
{
  const int64_t number = (int64_t)blockIdx.x * kThreads + threadIdx.x;
  if (number >= frame.blocks)
    return;

  const Plane &plane = frame.job.plane[blockIdx.y];
  const RegionWork &work = frame.work[find_work(frame, &RegionWork::first_block, number)];
  const int block = (int)(number - work.first_block);
  const CfRect samples = block_samples(work, plane, block % work.columns, block / work.columns);
  const unsigned long long area =
      (unsigned long long)(samples.x1 - samples.x0) * (unsigned)(samples.y1 - samples.y0);
  const unsigned long long *sums = frame.sums[blockIdx.y] + number * plane.channels;
  const int alpha = frame.job.alpha;
  uint32_t colour = 0;

  if (area == 0) /* blocks smaller than a chroma sample may own none */
    return;
  if (alpha >= 0 && frame.mode == CF_BLOCKAVG_AVERAGE && sums[alpha] == 0) {
    colour = frame.job.empty;
  } else {
    for (int k = 0; k < plane.channels; k++)
      colour |= channel_value(frame, sums, k, area) << (frame.job.shift + sample_bits * k);
  }
  frame.colours[blockIdx.y * frame.blocks + number] = colour;
}

/* --- samples --- */

/* Writes a sample, if the region owns it. */
template <typename Sample>
__device__ inline void write_sample(const Frame &frame, const RegionWork &work,
                                    const CfTileShapes &tile_shapes, const Plane &plane, int x,
                                    int y)
{
  const bool whole = frame.shapes.count == 0; /* everything is outside an empty list */
  const CfCovered covered =
      whole ? CfCovered{CF_COVERED, 0}
            : cf_sample_coverage(frame.shapes, tile_shapes, x, y, plane.shift_x, plane.shift_y);

  if (covered.coverage <= 0 || (work.shape >= 0 && covered.owner != work.shape))
    return;
  const int column = cf_grid_block(work.grid.x, work.grid.width, plane.shift_x, x);
  const int row = cf_grid_block(work.grid.y, work.grid.height, plane.shift_y, y);
  const int64_t block = work.first_block + (int64_t)row * work.columns + column;
  const ptrdiff_t offset = (ptrdiff_t)x * plane.channels;

  write_pixel(frame.job, plane.channels,
              (const Sample *)(plane.source + y * plane.source_stride) + offset,
              (Sample *)(plane.destination + y * plane.destination_stride) + offset,
              frame.colours[blockIdx.y * frame.blocks + block], covered.coverage);
}

/* A CTA for each tile of the samples that a region may cover. */
template <typename Sample>
__global__ void __launch_bounds__(kThreads) write_samples(const __grid_constant__ Frame frame)
{
  __shared__ CfTileShapes tile_shapes;
  const int64_t number = blockIdx.x;
  const Plane &plane = frame.job.plane[blockIdx.y];
  const RegionWork work = frame.work[find_work(frame, &RegionWork::first_tile, number)];
  const int tile = (int)(number - work.first_tile);
  const int x1 = div_up(work.rect.x1, 1 << plane.shift_x);
  const int y1 = div_up(work.rect.y1, 1 << plane.shift_y);
  const int left = (work.rect.x0 >> plane.shift_x) + tile % work.tiles_x * kTileWidth;
  const int top = (work.rect.y0 >> plane.shift_y) + tile / work.tiles_x * kTileHeight;

  if (work.keeps || left >= x1 || top >= y1)
    return;
  cf_find_shapes(frame.shapes,
                 {left << plane.shift_x, top << plane.shift_y, (left + kTileWidth) << plane.shift_x,
                  (top + kTileHeight) << plane.shift_y},
                 &tile_shapes);
  const int x = left + (int)threadIdx.x % kTileWidth;
  for (int y = top + (int)threadIdx.x / kTileWidth; x < x1 && y < min(top + kTileHeight, y1);
       y += kThreads / kTileWidth)
    write_sample<Sample>(frame, work, tile_shapes, plane, x, y);
}

/* --- the host --- */

bool reserve(GeneralMosaic *self, int count, CfStatus *status)
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

/* Describes a region that may cover luma pixels `rect`. The footprint has the blocks of all planes:
 * a chroma sample may belong to a block before those of its luma pixels. */
RegionWork make_work(const CfVideo *video, CfGrid grid, const CfRect &rect, int shape)
{
  const CfFormatInfo *format = cf_format_info(video->format);
  int shift_x = 0, shift_y = 0;
  RegionWork work = {};

  for (int p = 0; p < format->planes; p++) {
    shift_x = larger(shift_x, (int)format->plane[p].subsampling_x);
    shift_y = larger(shift_y, (int)format->plane[p].subsampling_y);
  }
  const int column = cf_grid_block(grid.x, grid.width, shift_x, rect.x0 >> shift_x);
  const int row = cf_grid_block(grid.y, grid.height, shift_y, rect.y0 >> shift_y);

  work.shape = shape;
  work.rect = rect;
  work.columns = cf_grid_block(grid.x, grid.width, 0, rect.x1 - 1) + 1 - column;
  work.rows = cf_grid_block(grid.y, grid.height, 0, rect.y1 - 1) + 1 - row;
  grid.x += column * grid.width;
  grid.y += row * grid.height;
  work.grid = grid;
  work.slices = div_up(grid.height, larger(kSlicePixels / grid.width, 1));
  work.tiles_x = div_up(rect.x1 - rect.x0, kTileWidth);
  work.keeps = format->alpha && grid.width == 1 && grid.height == 1;
  return work;
}

/* Appends a region: numbers its blocks, slices and tiles, and raises frame->lanes to what its
 * blocks need. */
bool add_work(GeneralMosaic *self, Frame *frame, RegionWork work, CfStatus *status)
{
  const int64_t blocks = (int64_t)work.columns * work.rows;

  work.first_block = frame->blocks;
  work.first_slice = frame->slices;
  work.first_tile = frame->tiles;
  frame->blocks += blocks;
  while (frame->lanes < 32 && kLanePixels * frame->lanes < work.grid.width * work.grid.height)
    frame->lanes *= 2;
  frame->slices += blocks * work.slices;
  frame->tiles += (int64_t)work.tiles_x * div_up(work.rect.y1 - work.rect.y0, kTileHeight);
  if (frame->slices > INT_MAX || frame->tiles > INT_MAX)
    return cf_fail(status, CF_ERROR_NO_MEMORY,
                   "the regions of one frame have more blocks than the GPU can count: use larger "
                   "blocks or fewer regions");
  self->work[frame->count++] = work;
  return true;
}

/* Appends all regions, in the same order and number as cf_shape_list_make(). */
bool add_regions(GeneralMosaic *self, Frame *frame, const CfBlockavgParams *params,
                 const CfRegions *regions, CfStatus *status)
{
  const CfVideo *video = &self->video;
  const bool single = cf_mosaic_is_single(params, regions);
  const CfGrid frame_grid = cf_mosaic_frame_grid(params, video);

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

template <typename Sample>
bool launch_all(const Frame &frame, cudaStream_t stream, CfStatus *status)
{
  Launch how = {};

  how.block = dim3(kThreads);
  how.stream = stream;
  how.grid = dim3((unsigned)div_up<int64_t>(frame.slices, kThreads / frame.lanes),
                  (unsigned)frame.job.planes);
  if (!launch(how, "summing up the blocks in general", status, sum_slices<Sample>, frame))
    return false;
  how.grid.x = (unsigned)div_up<int64_t>(frame.blocks, kThreads);
  if (!launch(how, "averaging the blocks in general", status, finish_blocks, frame,
              8 * (int)sizeof(Sample)))
    return false;
  how.grid.x = (unsigned)frame.tiles;
  return launch(how, "filling the blocks in general", status, write_samples<Sample>, frame);
}

/* Allocates scratch memory (sums, the list of regions, colours), and launches. */
bool run_frame(const GeneralMosaic *self, Frame *frame, cudaStream_t stream, CfStatus *status)
{
  const CfFormatInfo *format = cf_format_info(self->video.format);
  const size_t list_bytes = (size_t)frame->count * sizeof(RegionWork);
  const size_t colour_bytes = (size_t)frame->blocks * format->planes * sizeof *frame->colours;
  size_t sums = 0, first[CF_MAX_PLANES];

  for (int p = 0; p < format->planes; p++) {
    first[p] = sums;
    sums += (size_t)frame->blocks * format->plane[p].channels;
  }
  const size_t sum_bytes = sums * sizeof *frame->sums[0];
  return cf_with_scratch(
      self->device, sum_bytes + list_bytes + colour_bytes, stream, status, [&](uint8_t *scratch) {
        for (int p = 0; p < format->planes; p++)
          frame->sums[p] = (unsigned long long *)scratch + first[p];
        frame->work = (const RegionWork *)(scratch + sum_bytes);
        frame->colours = (uint32_t *)(scratch + sum_bytes + list_bytes);
        return cf_device_fill(scratch, frame->mode == CF_BLOCKAVG_MIN ? 0xff : 0, sum_bytes, stream,
                              status) &&
               cf_upload(scratch + sum_bytes, self->work, list_bytes, stream, status) &&
               (cf_sample_bytes(format) == 2 ? launch_all<uint16_t>(*frame, stream, status)
                                             : launch_all<uint8_t>(*frame, stream, status));
      });
}

} // namespace

bool run_general(GeneralMosaic *self, const CfBlockavgParams *params, const CfJob *job,
                 CfStatus *status)
{
  const cudaStream_t stream = (cudaStream_t)job->stream;
  CfRegions everywhere = {};
  Frame frame = {};

  everywhere.outside = true;
  const CfRegions *regions = job->regions ? job->regions : &everywhere;
  if (job->regions && job->source.data[0] != job->destination.data[0] &&
      !cf_copy_picture(CF_COPY_ON_DEVICE, &self->video, &job->destination, &job->source,
                       job->stream, status))
    return false;
  frame.job = plan_codes(&self->video);
  frame.mode = params->mode;
  frame.lanes = 1;
  set_pictures(&frame.job, job);
  if (!reserve(self, larger(regions->count, 1), status) ||
      !add_regions(self, &frame, params, regions, status))
    return false;
  if (frame.count == 0)
    return true;
  return cf_with_shapes(&frame.shapes, self->device, &self->video, regions, job->stream, status,
                        [&] { return run_frame(self, &frame, stream, status); });
}

} // namespace cf::blockavg
