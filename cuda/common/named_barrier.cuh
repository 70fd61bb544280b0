/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Barriers of a part of a CTA's warps.
 */
#pragma once

namespace cf
{

/* As __syncthreads(), of those `Threads` threads (whole warps) of a CTA that name the same
 * `barrier`, 1 to 15; 0 is __syncthreads()'s own. Unlike there, warps may arrive at different
 * places of the program. */
template <int Threads> __device__ inline void named_barrier_sync(int barrier)
{
  asm volatile("barrier.sync %0, %1;" : : "r"(barrier), "n"(Threads) : "memory");
}

} // namespace cf
