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

__device__ __forceinline__ float colour_gain(float luma, float filtered)
{
  const float epsilon = (float)CF_LLF_GAIN_EPSILON;
  const float gain = (filtered + epsilon) * reciprocal_approx(luma + epsilon);

  return fminf(fmaxf(gain, 0.0f), (float)CF_LLF_MAX_GAIN);
}

/* The chroma samples at (x, y) follow their pixels' mean luma. */
template <typename Sample>
__device__ __forceinline__ void store_chroma(const Pixels &pixels, int x, int y, float luma,
                                             float filtered)
{
  const float gain = colour_gain(luma, filtered) - 1.0f;
  const float most = pixels.most_chroma * (luma + (float)CF_LLF_GAIN_EPSILON);

#pragma unroll
  for (int c = 1; c < 3; c++) {
    const float code = (float)load_code<Sample>(
        pixels.channel[c].from, pixels.channel[c].from_stride, pixels.step[c], x, y, pixels.shift);
    store_rounded_code<Sample>(
        pixels, c, x, y, fmaf(gain, fminf(fmaxf(code - pixels.chroma_centre, -most), most), code));
  }
}

/* The chroma samples of the quad at (x, y): each follows the mean of its pixels in the picture. */
template <typename Sample>
__device__ __forceinline__ void follow_chroma(const Pixels &pixels, int x, int y,
                                              const float luma[4], const float filtered[4])
{
  const int sx = pixels.subsampling_x, sy = pixels.subsampling_y;
  const bool right = x + 1 < pixels.width, below = y + 1 < pixels.height;

  if (sx && sy) {
    const float one = right ? 1.0f : 0.0f, two = below ? 1.0f : 0.0f, three = one * two;
    const float share = __fdividef(1.0f, 1.0f + one + two + three);
    const float mean = share * (luma[0] + one * luma[1] + two * luma[2] + three * luma[3]);
    const float mean_filtered =
        share * (filtered[0] + one * filtered[1] + two * filtered[2] + three * filtered[3]);
    store_chroma<Sample>(pixels, x >> 1, y >> 1, mean, mean_filtered);
  } else if (sx) {
    const float share = right ? 0.5f : 1.0f, one = 1.0f - share;
#pragma unroll
    for (int row = 0; row < 2; row++) {
      if (row == 0 || below)
        store_chroma<Sample>(pixels, x >> 1, y + row,
                             share * luma[2 * row] + one * luma[2 * row + 1],
                             share * filtered[2 * row] + one * filtered[2 * row + 1]);
    }
  } else {
#pragma unroll
    for (int i = 0; i < 4; i++) {
      if ((!(i & 1) || right) && (i < 2 || below))
        store_chroma<Sample>(pixels, x + (i & 1), y + (i >> 1), luma[i], filtered[i]);
    }
  }
}

template <typename Sample, bool Rgb>
__device__ __forceinline__ void store_quad(const Pixels &pixels, int x, int y, const float raw[4],
                                           const float filtered[4])
{
  float luma[4];

#pragma unroll
  for (int i = 0; i < 4; i++) {
    const int px = x + (i & 1), py = y + (i >> 1);

    luma[i] = __saturatef(raw[i]);
    if (px >= pixels.width || py >= pixels.height)
      continue;
    if (Rgb) {
      const float gain = colour_gain(luma[i], filtered[i]);
#pragma unroll
      for (int c = 0; c < 3; c++) {
        const float code =
            (float)load_code<Sample>(pixels.channel[c].from, pixels.channel[c].from_stride,
                                     pixels.step[c], px, py, pixels.shift);
        store_rounded_code<Sample>(pixels, c, px, py,
                                   pixels.scale * fmaf(-gain, luma[i], filtered[i]) + gain * code);
      }
    } else {
      store_rounded_code<Sample>(
          pixels, 0, px, py, fmaf(pixels.scale, filtered[i] + (raw[i] - luma[i]), pixels.offset));
    }
    if (pixels.extra.from) {
      const Sample *from =
          reinterpret_cast<const Sample *>(pixels.extra.from + py * pixels.extra.from_stride);
      Sample *to = reinterpret_cast<Sample *>(pixels.extra.to + py * pixels.extra.to_stride);
      to[(ptrdiff_t)px * pixels.extra_step] = from[(ptrdiff_t)px * pixels.extra_step];
    }
  }
  if (!Rgb && pixels.colour == Colour::CHROMA)
    follow_chroma<Sample>(pixels, x, y, luma, filtered);
}

/* Writes what the filter made of a quad. `raw` are the intensities of load_quad(), `filtered` what
 * the filter made of them clamped to 0..1. */
__device__ __forceinline__ void store_quad(const Pixels &pixels, int x, int y, const float raw[4],
                                           const float filtered[4])
{
  if (pixels.wide)
    store_quad<uint16_t, false>(pixels, x, y, raw, filtered);
  else if (pixels.colour == Colour::RGB)
    store_quad<uint8_t, true>(pixels, x, y, raw, filtered);
  else
    store_quad<uint8_t, false>(pixels, x, y, raw, filtered);
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
