/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Block average of regions: the kernel. A patch is what one region has of the picture: the blocks
 * of its grid that it may cover. Its tiles are measured like those of whole pictures, each by one
 * warp.
 *
 * A patch whose blocks no other patch shares is filled at once. Of rectangles in the picture's grid
 * the first patch that has a block fills it for all. In all other cases, blocks are measured before
 * any is filled, and every sample is written for the one region that it belongs to.
 */
#pragma once

#include "cuda/blockavg/region_tiles.cuh"
#include "cuda/blockavg/samples.cuh"
#include "cuda/regions/shape_list.cuh"

namespace
{

/* CUDA blocks on an SM, of which some GPUs hold 16. The lean kernel wants registers; where samples
 * are looked at one by one, more warps hide more. */
#if defined(__CUDA_ARCH__) && (__CUDA_ARCH__ == 800 || __CUDA_ARCH__ / 100 == 9)
constexpr int kLeanResident = 24, kPatchResident = 32;
#else
constexpr int kLeanResident = 16, kPatchResident = 16;
#endif
constexpr int kPatchPixels = 288; /* most blocks side by side in a tile of a patch */
constexpr int kPatchColumns = 64; /* most columns of a tile */
constexpr int kPatchSums = 1040;  /* words: 16 for each of 65 columns */

/* Patches up to this number travel with the launch. Toolkits before CUDA 13 still serve drivers
 * that take 4 KB. */
#if defined(CUDART_VERSION) && CUDART_VERSION >= 13000
constexpr int kFewPatches = 104;
#else
constexpr int kFewPatches = 24;
#endif

struct Frame {
  Job job;
  int alpha;   /* its channel, -1 without */
  bool hard;   /* samples are covered or not, by rectangles */
  bool single; /* all patches have the same grid */
  bool even;   /* every patch has a row of CUDA blocks along z, some of which may have no tile */
  int slices;  /* CUDA blocks of a second launch that share a tile */
  int patches;
  int sharing;              /* how many of them, the first, may share blocks with others */
  int blocks;               /* of all patches, in each plane */
  uint32_t *colours;        /* [plane][block], of patches that are filled by a second launch */
  unsigned long long *sums; /* [plane][block][4], kSums and kFill after it; else NULL */
  const Patch *far;         /* in device memory; NULL while they are few */
  Patch few[kFewPatches];
  CfShapeList list; /* where they are not hard */
};

static_assert(sizeof(Frame) <= (kFewPatches > 24 ? 32764 : 4096), "what a launch can carry");

/* The patch of a tile; the lanes of a warp search together. */
__device__ inline int find_patch(const Frame &frame, const Patch *patches, int tile)
{
  const int lane = (int)threadIdx.x;
  int first = 0, count = frame.patches;

  while (count > 1) {
    const int share = (count + 31) / 32, at = lane * share;
    const bool begun = at < count && patches[first + at].first_tile <= tile;
    const int skipped = (__popc(__ballot_sync(~0u, begun)) - 1) * share;

    first += skipped;
    count = min(share, count - skipped);
  }
  return first;
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

/* ---- Samples one by one ---- */

/* Whether the tile's patch writes a sample; `mask` are its own blocks if all have one grid. */
__device__ inline bool is_own(const Frame &frame, const Patch *patches, const Patch &own,
                              const Plane &plane, const Tile &tile, unsigned mask, int x, int y)
{
  const CfRect luma = luma_of(plane, x, x + 1, y, y + 1);

  if (frame.single && !(mask >> (block_at(plane, x) - tile.block0) & 1))
    return false;
#pragma unroll 1
  for (int i = own.near_first; i < own.near_end; i++) {
    if (frame.single ? overlap(patches[i].rect, luma) : is_rival(own, patches[i], luma))
      return frame.single;
  }
  return !frame.single;
}

/* However many pieces there would be. */
template <typename Sample, int Channels>
__device__ inline void fill_scattered(const Frame &frame, const Patch *patches, const Patch &own,
                                      const Plane &plane, const Tile &part, unsigned mask,
                                      const uint8_t *line)
{
  const Sample *colours = (const Sample *)(line - part.column0 * kColumnBytes);

  for (int y = part.y0; y < part.y1; y++) {
#pragma unroll 1
    for (int x = part.x0 + (int)threadIdx.x; x < part.x1; x += 32) {
      if (is_own(frame, patches, own, plane, part, mask, x, y))
        write_sample<Sample, Channels>(frame.job, frame.alpha, plane, x, y, colours + x * Channels,
                                       CF_COVERED);
    }
  }
}

/* Whether one shape alone covers a tile's part, all of it: all shapes are convex. */
__device__ inline bool is_covered(const Frame &frame, const CfTileShapes &shapes,
                                  const CfRect &luma)
{
  const CfShapeList &list = frame.list;
  const int lane = (int)threadIdx.x;
  bool covered = true;

  if (list.rule.outside || shapes.count != 1)
    return list.rule.outside && shapes.count == 0;
  if (lane < 4)
    covered = cf_shape_coverage(&list.rule, &cf_shape_at(list, shapes.index[0]),
                                lane & 1 ? min(luma.x1, list.width) - 1 : luma.x0,
                                lane & 2 ? min(luma.y1, list.height) - 1 : luma.y0) == CF_COVERED;
  return __all_sync(~0u, covered);
}

/* Of a sample that no other shape can claim: that of its most covered luma pixel. */
__device__ inline int lone_coverage(const Frame &frame, const CfShape &shape, const Plane &plane,
                                    int x, int y)
{
  const CfShapeList &list = frame.list;
  int most = 0;

#pragma unroll 1
  for (int i = 0; i < 1 << (plane.shift_x + plane.shift_y) && most < CF_COVERED; i++) {
    const int column = (x << plane.shift_x) + (i & plane.shift_x);
    const int row = (y << plane.shift_y) + (i >> plane.shift_x);

    if (column < list.width && row < list.height)
      most = max(most, cf_shape_coverage(&list.rule, &shape, column, row));
  }
  return most;
}

/* Writes the samples that belong to the tile's region, 32 columns at a time. */
template <typename Sample, int Channels>
__device__ inline void fill_covered(const Frame &frame, const Plane &plane, const Tile &part,
                                    const CfTileShapes &shapes, int own, const Sample *colours)
{
  const bool lone = shapes.count == 1 && !frame.list.rule.outside;

  for (int x0 = part.x0; x0 < part.x1; x0 += 32) {
    const int x = x0 + (int)threadIdx.x;
    const bool all =
        is_covered(frame, shapes, luma_of(plane, x0, min(x0 + 32, part.x1), part.y0, part.y1));

    for (int y = part.y0; x < part.x1 && y < part.y1; y++) {
      CfCovered covered = {CF_COVERED, own};

      if (!all && lone)
        covered.coverage =
            lone_coverage(frame, cf_shape_at(frame.list, shapes.index[0]), plane, x, y);
      else if (!all)
        covered = cf_sample_coverage(frame.list, shapes, x, y, plane.shift_x, plane.shift_y);
      if (covered.coverage > 0 && (own < 0 || covered.owner == own))
        write_sample<Sample, Channels>(frame.job, frame.alpha, plane, x, y, colours + x * Channels,
                                       covered.coverage);
    }
  }
}

/* The shapes that may claim samples of a tile's part. */
__device__ inline void find_claims(const Frame &frame, const CfRect &luma, const Patch &own,
                                   bool shares, CfTileShapes *shapes)
{
  if (shares || own.shape < 0) {
    cf_find_shapes(frame.list, luma, shapes);
    return;
  }
  if (threadIdx.x == 0) {
    shapes->count = 1;
    shapes->index[0] = (short)own.shape;
  }
  __syncwarp();
}

/* ---- Tiles ---- */

/* A second launch may begin while the first still runs, and waits here for its memory. */
__device__ inline void await_first_launch(Stage stage)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  if (stage == kFill)
    cudaGridDependencySynchronize();
  else
    cudaTriggerProgrammaticLaunchCompletion();
#endif
}

/* What the lanes share beside sums and colours. */
union Claims {
  CfTileShapes shapes;
  Pieces pieces;
};

__device__ inline Tile slice_of(const Tile &tile, int index, int slices)
{
  const int rows = (tile.y1 - tile.y0 + slices - 1) / slices;
  Tile slice = tile;

  slice.y0 = min(tile.y0 + index * rows, tile.y1);
  slice.y1 = min(slice.y0 + rows, tile.y1);
  return slice;
}

/* By rectangles. */
template <typename Sample, int C>
__device__ inline void fill_hard(const Frame &frame, const Patch *patches, const Patch &own,
                                 int index, const Plane &plane, const Tile &tile,
                                 const uint32_t *colours, uint8_t *line, Pieces *pieces)
{
  constexpr int kPixelBytes = C * (int)sizeof(Sample);
  const bool shares = index < frame.sharing;
  const bool for_all = shares && frame.single && !frame.sums &&
                       is_contested(patches, own, index, blocks_of(plane, tile));
  const Tile part = for_all ? tile : cut_tile(tile, samples_of(plane, own.rect));
  unsigned mask = ~0u;

  if (is_empty(part))
    return;
  draw_line<kPixelBytes>(plane, part, colours, line);
  if (for_all) {
    mask = own_blocks(patches, own, index, blocks_of(plane, tile), tile.blocks);
    find_pieces_for_all(patches, own, plane, tile, mask, pieces);
  } else if (shares && !frame.single) {
    find_own_pieces(patches, own, plane, part, pieces);
  } else {
    set_piece(pieces, part);
  }
  if (pieces->count > kPieces) {
    fill_scattered<Sample, C>(frame, patches, own, plane, part, mask, line);
    return;
  }
#pragma unroll 1
  for (int i = 0; i < pieces->count; i++)
    fill_from_line<kPixelBytes>(plane, cut_tile(part, pieces->rect[i]), line);
}

template <typename Sample, int C>
__device__ inline void fill_soft(const Frame &frame, const Patch &own, bool shares,
                                 const Plane &plane, const Tile &tile, const uint32_t *colours,
                                 uint8_t *line, CfTileShapes *shapes)
{
  const Tile part = cut_tile(tile, samples_of(plane, own.rect));

  if (is_empty(part))
    return;
  draw_line<C *(int)sizeof(Sample)>(plane, part, colours, line);
  __syncwarp();
  find_claims(frame, luma_of(plane, part.x0, part.x1, part.y0, part.y1), own, shares, shapes);
  fill_covered<Sample, C>(frame, plane, part, *shapes, own.shape,
                          (const Sample *)(line - part.column0 * kColumnBytes));
}

/* Lean: hard, and no large blocks; of all that is not, the code is elsewhere. */
template <template <int, bool> class Kind, int C, bool Lean>
__device__ inline void average_patch_tile(const Frame &frame, const Patch *patches,
                                          const Patch &own, int own_index, int number, int index,
                                          uint32_t *shared, uint32_t *colours, Claims *claims)
{
  typedef Kind<C, false> Sums;
  typedef typename Samples<Sums::kSampleBytes>::Type Sample;
  const Stage stage = Lean && frame.job.stage != kFill ? kWhole : frame.job.stage;
  const bool shares = own_index < frame.sharing, hard = Lean || frame.hard;
  const bool sliced = !Lean && stage == kFill && frame.slices > 1;
  const int whole = sliced ? number / frame.slices : number;
  Plane plane = plane_of_patch(frame, own, index);
  Tile tile =
      locate_tile<C * Sums::kSampleBytes>(plane, !Lean && frame.sums ? stage : kWhole, whole);

  await_first_launch(stage);
  if (sliced)
    tile = slice_of(tile, number - whole * frame.slices, frame.slices);
  if (is_empty(tile))
    return;

  uint32_t *values = frame.colours + (size_t)index * frame.blocks + own.first_block +
                     tile.block_row * own.columns + tile.block0;
  plane.columns = min(tile.columns, kThreads);
  if (stage != kFill) {
    measure_blocks<Kind, C, false>(frame.job, plane, tile, shared, colours);
    if (stage == kSums)
      return;
    __syncwarp();
    if (!hard || (shares && !frame.single)) {
#pragma unroll 1
      for (int i = (int)threadIdx.x; i < tile.blocks; i += kThreads)
        values[i] = colours[i];
      return;
    }
  } else if (!Lean && frame.sums) {
    load_colours<Sums, C>(frame.job, plane, tile, colours);
  } else {
#pragma unroll 1
    for (int i = (int)threadIdx.x; i < tile.blocks; i += kThreads)
      colours[i] = values[i];
  }
  __syncwarp();
  if (hard)
    fill_hard<Sample, C>(frame, patches, own, own_index, plane, tile, colours, (uint8_t *)shared,
                         &claims->pieces);
  else
    fill_soft<Sample, C>(frame, own, shares, plane, tile, colours, (uint8_t *)shared,
                         &claims->shapes);
}

/* A warp each; tiles, planes, patches if `even`. Channels = 1 as in average_blocks. */
template <template <int, bool> class Kind, int Channels, bool Lean>
__global__ void __launch_bounds__(kThreads, Lean ? kLeanResident : kPatchResident)
    average_patches(const __grid_constant__ Frame frame)
{
  __shared__ __align__(16) uint32_t shared[kPatchSums];
  __shared__ uint32_t colours[kPatchPixels + 1];
  __shared__ Claims claims;
  const Patch *patches = frame.far ? frame.far : frame.few;
  const int slices = !Lean && frame.job.stage == kFill ? frame.slices : 1;
  const int index = (int)blockIdx.y;
  int own = (int)blockIdx.z, number = (int)blockIdx.x;

  if (!frame.even)
    own = find_patch(frame, patches, slices > 1 ? number / slices : number);
  const Patch patch = frame.far ? frame.far[own] : frame.few[own];
  if (!frame.even)
    number -= patch.first_tile * slices;
  if (number >= patch.tiles * slices)
    return;
  if constexpr (Channels > 1) {
    average_patch_tile<Kind, Channels, Lean>(frame, patches, patch, own, number, index, shared,
                                             colours, &claims);
  } else {
    if (frame.job.plane[index].channels == 2)
      average_patch_tile<Kind, 2, Lean>(frame, patches, patch, own, number, index, shared, colours,
                                        &claims);
    else
      average_patch_tile<Kind, 1, Lean>(frame, patches, patch, own, number, index, shared, colours,
                                        &claims);
  }
}

} // namespace
