/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Alpha that weights colours. Filters of RGBA and ARGB take sums of premultiplied colours, alpha /
 * 255 times the code less its centre, and divide them by the filtered alpha. Alpha has 8 bits in
 * all formats; it is the first or the last of a pixel's four channels.
 */
#pragma once

#include <cuda_runtime.h>
#include <stdint.h>

namespace cf
{

/* The share of opaque. 255 * (1 / 255) is exactly 1 in either precision. */
template <typename Real> __device__ inline Real alpha_weight(Real alpha)
{
  return alpha * ((Real)1 / (Real)255);
}

/* --- pixels of four bytes in a word --- */

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

/* --- pixels of four numbers --- */

/* Weights the three colours of a pixel by its alpha, which is centred on opaque and stays. */
__device__ inline void premultiply(float (&pixel)[4], bool alpha_first)
{
  const float weight = alpha_weight((alpha_first ? pixel[0] : pixel[3]) + 255.0f);

  pixel[0] *= alpha_first ? 1.0f : weight;
  pixel[1] *= weight;
  pixel[2] *= weight;
  pixel[3] *= alpha_first ? weight : 1.0f;
}

/* From sums of premultiplied colours back to codes, for one pixel. Where the filtered alpha rounds
 * to 0 nothing shows, and the colour is that of transparent pixels. */
struct Unpremultiply {
  bool shows;
  float factor;

  /* `alpha`: filtered, 0 .. 255, not centred. */
  __device__ explicit Unpremultiply(float alpha) : shows(alpha >= 0.5f), factor(255.0f / alpha)
  {
  }

  /* `sum` is of codes less `centre`. */
  __device__ float operator()(float sum, float centre, float transparent_code) const
  {
    return shows ? fmaf(sum, factor, centre) : transparent_code;
  }
};

} // namespace cf
