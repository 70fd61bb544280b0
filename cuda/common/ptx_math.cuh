/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Single instructions that CUDA C++ has no function for, or not at this precision. The `_approx`
 * functions are the hardware's, with denormals flushed to 0; errors as the PTX ISA states.
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

/* Four of the bytes of a (0 to 3) and b (4 to 7), chosen by the hexadecimal digits of `select`, the
 * lowest digit first. */
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

/* The same number, which the compiler then holds in a register instead of computing it again. */
__device__ inline uint32_t keep_in_register(uint32_t number)
{
  asm volatile("mov.b32 %0, %0;" : "+r"(number));
  return number;
}

} // namespace cf
