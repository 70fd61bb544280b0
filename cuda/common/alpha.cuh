/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Premultiplied alpha. Filters of RGBA and ARGB sum premultiplied colours, (code - centre) * alpha
 * / 255, and divide the sums by the filtered alpha / 255. Alpha has 8 bits in all formats; it is
 * the first (ARGB) or the last (RGBA) of a pixel's four channels.
 */
#pragma once

#include <cuda_runtime.h>
#include <stdint.h>

namespace cf
{

/* 0 .. 1 of an alpha 0 .. 255. Opaque is exactly 1: 255 * (1 / 255) rounds to 1 as float and as
 * double. */
template <typename Real> __device__ inline Real alpha_weight(Real alpha)
{
  return alpha * ((Real)1 / (Real)255);
}

/* The channel at place `i` when a pixel's channels are ordered colours first, alpha last. */
__host__ __device__ constexpr int channel_with_alpha_last(bool alpha_first, int i)
{
  return alpha_first ? (i + 1) % 4 : i;
}

/* --- pixels of four bytes in a word, in the order of memory --- */

/* The mask of alpha's byte. */
__host__ __device__ constexpr uint32_t alpha_byte(bool alpha_first)
{
  return alpha_first ? 0xffu : 0xff000000u;
}

/* Whether alpha is 255 in all of the pixels. */
template <int N> __device__ inline bool is_opaque(const uint32_t (&pixel)[N], bool alpha_first)
{
  const uint32_t mask = alpha_byte(alpha_first);
  uint32_t all = mask;

#pragma unroll
  for (int i = 0; i < N; i++)
    all &= pixel[i];
  return all == mask;
}

__device__ inline bool is_opaque(uint4 pixels, bool alpha_first)
{
  const uint32_t mask = alpha_byte(alpha_first);

  return (pixels.x & pixels.y & pixels.z & pixels.w & mask) == mask;
}

/* --- pixels of four numbers, in the order of memory --- */

/* Multiplies the three colours of a pixel by alpha / 255. Alpha itself comes less 255, so that
 * opaque is 0, and is not changed. */
__device__ inline void premultiply(float (&pixel)[4], bool alpha_first)
{
  const float weight = alpha_weight((alpha_first ? pixel[0] : pixel[3]) + 255.0f);

  pixel[0] *= alpha_first ? 1.0f : weight;
  pixel[1] *= weight;
  pixel[2] *= weight;
  pixel[3] *= alpha_first ? weight : 1.0f;
}

} // namespace cf
