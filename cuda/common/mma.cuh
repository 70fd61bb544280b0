/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The instructions of sm_80 and newer that CUDA C++ has no function for, and fp16 in registers.
 * On older targets they compile to nothing and must not be reached.
 */
#pragma once

#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <stdint.h>
#include <string.h>

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
#define CF_TENSOR_OPS 1
#endif

/* Four fragments of 8x8 halves: see the PTX manual's m16n8k16 and ldmatrix for who holds what. */
__device__ inline void cf_mma(float (&sum)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1)
{
#ifdef CF_TENSOR_OPS
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
               "{%8,%9}, {%0,%1,%2,%3};"
               : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
#endif
}

__device__ inline uint32_t cf_shared_address(const void *shared)
{
  return (uint32_t)__cvta_generic_to_shared(shared);
}

__device__ inline void cf_load_matrix(uint32_t (&fragment)[4], uint32_t address)
{
#ifdef CF_TENSOR_OPS
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(fragment[0]), "=r"(fragment[1]), "=r"(fragment[2]), "=r"(fragment[3])
               : "r"(address)
               : "memory");
#endif
}

__device__ inline void cf_load_matrix_transposed(uint32_t (&fragment)[4], uint32_t address)
{
#ifdef CF_TENSOR_OPS
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(fragment[0]), "=r"(fragment[1]), "=r"(fragment[2]), "=r"(fragment[3])
               : "r"(address)
               : "memory");
#endif
}

/* Eight rows of eight 16-bit numbers, of which lane 4 r + c has those of row r in columns 2 c and
 * 2 c + 1, to the same with rows and columns exchanged. */
__device__ inline uint32_t cf_transpose_matrix(uint32_t fragment)
{
  uint32_t result = 0;

#ifdef CF_TENSOR_OPS
  asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(result) : "r"(fragment));
#endif
  return result;
}

/* a * b + c, from 0 to 1. The compiler takes two instructions for it. */
__device__ inline float cf_fma_saturated(float a, float b, float c)
{
  float result;

  asm("fma.rn.sat.f32 %0, %1, %2, %3;" : "=f"(result) : "f"(a), "f"(b), "f"(c));
  return result;
}

__device__ inline void cf_store_shared(uint32_t to, uint32_t word)
{
  asm volatile("st.shared.u32 [%0], %1;" : : "r"(to), "r"(word) : "memory");
}

/* Copies 16 bytes, of which only the first `valid` are read and the others become 0. */
__device__ inline void cf_copy_async(uint32_t to, const void *from, int valid)
{
#ifdef CF_TENSOR_OPS
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
               :
               : "r"(to), "l"(from), "r"(valid)
               : "memory");
#endif
}

/* Copies 16 bytes. */
__device__ inline void cf_copy_async(uint32_t to, const void *from)
{
#ifdef CF_TENSOR_OPS
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" : : "r"(to), "l"(from) : "memory");
#endif
}

/* Copies 4 bytes, of which only the first `valid` are read and the others become 0. */
__device__ inline void cf_copy_async_word(uint32_t to, const void *from, int valid)
{
#ifdef CF_TENSOR_OPS
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;"
               :
               : "r"(to), "l"(from), "r"(valid)
               : "memory");
#endif
}

__device__ inline void cf_copy_commit()
{
#ifdef CF_TENSOR_OPS
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

/* Waits for all groups of copies but the last `Pending`. */
template <int Pending> __device__ inline void cf_copy_wait()
{
#ifdef CF_TENSOR_OPS
  asm volatile("cp.async.wait_group %0;" : : "n"(Pending) : "memory");
#endif
}

/* Lets a kernel that is launched to overlap this one (programmatic dependent launch, sm_90) put its
 * blocks wherever there is room, once all blocks of this one have come here. */
__device__ inline void cf_let_next_kernel_start()
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

/* Waits until the previous kernel has ended and what it wrote can be seen. */
__device__ inline void cf_wait_for_previous_kernel()
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

/* Four of the bytes of a and b (0 to 3, and 4 to 7), as the digits of `select`, the lowest first.
 */
__device__ inline uint32_t cf_permute(uint32_t a, uint32_t b, uint32_t select)
{
  uint32_t result;

  asm("prmt.b32 %0, %1, %2, %3;" : "=r"(result) : "r"(a), "r"(b), "r"(select));
  return result;
}

/* What lane 0 has, in all lanes. */
__device__ inline uint32_t cf_first_lane(uint32_t value)
{
  uint32_t result;

  asm("shfl.sync.idx.b32 %0, %1, 0, 31, -1;" : "=r"(result) : "r"(value));
  return result;
}

constexpr uint32_t kTensorExponents = 0x64646464;

/* Makes halves of bytes: 0x6400 + v is the half 1024 + v. An instruction holds one constant, and
 * the selectors are many, so the exponents are in a register: if the compiler knows them, it puts
 * them into each instruction and the selectors into registers. */
class CfHalfMaker
{
  const uint32_t exponents;

public:
  /* `exponents` is kTensorExponents from the kernel's arguments. */
  __device__ CfHalfMaker(uint32_t exponents) : exponents(cf_first_lane(exponents))
  {
  }

  /* The bytes of `bytes` that `select` picks for the two low halves, each minus 128. The selector's
   * other digits must name byte 4. */
  __device__ uint32_t centred(uint32_t bytes, uint32_t select) const
  {
    const uint32_t biased = cf_permute(bytes, exponents, select);
    __half2 pair, offset = __half2half2(__ushort_as_half(0x6480));
    uint32_t result;

    memcpy(&pair, &biased, sizeof pair);
    pair = __hsub2(pair, offset);
    memcpy(&result, &pair, sizeof result);
    return result;
  }
};

__device__ inline uint32_t cf_pack_halves(float low, float high)
{
  const __half2 pair = __floats2half2_rn(low, high);
  uint32_t result;

  memcpy(&result, &pair, sizeof result);
  return result;
}

/* The nearest half of a number as its bits, and the number that these stand for. */
inline uint16_t cf_half_bits(double value)
{
  return __half_as_ushort(__double2half(value));
}

inline double cf_half_value(uint16_t bits)
{
  return __half2float(__ushort_as_half(bits));
}
