/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The taps of the coarse filter as left matrices of products: 16 outputs, D2 samples
 * apart, by 16 samples a product. Samples and taps are a half and what it leaves; of the four
 * products of these the smallest is left out, so sums are as good as in single precision.
 */
#pragma once

#include "cuda/pyramid/u8mma.cuh"

namespace cf::pyramid
{

/* Zeros before the taps; after them there are 16 more. */
__host__ __device__ constexpr int zeros_before_taps(int decimation2)
{
  return 16 * decimation2 + 4;
}

/* Pair i is of taps i - zeros_before_taps() and the next. */
struct SharedTaps {
  static constexpr int kPairs = 2 * zeros_before_taps(kU8MaxDecimation2) + kU8MaxTaps + 16;

  uint32_t half[kPairs], residual[kPairs];
};

__device__ inline uint32_t tap_of(const U8Taps &taps, int count, int i)
{
  return i >= 0 && i < count ? taps.tap[min(i, count - 1 - i)] : 0;
}

/* A barrier must follow. Apart, where the compiler cannot know that the taps are constants of the
 * kernel: these are read for one thread after the other when each asks for another one. */
static __device__ __noinline__ void share_taps(const U8Axis &axis, const U8Taps &taps,
                                               uint32_t *half, uint32_t *residual)
{
  const int before = zeros_before_taps(axis.decimation2);

  for (int i = (int)threadIdx.x; i < 2 * before + axis.taps_count + 16; i += kThreads) {
    const uint32_t first = tap_of(taps, axis.taps_count, i - before);
    const uint32_t second = tap_of(taps, axis.taps_count, i - before + 1);

    half[i] = __byte_perm(first, second, 0x5410);
    residual[i] = __byte_perm(first, second, 0x7632);
  }
}

/* The taps of a product for samples from 16 `chunk` - `skipped` on, of which the first is number 0
 * of the first output. A thread has `Run` samples next to each other, of whose order in the product
 * only that the taps have the same matters. */
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

  /* Adds 16 samples' share. Of each a thread has fp16 numbers in x and their residuals in y. */
  __device__ void multiply(float (&sum)[4], const uint2 &b0, const uint2 &b1) const
  {
    mma_f32(sum, half, b0.x, b1.x);
    mma_f32(sum, half, b0.y, b1.y);
    mma_f32(sum, residual, b0.x, b1.x);
  }
};

/* Two numbers as fp16 numbers and their residuals. */
__device__ inline uint2 split_half2(float low, float high)
{
  const uint32_t pair = pack_half2(low, high);
  __half2 halves;

  memcpy(&halves, &pair, sizeof halves);
  return make_uint2(pair, pack_half2(low - __low2float(halves), high - __high2float(halves)));
}

} // namespace cf::pyramid
