/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Pairs of fp16 numbers in 32-bit words, as matrix instructions take them: the first number is in
 * the low half. For host code there are only the conversions of single numbers.
 */
#pragma once

#include <cuda_fp16.h>
#include <stdint.h>
#include <string.h>

#include "cuda/common/ptx_math.cuh"

namespace cf
{

constexpr uint32_t kExponentsOf1024 = 0x64646464; /* four times the upper byte of 1024 as fp16 */

/* The bits of the fp16 number nearest to `value`, and back. */
inline uint16_t half_bits(double value)
{
  return __half_as_ushort(__double2half(value));
}

inline double half_value(uint16_t bits)
{
  return __half2float(__ushort_as_half(bits));
}

#ifdef __CUDACC__

__device__ inline __half2 as_half2(uint32_t bits)
{
  __half2 pair;

  memcpy(&pair, &bits, sizeof pair);
  return pair;
}

__device__ inline uint32_t as_bits(__half2 pair)
{
  uint32_t bits;

  memcpy(&bits, &pair, sizeof bits);
  return bits;
}

__device__ inline uint32_t pack_half2(float low, float high)
{
  return as_bits(__floats2half2_rn(low, high));
}

__device__ inline uint32_t hmul2_bits(uint32_t a, uint32_t b)
{
  return as_bits(__hmul2(as_half2(a), as_half2(b)));
}

/* a * b + c */
__device__ inline uint32_t hfma2_bits(uint32_t a, uint32_t b, uint32_t c)
{
  return as_bits(__hfma2(as_half2(a), as_half2(b), as_half2(c)));
}

/* Bytes to fp16 by a byte permutation instead of a conversion: the bits 0x6400 + v are the number
 * 1024 + v. A prmt instruction holds one constant. That shall be the selector, of which there are
 * many, so the exponent bytes must be a value that the compiler does not know. */
class ByteToHalf
{
  const uint32_t exponents;

public:
  /* `exponents` is kExponentsOf1024, from the kernel's arguments. By all lanes of a warp together.
   */
  __device__ ByteToHalf(uint32_t exponents) : exponents(broadcast_lane_0(exponents))
  {
  }

  /* Two of the four bytes in `bytes`, each minus 128, as fp16. The hexadecimal digits 0 and 2 of
   * `select` are the bytes' numbers (permute_bytes); its other digits must be 4. */
  __device__ uint32_t centred(uint32_t bytes, uint32_t select) const
  {
    const __half2 biased = as_half2(permute_bytes(bytes, exponents, select));

    return as_bits(__hsub2(biased, __half2half2(__ushort_as_half(0x6480))));
  }
};

#endif

} // namespace cf
