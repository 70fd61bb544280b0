/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What the weights are made of (CfLlfWeights): sums over cells of 2 x 2 samples of the picture or
 * of a Gaussian, and over the cells of a block and half of those around it.
 */
#pragma once

#include "cuda/llf/mma_common.cuh"

#include <type_traits>

namespace cf::llf
{

constexpr int kBlock = CF_LLF_WEIGHT_BLOCK;

/* --- moments --- */

/* Sums of values and of their squares. */
template <typename T> struct Moments {
  T value, square;
};

template <typename T> __device__ __forceinline__ T inner_and_outer(T a, T b, T c, T d)
{
  return (T)3 * (b + c) + (a + d);
}

template <typename T>
__device__ __forceinline__ Moments<T> moments_down(const Moments<T> (&half)[4])
{
  return {inner_and_outer(half[0].value, half[1].value, half[2].value, half[3].value),
          inner_and_outer(half[0].square, half[1].square, half[2].square, half[3].square)};
}

/* Of a lane's two cells, and of the ones beside them. */
template <typename T> __device__ __forceinline__ T across_cells(T left, T right)
{
  const T before = __shfl_up_sync(~0u, right, 1), after = __shfl_down_sync(~0u, left, 1);

  return inner_and_outer(before, left, right, after);
}

template <typename T>
__device__ __forceinline__ Moments<T> moments_across(const Moments<T> (&cell)[2])
{
  return {across_cells(cell[0].value, cell[1].value), across_cells(cell[0].square, cell[1].square)};
}

/* Two cells of values that are less 1/2, so single precision is enough for squares. */
__device__ __forceinline__ void add_up(const float (&upper)[kBlock], const float (&lower)[kBlock],
                                       Moments<float> (&cell)[2])
{
#pragma unroll
  for (int k = 0; k < 2; k++) {
    const float a = upper[2 * k], b = upper[2 * k + 1], c = lower[2 * k], d = lower[2 * k + 1];

    cell[k] = {(a + b) + (c + d), fmaf(a, a, fmaf(b, b, fmaf(c, c, d * d)))};
  }
}

/* Moments of a block count so many values. */
constexpr int kCounted = 256;

__device__ __forceinline__ float variance_of(const Moments<float> &moments)
{
  constexpr float kUnit = 1.0f / (float)kCounted;
  const float mean = kUnit * moments.value;

  return fmaxf(fmaf(-mean, mean, kUnit * moments.square), 0.0f);
}

/* --- where the values come from --- */

/* What kernels know of the picture, of which words may have four samples, or pixels. */
struct Words {
  const uint8_t *from; /* the first */
  bool aligned;
  uint32_t first_code, last_code; /* of bytes, twice: the nominal range, where it is not all */
  bool clamps;
  Packing packing;
  LumaRow luma_row;
};

/* Sums of bytes are whole numbers, and exact. */
struct ByteValues {
  using Four = uint32_t;
  using Sum = uint32_t;
  const Pixels &pixels;
  const Words &words;

  __device__ __forceinline__ Four gather(const int (&x)[kBlock], int y) const
  {
    Four four = 0;

#pragma unroll
    for (int k = 0; k < kBlock; k++)
      four |= (uint32_t)load_code<uint8_t>(pixels.channel[0].from, pixels.channel[0].from_stride,
                                           pixels.step[0], x[k], y, 0)
              << 8 * k;
    return four;
  }

  __device__ __forceinline__ void prepare(Four (&rows)[kBlock]) const
  {
    if (!words.clamps)
      return;
#pragma unroll
    for (int k = 0; k < kBlock; k++)
      rows[k] = __byte_perm(clamped(rows[k] & 0x00ff00ffu, words.first_code, words.last_code),
                            clamped(rows[k] >> 8 & 0x00ff00ffu, words.first_code, words.last_code),
                            0x6240);
  }

  __device__ __forceinline__ void cells(Four upper, Four lower, Moments<Sum> (&cell)[2]) const
  {
#pragma unroll
    for (int k = 0; k < 2; k++) {
      const uint32_t ones = 0x00000101u << 16 * k, mask = 0x0000ffffu << 16 * k;

      cell[k] = {__dp4a(upper, ones, __dp4a(lower, ones, 0u)),
                 __dp4a(upper, upper & mask, __dp4a(lower, lower & mask, 0u))};
    }
  }

  __device__ __forceinline__ float variance(const Moments<Sum> &moments) const
  {
    const float unit = pixels.weight[0] * (1.0f / (float)kCounted);

    return unit * unit * (float)(kCounted * moments.square - moments.value * moments.value);
  }
};

struct WideValues {
  using Four = uint2;
  using Sum = float;
  const Pixels &pixels;
  const Words &words;

  __device__ __forceinline__ uint32_t sample(int x, int y) const
  {
    return (uint32_t)load_code<uint16_t>(pixels.channel[0].from, pixels.channel[0].from_stride,
                                         pixels.step[0], x, y, 0);
  }

  __device__ __forceinline__ Four gather(const int (&x)[kBlock], int y) const
  {
    return make_uint2(sample(x[0], y) | sample(x[1], y) << 16, sample(x[2], y) | sample(x[3], y)
                                                                                     << 16);
  }

  /* Of a sample, as the low bits of a float. */
  __device__ __forceinline__ float value(uint32_t code) const
  {
    constexpr uint32_t kWholeBits = 0x4b000000;
    const float whole = __uint_as_float(code | kWholeBits) - __uint_as_float(kWholeBits);

    return fma_saturate(pixels.weight[0], whole, pixels.bias) - 0.5f;
  }

  __device__ __forceinline__ void values(const Four &four, float (&value)[kBlock]) const
  {
    value[0] = this->value((four.x & 65535u) >> pixels.shift);
    value[1] = this->value(four.x >> 16 >> pixels.shift);
    value[2] = this->value((four.y & 65535u) >> pixels.shift);
    value[3] = this->value(four.y >> 16 >> pixels.shift);
  }

  __device__ __forceinline__ void prepare(Four (&)[kBlock]) const
  {
  }

  __device__ __forceinline__ void cells(const Four &upper, const Four &lower,
                                        Moments<Sum> (&cell)[2]) const
  {
    float value[2][kBlock];

    values(upper, value[0]);
    values(lower, value[1]);
    add_up(value[0], value[1], cell);
  }

  __device__ __forceinline__ float variance(const Moments<Sum> &moments) const
  {
    return variance_of(moments);
  }
};

struct RgbValues {
  using Four = uint4;
  using Sum = float;
  const Pixels &pixels;
  const Words &words;

  __device__ __forceinline__ Four gather(const int (&x)[kBlock], int y) const
  {
    return make_uint4(load_channels(pixels, words.packing, x[0], y),
                      load_channels(pixels, words.packing, x[1], y),
                      load_channels(pixels, words.packing, x[2], y),
                      load_channels(pixels, words.packing, x[3], y));
  }

  __device__ __forceinline__ float value(uint32_t word) const
  {
    constexpr int kOne = LumaRow::kLast << LumaRow::kBits;
    const int sum = words.luma_row.sum_of(word);

    return fmaf((float)(words.luma_row.clamps ? words.luma_row.clamped(sum) : sum),
                1.0f / (float)kOne, -0.5f);
  }

  __device__ __forceinline__ void prepare(Four (&)[kBlock]) const
  {
  }

  __device__ __forceinline__ void cells(const Four &upper, const Four &lower,
                                        Moments<Sum> (&cell)[2]) const
  {
    const float value[2][kBlock] = {
        {this->value(upper.x), this->value(upper.y), this->value(upper.z), this->value(upper.w)},
        {this->value(lower.x), this->value(lower.y), this->value(lower.z), this->value(lower.w)}};

    add_up(value[0], value[1], cell);
  }

  __device__ __forceinline__ float variance(const Moments<Sum> &moments) const
  {
    return variance_of(moments);
  }
};

struct GaussValues {
  using Four = float4;
  using Sum = float;
  const float *gauss;
  int width;

  __device__ __forceinline__ Four gather(const int (&x)[kBlock], int y) const
  {
    const float *const row = gauss + (size_t)y * width;

    return make_float4(row[x[0]], row[x[1]], row[x[2]], row[x[3]]);
  }

  __device__ __forceinline__ void prepare(Four (&)[kBlock]) const
  {
  }

  __device__ __forceinline__ void cells(const Four &upper, const Four &lower,
                                        Moments<Sum> (&cell)[2]) const
  {
    const float value[2][kBlock] = {
        {upper.x - 0.5f, upper.y - 0.5f, upper.z - 0.5f, upper.w - 0.5f},
        {lower.x - 0.5f, lower.y - 0.5f, lower.z - 0.5f, lower.w - 0.5f}};

    add_up(value[0], value[1], cell);
  }

  __device__ __forceinline__ float variance(const Moments<Sum> &moments) const
  {
    return variance_of(moments);
  }
};

template <typename Sample, Colour Kind>
using PictureValues =
    std::conditional_t<Kind == Colour::RGB, RgbValues,
                       std::conditional_t<sizeof(Sample) == 2, WideValues, ByteValues>>;

} // namespace cf::llf
