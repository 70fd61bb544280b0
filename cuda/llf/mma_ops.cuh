/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What the local Laplacian filter needs of tensor cores beside cuda/common/mma.cuh: smaller
 * fragments, products that stay in fp16, and fp16 arithmetic on packed words.
 */
#pragma once

#include "cuda/common/mma.cuh"

namespace llf
{

__device__ __forceinline__ void load_2(uint32_t *to, uint32_t address)
{
#ifdef CF_TENSOR_OPS
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0,%1}, [%2];"
               : "=r"(to[0]), "=r"(to[1])
               : "r"(address)
               : "memory");
#endif
}

__device__ __forceinline__ void load_2_transposed(uint32_t *to, uint32_t address)
{
#ifdef CF_TENSOR_OPS
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];"
               : "=r"(to[0]), "=r"(to[1])
               : "r"(address)
               : "memory");
#endif
}

/* Rows of a table that stays as it is, from where `row` says: others may be on their way, and what
 * is stored does not wait for it. What `row` was read from must be read after the table was made.
 */
__device__ __forceinline__ void look_up_4(uint32_t (&to)[4], uint32_t row)
{
#ifdef CF_TENSOR_OPS
  asm("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
      : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
      : "r"(row));
#endif
}

/* The 8 x 8 matrix of halves, of which each lane has two of a row. */
__device__ __forceinline__ uint32_t transposed(uint32_t word)
{
  uint32_t result = 0;

#ifdef CF_TENSOR_OPS
  asm("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(result) : "r"(word));
#endif
  return result;
}

/* to (16 x 8) = a (16 x 16) b (16 x 8) + c, all in fp16. */
__device__ __forceinline__ void multiply_half(uint32_t *to, const uint32_t *a, uint32_t b0,
                                              uint32_t b1, uint32_t c0, uint32_t c1)
{
#ifdef CF_TENSOR_OPS
  asm("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0,%1}, {%2,%3,%4,%5}, {%6,%7}, "
      "{%8,%9};"
      : "=r"(to[0]), "=r"(to[1])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1), "r"(c0), "r"(c1));
#endif
}

/* to (16 x 8) = a (16 x 8) b (8 x 8) + c, all in fp16. */
__device__ __forceinline__ void multiply_half_8(uint32_t *to, const uint32_t *a, uint32_t b0,
                                                uint32_t c0, uint32_t c1)
{
#ifdef CF_TENSOR_OPS
  asm("mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {%0,%1}, {%2,%3}, {%4}, {%5,%6};"
      : "=r"(to[0]), "=r"(to[1])
      : "r"(a[0]), "r"(a[1]), "r"(b0), "r"(c0), "r"(c1));
#endif
}

/* sum (16 x 8, fp32) += a (16 x 8) b (8 x 8). */
__device__ __forceinline__ void multiply_add_8(float *sum, const uint32_t *a, uint32_t b0)
{
#ifdef CF_TENSOR_OPS
  asm("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, "
      "{%0,%1,%2,%3};"
      : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
      : "r"(a[0]), "r"(a[1]), "r"(b0));
#endif
}

/* Copies 16 bytes to shared memory in the background, until wait_copies(). */
__device__ __forceinline__ void start_copy(uint32_t to, const void *from)
{
  cf_copy_async(to, from, 16);
}

__device__ __forceinline__ void wait_copies()
{
  cf_copy_commit();
  cf_copy_wait<0>();
}

/* Has the line of memory in the L2 cache soon. */
__device__ __forceinline__ void prefetch(const void *from)
{
  asm volatile("prefetch.global.L2 [%0];" ::"l"(from));
}

/* The same number, which the compiler keeps rather than makes again. */
__device__ __forceinline__ uint32_t opaque(uint32_t number)
{
  asm volatile("mov.b32 %0, %0;" : "+r"(number));
  return number;
}

__device__ __forceinline__ __half2 as_halves(uint32_t word)
{
  return *reinterpret_cast<const __half2 *>(&word);
}

__device__ __forceinline__ uint32_t as_word(__half2 halves)
{
  return *reinterpret_cast<const uint32_t *>(&halves);
}

__device__ __forceinline__ uint32_t multiplied(uint32_t a, uint32_t b)
{
  return as_word(__hmul2(as_halves(a), as_halves(b)));
}

__device__ __forceinline__ uint32_t multiplied_added(uint32_t a, uint32_t b, uint32_t c)
{
  return as_word(__hfma2(as_halves(a), as_halves(b), as_halves(c)));
}

} // namespace llf
