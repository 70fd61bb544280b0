/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Level 0 as the kernel of its terms has it in shared memory: a table of rotations, and of each
 * pixel the number of its row there.
 */
#pragma once

#include "cuda/llf/mma_common.cuh"

namespace cf::llf
{

/* --- rotations --- */

/* Of luma and of 16 bits the table has rows for the high bits, at the middle of what the low ones
 * can be: each several times, in different banks. The low ones count to first order, for which sums
 * are made along with those of the terms. */
template <LutKind Kind>
constexpr int kLowNumberBits = Kind == LutKind::kRgbLuma ? 3
                               : Kind == LutKind::kU16   ? 8
                                                         : 0;
template <LutKind Kind>
constexpr int kNumberShift = Kind == LutKind::kRgbLuma ? LumaRow::kShift : 0;
template <LutKind Kind> constexpr bool kHasDerivative = kLowNumberBits<Kind> != 0;

template <LutKind Kind>
constexpr int
    kTableRows = (LutOf<Kind>::kEntries + (1 << kLowNumberBits<Kind>)-1) >> kLowNumberBits<Kind>;

/* The middle of what they can be. */
template <LutKind Kind>
constexpr float kMiddleNumber = 0.5f * (float)((1 << kLowNumberBits<Kind>)-1);

/* Row i of table c: the rotations of harmonics 4 c + 1 .. 4 c + 4. */
template <LutKind Kind, int Copies>
__device__ void fill_rotations(uint8_t *memory, const Pixels &pixels, const Series &series)
{
  constexpr int kEntries = kTableRows<Kind>;
  uint4 *const table = reinterpret_cast<uint4 *>(memory);

  for (int i = threadIdx.x; i < kEntries * kGroups; i += blockDim.x) {
    const int row = i % kEntries, group = i / kEntries;
    const float turns =
        series.turn *
        intensity_of_row<Kind>(pixels, (float)(row << kLowNumberBits<Kind>)+kMiddleNumber<Kind>);
    Rotation rotation((float)(4 * group + 1) * turns, turns);
    uint32_t words[4];

#pragma unroll
    for (int k = 0; k < 4; k++) {
      words[k] = cf::pack_half2(rotation.cosine, -rotation.sine);
      rotation.advance();
    }
#pragma unroll
    for (int copy = 0; copy < Copies; copy++)
      table[i * Copies + (copy + threadIdx.x) % Copies] =
          make_uint4(words[0], words[1], words[2], words[3]);
  }
}

/* --- the picture --- */

/* The picture as the kernel reads it. */
struct PictureRows {
  const uint8_t *from; /* the first pixel */
  Packing packing;
  LumaRow luma_row;
  int stride;   /* bytes, */
  bool aligned; /* if four pixels can be read in one go */
};

/* Pixel k of four that are not read in one go. */
template <LutKind Kind>
__device__ __forceinline__ void set_pixel(PixelQuad<Kind> &four, int k, const Pixels &pixels,
                                          const PictureRows &source, int x, int y)
{
  if constexpr (Kind != LutKind::kRgbLuma) {
    const uint32_t sample = (uint32_t)load_code<typename LutOf<Kind>::Sample>(
        pixels.channel[0].from, pixels.channel[0].from_stride, pixels.step[0], x, y, 0);

    if constexpr (Kind == LutKind::kU8)
      four.words |= sample << 8 * k;
    else
      (k < 2 ? four.words.x : four.words.y) |= sample << 16 * (k & 1);
  } else {
    uint32_t *const to = k == 0   ? &four.words.x
                         : k == 1 ? &four.words.y
                         : k == 2 ? &four.words.z
                                  : &four.words.w;
    *to = load_channels(pixels, source.packing, x, y);
  }
}

/* Eight pixels in a row. */
template <LutKind Kind>
__device__ __forceinline__ void load_eight(PixelQuad<Kind> (&quads)[2], const Pixels &pixels,
                                           const PictureRows &source, int x, int y)
{
  if (source.aligned && x + 8 <= pixels.width) {
    const PixelQuad<Kind> *const from = reinterpret_cast<const PixelQuad<Kind> *>(
        source.from + (ptrdiff_t)y * source.stride +
        (uint32_t)x *
            (Kind == LutKind::kRgbLuma ? 4u : (uint32_t)sizeof(typename LutOf<Kind>::Sample)));

    quads[0] = from[0];
    quads[1] = from[1];
    return;
  }
#pragma unroll
  for (int i = 0; i < 2; i++) {
    quads[i] = PixelQuad<Kind>{};
#pragma unroll
    for (int k = 0; k < 4; k++)
      set_pixel<Kind>(quads[i], k, pixels, source, min(x + 4 * i + k, pixels.width - 1), y);
  }
}

/* --- numbers of rows --- */

/* The number of a pixel's row in the table. */
template <LutKind Kind> struct LutIndexOf {
  using type = uint16_t;
};

template <> struct LutIndexOf<LutKind::kU8> {
  using type = uint8_t;
};

/* In shared memory, those of a lane's part of a strip, of 32 x 4 pixels, lie side by side; strips
 * side by side in different banks. */
template <LutKind Kind>
constexpr int kStripBytes = 128 * (int)sizeof(typename LutIndexOf<Kind>::type) + 16;

/* Where a pixel has its place in a tile: bytes. */
template <LutKind Kind, int TileX> __device__ __forceinline__ int place_of_number(int x, int y)
{
  const int place = y % 4 * 32 + x % 4 * 8 + x % 32 / 4;

  return (y / 4 * (TileX / 32) + x / 32) * kStripBytes<Kind> +
         place * (int)sizeof(typename LutIndexOf<Kind>::type);
}

/* Stores what is known of eight pixels in a row, the first of which has its place at `to`. */
template <LutKind Kind>
__device__ __forceinline__ void store_numbers(uint8_t *to, const Pixels &pixels,
                                              const PictureRows &source,
                                              const PixelQuad<Kind> (&quads)[2])
{
  if constexpr (Kind == LutKind::kU8) {
    const uint32_t first = __byte_perm(quads[0].words, quads[1].words, 0x5140);
    const uint32_t second = __byte_perm(quads[0].words, quads[1].words, 0x7362);
    uint16_t *const pairs = reinterpret_cast<uint16_t *>(to);

    pairs[0] = (uint16_t)first;
    pairs[4] = (uint16_t)(first >> 16);
    pairs[8] = (uint16_t)second;
    pairs[12] = (uint16_t)(second >> 16);
  } else {
    uint32_t pairs[2][2];

#pragma unroll
    for (int i = 0; i < 2; i++) {
      if constexpr (Kind == LutKind::kU10) {
        pairs[i][0] = u10_rows(quads[i].words.x, pixels.shift);
        pairs[i][1] = u10_rows(quads[i].words.y, pixels.shift);
      }
      if constexpr (Kind == LutKind::kU16) {
        pairs[i][0] = quads[i].words.x;
        pairs[i][1] = quads[i].words.y;
      }
    }
    if constexpr (Kind == LutKind::kRgbLuma) {
      const uint32_t words[8] = {quads[0].words.x, quads[0].words.y, quads[0].words.z,
                                 quads[0].words.w, quads[1].words.x, quads[1].words.y,
                                 quads[1].words.z, quads[1].words.w};
      uint32_t numbers[4];

      source.luma_row.numbers_of<4>(words, numbers);
#pragma unroll
      for (int k = 0; k < 4; k++)
        pairs[k / 2][k % 2] = numbers[k];
    }
#pragma unroll
    for (int k = 0; k < 4; k++)
      *reinterpret_cast<uint32_t *>(to + 8 * k * sizeof(uint16_t)) =
          __byte_perm(pairs[0][k / 2], pairs[1][k / 2], k % 2 ? 0x7632 : 0x5410);
  }
}

/* A lane's part of a strip: of its eight blocks of 4 x 4 pixels, the row that it names for the
 * look-up. */
template <LutKind Kind, int Copies> struct LutIndices {
  /* Bits that do not count, and how much larger the steps of the others are than of bytes. */
  static constexpr int kLowBits = kLowNumberBits<Kind> + kNumberShift<Kind>;
  static constexpr int kStep = 1 << kLowBits, kBytes = Copies * kGroupBytes;
  static constexpr int kFactor = kBytes > kStep ? kBytes / kStep : 1;
  static constexpr int kDivisor = kBytes < kStep ? kStep / kBytes : 1;
  static_assert(kFactor < 256, "a byte multiplies");

  uint4 words;

  __device__ __forceinline__ explicit LutIndices(const uint8_t *from)
      : words(*reinterpret_cast<const uint4 *>(from))
  {
    if constexpr (kLowBits > 0)
      words = make_uint4(high(words.x), high(words.y), high(words.z), high(words.w));
  }

  __device__ __forceinline__ static uint32_t high(uint32_t two)
  {
    return (two & (65536u - kStep) * 65537u) / kDivisor;
  }

  __device__ __forceinline__ uint32_t row_of(int j, uint32_t table) const
  {
    return __dp2a_lo(word(words, j / 2), (uint32_t)kFactor << 8 * (j % 2), table);
  }

  __device__ static int place(int lane)
  {
    return lane % 16 * 16;
  }
};

template <int Copies> struct LutIndices<LutKind::kU8, Copies> {
  static constexpr int kRowBytes = Copies * kGroupBytes;
  static_assert(kRowBytes < 256, "a byte multiplies");

  uint2 words;

  __device__ __forceinline__ explicit LutIndices(const uint8_t *from)
      : words(*reinterpret_cast<const uint2 *>(from))
  {
  }

  __device__ __forceinline__ uint32_t row_of(int j, uint32_t table) const
  {
    return __dp4a(j < 4 ? words.x : words.y, (uint32_t)kRowBytes << 8 * (j % 4), table);
  }

  __device__ static int place(int lane)
  {
    return lane % 16 * 8;
  }
};

} // namespace cf::llf
