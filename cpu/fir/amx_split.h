/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Deinterleaves 8-bit pixels into the tiles that amx_tile.c multiplies, by byte permutations of
 * AVX-512.
 */
#pragma once

#include <immintrin.h>

#include "cpu/common/cpu.h"
#include "cpu/fir/amx.h"

/* Byte positions of one channel in 64 pixels; permutations use them modulo their source's size. */
static __m512i index_of(int channels, int channel)
{
  uint8_t index[64];

  for (int i = 0; i < 64; i++)
    index[i] = (uint8_t)(i * channels + channel);
  return _mm512_loadu_si512(index);
}

/* Deinterleaves 64 pixels of four channels, `pitch` bytes apart. */
INLINE void split_4(const uint8_t *from, ptrdiff_t pitch, uint8_t *to)
{
  const __m512i first = _mm512_setr_epi32(0x0c080400, 0x1c181410, 0x2c282420, 0x3c383430, 0, 0, 0,
                                          0, 0, 0, 0, 0, 0, 0, 0, 0);
  const __m512i channel = _mm512_setr_epi32(
      0, 0, 0, 0, 0x01010101, 0x01010101, 0x01010101, 0x01010101, 0x02020202, 0x02020202,
      0x02020202, 0x02020202, 0x03030303, 0x03030303, 0x03030303, 0x03030303);
  const __m512i index = _mm512_add_epi8(_mm512_shuffle_i64x2(first, first, 0), channel);
  __m512i quarter[4], half[4];

  for (int i = 0; i < 4; i++)
    quarter[i] = _mm512_permutexvar_epi8(index, _mm512_loadu_si512(from + 64 * i));
  for (int i = 0; i < 2; i++) {
    half[i] = _mm512_shuffle_i64x2(quarter[2 * i], quarter[2 * i + 1], 0x44);
    half[2 + i] = _mm512_shuffle_i64x2(quarter[2 * i], quarter[2 * i + 1], 0xee);
  }
  for (int i = 0; i < 2; i++) {
    _mm512_storeu_si512(to + 2 * i * pitch,
                        _mm512_shuffle_i64x2(half[2 * i], half[2 * i + 1], 0x88));
    _mm512_storeu_si512(to + (2 * i + 1) * pitch,
                        _mm512_shuffle_i64x2(half[2 * i], half[2 * i + 1], 0xdd));
  }
}

INLINE void split_3(const uint8_t *from, ptrdiff_t pitch, const __m512i index[3], uint8_t *to)
{
  const __m512i a = _mm512_loadu_si512(from), b = _mm512_loadu_si512(from + 64);
  const __m512i c = _mm512_loadu_si512(from + 128);

  for (int channel = 0; channel < 3; channel++) {
    const __mmask64 beyond = UINT64_MAX << (130 - channel) / 3; /* of i: 3 i + channel >= 128 */
    const __m512i first = _mm512_permutex2var_epi8(a, index[channel], b);

    _mm512_storeu_si512(to + channel * pitch,
                        _mm512_mask_permutexvar_epi8(first, beyond, index[channel], c));
  }
}

INLINE void split_2(const uint8_t *from, ptrdiff_t pitch, const __m512i index[2], uint8_t *to)
{
  const __m512i a = _mm512_loadu_si512(from), b = _mm512_loadu_si512(from + 64);

  for (int channel = 0; channel < 2; channel++)
    _mm512_storeu_si512(to + channel * pitch, _mm512_permutex2var_epi8(a, index[channel], b));
}

/* Deinterleaves 64 pixels into one row of the tile of each channel. */
INLINE void split_pixels(const int channels, const uint8_t *from, uint8_t *to)
{
  const __m512i index[3] = {index_of(channels, 0), index_of(channels, 1), index_of(channels, 2)};

  switch (channels) {
  case 1:
    _mm512_storeu_si512(to, _mm512_loadu_si512(from));
    break;
  case 2:
    split_2(from, CF_MATRIX_TILE, index, to);
    break;
  case 3:
    split_3(from, CF_MATRIX_TILE, index, to);
    break;
  default:
    split_4(from, CF_MATRIX_TILE, to);
  }
}
