/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The layout in which the Laplacian kernel leaves the coefficients of levels 0 and 1 to the output
 * kernel: fp16 in tiles (cells) of 8 x 4 pixels, 64 bytes each, row by row. Two rows of a cell are
 * 32 bytes, in the order of the sums of expand_strip(): pixels x and x + 4 are adjacent.
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

/* The index of pixel (x, y) in its cell, x < kCellX and y < kCellY. */
__host__ __device__ constexpr int place_in_cell(int x, int y)
{
  return 16 * (y >> 1) + 8 * (y & 1) + 2 * (x & 3) + (x >> 2);
}

/* The index of the first of the two words that a lane stores of the 32 x 4 strip at (x, y);
 * `across` is the number of cells in a row of cells. */
__device__ __forceinline__ uint32_t first_word_in_cells(int across, int x, int y, int lane)
{
  const uint32_t cell = (uint32_t)y / kCellY * (uint32_t)across + (uint32_t)x / kCellX + lane % 4;
  return cell * (kCellHalves / 2) + lane / 4;
}

/* Stores a lane's four sums of a strip. */
__device__ __forceinline__ void store_cell(__half *cells, uint32_t first_word, const float sum[4])
{
  uint32_t *const to = reinterpret_cast<uint32_t *>(cells) + first_word;

  to[0] = cf::pack_half2(sum[0], sum[1]);
  to[8] = cf::pack_half2(sum[2], sum[3]);
}

} // namespace cf::llf
