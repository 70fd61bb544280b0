/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The layout in which the Laplacian kernel leaves the coefficients of levels 0 and 1 to the output
 * kernel: fp16 in patches of 8 x 4 pixels, 64 bytes each, row by row. Two rows of a patch are 32
 * bytes, in the order of the sums of strip_coefficients(): pixels x and x + 4 are adjacent. There
 * are patches for whole tiles of 64 x 32 pixels: what is stored need not end at the border.
 */
#pragma once

#include "cuda/llf/mma_common.cuh"

namespace cf::llf
{

constexpr int kPatchX = 8, kPatchY = 4, kPatchHalves = 32;

__host__ __device__ inline int patches_across(int width)
{
  return (int)((unsigned)(width + 63) / 64) * (64 / kPatchX);
}

/* The index of pixel (x, y) in its patch, x < kPatchX and y < kPatchY. */
__host__ __device__ constexpr int place_in_patch(int x, int y)
{
  return 16 * (y >> 1) + 8 * (y & 1) + 2 * (x & 3) + (x >> 2);
}

/* The index of the first word of the patch at (x, y), multiples of kPatchX and kPatchY; `across` is
 * the number of patches in a row of patches. */
__device__ __forceinline__ uint32_t first_word_of_patch(int across, int x, int y)
{
  constexpr int kWords = kPatchHalves / 2;

  return (uint32_t)(kWords / kPatchY * across) * (uint32_t)y + (uint32_t)(kWords / kPatchX * x);
}

/* The index of the first of the two words that a lane stores of a 32 x 4 strip, in the strip. */
__device__ __forceinline__ uint32_t first_word_of_lane(int lane)
{
  return lane % 4 * (kPatchHalves / 2) + lane / 4;
}

/* Stores a lane's four sums of a strip. */
__device__ __forceinline__ void store_patch(__half *patches, uint32_t first_word,
                                            const float sum[4])
{
  uint32_t *const to = reinterpret_cast<uint32_t *>(patches) + first_word;

  to[0] = cf::pack_half2(sum[0], sum[1]);
  to[8] = cf::pack_half2(sum[2], sum[3]);
}

} // namespace cf::llf
