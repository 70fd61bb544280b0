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

/* Of luma the table has rows for its high bits, at the middle of what the low ones can be: each
 * several times, in different banks. The low ones count to first order, for which sums are made
 * along with those of the terms. */
template <Key key> constexpr int LOW_NUMBER_BITS = key == Key::LUMA ? 3 : 0;
template <Key key> constexpr int NUMBER_SHIFT = key == Key::LUMA ? LumaRow::SHIFT : 0;
template <Key key> constexpr bool HAS_SLOPES = LOW_NUMBER_BITS<key> != 0;

template <Key key>
constexpr int
    TABLE_ROWS = (KeyOf<key>::ENTRIES + (1 << LOW_NUMBER_BITS<key>)-1) >> LOW_NUMBER_BITS<key>;

/* The middle of what they can be. */
template <Key key> constexpr float MIDDLE_NUMBER = 0.5f * (float)((1 << LOW_NUMBER_BITS<key>)-1);

/* Row i of table c: the rotations of harmonics 4 c + 1 .. 4 c + 4. */
template <int GROUPS, Key key, int COPIES>
__device__ void fill_rotations(uint8_t *memory, const Pixels &pixels, const Series &series)
{
  constexpr int ENTRIES = TABLE_ROWS<key>;
  uint4 *const table = reinterpret_cast<uint4 *>(memory);

  for (int i = threadIdx.x; i < ENTRIES * GROUPS; i += blockDim.x) {
    const int row = i % ENTRIES, group = i / ENTRIES;
    const float turns =
        series.turn *
        intensity_of_row<key>(pixels, (float)(row << LOW_NUMBER_BITS<key>)+MIDDLE_NUMBER<key>);
    Rotation rotation((float)(4 * group + 1) * turns, turns);
    uint32_t words[4];

#pragma unroll
    for (int k = 0; k < 4; k++) {
      words[k] = cf::pack_half2(rotation.cosine, -rotation.sine);
      rotation.advance();
    }
#pragma unroll
    for (int copy = 0; copy < COPIES; copy++)
      table[i * COPIES + (copy + threadIdx.x) % COPIES] =
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
template <typename Sample, Colour colour, Key key>
__device__ __forceinline__ void set_pixel(Four<key> &four, int k, const Pixels &pixels,
                                          const PictureRows &source, int x, int y)
{
  if constexpr (key == Key::BYTE || key == Key::WORD) {
    const uint32_t sample = (uint32_t)load_code<Sample>(
        pixels.channel[0].from, pixels.channel[0].from_stride, pixels.step[0], x, y, 0);

    if constexpr (key == Key::BYTE)
      four.words |= sample << 8 * k;
    else
      (k < 2 ? four.words.x : four.words.y) |= sample << 16 * (k & 1);
  } else {
    uint32_t *const to = k == 0   ? &four.words.x
                         : k == 1 ? &four.words.y
                         : k == 2 ? &four.words.z
                                  : &four.words.w;
    if constexpr (key == Key::LUMA)
      *to = load_channels(pixels, source.packing, x, y);
    else
      *to = __float_as_uint(
          rounded_intensity<Sample, colour>(pixels, source.packing, source.luma_row, x, y));
  }
}

/* Eight pixels in a row. */
template <typename Sample, Colour colour, Key key>
__device__ __forceinline__ void load_eight(Four<key> (&fours)[2], const Pixels &pixels,
                                           const PictureRows &source, int x, int y)
{
  if (key != Key::NONE && source.aligned && x + 8 <= pixels.width) {
    const Four<key> *const from = reinterpret_cast<const Four<key> *>(
        source.from + (ptrdiff_t)y * source.stride +
        (uint32_t)x * (key == Key::LUMA ? 4u : (uint32_t)sizeof(Sample)));

    fours[0] = from[0];
    fours[1] = from[1];
    return;
  }
#pragma unroll
  for (int i = 0; i < 2; i++) {
    fours[i] = Four<key>{};
#pragma unroll
    for (int k = 0; k < 4; k++)
      set_pixel<Sample, colour, key>(fours[i], k, pixels, source,
                                     min(x + 4 * i + k, pixels.width - 1), y);
  }
}

/* --- numbers of rows --- */

/* What is known of a pixel of level 0: the number of its row in the table, or its intensity. */
template <Key key> struct NumberOf {
  using type = uint16_t;
};

template <> struct NumberOf<Key::BYTE> {
  using type = uint8_t;
};

template <> struct NumberOf<Key::NONE> {
  using type = float;
};

/* In shared memory, those of a lane's part of a strip, of 32 x 4 pixels, lie side by side; strips
 * side by side in different banks. */
template <Key key> constexpr int STRIP_BYTES = 128 * (int)sizeof(typename NumberOf<key>::type) + 16;

/* Where a pixel has its place in a tile: bytes. */
template <Key key, int TILE_X> __device__ __forceinline__ int place_of_number(int x, int y)
{
  const int place = key == Key::NONE ? y % 2 * 64 + x % 4 * 16 + y / 2 % 2 * 8 + x % 32 / 4
                                     : y % 4 * 32 + x % 4 * 8 + x % 32 / 4;

  return (y / 4 * (TILE_X / 32) + x / 32) * STRIP_BYTES<key> +
         place * (int)sizeof(typename NumberOf<key>::type);
}

/* Stores what is known of eight pixels in a row, the first of which has its place at `to`. */
template <Key key>
__device__ __forceinline__ void store_numbers(uint8_t *to, const Pixels &pixels,
                                              const PictureRows &source,
                                              const Four<key> (&fours)[2])
{
  if constexpr (key == Key::NONE) {
#pragma unroll
    for (int k = 0; k < 4; k++)
      *reinterpret_cast<uint2 *>(to + 16 * k * sizeof(float)) =
          make_uint2(word(fours[0].words, k), word(fours[1].words, k));
  } else {
    if constexpr (key == Key::BYTE) {
      const uint32_t first = __byte_perm(fours[0].words, fours[1].words, 0x5140);
      const uint32_t second = __byte_perm(fours[0].words, fours[1].words, 0x7362);
      uint16_t *const pairs = reinterpret_cast<uint16_t *>(to);

      pairs[0] = (uint16_t)first;
      pairs[4] = (uint16_t)(first >> 16);
      pairs[8] = (uint16_t)second;
      pairs[12] = (uint16_t)(second >> 16);
    } else {
      uint32_t pairs[2][2];

#pragma unroll
      for (int i = 0; i < 2; i++) {
        if constexpr (key == Key::WORD) {
          const uint32_t mask = (65535u >> pixels.shift) * 65537u;
          pairs[i][0] = fours[i].words.x >> pixels.shift & mask;
          pairs[i][1] = fours[i].words.y >> pixels.shift & mask;
        }
      }
      if constexpr (key == Key::LUMA) {
        const uint32_t words[8] = {fours[0].words.x, fours[0].words.y, fours[0].words.z,
                                   fours[0].words.w, fours[1].words.x, fours[1].words.y,
                                   fours[1].words.z, fours[1].words.w};
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
}

/* A lane's part of a strip: of its eight blocks of 4 x 4 pixels, the row that it names for the
 * look-up, or the intensities of its two pixels. */
template <Key key, int COPIES> struct Numbers {
  /* Bits that do not count, and how much larger the steps of the others are than of bytes. */
  static constexpr int LOW_BITS = LOW_NUMBER_BITS<key> + NUMBER_SHIFT<key>;
  static constexpr int STEP = 1 << LOW_BITS, BYTES = COPIES * GROUP_BYTES;
  static constexpr int FACTOR = BYTES > STEP ? BYTES / STEP : 1;
  static constexpr int DIVISOR = BYTES < STEP ? STEP / BYTES : 1;
  static_assert(FACTOR < 256, "a byte multiplies");

  uint4 words;

  __device__ __forceinline__ explicit Numbers(const uint8_t *from)
      : words(*reinterpret_cast<const uint4 *>(from))
  {
    if constexpr (LOW_BITS > 0)
      words = make_uint4(high(words.x), high(words.y), high(words.z), high(words.w));
  }

  __device__ __forceinline__ static uint32_t high(uint32_t two)
  {
    return (two & (65536u - STEP) * 65537u) / DIVISOR;
  }

  __device__ __forceinline__ uint32_t row_of(int j, uint32_t table) const
  {
    return __dp2a_lo(word(words, j / 2), (uint32_t)FACTOR << 8 * (j % 2), table);
  }

  __device__ static int place(int lane)
  {
    return lane % 16 * 16;
  }
};

template <int COPIES> struct Numbers<Key::BYTE, COPIES> {
  static constexpr int ROW_BYTES = COPIES * GROUP_BYTES;
  static_assert(ROW_BYTES < 256, "a byte multiplies");

  uint2 words;

  __device__ __forceinline__ explicit Numbers(const uint8_t *from)
      : words(*reinterpret_cast<const uint2 *>(from))
  {
  }

  __device__ __forceinline__ uint32_t row_of(int j, uint32_t table) const
  {
    return __dp4a(j < 4 ? words.x : words.y, (uint32_t)ROW_BYTES << 8 * (j % 4), table);
  }

  __device__ static int place(int lane)
  {
    return lane % 16 * 8;
  }
};

template <int COPIES> struct Numbers<Key::NONE, COPIES> {
  const float *from;

  __device__ __forceinline__ explicit Numbers(const uint8_t *from)
      : from(reinterpret_cast<const float *>(from))
  {
  }

  __device__ static int place(int lane)
  {
    return (lane / 16 * 4 + lane / 4 % 4) * 64;
  }
};

} // namespace cf::llf
