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

/* What numbers the rows of a table of level 0: 8-bit codes, codes of up to 10 bits, or the luma of
 * 8-bit red, green and blue in 11 bits, to which it is rounded everywhere but in the term that is
 * linear in it. Others have no table. */
enum class Key { BYTE, WORD, LUMA, NONE };

template <Key key> struct KeyOf {
  using Sample = uint16_t; /* of the picture, and of row numbers in shared memory */
  static constexpr int ENTRIES = 1024, COPIES = 1;
};

template <> struct KeyOf<Key::BYTE> {
  using Sample = uint8_t;
  static constexpr int ENTRIES = 256, COPIES = 8;
};

template <> struct KeyOf<Key::LUMA> {
  using Sample = uint16_t;
  static constexpr int ENTRIES = 2048, COPIES = 1;
};

template <Key key>
__device__ __forceinline__ float intensity_of_row(const Pixels &pixels, float row)
{
  return key == Key::LUMA ? row * (1.0f / (KeyOf<key>::ENTRIES - 1))
                          : __saturatef(fmaf(pixels.weight[0], row, pixels.bias));
}

__device__ __forceinline__ uint32_t row_of_luma(float luma)
{
  return __float2uint_rn(__saturatef(luma) * (KeyOf<Key::LUMA>::ENTRIES - 1));
}

/* The three channels of 8-bit pictures as bytes of one aligned word a pixel, where they are. */
struct Packing {
  bool packed;
  int byte[3];
};

inline Packing packing_of(const Pixels &pixels)
{
  Packing packing = {
      pixels.colour == Colour::RGB && !pixels.wide && pixels.channel[0].from_stride % 4 == 0, {}};
  const uintptr_t word = (uintptr_t)pixels.channel[0].from & ~(uintptr_t)3;

  for (int c = 0; c < 3 && packing.packed; c++) {
    const uintptr_t offset = (uintptr_t)pixels.channel[c].from - word;

    packing.packed = pixels.step[c] == 4 && offset <= 3;
    packing.byte[c] = (int)offset;
  }
  return packing;
}

__device__ __forceinline__ float luma_of_word(const Pixels &pixels, const Packing &packing,
                                              uint32_t word)
{
  float luma = pixels.bias;

#pragma unroll
  for (int c = 0; c < 3; c++)
    luma = fmaf(pixels.weight[c], (float)(word >> 8 * packing.byte[c] & 255), luma);
  return luma;
}

/* Black is a code value where that is the key. */
inline Key key_of(const Pixels &pixels)
{
  if (pixels.colour == Colour::RGB)
    return pixels.wide ? Key::NONE : Key::LUMA;
  if (pixels.max_code >= 1024.0f || pixels.offset != (float)(int)pixels.offset)
    return Key::NONE;
  return pixels.wide ? Key::WORD : Key::BYTE;
}

/* Sets a kernel's limit of dynamic shared memory; it belongs to the kernel, not to a state. */
template <typename Kernel> bool allow_shared(Kernel kernel, int bytes, CfStatus *status)
{
  return cf_cuda_ok(
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes),
      "preparing the local Laplacian kernels", status);
}

} // namespace llf
