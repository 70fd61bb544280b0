/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Single instructions for which CUDA C++ has no function, or none of this precision. The `_approx`
 * functions flush denormals to 0; the PTX ISA states their errors.
 */
#pragma once

#include <stdint.h>

namespace cf
{

/* a * b + c, clamped to 0 .. 1. */
__device__ inline float fma_saturate(float a, float b, float c)
{
  float result;

  asm("fma.rn.sat.f32 %0, %1, %2, %3;" : "=f"(result) : "f"(a), "f"(b), "f"(c));
  return result;
}

#define CF_APPROX(name, instruction)                                                               \
  __device__ inline float name(float x)                                                            \
  {                                                                                                \
    float result;                                                                                  \
                                                                                                   \
    asm(instruction ".approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));                            \
    return result;                                                                                 \
  }
CF_APPROX(reciprocal_approx, "rcp")
CF_APPROX(rsqrt_approx, "rsqrt")
CF_APPROX(sqrt_approx, "sqrt")
CF_APPROX(exp2_approx, "ex2")
CF_APPROX(log2_approx, "lg2")
#undef CF_APPROX

/* Byte i of the result is the one that hexadecimal digit i of `select` (0 the lowest) names: 0 to 3
 * are the bytes of a, 4 to 7 those of b. */
__device__ inline uint32_t permute_bytes(uint32_t a, uint32_t b, uint32_t select)
{
  uint32_t result;

  asm("prmt.b32 %0, %1, %2, %3;" : "=r"(result) : "r"(a), "r"(b), "r"(select));
  return result;
}

/* Lane 0's value, in all 32 lanes. */
__device__ inline uint32_t broadcast_lane_0(uint32_t value)
{
  uint32_t result;

  asm("shfl.sync.idx.b32 %0, %1, 0, 31, -1;" : "=r"(result) : "r"(value));
  return result;
}

/* Returns `number`, in a way that makes the compiler keep it in a register instead of computing it
 * again at each use. */
__device__ inline uint32_t keep_in_register(uint32_t number)
{
  asm volatile("mov.b32 %0, %0;" : "+r"(number));
  return number;
}

/* The same for a pointer to global memory. */
template <typename T> __device__ inline const T *keep_in_register(const T *pointer)
{
  asm volatile("mov.b64 %0, %0;" : "+l"(pointer));
  __builtin_assume(__isGlobal(pointer));
  return pointer;
}

} // namespace cf
