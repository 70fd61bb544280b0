/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A patch is what one region has of one plane: the blocks of its grid that it may cover. A CUDA
 * block takes some blocks side by side in a patch. Where many patches overlap, each measures its
 * own blocks, but every sample is written for the one region that it belongs to.
 */
#include "blockavg_regions.cuh"

#include <stdlib.h>
#include <string.h>

#include "regions.cuh"

extern "C" {
#include "mosaic.h"
}

namespace
{

constexpr int kThreads = 256;
constexpr int kColumns = 128; /* samples side by side that the threads look at */
constexpr int kRows = kThreads / kColumns;

/* A larger block is shared by several CUDA blocks, a slice of its rows each. */
constexpr int kWholeBlock = 128 * 256;
constexpr int kSliceRows = 64;

struct Plane {
  const uint8_t *source;
  uint8_t *destination;
  ptrdiff_t source_stride, destination_stride;
  int width, height, channels, shift_x, shift_y;
};

/* Where a patch's values and tiles begin, counted through all patches. */
struct Entry {
  int first_tile;
  int first_block;
};

struct Frame {
  Plane plane[CF_MAX_PLANES];
  int planes;
  int sample_shift;           /* of code values in 16-bit samples */
  int codes;                  /* largest code value */
  int alpha;                  /* its channel, -1 without */
  int empty[CF_MAX_CHANNELS]; /* colour of blocks without any alpha */
  CfBlockavgParams params;
  CfGrid grid; /* of the frame */
  bool single; /* all regions share that grid */
  bool sliced; /* blocks are shared: values are sums, and finished by who reads them */
  int patches; /* in each plane */
  unsigned long long *values; /* [block][4] */
  const Entry *far;           /* in device memory; NULL while they are few */
  Entry few[kFewShapes * CF_MAX_PLANES];
  CfShapeList list;
};

/* The blocks of a patch, and how they are dealt out. */
struct Patch {
  CfGrid grid;
  CfRect rect;                      /* samples */
  int column0, row0, columns, rows; /* blocks */
  int blocks;                       /* side by side in a tile */
  int tiles_x, slices;
};

struct Tile {
  const Plane *plane;
  Patch patch;
  int shape;             /* -1: all that is outside */
  int row, first, count; /* blocks */
  int x0, x1, y0, y1;    /* their samples; of a slice */
  int first_block;       /* of its values */
};

__host__ __device__ inline int quotient_up(int a, int b)
{
  return (a + b - 1) / b;
}

__host__ __device__ inline int cut(int value, int limit)
{
  return value < 0 ? 0 : value > limit ? limit : value;
}

/* As cf_mosaic_region_grid, of which the launcher has put the sizes into the params. */
__host__ __device__ inline CfGrid grid_of(const Frame &frame, const CfShape *shape)
{
  const CfBlockavgParams &params = frame.params;
  CfGrid grid = frame.grid;

  if (frame.single || !shape)
    return grid;
  grid.x = params.anchor == CF_BLOCKAVG_REGION ? shape->x : 0;
  grid.y = params.anchor == CF_BLOCKAVG_REGION ? shape->y : 0;
  if (params.blocks_across > 0) {
    const int size = quotient_up(shape->side, params.blocks_across);
    grid.width = grid.height = size < 1 ? 1 : size > CF_LARGEST_BLOCK ? CF_LARGEST_BLOCK : size;
  }
  return grid;
}

__host__ __device__ inline Patch make_patch(const Frame &frame, const Plane &plane,
                                            const CfShape *shape)
{
  const CfShapeList &list = frame.list;
  CfRect luma = {0, 0, list.width, list.height};
  Patch patch;

  if (shape)
    luma = {cut(shape->x0 - list.rule.reach, list.width),
            cut(shape->y0 - list.rule.reach, list.height),
            cut(shape->x1 + list.rule.reach, list.width),
            cut(shape->y1 + list.rule.reach, list.height)};
  patch.rect = {luma.x0 >> plane.shift_x, luma.y0 >> plane.shift_y,
                (luma.x1 + (1 << plane.shift_x) - 1) >> plane.shift_x,
                (luma.y1 + (1 << plane.shift_y) - 1) >> plane.shift_y};
  patch.grid = grid_of(frame, shape);
  patch.column0 = cf_grid_block(patch.grid.x, patch.grid.width, plane.shift_x, patch.rect.x0);
  patch.row0 = cf_grid_block(patch.grid.y, patch.grid.height, plane.shift_y, patch.rect.y0);
  patch.columns = cf_grid_block(patch.grid.x, patch.grid.width, plane.shift_x, patch.rect.x1 - 1) +
                  1 - patch.column0;
  patch.rows = cf_grid_block(patch.grid.y, patch.grid.height, plane.shift_y, patch.rect.y1 - 1) +
               1 - patch.row0;
  patch.blocks = (kColumns << plane.shift_x) / patch.grid.width;
  patch.blocks = patch.blocks < 1 ? 1 : patch.blocks > kColumns ? kColumns : patch.blocks;
  patch.tiles_x = quotient_up(patch.columns, patch.blocks);
  patch.blocks = quotient_up(patch.columns, patch.tiles_x);
  patch.slices =
      frame.sliced ? quotient_up((patch.grid.height >> plane.shift_y) + 1, kSliceRows) : 1;
  return patch;
}

__device__ inline const Entry &entry_at(const Frame &frame, int i)
{
  return frame.far ? frame.far[i] : frame.few[i];
}

/* `slices` is false for fills, which take all rows of a block at once. */
__device__ inline Tile find_tile(const Frame &frame, int index)
{
  int least = 0, most = frame.planes * frame.patches - 1;

  while (least < most) {
    const int middle = (least + most + 1) / 2;
    if (entry_at(frame, middle).first_tile <= index)
      least = middle;
    else
      most = middle - 1;
  }

  const Entry entry = entry_at(frame, least);
  const Plane &plane = frame.plane[least / frame.patches];
  Tile tile;
  tile.plane = &plane;
  tile.shape = frame.list.rule.outside ? -1 : least % frame.patches;
  tile.patch =
      make_patch(frame, plane, tile.shape < 0 ? nullptr : &cf_shape_at(frame.list, tile.shape));

  const Patch &patch = tile.patch;
  const int number = index - entry.first_tile;
  const int across = number % patch.tiles_x, down = number / patch.tiles_x;
  const int slice = down % patch.slices;
  tile.row = down / patch.slices;
  tile.first = across * patch.blocks;
  tile.count = min(patch.blocks, patch.columns - tile.first);
  tile.first_block = entry.first_block + tile.row * patch.columns + tile.first;
  tile.x0 = cf_grid_start(patch.grid.x, patch.grid.width, plane.shift_x, patch.column0 + tile.first,
                          plane.width);
  tile.x1 = cf_grid_start(patch.grid.x, patch.grid.width, plane.shift_x,
                          patch.column0 + tile.first + tile.count, plane.width);
  tile.y0 = cf_grid_start(patch.grid.y, patch.grid.height, plane.shift_y, patch.row0 + tile.row,
                          plane.height);
  tile.y1 = cf_grid_start(patch.grid.y, patch.grid.height, plane.shift_y, patch.row0 + tile.row + 1,
                          plane.height);
  tile.y0 = min(tile.y0 + slice * kSliceRows, tile.y1);
  if (patch.slices > 1)
    tile.y1 = min(tile.y0 + kSliceRows, tile.y1);
  return tile;
}

/* ---- Values of blocks ---- */

/* What min and max both minimise. */
__device__ inline uint32_t flipped(const Frame &frame, uint32_t code)
{
  return frame.params.mode == CF_BLOCKAVG_MAX ? (uint32_t)frame.codes - code : code;
}

__device__ inline bool is_weighted(const Frame &frame, const CfGrid &grid)
{
  return frame.alpha >= 0 && frame.params.mode == CF_BLOCKAVG_AVERAGE &&
         (grid.width > 1 || grid.height > 1);
}

template <typename Sample>
__device__ inline void take_column(const Frame &frame, const Tile &tile, int x, int y,
                                   uint32_t (&value)[CF_MAX_CHANNELS])
{
  const Plane &plane = *tile.plane;
  const bool mean = frame.params.mode == CF_BLOCKAVG_AVERAGE;
  const bool weighted = is_weighted(frame, tile.patch.grid);
  const uint8_t *row = plane.source + y * plane.source_stride;

#pragma unroll 4
  for (; y < tile.y1; y += kRows, row += kRows * plane.source_stride) {
    const Sample *pixel = (const Sample *)row + x * plane.channels;
    uint32_t code[CF_MAX_CHANNELS];

    if (sizeof(Sample) == 1 && plane.channels == 4 && (uintptr_t)pixel % 4 == 0) {
      const uint32_t word = *(const uint32_t *)pixel;
#pragma unroll
      for (int k = 0; k < CF_MAX_CHANNELS; k++)
        code[k] = word >> 8 * k & 0xff;
    } else {
#pragma unroll
      for (int k = 0; k < CF_MAX_CHANNELS; k++)
        code[k] = k < plane.channels ? (uint32_t)pixel[k] >> frame.sample_shift : 0;
    }
    const uint32_t weight = !weighted ? 1 : frame.alpha ? code[3] : code[0];
#pragma unroll
    for (int k = 0; k < CF_MAX_CHANNELS; k++) {
      if (mean)
        value[k] += code[k] * (k == frame.alpha ? 1 : weight);
      else
        value[k] = min(value[k], flipped(frame, code[k]));
    }
  }
}

/* The code value of a block from its sums. */
__device__ inline uint32_t finish(const Frame &frame, const CfGrid &grid,
                                  const unsigned long long *sums, int k, unsigned area)
{
  if (frame.params.mode != CF_BLOCKAVG_AVERAGE)
    return flipped(frame, (uint32_t)sums[k]);

  const bool weighted = is_weighted(frame, grid) && k != frame.alpha;
  const unsigned long long weight = weighted ? sums[frame.alpha] : area;
  if (weight == 0)
    return (uint32_t)frame.empty[k];
  if (sums[k] < 1u << 31 && weight < 1u << 31)
    return ((uint32_t)sums[k] + (uint32_t)weight / 2) / (uint32_t)weight;
  return (uint32_t)((sums[k] + weight / 2) / weight);
}

__device__ inline unsigned block_area(const Tile &tile, int block)
{
  const Plane &plane = *tile.plane;
  const CfGrid &grid = tile.patch.grid;
  const int column = tile.patch.column0 + tile.first + block, row = tile.patch.row0 + tile.row;
  const int width = cf_grid_start(grid.x, grid.width, plane.shift_x, column + 1, plane.width) -
                    cf_grid_start(grid.x, grid.width, plane.shift_x, column, plane.width);
  const int height = cf_grid_start(grid.y, grid.height, plane.shift_y, row + 1, plane.height) -
                     cf_grid_start(grid.y, grid.height, plane.shift_y, row, plane.height);

  return (unsigned)width * (unsigned)height;
}

template <typename Sample>
__global__ void __launch_bounds__(kThreads) measure_blocks(const __grid_constant__ Frame frame)
{
  __shared__ uint32_t columns[CF_MAX_CHANNELS][kRows][kColumns];
  __shared__ unsigned long long totals[kColumns][CF_MAX_CHANNELS];
  const Tile tile = find_tile(frame, (int)blockIdx.x);
  const Plane &plane = *tile.plane;
  const CfGrid &grid = tile.patch.grid;
  const bool mean = frame.params.mode == CF_BLOCKAVG_AVERAGE;
  const int across = (int)threadIdx.x % kColumns, down = (int)threadIdx.x / kColumns;
  const int warp = (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32;

  for (int i = (int)threadIdx.x; i < kColumns * CF_MAX_CHANNELS; i += kThreads)
    totals[i / CF_MAX_CHANNELS][i % CF_MAX_CHANNELS] = mean ? 0 : ~0u;
  for (int left = tile.x0; left < tile.x1; left += kColumns) {
    const int right = min(left + kColumns, tile.x1);
    uint32_t value[CF_MAX_CHANNELS];

#pragma unroll
    for (int k = 0; k < CF_MAX_CHANNELS; k++)
      value[k] = mean ? 0 : ~0u;
    if (left + across < right)
      take_column<Sample>(frame, tile, left + across, tile.y0 + down, value);
    __syncthreads();
#pragma unroll
    for (int k = 0; k < CF_MAX_CHANNELS; k++)
      columns[k][down][across] = value[k];
    __syncthreads();
    for (int block = warp; block < tile.count; block += kThreads / 32) {
      const int column = tile.patch.column0 + tile.first + block;
      const int x0 =
          max(left, cf_grid_start(grid.x, grid.width, plane.shift_x, column, plane.width));
      const int x1 =
          min(right, cf_grid_start(grid.x, grid.width, plane.shift_x, column + 1, plane.width));

      for (int k = 0; k < plane.channels; k++) {
        uint32_t total = mean ? 0 : ~0u;

        for (int x = x0 + lane; x < x1; x += 32) {
#pragma unroll
          for (int row = 0; row < kRows; row++) {
            const uint32_t one = columns[k][row][x - left];
            total = mean ? total + one : min(total, one);
          }
        }
#pragma unroll
        for (int distance = 16; distance; distance >>= 1) {
          const uint32_t one = __shfl_xor_sync(~0u, total, distance);
          total = mean ? total + one : min(total, one);
        }
        if (lane == 0)
          totals[block][k] =
              mean ? totals[block][k] + total : min(totals[block][k], (unsigned long long)total);
      }
    }
  }
  __syncthreads();
  for (int i = (int)threadIdx.x; i < tile.count * CF_MAX_CHANNELS; i += kThreads) {
    const int block = i / CF_MAX_CHANNELS, k = i % CF_MAX_CHANNELS;
    unsigned long long *value =
        &frame.values[(size_t)(tile.first_block + block) * CF_MAX_CHANNELS + k];

    if (k >= plane.channels)
      continue;
    if (!frame.sliced)
      *value = finish(frame, grid, totals[block], k, block_area(tile, block));
    else if (mean)
      atomicAdd(value, totals[block][k]);
    else
      atomicMin(value, totals[block][k]);
  }
}

/* ---- Covered samples ---- */

/* Whether all samples of the tile in its patch are fully covered by its own region: no other one
 * is near, and it is a plain rectangle. */
__device__ inline bool is_plain(const Frame &frame, const CfTileShapes &shapes)
{
  return !frame.list.rule.outside && !frame.list.rule.ellipse && frame.list.rule.reach == 0 &&
         shapes.count == 1;
}

template <typename Sample>
__device__ inline void write_sample(const Frame &frame, const Plane &plane, int x, int y,
                                    const Sample *colour, int coverage)
{
  Sample *pixel = (Sample *)(plane.destination + y * plane.destination_stride) + x * plane.channels;
  const Sample *source =
      (const Sample *)(plane.source + y * plane.source_stride) + x * plane.channels;

  if (coverage == 0)
    return;
  if (coverage == CF_COVERED) {
    if (sizeof(Sample) == 1 && plane.channels == 4 && (uintptr_t)pixel % 4 == 0) {
      *(uint32_t *)pixel = *(const uint32_t *)colour;
      return;
    }
    for (int k = 0; k < plane.channels; k++)
      pixel[k] = colour[k];
  } else if (sizeof(Sample) == 1 && frame.alpha >= 0) {
    cf_mix_weighted((uint8_t *)pixel, (const uint8_t *)source, (const uint8_t *)colour, frame.alpha,
                    (uint32_t)coverage);
  } else {
    for (int k = 0; k < plane.channels; k++)
      pixel[k] = (Sample)(cf_mix((uint32_t)source[k] >> frame.sample_shift,
                                 (uint32_t)colour[k] >> frame.sample_shift, (uint32_t)coverage)
                          << frame.sample_shift);
  }
}

template <typename Sample>
__global__ void __launch_bounds__(kThreads) fill_blocks(const __grid_constant__ Frame frame)
{
  __shared__ __align__(16) Sample colours[kColumns][CF_MAX_CHANNELS];
  __shared__ CfTileShapes shapes;
  const Tile tile = find_tile(frame, (int)blockIdx.x);
  const Plane &plane = *tile.plane;
  const CfGrid &grid = tile.patch.grid;
  const CfRect &rect = tile.patch.rect;
  const int x0 = max(tile.x0, rect.x0), x1 = min(tile.x1, rect.x1);
  const int y0 = max(tile.y0, rect.y0), y1 = min(tile.y1, rect.y1);

  if (x0 >= x1 || y0 >= y1)
    return;
  for (int i = (int)threadIdx.x; i < tile.count * plane.channels; i += kThreads) {
    const int block = i / plane.channels, k = i % plane.channels;
    const unsigned long long *values =
        frame.values + (size_t)(tile.first_block + block) * CF_MAX_CHANNELS;
    const unsigned area = block_area(tile, block);

    if (area > 0)
      colours[block][k] =
          (Sample)((frame.sliced ? finish(frame, grid, values, k, area) : (uint32_t)values[k])
                   << frame.sample_shift);
  }
  cf_find_shapes(
      frame.list,
      {x0 << plane.shift_x, y0 << plane.shift_y, x1 << plane.shift_x, y1 << plane.shift_y},
      &shapes);

  const bool plain = is_plain(frame, shapes);
  for (int x = x0 + (int)threadIdx.x % kColumns; x < x1; x += kColumns) {
    const int block =
        cf_grid_block(grid.x, grid.width, plane.shift_x, x) - tile.patch.column0 - tile.first;

    for (int y = y0 + (int)threadIdx.x / kColumns; y < y1; y += kRows) {
      CfCovered covered = {CF_COVERED, tile.shape};

      if (!plain)
        covered = cf_sample_coverage(frame.list, shapes, x, y, plane.shift_x, plane.shift_y);
      if (tile.shape < 0 || covered.owner == tile.shape)
        write_sample<Sample>(frame, plane, x, y, colours[block], covered.coverage);
    }
  }
}

/* ---- The launches ---- */

void plan_frame(Frame *frame, const CfVideo *video, const CfBlockavgParams *params,
                const CfJob *job)
{
  const CfFormatInfo *format = cf_format_info(video->format);

  frame->planes = format->planes;
  frame->sample_shift = format->shift;
  frame->codes = cf_max_code(format);
  frame->alpha = cf_alpha_channel(&format->plane[0]);
  frame->params = *params;
  frame->grid = cf_mosaic_frame_grid(params, video, job->regions->field);
  frame->single = cf_mosaic_is_single(params, job->regions);
  for (int k = 0; k < CF_MAX_CHANNELS; k++) {
    const CfRole role = format->plane[0].role[k];
    const bool chroma = role == CF_ROLE_CHROMA_BLUE || role == CF_ROLE_CHROMA_RED;
    frame->empty[k] = chroma ? (int)cf_chroma_centre(video) : 0;
  }
  for (int p = 0; p < format->planes; p++)
    frame->plane[p] = {
        job->source.data[p],        job->destination.data[p],       job->source.stride[p],
        job->destination.stride[p], cf_plane_width(video, p),       cf_plane_height(video, p),
        format->plane[p].channels,  format->plane[p].subsampling_x, format->plane[p].subsampling_y};
}

/* Where shapes and entries lie until they are copied to the device. */
struct Lists {
  CfShape *shapes;
  Entry *entries;
};

bool reserve(CfBlockRegionTables *tables, size_t bytes, CfStatus *status)
{
  if (bytes <= tables->bytes)
    return true;
  void *larger = realloc(tables->memory, bytes);
  if (!larger)
    return cf_fail(status, CF_ERROR_NO_MEMORY, "out of host memory");
  tables->memory = larger;
  tables->bytes = bytes;
  return true;
}

/* The shapes of the regions that matter to the picture, in their order. */
int make_shapes(CfShape *shapes, const CfVideo *video, const CfRegions *regions)
{
  int count = 0;

  for (int i = 0; i < regions->count; i++) {
    const CfRegion *region = &regions->region[i];

    if (!cf_rect_is_empty(cf_region_bounds(video, regions, region)) &&
        cf_shape_make(&shapes[count], video, regions, region))
      count++;
  }
  return count;
}

bool has_large_blocks(const Frame &frame, const CfShape *shapes)
{
  CfGrid grid = frame.grid;

  if (frame.list.rule.outside || frame.single)
    return (long)grid.width * grid.height > kWholeBlock;
  for (int i = 0; i < frame.list.count; i++) {
    grid = grid_of(frame, &shapes[i]);
    if ((long)grid.width * grid.height > kWholeBlock)
      return true;
  }
  return false;
}

/* Fills in where patches begin; returns the number of tiles. */
int plan_patches(const Frame &frame, const Lists &lists, size_t *blocks)
{
  int tiles = 0;

  *blocks = 0;
  for (int p = 0; p < frame.planes; p++) {
    for (int i = 0; i < frame.patches; i++) {
      const CfShape *shape = frame.list.rule.outside ? nullptr : &lists.shapes[i];
      const Patch patch = make_patch(frame, frame.plane[p], shape);

      lists.entries[p * frame.patches + i] = {tiles, (int)*blocks};
      tiles += patch.tiles_x * patch.slices * patch.rows;
      *blocks += (size_t)patch.columns * patch.rows;
    }
  }
  return tiles;
}

template <typename Sample>
bool launch(const Frame &frame, int tiles, cudaStream_t stream, CfStatus *status)
{
  measure_blocks<Sample><<<tiles, kThreads, 0, stream>>>(frame);
  if (!cf_cuda_launched("averaging the blocks of regions", status))
    return false;
  fill_blocks<Sample><<<tiles, kThreads, 0, stream>>>(frame);
  return cf_cuda_launched("filling the blocks of regions", status);
}

/* Scratch on the device: values, and behind them the lists, where they do not travel with the
 * launches. */
bool run_tiles(Frame *frame, const Lists &lists, size_t list_bytes, CfDevice *device,
               const CfVideo *video, const CfJob *job, CfStatus *status)
{
  const cudaStream_t stream = (cudaStream_t)job->stream;
  size_t blocks;
  const int tiles = plan_patches(*frame, lists, &blocks);
  const size_t value_bytes = blocks * CF_MAX_CHANNELS * sizeof(unsigned long long);
  uint8_t *scratch =
      (uint8_t *)cf_scratch_take(device, value_bytes + list_bytes, job->stream, status);
  bool good = true;

  if (!scratch)
    return false;
  frame->values = (unsigned long long *)scratch;
  if (frame->list.count > kFewShapes) {
    frame->list.far = (const CfShape *)(scratch + value_bytes);
    frame->far = (const Entry *)(frame->list.far + frame->list.count);
    good = cf_cuda_ok(cudaMemcpyAsync(scratch + value_bytes, lists.shapes, list_bytes,
                                      cudaMemcpyHostToDevice, stream),
                      "copying regions to the device", status);
  } else {
    memcpy(frame->few, lists.entries, (size_t)frame->patches * frame->planes * sizeof(Entry));
    memcpy(frame->list.few, lists.shapes, (size_t)frame->list.count * sizeof(CfShape));
  }
  if (frame->sliced)
    good = good && cf_device_fill(scratch, frame->params.mode == CF_BLOCKAVG_AVERAGE ? 0 : 0xff,
                                  value_bytes, job->stream, status);
  if (good)
    good = cf_sample_bytes(cf_format_info(video->format)) == 2
               ? launch<uint16_t>(*frame, tiles, stream, status)
               : launch<uint8_t>(*frame, tiles, stream, status);
  return cf_scratch_give(device, scratch, job->stream, good ? status : nullptr) && good;
}

} // namespace

void cf_blockavg_regions_free(CfBlockRegionTables *tables)
{
  free(tables->memory);
}

bool cf_blockavg_regions_run(CfBlockRegionTables *tables, CfDevice *device, const CfVideo *video,
                             const CfBlockavgParams *params, const CfJob *job, CfStatus *status)
{
  const CfRegions *regions = job->regions;
  const size_t shapes = (size_t)regions->count;
  const size_t entries = (shapes + 1) * (size_t)cf_format_info(video->format)->planes;
  Frame frame = {};

  if (job->source.data[0] != job->destination.data[0] &&
      !cf_copy_picture(CF_COPY_ON_DEVICE, video, &job->destination, &job->source, job->stream,
                       status))
    return false;
  if (!reserve(tables, shapes * sizeof(CfShape) + entries * sizeof(Entry), status))
    return false;

  Lists lists;
  lists.shapes = (CfShape *)tables->memory;
  frame.list.rule = cf_coverage_rule(regions);
  frame.list.width = video->width;
  frame.list.height = video->height;
  frame.list.count = make_shapes(lists.shapes, video, regions);
  lists.entries = (Entry *)(lists.shapes + frame.list.count);
  plan_frame(&frame, video, params, job);
  frame.patches = regions->outside ? 1 : frame.list.count;
  if (frame.patches == 0)
    return true;
  frame.sliced = has_large_blocks(frame, lists.shapes);

  const size_t list_bytes =
      frame.list.count * sizeof(CfShape) + (size_t)frame.patches * frame.planes * sizeof(Entry);
  return run_tiles(&frame, lists, list_bytes, device, video, job, status);
}
