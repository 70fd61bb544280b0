/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The vectors of the instruction set that bytes_loops.c is compiled for. `low` and `high` are
 * halves of each 16 bytes; only vectors of 16 bytes keep the order of samples when halves become
 * vectors of their own, but narrow() restores it in all.
 */
#pragma once

#include <stdint.h>
#include <string.h>

#define INLINE static inline __attribute__((always_inline))

#if defined(__AVX512BW__)
#define VECTOR_BYTES 64
#elif defined(__AVX2__)
#define VECTOR_BYTES 32
#else
#define VECTOR_BYTES 16
#endif
#define VECTOR_SHORTS (VECTOR_BYTES / 2)

typedef int8_t Bytes __attribute__((vector_size(VECTOR_BYTES)));
typedef int16_t Shorts __attribute__((vector_size(VECTOR_BYTES)));
typedef uint16_t Unsigned __attribute__((vector_size(VECTOR_BYTES)));
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

/* Wraps: what lies beyond a row, or in rows that nobody reads, may be anything. */
INLINE Shorts add(Shorts a, Shorts b)
{
  return (Shorts)((Unsigned)a + (Unsigned)b);
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

/* Compilers load an operand of two instructions twice, and loads are the bottleneck. */
#define IN_REGISTER(vector) __asm__("" : "+v"(vector))

/* 128 (a + b), exactly. */
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

/* Saturated. */
INLINE Bytes narrow(Shorts low, Shorts high)
{
  return (Bytes)OP(packs_epi16)((Native)low, (Native)high);
}

/* Byte index[i] of each 16 bytes; 0 where the index is negative. */
INLINE Bytes permute(Bytes bytes, Lane index)
{
#if VECTOR_BYTES == 64
  return (Bytes)_mm512_shuffle_epi8((Native)bytes, _mm512_broadcast_i32x4((__m128i)index));
#elif VECTOR_BYTES == 32
  return (Bytes)_mm256_shuffle_epi8((Native)bytes, _mm256_broadcastsi128_si256((__m128i)index));
#else
  return (Bytes)_mm_shuffle_epi8((Native)bytes, (__m128i)index);
#endif
}

/* The first 12 of each 16 bytes side by side. */
INLINE Bytes join_lanes(Bytes bytes)
{
#if VECTOR_BYTES == 64
  return (Bytes)_mm512_permutexvar_epi32(
      _mm512_setr_epi32(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, 3, 7, 11, 15), (Native)bytes);
#elif VECTOR_BYTES == 32
  return (Bytes)_mm256_permutevar8x32_epi32((Native)bytes,
                                            _mm256_setr_epi32(0, 1, 2, 4, 5, 6, 3, 7));
#else
  return bytes;
#endif
}

/* The reverse; the last 4 of each 16 bytes may be anything. */
INLINE Bytes part_lanes(Bytes bytes)
{
#if VECTOR_BYTES == 64
  return (Bytes)_mm512_permutexvar_epi32(
      _mm512_setr_epi32(0, 1, 2, 15, 3, 4, 5, 15, 6, 7, 8, 15, 9, 10, 11, 15), (Native)bytes);
#elif VECTOR_BYTES == 32
  return (Bytes)_mm256_permutevar8x32_epi32((Native)bytes,
                                            _mm256_setr_epi32(0, 1, 2, 7, 3, 4, 5, 7));
#else
  return bytes;
#endif
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

INLINE Bytes permute(Bytes bytes, Lane index)
{
  return (Bytes)vqtbl1q_s8((int8x16_t)bytes, (uint8x16_t)index);
}

INLINE Bytes join_lanes(Bytes bytes)
{
  return bytes;
}

INLINE Bytes part_lanes(Bytes bytes)
{
  return bytes;
}

#endif
