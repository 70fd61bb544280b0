/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The windows and levels that a tile needs: its TileRecord and StripRecords. By whole warps.
 */
#pragma once

#include "cuda/blurmap/device.cuh"

namespace cf::blurmap
{

/* Rows of texels of a window for one strip. */
__host__ __device__ constexpr int window_of(int log_y)
{
  return log_y == 0 ? 48 : 32;
}

/* Texels from row to row of a window; eight rows start in different banks, for ldmatrix. */
__host__ __device__ constexpr int pitch_of(int log_x)
{
  return log_x == 0 ? 56 : 40;
}

/* Columns of a window. */
__host__ __device__ constexpr int columns_of(int log_x)
{
  return log_x == 0 ? 56 : log_x == 1 ? 40 : 32;
}

/* The size of a tile's window into an image; `texels` are those of one channel. */
struct Window {
  int columns, rows, pitch;

  __device__ Window(int log_x, int log_y, int y0)
  {
    columns = columns_of(log_x);
    pitch = pitch_of(log_x);
    rows = ((y0 + kTileRows - kStripRows) >> log_y) - (y0 >> log_y) + window_of(log_y);
  }

  __device__ int texels() const
  {
    return rows * pitch;
  }
};

/* A bit for each level; kCopiedBit is removed. */
struct LevelBits {
  unsigned bits[4];

  __device__ LevelBits(const uint4 &from) : bits{from.x, from.y, from.z, from.w & 0x7fffffff}
  {
  }

  __device__ int count() const
  {
    return __popc(bits[0]) + __popc(bits[1]) + __popc(bits[2]) + __popc(bits[3]);
  }

  /* The levels of a tile, from those of its strips. */
  __device__ LevelBits(const uint4 *warps) : bits{}
  {
#pragma unroll
    for (int i = 0; i < kThreads / 32; i++) {
      const LevelBits one(warps[i]);

#pragma unroll
      for (int word = 0; word < 4; word++)
        bits[word] |= one.bits[word];
    }
  }
};

__device__ inline unsigned or_of_warp(unsigned bits)
{
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
  return __reduce_or_sync(0xffffffffu, bits);
#else
  return bits;
#endif
}

/* The first of a strip's levels. */
__device__ inline int first_level(const LevelBits &levels)
{
  int first = 0;

#pragma unroll
  for (int word = 3; word >= 0; word--)
    first = levels.bits[word] ? 32 * word + __ffs((int)levels.bits[word]) - 1 : first;
  return first;
}

/* The groups that a tile needs, and where their windows lie in shared memory. Lane i holds the
 * numbers of group i. */
struct TileGroups {
  unsigned needed; /* a bit for each group; the same in all lanes */
  int log_x, log_y;
  int texels; /* of one channel of the window; 0 if the group is not needed */
  int at;     /* texels of one channel of all windows up to and with this one */

  static __device__ unsigned groups_of(const PlanePlan &plan, const LevelBits &levels)
  {
    const int lane = (int)threadIdx.x % 32;
    unsigned groups = 0;

#pragma unroll
    for (int word = 0; word < 4; word++) {
      if (levels.bits[word] >> lane & 1)
        groups |= 1u << __ldg(&plan.level[32 * word + lane].group);
    }
    return or_of_warp(groups);
  }

  __device__ TileGroups(const PlanePlan &plan, unsigned groups, int y0) : needed(groups)
  {
    const int lane = (int)threadIdx.x % 32;

    log_x = log_y = texels = 0;
    if (needed >> lane & 1) {
      log_x = __ldg(&plan.image[lane].log_x);
      log_y = __ldg(&plan.image[lane].log_y);
      texels = Window(log_x, log_y, y0).texels();
    }
    at = texels;
#pragma unroll
    for (int step = 1; step < CF_MIP_GROUPS; step *= 2) {
      const int before = (int)__shfl_up_sync(0xffffffffu, (unsigned)at, step);
      at += lane >= step ? before : 0;
    }
  }

  __device__ TileGroups(const PlanePlan &plan, const LevelBits &tile_levels, int y0)
      : TileGroups(plan, groups_of(plan, tile_levels), y0)
  {
  }

  __device__ int all_texels() const
  {
    return __shfl_sync(0xffffffffu, at, CF_MIP_GROUPS - 1);
  }

  /* Makes the tile's record. `levels`: the most of a strip. */
  __device__ void describe(const PlanePlan &plan, int plane, int levels, int x0, int y0,
                           TileRecord *tile) const
  {
    const int lane = (int)threadIdx.x % 32;
    const int count = __popc(needed), n = __popc(needed & ((1u << lane) - 1));
    const bool used = needed >> lane & 1;
    const MipImage image = plan.image[used ? lane : 0];
    const Window window(log_x, log_y, y0);
    const int left = (x0 >> log_x) - CF_MIP_REACH - image.first_x;
    const int top = (y0 >> log_y) - CF_MIP_REACH - image.first_y;
    const bool frame = image.height == 0, inside = left >= 0 && top >= 0 &&
                                                   left + window.columns <= image.width &&
                                                   top + window.rows <= image.height;
    const int kind = frame ? kCopyFrame : inside ? kind_of(log_x, left) : kCopyClamped;
    const unsigned total = (unsigned)all_texels();
    const bool halved = or_of_warp(used && !frame ? 1 : 0);
    /* Windows of the frame are larger, and their levels have three blocks. */
    const unsigned cost =
        or_of_warp(used && frame ? 1 : 0) ? 2 * (unsigned)levels : (unsigned)levels;
    MipWindow all = {};

    if (used && n < kRecordWindows) {
      all.from = image.at + (uint32_t)(top * image.pitch + left);
      all.channel = image.channel;
      all.pitch = (uint32_t)image.pitch;
      all.rows = (uint32_t)(window.rows | kind << 16);
      *(uint4 *)&tile->window[n] = *(const uint4 *)&all;
    }
    if (lane >= count && lane < kRecordWindows)
      *(uint4 *)&tile->window[lane] = make_uint4(0, 0, 0, 0);
    if (lane == 0)
      *(uint4 *)tile = make_uint4(
          needed, total, (unsigned)(x0 / kTileColumns) | (unsigned)(y0 / kStripRows) << 16,
          (count <= kRecordWindows ? (unsigned)count : 0) | (halved ? 0 : kFrameOnly) |
              (unsigned)plane << 8 | cost << 16);
  }

  /* How a window is copied whose first texel is column `left` of the image. Images are placed so
   * that columns 8 i - 4 are aligned to 16 bytes. */
  static __device__ int kind_of(int log_x, int left)
  {
    if ((left + 4) % 8 == 0)
      return log_x == 0 ? kCopy7x16 : log_x == 1 ? kCopy5x16 : kCopy4x16;
    if (log_x < 2 || left % 2 != 0)
      return kCopyClamped;
    return left % 4 == 0 ? kCopy8x8 : kCopy16x4;
  }

  /* The StripLevel of each lane's own level, number `number` counted from the strip's first. */
  __device__ StripLevel entry_of(const LevelWeights &level, int number, int x0, int y0,
                                 int strip_y) const
  {
    const int lx = __shfl_sync(0xffffffffu, log_x, level.group);
    const int ly = __shfl_sync(0xffffffffu, log_y, level.group);
    const int size = __shfl_sync(0xffffffffu, texels, level.group);
    const int before = __shfl_sync(0xffffffffu, at, level.group) - size;
    const int row = (strip_y >> ly) - (y0 >> ly) + level.first_row;
    const unsigned variant_down = (unsigned)strip_y / kStripRows & level.variants_down;
    const unsigned variant_across = (unsigned)x0 / kTileColumns & level.variants_across;
    StripLevel entry;

    entry.down = (level.down + variant_down * (unsigned)level.blocks_down * 32) |
                 (unsigned)level.group << 24 | (level.blocks_down == 3 ? 1u << 31 : 0);
    entry.across = (level.across + variant_across * (unsigned)level.blocks_across * 64) |
                   (unsigned)level.blocks_across << 24;
    entry.from = (unsigned)(row * pitch_of(lx) + level.first_column) | (unsigned)number << 13 |
                 (lx == 0 ? 1u << 31 : 0);
    entry.texels = (unsigned)size | (unsigned)before << 13;
    return entry;
  }

  /* Lists up to `room` levels of a strip after the first `skip`. Returns how many it has in all. */
  __device__ int list(const PlanePlan &plan, const LevelBits &levels, int x0, int y0, int strip_y,
                      int skip, int room, StripLevel *entries) const
  {
    const int lane = (int)threadIdx.x % 32, first = first_level(levels);
    int count = 0;

#pragma unroll 1
    for (int word = 0; word < 4; word++) {
      const unsigned bits = word < 2    ? word == 0 ? levels.bits[0] : levels.bits[1]
                               : word == 2 ? levels.bits[2]
                                        : levels.bits[3];

      if (bits == 0)
        continue;
      const bool used = bits >> lane & 1;
      const int number = 32 * word + lane, n = count + __popc(bits & ((1u << lane) - 1)) - skip;
      const LevelWeights level = plan.level[used ? number : 0];
      const StripLevel entry = entry_of(level, number - first, x0, y0, strip_y);

      if (used && n >= 0 && n < room)
        *(uint4 *)&entries[n] = *(const uint4 *)&entry;
      count += __popc(bits);
    }
    return count;
  }
};

} // namespace cf::blurmap
