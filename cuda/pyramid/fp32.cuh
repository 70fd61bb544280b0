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

/* Added before rounding down. The excess over 1/2 is above the rounding errors of the sums, so that
 * exact ties, of which regular patterns have many, are always rounded up. */
constexpr float kRoundHalf = 0.5f + 1.0f / 2048;

/* The first of the four coarse samples that a result reads, relative to x div D; `p` is x mod D. */
__device__ inline int spline_first(int factor, int p)
{
  return factor == 1 ? 0 : 2 * p < factor ? -2 : -1;
}

/* Adds 4 consecutive samples to 4 consecutive outputs. `taps` are those of the samples in the first
 * output, `before` the 4 taps before these. */
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

/* Copies the coarse filter's taps to shared memory, behind 4 zeros. Ends with a barrier. */
__device__ inline void stage_taps(const Fp32Axis &axis, float *shared)
{
  for (int i = (int)threadIdx.x; i < 4 + 4 * axis.taps_groups; i += kThreads)
    shared[i] = i < 4 ? 0.0f : axis.taps[i - 4];
  __syncthreads();
}

/* By the size of samples: a word of four, the type of `decimated_y`, and the prefilter's span. The
 * error of fp16 in `decimated_y`, up to 0.06 codes of 255, is averaged out by the prefilter along
 * rows. */
template <typename Sample> struct Fp32Types;

template <> struct Fp32Types<uint8_t> {
  typedef uint32_t Word;
  typedef __half Store;
  static constexpr int kSpan = kPrefilterSpan8;
};

template <> struct Fp32Types<uint16_t> {
  typedef uint2 Word;
  typedef float Store;
  static constexpr int kSpan = kPrefilterSpan16;
};

/* Without decimation the only prefilter tap is 1. */
template <typename Sample, int D>
constexpr int kPrefilterSpan = D == 1 ? 1 : Fp32Types<Sample>::kSpan;

} // namespace cf::pyramid
