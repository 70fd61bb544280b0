/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The moments of the picture's blocks, from which level 0's weights are computed (CfLlfWeights).
 * The kernel of levels 1 and 2 sums the codes that it has in shared memory, in integers; a lane has
 * the four columns of a block.
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

  /* From the sums of a block's 16 samples: the means of I - 1/2 and of its square, for intensities
   * I = unit * sample. Samples have at most 12 bits, so that nothing overflows. */
  __device__ __forceinline__ float2 of_block(float unit) const
  {
    const float mean = fmaf(unit / 16.0f, (float)value, -0.5f);

    return make_float2(
        mean, fmaf(unit / 256.0f * unit, (float)(16 * square - value * value), mean * mean));
  }
};

/* The sums over four bytes of each of two rows. */
__device__ __forceinline__ Moments moments_of(uint32_t upper, uint32_t lower)
{
  constexpr uint32_t kOnes = 0x01010101;

  return {__dp4a(upper, kOnes, __dp4a(lower, kOnes, 0u)),
          __dp4a(upper, upper, __dp4a(lower, lower, 0u))};
}

/* The sums over the high 12 bits of two 16-bit numbers. */
__device__ __forceinline__ Moments moments_of_pair(uint32_t pair)
{
  const uint32_t first = pair >> 4 & 0xfff, second = pair >> 20;

  return {first + second, first * first + second * second};
}

__device__ __forceinline__ Moments moments_of(uint2 upper, uint2 lower)
{
  return moments_of_pair(upper.x)
      .plus(moments_of_pair(upper.y))
      .plus(moments_of_pair(lower.x))
      .plus(moments_of_pair(lower.y));
}

} // namespace cf::llf
