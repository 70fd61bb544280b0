/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Between a picture's codes and what is filtered: intensities in, and out the filtered intensity
 * with the colours that follow it.
 */
#pragma once

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

template <typename Sample>
__device__ __forceinline__ void store_rounded_code(const Pixels &pixels, int c, int x, int y,
                                                   float code)
{
  const float rounded = floorf(fminf(fmaxf(code, 0.0f), pixels.max_code) + 0.5f);

  reinterpret_cast<Sample *>(pixels.channel[c].to +
                             y * pixels.channel[c].to_stride)[(ptrdiff_t)x * pixels.step[c]] =
      (Sample)((unsigned)rounded << pixels.shift);
}

/* --- what the filter adds, eased off, and colours that follow (plan/llf_plan.h) --- */

/* value * room / (room^4 + (value * unit)^4)^(1/4) */
__device__ __forceinline__ float shoulder(float value, float unit, float room)
{
  const float limited = value * unit, squared = limited * limited, room_squared = room * room;
  /* No number is so small that it counts beside a code. */
  const float root = rsqrt_approx(fmaf(room_squared, room_squared, fmaf(squared, squared, 1e-30f)));

  return value * room * sqrt_approx(root);
}

__device__ __forceinline__ float eased(const Pixels &pixels, float luma, float added)
{
  const float left = added > 0.0f ? 1.0f - luma : luma;

  return shoulder(added, 1.0f, fmaf(pixels.most_of_room, left, pixels.free_room));
}

/* The same where colours grow with luma, the largest of them from `ceiling`. */
__device__ __forceinline__ float eased_colour(const Pixels &pixels, float luma, float ceiling,
                                              float added)
{
  const float epsilon = (float)CF_LLF_GAIN_EPSILON;
  const float up = fmaxf(1.0f - ceiling, 0.0f) * (luma + epsilon);
  const float unit = added > 0.0f ? ceiling + epsilon : 1.0f;

  return shoulder(added, unit,
                  fmaf(pixels.most_of_room, added > 0.0f ? up : luma, pixels.free_room));
}

/* What colours follow is in the dark less than luma's gain, where that is a rise. */
__device__ __forceinline__ float eased_follow(float luma, float follow)
{
  const float t = __saturatef(luma * (float)(1.0 / CF_LLF_EASED_BELOW));

  return fminf(follow, t * t * fmaf(-2.0f, t, 3.0f) * follow);
}

__device__ __forceinline__ float follow_of(float luma, float added)
{
  const float epsilon = (float)CF_LLF_GAIN_EPSILON;
  const float follow =
      added * reciprocal_approx(added > 0.0f ? luma + epsilon : fmaxf(luma, epsilon));

  return eased_follow(luma, fminf(fmaxf(follow, -1.0f), (float)CF_LLF_MAX_GAIN - 1.0f));
}

/* What a pair of chroma samples, so far from the centre, follows of `follow`. `most` follows. */
__device__ __forceinline__ float eased_chroma(const Pixels &pixels, float follow, float most,
                                              float blue, float red)
{
  const float farther = fmaxf(fabsf(blue), fabsf(red)), unit = pixels.chroma_unit;
  const float left = fmaxf(fmaf(-unit, farther, 0.5f), 0.0f);

  return follow > 0.0f ? shoulder(follow, unit * fminf(farther, most),
                                  fmaf(pixels.most_of_room, left, pixels.free_room))
                       : follow;
}

/* The chroma samples at (x, y) follow their pixels' mean luma. */
template <typename Sample>
__device__ __forceinline__ void store_chroma(const Pixels &pixels, int x, int y, float luma,
                                             float added)
{
  const float most = pixels.most_chroma * (luma + (float)CF_LLF_GAIN_EPSILON);
  float code[2];

#pragma unroll
  for (int c = 0; c < 2; c++)
    code[c] =
        (float)load_code<Sample>(pixels.channel[c + 1].from, pixels.channel[c + 1].from_stride,
                                 pixels.step[c + 1], x, y, pixels.shift);
  const float follow = pixels.strength * eased_chroma(pixels, follow_of(luma, added), most,
                                                      code[0] - pixels.chroma_centre,
                                                      code[1] - pixels.chroma_centre);
#pragma unroll
  for (int c = 0; c < 2; c++)
    store_rounded_code<Sample>(
        pixels, c + 1, x, y,
        fmaf(follow, fminf(fmaxf(code[c] - pixels.chroma_centre, -most), most), code[c]));
}

/* The chroma samples of the quad at (x, y): each follows the mean of its pixels in the picture. */
template <typename Sample>
__device__ __forceinline__ void follow_chroma(const Pixels &pixels, int x, int y,
                                              const float luma[4], const float added[4])
{
  const int sx = pixels.subsampling_x, sy = pixels.subsampling_y;
  const bool right = x + 1 < pixels.width, below = y + 1 < pixels.height;

  if (sx && sy) {
    const float one = right ? 1.0f : 0.0f, two = below ? 1.0f : 0.0f, three = one * two;
    const float share = __fdividef(1.0f, 1.0f + one + two + three);
    const float mean = share * (luma[0] + one * luma[1] + two * luma[2] + three * luma[3]);
    const float mean_added =
        share * (added[0] + one * added[1] + two * added[2] + three * added[3]);
    store_chroma<Sample>(pixels, x >> 1, y >> 1, mean, mean_added);
  } else if (sx) {
    const float share = right ? 0.5f : 1.0f, one = 1.0f - share;
#pragma unroll
    for (int row = 0; row < 2; row++) {
      if (row == 0 || below)
        store_chroma<Sample>(pixels, x >> 1, y + row,
                             share * luma[2 * row] + one * luma[2 * row + 1],
                             share * added[2 * row] + one * added[2 * row + 1]);
    }
  } else {
#pragma unroll
    for (int i = 0; i < 4; i++) {
      if ((!(i & 1) || right) && (i < 2 || below))
        store_chroma<Sample>(pixels, x + (i & 1), y + (i >> 1), luma[i], added[i]);
    }
  }
}

/* Red, green and blue at (x, y), whose luma gets `added`. */
template <typename Sample>
__device__ __forceinline__ void store_colours(const Pixels &pixels, int x, int y, float luma,
                                              float added)
{
  const float to_intensity = __frcp_rn(pixels.scale);
  float code[3];

#pragma unroll
  for (int c = 0; c < 3; c++)
    code[c] = (float)load_code<Sample>(pixels.channel[c].from, pixels.channel[c].from_stride,
                                       pixels.step[c], x, y, pixels.shift);
  const float ceiling = to_intensity * fmaxf(code[0], fmaxf(code[1], code[2]));
  const float change = eased_colour(pixels, luma, ceiling, added);
  const float follow = follow_of(luma, change);

#pragma unroll
  for (int c = 0; c < 3; c++)
    store_rounded_code<Sample>(pixels, c, x, y,
                               fmaf(pixels.strength * pixels.scale,
                                    fmaf(follow, fmaf(to_intensity, code[c], -luma), change),
                                    code[c]));
}

template <typename Sample, bool Rgb>
__device__ __forceinline__ void store_quad(const Pixels &pixels, int x, int y, const float raw[4],
                                           const float added[4])
{
  float luma[4], change[4];

#pragma unroll
  for (int i = 0; i < 4; i++) {
    const int px = x + (i & 1), py = y + (i >> 1);

    luma[i] = __saturatef(raw[i]);
    change[i] = Rgb ? 0.0f : eased(pixels, luma[i], added[i]);
    if (px >= pixels.width || py >= pixels.height)
      continue;
    if (Rgb)
      store_colours<Sample>(pixels, px, py, luma[i], added[i]);
    else
      store_rounded_code<Sample>(
          pixels, 0, px, py,
          fmaf(pixels.scale, fmaf(pixels.strength, change[i], raw[i]), pixels.offset));
    if (pixels.extra.from) {
      const Sample *from =
          reinterpret_cast<const Sample *>(pixels.extra.from + py * pixels.extra.from_stride);
      Sample *to = reinterpret_cast<Sample *>(pixels.extra.to + py * pixels.extra.to_stride);
      to[(ptrdiff_t)px * pixels.extra_step] = from[(ptrdiff_t)px * pixels.extra_step];
    }
  }
  if (!Rgb && pixels.colour == Colour::CHROMA)
    follow_chroma<Sample>(pixels, x, y, luma, change);
}

/* Writes what the filter made of a quad. `raw` are the intensities of load_quad(), `added` what
 * the filter adds to them clamped to 0..1. */
__device__ __forceinline__ void store_quad(const Pixels &pixels, int x, int y, const float raw[4],
                                           const float added[4])
{
  if (pixels.wide)
    store_quad<uint16_t, false>(pixels, x, y, raw, added);
  else if (pixels.colour == Colour::RGB)
    store_quad<uint8_t, true>(pixels, x, y, raw, added);
  else
    store_quad<uint8_t, false>(pixels, x, y, raw, added);
}

/* Calls `function` (a generic lambda) with the sample type and the colour of `pixels` as types. */
template <typename T> struct Type {
  using type = T;
};

template <Colour value> struct ColourConstant {
  static constexpr Colour colour = value;
};

template <typename Function> bool with_pixel_types(const Pixels &pixels, Function function)
{
  constexpr ColourConstant<Colour::CHROMA> kChroma;
  constexpr ColourConstant<Colour::SINGLE> kSingle;
  const bool chroma = pixels.colour == Colour::CHROMA;

  if (pixels.wide)
    return chroma ? function(Type<uint16_t>(), kChroma) : function(Type<uint16_t>(), kSingle);
  if (pixels.colour == Colour::RGB)
    return function(Type<uint8_t>(), ColourConstant<Colour::RGB>());
  return chroma ? function(Type<uint8_t>(), kChroma) : function(Type<uint8_t>(), kSingle);
}

} // namespace cf::llf
