/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Flags and counters in global memory, by which CTAs learn what CTAs of other grids have written.
 *
 * Producer: stores of all its threads; a barrier among them; then one thread stores or counts with
 * release. Consumer: spins and acquires, then reads. Both at the scope of the GPU.
 *
 * Progress: a consumer may only wait for CTAs that are certain to be resident, or to have ended,
 * when it exists. In a chain of programmatic dependent launches (pdl.cuh) that holds for CTAs of an
 * earlier grid which set their flag after their trigger, for the consumer's grid starts only when
 * all of them have triggered. A producer never waits for a later grid.
 *
 * In debug builds (CF_BOUNDED_SPIN) a wait that does not end stops the kernel instead of hanging.
 */
#pragma once

namespace cf
{

/* Everything that this thread has stored, and what it has synchronised with, is released. */
__device__ inline void flag_store_release(unsigned *flag, unsigned value)
{
  asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(flag), "r"(value) : "memory");
}

__device__ inline void counter_add_release(unsigned *counter)
{
  asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(counter) : "memory");
}

/* Called by all threads of a CTA that ends; NULL where nobody counts. */
__device__ inline void count_cta_done(unsigned *counter)
{
  if (!counter)
    return;
  __syncthreads();
  if (threadIdx.x == 0)
    counter_add_release(counter);
}

/* Waits for at least `least`, and acquires, each thread for itself: unlike a fence, this does not
 * wait for copies that the thread has begun. Spinning CTAs sleep between looks, so that those which
 * work are not held up. */
__device__ inline void spin_acquire(const unsigned *flag, unsigned least)
{
  constexpr unsigned kNanoseconds = 40;
  auto load = [flag] {
    unsigned value;
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(flag) : "memory");
    return value;
  };
#ifdef CF_BOUNDED_SPIN
  constexpr unsigned kMostLooks = 100u << 20;
  unsigned looks = 0;
#endif

  while (load() < least) {
    __nanosleep(kNanoseconds);
#ifdef CF_BOUNDED_SPIN
    if (++looks == kMostLooks)
      __trap();
#endif
  }
}

} // namespace cf
