/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Upsampling along rows: the first of two matrix products, cubic B-spline weights (16 result
 * columns x 8 coarse columns) by coarse samples (8 coarse columns x 8 coarse rows).
 */
#pragma once

#include "cuda/pyramid/u8mma_coarse_filter_columns.cuh"

namespace cf::pyramid
{

/* The weight of coarse sample `coarse` in result `sample`. */
__device__ inline float spline(const U8Axis &axis, int sample, int coarse)
{
  const int halves = 2 * (sample - (coarse << axis.factor_log2)) - (axis.factor - 1);
  const float distance = fabsf((float)halves * (0.5f * axis.inverse_factor));
  const float beyond = fmaxf(2.0f - distance, 0.0f);

  return distance < 1.0f
             ? (4.0f - 6.0f * distance * distance + 3.0f * distance * distance * distance) *
                   (1.0f / 6)
             : beyond * beyond * beyond * (1.0f / 6);
}

/* The weights of coarse samples `coarse` and coarse + 1: a pair of fp16 numbers and one of their
 * residuals. Not inlined: it is called often, and its copies would fill the instruction cache. */
static __device__ __noinline__ uint2 spline_pair(const U8Axis &axis, int sample, int coarse)
{
  return split_half2(spline(axis, sample, coarse), spline(axis, sample, coarse + 1));
}

/* The result column, of the warp's 32, that is row `row` (0 .. 15) of the weights of `part` (0, 1).
 * A thread gets two columns of each half of a part from the last product. In this order its four
 * columns of a part are consecutive; with `wide`, its eight of both parts. */
__device__ inline int column_of(int part, int row, bool wide)
{
  const int n = row % 8, half = row / 8;

  return wide ? n / 2 * 8 + 4 * part + 2 * half + n % 2 : 16 * part + n / 2 * 4 + 2 * half + n % 2;
}

/* A thread's coarse samples of a channel, as right matrices: a pair of columns of rows g and g + 8,
 * g = lane / 4; x is fp16, y the residuals. */
struct Coarse {
  uint2 row[2];
};

/* The weights of a part's 16 columns, and where its coarse samples are in shared memory. Columns
 * are those of the plane's axis; or, of packed 4:2:2, every `step`-th column from `offset` on of
 * luma's axis, which has the same coarse samples. */
struct RowWeights {
  int pair, last;   /* the thread's pair of coarse columns, and the last one in shared memory */
  uint2 weights[2]; /* of rows g and g + 8 of the matrix; fp16 and residuals */

  template <int C>
  __device__ RowWeights(const U8Plane &plane, const UpsampleStack<C> &stack, int part)
      : RowWeights(plane, stack, part, plane.x, 1, 0)
  {
  }

  template <int C>
  __device__ RowWeights(const U8Plane &plane, const UpsampleStack<C> &stack, int part,
                        const U8Axis &axis, int step, int offset)
  {
    const int lane = (int)threadIdx.x % 32;
    const bool wide = C < 4 && plane.x.factor > 4;
    const int x0 = plane.x.factor > 4 ? stack.warp_x : stack.warp_x + 16 * part;

    pair = ((x0 - stack.x) >> (plane.x.factor_log2 + 1)) + lane % 4;
    last = 4 * windows_of<C>(plane) - 1;
#pragma unroll
    for (int i = 0; i < 2; i++)
      weights[i] = spline_pair(
          axis, step * (stack.warp_x + column_of(part, lane / 4 + 8 * i, wide)) + offset,
          (x0 >> plane.x.factor_log2 & ~1) - 2 + lane % 4 * 2);
  }

  template <int C> __device__ Coarse load(const SharedCoarse<C> &shared, int channel) const
  {
    const int row = (int)threadIdx.x % 32 / 4;
    const int at = min(pair, last); /* pairs beyond have weight 0, but must not be NaN */

    return {shared.sample[channel][row][at], shared.sample[channel][row + 8][at]};
  }
};

/* Results of the first product, 16 columns x 16 coarse rows, as right matrices of the second:
 * [half of the columns][half of the coarse rows]. */
struct ExpandedRows {
  uint32_t half[2][2], residual[2][2];
};

/* The first product; residuals of the results only with `WithResiduals`. */
template <bool WithResiduals>
__device__ inline void expand_rows(const RowWeights &across, const Coarse &coarse,
                                   ExpandedRows &expanded)
{
  const uint2(&weights)[2] = across.weights;
  const uint32_t half[4] = {weights[0].x, weights[1].x, weights[0].x, weights[1].x};
  const uint32_t residual[4] = {weights[0].y, weights[1].y, weights[0].y, weights[1].y};

#pragma unroll
  for (int r = 0; r < 2; r++) {
    float sum[4] = {};

    mma_f32(sum, half, coarse.row[r].x, coarse.row[r].y);
    mma_f32(sum, residual, coarse.row[r].x, coarse.row[r].y);
#pragma unroll
    for (int i = 0; i < 2; i++) {
      if (WithResiduals) {
        const uint2 split = split_half2(sum[2 * i], sum[2 * i + 1]);

        expanded.half[i][r] = split.x;
        expanded.residual[i][r] = split.y;
      } else {
        expanded.half[i][r] = pack_half2(sum[2 * i], sum[2 * i + 1]);
      }
    }
  }
}

} // namespace cf::pyramid
