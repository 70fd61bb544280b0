/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The low taps of the blur pyramid of bytes as left matrices of products: 16 outputs, D2 samples
 * apart, by 16 samples a product. Samples and taps are a half and what it leaves; of the four
 * products of these the smallest is left out, so sums are as good as in single precision.
 */
#pragma once

#include "cuda/pyramid/u8mma.cuh"

/* Zeros before the taps; after them there are 16 more. */
__host__ __device__ constexpr int cf_taps_before(int thinning)
{
  return 16 * thinning + 4;
}

/* Up to so many taps, for outputs so far apart. Pair i is of taps i - cf_taps_before() and the
 * next. */
template <int Taps = kBytesLowTaps, int Thinning = kBytesThinning> struct CfSharedTaps {
  static constexpr int kPairs = 2 * cf_taps_before(Thinning) + Taps + 16;

  uint32_t half[kPairs], rest[kPairs];
};

__device__ inline uint32_t cf_low_tap(const CfBytesLow &low, int count, int i)
{
  return i >= 0 && i < count ? low.tap[min(i, count - 1 - i)] : 0;
}

/* A barrier must follow. Apart, where the compiler cannot know that the taps are constants of the
 * kernel: these are read for one thread after the other when each asks for another one. */
static __device__ __noinline__ void cf_share_taps(const CfBytesLine &line, const CfBytesLow &low,
                                                  uint32_t *half, uint32_t *rest)
{
  const int before = cf_taps_before(line.thinning);

  for (int i = (int)threadIdx.x; i < 2 * before + line.low_count + 16; i += kPyramidThreads) {
    const uint32_t first = cf_low_tap(low, line.low_count, i - before);
    const uint32_t second = cf_low_tap(low, line.low_count, i - before + 1);

    half[i] = __byte_perm(first, second, 0x5410);
    rest[i] = __byte_perm(first, second, 0x7632);
  }
}

/* The taps of a product for samples from 16 `chunk` - `spare` on, of which the first is number 0 of
 * the first output. A thread has `Run` samples next to each other, of whose order in the product
 * only that the taps have the same matters. */
template <int Run> struct CfTapMatrix {
  uint32_t half[4], rest[4];

  template <typename Taps>
  __device__ CfTapMatrix(const Taps &taps, int thinning, int chunk, int spare)
  {
    const int lane = (int)threadIdx.x % 32;
    const int first =
        cf_taps_before(thinning) + 16 * chunk - spare + lane % 4 * Run - thinning * (lane / 4);

#pragma unroll
    for (int i = 0; i < 4; i++) {
      const int at = first + i / 2 * (Run == 2 ? 8 : 2) - i % 2 * 8 * thinning;

      half[i] = taps.half[at];
      rest[i] = taps.rest[at];
    }
  }

  /* Adds 16 samples' share. Of each a thread has halves in x and what they leave in y. */
  __device__ void multiply(float (&sum)[4], const uint2 &b0, const uint2 &b1) const
  {
    cf::mma_f32(sum, half, b0.x, b1.x);
    cf::mma_f32(sum, half, b0.y, b1.y);
    cf::mma_f32(sum, rest, b0.x, b1.x);
  }
};

/* Two numbers as halves, and as halves what these leave. */
__device__ inline uint2 cf_split_halves(float low, float high)
{
  const uint32_t pair = cf::pack_half2(low, high);
  __half2 halves;

  memcpy(&halves, &pair, sizeof halves);
  return make_uint2(pair, cf::pack_half2(low - __low2float(halves), high - __high2float(halves)));
}
