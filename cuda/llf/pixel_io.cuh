/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * From a picture's codes to intensities, and back: the filter's change of an intensity becomes new
 * codes, of the filtered channel and of the colours that follow it.
 */
#pragma once

#include "cuda/common/int_math.cuh"
#include "cuda/common/ptx_math.cuh"
#include "cuda/llf/types.cuh"

namespace cf::llf
{

template <typename Sample>
__device__ __forceinline__ int load_code(const uint8_t *data, ptrdiff_t stride, int step, int x,
                                         int y, int shift)
{
  return reinterpret_cast<const Sample *>(data + y * stride)[(ptrdiff_t)x * step] >> shift;
}

/* Intensity before clamping to 0..1. */
template <typename Sample, Colour Kind>
__device__ __forceinline__ float load_intensity(const Pixels &pixels, int x, int y)
{
  float intensity = pixels.bias;

#pragma unroll
  for (int c = 0; c < (Kind == Colour::RGB ? 3 : 1); c++)
    intensity = fmaf(pixels.weight[c],
                     (float)load_code<Sample>(pixels.channel[c].from, pixels.channel[c].from_stride,
                                              pixels.step[c], x, y, pixels.shift),
                     intensity);
  return intensity;
}

/* The same for any picture. RGB pictures have 8 bits. */
__device__ __forceinline__ float load_intensity(const Pixels &pixels, int x, int y)
{
  if (pixels.wide)
    return load_intensity<uint16_t, Colour::SINGLE>(pixels, x, y);
  return pixels.colour == Colour::RGB ? load_intensity<uint8_t, Colour::RGB>(pixels, x, y)
                                      : load_intensity<uint8_t, Colour::SINGLE>(pixels, x, y);
}

template <typename Sample, Colour Kind>
__device__ __forceinline__ void load_quad(const Pixels &pixels, int x, int y, float quad[4])
{
#pragma unroll
  for (int i = 0; i < 4; i++)
    quad[i] = load_intensity<Sample, Kind>(pixels, min(x + (i & 1), pixels.width - 1),
                                           min(y + (i >> 1), pixels.height - 1));
}

/* A quad's intensities before clamping, with the border replicated. */
__device__ __forceinline__ void load_quad(const Pixels &pixels, int x, int y, float quad[4])
{
  if (pixels.wide)
    load_quad<uint16_t, Colour::SINGLE>(pixels, x, y, quad);
  else if (pixels.colour == Colour::RGB)
    load_quad<uint8_t, Colour::RGB>(pixels, x, y, quad);
  else
    load_quad<uint8_t, Colour::SINGLE>(pixels, x, y, quad);
}

/* ---- The change, with `protect`, and colours that follow (plan/llf_plan.h) ---- */

/* cf_llf_shoulder(), as value / (1 + (value * unit / room)^4)^(1/4). `room` is above 0. */
__device__ __forceinline__ float shoulder(float value, float unit, float room)
{
  const float ratio = value * unit * reciprocal_approx(room), squared = ratio * ratio;

  return value * sqrt_approx(rsqrt_approx(fmaf(squared, squared, 1.0f)));
}

/* cf_llf_protected(), or without `protect` the change itself. `above`: by how much the largest of
 * red, green and blue exceeds luma; 0 for a single channel. */
__device__ __forceinline__ float protected_change(const Pixels &pixels, float luma, float above,
                                                  float added)
{
  const float base = luma + (float)CF_LLF_GAIN_EPSILON;
  const bool rises = added > 0.0f;

  return shoulder(added, rises ? base + above : 1.0f,
                  fmaf(pixels.most_of_room, rises ? fmaxf(1.0f - luma - above, 0.0f) * base : luma,
                       pixels.free_room));
}

/* `follow` where luma rises, eased in the dark; 0 where luma falls. */
__device__ __forceinline__ float eased_rise(float luma, float follow)
{
  const float t = __saturatef(luma * (float)(1.0 / CF_LLF_EASED_BELOW));

  return t * t * fmaf(-2.0f, t, 3.0f) * fmaxf(follow, 0.0f);
}

/* ---- Codes as floating-point numbers ---- */

/* Codes are computed with an offset (kCodeOffset), so that few instructions read and round them:
 * 8-bit codes are the second byte of a float from 32768 on, or for RGB the low byte of a half from
 * 1024 on; 16-bit codes are a half too large, so that truncation rounds them. */
template <typename Sample> constexpr float kCodeOffset = sizeof(Sample) == 1 ? 32768.0f : 0.5f;
constexpr float kRgbCodeOffset = 1024.0f;

/* The code in the low bits of kWhole + code. */
__device__ __forceinline__ float code_of_bits(uint32_t bits)
{
  return __uint_as_float(bits) - kWhole;
}

/* Bits whose low 16 are the clamped and rounded code. `code` has the offset of 16-bit samples. */
__device__ __forceinline__ uint32_t rounded_bits(float code, float max_code)
{
  return __float_as_uint(__fadd_rd(fminf(fmaxf(code, 0.5f), max_code + 0.5f), kWhole));
}

/* The smallest denormal: the bits of n times it are the integer n. */
constexpr float kDenormal = 1.40129846e-45f;

/* `number` rounded to an integer, less an offset: minus_offset is -offset * kDenormal. Where the
 * result is below 0 it is some negative integer. */
__device__ __forceinline__ int rounded_integer(float number, float minus_offset)
{
  return __float_as_int(fmaf(number, kDenormal, minus_offset));
}

/* Two integers as bytes 0 and 1, clamped to 0..255; bytes 2 and 3 are bytes 0 and 1 of `bytes`. */
__device__ __forceinline__ uint32_t pack_clamped_bytes(int low, int high, uint32_t bytes)
{
  uint32_t packed;

  asm("cvt.pack.sat.u8.s32.b32 %0, %1, %2, %3;" : "=r"(packed) : "r"(high), "r"(low), "r"(bytes));
  return packed;
}

/* The clamped and rounded code, from one with the offset. */
template <typename Sample>
__device__ __forceinline__ uint32_t rounded_code(float code, float max_code)
{
  if constexpr (sizeof(Sample) == 1)
    return pack_clamped_bytes(rounded_integer(code, -kCodeOffset<Sample> * kDenormal), 0, 0);
  else
    return rounded_bits(code, max_code);
}

/* ---- The filtered codes, for pictures that are read sample by sample and in vectors ---- */

/* A colour's gain is computed as a share of the largest gain, so that saturation limits it. */
constexpr float kMaxGain = (float)CF_LLF_MAX_GAIN, kGainEpsilon = (float)CF_LLF_GAIN_EPSILON;

/* Factors and addends of filtered_colours(). A slope is per unit of its luma and ceiling. */
struct RgbFactors {
  float luma_weight[3];
  float scale, linear_slope, linear_offset; /* of the change */
  float luma_offset;
  float room_slope, room_offset, free_room; /* of `protect` */
  float epsilon, dark_slope, dark_offset, minus_strength;
};

inline RgbFactors rgb_factors_of(const Pixels &pixels, float linear)
{
  const float epsilon = (float)CF_LLF_GAIN_EPSILON * pixels.scale;

  RgbFactors factors = {};

  factors.scale = pixels.scale;
  for (int c = 0; c < 3; c++)
    factors.luma_weight[c] = pixels.weight[c] * pixels.scale;
  factors.linear_slope = linear / kMaxGain;
  factors.linear_offset = -linear * epsilon;
  factors.luma_offset = kMaxGain * (epsilon - kRgbCodeOffset);
  factors.room_slope = pixels.most_of_room / kMaxGain;
  factors.room_offset = pixels.most_of_room * (pixels.scale + epsilon);
  factors.free_room = pixels.free_room * pixels.scale * kMaxGain * pixels.scale;
  factors.epsilon = kMaxGain * epsilon;
  factors.dark_slope = (float)(1.0 / CF_LLF_EASED_BELOW) / (kMaxGain * pixels.scale);
  factors.minus_strength = -pixels.strength / kMaxGain;
  factors.dark_offset = -(float)(CF_LLF_GAIN_EPSILON / CF_LLF_EASED_BELOW);
  return factors;
}

/* The intensity of a luma code with the offset. */
template <typename Sample>
__device__ __forceinline__ float luma_of(const Pixels &pixels, float code)
{
  return __saturatef(
      fmaf(pixels.weight[0], code, fmaf(-kCodeOffset<Sample>, pixels.weight[0], pixels.bias)));
}

/* The filtered code, from the code and its intensity. `change` is what the filter adds to the
 * intensity. *added is the same with `protect`: chroma follows that, whatever the strength. */
__device__ __forceinline__ float filtered_luma(const Pixels &pixels, float code, float luma,
                                               float above, float change, float *added)
{
  *added = protected_change(pixels, luma, above, change);
  return fmaf(pixels.strength * pixels.scale, *added, code);
}

/* cf_llf_colour_above(), from two chroma codes with the offset. */
template <typename Sample>
__device__ __forceinline__ float colour_above(const Pixels &pixels, float first, float second)
{
  const float centre = pixels.chroma_centre + kCodeOffset<Sample>;
  const float blue = first - centre, red = second - centre;

  return fmaxf(fmaxf(pixels.blue_of_blue * blue, pixels.red_of_red * red),
               fmaf(pixels.green_of_blue, blue, pixels.green_of_red * red));
}

/* (1 + follow) / kMaxGain, clamped to 0..1, with follow = kMaxGain * change / max (base, least).
 * `base` is kMaxGain times luma, or luma plus an epsilon where it rises; `least`: kMaxGain
 * epsilons.
 */
__device__ __forceinline__ float gain_share(float base, float least, float change)
{
  return __saturatef(fmaf(change, reciprocal_approx(fmaxf(base, least)), 1.0f / kMaxGain));
}

/* `follow` for a chroma sample: below 0 in `falls` or above 0 in `rises`, the other is 0. `most`:
 * in codes, how far from the centre chroma follows. */
struct Follow {
  float falls, rises, most;
};

/* Sums over two adjacent pixels: the luma, and what the filter adds to it. */
struct PairSum {
  float luma, added;
};

/* `follow` for the mean of two pairs: `above` and `below` are the shares of one pixel of the first
 * and of the second pair. */
__device__ __forceinline__ Follow follow_quad(const Pixels &pixels, float above, float below,
                                              const PairSum &first, const PairSum &second)
{
  const float below_lumas = fmaf(kMaxGain * below, second.luma, kMaxGain * kGainEpsilon);
  const float lumas = fmaf(kMaxGain * above, first.luma, below_lumas);
  const float change = fmaf(above, first.added, below * second.added);
  const float gain = gain_share(change > 0.0f ? lumas : lumas - kMaxGain * kGainEpsilon,
                                kMaxGain * kGainEpsilon, change);
  const float follow = fmaf(kMaxGain, gain, -1.0f);

  return Follow{fminf(follow, 0.0f),
                eased_rise(fmaf(lumas, 1.0f / kMaxGain, -kGainEpsilon), follow),
                pixels.most_chroma / kMaxGain * lumas};
}

/* The filtered codes of the two chroma samples of a pixel, with the offset. No branches: the time
 * does not depend on the picture. */
template <typename Sample>
__device__ __forceinline__ void filtered_chroma(const Pixels &pixels, const Follow &follow,
                                                float first, float second, float filtered[2])
{
  const float centre = pixels.chroma_centre + kCodeOffset<Sample>, unit = pixels.chroma_unit;
  const float from_first = first - centre, from_second = second - centre;
  const float farther = fmaxf(fabsf(from_first), fabsf(from_second));
  const float room = fmaxf(fmaf(-unit, farther, 0.5f), 0.0f);
  const float rise = shoulder(follow.rises, unit * fminf(farther, follow.most),
                              fmaf(pixels.most_of_room, room, pixels.free_room));
  const float gain = pixels.strength * (follow.falls + rise);

  filtered[0] = fmaf(gain, fminf(fmaxf(from_first, -follow.most), follow.most), first);
  filtered[1] = fmaf(gain, fminf(fmaxf(from_second, -follow.most), follow.most), second);
}

/* The filtered codes of red, green and blue, without an offset. `code`: kMaxGain times the codes
 * with kRgbCodeOffset. `delta`: the change of the luma intensity, without the linear part. `luma`
 * and `ceiling` are kMaxGain times those of plan/llf_plan.h plus CF_LLF_GAIN_EPSILON, in codes.
 * Luma is never outside 0..1: RGB codes are full-range. */
__device__ __forceinline__ void filtered_colours(const Pixels &pixels, const RgbFactors &factors,
                                                 const float code[3], float delta,
                                                 float filtered[3])
{
  const float sum = fmaf(factors.luma_weight[2], code[2],
                         fmaf(factors.luma_weight[1], code[1], factors.luma_weight[0] * code[0]));
  const float luma = sum + factors.luma_offset;
  const float ceiling = fmaxf(code[0], fmaxf(code[1], code[2])) + factors.luma_offset;
  const float added =
      fmaf(factors.linear_slope, luma, fmaf(factors.scale, delta, factors.linear_offset));
  const bool rises = added > 0.0f;
  const float room =
      rises ? fmaf(-factors.room_slope, ceiling, factors.room_offset) : pixels.most_of_room;
  const float base = rises ? luma : luma - factors.epsilon;
  const float change =
      shoulder(added, rises ? ceiling : kMaxGain, fmaf(room, base, factors.free_room));
  const float t = __saturatef(fmaf(luma, factors.dark_slope, factors.dark_offset));
  const float ease = rises ? t * t * fmaf(-2.0f, t, 3.0f) : 1.0f;
  const float gain = gain_share(base, factors.epsilon, change);
  const float follow = ease * fmaf(pixels.strength, gain, factors.minus_strength);
  const float grey = fmaf(-follow, sum, fmaf(pixels.strength, change, -kRgbCodeOffset));

#pragma unroll
  for (int c = 0; c < 3; c++)
    filtered[c] = fmaf(follow + 1.0f / kMaxGain, code[c], grey);
}

/* ---- Stores, sample by sample ---- */

template <typename Sample>
__device__ __forceinline__ void store_code(const Pixels &pixels, int c, int x, int y, uint32_t code)
{
  reinterpret_cast<Sample *>(pixels.channel[c].to +
                             y * pixels.channel[c].to_stride)[(ptrdiff_t)x * pixels.step[c]] =
      (Sample)(code << pixels.shift);
}

template <typename Sample>
__device__ __forceinline__ void store_rounded(const Pixels &pixels, int c, int x, int y, float code)
{
  store_code<Sample>(pixels, c, x, y, rounded_code<Sample>(code, pixels.max_code));
}

__device__ __forceinline__ void store_rounded_rgb(const Pixels &pixels, int c, int x, int y,
                                                  float code)
{
  store_code<uint8_t>(pixels, c, x, y, pack_clamped_bytes(rounded_integer(code, 0.0f), 0, 0));
}

template <typename Sample>
__device__ __forceinline__ float load_code(const Pixels &pixels, int c, int x, int y)
{
  return (float)load_code<Sample>(pixels.channel[c].from, pixels.channel[c].from_stride,
                                  pixels.step[c], x, y, pixels.shift);
}

template <typename Sample>
__device__ __forceinline__ float load_offset_code(const Pixels &pixels, int c, int x, int y)
{
  return load_code<Sample>(pixels, c, x, y) + kCodeOffset<Sample>;
}

/* colour_above() of the pixel at (x, y). */
template <typename Sample>
__device__ __forceinline__ float load_colour_above(const Pixels &pixels, int x, int y)
{
  const int chroma_x = x >> pixels.subsampling_x, chroma_y = y >> pixels.subsampling_y;

  return colour_above<Sample>(pixels, load_offset_code<Sample>(pixels, 1, chroma_x, chroma_y),
                              load_offset_code<Sample>(pixels, 2, chroma_x, chroma_y));
}

template <typename Sample>
__device__ __forceinline__ void store_chroma_sample(const Pixels &pixels, int x, int y,
                                                    const Follow &follow)
{
  float filtered[2];

  filtered_chroma<Sample>(pixels, follow, load_offset_code<Sample>(pixels, 1, x, y),
                          load_offset_code<Sample>(pixels, 2, x, y), filtered);
  store_rounded<Sample>(pixels, 1, x, y, filtered[0]);
  store_rounded<Sample>(pixels, 2, x, y, filtered[1]);
}

/* Stores the chroma samples of a quad, each of which follows the mean of its pixels. `columns` and
 * `rows` of the quad are in the picture; a missing column repeats the first in luma and added. */
template <typename Sample>
__device__ __forceinline__ void store_chroma_of_quad(const Pixels &pixels, int x, int y,
                                                     int columns, int rows, const float luma[4],
                                                     const float added[4])
{
  const int sx = pixels.subsampling_x;
  auto pair_sum_of = [&](int k, int other) {
    return PairSum{luma[k] + luma[other], added[k] + added[other]};
  };

  if (sx && pixels.subsampling_y) {
    const float below = rows == 2 ? 0.25f : 0.0f;
    store_chroma_sample<Sample>(
        pixels, x >> 1, y >> 1,
        follow_quad(pixels, 0.5f - below, below, pair_sum_of(0, 1), pair_sum_of(2, 3)));
    return;
  }
#pragma unroll
  for (int k = 0; k < 4; k++) {
    const int column = k & 1, row = k >> 1;

    if (row < rows && column < (sx ? 1 : columns)) {
      const PairSum sum = sx ? pair_sum_of(row * 2, row * 2 + 1) : pair_sum_of(k, k);
      store_chroma_sample<Sample>(pixels, sx ? x >> 1 : x + column, y + row,
                                  follow_quad(pixels, 0.5f, 0.0f, sum, sum));
    }
  }
}

template <typename Sample>
__device__ __forceinline__ void copy_extra(const Pixels &pixels, int x, int y)
{
  const Channel &extra = pixels.extra;

  if (extra.from)
    reinterpret_cast<Sample *>(extra.to + y * extra.to_stride)[(ptrdiff_t)x * pixels.extra_step] =
        reinterpret_cast<const Sample *>(extra.from +
                                         y * extra.from_stride)[(ptrdiff_t)x * pixels.extra_step];
}

/* Writes the quad at (x, y), and the chroma of its pixels. The filter adds linear * intensity +
 * delta to an intensity. */
template <typename Sample, Colour Kind>
__device__ __forceinline__ void store_quad(const Pixels &pixels, const RgbFactors &factors,
                                           float linear, int x, int y, const float delta[4])
{
  const int columns = min(2, pixels.width - x), rows = min(2, pixels.height - y);
  float luma[4], added[4];

#pragma unroll
  for (int k = 0; k < 4; k++) {
    const int column = k & 1, row = k >> 1, to_x = x + column, to_y = y + row;

    if (column >= columns) {
      luma[k] = luma[k - 1];
      added[k] = added[k - 1];
      continue;
    }
    if (row >= rows) {
      luma[k] = added[k] = 0.0f;
      continue;
    }
    if constexpr (Kind == Colour::RGB) {
      float code[3], filtered[3];

#pragma unroll
      for (int c = 0; c < 3; c++)
        code[c] = kMaxGain * (load_code<Sample>(pixels, c, to_x, to_y) + kRgbCodeOffset);
      filtered_colours(pixels, factors, code, delta[k], filtered);
#pragma unroll
      for (int c = 0; c < 3; c++)
        store_rounded_rgb(pixels, c, to_x, to_y, filtered[c]);
    } else {
      const float code = load_offset_code<Sample>(pixels, 0, to_x, to_y);
      const float above = Kind == Colour::CHROMA && pixels.colour == Colour::CHROMA
                              ? load_colour_above<Sample>(pixels, to_x, to_y)
                              : 0.0f;

      luma[k] = luma_of<Sample>(pixels, code);
      store_rounded<Sample>(
          pixels, 0, to_x, to_y,
          filtered_luma(pixels, code, luma[k], above, fmaf(linear, luma[k], delta[k]), added + k));
    }
    copy_extra<Sample>(pixels, to_x, to_y);
  }
  if (Kind == Colour::CHROMA && pixels.colour == Colour::CHROMA)
    store_chroma_of_quad<Sample>(pixels, x, y, columns, rows, luma, added);
}

/* The same for any picture, with linear = 0. RGB pictures have 8 bits. */
__device__ __forceinline__ void store_quad(const Pixels &pixels, const RgbFactors &factors, int x,
                                           int y, const float delta[4])
{
  if (pixels.wide)
    store_quad<uint16_t, Colour::CHROMA>(pixels, factors, 0.0f, x, y, delta);
  else if (pixels.colour == Colour::RGB)
    store_quad<uint8_t, Colour::RGB>(pixels, factors, 0.0f, x, y, delta);
  else
    store_quad<uint8_t, Colour::CHROMA>(pixels, factors, 0.0f, x, y, delta);
}

} // namespace cf::llf
