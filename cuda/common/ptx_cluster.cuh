/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Thread block clusters and stores into the shared memory of another CTA (sm_90 and newer): the
 * cluster's barrier, and barriers in shared memory that count the bytes which arrive. In code for
 * older GPUs they compile to nothing and must not be reached.
 */
#pragma once

#include <stdint.h>

#include "cuda/common/ptx_mma.cuh"

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
#define CF_HAVE_CLUSTERS 1
#endif

namespace cf
{

/* --- the cluster's barrier: every thread of all its CTAs arrives, then waits --- */

/* What this thread has written so far, in any shared or global memory, is released. Warps need not
 * be converged. */
__device__ inline void cluster_arrive()
{
#ifdef CF_HAVE_CLUSTERS
  asm volatile("barrier.cluster.arrive.release;" ::: "memory");
#endif
}

__device__ inline void cluster_wait()
{
#ifdef CF_HAVE_CLUSTERS
  asm volatile("barrier.cluster.wait.acquire;" ::: "memory");
#endif
}

/* --- a barrier in this CTA's shared memory that opens once, when an announced number of bytes has
 * been stored by store_remote(); unlike the cluster's barrier it needs no fence --- */

/* By one thread; other CTAs may store after the cluster's barrier. */
__device__ inline void mbarrier_init(uint64_t *barrier)
{
#ifdef CF_HAVE_CLUSTERS
  asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;\n\t"
               "fence.mbarrier_init.release.cluster;"
               :
               : "r"(smem_address(barrier))
               : "memory");
#endif
}

/* Announces all bytes of the barrier's only phase; by one thread, which arrives by that. */
__device__ inline void mbarrier_expect_bytes(uint64_t *barrier, int bytes)
{
#ifdef CF_HAVE_CLUSTERS
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
               :
               : "r"(smem_address(barrier)), "r"(bytes)
               : "memory");
#endif
}

/* By every thread that reads what has been stored. */
__device__ inline void mbarrier_wait(const uint64_t *barrier)
{
#ifdef CF_HAVE_CLUSTERS
  uint32_t open = 0;

  while (!open)
    asm volatile("{\n\t"
                 ".reg .pred p;\n\t"
                 "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0;\n\t"
                 "selp.u32 %0, 1, 0, p;\n\t"
                 "}"
                 : "=r"(open)
                 : "r"(smem_address(barrier))
                 : "memory");
#endif
}

/* --- stores into another CTA --- */

/* The address in the cluster of what is at `address` in the shared memory of CTA `rank`. */
__device__ inline uint32_t address_in_cta(uint32_t address, int rank)
{
  uint32_t there = address;
#ifdef CF_HAVE_CLUSTERS
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(address), "r"(rank));
#endif
  return there;
}

/* Stores asynchronously and counts the bytes at `barrier`. Both addresses are address_in_cta() of
 * the same CTA, which must not end before the bytes have arrived. */
__device__ inline void store_remote(uint32_t to, uint32_t word, uint32_t barrier)
{
#ifdef CF_HAVE_CLUSTERS
  asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%0], %1, [%2];"
               :
               : "r"(to), "r"(word), "r"(barrier)
               : "memory");
#endif
}

__device__ inline void store_remote(uint32_t to, uint4 words, uint32_t barrier)
{
#ifdef CF_HAVE_CLUSTERS
  asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%0], {%1, %2, %3, "
               "%4}, [%5];"
               :
               : "r"(to), "r"(words.x), "r"(words.y), "r"(words.z), "r"(words.w), "r"(barrier)
               : "memory");
#endif
}

} // namespace cf
