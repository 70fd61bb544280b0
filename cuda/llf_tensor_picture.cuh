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
  float gain; /* of the picture itself */
  bool rows;  /* luma can be read and written 8 samples at a time, */
  bool pairs; /* and so can two interleaved chroma channels of half the size */
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

/* The code in byte `index` of a word. */
__device__ __forceinline__ uint32_t byte_bits(uint32_t word, int index)
{
  return __byte_perm(word, WHOLE_BITS, 0x7440 + index);
}

/* Eight samples in registers. */
template <typename Sample> struct Eight;

template <> struct Eight<uint8_t> {
  uint2 words;

  /* Code i and a half. */
  __device__ __forceinline__ float code_and_half(int i, int) const
  {
    return __uint_as_float(byte_bits(i < 4 ? words.x : words.y, i & 3)) - (WHOLE - 0.5f);
  }

  __device__ __forceinline__ void set(const uint32_t bits[8], int)
  {
    words.x = packed(bits);
    words.y = packed(bits + 4);
  }

  __device__ __forceinline__ static uint32_t packed(const uint32_t bits[4])
  {
    return __byte_perm(__byte_perm(bits[0], bits[1], 0x0040), __byte_perm(bits[2], bits[3], 0x0040),
                       0x5410);
  }
};

template <> struct Eight<uint16_t> {
  uint4 words;

  __device__ __forceinline__ float code_and_half(int i, int shift) const
  {
    const uint32_t significant = word(words, i / 2) & (65535u << shift & 65535u) * 65537u;
    const uint32_t bits = __byte_perm(significant, WHOLE_BITS, i & 1 ? 0x7432 : 0x7410);

    return fmaf(code_of_bits(bits), __uint_as_float((uint32_t)(127 - shift) << 23), 0.5f);
  }

  __device__ __forceinline__ void set(const uint32_t bits[8], int shift)
  {
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

/* The same picture may be read by samples or by words: what a sample becomes is said once. */

/* Luma, from its code and a half; `luma` and `filtered` are what chroma follows. */
__device__ __forceinline__ uint32_t filtered_luma(const Pixels &pixels, float gain,
                                                  float code_and_half, float delta, float *luma,
                                                  float *filtered)
{
  const float bias = fmaf(-0.5f, pixels.weight[0], pixels.bias);

  *luma = __saturatef(fmaf(pixels.weight[0], code_and_half, bias));
  *filtered = fmaf(gain, *luma, delta);
  return rounded_bits(fmaf(pixels.scale, *filtered - *luma, code_and_half), pixels.max_code);
}

/* How chroma follows the pixels that `above` of it and `below` of it are each the share of. */
__device__ __forceinline__ float pairs_gain(float above, float below, const float luma[4],
                                            const float filtered[4])
{
  return colour_gain(fmaf(above, luma[0] + luma[1], below * (luma[2] + luma[3])),
                     fmaf(above, filtered[0] + filtered[1], below * (filtered[2] + filtered[3])));
}

__device__ __forceinline__ uint32_t filtered_chroma(const Pixels &pixels, float gain,
                                                    float code_and_half)
{
  const float centre = pixels.chroma_centre + 0.5f;

  return rounded_bits(fmaf(gain, code_and_half - centre, centre), pixels.max_code);
}

/* Red, green and blue. */
__device__ __forceinline__ void filtered_colours(const Pixels &pixels, float gain_of_luma,
                                                 const float code[3], float delta, uint32_t bits[3])
{
  float raw = pixels.bias;

#pragma unroll
  for (int c = 0; c < 3; c++)
    raw = fmaf(pixels.weight[c], code[c], raw);
  const float luma = __saturatef(raw), filtered = fmaf(gain_of_luma, luma, delta);
  const float gain = colour_gain(luma, filtered);
  const float grey_and_half = fmaf(pixels.scale, fmaf(-gain, luma, filtered), 0.5f);
#pragma unroll
  for (int c = 0; c < 3; c++)
    bits[c] = rounded_bits(fmaf(gain, code[c], grey_and_half), pixels.max_code);
}

/* --- by words --- */

template <typename Sample>
__device__ __forceinline__ Eight<Sample>
filtered_eight(const Pixels &pixels, float gain, Eight<Sample> eight, const float delta[CELL_X],
               float luma[CELL_X], float filtered[CELL_X])
{
  uint32_t bits[CELL_X];

#pragma unroll
  for (int i = 0; i < CELL_X; i++)
    bits[i] = filtered_luma(pixels, gain, eight.code_and_half(i, pixels.shift), delta[i], luma + i,
                            filtered + i);
  eight.set(bits, pixels.shift);
  return eight;
}

/* The luma of two rows' pixels i and i + 1. */
__device__ __forceinline__ float gain_of_pair(int i, int rows, const float luma[2][CELL_X],
                                              const float filtered[2][CELL_X])
{
  const float below = rows == 2 ? 0.25f : 0.0f, above = 0.5f - below;
  const float from[4] = {luma[0][i], luma[0][i + 1], luma[1][i], luma[1][i + 1]};
  const float to[4] = {filtered[0][i], filtered[0][i + 1], filtered[1][i], filtered[1][i + 1]};

  return pairs_gain(above, below, from, to);
}

/* Four pairs of interleaved chroma, which follow alike. */
template <typename Sample>
__device__ __forceinline__ Eight<Sample> filtered_pairs(const Pixels &pixels, Eight<Sample> eight,
                                                        int rows, const float luma[2][CELL_X],
                                                        const float filtered[2][CELL_X])
{
  uint32_t bits[CELL_X];

#pragma unroll
  for (int i = 0; i < CELL_X; i += 2) {
    const float gain = gain_of_pair(i, rows, luma, filtered);

#pragma unroll
    for (int k = i; k < i + 2; k++)
      bits[k] = filtered_chroma(pixels, gain, eight.code_and_half(k, pixels.shift));
  }
  eight.set(bits, pixels.shift);
  return eight;
}

/* Red, green and blue in a word of four bytes; the fourth stays. */
__device__ __forceinline__ uint32_t filtered_word(const Pixels &pixels, const Output &output,
                                                  uint32_t pixel, float delta)
{
  const int *const byte = output.packing.byte;
  uint32_t result = pixel, bits[3];
  float code[3];

#pragma unroll
  for (int c = 0; c < 3; c++)
    code[c] = code_of_bits(byte_bits(pixel, byte[c]));
  filtered_colours(pixels, output.gain, code, delta, bits);
#pragma unroll
  for (int c = 0; c < 3; c++)
    result = __byte_perm(result, bits[c], 0x3210 + ((4 - byte[c]) << 4 * byte[c]));
  return result;
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
    float luma[2][CELL_X], filtered[2][CELL_X];

#pragma unroll
    for (int row = 0; row < 2; row++) {
      const Eight<Sample> made = filtered_eight<Sample>(pixels, output.gain, source.luma[row],
                                                        delta[row], luma[row], filtered[row]);
      if (row < rows)
        reinterpret_cast<Eight<Sample> *>(to + row * channel.to_stride)[x / 8] = made;
    }
    if constexpr (colour == Colour::CHROMA) {
      const Channel &pairs = pairs_of(pixels);
      reinterpret_cast<Eight<Sample> *>(pairs.to + (ptrdiff_t)(y / 2) * pairs.to_stride)[x / 8] =
          filtered_pairs<Sample>(pixels, source.pairs, rows, luma, filtered);
    }
  }
}

/* --- by samples --- */

template <typename Sample>
__device__ __forceinline__ void store_bits(const Pixels &pixels, int c, int x, int y, uint32_t bits)
{
  reinterpret_cast<Sample *>(pixels.channel[c].to +
                             y * pixels.channel[c].to_stride)[(ptrdiff_t)x * pixels.step[c]] =
      (Sample)(bits << pixels.shift);
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
    store_bits<Sample>(pixels, c, x, y,
                       filtered_chroma(pixels, gain, load_sample<Sample>(pixels, c, x, y) + 0.5f));
}

/* The chroma samples of a quad, each of which follows the mean of its pixels. Pixels that the
 * picture does not have repeat those beside them. */
template <typename Sample>
__device__ __forceinline__ void store_chroma_of_quad(const Pixels &pixels, int x, int y,
                                                     int columns, int rows, const float luma[4],
                                                     const float filtered[4])
{
  const int sx = pixels.subsampling_x, sy = pixels.subsampling_y;

  if (sx && sy) {
    const float below = rows == 2 ? 0.25f : 0.0f;
    store_chroma_sample<Sample>(pixels, x >> 1, y >> 1,
                                pairs_gain(0.5f - below, below, luma, filtered));
    return;
  }
#pragma unroll
  for (int row = 0; row < 2; row++) {
    const float *const from = luma + 2 * row, *const to = filtered + 2 * row;

    if (row >= rows)
      continue;
    if (sx) {
      store_chroma_sample<Sample>(pixels, x >> 1, y + row,
                                  colour_gain(0.5f * (from[0] + from[1]), 0.5f * (to[0] + to[1])));
      continue;
    }
    store_chroma_sample<Sample>(pixels, x, y + row, colour_gain(from[0], to[0]));
    if (columns == 2)
      store_chroma_sample<Sample>(pixels, x + 1, y + row, colour_gain(from[1], to[1]));
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
    float luma[4], filtered[4];

    if (columns <= 0)
      continue;
#pragma unroll
    for (int k = 0; k < 4; k++) {
      const int column = k & 1, row = k >> 1;
      const int to_x = x + i + column, to_y = y + row;

      if (column >= columns) {
        luma[k] = luma[k - 1];
        filtered[k] = filtered[k - 1];
        continue;
      }
      if (row >= rows) {
        luma[k] = filtered[k] = 0.0f;
        continue;
      }
      if constexpr (colour == Colour::RGB) {
        uint32_t bits[3];
        float code[3];

#pragma unroll
        for (int c = 0; c < 3; c++)
          code[c] = load_sample<Sample>(pixels, c, to_x, to_y);
        filtered_colours(pixels, output.gain, code, delta[row][i + column], bits);
#pragma unroll
        for (int c = 0; c < 3; c++)
          store_bits<Sample>(pixels, c, to_x, to_y, bits[c]);
      } else {
        store_bits<Sample>(pixels, 0, to_x, to_y,
                           filtered_luma(pixels, output.gain,
                                         load_sample<Sample>(pixels, 0, to_x, to_y) + 0.5f,
                                         delta[row][i + column], luma + k, filtered + k));
      }
      copy_extra<Sample>(pixels, to_x, to_y);
    }
    if constexpr (colour == Colour::CHROMA)
      store_chroma_of_quad<Sample>(pixels, x + i, y, columns, rows, luma, filtered);
  }
}

} // namespace llf
