/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The variance of the picture's blocks, which weights are made of (CfLlfWeights): of the codes that
 * the kernel of levels 1 and 2 has, in whole numbers. A lane has a block's columns, two cells.
 */
#pragma once

#include <stdint.h>

namespace cf::llf
{

/* Moments of a block count so many values. */
constexpr int kCounted = 256;

/* Sums of a lane's values and of their squares: of both cells, and of the right one. */
struct Moments {
  uint32_t value, right_value, square, right_square;

  __device__ __forceinline__ Moments plus(uint32_t factor, const Moments &other) const
  {
    return {value + factor * other.value, right_value + factor * other.right_value,
            square + factor * other.square, right_square + factor * other.right_square};
  }
};

/* Of two rows of four bytes. */
__device__ __forceinline__ Moments moments_of(uint32_t upper, uint32_t lower)
{
  constexpr uint32_t kOnes = 0x01010101, kRight = 0xffff0000;

  return {__dp4a(upper, kOnes, __dp4a(lower, kOnes, 0u)),
          __dp4a(upper, kOnes & kRight, __dp4a(lower, kOnes & kRight, 0u)),
          __dp4a(upper, upper, __dp4a(lower, lower, 0u)),
          __dp4a(upper, upper & kRight, __dp4a(lower, lower & kRight, 0u))};
}

__device__ __forceinline__ uint32_t squares_of(uint32_t a, uint32_t b)
{
  const uint32_t a0 = a & 65535, a1 = a >> 16, b0 = b & 65535, b1 = b >> 16;

  return a0 * a0 + a1 * a1 + b0 * b0 + b1 * b1;
}

/* The same of 16-bit numbers, of which the high 12 bits count: so sums have room. */
__device__ __forceinline__ Moments moments_of(uint2 upper, uint2 lower)
{
  constexpr uint32_t kMask = 0x0fff0fff, kOnes = 0x0101;
  const uint32_t upper_left = upper.x >> 4 & kMask, upper_right = upper.y >> 4 & kMask;
  const uint32_t lower_left = lower.x >> 4 & kMask, lower_right = lower.y >> 4 & kMask;
  const uint32_t right = __dp2a_lo(upper_right, kOnes, __dp2a_lo(lower_right, kOnes, 0u));
  const uint32_t right_square = squares_of(upper_right, lower_right);

  return {__dp2a_lo(upper_left, kOnes, __dp2a_lo(lower_left, kOnes, right)), right,
          squares_of(upper_left, lower_left) + right_square, right_square};
}

/* Of blocks, from those of their two rows of cells and of the ones above and below. */
struct BlockMoments {
  Moments begun, next;

  __device__ __forceinline__ void middle(const Moments &cells)
  {
    begun = begun.plus(3, cells);
    next = cells;
  }

  /* The variance of the block that ends above `cells`, the next one's first. */
  __device__ __forceinline__ float end(const Moments &cells, float unit)
  {
    const Moments block = begun.plus(1, cells);
    const uint32_t value = with_neighbours(block.value, block.right_value);
    const uint32_t square = with_neighbours(block.square, block.right_square);

    begun = next.plus(3, cells);
    return unit * unit * __ull2float_rn(kCounted * (uint64_t)square - (uint64_t)value * value);
  }

private:
  /* Three times the lane's two cells, and the ones beside them. */
  __device__ __forceinline__ static uint32_t with_neighbours(uint32_t both, uint32_t right)
  {
    return 3 * both + __shfl_up_sync(~0u, right, 1) + __shfl_down_sync(~0u, both - right, 1);
  }
};

} // namespace cf::llf
