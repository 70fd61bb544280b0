/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Tiles of a level into shared memory, for kernels that reduce it.
 */
#pragma once

#include "cuda/llf/mma_downsample.cuh"
#include "cuda/common/grid_flags.cuh"

namespace cf::llf
{

/* Copies floats to shared memory in the background, as cp_async<16>() does groups. */
__device__ __forceinline__ void start_copy_float(float *to, const float *from)
{
  cf::cp_async_zero_fill<4>(cf::smem_address(to), from, 4);
}

/* Where nothing is mirrored, copies of a row lie at distances that are known when compiling. */
template <typename S, bool INSIDE>
__device__ __forceinline__ void start_rows(uint8_t *memory, float *gauss, const Level &fine,
                                           int groups, int first_group, int first_x, int first_y)
{
  using M = TileMemory<S>;
  constexpr int COPIES = (S::FINE_X * S::GROUPS + 31) / 32, FLOATS = (S::FINE_X + 31) / 32;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const uint32_t to = cf::smem_address(memory) + M::at(lane / S::GROUPS, lane % S::GROUPS);

#pragma unroll 1
  for (int row = warp; row < S::FINE_Y; row += S::THREADS / 32) {
    const int y = INSIDE ? first_y + row : mirrored(first_y + row, fine.height);
    const size_t start = (size_t)y * fine.width + (INSIDE ? first_x : 0);
    const uint4 *const group = fine.groups + start * groups + first_group;

#pragma unroll
    for (int k = 0; k < COPIES; k++) {
      const int i = lane + 32 * k, c = i % S::GROUPS;
      const int x = INSIDE ? i / S::GROUPS : mirrored(first_x + i / S::GROUPS, fine.width);

      if (i < S::FINE_X * S::GROUPS)
        cp_async<16>(to + row * M::PITCH + k * 32 * GROUP_BYTES, group + x * groups + c);
    }
#pragma unroll
    for (int k = 0; k < FLOATS; k++) {
      const int i = lane + 32 * k;

      if (i < S::FINE_X)
        start_copy_float(gauss + row * M::GAUSS_PITCH + i,
                         fine.gauss + start + (INSIDE ? i : mirrored(first_x + i, fine.width)));
    }
  }
}

template <typename S>
__device__ __forceinline__ void start_tile(uint8_t *memory, float *gauss, const Level &fine,
                                           int groups, int first_group, int coarse_x, int coarse_y)
{
  const int first_x = 2 * coarse_x - 2, first_y = 2 * coarse_y - 2;
  const bool inside = first_x >= 0 && first_y >= 0 && first_x + S::FINE_X <= fine.width &&
                      first_y + S::FINE_Y <= fine.height;

  if (inside && groups == S::GROUPS)
    start_rows<S, true>(memory, gauss, fine, S::GROUPS, 0, first_x, first_y);
  else
    start_rows<S, false>(memory, gauss, fine, groups, first_group, first_x, first_y);
}

/* The strips that have fine samples first .. first + count - 1 of `size`, or those that these are
 * mirrored to, on one axis. */
struct StripRange {
  int first, last;

  __device__ __forceinline__ StripRange(int from, int count, int size, int per_strip)
      : first(max(min(from, 2 * size - from - count), 0) / per_strip),
        last(min(max(from + count - 1, -1 - from), size - 1) / per_strip)
  {
  }
};

/* Waits for the strips that a tile of the next level is made of. */
template <typename S>
__device__ __forceinline__ void await_strips(const Strips &strips, const Level &fine,
                                             int group_block, int coarse_x, int coarse_y)
{
  const StripRange x(2 * coarse_x - 2, S::FINE_X, fine.width, strips.width);
  const StripRange y(2 * coarse_y - 2, S::FINE_Y, fine.height, strips.rows);
  const int across = x.last - x.first + 1, count = across * (y.last - y.first + 1);
  const unsigned *const done =
      strips.done + group_block * strips.count + y.first * strips.across + x.first;

  if (threadIdx.x < 32) {
    for (int i = threadIdx.x; i < count; i += 32)
      spin_relaxed(done + i / across * strips.across + i % across, 1);
    __syncwarp();
    acquire_fence();
  }
  __syncthreads();
}

template <typename S>
__device__ __forceinline__ void load_tile(uint8_t *memory, float *gauss, const Level &fine,
                                          int groups, int first_group, int coarse_x, int coarse_y)
{
  start_tile<S>(memory, gauss, fine, groups, first_group, coarse_x, coarse_y);
  cp_async_commit_and_wait();
}

} // namespace cf::llf
