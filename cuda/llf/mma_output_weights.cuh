/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * How the last kernel of the fast engine on tensor cores weighs what it adds up: level 0's terms
 * while they are the halves that they come as; those of levels 1 and 2 in shared memory.
 */
#pragma once

#include "cuda/llf/tiled_fp16.cuh"

namespace cf::llf
{

/* The weights of two quads side by side, all of whose columns are between the middles of block `x`
 * and the next; rows are those of quad row `row` of a region that begins half a block before the
 * end of block row `y`. Tiles may be beyond the margin. */
__device__ __forceinline__ void weights_of_quads(const BlockWeights &weights, int x, int y, int row,
                                                 float made[2][4])
{
  const int above = min(y + row / 2, weights.down), below = min(above + 1, weights.down);
  const int first = min(x, weights.across), second = min(x + 1, weights.across);
  const float corner[2][2] = {{weights.at(first, above), weights.at(second, above)},
                              {weights.at(first, below), weights.at(second, below)}};

#pragma unroll
  for (int j = 0; j < 2; j++) {
    const float part = (row % 2 ? 0.625f : 0.125f) + 0.25f * (float)j;
    const float left = between(corner[0][0], corner[1][0], part);
    const float step = between(corner[0][1], corner[1][1], part) - left;

#pragma unroll
    for (int i = 0; i < 4; i++)
      made[j][i] = fmaf(0.125f + 0.25f * (float)i, step, left);
  }
}

/* Weighs the terms of two rows of a cell of level 0, the first even, at (x, y). A cell has two
 * blocks across; pixels x and x + 4 are weighed together. */
__device__ __forceinline__ void weigh_terms(const BlockWeights &weights, int x, int y,
                                            uint4 terms[2])
{
  static_assert(kCellX == 2 * CF_LLF_WEIGHT_BLOCK, "two blocks across");
  const BetweenBlocks rows(y / 2);
  const __half2 *const above = reinterpret_cast<const __half2 *>(
      weights.plane + weights.index(x / CF_LLF_WEIGHT_BLOCK - 1, rows.block));
  const __half2 *const below = above + weights.pitch / 2;
  const __half2 left = above[0], right = above[1];
  const __half2 left_step = __hsub2(below[0], left), right_step = __hsub2(below[1], right);

#pragma unroll
  for (int j = 0; j < 2; j++) {
    const __half2 part = __float2half2_rn(rows.part[j]);
    const __half2 first = __hfma2(part, left_step, left), last = __hfma2(part, right_step, right);
    const __half2 own = __halves2half2(__high2half(first), __low2half(last));
    const __half2 before = __hsub2(first, own), after = __hsub2(last, own);
    auto weighed = [&](uint32_t pair, float distance, const __half2 &step) {
      return cf::as_bits(
          __hmul2(cf::as_half2(pair), __hfma2(__float2half2_rn(distance), step, own)));
    };

    terms[j] = make_uint4(weighed(terms[j].x, 0.375f, before), weighed(terms[j].y, 0.125f, before),
                          weighed(terms[j].z, 0.125f, after), weighed(terms[j].w, 0.375f, after));
  }
}

} // namespace cf::llf
