/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The coarse samples of a block of `up`: what its columns and rows read, and the low taps along
 * columns that make it.
 */
#pragma once

#include "pyramid_bytes_taps.cuh"

constexpr int kBytesBlockColumns = kBytesTile * kBytesWarps;

/* A block's columns and tiles. */
struct CfBytesStack {
  int x, top;     /* the first tile that its coarse rows are enough for */
  int first, end; /* those to make */

  __device__ CfBytesStack(const CfBytesPlane &plane, int block)
  {
    const int across = (plane.width + kBytesBlockColumns - 1) / kBytesBlockColumns;
    const int tiles = cf_bytes_stack(plane.y.factor);

    x = block % across * kBytesBlockColumns;
    top = (plane.first / 16 / tiles + block / across) * tiles;
    first = max(top, plane.first / 16);
    end = min(top + tiles, (plane.end + 15) / 16);
  }

  /* Of the warp. */
  __device__ int warp_x() const
  {
    return x + (int)threadIdx.x / 32 * kBytesTile;
  }
};

constexpr int kBytesCoarsePairs = 20; /* of columns: what D = 4 needs, and no bank is asked twice */

/* Of 16 rows, two columns a word: halves, and what they leave. */
template <int C> struct CfSharedCoarse {
  uint2 sample[C][16][kBytesCoarsePairs];
};

/* Of 8 columns, for a block. */
__device__ inline int cf_windows_of(const CfBytesPlane &plane)
{
  return ((kBytesBlockColumns >> plane.x.factor_log2) + 4 + 7) / 8;
}

/* The low taps along columns. A warp makes some windows of 8 columns of a channel at a time, every
 * kBytesWarps-th from `job` on, and loads for some chunks at once, so that all these loads are on
 * the way together. */
template <int C, int Windows, int Chunks>
__device__ inline void cf_share_windows(const CfBytesPlane &plane, const CfBytesStack &stack,
                                        int job, int jobs, const CfSharedTaps &taps,
                                        CfSharedCoarse<C> &shared)
{
  const CfBytesLine &line = plane.y;
  const int lane = (int)threadIdx.x % 32;
  const int wanted = line.thinning * ((16 * stack.top >> line.factor_log2) - 2) + line.low_first;
  const int spare = wanted & 1, pair = (wanted - spare - plane.rows_first) / 2 + lane % 4;
  const int column = (stack.x >> plane.x.factor_log2) - 2 - plane.x.coarse_first + lane / 4;
  const uint2 *from[Windows];
  float sum[Windows][4] = {};

#pragma unroll
  for (int i = 0; i < Windows; i++) {
    const int own = min(job + kBytesWarps * i, jobs - 1);

    from[i] = plane.rows + (size_t)(own % C) * plane.row_pairs * plane.columns +
              min(column + own / C * 8, plane.columns - 1);
  }
  for (int first = 0; first < line.chunks; first += Chunks) {
    uint2 sample[Chunks][Windows][2];

#pragma unroll
    for (int c = 0; c < Chunks; c++) {
      const int above = pair + 8 * (first + c), below = above + 4;
      const int row0 = min(max(above, 0), plane.row_pairs - 1) * plane.columns;
      const int row1 = min(max(below, 0), plane.row_pairs - 1) * plane.columns;

#pragma unroll
      for (int i = 0; i < Windows; i++) {
        if (first + c < line.chunks && job + kBytesWarps * i < jobs) {
          sample[c][i][0] = __ldcg(from[i] + row0);
          sample[c][i][1] = __ldcg(from[i] + row1);
        }
      }
    }
#pragma unroll
    for (int c = 0; c < Chunks; c++) {
      if (first + c < line.chunks) {
        const CfTapMatrix<2> matrix(taps, line.thinning, first + c, spare);

#pragma unroll
        for (int i = 0; i < Windows; i++) {
          if (job + kBytesWarps * i < jobs)
            matrix.multiply(sum[i], sample[c][i][0], sample[c][i][1]);
        }
      }
    }
  }
#pragma unroll
  for (int i = 0; i < Windows; i++) {
    const int own = job + kBytesWarps * i, at = own / C * 4 + lane % 4;

    if (own < jobs && at < kBytesCoarsePairs) {
      shared.sample[own % C][lane / 4][at] = cf_split_halves(sum[i][0], sum[i][1]);
      shared.sample[own % C][lane / 4 + 8][at] = cf_split_halves(sum[i][2], sum[i][3]);
    }
  }
}

template <int C>
__device__ inline void cf_share_coarse(const CfBytesPlane &plane, const CfBytesStack &stack,
                                       const CfSharedTaps &taps, CfSharedCoarse<C> &shared)
{
  const int jobs = cf_windows_of(plane) * C;
  const int warp = (int)threadIdx.x / 32;

  if (jobs <= kBytesWarps)
    cf_share_windows<C, 1, 8>(plane, stack, warp, jobs, taps, shared);
  else if (jobs <= 2 * kBytesWarps)
    cf_share_windows<C, 2, 4>(plane, stack, warp, jobs, taps, shared);
  else
    for (int job = warp; job < jobs; job += 3 * kBytesWarps)
      cf_share_windows<C, 3, 3>(plane, stack, job, jobs, taps, shared);
}
