/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Products of matrices of halves, summed up in halves.
 */
#pragma once

#include "cuda/common/mma.cuh"

/* Rows g and g + 8 of a product by eight columns, added to others: see the PTX manual's m16n8k16
 * for who holds what. What it leaves is as it is the left matrix of the next product. */
__device__ inline void cf_mma_halves(uint32_t &upper, uint32_t &lower, const uint32_t (&a)[4],
                                     uint32_t b0, uint32_t b1, uint32_t to_upper, uint32_t to_lower)
{
#ifdef CF_TENSOR_OPS
  asm("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0,%1}, {%2,%3,%4,%5}, {%6,%7}, "
      "{%8,%9};"
      : "=r"(upper), "=r"(lower)
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1), "r"(to_upper), "r"(to_lower));
#endif
}

/* The same with left and right matrices half as long. */
__device__ inline void cf_mma_short(uint32_t &upper, uint32_t &lower, uint32_t a_upper,
                                    uint32_t a_lower, uint32_t b, uint32_t to_upper,
                                    uint32_t to_lower)
{
#ifdef CF_TENSOR_OPS
  asm("mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {%0,%1}, {%2,%3}, {%4}, {%5,%6};"
      : "=r"(upper), "=r"(lower)
      : "r"(a_upper), "r"(a_lower), "r"(b), "r"(to_upper), "r"(to_lower));
#endif
}

__device__ inline __half2 cf_halves_of_bits(uint32_t bits)
{
  __half2 pair;

  memcpy(&pair, &bits, sizeof pair);
  return pair;
}

__device__ inline uint32_t cf_bits_of_halves(__half2 pair)
{
  uint32_t bits;

  memcpy(&bits, &pair, sizeof bits);
  return bits;
}

/* Copies 16, 8 or 4 bytes. */
template <int Bytes> __device__ inline void cf_copy_piece(uint32_t to, const void *from)
{
#ifdef CF_TENSOR_OPS
  if constexpr (Bytes == 16)
    cf_copy_async(to, from);
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;"
                 :
                 : "r"(to), "l"(from), "n"(Bytes)
                 : "memory");
#endif
}

/* As cf_load_matrix_transposed, of what barriers have made visible: other accesses to memory need
 * not keep their order. */
__device__ inline void cf_load_cells(uint32_t (&fragment)[4], uint32_t address)
{
#ifdef CF_TENSOR_OPS
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(fragment[0]), "=r"(fragment[1]), "=r"(fragment[2]), "=r"(fragment[3])
               : "r"(address));
#endif
}

/* Load what no other warp of an SM reads, and leave the first-level cache to what all do. */
__device__ inline uint4 cf_load_once(const uint4 *from)
{
  uint4 four = {};
#ifdef CF_TENSOR_OPS
  asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0,%1,%2,%3}, [%4];"
               : "=r"(four.x), "=r"(four.y), "=r"(four.z), "=r"(four.w)
               : "l"(from));
#endif
  return four;
}

__device__ inline uint2 cf_load_once(const uint2 *from)
{
  uint2 two = {};
#ifdef CF_TENSOR_OPS
  asm volatile("ld.global.nc.L1::no_allocate.v2.u32 {%0,%1}, [%2];"
               : "=r"(two.x), "=r"(two.y)
               : "l"(from));
#endif
  return two;
}

__device__ inline uint32_t cf_load_once(const uint32_t *from)
{
  uint32_t one = 0;
#ifdef CF_TENSOR_OPS
  asm volatile("ld.global.nc.L1::no_allocate.u32 %0, [%1];" : "=r"(one) : "l"(from));
#endif
  return one;
}

/* Starts to load into the second-level cache. */
__device__ inline void cf_prefetch(const void *from)
{
#ifdef CF_TENSOR_OPS
  asm volatile("prefetch.global.L2 [%0];" : : "l"(from));
#endif
}
