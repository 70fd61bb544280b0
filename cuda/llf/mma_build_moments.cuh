/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The moments of the picture's blocks, which weights are made of (CfLlfWeights): of the codes that
 * the kernel of levels 1 and 2 has, in whole numbers. A lane has a block's columns.
 */
#pragma once

#include <stdint.h>

namespace cf::llf
{

/* Sums of samples and of their squares. */
struct Moments {
  uint32_t value, square;

  __device__ __forceinline__ Moments plus(const Moments &other) const
  {
    return {value + other.value, square + other.square};
  }

  /* Those of a block's 16 samples, in steps of `unit` from `first` on: means of what intensities
   * are off by from 1/2, and of the square of that. 16 numbers of 12 bits have room. */
  __device__ __forceinline__ float2 of_block(float unit, float first) const
  {
    const float mean = fmaf(unit / 16.0f, (float)value, first - 0.5f);

    return make_float2(
        mean, fmaf(unit / 256.0f * unit, (float)(16 * square - value * value), mean * mean));
  }
};

/* Of two rows of four bytes. */
__device__ __forceinline__ Moments moments_of(uint32_t upper, uint32_t lower)
{
  constexpr uint32_t kOnes = 0x01010101;

  return {__dp4a(upper, kOnes, __dp4a(lower, kOnes, 0u)),
          __dp4a(upper, upper, __dp4a(lower, lower, 0u))};
}

/* The same of two 16-bit numbers each, of which the high 12 bits count. */
__device__ __forceinline__ Moments moments_of_two(uint32_t two)
{
  const uint32_t first = two >> 4 & 0xfff, second = two >> 20;

  return {first + second, first * first + second * second};
}

__device__ __forceinline__ Moments moments_of(uint2 upper, uint2 lower)
{
  return moments_of_two(upper.x)
      .plus(moments_of_two(upper.y))
      .plus(moments_of_two(lower.x))
      .plus(moments_of_two(lower.y));
}

} // namespace cf::llf
