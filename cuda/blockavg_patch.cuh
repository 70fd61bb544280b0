/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Block average of regions: the kernel. A patch is what one region has of the picture: the blocks
 * of its grid that it may cover. Its tiles are measured like those of whole pictures.
 *
 * A patch whose blocks no other patch shares is filled at once. Where blocks of different patches
 * overlap, all of them are measured before any is filled, and every sample is written for the one
 * region that it belongs to.
 */
#pragma once

#include "blockavg_tile.cuh"
#include "regions.cuh"

namespace
{

constexpr int kPatchResident = 8;  /* CUDA blocks on an SM */
constexpr int kPatchPixels = 640;  /* most blocks side by side in a tile of a patch */
constexpr int kPatchColumns = 128; /* most columns of a tile */
constexpr int kPatchSums = 4608;   /* words */

struct __align__(16) Patch
{
  int first_tile;            /* counted through the patches, and alike in each plane */
  int first_block;           /* likewise; where its values are */
  int shape;                 /* -1: all that is outside */
  int alone;                 /* whether no other patch shares any of its blocks */
  CfRect rect;               /* luma pixels that may be covered */
  int x, y;                  /* luma pixel where its first block starts */
  int width, height;         /* of a block in luma pixels */
  int columns, rows;         /* of blocks */
  short tile_blocks, slices; /* blocks side by side in a tile; tiles that share a block's height */
  int tiles_x;
};

struct Frame {
  Job job;
  int alpha;   /* its channel, -1 without */
  bool single; /* all patches have the same grid */
  int patches;
  int blocks;               /* of all patches, in each plane */
  uint32_t *colours;        /* [plane][block], of patches that are not alone */
  unsigned long long *sums; /* [plane][block][4], kSums and kFill after it; else NULL */
  const Patch *far;         /* in device memory; NULL while they are few */
  Patch few[kFewShapes];
  CfShapeList list;
};

__device__ inline const Patch &patch_at(const Frame &frame, int i)
{
  return frame.far ? frame.far[i] : frame.few[i];
}

/* The patch of a tile; the lanes of a warp search together. */
__device__ inline Patch find_patch(const Frame &frame, int tile)
{
  const int lane = (int)threadIdx.x % 32;
  int first = 0, count = frame.patches;

  while (count > 1) {
    const int share = (count + 31) / 32, at = lane * share;
    const bool begun = at < count && patch_at(frame, first + at).first_tile <= tile;
    const int skipped = (__popc(__ballot_sync(~0u, begun)) - 1) * share;

    first += skipped;
    count = min(share, count - skipped);
  }
  return patch_at(frame, first);
}

/* A plane that holds no blocks but those of a patch. */
__device__ inline Plane plane_of_patch(const Frame &frame, const Patch &patch, int index)
{
  Plane plane = frame.job.plane[index];

  plane.block_width = patch.width;
  plane.block_height = patch.height;
  plane.origin_x = patch.x;
  plane.origin_y = patch.y;
  plane.blocks_x = patch.columns;
  plane.tile_blocks = patch.tile_blocks;
  plane.tiles_x = patch.tiles_x;
  plane.slices = patch.slices;
  plane.first_tile = patch.first_tile;
  if (frame.sums)
    plane.sums = frame.sums + ((size_t)index * frame.blocks + patch.first_block) * CF_MAX_CHANNELS;
  return plane;
}

/* As many threads side by side as the tile has columns, but no more rows of sums than kPatchSums
 * has room for. */
__device__ inline int columns_for(const Tile &tile, int words)
{
  const int columns = 1 << (32 - __clz(max(tile.columns - 1, 1)));

  return min(max(columns, words > 8 ? 16 : 8), kThreads);
}

/* ---- Covered samples ---- */

template <int Bytes> struct Samples {
  typedef uint8_t Type;
};
template <> struct Samples<2> {
  typedef uint16_t Type;
};

/* Whether samples are covered or not, by rectangles. */
__host__ __device__ inline bool is_hard(const CfCoverageRule &rule)
{
  return !rule.outside && !rule.ellipse && rule.reach == 0;
}

__device__ inline bool overlap(const CfRect &a, const CfRect &b)
{
  return a.x0 < b.x1 && b.x0 < a.x1 && a.y0 < b.y1 && b.y0 < a.y1;
}

/* Rectangles of a tile in luma pixels, in shared memory: those to which samples belong rather than
 * to the tile's own region. */
struct Rivals {
  int count; /* more than kTileShapes: the list is incomplete */
  CfRect rect[kTileShapes];
};

__device__ inline bool is_rival(const CfShapeList &list, int own, int other, const CfRect &luma)
{
  const CfShape &shape = cf_shape_at(list, other);

  if (other == own || !overlap({shape.x0, shape.y0, shape.x1, shape.y1}, luma))
    return false;
  const int side = cf_shape_at(list, own).side;
  return shape.side > side || (shape.side == side && other < own);
}

/* All threads together; ends with a barrier. */
__device__ inline void find_rivals(const CfShapeList &list, int own, const CfRect &luma,
                                   Rivals *rivals)
{
  if (threadIdx.x == 0)
    rivals->count = 0;
  __syncthreads();
  for (int i = (int)threadIdx.x; i < list.count; i += kThreads) {
    if (is_rival(list, own, i, luma)) {
      const CfShape &shape = cf_shape_at(list, i);
      const int at = atomicAdd(&rivals->count, 1);
      if (at < kTileShapes)
        rivals->rect[at] = {shape.x0, shape.y0, shape.x1, shape.y1};
    }
  }
  __syncthreads();
}

__device__ inline bool is_contested(const CfShapeList &list, const Rivals &rivals, int own,
                                    const CfRect &luma)
{
  bool contested = false;

  if (rivals.count <= kTileShapes) {
    for (int i = 0; i < rivals.count; i++)
      contested = contested || overlap(rivals.rect[i], luma);
  } else {
    for (int i = 0; i < list.count && !contested; i++)
      contested = is_rival(list, own, i, luma);
  }
  return contested;
}

template <typename Sample, int Channels>
__device__ inline void write_sample(const Frame &frame, const Plane &plane, int x, int y,
                                    const Sample *colour, int coverage)
{
  Sample *pixel = (Sample *)(plane.destination + y * plane.destination_stride) + x * Channels;
  const Sample *source = (const Sample *)(plane.source + y * plane.source_stride) + x * Channels;

  if (coverage == CF_COVERED) {
    if (sizeof(Sample) * Channels == 4 && (uintptr_t)pixel % 4 == 0) {
      *(uint32_t *)pixel = *(const uint32_t *)colour;
      return;
    }
#pragma unroll
    for (int k = 0; k < Channels; k++)
      pixel[k] = colour[k];
  } else if (sizeof(Sample) == 1 && Channels == 4 && frame.alpha >= 0) {
    cf_mix_weighted((uint8_t *)pixel, (const uint8_t *)source, (const uint8_t *)colour, frame.alpha,
                    (uint32_t)coverage);
  } else {
#pragma unroll
    for (int k = 0; k < Channels; k++)
      pixel[k] = (Sample)(cf_mix((uint32_t)source[k] >> frame.job.shift,
                                 (uint32_t)colour[k] >> frame.job.shift, (uint32_t)coverage)
                          << frame.job.shift);
  }
}

__device__ inline CfRect luma_of(const Plane &plane, int x0, int x1, int y0, int y1)
{
  return {x0 << plane.shift_x, y0 << plane.shift_y, x1 << plane.shift_x, y1 << plane.shift_y};
}

/* What the kernel's threads share beside sums and colours. */
union Claims {
  CfTileShapes shapes;
  Rivals rivals;
};

/* Writes the samples that belong to the tile's region, a row of them at a time. */
template <typename Sample, int Channels>
__device__ inline void fill_covered(const Frame &frame, const Plane &plane, const Tile &tile,
                                    const Claims &claims, int own, const uint8_t *line)
{
  const Sample *colours = (const Sample *)(line - tile.column0 * kColumnBytes);
  const bool hard = is_hard(frame.list.rule);
  const int warp = (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32;

  for (int y = tile.y0 + warp; y < tile.y1; y += kThreads / 32) {
    for (int x = tile.x0 + lane; x < tile.x1; x += 32) {
      CfCovered covered = {CF_COVERED, own};

      if (!hard)
        covered = cf_sample_coverage(frame.list, claims.shapes, x, y, plane.shift_x, plane.shift_y);
      else if (is_contested(frame.list, claims.rivals, own, luma_of(plane, x, x + 1, y, y + 1)))
        continue;
      if (covered.coverage > 0 && (own < 0 || covered.owner == own))
        write_sample<Sample, Channels>(frame, plane, x, y, colours + x * Channels,
                                       covered.coverage);
    }
  }
}

/* ---- Tiles ---- */

/* The tile's part that its region may cover. */
__device__ inline Tile cut_tile(const Tile &tile, const Plane &plane, const CfRect &luma)
{
  Tile part = tile;

  part.x0 = max(tile.x0, luma.x0 >> plane.shift_x);
  part.y0 = max(tile.y0, luma.y0 >> plane.shift_y);
  part.x1 = min(tile.x1, (luma.x1 + (1 << plane.shift_x) - 1) >> plane.shift_x);
  part.y1 = min(tile.y1, (luma.y1 + (1 << plane.shift_y) - 1) >> plane.shift_y);
  return part;
}

__device__ inline bool is_empty(const Tile &tile)
{
  return tile.x1 <= tile.x0 || tile.y1 <= tile.y0;
}

/* Finds out what claims samples of the tile's part; all threads together, ends with a barrier.
 * Returns whether its own region covers all of it alone. */
__device__ inline bool find_claims(const Frame &frame, const Plane &plane, const Tile &part,
                                   const Patch &patch, Claims *claims)
{
  const CfShapeList &list = frame.list;
  const CfRect luma = luma_of(plane, part.x0, part.x1, part.y0, part.y1);

  if (is_hard(list.rule)) {
    if (patch.alone || frame.single)
      return true;
    find_rivals(list, patch.shape, luma, &claims->rivals);
    return claims->rivals.count == 0;
  }
  if (!patch.alone || patch.shape < 0) {
    cf_find_shapes(list, luma, &claims->shapes);
    return patch.shape < 0 && claims->shapes.count == 0;
  }
  if (threadIdx.x == 0) {
    claims->shapes.count = 1;
    claims->shapes.index[0] = (short)patch.shape;
  }
  __syncthreads();
  return false;
}

template <template <int, bool> class Kind, int C>
__device__ inline void average_patch_tile(const Frame &frame, const Patch &patch, int index,
                                          uint32_t *shared, uint32_t *colours, Claims *claims)
{
  typedef Kind<C, false> Sums;
  constexpr int kPixelBytes = C * Sums::kSampleBytes;
  typedef typename Samples<Sums::kSampleBytes>::Type Sample;
  const Stage stage = frame.job.stage;
  Plane plane = plane_of_patch(frame, patch, index);
  const Tile tile = locate_tile<kPixelBytes>(plane, frame.sums ? stage : kWhole,
                                             (int)blockIdx.x - patch.first_tile);
  const Tile part = cut_tile(tile, plane, patch.rect);
  uint32_t *values = frame.colours + (size_t)index * frame.blocks + patch.first_block +
                     tile.block_row * patch.columns + tile.block0;

  if (is_empty(tile) || (stage != kSums && is_empty(part)))
    return;
  plane.columns = columns_for(tile, Sums::kWords);
  if (stage != kFill) {
    measure_blocks<Kind, C, false>(frame.job, plane, tile, shared, colours);
    if (stage == kSums)
      return;
    __syncthreads();
    if (!patch.alone) {
      for (int i = (int)threadIdx.x; i < tile.blocks; i += kThreads)
        values[i] = colours[i];
      return;
    }
  } else if (frame.sums) {
    load_colours<Sums, C>(frame.job, plane, tile, colours);
  } else {
    for (int i = (int)threadIdx.x; i < tile.blocks; i += kThreads)
      colours[i] = values[i];
  }

  const bool plain = find_claims(frame, plane, part, patch, claims);
  __syncthreads();
  draw_line<kPixelBytes>(plane, part, colours, (uint8_t *)shared);
  __syncthreads();
  if (plain)
    fill_from_line<kPixelBytes>(plane, part, (const uint8_t *)shared);
  else
    fill_covered<Sample, C>(frame, plane, part, *claims, patch.shape, (const uint8_t *)shared);
}

/* Blocks of the grid: tiles, planes. Channels = 1 as in average_blocks. */
template <template <int, bool> class Kind, int Channels>
__global__ void __launch_bounds__(kThreads, kPatchResident)
    average_patches(const __grid_constant__ Frame frame)
{
  __shared__ __align__(16) uint32_t shared[kPatchSums];
  __shared__ uint32_t colours[kPatchPixels + 1];
  __shared__ Claims claims;
  const int index = (int)blockIdx.y;
  const Patch patch = find_patch(frame, (int)blockIdx.x);

  if constexpr (Channels > 1) {
    average_patch_tile<Kind, Channels>(frame, patch, index, shared, colours, &claims);
  } else {
    if (frame.job.plane[index].channels == 2)
      average_patch_tile<Kind, 2>(frame, patch, index, shared, colours, &claims);
    else
      average_patch_tile<Kind, 1>(frame, patch, index, shared, colours, &claims);
  }
}

} // namespace
