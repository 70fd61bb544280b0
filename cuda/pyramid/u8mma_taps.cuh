/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The taps of the coarse filter as left matrices of products: 16 outputs, D2 samples apart, by 16
 * samples. Samples and taps are split into an fp16 number and its fp16 residual. Of the four
 * products of these that of the residuals is left out; sums are as accurate as in single precision.
 */
#pragma once

#include "cuda/pyramid/u8mma.cuh"

namespace cf::pyramid
{

/* Zeros before the taps in shared memory; after them there are 16 more. */
__host__ __device__ constexpr int zeros_before_taps(int decimation2)
{
  return 16 * decimation2 + 4;
}

/* Word i is the pair of taps i - zeros_before_taps() and the next one: pairs overlap, so that a
 * matrix may begin with any tap. */
struct SharedTaps {
  static constexpr int kPairs = 2 * zeros_before_taps(kU8MaxDecimation2) + kU8MaxTaps + 16;

  uint32_t half[kPairs], residual[kPairs];
};

__device__ inline uint32_t tap_of(const U8Taps &taps, int count, int i)
{
  return i >= 0 && i < count ? taps.tap[min(i, count - 1 - i)] : 0;
}

/* Copies the taps to shared memory; a barrier must follow. Not inlined, so that the compiler does
 * not see that the taps are kernel parameters: lanes that read different addresses of the constant
 * bank are served one after the other. */
static __device__ __noinline__ void stage_taps(const U8Axis &axis, const U8Taps &taps,
                                               uint32_t *half, uint32_t *residual)
{
  const int before = zeros_before_taps(axis.decimation2);

  for (int i = (int)threadIdx.x; i < 2 * before + axis.coarse_taps_count + 16; i += kThreads) {
    const uint32_t first = tap_of(taps, axis.coarse_taps_count, i - before);
    const uint32_t second = tap_of(taps, axis.coarse_taps_count, i - before + 1);

    half[i] = __byte_perm(first, second, 0x5410);
    residual[i] = __byte_perm(first, second, 0x7632);
  }
}

/* The taps of one product, for the 16 samples from number 16 chunk - skipped on, counted from the
 * one that the first tap of the first output reads. A thread has runs of `Run` consecutive samples:
 * any order of samples will do, if taps have the same. */
template <int Run> struct TapMatrix {
  uint32_t half[4], residual[4];

  __device__ TapMatrix(const SharedTaps &taps, int decimation2, int chunk, int skipped)
  {
    const int lane = (int)threadIdx.x % 32;
    const int first = zeros_before_taps(decimation2) + 16 * chunk - skipped + lane % 4 * Run -
                      decimation2 * (lane / 4);

#pragma unroll
    for (int i = 0; i < 4; i++) {
      const int at = first + i / 2 * (Run == 2 ? 8 : 2) - i % 2 * 8 * decimation2;

      half[i] = taps.half[at];
      residual[i] = taps.residual[at];
    }
  }

  /* Adds the product with 16 samples: b0 and b1 are a thread's pairs, fp16 in x, residuals in y. */
  __device__ void multiply(float (&sum)[4], const uint2 &b0, const uint2 &b1) const
  {
    mma_f32(sum, half, b0.x, b1.x);
    mma_f32(sum, half, b0.y, b1.y);
    mma_f32(sum, residual, b0.x, b1.x);
  }
};

/* A pair of numbers as fp16 in x, and as the fp16 residuals in y. */
__device__ inline uint2 split_half2(float low, float high)
{
  const uint32_t pair = pack_half2(low, high);
  const __half2 halves = as_half2(pair);

  return make_uint2(pair, pack_half2(low - __low2float(halves), high - __high2float(halves)));
}

} // namespace cf::pyramid
