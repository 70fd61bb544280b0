/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The local Laplacian filter's fast engine on tensor cores (sm_80 and newer): what the kernels of
 * the way down and of the way up share.
 *
 * Both 5-tap operators are small matrix products on fp16 fragments. On the way down, a banded
 * 16 x 35 matrix turns 35 pixels of a row into 16 pixels of the next level. On the way up, a 16 x
 * 16 matrix turns 4 x 4 coarse pixels into 4 x 4 fine ones. The other operand has the 8 components
 * of a group in its columns. At level 0 components come from a LUT in shared memory, one row per
 * code value: ldmatrix fetches rows by address, so look-up and fragment layout are one instruction.
 */
#pragma once

#include "cuda/llf/pixel_io.cuh"
#include "cuda/llf/pyramid_ops.cuh"
#include "cuda/common/half2.cuh"
#include "cuda/common/ptx_async.cuh"
#include "cuda/common/ptx_mma.cuh"

namespace cf::llf
{

/* Bytes of a group of one pixel, and of a row of a LUT. */
constexpr int kGroupBytes = 16;

/* Groups per pixel: 8 harmonics. */
constexpr int kGroups = kMmaGroups;

/* The taps in fp16, rounded so that their sum is exactly 1: the gain of plain rounding,
 * 1 - 2^-13 per level, would accumulate. */
constexpr float kHalfEdge = 1640.0f / 32768.0f, kHalfSide = 0.25f, kHalfCentre = 1638.0f / 4096.0f;

/* A fragment of a constant matrix, computed at compile time: word [lane][register]. */
template <int Words> struct alignas(16) Fragment {
  uint32_t word[32][Words];
};

/* The bits of a value that fp16 represents exactly, as 0 or a normal number. */
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

/* Sine and cosine of one harmonic after another, by rotation. */
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

/* A LUT of level 0. Sample: the type of the picture's samples (not of RGB), and of LUT indices in
 * shared memory. Quad: four samples, or four pixels of RGB. kCopies: how often the LUT holds each
 * row where there is room, so that the rows that a warp looks up lie in different banks. */
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
  using Quad = uint4; /* a pixel per word, with its channels in the bytes that Packing names */
  /* As many as leave shared memory for two tiles of components of each of two teams, beside eight
   * copies of every eighth row (mma_laplacian_cta.cuh). */
  static constexpr int kEntries = 3568, kCopies = 1;
};

/* Calls `function` with the picture's LutKind as a compile-time constant. */
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

/* The intensity of a code; or of a LUT row of RGB luma, where rows divide 0..1 evenly. */
template <LutKind Kind>
__device__ __forceinline__ float intensity_of_row(const Pixels &pixels, float row)
{
  return Kind == LutKind::kRgbLuma ? row * (1.0f / (LutOf<Kind>::kEntries - 1))
                                   : __saturatef(fmaf(pixels.weight[0], row, pixels.bias));
}

/* The bytes of an RGB pixel's 32-bit word that hold its channels. `packed`: the picture consists of
 * such words; otherwise load_channels() composes words with the channels in order. */
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

/* The LUT row of an RGB pixel: its luma, rounded, by integer dot products with 16-bit weights. */
struct LumaRow {
  uint32_t weights_01, weights_23; /* of bytes 0 and 1, and 2 and 3, of a pixel's word */
  int addend;                      /* the bias, and 1/2 for rounding */
  bool may_clip;                   /* sums may lie outside the LUT */

  /* A sum is a row number with kBits fractional bits. Of these kShift are kept (as 0) in shared
   * memory, so that numbers are whole bytes of sums. */
  static constexpr int kLast = LutOf<LutKind::kRgbLuma>::kEntries - 1, kBits = 12, kShift = 4;
  static_assert(kBits - kShift == 8 && kLast << kShift < 65536, "two bytes");

  __device__ __forceinline__ int sum_of(uint32_t word) const
  {
    return (int)__dp2a_hi(weights_23, word, __dp2a_lo(weights_01, word, (uint32_t)addend));
  }

  __device__ __forceinline__ int clamped(int sum) const
  {
    return min(max(sum, 0), kLast << kBits);
  }

  __device__ __forceinline__ uint32_t of(uint32_t word) const
  {
    return (uint32_t)clamped(sum_of(word)) >> kBits;
  }

  /* The rows of pairs of pixels, shifted left by kShift, two per word. */
  template <int Pairs>
  __device__ __forceinline__ void shifted_rows_of(const uint32_t (&words)[2 * Pairs],
                                                  uint32_t (&numbers)[Pairs]) const
  {
    constexpr uint32_t kMask = (65535u << kShift & 65535u) * 65537u;
    int sums[2 * Pairs];

#pragma unroll
    for (int i = 0; i < 2 * Pairs; i++)
      sums[i] = sum_of(words[i]);
    if (may_clip) {
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

    (packing.byte[c] < 2 ? row.weights_01 : row.weights_23) |= weight << 16 * (packing.byte[c] % 2);
    most += 255LL * weight;
  }
  row.may_clip = row.addend < 0 || most >> LumaRow::kBits > LumaRow::kLast;
  return row;
}

/* The LUT rows of two 10-bit samples: the last row for samples whose unused upper bits are not 0.
 */
__device__ __forceinline__ uint32_t u10_rows(uint32_t two, int shift)
{
  constexpr uint32_t kLastRow = LutOf<LutKind::kU10>::kEntries - 1;

  return __vminu2(two >> shift & (65535u >> shift) * 65537u, kLastRow * 65537u);
}

/* ---- The picture ---- */

/* The picture as quads of four samples or RGB pixels. */
struct PictureWords {
  const uint8_t *from;          /* the first */
  int stride;                   /* bytes */
  bool aligned;                 /* a quad can be read by one load */
  uint32_t minus_black, levels; /* minus black, and white less black, in both halves of the word */
  Packing packing;
  LumaRow luma_row;

  /* Two codes less black, clamped to black and white. Bytes are clamped as 16-bit codes: the GPU
   * has no instruction for four bytes. */
  __device__ __forceinline__ uint32_t above_black(uint32_t codes) const
  {
    return __viaddmin_s16x2_relu(codes, minus_black, levels);
  }
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
  words.minus_black = (65536u - (uint32_t)pixels.offset) % 65536u * 65537u;
  words.levels = (uint32_t)pixels.scale * 65537u;
  words.packing = packing;
  words.luma_row = luma_row_of(pixels, packing);
  return words;
}

/* Appends a sample to a quad, whose first drops out. */
__device__ __forceinline__ void push(uint32_t &quad, uint32_t sample)
{
  quad = quad >> 8 | sample << 24;
}

__device__ __forceinline__ void push(uint2 &quad, uint32_t sample)
{
  quad = make_uint2(__funnelshift_r(quad.x, quad.y, 16), quad.y >> 16 | sample << 16);
}

__device__ __forceinline__ void push(uint4 &quad, uint32_t pixel)
{
  quad = make_uint4(quad.y, quad.z, quad.w, pixel);
}

/* Loads a quad of row `y` sample by sample; x_of (k) is the column of sample k. */
template <LutKind Kind, typename ColumnOf>
__device__ __forceinline__ typename LutOf<Kind>::Quad
gather_quad(const Pixels &pixels, const PictureWords &picture, int y, ColumnOf x_of)
{
  using Sample = typename LutOf<Kind>::Sample;
  const Channel &channel = pixels.channel[0];
  typename LutOf<Kind>::Quad quad = {};

#pragma unroll
  for (int k = 0; k < 4; k++) {
    if constexpr (Kind == LutKind::kRgbLuma)
      push(quad, load_channels(pixels, picture.packing, x_of(k), y));
    else
      push(quad,
           load_code<Sample>(channel.from, channel.from_stride, pixels.step[0], x_of(k), y, 0));
  }
  return quad;
}

} // namespace cf::llf
