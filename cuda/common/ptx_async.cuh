/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Asynchronous copies to shared memory (cp.async), global loads with cache hints, and shared memory
 * accesses by smem_address(). Other threads see a thread's copies after that thread has waited for
 * them and a barrier has followed. In code for GPUs before sm_80 the functions compile to nothing,
 * shared accesses and prefetch_l2() apart, and must not be called.
 */
#pragma once

#include <stdint.h>

#include "cuda/common/ptx_mma.cuh"

namespace cf
{

/* Copies Bytes (4, 8 or 16) from global memory to shared memory at `to`, both aligned to Bytes. */
template <int Bytes> __device__ inline void cp_async(uint32_t to, const void *from)
{
#ifdef CF_HAVE_MMA
  if constexpr (Bytes == 16)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" : : "r"(to), "l"(from) : "memory");
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;"
                 :
                 : "r"(to), "l"(from), "n"(Bytes)
                 : "memory");
#endif
}

/* As cp_async() of 4 or 16 bytes; only the first `valid` are read, the others become 0. */
template <int Bytes>
__device__ inline void cp_async_zero_fill(uint32_t to, const void *from, int valid)
{
#ifdef CF_HAVE_MMA
  if constexpr (Bytes == 16)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                 :
                 : "r"(to), "l"(from), "r"(valid)
                 : "memory");
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;"
                 :
                 : "r"(to), "l"(from), "n"(Bytes), "r"(valid)
                 : "memory");
#endif
}

/* Makes one group of this thread's copies since the last call. */
__device__ inline void cp_async_commit()
{
#ifdef CF_HAVE_MMA
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

/* Waits until at most the last `Pending` groups of this thread's copies are in flight. */
template <int Pending> __device__ inline void cp_async_wait()
{
#ifdef CF_HAVE_MMA
  asm volatile("cp.async.wait_group %0;" : : "n"(Pending) : "memory");
#endif
}

/* Waits for all of this thread's copies. */
__device__ inline void cp_async_commit_and_wait()
{
  cp_async_commit();
  cp_async_wait<0>();
}

__device__ inline void st_shared(uint32_t to, uint32_t word)
{
  asm volatile("st.shared.u32 [%0], %1;" : : "r"(to), "r"(word) : "memory");
}

__device__ inline float2 ld_shared_float2(uint32_t from)
{
  float2 two;

  asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];" : "=f"(two.x), "=f"(two.y) : "r"(from));
  return two;
}

__device__ inline float4 ld_shared_float4(uint32_t from)
{
  float4 four;

  asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(four.x), "=f"(four.y), "=f"(four.z), "=f"(four.w)
               : "r"(from));
  return four;
}

/* Starts to load the line that holds `from` into the L2 cache. */
__device__ inline void prefetch_l2(const void *from)
{
  asm volatile("prefetch.global.L2 [%0];" : : "l"(from));
}

/* A cache policy for L2: normal, or lines are the first to be evicted. */
__device__ inline uint64_t l2_policy(bool evict_first)
{
  uint64_t policy = 0;
#ifdef CF_HAVE_MMA
  if (evict_first)
    asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
  else
    asm("createpolicy.fractional.L2::evict_normal.b64 %0, 1.0;" : "=l"(policy));
#endif
  return policy;
}

__device__ inline uint2 load_with_policy(const uint2 *from, uint64_t policy)
{
  uint2 two = {};
#ifdef CF_HAVE_MMA
  asm volatile("ld.global.L2::cache_hint.v2.u32 {%0,%1}, [%2], %3;"
               : "=r"(two.x), "=r"(two.y)
               : "l"(from), "l"(policy));
#endif
  return two;
}

__device__ inline void store_with_policy(uint2 *to, uint2 two, uint64_t policy)
{
#ifdef CF_HAVE_MMA
  asm volatile("st.global.L2::cache_hint.v2.u32 [%0], {%1,%2}, %3;"
               :
               : "l"(to), "r"(two.x), "r"(two.y), "l"(policy)
               : "memory");
#endif
}

/* Loads of constant global memory that allocate no line in L1: for data that only one warp of the
 * SM reads. */
__device__ inline uint4 load_no_l1(const uint4 *from)
{
  uint4 four = {};
#ifdef CF_HAVE_MMA
  asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0,%1,%2,%3}, [%4];"
               : "=r"(four.x), "=r"(four.y), "=r"(four.z), "=r"(four.w)
               : "l"(from));
#endif
  return four;
}

__device__ inline uint2 load_no_l1(const uint2 *from)
{
  uint2 two = {};
#ifdef CF_HAVE_MMA
  asm volatile("ld.global.nc.L1::no_allocate.v2.u32 {%0,%1}, [%2];"
               : "=r"(two.x), "=r"(two.y)
               : "l"(from));
#endif
  return two;
}

__device__ inline uint32_t load_no_l1(const uint32_t *from)
{
  uint32_t one = 0;
#ifdef CF_HAVE_MMA
  asm volatile("ld.global.nc.L1::no_allocate.u32 %0, [%1];" : "=r"(one) : "l"(from));
#endif
  return one;
}

} // namespace cf
