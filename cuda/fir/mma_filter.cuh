/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The matrix products of the filter: taps as Toeplitz matrices, row sums, column sums.
 */
#pragma once

#include "cuda/fir/mma_shape.cuh"

namespace cf::fir
{

/* The accumulators of 16 pixels x 16 rows: two fragments, for picture rows 0..7 and 8..15. In each
 * a thread holds two rows of two pixels: [0] and [1] are the rows of the first, [2] and [3] of the
 * second. */
typedef float MmaSums[2][4];

/* ---- Toeplitz matrices ---- */

/* The fp16 taps number `tap` and tap + 1. Tap 0 is the first that a tile may have; numbers down to
 * -kTapMargin are zeros. */
__device__ inline uint32_t tap_pair(const uint32_t *taps, int tap)
{
  const uint16_t *halves = (const uint16_t *)taps + kTapMargin + tap;

  return halves[0] | (uint32_t)halves[1] << 16;
}

__device__ inline uint32_t tap_pair(const volatile uint32_t *taps, int tap)
{
  const volatile uint16_t *halves = (const volatile uint16_t *)taps + kTapMargin + tap;

  return halves[0] | (uint32_t)halves[1] << 16;
}

/* A thread's elements of the Toeplitz matrices of both directions. The rows of the row matrices,
 * which are output pixels, are permuted so that a thread's two pixels are neighbours. */
template <int TapTiles> class ToeplitzMatrices
{
  uint32_t words[6 * TapTiles + 1];

public:
  __device__ ToeplitzMatrices(const uint32_t *row_taps, const uint32_t *column_taps)
  {
    const int lane = threadIdx.x & 31, g = lane >> 2, q = lane & 3;

#pragma unroll
    for (int i = 0; i < 2 * TapTiles; i++) {
      words[i] = tap_pair(row_taps, 8 * i + 2 * q - 2 * g);
      words[2 * TapTiles + i] = tap_pair(row_taps, 8 * i + 2 * q - 2 * g - 1);
    }
#pragma unroll
    for (int i = 0; i <= 2 * TapTiles; i++)
      words[4 * TapTiles + i] = tap_pair(column_taps, 8 * (i - 1) + 2 * q - g);
  }

  /* The left matrix of row product `tile`: rows are output pixels, columns input pixels. */
  __device__ void row_operand(int tile, uint32_t (&left)[4]) const
  {
    left[0] = words[2 * tile];
    left[1] = words[2 * TapTiles + 2 * tile];
    left[2] = words[2 * tile + 1];
    left[3] = words[2 * TapTiles + 2 * tile + 1];
  }

  /* The right matrix of column product `tile`: rows are input rows, columns the upper or `lower`
   * eight output rows. */
  __device__ void column_operand(int tile, bool lower, uint32_t (&right)[2]) const
  {
    const int first = 4 * TapTiles + 2 * tile + !lower;

    right[0] = words[first];
    right[1] = words[first + 1];
  }
};

/* A thread's elements of the row matrices of chroma in packed 4:2:2. Their rows are not permuted: a
 * thread has pixels 8 apart, the chroma of the lumas that it has in two neighbouring blocks. */
template <int TapTiles> class ChromaMatrices
{
  uint32_t words[2 * TapTiles + 1];

public:
  __device__ ChromaMatrices(const uint32_t *taps)
  {
    const int lane = threadIdx.x & 31, g = lane >> 2, q = lane & 3;

#pragma unroll
    for (int i = 0; i <= 2 * TapTiles; i++)
      words[i] = tap_pair(taps, 8 * (i - 1) + 2 * q - g);
  }

  __device__ void row_operand(int tile, uint32_t (&left)[4]) const
  {
    left[0] = left[3] = words[2 * tile + 1];
    left[1] = words[2 * tile];
    left[2] = words[2 * tile + 2];
  }
};

/* A thread's elements of the matrices of one direction, for warps that filter only one. The
 * operands of an mma must be in consecutive registers; a word that is the second of one operand and
 * the first of another is therefore held twice, instead of being moved before each product. Taps
 * are read as volatile so that the compiler does not merge the two copies. */
template <int TapTiles> class OneToeplitzMatrix
{
  uint32_t words[TapTiles][4];

public:
  /* The filter: rows (of luma, where chroma has its own), columns, rows of chroma. */
  enum Kind { kRows, kColumns, kChromaRows };

  __device__ OneToeplitzMatrix(const uint32_t *taps, Kind kind)
  {
    const int lane = threadIdx.x & 31, g = lane >> 2, q = lane & 3;
    const int first = 2 * q - (kind == kRows ? 2 * g : kind == kColumns ? g + 8 : g);
    const int second = kind == kRows ? -1 : kind == kColumns ? 8 : -8;
    const volatile uint32_t *volatile_taps = taps + kind * kTapPairs;

#pragma unroll
    for (int tile = 0; tile < TapTiles; tile++) {
#pragma unroll
      for (int i = 0; i < 4; i++)
        words[tile][i] = tap_pair(volatile_taps, first + 16 * tile + i / 2 * 8 + i % 2 * second);
    }
  }

  __device__ void row_operand(int tile, uint32_t (&left)[4]) const
  {
#pragma unroll
    for (int i = 0; i < 4; i++)
      left[i] = words[tile][i];
  }

  __device__ void column_operand(int tile, bool lower, uint32_t (&right)[2]) const
  {
    right[0] = words[tile][lower ? 0 : 2];
    right[1] = words[tile][lower ? 1 : 3];
  }
};

/* Copies the taps of set `set` to shared memory: rows, columns and, of packed 4:2:2, rows of
 * chroma. By all threads of a CTA; a barrier must follow. */
template <typename Shape>
__device__ inline void copy_taps(const MmaJob &job, int set, uint32_t *taps)
{
  for (int i = threadIdx.x; i < Shape::kTapKinds * kTapPairs; i += Shape::kThreads)
    taps[i] = job.taps[set + i / (2 * kTapPairs)][i / kTapPairs % 2][i % kTapPairs];
}

/* ---- rows ---- */

/* Row sums as the left matrix of column products: no data moves between threads. */
__device__ inline uint4 pack_fp16(const MmaSums &s)
{
  return make_uint4(pack_half2(s[0][0], s[0][1]), pack_half2(s[0][2], s[0][3]),
                    pack_half2(s[1][0], s[1][1]), pack_half2(s[1][2], s[1][3]));
}

/* Adds the row sums of `Blocks` blocks of 16 pixels by 16 rows, from `pixel` of the strip on, of
 * the `Channels` fp16 planes at shared memory address `planes`. */
template <typename Strip, typename Matrices, int Blocks, int Channels>
__device__ inline void sum_rows(const Matrices &matrices, uint32_t planes, int pixel,
                                MmaSums (&sums)[Blocks][Channels])
{
  constexpr int kTapTiles = Strip::kTapTiles;
  const int lane = threadIdx.x & 31;
  const int first = Strip::kHalo - Strip::kRadius + pixel + (lane >> 3 & 1) * 8;
  const uint32_t from = planes + ((lane & 7) + (lane >> 4) * 8) * Strip::kStride + first * 2;

#pragma unroll
  for (int k = 0; k < Blocks + kTapTiles - 1; k++) {
#pragma unroll
    for (int c = 0; c < Channels; c++) {
      uint32_t data[4];
      ldmatrix_x4(data, from + c * Strip::kPlaneBytes + k * 32);
#pragma unroll
      for (int b = 0; b < Blocks; b++) {
        const int tile = k - b;
        if (tile >= 0 && tile < kTapTiles) {
          uint32_t left[4];
          matrices.row_operand(tile, left);
          mma_f32(sums[b][c][0], left, data[0], data[1]);
          mma_f32(sums[b][c][1], left, data[2], data[3]);
        }
      }
    }
  }
}

/* Filters rows as sum_rows() does; the results are left matrices of column products. */
template <typename Strip, typename Matrices, int Blocks, int Channels>
__device__ inline void filter_rows(const Matrices &matrices, uint32_t planes, int pixel,
                                   uint4 (&rows)[Blocks][Channels])
{
  MmaSums sums[Blocks][Channels] = {};

  sum_rows<Strip>(matrices, planes, pixel, sums);
#pragma unroll
  for (int b = 0; b < Blocks; b++) {
#pragma unroll
    for (int c = 0; c < Channels; c++)
      rows[b][c] = pack_fp16(sums[b][c]);
  }
}

/* Filters the rows of 16 macropixels: two blocks of luma and one of each chroma. */
template <typename Strip, typename Matrices, typename Chroma>
__device__ inline void filter_macropixel_rows(const Matrices &matrices, const Chroma &chroma,
                                              uint32_t planes, int pixel, uint4 (&rows)[1][4])
{
  uint4 luma[2][1], chromas[1][2];

  filter_rows<Strip>(matrices, planes + 2 * Strip::kHalo, 2 * pixel, luma);
  filter_rows<Strip>(chroma, planes + 2 * Strip::kPlaneBytes, pixel, chromas);
  rows[0][0] = luma[0][0];
  rows[0][1] = luma[1][0];
  rows[0][2] = chromas[0][0];
  rows[0][3] = chromas[0][1];
}

/* ---- columns ---- */

/* Adds the product of 16 filtered rows with column matrix `tile`: number `tile` of the groups of 16
 * rows that the result reads. */
template <typename Matrices>
__device__ inline void add_column_product(const Matrices &matrices, int tile, const uint4 &rows,
                                          MmaSums &sums)
{
  const uint32_t left[4] = {rows.x, rows.y, rows.z, rows.w};

#pragma unroll
  for (int half = 0; half < 2; half++) {
    uint32_t right[2];
    matrices.column_operand(tile, half, right);
    mma_f32(sums[half], left, right[0], right[1]);
  }
}

} // namespace cf::fir
