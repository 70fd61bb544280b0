/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What the kernel of the terms of levels 0 and 1 has in shared memory of a tile: components of
 * levels 1 and 2, and the Gaussian of level 1.
 */
#pragma once

#include "cuda/llf/mma_upsample.cuh"

namespace cf::llf
{

constexpr int TILE_X = 64, TILE_Y = 32, THREADS = 256, WARPS = THREADS / 32;

/* Of level 0, and of the pixels of level 1 that it needs: those inside are all a level-1 tile. */
template <int GROUPS> using BaseTile = Tile<GROUPS, TILE_Y, TILE_X>;
template <int GROUPS> using NextTile = Tile<GROUPS, TILE_Y / 2, TILE_X / 2>;

constexpr int NEXT_X = TILE_X / 2, NEXT_Y = TILE_Y / 2;

/* A level's own components in shared memory, as the addends of the expansion: matrices of eight
 * pixels, two of a group. */
template <typename T> struct OwnPixels {
  uint32_t from;
  uint32_t words[4];

  __device__ __forceinline__ OwnPixels(const uint8_t *memory, int strip_y, int lane)
  {
    const int matrix = lane / 8, pixel = lane % 8 + (matrix & 1) * 8;
    const int row = 1 + 4 * strip_y + pixel / 4, column = 1 + pixel % 4;
    const int swap = T::GROUPS == 2 ? row >> 1 & 1 : 0;

    from = cf::smem_address(memory) + row * T::PITCH +
           (column * T::GROUPS + (T::GROUPS > 1 ? (matrix >> 1) ^ swap : 0)) * GROUP_BYTES;
  }

  __device__ __forceinline__ OwnPixels shifted(int bytes) const
  {
    OwnPixels pixels = *this;
    pixels.from += bytes;
    return pixels;
  }

  __device__ __forceinline__ void load(int j, int c, uint32_t *self)
  {
    const uint32_t at = from + (4 * j * T::GROUPS + c) * GROUP_BYTES;

    if constexpr (T::GROUPS == 1) {
      ldmatrix_x2(words, at);
    } else if (c % 2 == 0) {
      cf::ldmatrix_x4(words, at);
    }
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
  constexpr int STEP = THREADS / NEXT_X;
  static_assert(STEP % 4 == 0, "whole strips");

  const uint32_t from_x = min(x + thread % NEXT_X, level.width - 1);

#pragma unroll
  for (int k = 0; k < NEXT_X * NEXT_Y / THREADS; k++) {
    const uint32_t from_y = min(y + thread / NEXT_X + k * STEP, level.height - 1);

    cf::cp_async_zero_fill<4>(to + k * STEP * NEXT_X * (int)sizeof(float),
                              level.gauss + (from_y * (uint32_t)level.width + from_x), 4);
  }
}

} // namespace cf::llf
