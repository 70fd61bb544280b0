/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The Laplacian pyramid's operators on the device: borders, the 5-tap reduction and expansion, and
 * the packing of component pairs into words.
 *
 * A quad is the 2 x 2 pixels that belong to one pixel of the next coarser level, in the order
 * (0,0), (1,0), (0,1), (1,1). At odd sizes the last quads extend beyond the image.
 */
#pragma once

#include "cuda/common/pdl.cuh"
#include "cuda/llf/types.cuh"

namespace cf::llf
{

/* For kernels that may run concurrently with (`beside`) the previous grid. They start without a
 * wait, relying on an earlier grid that waited before its trigger, which all grids since have
 * relayed (pdl.cuh). end() keeps the grid from ending before the previous one, so that a wait for
 * the last of such grids is a wait for all of them. */
__device__ __forceinline__ void begin(bool beside)
{
  if (beside) {
    pdl_relay_then_trigger();
    return;
  }
  pdl_trigger_then_wait();
}

__device__ __forceinline__ void end(bool beside)
{
  if (beside && blockIdx.x == 0)
    pdl_wait();
}

/* ---- Borders ---- */

/* Half-sample symmetric (-1 reads 0) for the indices that the operators reach, -2..size + 1, with
 * size >= 1. Any other index gives some valid index. */
__device__ __forceinline__ int mirrored(int i, int size)
{
  i = i < 0 ? -1 - i : i;
  i = i >= size ? 2 * size - 1 - i : i;
  return min(max(i, 0), size - 1);
}

/* ---- Arithmetic, for one component or a pair ---- */

__device__ __forceinline__ float sum(float a, float b)
{
  return a + b;
}

__device__ __forceinline__ float2 sum(float2 a, float2 b)
{
  return make_float2(a.x + b.x, a.y + b.y);
}

__device__ __forceinline__ float scaled(float factor, float a)
{
  return factor * a;
}

__device__ __forceinline__ float2 scaled(float factor, float2 a)
{
  return make_float2(factor * a.x, factor * a.y);
}

/* ---- The operators reduce and expand (plan/llf_plan.h), first along one axis ---- */

constexpr float TAP_CENTRE = (float)CF_LLF_TAP_CENTRE, TAP_SIDE = (float)CF_LLF_TAP_SIDE,
                TAP_EDGE = (float)CF_LLF_TAP_EDGE;

template <typename T> __device__ __forceinline__ T reduced(T a, T b, T c, T d, T e)
{
  return sum(sum(scaled(TAP_EDGE, sum(a, e)), scaled(TAP_SIDE, sum(b, d))), scaled(TAP_CENTRE, c));
}

template <typename T> __device__ __forceinline__ T expanded_even(T before, T here, T after)
{
  return sum(scaled(2 * TAP_EDGE, sum(before, after)), scaled(2 * TAP_CENTRE, here));
}

template <typename T> __device__ __forceinline__ T expanded_odd(T here, T after)
{
  return scaled(2 * TAP_SIDE, sum(here, after));
}

/* Pixel (x, y) of the next coarser level of a plane. */
__device__ __forceinline__ float reduced_plane(const float *plane, int width, int height, int x,
                                               int y)
{
  float rows[5];

#pragma unroll
  for (int j = 0; j < 5; j++) {
    const float *const p = plane + (size_t)mirrored(2 * y - 2 + j, height) * width;
    rows[j] = reduced(p[mirrored(2 * x - 2, width)], p[mirrored(2 * x - 1, width)], p[2 * x],
                      p[mirrored(2 * x + 1, width)], p[mirrored(2 * x + 2, width)]);
  }
  return reduced(rows[0], rows[1], rows[2], rows[3], rows[4]);
}

/* Expands the 3 x 3 neighbourhood [row][column] of a coarse pixel to its quad. */
template <typename T> __device__ __forceinline__ void expand_quad(const T coarse[3][3], T quad[4])
{
  T even[3], odd[3];

#pragma unroll
  for (int row = 0; row < 3; row++) {
    even[row] = expanded_even(coarse[row][0], coarse[row][1], coarse[row][2]);
    odd[row] = expanded_odd(coarse[row][1], coarse[row][2]);
  }
  quad[0] = expanded_even(even[0], even[1], even[2]);
  quad[1] = expanded_even(odd[0], odd[1], odd[2]);
  quad[2] = expanded_odd(even[1], even[2]);
  quad[3] = expanded_odd(odd[1], odd[2]);
}

/* The 3 x 3 coarse pixels around (x, y), with the border replicated: for a reach of 1 the same as
 * half-sample symmetry. */
struct Neighbours {
  int column[3];
  size_t row[3]; /* index of its first pixel */
};

__device__ __forceinline__ Neighbours neighbours(int x, int y, int width, int height)
{
  Neighbours n;

#pragma unroll
  for (int i = 0; i < 3; i++) {
    n.column[i] = min(max(x + i - 1, 0), width - 1);
    n.row[i] = (size_t)min(max(y + i - 1, 0), height - 1) * width;
  }
  return n;
}

__device__ __forceinline__ void expand_plane(const float *plane, const Neighbours &n, float quad[4])
{
  float coarse[3][3];

#pragma unroll
  for (int row = 0; row < 3; row++) {
#pragma unroll
    for (int column = 0; column < 3; column++)
      coarse[row][column] = plane[n.row[row] + n.column[column]];
  }
  expand_quad(coarse, quad);
}

/* The weight of cell (x, y), with the border replicated. */
__device__ __forceinline__ __half weight_at(const CellWeights &weights, int x, int y)
{
  return weights.plane[weights.index(min(max(x, 0), 2 * weights.across - 1),
                                     min(max(y, 0), 2 * weights.down - 1))];
}

/* ---- Component pairs ---- */

__device__ __forceinline__ uint32_t pack(float2 pair)
{
  const __half2 packed = __floats2half2_rn(pair.x, pair.y);
  return *reinterpret_cast<const uint32_t *>(&packed);
}

__device__ __forceinline__ float2 unpack(uint32_t word)
{
  return __half22float2(*reinterpret_cast<const __half2 *>(&word));
}

/* Word k of a group; k is a compile-time constant once loops are unrolled. */
__device__ __forceinline__ uint32_t word(const uint4 &group, int k)
{
  return k == 0 ? group.x : k == 1 ? group.y : k == 2 ? group.z : group.w;
}

/* sin and cos of `turns` full turns, with an error of 2^-20: the angle is first reduced to within
 * half a turn, since the hardware's error grows with it. */
__device__ __forceinline__ void sincos_turns(float turns, float *sine, float *cosine)
{
  __sincosf(6.283185307f * (turns - rintf(turns)), sine, cosine);
}

/* Sine and cosine of harmonic n + 1. Explicit rounding makes all kernels compute the same bits, so
 * that a pixel's own terms cancel exactly, and flat areas keep their codes, even of 16 bits. */
__device__ __forceinline__ void sincos_harmonic(const Series &series, int n, float intensity,
                                                float *sine, float *cosine)
{
  sincos_turns(__fmul_rn(__fmul_rn((float)(n + 1), series.turn), intensity), sine, cosine);
}

} // namespace cf::llf
