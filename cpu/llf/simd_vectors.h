/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Vectors of the instruction set that a file is compiled for.
 */
#pragma once

#include <stdint.h>
#include <string.h>

#include "cpu/common/cpu.h"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512VL__)
#define LANES 16
#elif defined(__AVX2__)
#define LANES 8
#else
#define LANES 4
#endif

#define COMPONENTS CF_LLF_COMPONENTS /* per pixel */

typedef float Vector __attribute__((vector_size(4 * LANES)));
typedef int32_t Integers __attribute__((vector_size(4 * LANES)));
typedef int16_t Shorts __attribute__((vector_size(2 * LANES)));
typedef float Float4 __attribute__((vector_size(16)));

INLINE Vector load(const float *from)
{
  Vector vector;

  memcpy(&vector, from, sizeof vector);
  return vector;
}

/* By intrinsics: compilers need four instructions for this one. */
INLINE Vector load_shorts(const int16_t *from)
{
#if LANES == 16
  return (Vector)_mm512_cvtepi32_ps(
      _mm512_cvtepi16_epi32(_mm256_loadu_si256((const __m256i *)from)));
#elif LANES == 8
  return (Vector)_mm256_cvtepi32_ps(_mm256_cvtepi16_epi32(_mm_loadu_si128((const __m128i *)from)));
#else
  Shorts shorts;

  memcpy(&shorts, from, sizeof shorts);
  return __builtin_convertvector(__builtin_convertvector(shorts, Integers), Vector);
#endif
}

/* Adding 1.5 * 2^23 rounds to the nearest integer, then in the low bits of the mantissa. */
#define ROUNDER 12582912.0f

INLINE void store_shorts(int16_t *to, Vector vector)
{
  const Integers integers = (Integers)(vector + ROUNDER);
  const Shorts shorts = __builtin_convertvector(integers, Shorts);

  memcpy(to, &shorts, sizeof shorts);
}

/* a where `holds` is true, b elsewhere. */
INLINE Vector choose(Integers holds, Vector a, Vector b)
{
  return (Vector)((holds & (Integers)a) | (~holds & (Integers)b));
}

/* Sums over the lanes of each of four vectors. */
INLINE Float4 sum_lanes(Vector a, Vector b, Vector c, Vector d)
{
#if LANES == 16
#define EVEN_LANES 0, 2, 16, 18, 4, 6, 20, 22, 8, 10, 24, 26, 12, 14, 28, 30
#define ODD_LANES  1, 3, 17, 19, 5, 7, 21, 23, 9, 11, 25, 27, 13, 15, 29, 31
#elif LANES == 8
#define EVEN_LANES 0, 2, 8, 10, 4, 6, 12, 14
#define ODD_LANES  1, 3, 9, 11, 5, 7, 13, 15
#else
#define EVEN_LANES 0, 2, 4, 6
#define ODD_LANES  1, 3, 5, 7
#endif
  const Vector ab =
      __builtin_shufflevector(a, b, EVEN_LANES) + __builtin_shufflevector(a, b, ODD_LANES);
  const Vector cd =
      __builtin_shufflevector(c, d, EVEN_LANES) + __builtin_shufflevector(c, d, ODD_LANES);
  const Vector abcd =
      __builtin_shufflevector(ab, cd, EVEN_LANES) + __builtin_shufflevector(ab, cd, ODD_LANES);
#undef EVEN_LANES
#undef ODD_LANES
#if LANES == 16
  typedef float Float8 __attribute__((vector_size(32)));
  const Float8 half = __builtin_shufflevector(abcd, abcd, 0, 1, 2, 3, 4, 5, 6, 7) +
                      __builtin_shufflevector(abcd, abcd, 8, 9, 10, 11, 12, 13, 14, 15);
  return __builtin_shufflevector(half, half, 0, 1, 2, 3) +
         __builtin_shufflevector(half, half, 4, 5, 6, 7);
#elif LANES == 8
  return __builtin_shufflevector(abcd, abcd, 0, 1, 2, 3) +
         __builtin_shufflevector(abcd, abcd, 4, 5, 6, 7);
#else
  return abcd;
#endif
}

INLINE Vector square_root(Vector vector)
{
#if LANES == 16
  return (Vector)_mm512_sqrt_ps((__m512)vector);
#elif LANES == 8
  return (Vector)_mm256_sqrt_ps((__m256)vector);
#else
  for (int i = 0; i < LANES; i++)
    vector[i] = __builtin_sqrtf(vector[i]);
  return vector;
#endif
}

/* 1 / sqrt (vector) to about 2^-13, of vectors above 0. */
INLINE Vector rough_reciprocal_root(Vector vector)
{
#if LANES == 16
  return (Vector)_mm512_rsqrt14_ps((__m512)vector);
#elif LANES == 8
  const Vector rough = (Vector)_mm256_rsqrt_ps((__m256)vector);

  return rough * (1.5f - 0.5f * vector * rough * rough);
#else
  return 1.0f / square_root(vector);
#endif
}
