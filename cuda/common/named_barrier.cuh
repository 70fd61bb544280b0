/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Barriers for some of the warps of a CTA.
 */
#pragma once

namespace cf
{

/* As __syncthreads(), for the `Threads` threads (whole warps) of a CTA that call it with the same
 * `barrier`: 1 to 15; barrier 0 is that of __syncthreads(). The warps may call it from different
 * places in the code. */
template <int Threads> __device__ inline void named_barrier_sync(int barrier)
{
  asm volatile("barrier.sync %0, %1;" : : "r"(barrier), "n"(Threads) : "memory");
}

} // namespace cf
