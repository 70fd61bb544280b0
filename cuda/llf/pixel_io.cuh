/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Between a picture's codes and what is filtered: intensities in, and out the filtered intensity
 * with the colours that follow it.
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

/* The same for any picture; there is no RGB of more than 8 bits. */
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

/* The quad's intensities before clamping; pixels outside repeat the nearest one inside. */
__device__ __forceinline__ void load_quad(const Pixels &pixels, int x, int y, float quad[4])
{
  if (pixels.wide)
    load_quad<uint16_t, Colour::SINGLE>(pixels, x, y, quad);
  else if (pixels.colour == Colour::RGB)
    load_quad<uint8_t, Colour::RGB>(pixels, x, y, quad);
  else
    load_quad<uint8_t, Colour::SINGLE>(pixels, x, y, quad);
}

/* --- what the filter adds, eased off, and colours that follow (plan/llf_plan.h) --- */

/* value / (1 + (value * unit / room)^4)^(1/4) */
__device__ __forceinline__ float shoulder(float value, float unit, float room)
{
  const float part = value * unit * reciprocal_approx(room), squared = part * part;

  return value * sqrt_approx(rsqrt_approx(fmaf(squared, squared, 1.0f)));
}

__device__ __forceinline__ float eased(const Pixels &pixels, float luma, float added)
{
  const float end = added > 0.0f ? 1.0f : 0.0f;

  return shoulder(added, 1.0f, fmaf(pixels.most_of_room, fabsf(end - luma), pixels.free_room));
}

/* Of `follow` that rises, in the dark less than luma's gain; what falls has none. */
__device__ __forceinline__ float eased_rise(float luma, float follow)
{
  const float t = __saturatef(luma * (float)(1.0 / CF_LLF_EASED_BELOW));

  return t * t * fmaf(-2.0f, t, 3.0f) * fmaxf(follow, 0.0f);
}

/* --- codes as they are read and made --- */

__device__ __forceinline__ float code_of_bits(uint32_t bits)
{
  return __uint_as_float(bits) - kWhole;
}

/* The low bits are the code; `code` is a half too large, so that cutting off rounds. */
__device__ __forceinline__ uint32_t rounded_bits(float code, float max_code)
{
  return __float_as_uint(__fadd_rd(fminf(fmaxf(code, 0.5f), max_code + 0.5f), kWhole));
}

/* The smallest denormal. As many of them as a number says are that number, rounded, as an integer;
 * negative ones are far below 0. */
constexpr float kDenormal = 1.40129846e-45f;

__device__ __forceinline__ int rounded(float number, float minus_offset)
{
  return __float_as_int(fmaf(number, kDenormal, minus_offset));
}

/* Two numbers, limited to bytes, and two bytes more. */
__device__ __forceinline__ uint32_t limited_bytes(int low, int high, uint32_t bytes)
{
  uint32_t packed;

  asm("cvt.pack.sat.u8.s32.b32 %0, %1, %2, %3;" : "=r"(packed) : "r"(high), "r"(low), "r"(bytes));
  return packed;
}

/* How much larger codes are than they should be, so that they are read and rounded in few
 * instructions: bytes are the second byte of a float, or in RGB the low bits of a half, and numbers
 * of 16 bits are cut off. */
template <typename Sample> constexpr float kOffset = sizeof(Sample) == 1 ? 32768.0f : 0.5f;
constexpr float kOffsetOfRgb = 1024.0f;

template <typename Sample>
__device__ __forceinline__ uint32_t limited_code(float made, float max_code)
{
  if constexpr (sizeof(Sample) == 1)
    return limited_bytes(rounded(made, -kOffset<Sample> * kDenormal), 0, 0);
  else
    return rounded_bits(made, max_code);
}

/* What a sample becomes is said once, for pictures that are read by samples and by words. Codes are
 * made a half too large. */

/* The gain that colours follow, in parts of the largest one, which a multiplication limits. */
constexpr float kMostGain = (float)CF_LLF_MAX_GAIN, kGainEpsilon = (float)CF_LLF_GAIN_EPSILON;

/* Of RGB, in codes: see filtered_colours(). */
struct Colours {
  float luma[3], scale, linear_part, linear_offset, old_offset, part_of_room, part_of_white;
  float free_room, epsilon, dark, dark_offset, minus_strength;
};

inline Colours colours_of(const Pixels &pixels, float linear)
{
  const float epsilon = (float)CF_LLF_GAIN_EPSILON * pixels.scale;

  Colours colours = {};

  colours.scale = pixels.scale;
  for (int c = 0; c < 3; c++)
    colours.luma[c] = pixels.weight[c] * pixels.scale;
  colours.linear_part = linear / kMostGain;
  colours.linear_offset = -linear * epsilon;
  colours.old_offset = kMostGain * (epsilon - kOffsetOfRgb);
  colours.part_of_room = pixels.most_of_room / kMostGain;
  colours.part_of_white = pixels.most_of_room * (pixels.scale + epsilon);
  colours.free_room = pixels.free_room * pixels.scale * kMostGain * pixels.scale;
  colours.epsilon = kMostGain * epsilon;
  colours.dark = (float)(1.0 / CF_LLF_EASED_BELOW) / (kMostGain * pixels.scale);
  colours.minus_strength = -pixels.strength / kMostGain;
  colours.dark_offset = -(float)(CF_LLF_GAIN_EPSILON / CF_LLF_EASED_BELOW);
  return colours;
}

template <typename Sample>
__device__ __forceinline__ float luma_of(const Pixels &pixels, float code)
{
  return __saturatef(
      fmaf(pixels.weight[0], code, fmaf(-kOffset<Sample>, pixels.weight[0], pixels.bias)));
}

/* The code of `luma`, to which `value` is added. Chroma follows `added`, at full strength. */
__device__ __forceinline__ float filtered_luma(const Pixels &pixels, float code, float luma,
                                               float value, float *added)
{
  *added = eased(pixels, luma, value);
  return fmaf(pixels.strength * pixels.scale, *added, code);
}

/* What a change is divided by, kMostGain times as much as in plan/llf_plan.h: `base` is of luma and
 * an epsilon where that rises, else of luma, and `least` of an epsilon. */
__device__ __forceinline__ float part_of_gain(float base, float least, float change)
{
  return __saturatef(fmaf(change, reciprocal_approx(fmaxf(base, least)), 1.0f / kMostGain));
}

/* How chroma follows: to codes up to `most` from the centre `falls` times them is added, which is
 * less than 0 where they come nearer, and `rises` times them, which ends eases off. */
struct Follow {
  float falls, rises, most;
};

/* Two pixels side by side, added up: luma, and what the filter adds to it. */
struct Two {
  float luma, added;
};

/* Of two rows of two pixels, of which each of the first is the share `above` and each of the second
 * `below`. */
__device__ __forceinline__ Follow follow_quad(const Pixels &pixels, float above, float below,
                                              const Two &first, const Two &second)
{
  const float second_lumas = fmaf(kMostGain * below, second.luma, kMostGain * kGainEpsilon);
  const float lumas = fmaf(kMostGain * above, first.luma, second_lumas);
  const float change = fmaf(above, first.added, below * second.added);
  const float part = part_of_gain(change > 0.0f ? lumas : lumas - kMostGain * kGainEpsilon,
                                  kMostGain * kGainEpsilon, change);
  const float follow = fmaf(kMostGain, part, -1.0f);

  return Follow{fminf(follow, 0.0f),
                eased_rise(fmaf(lumas, 1.0f / kMostGain, -kGainEpsilon), follow),
                pixels.most_chroma / kMostGain * lumas};
}

/* Two chroma samples of the same place. Without a branch: so time does not depend on the picture.
 */
template <typename Sample>
__device__ __forceinline__ void filtered_chroma(const Pixels &pixels, const Follow &follow,
                                                float first, float second, float made[2])
{
  const float centre = pixels.chroma_centre + kOffset<Sample>, unit = pixels.chroma_unit;
  const float from_first = first - centre, from_second = second - centre;
  const float farther = fmaxf(fabsf(from_first), fabsf(from_second));
  const float left = fmaxf(fmaf(-unit, farther, 0.5f), 0.0f);
  const float rise = shoulder(follow.rises, unit * fminf(farther, follow.most),
                              fmaf(pixels.most_of_room, left, pixels.free_room));
  const float gain = pixels.strength * (follow.falls + rise);

  made[0] = fmaf(gain, fminf(fmaxf(from_first, -follow.most), follow.most), first);
  made[1] = fmaf(gain, fminf(fmaxf(from_second, -follow.most), follow.most), second);
}

/* Red, green and blue, of kMostGain times their codes and kOffsetOfRgb; what is made are codes.
 * Luma of these is never beyond 0..1. Here luma and ceiling are kMostGain times what
 * plan/llf_plan.h has with CF_LLF_GAIN_EPSILON added. */
__device__ __forceinline__ void filtered_colours(const Pixels &pixels, const Colours &colours,
                                                 const float code[3], float delta, float made[3])
{
  const float sum =
      fmaf(colours.luma[2], code[2], fmaf(colours.luma[1], code[1], colours.luma[0] * code[0]));
  const float luma = sum + colours.old_offset;
  const float ceiling = fmaxf(code[0], fmaxf(code[1], code[2])) + colours.old_offset;
  const float added =
      fmaf(colours.linear_part, luma, fmaf(colours.scale, delta, colours.linear_offset));
  const bool rises = added > 0.0f;
  const float left =
      rises ? fmaf(-colours.part_of_room, ceiling, colours.part_of_white) : pixels.most_of_room;
  const float base = rises ? luma : luma - colours.epsilon;
  const float change =
      shoulder(added, rises ? ceiling : kMostGain, fmaf(left, base, colours.free_room));
  const float t = __saturatef(fmaf(luma, colours.dark, colours.dark_offset));
  const float ease = rises ? t * t * fmaf(-2.0f, t, 3.0f) : 1.0f;
  const float part = part_of_gain(base, colours.epsilon, change);
  const float follow = ease * fmaf(pixels.strength, part, colours.minus_strength);
  const float grey = fmaf(-follow, sum, fmaf(pixels.strength, change, -kOffsetOfRgb));

#pragma unroll
  for (int c = 0; c < 3; c++)
    made[c] = fmaf(follow + 1.0f / kMostGain, code[c], grey);
}

/* --- by samples --- */

template <typename Sample>
__device__ __forceinline__ void store_code(const Pixels &pixels, int c, int x, int y, uint32_t code)
{
  reinterpret_cast<Sample *>(pixels.channel[c].to +
                             y * pixels.channel[c].to_stride)[(ptrdiff_t)x * pixels.step[c]] =
      (Sample)(code << pixels.shift);
}

template <typename Sample>
__device__ __forceinline__ void store_made(const Pixels &pixels, int c, int x, int y, float made)
{
  store_code<Sample>(pixels, c, x, y, limited_code<Sample>(made, pixels.max_code));
}

__device__ __forceinline__ void store_colour(const Pixels &pixels, int c, int x, int y, float made)
{
  store_code<uint8_t>(pixels, c, x, y, limited_bytes(rounded(made, 0.0f), 0, 0));
}

template <typename Sample>
__device__ __forceinline__ float load_code(const Pixels &pixels, int c, int x, int y)
{
  return (float)load_code<Sample>(pixels.channel[c].from, pixels.channel[c].from_stride,
                                  pixels.step[c], x, y, pixels.shift);
}

template <typename Sample>
__device__ __forceinline__ float load_sample(const Pixels &pixels, int c, int x, int y)
{
  return load_code<Sample>(pixels, c, x, y) + kOffset<Sample>;
}

template <typename Sample>
__device__ __forceinline__ void store_chroma_sample(const Pixels &pixels, int x, int y,
                                                    const Follow &follow)
{
  float made[2];

  filtered_chroma<Sample>(pixels, follow, load_sample<Sample>(pixels, 1, x, y),
                          load_sample<Sample>(pixels, 2, x, y), made);
  store_made<Sample>(pixels, 1, x, y, made[0]);
  store_made<Sample>(pixels, 2, x, y, made[1]);
}

/* The chroma samples of a quad, each of which follows the mean of its pixels. Pixels that the
 * picture does not have repeat those beside them. */
template <typename Sample>
__device__ __forceinline__ void store_chroma_of_quad(const Pixels &pixels, int x, int y,
                                                     int columns, int rows, const float luma[4],
                                                     const float added[4])
{
  const int sx = pixels.subsampling_x;
  auto two_of = [&](int k, int other) {
    return Two{luma[k] + luma[other], added[k] + added[other]};
  };

  if (sx && pixels.subsampling_y) {
    const float below = rows == 2 ? 0.25f : 0.0f;
    store_chroma_sample<Sample>(
        pixels, x >> 1, y >> 1,
        follow_quad(pixels, 0.5f - below, below, two_of(0, 1), two_of(2, 3)));
    return;
  }
#pragma unroll
  for (int k = 0; k < 4; k++) {
    const int column = k & 1, row = k >> 1;

    if (row < rows && column < (sx ? 1 : columns)) {
      const Two two = sx ? two_of(row * 2, row * 2 + 1) : two_of(k, k);
      store_chroma_sample<Sample>(pixels, sx ? x >> 1 : x + column, y + row,
                                  follow_quad(pixels, 0.5f, 0.0f, two, two));
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

/* Writes what the filter makes of the quad at (x, y): to intensities between 0 and 1 it adds
 * `linear` times them and `delta`. */
template <typename Sample, Colour Kind>
__device__ __forceinline__ void store_quad(const Pixels &pixels, const Colours &colours,
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
      float code[3], made[3];

#pragma unroll
      for (int c = 0; c < 3; c++)
        code[c] = kMostGain * (load_code<Sample>(pixels, c, to_x, to_y) + kOffsetOfRgb);
      filtered_colours(pixels, colours, code, delta[k], made);
#pragma unroll
      for (int c = 0; c < 3; c++)
        store_colour(pixels, c, to_x, to_y, made[c]);
    } else {
      const float code = load_sample<Sample>(pixels, 0, to_x, to_y);

      luma[k] = luma_of<Sample>(pixels, code);
      store_made<Sample>(
          pixels, 0, to_x, to_y,
          filtered_luma(pixels, code, luma[k], fmaf(linear, luma[k], delta[k]), added + k));
    }
    copy_extra<Sample>(pixels, to_x, to_y);
  }
  if (Kind == Colour::CHROMA && pixels.colour == Colour::CHROMA)
    store_chroma_of_quad<Sample>(pixels, x, y, columns, rows, luma, added);
}

/* The same for any picture; there is no RGB of more than 8 bits. Without `linear`. */
__device__ __forceinline__ void store_quad(const Pixels &pixels, const Colours &colours, int x,
                                           int y, const float delta[4])
{
  if (pixels.wide)
    store_quad<uint16_t, Colour::CHROMA>(pixels, colours, 0.0f, x, y, delta);
  else if (pixels.colour == Colour::RGB)
    store_quad<uint8_t, Colour::RGB>(pixels, colours, 0.0f, x, y, delta);
  else
    store_quad<uint8_t, Colour::CHROMA>(pixels, colours, 0.0f, x, y, delta);
}

} // namespace cf::llf
