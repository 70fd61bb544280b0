/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The picture in the last kernel of the fast engine on tensor cores: two rows of eight pixels per
 * thread, read and written as vectors where the picture's layout allows that, else by samples.
 */
#pragma once

#include "cuda/llf/tiled_fp16.cuh"

namespace cf::llf
{

/* Rows that can be read and written as vectors of eight samples, or of four RGB pixels; `from` is
 * NULL if the layout does not allow that. */
struct VectorRows {
  const uint8_t *from;
  uint8_t *to;
  unsigned from_stride, to_stride; /* bytes */
};

/* Vector number `index` of row y. */
template <typename T>
__device__ __forceinline__ const T &vector_at(const uint8_t *from, unsigned stride, int y,
                                              int index)
{
  return reinterpret_cast<const T *>(from + (uint64_t)stride * (uint32_t)y)[(uint32_t)index];
}

template <typename T>
__device__ __forceinline__ T &vector_at(uint8_t *to, unsigned stride, int y, int index)
{
  return reinterpret_cast<T *>(to + (uint64_t)stride * (uint32_t)y)[(uint32_t)index];
}

/* How the picture is read, filtered and written. */
struct Output {
  float linear;      /* coefficient of the linear term; 0 with weights */
  VectorRows rows;   /* of the filtered channel, or of RGB pixels of 4 bytes */
  VectorRows chroma; /* of two interleaved channels, subsampled both ways */
  bool red_first;    /* of these two */
  Packing packing;
  RgbFactors factors;
  /* permute_bytes() selectors: read the first two colours of a pixel and the third as halves, and
   * write three bytes to their places. */
  uint32_t read_two, read_third, write;
};

/* A vector of eight samples in registers. Codes have the offset kCodeOffset. */
template <typename Sample> struct Vector8;

template <> struct Vector8<uint8_t> {
  uint2 words;

  __device__ __forceinline__ float code(int i, int) const
  {
    const uint32_t offset = __float_as_uint(kCodeOffset<uint8_t>);

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
      number[i] = rounded_integer(codes[i], -kCodeOffset<uint8_t> * kDenormal);
    return pack_clamped_bytes(number[0], number[1], pack_clamped_bytes(number[2], number[3], 0));
  }
};

template <> struct Vector8<uint16_t> {
  uint4 words;

  __device__ __forceinline__ float code(int i, int shift) const
  {
    const uint32_t significant = word(words, i / 2) & (65535u << shift & 65535u) * 65537u;
    const uint32_t bits = __byte_perm(significant, kWholeBits, i & 1 ? 0x7432 : 0x7410);

    return fmaf(code_of_bits(bits), __uint_as_float((uint32_t)(127 - shift) << 23),
                kCodeOffset<uint16_t>);
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

/* What a thread reads of the picture, before it waits for other kernels. */
template <typename Sample, Colour Kind> struct Source {
  Vector8<Sample> luma[2], chroma;
};

template <typename Sample> struct Source<Sample, Colour::RGB> {
  uint4 words[2][2];
};

/* Whether the eight pixels of a row from column x on are read and written as vectors. */
template <Colour Kind>
__device__ __forceinline__ bool is_direct(const Pixels &pixels, const Output &output, int x)
{
  return output.rows.from && x + kPatchX <= pixels.width &&
         (Kind != Colour::CHROMA || output.chroma.from);
}

/* Loads two rows of eight pixels. At odd heights the last row is loaded again for the one below it,
 * which inner tiles do not have. */
template <typename Sample, Colour Kind, bool Inner>
__device__ __forceinline__ void load_source(const Pixels &pixels, const Output &output, int x,
                                            int y, Source<Sample, Kind> *source)
{
#pragma unroll
  for (int row = 0; row < 2; row++) {
    const VectorRows &rows = output.rows;
    const int from_y = Inner ? y + row : min(y + row, pixels.height - 1);

    if constexpr (Kind == Colour::RGB) {
      const uint4 *const words = &vector_at<uint4>(rows.from, rows.from_stride, from_y, x / 4);
      source->words[row][0] = words[0];
      source->words[row][1] = words[1];
    } else {
      source->luma[row] = vector_at<Vector8<Sample>>(rows.from, rows.from_stride, from_y, x / 8);
    }
  }
  if constexpr (Kind == Colour::CHROMA)
    source->chroma =
        vector_at<Vector8<Sample>>(output.chroma.from, output.chroma.from_stride, y / 2, x / 8);
}

/* ---- Vectors ---- */

/* Filters eight samples of a single channel or of luma. `above`: of each two pixels, as in
 * protected_change(). `delta`: the change without the linear term. Sets the sums over each two
 * pixels, for chroma. */
template <typename Sample>
__device__ __forceinline__ Vector8<Sample>
filtered_channel(const Pixels &pixels, float linear, Vector8<Sample> samples,
                 const float above[kPatchX / 2], const float delta[kPatchX],
                 PairSum sums[kPatchX / 2])
{
  float change[kPatchX], filtered[kPatchX];

#pragma unroll
  for (int i = 0; i < kPatchX; i++)
    change[i] = delta[i];
  if (linear != 0.0f) {
#pragma unroll
    for (int i = 0; i < kPatchX; i++)
      change[i] = fmaf(linear, luma_of<Sample>(pixels, samples.code(i, pixels.shift)), change[i]);
  }
#pragma unroll
  for (int i = 0; i < kPatchX; i += 2) {
    float luma[2], added[2];

#pragma unroll
    for (int k = 0; k < 2; k++) {
      const float code = samples.code(i + k, pixels.shift);

      luma[k] = luma_of<Sample>(pixels, code);
      filtered[i + k] =
          filtered_luma(pixels, code, luma[k], above[i / 2], change[i + k], added + k);
    }
    sums[i / 2] = PairSum{luma[0] + luma[1], added[0] + added[1]};
  }
  samples.set(filtered, pixels.max_code, pixels.shift);
  return samples;
}

/* Filters four pairs of interleaved chroma samples, from the sums of their two rows of luma. */
template <typename Sample>
__device__ __forceinline__ Vector8<Sample>
filtered_chroma_vector(const Pixels &pixels, Vector8<Sample> samples, int rows,
                       const PairSum sums[2][kPatchX / 2])
{
  const float below = rows == 2 ? 0.25f : 0.0f, above = 0.5f - below;
  float filtered[kPatchX];

#pragma unroll
  for (int i = 0; i < kPatchX; i += 2) {
    const Follow follow = follow_quad(pixels, above, below, sums[0][i / 2], sums[1][i / 2]);

    filtered_chroma<Sample>(pixels, follow, samples.code(i, pixels.shift),
                            samples.code(i + 1, pixels.shift), filtered + i);
  }
  samples.set(filtered, pixels.max_code, pixels.shift);
  return samples;
}

/* Filters an RGB pixel of four bytes; the fourth is copied. */
__device__ __forceinline__ uint32_t filtered_pixel(const Pixels &pixels, const Output &output,
                                                   uint32_t high_bytes, uint32_t pixel, float delta)
{
  const float2 two = unpack(permute_bytes(pixel, high_bytes, output.read_two));
  const float2 third = unpack(permute_bytes(pixel, high_bytes, output.read_third));
  const float code[3] = {two.x, two.y, third.x};
  float filtered[3];
  int number[3];

  filtered_colours(pixels, output.factors, code, delta, filtered);
#pragma unroll
  for (int c = 0; c < 3; c++)
    number[c] = rounded_integer(filtered[c], 0.0f);
  return permute_bytes(
      pixel, pack_clamped_bytes(number[0], number[1], pack_clamped_bytes(number[2], 0, 0)),
      output.write);
}

/* Filters and stores two rows of eight pixels as vectors, from what load_source() has loaded. y is
 * even. */
template <typename Sample, Colour Kind, bool Inner>
__device__ __forceinline__ void store_direct(const Pixels &pixels, const Output &output, int x,
                                             int y, const Source<Sample, Kind> &source,
                                             const float delta[2][kPatchX])
{
  const int rows = Inner ? 2 : min(2, pixels.height - y);
  uint8_t *const to = output.rows.to;
  const unsigned stride = output.rows.to_stride;

  if constexpr (Kind == Colour::RGB) {
    /* The high byte of halves from kMaxGain * kRgbCodeOffset on, whose low byte is a code.
     * threadIdx.z is 0: it keeps the value in a register, as the selectors are not constants
     * either. */
    const uint32_t high_bytes = 0x74747474 + threadIdx.z;
#pragma unroll
    for (int row = 0; row < 2; row++) {
      if (row >= rows)
        continue;
      uint4 *const words = &vector_at<uint4>(to, stride, y + row, x / 4);
#pragma unroll
      for (int half = 0; half < 2; half++) {
        const uint4 loaded = source.words[row][half];
        const float *const change = delta[row] + 4 * half;

        words[half] = make_uint4(filtered_pixel(pixels, output, high_bytes, loaded.x, change[0]),
                                 filtered_pixel(pixels, output, high_bytes, loaded.y, change[1]),
                                 filtered_pixel(pixels, output, high_bytes, loaded.z, change[2]),
                                 filtered_pixel(pixels, output, high_bytes, loaded.w, change[3]));
      }
    }
  } else {
    PairSum sums[2][kPatchX / 2];
    float above[kPatchX / 2] = {};

#pragma unroll
    for (int i = 0; Kind == Colour::CHROMA && i < kPatchX / 2; i++) {
      const float first = source.chroma.code(2 * i, pixels.shift);
      const float second = source.chroma.code(2 * i + 1, pixels.shift);

      above[i] = colour_above<Sample>(pixels, output.red_first ? second : first,
                                      output.red_first ? first : second);
    }
#pragma unroll
    for (int row = 0; row < 2; row++) {
      const Vector8<Sample> filtered = filtered_channel<Sample>(
          pixels, output.linear, source.luma[row], above, delta[row], sums[row]);
      if (row < rows)
        vector_at<Vector8<Sample>>(to, stride, y + row, x / 8) = filtered;
    }
    if constexpr (Kind == Colour::CHROMA) {
      const Vector8<Sample> filtered =
          filtered_chroma_vector<Sample>(pixels, source.chroma, rows, sums);
      if (rows > 0)
        vector_at<Vector8<Sample>>(output.chroma.to, output.chroma.to_stride, y / 2, x / 8) =
            filtered;
    }
  }
}

/* ---- Samples ---- */

/* The same for other layouts, and at the right border. With chroma the code of a quad is large, and
 * there once. */
template <typename Sample, Colour Kind>
__device__ __forceinline__ void store_quads(const Pixels &pixels, const Output &output, int x,
                                            int y, const float delta[2][kPatchX])
{
#pragma unroll(Kind == Colour::CHROMA ? 1 : kPatchX / 2)
  for (int i = 0; i < kPatchX; i += 2) {
    const float quad[4] = {delta[0][i], delta[0][i + 1], delta[1][i], delta[1][i + 1]};

    if (x + i < pixels.width)
      store_quad<Sample, Kind>(pixels, output.factors, output.linear, x + i, y, quad);
  }
}

} // namespace cf::llf
