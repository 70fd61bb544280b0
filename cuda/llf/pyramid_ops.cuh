/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Device code that the rooms of the CUDA local Laplacian filter share: borders, the pyramid's two
 * operators on quads of pixels, samples, curves, and colour.
 *
 * A quad is the 2 x 2 pixels of a level above one pixel of the next: in the order (0,0), (1,0),
 * (0,1), (1,1). At odd sizes the last quads stick out of the image.
 */
#pragma once

#include "cuda/common/pdl.cuh"
#include "cuda/common/ptx_math.cuh"
#include "cuda/llf/types.cuh"

namespace cf::llf
{

/* For kernels that may be `beside` the previous one: they begin without waiting where there was a
 * gate, but do not end before it, so that who waits for the last of them waits for all. */
__device__ __forceinline__ void begin(bool beside)
{
  pdl_trigger();
  if (!beside)
    pdl_wait();
}

__device__ __forceinline__ void end(bool beside)
{
  if (beside && blockIdx.x == 0)
    pdl_wait();
}

/* --- borders --- */

/* Half-sample symmetric for the indices that the pyramid's operators reach, -2 .. size + 1, from
 * size 1 on; anything farther gives a valid index only. */
__device__ __forceinline__ int mirrored(int i, int size)
{
  i = i < 0 ? -1 - i : i;
  i = i >= size ? 2 * size - 1 - i : i;
  return min(max(i, 0), size - 1);
}

/* --- arithmetic on one or two components alike --- */

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

/* --- the two operators --- */

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

/* The quad of the coarse pixel in the middle of a 3 x 3 neighbourhood. */
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

/* Indices of the 3 x 3 coarse pixels about (x, y). */
struct Neighbours {
  int column[3];
  size_t row[3]; /* times the width */
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

/* --- component pairs --- */

__device__ __forceinline__ uint32_t pack(float2 pair)
{
  const __half2 packed = __floats2half2_rn(pair.x, pair.y);
  return *reinterpret_cast<const uint32_t *>(&packed);
}

__device__ __forceinline__ float2 unpack(uint32_t word)
{
  return __half22float2(*reinterpret_cast<const __half2 *>(&word));
}

/* How a word holds a pair: sines and cosines in fp16; samples as whole numbers of 16 bits, since
 * the largest matter as much as the others: in fp16 they alone would cost 10 dB. */
struct Halves {
  __device__ static uint32_t pack(float2 pair)
  {
    return llf::pack(pair);
  }

  __device__ static float2 unpack(uint32_t word)
  {
    return llf::unpack(word);
  }
};

struct Integers {
  __device__ static uint32_t pack(float2 pair)
  {
    return ((uint32_t)__float2int_rn(pair.x) & 65535u) | (uint32_t)__float2int_rn(pair.y) << 16;
  }

  __device__ static float2 unpack(uint32_t word)
  {
    return make_float2((float)(short)(word & 65535u), (float)((int)word >> 16));
  }
};

/* Word k of a group; k is known when compiling. */
__device__ __forceinline__ uint32_t word(const uint4 &group, int k)
{
  return k == 0 ? group.x : k == 1 ? group.y : k == 2 ? group.z : group.w;
}

/* sin and cos of `turns` full turns, to 2^-20: the hardware's error grows with the angle. */
__device__ __forceinline__ void sincos_turns(float turns, float *sine, float *cosine)
{
  __sincosf(6.283185307f * (turns - rintf(turns)), sine, cosine);
}

/* Sine and cosine of harmonic n + 1. Everyone gets the same bits, so that what a pixel adds to its
 * own neighbourhood cancels exactly: constants stay at 16 bits. */
__device__ __forceinline__ void sincos_harmonic(const Series &series, int n, float intensity,
                                                float *sine, float *cosine)
{
  sincos_turns(__fmul_rn(__fmul_rn((float)(n + 1), series.turn), intensity), sine, cosine);
}

/* --- the remapping curve --- */

/* Where detail is raised and tones are not compressed, the curve's two branches meet at sigma and
 * each is the larger one on its side. */
enum class CurveShape { ANY, UPPER_HULL };

inline bool is_upper_hull(const Curve &curve)
{
  return curve.alpha <= 1.0f && curve.beta >= 1.0f;
}

/* r(|d|) for magnitude >= 0; 0 at 0. With u what the blend's t lacks of 1, t (t - 2) = u^2 - 1. */
template <CurveShape SHAPE = CurveShape::ANY>
__device__ __forceinline__ float remap_magnitude(const Curve &curve, float magnitude)
{
  const float detail = exp2_approx(fmaf(curve.alpha, log2_approx(magnitude), curve.detail_gain));
  const float lack = __saturatef(fmaf(curve.noise_slope, magnitude, curve.noise_offset));
  const float root = fmaf(lack, lack, -1.0f);
  const float blended = fmaf(root, root * (detail - magnitude), magnitude);
  const float tone = fmaf(curve.beta, magnitude, curve.tone_offset);

  if (SHAPE == CurveShape::UPPER_HULL)
    return fmaxf(blended, tone);
  return magnitude <= curve.sigma ? blended : tone;
}

/* r (I - g) - (1 + linear) (I - g) about a sampled intensity g, in stored units. */
__device__ __forceinline__ float sample_delta(const Samples &samples, int sample, float intensity)
{
  const float center = (float)(samples.first + sample) / (float)(samples.levels - 1);
  const float d = intensity - center;

  if (sample >= samples.count)
    return 0.0f;
  return (copysignf(remap_magnitude(samples.curve, fabsf(d)), d) - (1.0f + samples.linear) * d) *
         samples.units;
}

/* --- pictures --- */

template <typename Sample>
__device__ __forceinline__ int load_code(const uint8_t *data, ptrdiff_t stride, int step, int x,
                                         int y, int shift)
{
  return reinterpret_cast<const Sample *>(data + y * stride)[(ptrdiff_t)x * step] >> shift;
}

/* Intensity before clamping to 0..1. */
template <typename Sample, Colour colour>
__device__ __forceinline__ float load_intensity(const Pixels &pixels, int x, int y)
{
  float intensity = pixels.bias;

#pragma unroll
  for (int c = 0; c < (colour == Colour::RGB ? 3 : 1); c++)
    intensity = fmaf(pixels.weight[c],
                     (float)load_code<Sample>(pixels.channel[c].from, pixels.channel[c].from_stride,
                                              pixels.step[c], x, y, pixels.shift),
                     intensity);
  return intensity;
}

/* The quad's intensities before clamping; pixels outside repeat the nearest one inside. */
template <typename Sample, Colour colour>
__device__ __forceinline__ void load_quad(const Pixels &pixels, int x, int y, float quad[4])
{
#pragma unroll
  for (int i = 0; i < 4; i++)
    quad[i] = load_intensity<Sample, colour>(pixels, min(x + (i & 1), pixels.width - 1),
                                             min(y + (i >> 1), pixels.height - 1));
}

template <typename Sample>
__device__ __forceinline__ void store_code(const Pixels &pixels, int c, int x, int y, float code)
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
    store_code<Sample>(pixels, c, x, y,
                       fmaf(gain, fminf(fmaxf(code - pixels.chroma_centre, -most), most), code));
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

/* Writes what the filter made of a quad. `raw` are the intensities of load_quad(), `filtered` what
 * the filter made of them clamped to 0..1. */
template <typename Sample, Colour colour>
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
    if (colour == Colour::RGB) {
      const float gain = colour_gain(luma[i], filtered[i]);
#pragma unroll
      for (int c = 0; c < 3; c++) {
        const float code =
            (float)load_code<Sample>(pixels.channel[c].from, pixels.channel[c].from_stride,
                                     pixels.step[c], px, py, pixels.shift);
        store_code<Sample>(pixels, c, px, py,
                           pixels.scale * fmaf(-gain, luma[i], filtered[i]) + gain * code);
      }
    } else {
      store_code<Sample>(pixels, 0, px, py,
                         fmaf(pixels.scale, filtered[i] + (raw[i] - luma[i]), pixels.offset));
    }
    if (pixels.extra.from) {
      const Sample *from =
          reinterpret_cast<const Sample *>(pixels.extra.from + py * pixels.extra.from_stride);
      Sample *to = reinterpret_cast<Sample *>(pixels.extra.to + py * pixels.extra.to_stride);
      to[(ptrdiff_t)px * pixels.extra_step] = from[(ptrdiff_t)px * pixels.extra_step];
    }
  }
  if (colour == Colour::CHROMA)
    follow_chroma<Sample>(pixels, x, y, luma, filtered);
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
  auto with_colour = [&](auto sample) {
    switch (pixels.colour) {
    case Colour::RGB:
      return function(sample, ColourConstant<Colour::RGB>());
    case Colour::CHROMA:
      return function(sample, ColourConstant<Colour::CHROMA>());
    default:
      return function(sample, ColourConstant<Colour::SINGLE>());
    }
  };
  return pixels.wide ? with_colour(Type<uint16_t>()) : with_colour(Type<uint8_t>());
}

} // namespace cf::llf
