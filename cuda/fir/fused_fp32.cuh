/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Separable filter in single precision: all formats, borders and kernels that fit shared memory,
 * one launch, one read, one write.
 *
 * A block of threads marches down a strip, 16 rows a step: their samples become floats in shared
 * memory, the row filter puts its sums into a ring of rows, and the column filter takes 16 rows of
 * output from the ring. A thread computes 8 neighbouring sums at a time, so that each sample it
 * loads serves 8 products, with the taps in a sliding window of registers.
 */
#pragma once

#include "cuda/fir/types.cuh"

constexpr int kPlainThreads = 256;
constexpr int kPlainWarps = kPlainThreads / 32;
constexpr int kPlainStep = 16;   /* rows */
constexpr int kPlainOutputs = 8; /* of a thread and pass */
constexpr int kPlainMaxTaps = CF_MAX_TAPS + 1;
constexpr int kPlainTapSlots =
    kPlainMaxTaps + kPlainOutputs; /* a multiple of 8, zeros behind the last tap */

struct CfPlainStrip {
  int first_block;               /* of the grid */
  int across;                    /* strips side by side */
  int rows;                      /* of a strip, a multiple of kPlainStep */
  int row_groups, column_groups; /* of 8 taps, with those that only shifted outputs need */
};

struct CfPlainJob {
  CfFirWork plane[CF_MAX_PLANES];
  CfPlainStrip strip[CF_MAX_PLANES];
  int planes;
  float row[2][kPlainTapSlots], column[2][kPlainTapSlots];
};

/* Shared memory of one block, in floats. Row strides are 1 modulo 32: then the 8 rows by 4 groups
 * of 8 pixels that a warp filters lie in 32 different banks, and so do neighbouring pixels. */
template <int C> struct CfPlainLayout {
  static constexpr int kPixels = C >= 3 ? 32 : 128 / C; /* width of a strip */
  static constexpr int kRingStride = kPixels + 1;

  int input_pixels, input_stride, ring_rows;

  __host__ __device__ CfPlainLayout(const CfPlainStrip &strip)
  {
    input_pixels = kPixels - kPlainOutputs + strip.row_groups * kPlainOutputs;
    input_stride = (input_pixels + 30) / 32 * 32 + 1;
    ring_rows = lag(strip) * kPlainStep;
  }

  /* Steps of rows that one step of output needs. */
  __host__ __device__ static int lag(const CfPlainStrip &strip)
  {
    return (strip.column_groups + 2) / 2;
  }

  __host__ __device__ int input_floats() const
  {
    return C * kPlainStep * input_stride;
  }

  __host__ __device__ int ring_floats() const
  {
    return C * ring_rows * kRingStride;
  }

  /* A multiple of 16 bytes. */
  __host__ __device__ int output_offset() const
  {
    return (input_floats() + ring_floats() + 3) / 4 * 4;
  }

  /* Output of a step: sums where alpha is to divide them, else samples of up to 2 bytes. Then the
   * column of the source that each input pixel reads. */
  __host__ __device__ size_t bytes() const
  {
    return sizeof(float) * ((size_t)output_offset() + kPlainStep * kPixels * C) +
           sizeof(int) * (size_t)input_pixels;
  }
};
