/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The picture in the last kernel of the fast engine on tensor cores: two rows of eight pixels a
 * thread, read before they are needed, and written in words where the picture lies so.
 */
#pragma once

#include "cuda/llf/tiled_fp16.cuh"

namespace cf::llf
{

struct Output {
  float linear; /* what the picture itself adds to itself */
  bool rows;    /* luma can be read and written 8 samples at a time, */
  bool pairs;   /* and so can two interleaved chroma channels of half the size */
  Packing packing;

  /* Of RGB, in codes: see filtered_colours(). Then where bytes are taken from and put to. */
  float luma[3], scale, linear_part, linear_offset, old_offset, part_of_room, part_of_white;
  float free_room, epsilon, dark, dark_offset, minus_strength;
  uint32_t take_two, take_third, put;
};

/* Codes go to floats and back as the low bits of 2^23 and more: the conversions that the GPU has
 * are few a clock. */
constexpr uint32_t kWholeBits = 0x4b000000;
constexpr float kWhole = 8388608.0f;

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
 * instructions: bytes are the low bits of halves, and numbers of 16 bits are cut off. */
template <typename Sample> constexpr float kOffset = sizeof(Sample) == 1 ? 1024.0f : 0.5f;

template <typename Sample>
__device__ __forceinline__ uint32_t limited_code(float made, float max_code)
{
  if constexpr (sizeof(Sample) == 1)
    return limited_bytes(rounded(made, -kOffset<Sample> * kDenormal), 0, 0);
  else
    return rounded_bits(made, max_code);
}

/* Eight samples in registers. Codes are kOffset too large. */
template <typename Sample> struct Eight;

template <> struct Eight<uint8_t> {
  uint2 words;

  __device__ __forceinline__ float code(int i, int) const
  {
    const uint32_t word = i < 4 ? words.x : words.y;
    const float2 two = unpack(__byte_perm(word, 0x64646464, i & 2 ? 0x4342 : 0x4140));

    return i & 1 ? two.y : two.x;
  }

  __device__ __forceinline__ void set(const float codes[8], float, int)
  {
    words.x = packed(codes);
    words.y = packed(codes + 4);
  }

  __device__ __forceinline__ static uint32_t packed(const float codes[4])
  {
    int number[4];

#pragma unroll
    for (int i = 0; i < 4; i++)
      number[i] = rounded(codes[i], -kOffset<uint8_t> * kDenormal);
    return limited_bytes(number[0], number[1], limited_bytes(number[2], number[3], 0));
  }
};

template <> struct Eight<uint16_t> {
  uint4 words;

  __device__ __forceinline__ float code(int i, int shift) const
  {
    const uint32_t significant = word(words, i / 2) & (65535u << shift & 65535u) * 65537u;
    const uint32_t bits = __byte_perm(significant, kWholeBits, i & 1 ? 0x7432 : 0x7410);

    return fmaf(code_of_bits(bits), __uint_as_float((uint32_t)(127 - shift) << 23),
                kOffset<uint16_t>);
  }

  __device__ __forceinline__ void set(const float codes[8], float max_code, int shift)
  {
    uint32_t bits[8];

#pragma unroll
    for (int i = 0; i < 8; i++)
      bits[i] = rounded_bits(codes[i], max_code);
    words = make_uint4(__byte_perm(bits[0], bits[1], 0x5410) << shift,
                       __byte_perm(bits[2], bits[3], 0x5410) << shift,
                       __byte_perm(bits[4], bits[5], 0x5410) << shift,
                       __byte_perm(bits[6], bits[7], 0x5410) << shift);
  }
};

/* What a thread reads of the picture: it is on its way while the coarser levels are made. */
template <typename Sample, Colour Kind> struct Source {
  Eight<Sample> luma[2], pairs;
};

template <typename Sample> struct Source<Sample, Colour::RGB> {
  uint4 words[2][2];
};

/* Whether two rows of a cell are read and written in one go. */
template <Colour Kind>
__device__ __forceinline__ bool is_direct(const Pixels &pixels, const Output &output, int x)
{
  return output.rows && x + kCellX <= pixels.width && (Kind != Colour::CHROMA || output.pairs);
}

__device__ __forceinline__ const Channel &pairs_of(const Pixels &pixels)
{
  return pixels.channel[pixels.channel[1].from < pixels.channel[2].from ? 1 : 2];
}

/* At odd heights the row below the last is that again. */
template <typename Sample, Colour Kind>
__device__ __forceinline__ void load_source(const Pixels &pixels, const Output &output, int x,
                                            int y, Source<Sample, Kind> *source)
{
  const Channel &channel = pixels.channel[0];

#pragma unroll
  for (int row = 0; row < 2; row++) {
    const uint8_t *const from =
        channel.from + (ptrdiff_t)min(y + row, pixels.height - 1) * channel.from_stride;

    if constexpr (Kind == Colour::RGB) {
      const uint4 *const words =
          reinterpret_cast<const uint4 *>(from - output.packing.byte[0] + 4 * x);
      source->words[row][0] = words[0];
      source->words[row][1] = words[1];
    } else {
      source->luma[row] = reinterpret_cast<const Eight<Sample> *>(from)[x / 8];
    }
  }
  if constexpr (Kind == Colour::CHROMA) {
    const Channel &pairs = pairs_of(pixels);
    source->pairs = reinterpret_cast<const Eight<Sample> *>(
        pairs.from + (ptrdiff_t)(y / 2) * pairs.from_stride)[x / 8];
  }
}

/* The same picture may be read by samples or by words: what a sample becomes is said once. Codes
 * are made a half too large. */

/* Luma. Chroma follows `luma` and what the filter has added to it, at full strength. */
template <typename Sample>
__device__ __forceinline__ float filtered_luma(const Pixels &pixels, float linear, float code,
                                               float delta, float *luma, float *added)
{
  const float bias = fmaf(-kOffset<Sample>, pixels.weight[0], pixels.bias);

  *luma = __saturatef(fmaf(pixels.weight[0], code, bias));
  *added = eased(pixels, *luma, fmaf(linear, *luma, delta));
  return fmaf(pixels.strength * pixels.scale, *added, code);
}

/* The gain that colours follow, in parts of the largest one, which a multiplication limits. */
constexpr float kMostGain = (float)CF_LLF_MAX_GAIN, kGainEpsilon = (float)CF_LLF_GAIN_EPSILON;

/* What a change is divided by, kMostGain times as much as in plan/llf_plan.h: `base` is of luma and
 * an epsilon where that rises, else of luma, and `least` of an epsilon. */
__device__ __forceinline__ float part_of_gain(float base, float least, float change)
{
  return __saturatef(fmaf(change, reciprocal_approx(fmaxf(base, least)), 1.0f / kMostGain));
}

/* How chroma follows: to codes up to `most` from the centre `gain` times them is added, which is
 * less than 0 where they come nearer. */
struct Follow {
  float gain, most;
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

  return Follow{
      eased_follow(fmaf(lumas, 1.0f / kMostGain, -kGainEpsilon), fmaf(kMostGain, part, -1.0f)),
      pixels.most_chroma / kMostGain * lumas};
}

/* Two chroma samples of the same place. */
template <typename Sample>
__device__ __forceinline__ void filtered_chroma(const Pixels &pixels, const Follow &follow,
                                                float first, float second, float made[2])
{
  const float centre = pixels.chroma_centre + kOffset<Sample>;
  const float from_first = first - centre, from_second = second - centre;
  const float gain =
      pixels.strength * eased_chroma(pixels, follow.gain, follow.most, from_first, from_second);

  made[0] = fmaf(gain, fminf(fmaxf(from_first, -follow.most), follow.most), first);
  made[1] = fmaf(gain, fminf(fmaxf(from_second, -follow.most), follow.most), second);
}

/* Red, green and blue, of kMostGain times their codes and kOffset; what is made are codes. Luma of
 * these is never beyond 0..1. Here luma and ceiling are kMostGain times what plan/llf_plan.h has
 * with CF_LLF_GAIN_EPSILON added. */
__device__ __forceinline__ void filtered_colours(const Pixels &pixels, const Output &output,
                                                 const float code[3], float delta, float made[3])
{
  const float sum =
      fmaf(output.luma[2], code[2], fmaf(output.luma[1], code[1], output.luma[0] * code[0]));
  const float luma = sum + output.old_offset;
  const float ceiling = fmaxf(code[0], fmaxf(code[1], code[2])) + output.old_offset;
  const float added =
      fmaf(output.linear_part, luma, fmaf(output.scale, delta, output.linear_offset));
  const bool rises = added > 0.0f;
  const float left =
      rises ? fmaf(-output.part_of_room, ceiling, output.part_of_white) : pixels.most_of_room;
  const float base = rises ? luma : luma - output.epsilon;
  const float change =
      shoulder(added, rises ? ceiling : kMostGain, fmaf(left, base, output.free_room));
  const float t = __saturatef(fmaf(luma, output.dark, output.dark_offset));
  const float ease = rises ? t * t * fmaf(-2.0f, t, 3.0f) : 1.0f;
  const float part = part_of_gain(base, output.epsilon, change);
  const float follow = ease * fmaf(pixels.strength, part, output.minus_strength);
  const float grey = fmaf(-follow, sum, fmaf(pixels.strength, change, -kOffset<uint8_t>));

#pragma unroll
  for (int c = 0; c < 3; c++)
    made[c] = fmaf(follow + 1.0f / kMostGain, code[c], grey);
}

/* --- by words --- */

template <typename Sample>
__device__ __forceinline__ Eight<Sample>
filtered_eight(const Pixels &pixels, float linear, Eight<Sample> eight, const float delta[kCellX],
               Two twos[kCellX / 2])
{
  float made[kCellX];

#pragma unroll
  for (int i = 0; i < kCellX; i += 2) {
    float luma[2], added[2];

#pragma unroll
    for (int k = 0; k < 2; k++)
      made[i + k] = filtered_luma<Sample>(pixels, linear, eight.code(i + k, pixels.shift),
                                          delta[i + k], luma + k, added + k);
    twos[i / 2] = Two{luma[0] + luma[1], added[0] + added[1]};
  }
  eight.set(made, pixels.max_code, pixels.shift);
  return eight;
}

/* PixelQuad pairs of interleaved chroma, which follow alike. */
template <typename Sample>
__device__ __forceinline__ Eight<Sample> filtered_pairs(const Pixels &pixels, Eight<Sample> eight,
                                                        int rows, const Two twos[2][kCellX / 2])
{
  const float below = rows == 2 ? 0.25f : 0.0f, above = 0.5f - below;
  float made[kCellX];

#pragma unroll
  for (int i = 0; i < kCellX; i += 2) {
    const Follow follow = follow_quad(pixels, above, below, twos[0][i / 2], twos[1][i / 2]);

    filtered_chroma<Sample>(pixels, follow, eight.code(i, pixels.shift),
                            eight.code(i + 1, pixels.shift), made + i);
  }
  eight.set(made, pixels.max_code, pixels.shift);
  return eight;
}

/* Red, green and blue in a word of four bytes; the fourth stays. */
__device__ __forceinline__ uint32_t filtered_word(const Pixels &pixels, const Output &output,
                                                  uint32_t high_bytes, uint32_t pixel, float delta)
{
  const float2 two = unpack(permute_bytes(pixel, high_bytes, output.take_two));
  const float2 third = unpack(permute_bytes(pixel, high_bytes, output.take_third));
  const float code[3] = {two.x, two.y, third.x};
  float made[3];
  int number[3];

  filtered_colours(pixels, output, code, delta, made);
#pragma unroll
  for (int c = 0; c < 3; c++)
    number[c] = rounded(made[c], 0.0f);
  return permute_bytes(pixel, limited_bytes(number[0], number[1], limited_bytes(number[2], 0, 0)),
                       output.put);
}

/* Two rows of a cell, the first even. */
template <typename Sample, Colour Kind>
__device__ __forceinline__ void store_direct(const Pixels &pixels, const Output &output, int x,
                                             int y, const Source<Sample, Kind> &source,
                                             const float delta[2][kCellX])
{
  const Channel &channel = pixels.channel[0];
  const int rows = min(2, pixels.height - y);
  uint8_t *const to = channel.to + (ptrdiff_t)y * channel.to_stride;

  if constexpr (Kind == Colour::RGB) {
    /* The high bytes of halves of kMostGain times 1024 and more; in a register, since what is
     * taken is not constant, either: threads have no z. */
    const uint32_t high_bytes = 0x74747474 + threadIdx.z;
#pragma unroll
    for (int row = 0; row < 2; row++) {
      if (row >= rows)
        continue;
      uint4 *const words =
          reinterpret_cast<uint4 *>(to + row * channel.to_stride - output.packing.byte[0] + 4 * x);
#pragma unroll
      for (int half = 0; half < 2; half++) {
        const uint4 four = source.words[row][half];
        const float *const added = delta[row] + 4 * half;

        words[half] = make_uint4(filtered_word(pixels, output, high_bytes, four.x, added[0]),
                                 filtered_word(pixels, output, high_bytes, four.y, added[1]),
                                 filtered_word(pixels, output, high_bytes, four.z, added[2]),
                                 filtered_word(pixels, output, high_bytes, four.w, added[3]));
      }
    }
  } else {
    Two twos[2][kCellX / 2];

#pragma unroll
    for (int row = 0; row < 2; row++) {
      const Eight<Sample> made =
          filtered_eight<Sample>(pixels, output.linear, source.luma[row], delta[row], twos[row]);
      if (row < rows)
        reinterpret_cast<Eight<Sample> *>(to + row * channel.to_stride)[x / 8] = made;
    }
    if constexpr (Kind == Colour::CHROMA) {
      const Channel &pairs = pairs_of(pixels);
      const Eight<Sample> made = filtered_pairs<Sample>(pixels, source.pairs, rows, twos);
      if (rows > 0)
        reinterpret_cast<Eight<Sample> *>(pairs.to + (ptrdiff_t)(y / 2) * pairs.to_stride)[x / 8] =
            made;
    }
  }
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
__device__ __forceinline__ float load_sample(const Pixels &pixels, int c, int x, int y)
{
  return (float)load_code<Sample>(pixels.channel[c].from, pixels.channel[c].from_stride,
                                  pixels.step[c], x, y, pixels.shift) +
         kOffset<Sample>;
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
    const int other = sx && column == 0 ? k + 1 : k;

    if (row < rows && column < (sx ? 1 : columns)) {
      const Two two = two_of(k, other);
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

template <typename Sample, Colour Kind>
__device__ __forceinline__ void store_quads(const Pixels &pixels, const Output &output, int x,
                                            int y, const float delta[2][kCellX])
{
  const int rows = min(2, pixels.height - y);

#pragma unroll
  for (int i = 0; i < kCellX; i += 2) {
    const int columns = min(2, pixels.width - x - i);
    float luma[4], added[4];

    if (columns <= 0)
      continue;
#pragma unroll
    for (int k = 0; k < 4; k++) {
      const int column = k & 1, row = k >> 1;
      const int to_x = x + i + column, to_y = y + row;

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
          code[c] = kMostGain * load_sample<Sample>(pixels, c, to_x, to_y);
        filtered_colours(pixels, output, code, delta[row][i + column], made);
#pragma unroll
        for (int c = 0; c < 3; c++)
          store_colour(pixels, c, to_x, to_y, made[c]);
      } else {
        store_made<Sample>(pixels, 0, to_x, to_y,
                           filtered_luma<Sample>(pixels, output.linear,
                                                 load_sample<Sample>(pixels, 0, to_x, to_y),
                                                 delta[row][i + column], luma + k, added + k));
      }
      copy_extra<Sample>(pixels, to_x, to_y);
    }
    if constexpr (Kind == Colour::CHROMA)
      store_chroma_of_quad<Sample>(pixels, x + i, y, columns, rows, luma, added);
  }
}

} // namespace cf::llf
