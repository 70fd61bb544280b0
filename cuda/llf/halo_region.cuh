/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The way up, once the terms are made: what a tile of a level needs of the coarser ones, in shared
 * memory, and the expansion from one to the next.
 */
#pragma once

#include "cuda/llf/mma_common.cuh"

namespace cf::llf
{

/* Where the last kernel begins at most, and where it begins if coarser levels have kernels of their
 * own: one more adds them up to there. */
constexpr int FIRST_LEVEL = 4, COLLAPSED_LEVEL = 3;

/* The pixels of a level that a tile needs: they begin at (x, y). */
struct Region {
  int x, y, width, height;
};

/* A level whose region is in shared memory, and the level's size. */
struct Part {
  float *memory;
  int pitch, width, height;
  Region region;
};

/* What a level so many steps coarser needs, for the expansion of a region. One step takes the first
 * pixel x to (x >> 1) - 1 and the last one to (x >> 1) + 1. */
__device__ __forceinline__ Region coarser(const Region &fine, int steps)
{
  const int last_x = fine.x + fine.width - 1, last_y = fine.y + fine.height - 1;
  const int x = ((fine.x + 2) >> steps) - 2, y = ((fine.y + 2) >> steps) - 2;

  return Region{x, y, ((last_x - 2) >> steps) + 3 - x, ((last_y - 2) >> steps) + 3 - y};
}

/* The most that one step makes of a width or height. */
__host__ __device__ constexpr int most_coarser(int size)
{
  return size / 2 + 3;
}

/* Starts to load it. What is beyond the level repeats its border. */
template <int THREADS>
__device__ __forceinline__ void load_part(const Part &part, const float *from)
{
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;

  for (int row = warp; row < part.region.height; row += THREADS / 32) {
    const float *const line =
        from + (size_t)min(max(part.region.y + row, 0), part.height - 1) * part.width;
    const uint32_t to = cf::smem_address(part.memory + row * part.pitch);

    for (int column = lane; column < part.region.width; column += 32)
      cf::cp_async_zero_fill<4>(to + column * (int)sizeof(float),
                                line + min(max(part.region.x + column, 0), part.width - 1), 4);
  }
}

/* Adds the expanded coarser level, by quads. The pixels next to the level's border repeat those at
 * it. */
template <int THREADS>
__device__ __forceinline__ void add_expanded(const Part &fine, const Part &coarse)
{
  const Region &region = fine.region;
  const int end_x = region.x + region.width, end_y = region.y + region.height;
  const int first_x = region.x >> 1, first_y = region.y >> 1;
  const int across = ((end_x - 1) >> 1) - first_x + 1, down = ((end_y - 1) >> 1) - first_y + 1;
  const float reciprocal = 1.0f / (float)across;
  const bool border = region.x < 0 || region.y < 0 || end_x > fine.width || end_y > fine.height;
  float *const to = fine.memory - region.y * fine.pitch - region.x;

  for (int index = threadIdx.x; index < across * down; index += THREADS) {
    const int row = (int)(((float)index + 0.5f) * reciprocal);
    const int x = first_x + index - row * across, y = first_y + row;
    const float *const from =
        coarse.memory + (y - 1 - coarse.region.y) * coarse.pitch + x - 1 - coarse.region.x;
    float around[3][3], quad[4];

#pragma unroll
    for (int j = 0; j < 3; j++) {
#pragma unroll
      for (int i = 0; i < 3; i++)
        around[j][i] = from[j * coarse.pitch + i];
    }
    expand_quad(around, quad);
#pragma unroll
    for (int i = 0; i < 4; i++) {
      const int to_x = 2 * x + (i & 1), to_y = 2 * y + (i >> 1);

      if (to_x < region.x || to_x >= end_x || to_y < region.y || to_y >= end_y)
        continue;
      if (!border) {
        to[to_y * fine.pitch + to_x] += quad[i];
        continue;
      }
      if (to_x < 0 || to_x >= fine.width || to_y < 0 || to_y >= fine.height)
        continue;
      const float value = to[to_y * fine.pitch + to_x] + quad[i];
      const int left = max(to_x == 0 ? -1 : to_x, region.x);
      const int right = min(to_x == fine.width - 1 ? to_x + 1 : to_x, end_x - 1);
      const int above = max(to_y == 0 ? -1 : to_y, region.y);
      const int below = min(to_y == fine.height - 1 ? to_y + 1 : to_y, end_y - 1);
#pragma unroll 1
      for (int copy_y = above; copy_y <= below; copy_y++) {
#pragma unroll 1
        for (int copy_x = left; copy_x <= right; copy_x++)
          to[copy_y * fine.pitch + copy_x] = value;
      }
    }
  }
}

} // namespace cf::llf
