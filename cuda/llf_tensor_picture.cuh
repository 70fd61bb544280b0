/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The picture in the last kernel of the fast engine on tensor cores: two rows of eight pixels a
 * thread, read before they are needed, and written in words where the picture lies so.
 */
#pragma once

#include "llf_tensor_cells.cuh"

namespace llf
{

struct Output {
  float linear; /* what the picture itself adds to itself */
  bool rows;    /* luma can be read and written 8 samples at a time, */
  bool pairs;   /* and so can two interleaved chroma channels of half the size */
  Packing packing;
};

/* Codes go to floats and back as the low bits of 2^23 and more: the conversions that the GPU has
 * are few a clock. */
constexpr uint32_t WHOLE_BITS = 0x4b000000;
constexpr float WHOLE = 8388608.0f;

__device__ __forceinline__ float code_of_bits(uint32_t bits)
{
  return __uint_as_float(bits) - WHOLE;
}

/* The low bits are the code; `code` is a half too large, so that cutting off rounds. */
__device__ __forceinline__ uint32_t rounded_bits(float code, float max_code)
{
  return __float_as_uint(__fadd_rd(fminf(fmaxf(code, 0.5f), max_code + 0.5f), WHOLE));
}

/* The same of two bytes, without limits of single ones: of numbers that 16 bits hold, which is 127
 * times full scale. */
__device__ __forceinline__ uint32_t rounded_bytes(float first, float second)
{
  const uint32_t low = __float_as_uint(__fadd_rd(first, 1.5f * WHOLE));
  const uint32_t high = __float_as_uint(__fadd_rd(second, 1.5f * WHOLE));

  return __vimin_s16x2_relu(__byte_perm(low, high, 0x5410), 0x00ff00ff);
}

/* The code in byte `index` of a word. */
__device__ __forceinline__ uint32_t byte_bits(uint32_t word, int index)
{
  return __byte_perm(word, WHOLE_BITS, 0x7440 + index);
}

/* Eight samples in registers. Codes that are set are a half too large. */
template <typename Sample> struct Eight;

template <> struct Eight<uint8_t> {
  uint2 words;

  __device__ __forceinline__ float code(int i, int) const
  {
    return __uint_as_float(byte_bits(i < 4 ? words.x : words.y, i & 3)) - WHOLE;
  }

  __device__ __forceinline__ float code_and_half(int i, int) const
  {
    return __uint_as_float(byte_bits(i < 4 ? words.x : words.y, i & 3)) - (WHOLE - 0.5f);
  }

  __device__ __forceinline__ void set(const float codes[8], float, int)
  {
    words.x = packed(codes);
    words.y = packed(codes + 4);
  }

  __device__ __forceinline__ static uint32_t packed(const float codes[4])
  {
    return __byte_perm(rounded_bytes(codes[0], codes[1]), rounded_bytes(codes[2], codes[3]),
                       0x6420);
  }
};

template <> struct Eight<uint16_t> {
  uint4 words;

  __device__ __forceinline__ float plus(int i, int shift, float added) const
  {
    const uint32_t significant = word(words, i / 2) & (65535u << shift & 65535u) * 65537u;
    const uint32_t bits = __byte_perm(significant, WHOLE_BITS, i & 1 ? 0x7432 : 0x7410);

    return fmaf(code_of_bits(bits), __uint_as_float((uint32_t)(127 - shift) << 23), added);
  }

  __device__ __forceinline__ float code(int i, int shift) const
  {
    return plus(i, shift, 0.0f);
  }

  __device__ __forceinline__ float code_and_half(int i, int shift) const
  {
    return plus(i, shift, 0.5f);
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
template <typename Sample, Colour colour> struct Source {
  Eight<Sample> luma[2], pairs;
};

template <typename Sample> struct Source<Sample, Colour::RGB> {
  uint4 words[2][2];
};

/* Whether two rows of a cell are read and written in one go. */
template <Colour colour>
__device__ __forceinline__ bool is_direct(const Pixels &pixels, const Output &output, int x)
{
  return output.rows && x + CELL_X <= pixels.width && (colour != Colour::CHROMA || output.pairs);
}

__device__ __forceinline__ const Channel &pairs_of(const Pixels &pixels)
{
  return pixels.channel[pixels.channel[1].from < pixels.channel[2].from ? 1 : 2];
}

/* At odd heights the row below the last is that again. */
template <typename Sample, Colour colour>
__device__ __forceinline__ void load_source(const Pixels &pixels, const Output &output, int x,
                                            int y, Source<Sample, colour> *source)
{
  const Channel &channel = pixels.channel[0];

#pragma unroll
  for (int row = 0; row < 2; row++) {
    const uint8_t *const from =
        channel.from + (ptrdiff_t)min(y + row, pixels.height - 1) * channel.from_stride;

    if constexpr (colour == Colour::RGB) {
      const uint4 *const words =
          reinterpret_cast<const uint4 *>(from - output.packing.byte[0] + 4 * x);
      source->words[row][0] = words[0];
      source->words[row][1] = words[1];
    } else {
      source->luma[row] = reinterpret_cast<const Eight<Sample> *>(from)[x / 8];
    }
  }
  if constexpr (colour == Colour::CHROMA) {
    const Channel &pairs = pairs_of(pixels);
    source->pairs = reinterpret_cast<const Eight<Sample> *>(
        pairs.from + (ptrdiff_t)(y / 2) * pairs.from_stride)[x / 8];
  }
}

/* The same picture may be read by samples or by words: what a sample becomes is said once. Codes
 * are made a half too large. */

/* Luma, from its code and a half. Chroma follows `luma` and what the filter has added to it. */
__device__ __forceinline__ float filtered_luma(const Pixels &pixels, float linear,
                                               float code_and_half, float delta, float *luma,
                                               float *added)
{
  const float bias = fmaf(-0.5f, pixels.weight[0], pixels.bias);

  *luma = __saturatef(fmaf(pixels.weight[0], code_and_half, bias));
  *added = fmaf(linear, *luma, delta);
  return fmaf(pixels.scale, *added, code_and_half);
}

/* The gain that colours follow, in parts of the largest one, which a multiplication limits. */
constexpr float MOST_GAIN = (float)CF_LLF_MAX_GAIN, GAIN_EPSILON = (float)CF_LLF_GAIN_EPSILON;

__device__ __forceinline__ float part_of_gain(float most_lumas, float added)
{
  return __saturatef(fmaf(added, reciprocal_approximate(most_lumas), 1.0f / MOST_GAIN));
}

/* Of two rows of two pixels, of which each of the first is the share `above` and each of the second
 * `below`. */
__device__ __forceinline__ float gain_of_quad(float above, float below, const float luma[4],
                                              const float added[4])
{
  const float lumas = fmaf(MOST_GAIN * below, luma[2] + luma[3], MOST_GAIN * GAIN_EPSILON);

  return part_of_gain(fmaf(MOST_GAIN * above, luma[0] + luma[1], lumas),
                      fmaf(above, added[0] + added[1], below * (added[2] + added[3])));
}

__device__ __forceinline__ float filtered_chroma(const Pixels &pixels, float gain, float code)
{
  return fmaf(gain, fmaf(MOST_GAIN, code, -MOST_GAIN * pixels.chroma_centre),
              pixels.chroma_centre + 0.5f);
}

/* Red, green and blue. */
__device__ __forceinline__ void filtered_colours(const Pixels &pixels, float linear,
                                                 const float code[3], float delta, float made[3])
{
  const float raw = fmaf(pixels.weight[1], code[1], fmaf(pixels.weight[0], code[0], pixels.bias));
  const float luma = __saturatef(fmaf(pixels.weight[2], code[2], raw));
  const float added = fmaf(linear, luma, delta);
  const float gain =
      MOST_GAIN * part_of_gain(fmaf(MOST_GAIN, luma, MOST_GAIN * GAIN_EPSILON), added);
  const float grey_and_half = fmaf(pixels.scale, fmaf(-gain, luma, luma + added), 0.5f);

#pragma unroll
  for (int c = 0; c < 3; c++)
    made[c] = fmaf(gain, code[c], grey_and_half);
}

/* --- by words --- */

template <typename Sample>
__device__ __forceinline__ Eight<Sample>
filtered_eight(const Pixels &pixels, float linear, Eight<Sample> eight, const float delta[CELL_X],
               float luma[CELL_X], float added[CELL_X])
{
  float made[CELL_X];

#pragma unroll
  for (int i = 0; i < CELL_X; i++)
    made[i] = filtered_luma(pixels, linear, eight.code_and_half(i, pixels.shift), delta[i],
                            luma + i, added + i);
  eight.set(made, pixels.max_code, pixels.shift);
  return eight;
}

/* Four pairs of interleaved chroma, which follow alike. */
template <typename Sample>
__device__ __forceinline__ Eight<Sample> filtered_pairs(const Pixels &pixels, Eight<Sample> eight,
                                                        int rows, const float luma[2][CELL_X],
                                                        const float added[2][CELL_X])
{
  const float below = rows == 2 ? 0.25f : 0.0f, above = 0.5f - below;
  float made[CELL_X];

#pragma unroll
  for (int i = 0; i < CELL_X; i += 2) {
    const float lumas[4] = {luma[0][i], luma[0][i + 1], luma[1][i], luma[1][i + 1]};
    const float all_added[4] = {added[0][i], added[0][i + 1], added[1][i], added[1][i + 1]};
    const float gain = gain_of_quad(above, below, lumas, all_added);

#pragma unroll
    for (int k = i; k < i + 2; k++)
      made[k] = filtered_chroma(pixels, gain, eight.code(k, pixels.shift));
  }
  eight.set(made, pixels.max_code, pixels.shift);
  return eight;
}

/* Red, green and blue in a word of four bytes; the fourth stays. */
__device__ __forceinline__ uint32_t filtered_word(const Pixels &pixels, const Output &output,
                                                  uint32_t pixel, float delta)
{
  const int *const byte = output.packing.byte;
  float code[3], made[3];

#pragma unroll
  for (int c = 0; c < 3; c++)
    code[c] = code_of_bits(byte_bits(pixel, byte[c]));
  filtered_colours(pixels, output.linear, code, delta, made);

  const uint32_t two = rounded_bytes(made[0], made[1]), third = rounded_bytes(made[2], made[2]);
  /* Bytes 0 and 2 of `two`, and byte 0 of `third`, to their places. */
  const uint32_t with_two = __byte_perm(
      pixel, two, 0x3210 + ((4 - byte[0]) << 4 * byte[0]) + ((6 - byte[1]) << 4 * byte[1]));
  return __byte_perm(with_two, third, 0x3210 + ((4 - byte[2]) << 4 * byte[2]));
}

/* Two rows of a cell, the first even. */
template <typename Sample, Colour colour>
__device__ __forceinline__ void store_direct(const Pixels &pixels, const Output &output, int x,
                                             int y, const Source<Sample, colour> &source,
                                             const float delta[2][CELL_X])
{
  const Channel &channel = pixels.channel[0];
  const int rows = min(2, pixels.height - y);
  uint8_t *const to = channel.to + (ptrdiff_t)y * channel.to_stride;

  if constexpr (colour == Colour::RGB) {
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

        words[half] = make_uint4(filtered_word(pixels, output, four.x, added[0]),
                                 filtered_word(pixels, output, four.y, added[1]),
                                 filtered_word(pixels, output, four.z, added[2]),
                                 filtered_word(pixels, output, four.w, added[3]));
      }
    }
  } else {
    float luma[2][CELL_X], added[2][CELL_X];

#pragma unroll
    for (int row = 0; row < 2; row++) {
      const Eight<Sample> made = filtered_eight<Sample>(pixels, output.linear, source.luma[row],
                                                        delta[row], luma[row], added[row]);
      if (row < rows)
        reinterpret_cast<Eight<Sample> *>(to + row * channel.to_stride)[x / 8] = made;
    }
    if constexpr (colour == Colour::CHROMA) {
      const Channel &pairs = pairs_of(pixels);
      const Eight<Sample> made = filtered_pairs<Sample>(pixels, source.pairs, rows, luma, added);
      if (rows > 0)
        reinterpret_cast<Eight<Sample> *>(pairs.to + (ptrdiff_t)(y / 2) * pairs.to_stride)[x / 8] =
            made;
    }
  }
}

/* --- by samples --- */

template <typename Sample>
__device__ __forceinline__ void store_made(const Pixels &pixels, int c, int x, int y, float made)
{
  reinterpret_cast<Sample *>(pixels.channel[c].to +
                             y * pixels.channel[c].to_stride)[(ptrdiff_t)x * pixels.step[c]] =
      (Sample)(rounded_bits(made, pixels.max_code) << pixels.shift);
}

template <typename Sample>
__device__ __forceinline__ float load_sample(const Pixels &pixels, int c, int x, int y)
{
  return (float)load_code<Sample>(pixels.channel[c].from, pixels.channel[c].from_stride,
                                  pixels.step[c], x, y, pixels.shift);
}

template <typename Sample>
__device__ __forceinline__ void store_chroma_sample(const Pixels &pixels, int x, int y, float gain)
{
#pragma unroll
  for (int c = 1; c < 3; c++)
    store_made<Sample>(pixels, c, x, y,
                       filtered_chroma(pixels, gain, load_sample<Sample>(pixels, c, x, y)));
}

/* The chroma samples of a quad, each of which follows the mean of its pixels. Pixels that the
 * picture does not have repeat those beside them. */
template <typename Sample>
__device__ __forceinline__ void store_chroma_of_quad(const Pixels &pixels, int x, int y,
                                                     int columns, int rows, const float luma[4],
                                                     const float added[4])
{
  const int sx = pixels.subsampling_x;
  auto gain_of = [](float one, float one_added, float other, float other_added) {
    const float lumas[4] = {one, other, one, other};
    const float all_added[4] = {one_added, other_added, one_added, other_added};
    return gain_of_quad(0.5f, 0.0f, lumas, all_added);
  };

  if (sx && pixels.subsampling_y) {
    const float below = rows == 2 ? 0.25f : 0.0f;
    store_chroma_sample<Sample>(pixels, x >> 1, y >> 1,
                                gain_of_quad(0.5f - below, below, luma, added));
    return;
  }
#pragma unroll
  for (int k = 0; k < 4; k++) {
    const int column = k & 1, row = k >> 1;
    const int other = sx && column == 0 ? k + 1 : k;

    if (row < rows && column < (sx ? 1 : columns))
      store_chroma_sample<Sample>(pixels, sx ? x >> 1 : x + column, y + row,
                                  gain_of(luma[k], added[k], luma[other], added[other]));
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

template <typename Sample, Colour colour>
__device__ __forceinline__ void store_quads(const Pixels &pixels, const Output &output, int x,
                                            int y, const float delta[2][CELL_X])
{
  const int rows = min(2, pixels.height - y);

#pragma unroll
  for (int i = 0; i < CELL_X; i += 2) {
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
      if constexpr (colour == Colour::RGB) {
        float code[3], made[3];

#pragma unroll
        for (int c = 0; c < 3; c++)
          code[c] = load_sample<Sample>(pixels, c, to_x, to_y);
        filtered_colours(pixels, output.linear, code, delta[row][i + column], made);
#pragma unroll
        for (int c = 0; c < 3; c++)
          store_made<Sample>(pixels, c, to_x, to_y, made[c]);
      } else {
        store_made<Sample>(pixels, 0, to_x, to_y,
                           filtered_luma(pixels, output.linear,
                                         load_sample<Sample>(pixels, 0, to_x, to_y) + 0.5f,
                                         delta[row][i + column], luma + k, added + k));
      }
      copy_extra<Sample>(pixels, to_x, to_y);
    }
    if constexpr (colour == Colour::CHROMA)
      store_chroma_of_quad<Sample>(pixels, x + i, y, columns, rows, luma, added);
  }
}

} // namespace llf
