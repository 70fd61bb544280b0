/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What a kernel's blocks tell others while it runs, in words of memory. Only blocks of kernels
 * launched later may wait, and the last of its own: who is waited for must be there already.
 */
#pragma once

#include "cuda/llf/pyramid_ops.cuh"

namespace llf
{

/* What this thread stored, and what others did that it has waited for, comes before. */
__device__ __forceinline__ void tell(unsigned *word, unsigned value)
{
  asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(word), "r"(value) : "memory");
}

__device__ __forceinline__ void count_one_more(unsigned *word)
{
  asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(word) : "memory");
}

/* All threads of a block that ends: it counts where there is somebody who waits for it. */
__device__ __forceinline__ void count_ended(unsigned *ended)
{
  if (!ended)
    return;
  __syncthreads();
  if (threadIdx.x == 0)
    count_one_more(ended);
}

/* Blocks that ask all the time are in the way of those that work. */
template <typename Ask> __device__ __forceinline__ void await_answer(Ask ask, unsigned least)
{
  constexpr unsigned NANOSECONDS = 40;

  while (ask() < least)
    __nanosleep(NANOSECONDS);
}

__device__ __forceinline__ void await_told(const unsigned *word, unsigned least)
{
  await_answer(
      [&] {
        unsigned value;
        asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(word) : "memory");
        return value;
      },
      least);
}

/* The same by all threads that need it, who need not meet then, nor finish what they have begun, as
 * behind a fence. For what is mostly there already. */
__device__ __forceinline__ void take_once_told(const unsigned *word, unsigned least)
{
  await_answer(
      [&] {
        unsigned value;
        asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(word) : "memory");
        return value;
      },
      least);
}

/* Behind it: what was stored before it was told comes before what these threads do next. Once for a
 * warp, which it holds up. */
__device__ __forceinline__ void take_told()
{
  asm volatile("fence.acq_rel.gpu;" ::: "memory");
}

} // namespace llf
