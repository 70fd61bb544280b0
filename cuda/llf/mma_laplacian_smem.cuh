/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What the kernel of the terms of levels 0 and 1 has in shared memory of a tile: components of
 * levels 1 and 2, and the Gaussian of level 1.
 */
#pragma once

#include "cuda/llf/mma_upsample.cuh"

namespace cf::llf
{

constexpr int kTileX = 64, kTileY = 32, kThreads = 256, kWarps = kThreads / 32;

/* Of level 0, and of the pixels of level 1 that it needs: those inside are all a level-1 tile. */
using BaseTile = Tile<kTileY, kTileX>;
using NextTile = Tile<kTileY / 2, kTileX / 2>;

constexpr int kNextX = kTileX / 2, kNextY = kTileY / 2;

/* A level's own components in shared memory, as the addends of the expansion: matrices of eight
 * pixels, two of a group. */
template <typename T> struct OwnPixels {
  uint32_t from;
  uint32_t words[4];

  __device__ __forceinline__ OwnPixels(const uint8_t *memory, int strip_y, int lane)
  {
    const int matrix = lane / 8, pixel = lane % 8 + (matrix & 1) * 8;
    const int row = 1 + 4 * strip_y + pixel / 4, column = 1 + pixel % 4;
    const int swap = row >> 1 & 1;

    from = cf::smem_address(memory) + row * T::kPitch +
           (column * kGroups + ((matrix >> 1) ^ swap)) * kGroupBytes;
  }

  __device__ __forceinline__ OwnPixels shifted(int bytes) const
  {
    OwnPixels pixels = *this;
    pixels.from += bytes;
    return pixels;
  }

  __device__ __forceinline__ void load(int j, int c, uint32_t *self)
  {
    const uint32_t at = from + (4 * j * kGroups + c) * kGroupBytes;

    if (c % 2 == 0)
      cf::ldmatrix_x4(words, at);
    self[0] = words[c % 2 * 2];
    self[1] = words[c % 2 * 2 + 1];
  }
};

/* Where a pixel of a tile of level 1 has its Gaussian: a lane's part of half a strip lies side by
 * side. */
__device__ __forceinline__ int place_of_gauss(int x, int y)
{
  return ((y / 4 * 2 + x / 16) * 8 + y % 2 * 4 + x % 4) * 8 + y / 2 % 2 * 4 + x % 16 / 4;
}

/* Starts to load the Gaussian of a tile of level 1, to where the thread's first pixel has its
 * place.
 */
__device__ __forceinline__ void load_gauss(uint32_t to, const Level &level, int x, int y,
                                           int thread)
{
  constexpr int kStep = kThreads / kNextX;
  static_assert(kStep % 4 == 0, "whole strips");

  const uint32_t from_x = min(x + thread % kNextX, level.width - 1);

#pragma unroll
  for (int k = 0; k < kNextX * kNextY / kThreads; k++) {
    const uint32_t from_y = min(y + thread / kNextX + k * kStep, level.height - 1);

    cf::cp_async_zero_fill<4>(to + k * kStep * kNextX * (int)sizeof(float),
                              level.gauss + (from_y * (uint32_t)level.width + from_x), 4);
  }
}

} // namespace cf::llf
