/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What the kernels of the fp32 pyramid share.
 */
#pragma once

#include "cuda/common/border.cuh"
#include "cuda/common/launch.cuh"
#include "cuda/common/pdl.cuh"
#include "cuda/pyramid/fp32.h"
#include "cuda/pyramid/tuning.h"

#include <cuda_fp16.h>

namespace cf::pyramid
{

/* What is added before rounding down. The little more than 1/2 turns exact halves up in spite of
 * rounding errors: regular patterns have many. */
constexpr float kRoundHalf = 0.5f + 1.0f / 2048;

/* The first coarse sample that phase `p` reads, from that of its cell. */
__device__ inline int spline_first(int factor, int p)
{
  return factor == 1 ? 0 : 2 * p < factor ? -2 : -1;
}

/* 4 samples into 4 sums that lie one sample apart; the taps and the 4 before them. */
__device__ inline void accumulate(float (&sum)[4], const float (&sample)[4], const float4 &before,
                                  const float4 &taps)
{
  const float tap[8] = {before.x, before.y, before.z, before.w, taps.x, taps.y, taps.z, taps.w};

#pragma unroll
  for (int i = 0; i < 4; i++) {
#pragma unroll
    for (int o = 0; o < 4; o++)
      sum[o] = fmaf(sample[i], tap[4 + i - o], sum[o]);
  }
}

/* The taps of the coarse filter after 4 zeros, in shared memory. Ends with a barrier. */
__device__ inline void share_taps(const Fp32Axis &axis, float *shared)
{
  for (int i = (int)threadIdx.x; i < 4 + 4 * axis.taps_groups; i += kThreads)
    shared[i] = i < 4 ? 0.0f : axis.taps[i - 4];
  __syncthreads();
}

/* What follows the samples' size: the type of the samples between columns and rows. Halves cost up
 * to 0.06 codes of 255 each, of which the row prefilter leaves next to nothing. */
template <typename Sample> struct Fp32Types;

template <> struct Fp32Types<uint8_t> {
  typedef uint32_t Word;
  typedef __half Store;
  static constexpr int kCells = kPrefilterSpan8;
};

template <> struct Fp32Types<uint16_t> {
  typedef uint2 Word;
  typedef float Store;
  static constexpr int kCells = kPrefilterSpan16;
};

/* Without decimation the only prefilter tap is 1. */
template <typename Sample, int D>
constexpr int kPrefilterSpan = D == 1 ? 1 : Fp32Types<Sample>::kCells;

} // namespace cf::pyramid
