/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Flags in global memory that synchronise CTAs of different grids.
 *
 * Producer: all threads of the CTA store; __syncthreads(); one thread sets the flag with release.
 * Consumer: spins with acquire, then reads. The scope of both is the GPU.
 *
 * Progress: a consumer may wait only for CTAs that are resident or have ended by the time the
 * consumer runs. In a chain of programmatic dependent launches (pdl.cuh) that holds for CTAs of an
 * earlier grid which set their flag after their trigger: the consumer's grid starts only when all
 * of them have triggered. A producer never waits for a later grid.
 *
 * In debug builds (CF_BOUNDED_SPIN) a wait that does not end traps instead of hanging.
 */
#pragma once

namespace cf
{

/* Sets a flag that was 0, and releases what this thread has stored, and what other threads stored
 * before a barrier with it. */
__device__ inline void set_flag(unsigned *flag)
{
  asm volatile("st.release.gpu.global.u32 [%0], 1;" ::"l"(flag) : "memory");
}

/* Waits until the flag is set. Every thread that reads what was released
 * calls this itself: an acquiring load, unlike a fence, does not wait for cp.async copies that the
 * thread has in flight. Spinning threads sleep between polls, to leave issue slots to the others.
 */
__device__ inline void await_flag(const unsigned *flag)
{
  constexpr unsigned kNanoseconds = 40;
  auto load = [flag] {
    unsigned value;
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(flag) : "memory");
    return value;
  };
#ifdef CF_BOUNDED_SPIN
  constexpr unsigned kMostPolls = 100u << 20;
  unsigned polls = 0;
#endif

  while (!load()) {
    __nanosleep(kNanoseconds);
#ifdef CF_BOUNDED_SPIN
    if (++polls == kMostPolls)
      __trap();
#endif
  }
}

} // namespace cf
