/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The local Laplacian filter's fast engine on tensor cores (sm_80 and newer): what its way down and
 * its way up share.
 *
 * Both 5-tap operators are small matrix products on fp16 fragments. Down, a banded 16 x 35 matrix
 * makes 16 pixels of a row of the next level. Up, a 16 x 16 matrix makes 4 x 4 pixels of 4 x 4
 * coarser ones. What is multiplied has a group of components in its 8 columns. At level 0 of 8
 * and 10-bit pictures the components are rows of a table in shared memory, one a code value, which
 * ldmatrix fetches by address: look-up and layout are one instruction.
 */
#pragma once

#include "llf_device.cuh"
#include "llf_tensor_ops.cuh"

namespace llf
{

/* Bytes of one group of one pixel, and of a row of a table. */
constexpr int GROUP_BYTES = 16;

/* The taps in fp16, rounded so that their sum is exactly 1: a gain of 1 - 2^-13 a level would add
 * up. */
constexpr float HALF_EDGE = 1640.0f / 32768.0f, HALF_SIDE = 0.25f, HALF_CENTRE = 1638.0f / 4096.0f;

/* Sine and cosine of a pixel's first harmonic, turned on from harmonic to harmonic. */
struct Rotation {
  float step_sine, step_cosine, sine, cosine;

  /* At harmonic `first` + 1. */
  __device__ __forceinline__ Rotation(float turns, int first)
  {
    sincos_turns(turns, &step_sine, &step_cosine);
    sine = step_sine;
    cosine = step_cosine;
    if (first > 0)
      sincos_turns((float)(first + 1) * turns, &sine, &cosine);
  }

  __device__ __forceinline__ void advance()
  {
    const float turned = fmaf(sine, step_cosine, cosine * step_sine);
    cosine = fmaf(cosine, step_cosine, -sine * step_sine);
    sine = turned;
  }
};

/* The code values that a table has rows for. */
template <typename Sample> constexpr int TABLE_ENTRIES = sizeof(Sample) == 1 ? 256 : 1024;

__device__ __forceinline__ float intensity_of_code(const Pixels &pixels, float code)
{
  return __saturatef(fmaf(pixels.weight[0], code, pixels.bias));
}

/* Whether level 0 is looked up in a table; black is a code value then. */
inline bool has_table(const Pixels &pixels)
{
  return pixels.colour != Colour::RGB && pixels.max_code < 1024.0f &&
         pixels.offset == (float)(int)pixels.offset;
}

/* Sets a kernel's limit of dynamic shared memory; it belongs to the kernel, not to a state. */
template <typename Kernel> bool allow_shared(Kernel kernel, int bytes, CfStatus *status)
{
  return cf_cuda_ok(
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes),
      "preparing the local Laplacian kernels", status);
}

} // namespace llf
