/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Tiles of a level into shared memory, for kernels that reduce it.
 */
#pragma once

#include "cuda/llf/mma_downsample.cuh"

namespace cf::llf
{

/* Copies floats to shared memory in the background, as cp_async<16>() does groups. */
__device__ __forceinline__ void start_copy_float(float *to, const float *from)
{
  cf::cp_async_zero_fill<4>(cf::smem_address(to), from, 4);
}

/* Where nothing is mirrored, copies of a row lie at distances that are known when compiling. */
template <typename S, bool Inside>
__device__ __forceinline__ void start_rows(uint8_t *memory, float *gauss, const Level &fine,
                                           int groups, int first_group, int first_x, int first_y)
{
  using M = TileMemory<S>;
  constexpr int kCopies = (S::kFineX * kGroups + 31) / 32, kFloats = (S::kFineX + 31) / 32;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const uint32_t to = cf::smem_address(memory) + M::at(lane / kGroups, lane % kGroups);

#pragma unroll 1
  for (int row = warp; row < S::kFineY; row += S::kThreads / 32) {
    const int y = Inside ? first_y + row : mirrored(first_y + row, fine.height);
    const size_t start = (size_t)y * fine.width + (Inside ? first_x : 0);
    const uint4 *const group = fine.groups + start * groups + first_group;

#pragma unroll
    for (int k = 0; k < kCopies; k++) {
      const int i = lane + 32 * k, c = i % kGroups;
      const int x = Inside ? i / kGroups : mirrored(first_x + i / kGroups, fine.width);

      if (i < S::kFineX * kGroups)
        cp_async<16>(to + row * M::kPitch + k * 32 * kGroupBytes, group + x * groups + c);
    }
#pragma unroll
    for (int k = 0; k < kFloats; k++) {
      const int i = lane + 32 * k;

      if (i < S::kFineX)
        start_copy_float(gauss + row * M::kGaussPitch + i,
                         fine.gauss + start + (Inside ? i : mirrored(first_x + i, fine.width)));
    }
  }
}

template <typename S>
__device__ __forceinline__ void start_tile(uint8_t *memory, float *gauss, const Level &fine,
                                           int groups, int first_group, int coarse_x, int coarse_y)
{
  const int first_x = 2 * coarse_x - 2, first_y = 2 * coarse_y - 2;
  const bool inside = first_x >= 0 && first_y >= 0 && first_x + S::kFineX <= fine.width &&
                      first_y + S::kFineY <= fine.height;

  if (inside && groups == kGroups)
    start_rows<S, true>(memory, gauss, fine, kGroups, 0, first_x, first_y);
  else
    start_rows<S, false>(memory, gauss, fine, groups, first_group, first_x, first_y);
}

template <typename S>
__device__ __forceinline__ void load_tile(uint8_t *memory, float *gauss, const Level &fine,
                                          int groups, int first_group, int coarse_x, int coarse_y)
{
  start_tile<S>(memory, gauss, fine, groups, first_group, coarse_x, coarse_y);
  cp_async_commit_and_wait();
}

} // namespace cf::llf
