/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Vectors of the instruction set that bytes_loops.c is compiled for. Instructions work on lanes of
 * 16 bytes: fold_low() and fold_high() widen the lower and upper half of each lane, so with wider
 * vectors the samples of the two results are not in order; narrow() restores the order.
 */
#pragma once

#include <stdint.h>
#include <string.h>

#include "cpu/common/cpu.h"

/* Shuffles of 32-bit words: JOINED moves words 0 to 2 of each 4 together, PARTED is the reverse. */
#if defined(__AVX512BW__)
#define VECTOR_BYTES 64
#define JOINED       0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, 3, 7, 11, 15
#define PARTED       0, 1, 2, 15, 3, 4, 5, 15, 6, 7, 8, 15, 9, 10, 11, 15
#elif defined(__AVX2__)
#define VECTOR_BYTES 32
#define JOINED       0, 1, 2, 4, 5, 6, 3, 7
#define PARTED       0, 1, 2, 7, 3, 4, 5, 7
#else
#define VECTOR_BYTES 16
#define JOINED       0, 1, 2, 3
#define PARTED       JOINED
#endif
#define VECTOR_SHORTS (VECTOR_BYTES / 2)

typedef int8_t Bytes __attribute__((vector_size(VECTOR_BYTES)));
typedef int16_t Shorts __attribute__((vector_size(VECTOR_BYTES)));
typedef uint16_t UnsignedShorts __attribute__((vector_size(VECTOR_BYTES)));
typedef int32_t Words __attribute__((vector_size(VECTOR_BYTES)));
typedef int8_t Lane __attribute__((vector_size(16)));

INLINE Bytes load_bytes(const void *from)
{
  Bytes bytes;

  memcpy(&bytes, from, sizeof bytes);
  return bytes;
}

INLINE Shorts load_shorts(const int16_t *from)
{
  Shorts shorts;

  memcpy(&shorts, from, sizeof shorts);
  return shorts;
}

INLINE void store_bytes(void *to, Bytes bytes)
{
  memcpy(to, &bytes, sizeof bytes);
}

INLINE void store_shorts(int16_t *to, Shorts shorts)
{
  memcpy(to, &shorts, sizeof shorts);
}

INLINE Bytes all_bytes(uint8_t value)
{
  return (int8_t)value - (Bytes){0};
}

INLINE Shorts all_shorts(int16_t value)
{
  return value - (Shorts){0};
}

/* The same 16 bytes in every lane. */
INLINE Bytes repeat(Lane lane)
{
  Bytes bytes;

  for (int i = 0; i < VECTOR_BYTES; i += 16)
    memcpy((char *)&bytes + i, &lane, 16);
  return bytes;
}

/* Moves the first 12 of each 16 bytes together. */
INLINE Bytes join_lanes(Bytes bytes)
{
  return (Bytes)__builtin_shufflevector((Words)bytes, (Words)bytes, JOINED);
}

/* The reverse of join_lanes; the last 4 of each 16 bytes are unspecified. */
INLINE Bytes part_lanes(Bytes bytes)
{
  return (Bytes)__builtin_shufflevector((Words)bytes, (Words)bytes, PARTED);
}

/* Wraps on overflow, which happens only in samples that nobody reads: beyond a row's end, or in
 * surplus rows. */
INLINE Shorts add(Shorts a, Shorts b)
{
  return (Shorts)((UnsignedShorts)a + (UnsignedShorts)b);
}

#if defined(__SSSE3__)

#include <immintrin.h>

#if VECTOR_BYTES == 64
typedef __m512i Native;
#define OP(name) _mm512_##name
#elif VECTOR_BYTES == 32
typedef __m256i Native;
#define OP(name) _mm256_##name
#else
typedef __m128i Native;
#define OP(name) _mm_##name
#endif

/* Keeps the vector in a register: compilers would load an operand of two instructions twice, and
 * loads are the bottleneck. */
#define IN_REGISTER(vector) __asm__("" : "+v"(vector))

/* 128 (a + b) of the lower half of each lane, exact. */
INLINE Shorts fold_low(Bytes a, Bytes b)
{
  return (Shorts)OP(maddubs_epi16)((Native)all_bytes(128), OP(unpacklo_epi8)((Native)a, (Native)b));
}

INLINE Shorts fold_high(Bytes a, Bytes b)
{
  return (Shorts)OP(maddubs_epi16)((Native)all_bytes(128), OP(unpackhi_epi8)((Native)a, (Native)b));
}

/* sample * tap / 2^15, rounded half up. */
INLINE Shorts product(Shorts sample, Shorts tap)
{
  return (Shorts)OP(mulhrs_epi16)((Native)sample, (Native)tap);
}

/* To bytes, with saturation. */
INLINE Bytes narrow(Shorts low, Shorts high)
{
  return (Bytes)OP(packs_epi16)((Native)low, (Native)high);
}

/* Byte index[i] of its lane for each byte i; 0 where the index is negative. */
INLINE Bytes permute(Bytes bytes, Bytes index)
{
  return (Bytes)OP(shuffle_epi8)((Native)bytes, (Native)index);
}

#else

#include <arm_neon.h>

#define IN_REGISTER(vector) __asm__("" : "+w"(vector))

INLINE Shorts fold_low(Bytes a, Bytes b)
{
  return (Shorts)vshlq_n_s16(vaddl_s8(vget_low_s8((int8x16_t)a), vget_low_s8((int8x16_t)b)), 7);
}

INLINE Shorts fold_high(Bytes a, Bytes b)
{
  return (Shorts)vshlq_n_s16(vaddl_high_s8((int8x16_t)a, (int8x16_t)b), 7);
}

INLINE Shorts product(Shorts sample, Shorts tap)
{
  return (Shorts)vqrdmulhq_s16((int16x8_t)sample, (int16x8_t)tap);
}

INLINE Bytes narrow(Shorts low, Shorts high)
{
  return (Bytes)vcombine_s8(vqmovn_s16((int16x8_t)low), vqmovn_s16((int16x8_t)high));
}

INLINE Bytes permute(Bytes bytes, Bytes index)
{
  return (Bytes)vqtbl1q_s8((int8x16_t)bytes, (uint8x16_t)index);
}

#endif
