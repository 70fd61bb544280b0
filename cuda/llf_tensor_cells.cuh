/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * How the terms of levels 0 and 1 wait for those of the coarser levels: in cells of 8 x 4 pixels in
 * fp16. Each two rows are 32 bytes, in the order in which expand_strip() leaves them: pixels x and
 * x + 4 side by side.
 */
#pragma once

#include "llf_tensor.cuh"

namespace llf
{

constexpr int CELL_X = 8, CELL_Y = 4, CELL_HALVES = 32;

__host__ __device__ inline int cells_across(int width)
{
  return (width + CELL_X - 1) / CELL_X;
}

__host__ __device__ inline int cells_down(int height)
{
  return (height + CELL_Y - 1) / CELL_Y;
}

__host__ __device__ constexpr int place_in_cell(int x, int y)
{
  return 16 * (y >> 1) + 8 * (y & 1) + 2 * (x & 3) + (x >> 2);
}

/* Stores the cells, `across` of them in a row, of the strip at (x, y), which is in the level. */
__device__ __forceinline__ void store_cells(__half *cells, int width, int across, int x, int y,
                                            int lane, const float sum[4])
{
  const int cell = y / CELL_Y * across + x / CELL_X + lane % 4;

  if (x + CELL_X * (lane % 4) >= width)
    return;
  uint32_t *const to =
      reinterpret_cast<uint32_t *>(cells) + (uint32_t)cell * (CELL_HALVES / 2) + lane / 4;
  to[0] = cf_pack_halves(sum[0], sum[1]);
  to[8] = cf_pack_halves(sum[2], sum[3]);
}

} // namespace llf
