/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Instructions that only the tensor filter needs.
 */
#pragma once

#include "cuda/common/mma.cuh"

/* __syncthreads of those `Threads` threads of a block that share `barrier`, 1 to 15. Warps may come
 * to it in different places of the program, unlike __syncthreads. */
template <int Threads> __device__ inline void cf_meet_threads(int barrier)
{
#ifdef CF_TENSOR_OPS
  asm volatile("barrier.sync %0, %1;" : : "r"(barrier), "n"(Threads) : "memory");
#endif
}

/* Of a number that is neither 0 nor denormal, of which the compiler would take care. */
__device__ inline float cf_reciprocal(float value)
{
  float result;

  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(value));
  return result;
}
