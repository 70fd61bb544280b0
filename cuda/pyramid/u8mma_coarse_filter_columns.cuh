/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The coarse filter along columns, which the upsampling CTAs compute for themselves: each makes the
 * 16 coarse rows that its stack of tiles reads, in shared memory.
 */
#pragma once

#include "cuda/pyramid/u8mma_taps.cuh"

namespace cf::pyramid
{

template <int C> __device__ inline int warp_columns(const U8Plane &plane)
{
  return C == 4 ? kUpsampleColumns : kUpsampleColumns * column_groups(C, plane.x.factor);
}

/* The result columns of a CTA and of this warp, and the CTA's stack of tiles, counted from the top
 * of the picture. */
template <int C> struct UpsampleStack {
  int x, warp_x;  /* first columns */
  int top;        /* first tile of the stack */
  int first, end; /* tiles to make */

  /* 2^split_log2 CTAs divide the tiles of a stack. */
  __device__ UpsampleStack(const U8Plane &plane, int cta, int split_log2)
  {
    const int own = warp_columns<C>(plane), all = own * kWarps;
    const int across = (plane.width + all - 1) / all;
    const int tiles = stack_tiles(plane.y.factor);
    const int number = cta / across, part = number & ((1 << split_log2) - 1);

    x = cta % across * all;
    warp_x = x + (int)threadIdx.x / 32 * own;
    top = (plane.first / 16 / tiles + (number >> split_log2)) * tiles;
    first = max(top + (part * tiles >> split_log2), plane.first / 16);
    end = min(top + ((part + 1) * tiles >> split_log2), (plane.end + 15) / 16);
  }
};

/* Pairs of coarse columns in shared memory: enough for D = 4, and without bank conflicts. */
template <int C> constexpr int kCoarsePairs = C == 4 ? 20 : 36;

/* A CTA's coarse samples, [channel][row][pair of columns]: x is a pair of fp16 numbers, y of their
 * residuals. */
template <int C> struct SharedCoarse {
  alignas(16) uint2 sample[C][16][kCoarsePairs<C>];
};

/* Windows of 8 coarse columns that a CTA needs; a window is the width of a matrix product. */
template <int C> __device__ inline int windows_of(const U8Plane &plane)
{
  return (((warp_columns<C>(plane) * kWarps) >> plane.x.factor_log2) + 4 + 7) / 8;
}

/* Adds the chunks first .. end - 1 of fine rows to the sums of windows, whose samples lie `step`
 * elements apart from `column` on (one base address for all windows halves the instructions).
 * The loads of `Chunks` chunks are in flight together. */
template <int C, int Windows, int Chunks>
__device__ inline void sum_windows(const U8Plane &plane, const UpsampleStack<C> &stack,
                                   const SharedTaps &taps, const uint2 *column, int step, int first,
                                   int end, float (&sum)[Windows][4])
{
  const U8Axis &axis = plane.y;
  const int lane = (int)threadIdx.x % 32;
  const int wanted =
      axis.decimation2 * ((16 * stack.top >> axis.factor_log2) - 2) + axis.coarse_taps_first;
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

/* The first column of `coarse_x` that a CTA reads. */
template <int C>
__device__ inline int first_column(const U8Plane &plane, const UpsampleStack<C> &stack)
{
  return (stack.x >> plane.x.factor_log2) - 2 - plane.x.coarse_first;
}

/* A thread's address in a channel of `coarse_x` for a window that starts at `column`. */
__device__ inline const uint2 *address_in_coarse_x(const U8Plane &plane, int channel, int column)
{
  return plane.coarse_x + (size_t)channel * plane.row_pairs * plane.columns + column +
         (int)threadIdx.x % 32 / 4;
}

/* Stores the 16 rows by 8 columns of a window. */
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

/* Each warp makes `Windows` windows side by side of one channel, of the `Stored` channels of
 * `coarse_x`. The last windows may lie beyond its columns, and read following memory, which is
 * allocated (place_memory() in u8mma_plan.cpp); these results are not used. */
template <int C, int Stored, int Windows, int Chunks>
__device__ inline void filter_windows(const U8Plane &plane, const UpsampleStack<C> &stack,
                                      const SharedTaps &taps, SharedCoarse<C> &shared)
{
  constexpr int kWarpsPerChannel = kWarps / C;
  const int warp = (int)threadIdx.x / 32, channel = warp / kWarpsPerChannel;
  const int first = warp % kWarpsPerChannel * Windows;
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

/* Shared memory for a thread's partial sums of warp `warp`: behind the only window's place. */
template <int C>
__device__ inline float4 &sums_of_warp(SharedCoarse<C> &shared, int channel, int warp)
{
  const int lane = (int)threadIdx.x % 32;

  return *(float4 *)&shared.sample[channel][lane / 2][4 + 4 * warp + lane % 2 * 2];
}

/* Where a CTA has a single window per channel, but many chunks: each warp sums some of the chunks
 * for all channels, then warp i adds up channel i. */
template <int C, int Stored, int Chunks>
__device__ inline void filter_single_window(const U8Plane &plane, const UpsampleStack<C> &stack,
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
      const float4 partial = sums_of_warp(shared, warp, i);

      all[0] += partial.x;
      all[1] += partial.y;
      all[2] += partial.z;
      all[3] += partial.w;
    }
    store_window<C>(shared, warp, 0, all);
  }
}

/* Makes all coarse samples of the CTA; a barrier must follow. */
template <int C, int Stored>
__device__ inline void make_coarse(const U8Plane &plane, const UpsampleStack<C> &stack,
                                   const SharedTaps &taps, SharedCoarse<C> &shared)
{
  constexpr int kWarpsPerChannel = kWarps / C;
  const int windows = windows_of<C>(plane);
  const int own = (windows + kWarpsPerChannel - 1) / kWarpsPerChannel;

  if (windows == 1)
    filter_single_window<C, Stored, C == 4 ? 3 : 5>(plane, stack, taps, shared);
  else if (own == 1)
    filter_windows<C, Stored, 1, 6>(plane, stack, taps, shared);
  else if (own == 2)
    filter_windows<C, Stored, 2, 4>(plane, stack, taps, shared);
  else if (own == 3)
    filter_windows<C, Stored, 3, 3>(plane, stack, taps, shared);
  else
    filter_windows<C, Stored, 5, 2>(plane, stack, taps, shared);
}

} // namespace cf::pyramid
