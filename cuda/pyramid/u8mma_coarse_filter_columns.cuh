/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The coarse samples of a CTA that upsamples: what its columns and rows read, and the
 * coarse filter along columns that makes it.
 */
#pragma once

#include "cuda/pyramid/u8mma_taps.cuh"

namespace cf::pyramid
{

template <int C> __device__ inline int warp_columns(const U8Plane &plane)
{
  return C == 4 ? kUpsampleColumns : kUpsampleColumns * column_groups(C, plane.x.factor);
}

/* A CTA's columns and tiles. */
template <int C> struct UpsampleStack {
  int x, warp_x;  /* of the CTA and of the warp */
  int top;        /* the first tile that its coarse rows are enough for */
  int first, end; /* those to make */

  /* 2^`shares` CTAs share the tiles below each other. */
  __device__ UpsampleStack(const U8Plane &plane, int cta, int shares)
  {
    const int own = warp_columns<C>(plane), all = own * kWarps;
    const int across = (plane.width + all - 1) / all;
    const int tiles = stack_tiles(plane.y.factor);
    const int number = cta / across, share = number & ((1 << shares) - 1);

    x = cta % across * all;
    warp_x = x + (int)threadIdx.x / 32 * own;
    top = (plane.first / 16 / tiles + (number >> shares)) * tiles;
    first = max(top + (share * tiles >> shares), plane.first / 16);
    end = min(top + ((share + 1) * tiles >> shares), (plane.end + 15) / 16);
  }
};

/* Of columns: what D = 4 needs, and no bank is asked twice. */
template <int C> constexpr int kCoarsePairs = C == 4 ? 20 : 36;

/* Of 16 rows, two columns a word: fp16 numbers and their residuals. */
template <int C> struct SharedCoarse {
  alignas(16) uint2 sample[C][16][kCoarsePairs<C>];
};

/* Of 8 columns, for a CTA. */
template <int C> __device__ inline int windows_of(const U8Plane &plane)
{
  return (((warp_columns<C>(plane) * kWarps) >> plane.x.factor_log2) + 4 + 7) / 8;
}

/* Adds the taps along columns of the chunks from `first` to `end` to sums of windows, of which
 * a thread reads the first from `column` on, each next one `step` samples further: with one address
 * for all there are half as many instructions. Loads for some chunks are on the way together. */
template <int C, int Windows, int Chunks>
__device__ inline void sum_windows(const U8Plane &plane, const UpsampleStack<C> &stack,
                                   const SharedTaps &taps, const uint2 *column, int step, int first,
                                   int end, float (&sum)[Windows][4])
{
  const U8Axis &axis = plane.y;
  const int lane = (int)threadIdx.x % 32;
  const int wanted =
      axis.decimation2 * ((16 * stack.top >> axis.factor_log2) - 2) + axis.taps_first;
  const int skipped = wanted & 1, pair = (wanted - skipped - plane.coarse_x_first) / 2 + lane % 4;

#pragma unroll 1
  for (; first < end; first += Chunks) {
    uint2 sample[Chunks][Windows][2];

#pragma unroll
    for (int c = 0; c < Chunks; c++) {
#pragma unroll
      for (int r = 0; r < 2; r++) {
        const int row = min(max(pair + 8 * (first + c) + 4 * r, 0), plane.row_pairs - 1);
        const uint2 *const from = column + row * plane.columns;

#pragma unroll
        for (int i = 0; i < Windows; i++)
          sample[c][i][r] = __ldcg(from + step * i);
      }
    }
#pragma unroll
    for (int c = 0; c < Chunks; c++) {
      if (c > 0 && first + c >= end)
        break;
      const TapMatrix<2> matrix(taps, axis.decimation2, first + c, skipped);

#pragma unroll
      for (int i = 0; i < Windows; i++)
        matrix.multiply(sum[i], sample[c][i][0], sample[c][i][1]);
    }
  }
}

/* The column of `coarse_x` with which a CTA begins. */
template <int C>
__device__ inline int first_column(const U8Plane &plane, const UpsampleStack<C> &stack)
{
  return (stack.x >> plane.x.factor_log2) - 2 - plane.x.coarse_first;
}

/* Where a thread reads of a channel, from a column of `coarse_x` on. */
__device__ inline const uint2 *address_in_coarse_x(const U8Plane &plane, int channel, int column)
{
  return plane.coarse_x + (size_t)channel * plane.row_pairs * plane.columns + column +
         (int)threadIdx.x % 32 / 4;
}

/* 16 rows by 8 columns. */
template <int C>
__device__ inline void store_window(SharedCoarse<C> &shared, int channel, int window,
                                    const float (&sum)[4])
{
  const int lane = (int)threadIdx.x % 32, at = 4 * window + lane % 4;

  if (at < kCoarsePairs<C>) {
    shared.sample[channel][lane / 4][at] = split_half2(sum[0], sum[1]);
    shared.sample[channel][lane / 4 + 8][at] = split_half2(sum[2], sum[3]);
  }
}

/* Each warp makes some windows next to each other of a channel, of which `Stored` are in memory.
 * The last of them may lie beyond all columns, where other numbers are, that of `fine` at the end.
 */
template <int C, int Stored, int Windows, int Chunks>
__device__ inline void share_windows(const U8Plane &plane, const UpsampleStack<C> &stack,
                                     const SharedTaps &taps, SharedCoarse<C> &shared)
{
  constexpr int kSharing = kWarps / C; /* warps that share a channel */
  const int warp = (int)threadIdx.x / 32, channel = warp / kSharing;
  const int first = warp % kSharing * Windows;
  const int column = first_column(plane, stack) + 8 * first;
  float sum[Windows][4] = {};

  if (column >= plane.columns || channel >= Stored)
    return;
  sum_windows<C, Windows, Chunks>(plane, stack, taps, address_in_coarse_x(plane, channel, column),
                                  8, 0, plane.y.chunks, sum);
#pragma unroll
  for (int i = 0; i < Windows; i++)
    store_window<C>(shared, channel, first + i, sum[i]);
}

/* What a thread has of a warp's sums of a window, behind where that window is stored. */
template <int C>
__device__ inline float4 &sums_of_warp(SharedCoarse<C> &shared, int channel, int warp)
{
  const int lane = (int)threadIdx.x % 32;

  return *(float4 *)&shared.sample[channel][lane / 2][4 + 4 * warp + lane % 2 * 2];
}

/* Where there is one window of each channel, and many chunks, the warps share these. */
template <int C, int Stored, int Chunks>
__device__ inline void share_window(const U8Plane &plane, const UpsampleStack<C> &stack,
                                    const SharedTaps &taps, SharedCoarse<C> &shared)
{
  const int warp = (int)threadIdx.x / 32, chunks = plane.y.chunks;
  const uint2 *const column = address_in_coarse_x(plane, 0, first_column(plane, stack));
  float sum[Stored][4] = {};

  sum_windows<C, Stored, Chunks>(plane, stack, taps, column, plane.row_pairs * plane.columns,
                                 warp * chunks / kWarps, (warp + 1) * chunks / kWarps, sum);
#pragma unroll
  for (int i = 0; i < Stored; i++)
    sums_of_warp(shared, i, warp) = make_float4(sum[i][0], sum[i][1], sum[i][2], sum[i][3]);
  __syncthreads();
  if (warp < Stored) {
    float all[4] = {};

#pragma unroll
    for (int i = 0; i < kWarps; i++) {
      const float4 some = sums_of_warp(shared, warp, i);

      all[0] += some.x;
      all[1] += some.y;
      all[2] += some.z;
      all[3] += some.w;
    }
    store_window<C>(shared, warp, 0, all);
  }
}

template <int C, int Stored>
__device__ inline void share_coarse(const U8Plane &plane, const UpsampleStack<C> &stack,
                                    const SharedTaps &taps, SharedCoarse<C> &shared)
{
  constexpr int kSharing = kWarps / C; /* warps that share a channel */
  const int windows = windows_of<C>(plane), own = (windows + kSharing - 1) / kSharing;

  if (windows == 1)
    share_window<C, Stored, C == 4 ? 3 : 5>(plane, stack, taps, shared);
  else if (own == 1)
    share_windows<C, Stored, 1, 6>(plane, stack, taps, shared);
  else if (own == 2)
    share_windows<C, Stored, 2, 4>(plane, stack, taps, shared);
  else if (own == 3)
    share_windows<C, Stored, 3, 3>(plane, stack, taps, shared);
  else
    share_windows<C, Stored, 5, 2>(plane, stack, taps, shared);
}

} // namespace cf::pyramid
