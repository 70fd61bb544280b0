/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Pairs of fp16 numbers in 32-bit words, as matrix instructions take them; the low half is the
 * first. Host code has the conversions of single numbers only.
 */
#pragma once

#include <cuda_fp16.h>
#include <stdint.h>
#include <string.h>

#include "cuda/common/ptx_math.cuh"

namespace cf
{

constexpr uint32_t kExponentsOf1024 = 0x64646464; /* of two numbers */

/* The nearest fp16 number's bits, and the number that these stand for. */
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

/* fp16 numbers from bytes without a conversion: 0x6400 + v is the number 1024 + v. An instruction
 * holds one constant and selectors are many, so the exponent bytes are in a register; a compiler
 * that knew them would put them into each instruction and the selectors into registers. */
class ByteToHalf
{
  const uint32_t exponents;

public:
  /* `exponents` is kExponentsOf1024, from the kernel's arguments. All lanes construct together. */
  __device__ ByteToHalf(uint32_t exponents) : exponents(broadcast_lane_0(exponents))
  {
  }

  /* Two bytes of `bytes`, each minus 128. Digits 0 and 2 of `select` name them (permute_bytes); its
   * other digits must be 4. */
  __device__ uint32_t centred(uint32_t bytes, uint32_t select) const
  {
    const __half2 biased = as_half2(permute_bytes(bytes, exponents, select));

    return as_bits(__hsub2(biased, __half2half2(__ushort_as_half(0x6480))));
  }
};

#endif

} // namespace cf
