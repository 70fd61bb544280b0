/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Warp-wide matrix instructions (PTX ISA, "Warp-level matrix instructions"), sm_80 and newer. All
 * 32 lanes of a warp call each function together; the PTX ISA defines which lane holds which
 * elements of a fragment. In code for older GPUs they compile to nothing and must not be called.
 *
 * Asm statements are volatile where the compiler must neither move nor merge them, and clobber
 * memory where they read what the same warp has just stored to shared memory.
 */
#pragma once

#include <stdint.h>

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
#define CF_HAVE_MMA 1
#endif

namespace cf
{

/* The shared memory address of a generic pointer, as the instructions below take it. */
__device__ inline uint32_t smem_address(const void *shared)
{
  return (uint32_t)__cvta_generic_to_shared(shared);
}

/* --- matrix products; a and b are fp16 --- */

/* sum (16 x 8, fp32) += a (16 x 16) b (16 x 8). */
__device__ inline void mma_f32(float (&sum)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1)
{
#ifdef CF_HAVE_MMA
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
               "{%8,%9}, {%0,%1,%2,%3};"
               : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
#endif
}

/* sum = a b + start. */
__device__ inline void mma_f32(float (&sum)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1,
                               const float4 &start)
{
#ifdef CF_HAVE_MMA
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%10,%11,%12,%13};"
      : "=f"(sum[0]), "=f"(sum[1]), "=f"(sum[2]), "=f"(sum[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1), "f"(start.x), "f"(start.y),
        "f"(start.z), "f"(start.w));
#endif
}

/* sum += a b; the compiler may move the product, and merge it with an equal one. */
__device__ inline void mma_f32(float *sum, const uint32_t *a, const uint32_t *b)
{
#ifdef CF_HAVE_MMA
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%0,%1,%2,%3};"
      : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#endif
}

/* sum (16 x 8, fp32) += a (16 x 8) b (8 x 8). */
__device__ inline void mma_f32_k8(float *sum, const uint32_t *a, uint32_t b)
{
#ifdef CF_HAVE_MMA
  asm("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, "
      "{%0,%1,%2,%3};"
      : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
      : "r"(a[0]), "r"(a[1]), "r"(b));
#endif
}

/* to (16 x 8, fp16) = a (16 x 16) b (16 x 8) + c. `to` has the layout of half of the left matrix of
 * another product. */
__device__ inline void mma_f16(uint32_t *to, const uint32_t *a, uint32_t b0, uint32_t b1,
                               uint32_t c0, uint32_t c1)
{
#ifdef CF_HAVE_MMA
  asm("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0,%1}, {%2,%3,%4,%5}, {%6,%7}, "
      "{%8,%9};"
      : "=r"(to[0]), "=r"(to[1])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1), "r"(c0), "r"(c1));
#endif
}

/* to (16 x 8, fp16) = a (16 x 8) b (8 x 8) + c. */
__device__ inline void mma_f16_k8(uint32_t *to, uint32_t a0, uint32_t a1, uint32_t b, uint32_t c0,
                                  uint32_t c1)
{
#ifdef CF_HAVE_MMA
  asm("mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {%0,%1}, {%2,%3}, {%4}, {%5,%6};"
      : "=r"(to[0]), "=r"(to[1])
      : "r"(a0), "r"(a1), "r"(b), "r"(c0), "r"(c1));
#endif
}

/* --- fragments of 8 x 8 elements of 16 bits, from 16-byte rows whose address each lane gives ---
 */

__device__ inline void ldmatrix_x4(uint32_t (&fragment)[4], uint32_t address)
{
#ifdef CF_HAVE_MMA
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(fragment[0]), "=r"(fragment[1]), "=r"(fragment[2]), "=r"(fragment[3])
               : "r"(address)
               : "memory");
#endif
}

__device__ inline void ldmatrix_x4_trans(uint32_t (&fragment)[4], uint32_t address)
{
#ifdef CF_HAVE_MMA
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(fragment[0]), "=r"(fragment[1]), "=r"(fragment[2]), "=r"(fragment[3])
               : "r"(address)
               : "memory");
#endif
}

/* As ldmatrix_x4_trans, without the clobber: for shared memory that was written before a barrier.
 * The compiler may move other memory accesses across. */
__device__ inline void ldmatrix_x4_trans_after_barrier(uint32_t (&fragment)[4], uint32_t address)
{
#ifdef CF_HAVE_MMA
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(fragment[0]), "=r"(fragment[1]), "=r"(fragment[2]), "=r"(fragment[3])
               : "r"(address));
#endif
}

/* As ldmatrix_x4_trans, not volatile: for a table that no longer changes. The compiler may move the
 * load, so `address` must depend on data that was read after the table was complete. */
__device__ inline void ldmatrix_x4_trans_constant(uint32_t (&fragment)[4], uint32_t address)
{
#ifdef CF_HAVE_MMA
  asm("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
      : "=r"(fragment[0]), "=r"(fragment[1]), "=r"(fragment[2]), "=r"(fragment[3])
      : "r"(address));
#endif
}

/* The transpose of an 8 x 8 fragment; lane 4 r + c holds columns 2 c and 2 c + 1 of row r. */
__device__ inline uint32_t movmatrix_trans(uint32_t fragment)
{
  uint32_t result = 0;

#ifdef CF_HAVE_MMA
  asm("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(result) : "r"(fragment));
#endif
  return result;
}

} // namespace cf
