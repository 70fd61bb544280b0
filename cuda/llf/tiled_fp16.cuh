/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * How the terms of levels 0 and 1 wait for those of the coarser levels: in cells of 8 x 4 pixels in
 * fp16. Each two rows are 32 bytes, in the order in which expand_strip() leaves them: pixels x and
 * x + 4 side by side.
 */
#pragma once

#include "cuda/llf/mma_common.cuh"

namespace cf::llf
{

constexpr int kCellX = 8, kCellY = 4, kCellHalves = 32;

__host__ __device__ inline int cells_across(int width)
{
  return (int)((unsigned)(width + kCellX - 1) / kCellX);
}

__host__ __device__ constexpr int place_in_cell(int x, int y)
{
  return 16 * (y >> 1) + 8 * (y & 1) + 2 * (x & 3) + (x >> 2);
}

/* The word of a row of cells at which a lane begins that stores the cells of the strip at (x, y),
 * `across` of them in a row. */
__device__ __forceinline__ uint32_t first_word_in_cells(int across, int x, int y, int lane)
{
  const uint32_t cell = (uint32_t)y / kCellY * (uint32_t)across + (uint32_t)x / kCellX + lane % 4;
  return cell * (kCellHalves / 2) + lane / 4;
}

__device__ __forceinline__ void store_cell(__half *cells, uint32_t first_word, const float sum[4])
{
  uint32_t *const to = reinterpret_cast<uint32_t *>(cells) + first_word;

  to[0] = cf::pack_half2(sum[0], sum[1]);
  to[8] = cf::pack_half2(sum[2], sum[3]);
}

} // namespace cf::llf
