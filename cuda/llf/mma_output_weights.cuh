/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * How the last kernel of the fast engine on tensor cores weighs what it adds up: level 0's terms
 * while they are the halves that they come as, with weights from global memory; those of levels 1
 * and 2 in shared memory.
 */
#pragma once

#include "cuda/llf/tiled_fp16.cuh"

namespace cf::llf
{

/* In shared memory, for a tile of TileX x TileY pixels: of levels 1 and 2 the weights of its blocks
 * and of the ones next to them. */
template <int TileX, int TileY> struct WeightTile {
  __host__ __device__ static constexpr int across(int level)
  {
    return (TileX >> level) / CF_LLF_WEIGHT_BLOCK + 2;
  }

  __host__ __device__ static constexpr int count(int level)
  {
    return across(level) * ((TileY >> level) / CF_LLF_WEIGHT_BLOCK + 2);
  }

  /* Where a level's begin. */
  __host__ __device__ static constexpr int first(int level)
  {
    return level == 1 ? 0 : count(1);
  }

  static constexpr int kCount = count(1) + count(2);
  static_assert(CF_LLF_WEIGHTED_LEVELS == 3 && TileX >> 2 >= CF_LLF_WEIGHT_BLOCK &&
                    TileY >> 2 >= CF_LLF_WEIGHT_BLOCK,
                "a tile has whole blocks of all levels");

  /* Starts to load one of them a thread. */
  __device__ __forceinline__ static void load(const BlockWeights *weights, const float *memory,
                                              int thread)
  {
    if (thread < count(1))
      load_one<1>(weights[1], memory, thread);
    else if (thread < kCount)
      load_one<2>(weights[2], memory + count(1), thread - count(1));
  }

private:
  /* A tile's last may be beyond the margin. */
  template <int Level>
  __device__ __forceinline__ static void load_one(const BlockWeights &weights, const float *memory,
                                                  int i)
  {
    constexpr int kAcross = across(Level), kDown = count(Level) / kAcross;
    const int x = (int)blockIdx.x * (kAcross - 2) - 1 + i % kAcross;
    const int y = (int)blockIdx.y * (kDown - 2) - 1 + i / kAcross;

    if (weights.plane)
      cf::cp_async_zero_fill<4>(
          cf::smem_address(memory) + i * (int)sizeof(float),
          weights.plane + weights.index(min(x, weights.across), min(y, weights.down)), 4);
  }
};

/* The weights of two quads side by side in a region, which begins half a block before the first
 * one's end: of row `row` and column `column` of such pairs. All four columns are between the
 * middles of two blocks. */
__device__ __forceinline__ void weights_of_quads(const float *weight, int pitch, int row,
                                                 int column, float weights[2][4])
{
  const float *const above = weight + row / 2 * pitch + column, *const below = above + pitch;

#pragma unroll
  for (int j = 0; j < 2; j++) {
    const float part = (row % 2 ? 0.625f : 0.125f) + 0.25f * (float)j;
    const float left = between(above[0], below[0], part);
    const float step = between(above[1], below[1], part) - left;

#pragma unroll
    for (int i = 0; i < 4; i++)
      weights[j][i] = fmaf(0.125f + 0.25f * (float)i, step, left);
  }
}

/* Weighs the terms of two rows of a cell of level 0, the first even, at (x, y). A cell has two
 * blocks across; pixels x and x + 4 are weighed together. */
__device__ __forceinline__ void weigh_terms(const BlockWeights &weights, int x, int y,
                                            uint4 terms[2])
{
  static_assert(kCellX == 2 * CF_LLF_WEIGHT_BLOCK, "two blocks across");
  const BetweenBlocks rows(y / 2);
  const float2 *const above = reinterpret_cast<const float2 *>(
      weights.plane + weights.index(x / CF_LLF_WEIGHT_BLOCK - 1, rows.block));
  const float2 *const below = above + weights.pitch / 2;
  const float2 two[2][2] = {{above[0], above[1]}, {below[0], below[1]}};

#pragma unroll
  for (int j = 0; j < 2; j++) {
    const float part = rows.part[j];
    const float first = between(two[0][0].x, two[1][0].x, part);
    const float second = between(two[0][0].y, two[1][0].y, part);
    const float third = between(two[0][1].x, two[1][1].x, part);
    const float fourth = between(two[0][1].y, two[1][1].y, part);
    const __half2 own = __floats2half2_rn(second, third);
    const __half2 before = __hsub2(__floats2half2_rn(first, second), own);
    const __half2 after = __hsub2(__floats2half2_rn(third, fourth), own);
    auto weighed = [&](uint32_t pair, float distance, const __half2 &step) {
      return cf::as_bits(
          __hmul2(cf::as_half2(pair), __hfma2(__float2half2_rn(distance), step, own)));
    };

    terms[j] = make_uint4(weighed(terms[j].x, 0.375f, before), weighed(terms[j].y, 0.125f, before),
                          weighed(terms[j].z, 0.125f, after), weighed(terms[j].w, 0.375f, after));
  }
}

} // namespace cf::llf
