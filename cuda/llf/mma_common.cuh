/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The local Laplacian filter's fast engine on tensor cores (sm_80 and newer): what its way down and
 * its way up share.
 *
 * Both 5-tap operators are small matrix products on fp16 fragments. Down, a banded 16 x 35 matrix
 * makes 16 pixels of a row of the next level. Up, a 16 x 16 matrix makes 4 x 4 pixels of 4 x 4
 * coarser ones. What is multiplied has a group of components in its 8 columns. At level 0 of 8 and
 * 10-bit pictures the components are rows of a table in shared memory, one a code value, which
 * ldmatrix fetches by address: look-up and layout are one instruction.
 */
#pragma once

#include "cuda/llf/pixel_io.cuh"
#include "cuda/llf/pyramid_ops.cuh"
#include "cuda/common/half2.cuh"
#include "cuda/common/ptx_async.cuh"
#include "cuda/common/ptx_mma.cuh"

namespace cf::llf
{

/* Bytes of one group of one pixel, and of a row of a table. */
constexpr int kGroupBytes = 16;

/* Groups of a pixel: of 8 harmonics. */
constexpr int kGroups = kMmaGroups;

/* The taps in fp16, rounded so that their sum is exactly 1: a gain of 1 - 2^-13 a level would add
 * up. */
constexpr float kHalfEdge = 1640.0f / 32768.0f, kHalfSide = 0.25f, kHalfCentre = 1638.0f / 4096.0f;

/* A fragment of a constant matrix, as lanes hold it: made when compiling. */
template <int Words> struct alignas(16) Fragment {
  uint32_t word[32][Words];
};

/* Of a number that is one in fp16, and no denormal. */
constexpr uint32_t half_bits(float value)
{
  const uint32_t sign = value < 0.0f ? 0x8000u : 0u;
  float magnitude = value < 0.0f ? -value : value;
  uint32_t exponent = 15;

  if (magnitude == 0.0f)
    return 0;
  for (; magnitude < 1.0f; magnitude *= 2.0f)
    exponent--;
  return sign | exponent << 10 | (uint32_t)((magnitude - 1.0f) * 1024.0f);
}

constexpr uint32_t half_pair_bits(float low, float high)
{
  return half_bits(low) | half_bits(high) << 16;
}

/* Sine and cosine of one harmonic after another. */
struct Rotation {
  float step_sine, step_cosine, sine, cosine;

  __device__ __forceinline__ Rotation(float first_turns, float step_turns)
  {
    sincos_turns(first_turns, &sine, &cosine);
    sincos_turns(step_turns, &step_sine, &step_cosine);
  }

  __device__ __forceinline__ void advance()
  {
    const float turned = fmaf(sine, step_cosine, cosine * step_sine);
    cosine = fmaf(cosine, step_cosine, -sine * step_sine);
    sine = turned;
  }
};

/* A level-0 LUT. Sample: of the picture, and of row numbers in shared memory; Quad: four samples,
 * or four pixels of RGB. Where there is room a LUT holds each row several times, so that the rows
 * that a warp looks up lie in different banks. */
template <LutKind Kind> struct LutOf;

template <> struct LutOf<LutKind::kU10> {
  using Sample = uint16_t;
  using Quad = uint2;
  static constexpr int kEntries = 1024, kCopies = 2;
};

template <> struct LutOf<LutKind::kU16> {
  using Sample = uint16_t;
  using Quad = uint2;
  static constexpr int kEntries = 65536, kCopies = 1;
};

template <> struct LutOf<LutKind::kU8> {
  using Sample = uint8_t;
  using Quad = uint32_t;
  static constexpr int kEntries = 256, kCopies = 8;
};

template <> struct LutOf<LutKind::kRgbLuma> {
  using Sample = uint16_t;
  using Quad = uint4; /* three channels of each pixel in the bytes that the packing names */
  /* So many that eight copies of every eighth leave room for two tiles of components of each of two
   * teams. */
  static constexpr int kEntries = 3568, kCopies = 1;
};

/* Calls `function` with the picture's kind as a type. */
template <LutKind value> struct LutConstant {
  static constexpr LutKind kKind = value;
};

template <typename Function> auto with_lut_kind(const Pixels &pixels, Function function)
{
  switch (lut_kind_of(pixels)) {
  case LutKind::kU8:
    return function(LutConstant<LutKind::kU8>());
  case LutKind::kU10:
    return function(LutConstant<LutKind::kU10>());
  case LutKind::kU16:
    return function(LutConstant<LutKind::kU16>());
  default:
    return function(LutConstant<LutKind::kRgbLuma>());
  }
}

template <LutKind Kind>
__device__ __forceinline__ float intensity_of_row(const Pixels &pixels, float row)
{
  return Kind == LutKind::kRgbLuma ? row * (1.0f / (LutOf<Kind>::kEntries - 1))
                                   : __saturatef(fmaf(pixels.weight[0], row, pixels.bias));
}

/* Codes from low to high, both twice, two at a time: there are no instructions for four bytes. */
__device__ __forceinline__ uint32_t clamped(uint32_t codes, uint32_t low, uint32_t high)
{
  return __vminu2(__vmaxu2(codes, low), high);
}

/* Which bytes of a pixel's word the three channels are, if the picture has such words; words made
 * of other pictures hold them in order. */
struct Packing {
  bool packed;
  int byte[3];
};

inline Packing packing_of(const Pixels &pixels)
{
  const Packing other = {false, {0, 1, 2}};
  const uintptr_t word = (uintptr_t)pixels.channel[0].from & ~(uintptr_t)3;
  Packing packing = {true, {}};

  if (pixels.colour != Colour::RGB || pixels.wide || pixels.channel[0].from_stride % 4)
    return other;
  for (int c = 0; c < 3; c++) {
    const uintptr_t offset = (uintptr_t)pixels.channel[c].from - word;

    if (pixels.step[c] != 4 || offset > 3)
      return other;
    packing.byte[c] = (int)offset;
  }
  return packing;
}

__device__ __forceinline__ uint32_t load_channels(const Pixels &pixels, const Packing &packing,
                                                  int x, int y)
{
  uint32_t word = 0;

#pragma unroll
  for (int c = 0; c < 3; c++)
    word |= (uint32_t)load_code<uint8_t>(pixels.channel[c].from, pixels.channel[c].from_stride,
                                         pixels.step[c], x, y, 0)
            << 8 * packing.byte[c];
  return word;
}

/* The rounded luma of such words, in whole numbers. Its weights have 16 bits, so they are two by
 * two, in the order of a word's bytes. */
struct LumaRow {
  uint32_t first, second;
  int addend;
  bool clamps; /* if it may be more or less than the table has */

  /* Rows are numbered in steps of 1 << kShift: so they lie in whole bytes of the sums. */
  static constexpr int kLast = LutOf<LutKind::kRgbLuma>::kEntries - 1, kBits = 12, kShift = 4;
  static_assert(kBits - kShift == 8 && kLast << kShift < 65536, "two bytes");

  __device__ __forceinline__ int sum_of(uint32_t word) const
  {
    return (int)__dp2a_hi(second, word, __dp2a_lo(first, word, (uint32_t)addend));
  }

  __device__ __forceinline__ int clamped(int sum) const
  {
    return min(max(sum, 0), kLast << kBits);
  }

  __device__ __forceinline__ uint32_t of(uint32_t word) const
  {
    return (uint32_t)clamped(sum_of(word)) >> kBits;
  }

  /* Of pairs of words, side by side, 1 << kShift times the row. */
  template <int Pairs>
  __device__ __forceinline__ void numbers_of(const uint32_t (&words)[2 * Pairs],
                                             uint32_t (&numbers)[Pairs]) const
  {
    constexpr uint32_t kMask = (65535u << kShift & 65535u) * 65537u;
    int sums[2 * Pairs];

#pragma unroll
    for (int i = 0; i < 2 * Pairs; i++)
      sums[i] = sum_of(words[i]);
    if (clamps) {
#pragma unroll
      for (int i = 0; i < 2 * Pairs; i++)
        sums[i] = clamped(sums[i]);
    }
#pragma unroll
    for (int i = 0; i < Pairs; i++)
      numbers[i] = __byte_perm((uint32_t)sums[2 * i], (uint32_t)sums[2 * i + 1], 0x6521) & kMask;
  }
};

inline LumaRow luma_row_of(const Pixels &pixels, const Packing &packing)
{
  const float one = (float)(LumaRow::kLast << LumaRow::kBits);
  LumaRow row = {0, 0, (int)lrintf(pixels.bias * one) + (1 << (LumaRow::kBits - 1)), false};
  long long most = row.addend;

  for (int c = 0; c < 3; c++) {
    const uint32_t weight = (uint32_t)lrintf(pixels.weight[c] * one);

    (packing.byte[c] < 2 ? row.first : row.second) |= weight << 16 * (packing.byte[c] % 2);
    most += 255LL * weight;
  }
  row.clamps = row.addend < 0 || most >> LumaRow::kBits > LumaRow::kLast;
  return row;
}

/* The rows of two samples of 10 bits: samples whose unused upper bits are not 0 have the last. */
__device__ __forceinline__ uint32_t u10_rows(uint32_t two, int shift)
{
  constexpr uint32_t kLastRow = LutOf<LutKind::kU10>::kEntries - 1;

  return __vminu2(two >> shift & (65535u >> shift) * 65537u, kLastRow * 65537u);
}

/* --- the picture --- */

/* The picture as words of four samples or pixels. */
struct PictureWords {
  const uint8_t *from; /* the first */
  int stride;          /* bytes */
  bool aligned;        /* four can be read in one go */
  bool clamps;         /* codes may be beyond black or white, which are these, twice */
  uint32_t first_code, last_code;
  Packing packing;
  LumaRow luma_row;
};

inline PictureWords words_of(const Pixels &pixels)
{
  const Channel &channel = pixels.channel[0];
  const bool rgb = pixels.colour == Colour::RGB;
  const Packing packing = packing_of(pixels);
  const uint8_t *const from = channel.from - (rgb ? packing.byte[0] : 0);
  const uintptr_t bits = (uintptr_t)from | (uintptr_t)channel.from_stride;
  PictureWords words = {};

  words.from = from;
  words.stride = (int)channel.from_stride;
  words.aligned = words.stride == channel.from_stride &&
                  (rgb ? packing.packed && bits % 16 == 0
                       : pixels.step[0] == 1 && bits % (pixels.wide ? 8 : 4) == 0);
  words.first_code = (uint32_t)pixels.offset * 65537u;
  words.last_code = (uint32_t)(pixels.offset + pixels.scale) * 65537u;
  words.clamps = pixels.offset > 0 || pixels.offset + pixels.scale < pixels.max_code ||
                 (pixels.wide && pixels.shift == 0);
  words.packing = packing;
  words.luma_row = luma_row_of(pixels, packing);
  return words;
}

/* One sample more, at the end. */
__device__ __forceinline__ void push(uint32_t &four, uint32_t sample)
{
  four = four >> 8 | sample << 24;
}

__device__ __forceinline__ void push(uint2 &four, uint32_t sample)
{
  four = make_uint2(__funnelshift_r(four.x, four.y, 16), four.y >> 16 | sample << 16);
}

__device__ __forceinline__ void push(uint4 &four, uint32_t pixel)
{
  four = make_uint4(four.y, four.z, four.w, pixel);
}

/* Four in row `y`, one by one: `x_of (k)` is where the k-th lies. */
template <LutKind Kind, typename PlaceOf>
__device__ __forceinline__ typename LutOf<Kind>::Quad
gather_quad(const Pixels &pixels, const PictureWords &picture, int y, PlaceOf x_of)
{
  using Sample = typename LutOf<Kind>::Sample;
  const Channel &channel = pixels.channel[0];
  typename LutOf<Kind>::Quad four = {};

#pragma unroll
  for (int k = 0; k < 4; k++) {
    if constexpr (Kind == LutKind::kRgbLuma)
      push(four, load_channels(pixels, picture.packing, x_of(k), y));
    else
      push(four,
           load_code<Sample>(channel.from, channel.from_stride, pixels.step[0], x_of(k), y, 0));
  }
  return four;
}

} // namespace cf::llf
