/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The picture in the last kernel of the fast engine on tensor cores: two rows of eight pixels a
 * thread, read before they are needed, and written in words where the picture lies so.
 */
#pragma once

#include "cuda/llf/tiled_fp16.cuh"

namespace cf::llf
{

/* Rows that are read and written eight samples of a plane at a time; `from` is NULL where they lie
 * otherwise. */
struct Rows {
  const uint8_t *from;
  uint8_t *to;
  unsigned from_stride, to_stride; /* bytes */
};

template <typename T>
__device__ __forceinline__ const T &in_row(const uint8_t *from, unsigned stride, int y, int index)
{
  return reinterpret_cast<const T *>(from + (uint64_t)stride * (uint32_t)y)[(uint32_t)index];
}

template <typename T>
__device__ __forceinline__ T &in_row(uint8_t *to, unsigned stride, int y, int index)
{
  return reinterpret_cast<T *>(to + (uint64_t)stride * (uint32_t)y)[(uint32_t)index];
}

struct Output {
  float linear; /* what the picture itself adds to itself */
  Rows rows;    /* of luma, or of the words of RGB */
  Rows pairs;   /* of two interleaved chroma channels of half the size */
  Packing packing;
  Colours colours;
  uint32_t take_two, take_third, put; /* where bytes of RGB are taken from and put to */
};

/* Eight samples in registers. Codes are kOffset too large. */
template <typename Sample> struct Eight;

template <> struct Eight<uint8_t> {
  uint2 words;

  __device__ __forceinline__ float code(int i, int) const
  {
    const uint32_t offset = __float_as_uint(kOffset<uint8_t>);

    return __uint_as_float(__byte_perm(i < 4 ? words.x : words.y, offset, 0x7604 + 16 * (i % 4)));
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
  return output.rows.from && x + kCellX <= pixels.width &&
         (Kind != Colour::CHROMA || output.pairs.from);
}

/* At odd heights the row below the last is that again; inner tiles have no such row. */
template <typename Sample, Colour Kind, bool Inner>
__device__ __forceinline__ void load_source(const Pixels &pixels, const Output &output, int x,
                                            int y, Source<Sample, Kind> *source)
{
#pragma unroll
  for (int row = 0; row < 2; row++) {
    const Rows &rows = output.rows;
    const int from_y = Inner ? y + row : min(y + row, pixels.height - 1);

    if constexpr (Kind == Colour::RGB) {
      const uint4 *const words = &in_row<uint4>(rows.from, rows.from_stride, from_y, x / 4);
      source->words[row][0] = words[0];
      source->words[row][1] = words[1];
    } else {
      source->luma[row] = in_row<Eight<Sample>>(rows.from, rows.from_stride, from_y, x / 8);
    }
  }
  if constexpr (Kind == Colour::CHROMA)
    source->pairs =
        in_row<Eight<Sample>>(output.pairs.from, output.pairs.from_stride, y / 2, x / 8);
}

/* --- by words --- */

template <typename Sample>
__device__ __forceinline__ Eight<Sample>
filtered_eight(const Pixels &pixels, float linear, Eight<Sample> eight, const float delta[kCellX],
               Two twos[kCellX / 2])
{
  float value[kCellX], made[kCellX];

#pragma unroll
  for (int i = 0; i < kCellX; i++)
    value[i] = delta[i];
  if (linear != 0.0f) {
#pragma unroll
    for (int i = 0; i < kCellX; i++)
      value[i] = fmaf(linear, luma_of<Sample>(pixels, eight.code(i, pixels.shift)), value[i]);
  }
#pragma unroll
  for (int i = 0; i < kCellX; i += 2) {
    float luma[2], added[2];

#pragma unroll
    for (int k = 0; k < 2; k++) {
      const float code = eight.code(i + k, pixels.shift);

      luma[k] = luma_of<Sample>(pixels, code);
      made[i + k] = filtered_luma(pixels, code, luma[k], value[i + k], added + k);
    }
    twos[i / 2] = Two{luma[0] + luma[1], added[0] + added[1]};
  }
  eight.set(made, pixels.max_code, pixels.shift);
  return eight;
}

/* Four pairs of interleaved chroma, which follow alike. */
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

  filtered_colours(pixels, output.colours, code, delta, made);
#pragma unroll
  for (int c = 0; c < 3; c++)
    number[c] = rounded(made[c], 0.0f);
  return permute_bytes(pixel, limited_bytes(number[0], number[1], limited_bytes(number[2], 0, 0)),
                       output.put);
}

/* Two rows of a cell, the first even. */
template <typename Sample, Colour Kind, bool Inner>
__device__ __forceinline__ void store_direct(const Pixels &pixels, const Output &output, int x,
                                             int y, const Source<Sample, Kind> &source,
                                             const float delta[2][kCellX])
{
  const int rows = Inner ? 2 : min(2, pixels.height - y);
  uint8_t *const to = output.rows.to;
  const unsigned stride = output.rows.to_stride;

  if constexpr (Kind == Colour::RGB) {
    /* The high bytes of halves of kMostGain times 1024 and more; in a register, since what is
     * taken is not constant, either: threads have no z. */
    const uint32_t high_bytes = 0x74747474 + threadIdx.z;
#pragma unroll
    for (int row = 0; row < 2; row++) {
      if (row >= rows)
        continue;
      uint4 *const words = &in_row<uint4>(to, stride, y + row, x / 4);
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
        in_row<Eight<Sample>>(to, stride, y + row, x / 8) = made;
    }
    if constexpr (Kind == Colour::CHROMA) {
      const Eight<Sample> made = filtered_pairs<Sample>(pixels, source.pairs, rows, twos);
      if (rows > 0)
        in_row<Eight<Sample>>(output.pairs.to, output.pairs.to_stride, y / 2, x / 8) = made;
    }
  }
}

/* --- by samples --- */

/* The same of pictures that lie otherwise, and at the right border. */
template <typename Sample, Colour Kind>
__device__ __forceinline__ void store_quads(const Pixels &pixels, const Output &output, int x,
                                            int y, const float delta[2][kCellX])
{
#pragma unroll
  for (int i = 0; i < kCellX; i += 2) {
    const float quad[4] = {delta[0][i], delta[0][i + 1], delta[1][i], delta[1][i + 1]};

    if (x + i < pixels.width)
      store_quad<Sample, Kind>(pixels, output.colours, output.linear, x + i, y, quad);
  }
}

} // namespace cf::llf
