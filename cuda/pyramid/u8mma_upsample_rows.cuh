/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The cubic B-spline, and how a warp enlarges coarse samples along rows by it.
 */
#pragma once

#include "cuda/pyramid/u8mma_coarse_filter_columns.cuh"

namespace cf::pyramid
{

/* The cubic B-spline of a sample from a coarse one, D samples apart. */
__device__ inline float spline(const U8Axis &axis, int sample, int coarse)
{
  const int halves = 2 * (sample - (coarse << axis.factor_log2)) - (axis.factor - 1);
  const float distance = fabsf((float)halves * (0.5f * axis.cell));
  const float beyond = fmaxf(2.0f - distance, 0.0f);

  return distance < 1.0f
             ? (4.0f - 6.0f * distance * distance + 3.0f * distance * distance * distance) *
                   (1.0f / 6)
             : beyond * beyond * beyond * (1.0f / 6);
}

/* Weights of two coarse samples next to each other: as fp16 numbers and their residuals. Not
 * inlined: to fetch the instructions would take longer. */
static __device__ __noinline__ uint2 weigh(const U8Axis &axis, int sample, int coarse)
{
  return split_half2(spline(axis, sample, coarse), spline(axis, sample, coarse + 1));
}

/* The column of a tile that row `row` of product `part` stands for. Of the results of the last
 * product a thread has two columns of either half of these rows: so its four columns, or with
 * `wide` its eight of both parts, lie next to each other. */
__device__ inline int column_of(int part, int row, bool wide)
{
  const int n = row % 8, half = row / 8;

  return wide ? n / 2 * 8 + 4 * part + 2 * half + n % 2 : 16 * part + n / 2 * 4 + 2 * half + n % 2;
}

/* 16 coarse rows of a channel for a thread: two columns of rows g and g + 8. */
struct Coarse {
  uint2 row[2];
};

/* Weights along rows of a part's 16 columns, and where its coarse samples are: of columns as the
 * plane's, or of every second one of another axis, from `offset` on, whose coarse samples are as
 * many. */
struct AcrossRows {
  int pair, last;   /* of coarse columns */
  uint2 weights[2]; /* of columns g and g + 8 */

  template <int C>
  __device__ AcrossRows(const U8Plane &plane, const UpsampleStack<C> &stack, int part)
      : AcrossRows(plane, stack, part, plane.x, 1, 0)
  {
  }

  template <int C>
  __device__ AcrossRows(const U8Plane &plane, const UpsampleStack<C> &stack, int part,
                        const U8Axis &axis, int step, int offset)
  {
    const int lane = (int)threadIdx.x % 32;
    const bool wide = C < 4 && plane.x.factor > 4;
    const int x0 = plane.x.factor > 4 ? stack.warp_x : stack.warp_x + 16 * part;

    pair = ((x0 - stack.x) >> (plane.x.factor_log2 + 1)) + lane % 4;
    last = 4 * windows_of<C>(plane) - 1;
#pragma unroll
    for (int i = 0; i < 2; i++)
      weights[i] =
          weigh(axis, step * (stack.warp_x + column_of(part, lane / 4 + 8 * i, wide)) + offset,
                (x0 >> plane.x.factor_log2 & ~1) - 2 + lane % 4 * 2);
  }

  template <int C> __device__ Coarse load(const SharedCoarse<C> &shared, int channel) const
  {
    const int row = (int)threadIdx.x % 32 / 4;
    const int at = min(pair, last); /* what lies beyond has no share, but must be a number */

    return {shared.sample[channel][row][at], shared.sample[channel][row + 8][at]};
  }
};

/* Results of the first product: 16 columns x 16 coarse rows, as right matrices of the second; of
 * either half of the columns. */
struct Middle {
  uint32_t half[2][2], residual[2][2];
};

template <bool Exact>
__device__ inline void expand_rows(const AcrossRows &across, const Coarse &coarse, Middle &middle)
{
  const uint2(&weights)[2] = across.weights;
  const uint32_t main[4] = {weights[0].x, weights[1].x, weights[0].x, weights[1].x};
  const uint32_t left[4] = {weights[0].y, weights[1].y, weights[0].y, weights[1].y};

#pragma unroll
  for (int r = 0; r < 2; r++) {
    float sum[4] = {};

    mma_f32(sum, main, coarse.row[r].x, coarse.row[r].y);
    mma_f32(sum, left, coarse.row[r].x, coarse.row[r].y);
#pragma unroll
    for (int i = 0; i < 2; i++) {
      if (Exact) {
        const uint2 split = split_half2(sum[2 * i], sum[2 * i + 1]);

        middle.half[i][r] = split.x;
        middle.residual[i][r] = split.y;
      } else {
        middle.half[i][r] = pack_half2(sum[2 * i], sum[2 * i + 1]);
      }
    }
  }
}

} // namespace cf::pyramid
