/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Last launch of the fp32 pyramid: the cubic B-spline along rows and columns, to codes. A thread
 * makes a strip of rows of one column of words of four samples. It interpolates coarse rows along
 * the row once each, and keeps the five around the current group of D result rows in registers.
 */
#include "cuda/common/int_math.cuh"
#include "cuda/pyramid/fp32.cuh"

namespace cf::pyramid
{

namespace
{

/* ---- along rows ---- */

/* What a word of four samples holds: one pixel of four channels, four of one, two of two, or parts
 * of pixels of three. */
enum WordLayout { kOnePixel, kFourPixels, kTwoPixels, kAnyPixels };

/* The coarse samples that a word reads from one coarse row: the four of its pixel; or those of all
 * its pixels, from two before x div D of the first one on; or four for each of its samples. */
template <WordLayout L> struct Window {
  static constexpr int kPixels = L == kOnePixel ? 1 : L == kTwoPixels ? 2 : 4;
  static constexpr int kChannels = L == kOnePixel     ? 4
                                   : L == kTwoPixels  ? 2
                                   : L == kFourPixels ? 1
                                                      : 4;
  static constexpr int kSize = L == kTwoPixels ? 5 : L == kFourPixels ? 6 : 4;
  float sample[kSize][kChannels];
};

/* The four weights of the cubic B-spline for phase x mod D, as in plan/pyramid.c. */
__device__ inline void spline_weights(int factor, int phase, float (&to)[4])
{
  const float position = (phase - 0.5f * (float)(factor - 1)) / (float)factor;
  const float f = position - floorf(position), g = 1.0f - f;

  to[0] = factor == 1 ? 1.0f : g * g * g * (1.0f / 6);
  to[1] = factor == 1 ? 0.0f : (4.0f - 6.0f * f * f + 3.0f * f * f * f) * (1.0f / 6);
  to[2] = factor == 1 ? 0.0f : (4.0f - 6.0f * g * g + 3.0f * g * g * g) * (1.0f / 6);
  to[3] = factor == 1 ? 0.0f : f * f * f * (1.0f / 6);
}

/* Interpolates coarse rows at the samples of one word. */
template <WordLayout L> struct RowInterpolator {
  static constexpr int kSize = Window<L>::kSize;
  const Fp32Plane &plane;
  const int pitch; /* of coarse rows */
  int offset[L == kAnyPixels ? 4 : kSize];
  float weight[Window<L>::kPixels][kSize];

  __device__ RowInterpolator(const Fp32Plane &plane, int word)
      : plane(plane), pitch((plane.x.coarse_end - plane.x.coarse_first) * plane.channels)
  {
    if constexpr (L == kAnyPixels)
      place_samples(word);
    else
      place_window(word);
  }

  __device__ void place_samples(int word)
  {
    const Fp32Axis &axis = plane.x;

#pragma unroll
    for (int j = 0; j < 4; j++) {
      const int sample = min(4 * word + j, plane.samples - 1);
      const int x = sample / plane.channels, group = x / axis.factor;

      offset[j] = (group + spline_first(axis.factor, x - group * axis.factor) - axis.coarse_first) *
                      plane.channels +
                  sample - x * plane.channels;
      spline_weights(axis.factor, x - group * axis.factor, weight[j]);
    }
  }

  __device__ void place_window(int word)
  {
    const Fp32Axis &axis = plane.x;
    const int x0 = word * Window<L>::kPixels, group0 = x0 / axis.factor;
    const int first =
        L == kOnePixel ? group0 + spline_first(axis.factor, x0 - group0 * axis.factor) : group0 - 2;

#pragma unroll
    for (int k = 0; k < kSize; k++)
      offset[k] =
          (min(max(first + k, axis.coarse_first), axis.coarse_end - 1) - axis.coarse_first) *
          Window<L>::kChannels;
#pragma unroll
    for (int j = 0; j < Window<L>::kPixels; j++) {
      const int x = min(x0 + j, plane.width - 1), group = x / axis.factor;
      const int shift = group + spline_first(axis.factor, x - group * axis.factor) - first;
      float four[4];

      spline_weights(axis.factor, x - group * axis.factor, four);
#pragma unroll
      for (int k = 0; k < kSize; k++) {
        weight[j][k] = 0.0f;
#pragma unroll
        for (int i = 0; i < 4; i++)
          weight[j][k] = k - i == shift ? four[i] : weight[j][k];
      }
    }
  }

  /* Loads what combine() needs of coarse row `y`. Two calls, so that loads overlap other work. */
  __device__ void fetch(int y, Window<L> &window) const
  {
    const int inside = min(max(y, plane.coarse_first), plane.coarse_end - 1) - plane.coarse_first;
    const float *from = plane.coarse + (size_t)inside * pitch;

    if constexpr (L == kAnyPixels) {
      /* With D = 1 there is one tap; what is loaded for the others has weight 0. */
      const int step = plane.x.factor == 1 ? 0 : plane.channels;
#pragma unroll
      for (int k = 0; k < kSize; k++) {
#pragma unroll
        for (int j = 0; j < 4; j++)
          window.sample[k][j] = from[offset[j] + k * step];
      }
    } else {
#pragma unroll
      for (int k = 0; k < kSize; k++)
        load(from + offset[k], window.sample[k]);
    }
  }

  __device__ static void load(const float *from, float (&to)[1])
  {
    to[0] = *from;
  }

  __device__ static void load(const float *from, float (&to)[2])
  {
    const float2 two = *(const float2 *)from;

    to[0] = two.x;
    to[1] = two.y;
  }

  __device__ static void load(const float *from, float (&to)[4])
  {
    const float4 four = *(const float4 *)from;

    to[0] = four.x;
    to[1] = four.y;
    to[2] = four.z;
    to[3] = four.w;
  }

  __device__ void combine(const Window<L> &window, float (&value)[4]) const
  {
#pragma unroll
    for (int j = 0; j < 4; j++) {
      const int pixel = L == kAnyPixels ? j : j / Window<L>::kChannels;
      const int channel = L == kAnyPixels ? j : j % Window<L>::kChannels;

      value[j] = 0.0f;
#pragma unroll
      for (int k = 0; k < kSize; k++)
        value[j] = fmaf(weight[pixel][k], window.sample[k][channel], value[j]);
    }
  }
};

/* ---- to samples ---- */

/* The scale and offset that turn a sum into what is converted to a code. Since the weights along
 * columns add up to 1, they are applied to coarse rows, which are fewer. */
template <typename Sample> struct Scaled;

/* Codes / 255, which saturate for free, with the bias of kRoundHalf. */
template <> struct Scaled<uint8_t> {
  static __device__ float scale()
  {
    return 1.0f / 255;
  }
  static __device__ float offset(float centre)
  {
    return (centre + (kRoundHalf - 0.5f)) * (1.0f / 255);
  }
  static __device__ float last(float weight, float near, float sum)
  {
    return __saturatef(fmaf(weight, near, sum));
  }

  /* The code in the lowest byte: 12582912 = 1.5 * 2^23 has a unit in the last place of 1. */
  static __device__ uint32_t code(float value)
  {
    return __float_as_uint(fmaf(value, 255.0f, 12582912.0f));
  }
};

template <> struct Scaled<uint16_t> {
  static __device__ float scale()
  {
    return 1.0f;
  }
  static __device__ float offset(float centre)
  {
    return centre + kRoundHalf;
  }
  static __device__ float last(float weight, float near, float sum)
  {
    return fmaf(weight, near, sum);
  }
};

struct PackedBytes {
  uint32_t word;

  __device__ PackedBytes(const Fp32Plane &, const float (&value)[4])
  {
    uint32_t code[4];

#pragma unroll
    for (int j = 0; j < 4; j++)
      code[j] = Scaled<uint8_t>::code(value[j]);
    word = __byte_perm(__byte_perm(code[0], code[1], 0x0040), __byte_perm(code[2], code[3], 0x0040),
                       0x5410);
  }

  __device__ uint8_t at(int j) const
  {
    return (uint8_t)(word >> 8 * j);
  }
};

struct PackedWords {
  uint2 word;

  __device__ PackedWords(const Fp32Plane &plane, const float (&value)[4])
  {
    uint32_t code[4];

#pragma unroll
    for (int j = 0; j < 4; j++)
      code[j] = (uint32_t)fminf(fmaxf(value[j], 0.0f), (float)plane.max_code) << plane.shift;
    word = make_uint2(code[0] | code[1] << 16, code[2] | code[3] << 16);
  }

  __device__ uint16_t at(int j) const
  {
    return (uint16_t)((j < 2 ? word.x : word.y) >> 16 * (j & 1));
  }
};

template <typename Sample> struct Packed;
template <> struct Packed<uint8_t> {
  typedef PackedBytes Type;
};
template <> struct Packed<uint16_t> {
  typedef PackedWords Type;
};

/* A pixel of scaled sums of alpha and premultiplied colours: divides the colours by alpha. */
__device__ inline void unpremultiply(const Fp32Plane &plane, float (&value)[4])
{
  const float alpha = (plane.alpha == 0 ? value[0] : value[3]) - Scaled<uint8_t>::offset(0.0f);
  const bool colours = alpha >= 0.5f / 255;
  const float divide = __fdividef(1.0f, alpha);

#pragma unroll
  for (int j = 0; j < 4; j++) {
    const float offset = Scaled<uint8_t>::offset(plane.centre[j]);

    if (j == 0 ? plane.alpha != 0 : j == 3 ? plane.alpha == 0 : true)
      value[j] = colours ? fmaf(value[j] - offset, divide, offset)
                         : Scaled<uint8_t>::offset(plane.transparent_code[j]);
    value[j] = __saturatef(value[j]);
  }
}

/* Whether alpha is 255 in all coarse rows around: sums of opaque alpha less 255 are exactly 0. */
__device__ inline bool is_opaque(const Fp32Plane &plane, const float (&near)[5][4])
{
  const float opaque = Scaled<uint8_t>::offset(255.0f);
  bool all = true;

#pragma unroll
  for (int k = 0; k < 5; k++)
    all = all && (plane.alpha == 0 ? near[k][0] : near[k][3]) == opaque;
  return all;
}

/* Row `p` of the D result rows between coarse rows: `near` are the five from two above on. */
template <typename Sample, bool Alpha, int D>
__device__ inline void interpolate(const Fp32Job &job, const float (&near)[5][4], int p,
                                   float (&value)[4])
{
  const float *weight = &job.spline[factor_log2(D)][4 * p];
  const int k = 2 * p < D ? 0 : 1;

#pragma unroll
  for (int j = 0; j < 4; j++) {
    if (D == 1) {
      value[j] = Scaled<Sample>::last(1.0f, near[4][j], 0.0f);
      continue;
    }
    value[j] = weight[0] * near[k][j];
    value[j] = fmaf(weight[1], near[k + 1][j], value[j]);
    value[j] = fmaf(weight[2], near[k + 2][j], value[j]);
    value[j] = Alpha ? fmaf(weight[3], near[k + 3][j], value[j])
                     : Scaled<Sample>::last(weight[3], near[k + 3][j], value[j]);
  }
}

/* A thread's strip. */
struct Span {
  int word, count; /* `count` of the word's samples lie in the row */
  int first, end;  /* rows */
};

/* Stores rows y .. y + D - 1 as far as they lie in the strip. */
template <typename Sample, bool Alpha, int D>
__device__ inline void store_rows(const Fp32Job &job, const Fp32Plane &plane,
                                  const float (&near)[5][4], const Span &span, int y)
{
  typedef typename Packed<Sample>::Type Type;
  uint8_t *to = plane.destination + (ptrdiff_t)y * plane.destination_stride +
                4 * sizeof(Sample) * (size_t)span.word;
  const bool whole = plane.vector && span.count == 4 && y >= span.first && y + D <= span.end;

#pragma unroll
  for (int p = 0; p < D; p++, to += plane.destination_stride) {
    float value[4];

    interpolate<Sample, Alpha, D>(job, near, p, value);
    if (Alpha)
      unpremultiply(plane, value);
    const Type packed(plane, value);
    if (whole) {
      *(decltype(packed.word) *)to = packed.word;
    } else if (y + p >= span.first && y + p < span.end) {
#pragma unroll
      for (int j = 0; j < 4; j++) {
        if (j < span.count)
          ((Sample *)to)[j] = packed.at(j);
      }
    }
  }
}

template <typename Sample, WordLayout L, int D>
__device__ inline void upsample(const Fp32Job &job, const Fp32Plane &plane, int cta)
{
  constexpr int kAhead = D > 1 ? 2 : 0; /* coarse rows below y div D that are read */
  const int words = words_of(plane);
  const int across = div_up(words, kThreads);
  const int word = cta % across * kThreads + (int)threadIdx.x;
  const int strip = plane.first / kFp32UpsampleStripRows + cta / across;
  const Span span = {word, min(4, plane.samples - 4 * word),
                     max(strip * kFp32UpsampleStripRows, plane.first),
                     min((strip + 1) * kFp32UpsampleStripRows, plane.end)};

  if (word >= words)
    return;
  const RowInterpolator<L> row_interpolator(plane, word);
  float near[5][4], offset[4];
  Window<L> ahead;

#pragma unroll
  for (int j = 0; j < 4; j++)
    offset[j] = Scaled<Sample>::offset(plane.centre[j]);
  const auto scale = [&](float(&value)[4]) {
#pragma unroll
    for (int j = 0; j < 4; j++)
      value[j] = fmaf(value[j], Scaled<Sample>::scale(), offset[j]);
  };
  if constexpr (D > 1) {
#pragma unroll
    for (int k = 0; k < 4; k++) {
      row_interpolator.fetch(span.first / D - 2 + k, ahead);
      row_interpolator.combine(ahead, near[k + 1]);
      scale(near[k + 1]);
    }
  }
  row_interpolator.fetch(span.first / D + kAhead, ahead);
  for (int group = span.first / D; group * D < span.end; group++) {
#pragma unroll
    for (int k = 0; k < 4; k++) {
#pragma unroll
      for (int j = 0; j < 4; j++)
        near[k][j] = near[k + 1][j];
    }
    row_interpolator.combine(ahead, near[4]);
    scale(near[4]);
    row_interpolator.fetch(group + 1 + kAhead, ahead);
    if (L == kOnePixel && plane.alpha >= 0 && !(D > 1 && is_opaque(plane, near)))
      store_rows<Sample, true, D>(job, plane, near, span, group * D);
    else
      store_rows<Sample, false, D>(job, plane, near, span, group * D);
  }
}

template <typename Sample, WordLayout L>
__device__ inline void upsample(const Fp32Job &job, const Fp32Plane &plane, int cta)
{
  switch (plane.y.factor) {
  case 1:
    return upsample<Sample, L, 1>(job, plane, cta);
  case 2:
    return upsample<Sample, L, 2>(job, plane, cta);
  case 4:
    return upsample<Sample, L, 4>(job, plane, cta);
  default:
    return upsample<Sample, L, 8>(job, plane, cta);
  }
}

__global__ void __launch_bounds__(kThreads)
    upsample_pixels_kernel(const __grid_constant__ Fp32Job job)
{
  int cta;
  const Fp32Plane &plane = plane_of_cta(job, &Fp32Plane::upsample_first_cta, &cta);

  pdl_wait();
  upsample<uint8_t, kOnePixel>(job, plane, cta);
}

template <typename Sample>
__global__ void __launch_bounds__(kThreads)
    upsample_planes_kernel(const __grid_constant__ Fp32Job job)
{
  int cta;
  const Fp32Plane &plane = plane_of_cta(job, &Fp32Plane::upsample_first_cta, &cta);

  pdl_wait();
  if (plane.channels == 1)
    upsample<Sample, kFourPixels>(job, plane, cta);
  else if (plane.channels == 2)
    upsample<Sample, kTwoPixels>(job, plane, cta);
  else
    upsample<Sample, kAnyPixels>(job, plane, cta);
}

} // namespace

bool fp32_upsample(const Fp32Job *job, const Fp32LaunchPlan &plan, void *stream, CfStatus *status)
{
  const auto kernel = plan.wide                     ? upsample_planes_kernel<uint16_t>
                      : job->plane[0].channels == 4 ? upsample_pixels_kernel
                                                    : upsample_planes_kernel<uint8_t>;

  return launch_job(kernel, job, plan.upsample_ctas, kThreads, 0, stream,
                    "enlarging the blur pyramid", status);
}

} // namespace cf::pyramid
