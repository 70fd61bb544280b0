/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Thread block clusters (sm_90 and newer): the cluster's barrier, asynchronous stores to the shared
 * memory of another CTA (DSMEM), and mbarriers that count the bytes of such stores. In code for
 * older GPUs the functions compile to nothing and must not be called.
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

/* Releases what this thread has written so far, to shared memory of any CTA and to global memory.
 * Warps need not be converged. */
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

/* --- an mbarrier in this CTA's shared memory with a single phase, which completes when the
 * announced number of bytes has arrived by store_remote() --- */

/* By one thread. Other CTAs may store only after a cluster barrier that follows. */
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

/* Announces the bytes of the phase, and arrives; by one thread, once. */
__device__ inline void mbarrier_expect_bytes(uint64_t *barrier, int bytes)
{
#ifdef CF_HAVE_CLUSTERS
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
               :
               : "r"(smem_address(barrier)), "r"(bytes)
               : "memory");
#endif
}

/* Waits for the phase to complete; by every thread that reads what has been stored. */
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

/* --- stores to another CTA --- */

/* Maps a shared memory address of this CTA to the same place in CTA `rank` of the cluster. */
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
