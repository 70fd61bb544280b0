/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Block average of regions: which rectangles of a tile its patch writes, where regions are
 * rectangles without feather. A patch is what one region has of the picture: the blocks of its grid
 * that it may cover. All functions are for the lanes of one warp together.
 */
#pragma once

#include "cuda/blockavg/frame_kernel.cuh"

extern "C" {
#include "plan/coverage.h"
}

namespace
{

constexpr int kSharedBlocks = 32; /* most blocks of a tile whose blocks other patches share */

struct Patch {
  int first_tile;            /* counted through the patches, and alike in each plane */
  int tiles;                 /* its number of them */
  int first_block;           /* counted likewise; where its values are */
  int near_first, near_end;  /* patches that may share blocks with it are among these */
  int shape;                 /* -1: all that is outside */
  int side;                  /* of the region */
  CfRect rect;               /* luma pixels that may be covered */
  int x, y;                  /* luma pixel where its first block starts */
  int width, height;         /* of a block in luma pixels */
  int columns, rows;         /* of blocks */
  int tiles_x;               /* tiles side by side */
  short tile_blocks, slices; /* blocks side by side in a tile; tiles that share a block's height */
};

/* ---- Rectangles ---- */

__device__ inline bool overlap(const CfRect &a, const CfRect &b)
{
  return a.x0 < b.x1 && b.x0 < a.x1 && a.y0 < b.y1 && b.y0 < a.y1;
}

__device__ inline CfRect luma_of(const Plane &plane, int x0, int x1, int y0, int y1)
{
  return {x0 << plane.shift_x, y0 << plane.shift_y, x1 << plane.shift_x, y1 << plane.shift_y};
}

/* The samples that luma pixels belong to. */
__device__ inline CfRect samples_of(const Plane &plane, const CfRect &luma)
{
  return {luma.x0 >> plane.shift_x, luma.y0 >> plane.shift_y,
          (luma.x1 + (1 << plane.shift_x) - 1) >> plane.shift_x,
          (luma.y1 + (1 << plane.shift_y) - 1) >> plane.shift_y};
}

__device__ inline Tile cut_tile(const Tile &tile, const CfRect &samples)
{
  Tile part = tile;

  part.x0 = max(tile.x0, samples.x0);
  part.y0 = max(tile.y0, samples.y0);
  part.x1 = min(tile.x1, samples.x1);
  part.y1 = min(tile.y1, samples.y1);
  return part;
}

__device__ inline bool is_empty(const Tile &tile)
{
  return tile.x1 <= tile.x0 || tile.y1 <= tile.y0;
}

/* ---- Rectangles of a tile ---- */

constexpr int kPieces = 32;

/* What is to be written of a tile, in samples, in shared memory. */
struct Pieces {
  int count; /* more than kPieces: some are missing */
  CfRect rect[kPieces];
};

__device__ inline unsigned bits_below(int count)
{
  return count >= 32 ? ~0u : (1u << count) - 1;
}

/* Adds the piece that each lane may have. */
__device__ inline int add_pieces(Pieces *pieces, int count, const CfRect &piece)
{
  const bool has = piece.x0 < piece.x1 && piece.y0 < piece.y1;
  const unsigned all = __ballot_sync(~0u, has);
  const int at = count + __popc(all & bits_below((int)threadIdx.x));

  if (has && at < kPieces)
    pieces->rect[at] = piece;
  return count + __popc(all);
}

__device__ inline void set_count(Pieces *pieces, int count)
{
  if (threadIdx.x == 0)
    pieces->count = count;
  __syncwarp();
}

__device__ inline void set_piece(Pieces *pieces, const Tile &part)
{
  if (threadIdx.x == 0)
    pieces->rect[0] = {part.x0, part.y0, part.x1, part.y1};
  set_count(pieces, 1);
}

/* ---- Patches that share the blocks of one grid ---- */

__device__ inline CfRect blocks_of(const Patch &patch)
{
  return {patch.x, patch.y, patch.x + patch.columns * patch.width,
          patch.y + patch.rows * patch.height};
}

/* The luma pixels of the tile's blocks. */
__device__ inline CfRect blocks_of(const Plane &plane, const Tile &tile)
{
  const int x = plane.origin_x + tile.block0 * plane.block_width;
  const int y = plane.origin_y + tile.block_row * plane.block_height;

  return {x, y, x + tile.blocks * plane.block_width, y + plane.block_height};
}

/* Whether any other patch has some of the tile's blocks. */
__device__ inline bool is_contested(const Patch *patches, const Patch &own, int index,
                                    const CfRect &luma)
{
  bool contested = false;

#pragma unroll 1
  for (int i = own.near_first + (int)threadIdx.x; i < own.near_end; i += 32)
    contested = contested || (i != index && overlap(blocks_of(patches[i]), luma));
  return __any_sync(~0u, contested);
}

/* The tile's blocks that no earlier patch has, a bit for each. */
__device__ inline unsigned own_blocks(const Patch *patches, const Patch &own, int index,
                                      const CfRect &luma, int blocks)
{
  unsigned others = 0;

#pragma unroll 1
  for (int i = own.near_first + (int)threadIdx.x; i < index; i += 32) {
    const CfRect other = blocks_of(patches[i]);

    if (overlap(other, luma))
      others |= bits_below((min(other.x1, luma.x1) - luma.x0) / own.width) &
                ~bits_below((max(other.x0, luma.x0) - luma.x0) / own.width);
  }
#pragma unroll 1
  for (int distance = 16; distance; distance >>= 1)
    others |= __shfl_xor_sync(~0u, others, distance);
  return bits_below(blocks) & ~others;
}

/* The tile's own blocks where any region covers them. */
__device__ inline void find_pieces_for_all(const Patch *patches, const Patch &own,
                                           const Plane &plane, const Tile &tile, unsigned mask,
                                           Pieces *pieces)
{
  const CfRect luma = blocks_of(plane, tile);
  int count = 0;

  while (mask) {
    const int first = __ffs((int)mask) - 1;
    const unsigned gaps = ~(mask >> first);
    const int end = gaps ? first + __ffs((int)gaps) - 1 : 32;
    const int x0 = max(tile.x0, block_left(plane, tile.block0 + first));
    const int x1 = min(tile.x1, block_left(plane, tile.block0 + end));

#pragma unroll 1
    for (int base = own.near_first; base < own.near_end; base += 32) {
      const int i = base + (int)threadIdx.x;
      CfRect piece = {0, 0, 0, 0};

      if (i < own.near_end && overlap(blocks_of(patches[i]), luma)) {
        piece = samples_of(plane, patches[i].rect);
        piece = {max(piece.x0, x0), max(piece.y0, tile.y0), min(piece.x1, x1),
                 min(piece.y1, tile.y1)};
      }
      count = add_pieces(pieces, count, piece);
    }
    mask &= ~bits_below(end);
  }
  set_count(pieces, count);
}

/* ---- Patches that have grids of their own ---- */

/* Whether samples in `luma` belong to `other` rather than to `own`. */
__device__ inline bool is_rival(const Patch &own, const Patch &other, const CfRect &luma)
{
  return overlap(other.rect, luma) &&
         (other.side > own.side || (other.side == own.side && other.shape < own.shape));
}

/* Takes a rectangle away from all pieces; a lane looks after each. */
__device__ inline void cut_pieces(Pieces *pieces, const CfRect &hole)
{
  const int lane = (int)threadIdx.x, before = pieces->count;
  const CfRect piece = lane < before ? pieces->rect[lane] : CfRect{0, 0, 0, 0};
  const bool meets = overlap(piece, hole);
  const int y0 = max(piece.y0, hole.y0), y1 = min(piece.y1, hole.y1);
  int count;

  __syncwarp();
  count = add_pieces(pieces, 0, {piece.x0, piece.y0, piece.x1, meets ? hole.y0 : piece.y1});
  count = add_pieces(pieces, count, {piece.x0, hole.y1, piece.x1, meets ? piece.y1 : hole.y1});
  count = add_pieces(pieces, count, {piece.x0, y0, meets ? hole.x0 : piece.x0, y1});
  count = add_pieces(pieces, count, {hole.x1, y0, meets ? piece.x1 : hole.x1, y1});
  set_count(pieces, before > kPieces ? before : count);
}

/* The samples of a tile's part that belong to its own region. */
__device__ inline void find_own_pieces(const Patch *patches, const Patch &own, const Plane &plane,
                                       const Tile &part, Pieces *pieces)
{
  const CfRect luma = luma_of(plane, part.x0, part.x1, part.y0, part.y1);

  set_piece(pieces, part);
  for (int base = own.near_first; base < own.near_end; base += 32) {
    const int i = base + (int)threadIdx.x;
    unsigned rivals = __ballot_sync(~0u, i < own.near_end && is_rival(own, patches[i], luma));

    for (; rivals; rivals &= rivals - 1)
      cut_pieces(pieces, samples_of(plane, patches[base + __ffs((int)rivals) - 1].rect));
  }
}

} // namespace
