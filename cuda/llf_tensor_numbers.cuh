/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Level 0 as the kernel of its terms has it in shared memory: a table of rotations, and of each
 * pixel the number of its row there.
 */
#pragma once

#include "llf_tensor.cuh"

namespace llf
{

/* --- rotations --- */

/* Row i of table c: the rotations of harmonics 4 c + 1 .. 4 c + 4. */
template <int GROUPS, Key key, int COPIES>
__device__ void fill_rotations(uint8_t *memory, const Pixels &pixels, const Series &series)
{
  constexpr int ENTRIES = KeyOf<key>::ENTRIES;
  uint4 *const table = reinterpret_cast<uint4 *>(memory);

  for (int i = threadIdx.x; i < ENTRIES * GROUPS; i += blockDim.x) {
    const int row = i % ENTRIES, group = i / ENTRIES;
    const float turns = series.turn * intensity_of_row<key>(pixels, (float)row);
    Rotation rotation((float)(4 * group + 1) * turns, turns);
    uint32_t words[4];

#pragma unroll
    for (int k = 0; k < 4; k++) {
      words[k] = cf_pack_halves(rotation.cosine, -rotation.sine);
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
  Packing packing;
  LumaRow luma_row;
  int stride;   /* bytes, */
  bool aligned; /* if four pixels can be read in one go */
};

template <typename Sample, Colour colour, Key key>
__device__ __forceinline__ Four<key> load_four(const Pixels &pixels, const PictureRows &source,
                                               int x, int y)
{
  const Channel &channel = pixels.channel[0];
  const Packing &packing = source.packing;

  if (key != Key::NONE && source.aligned && x + 4 <= pixels.width)
    return *reinterpret_cast<const Four<key> *>(channel.from + (ptrdiff_t)y * source.stride +
                                                (ptrdiff_t)x *
                                                    (key == Key::LUMA ? 4 : (int)sizeof(Sample)) -
                                                (key == Key::LUMA ? packing.byte[0] : 0));

  Four<key> four = {};
#pragma unroll
  for (int k = 0; k < 4; k++) {
    const int pixel_x = min(x + k, pixels.width - 1);
    auto sample = [&](int c) {
      return (uint32_t)load_code<Sample>(pixels.channel[c].from, pixels.channel[c].from_stride,
                                         pixels.step[c], pixel_x, y, 0);
    };

    if constexpr (key == Key::BYTE) {
      four.words |= sample(0) << 8 * k;
    } else if constexpr (key == Key::WORD) {
      (k < 2 ? four.words.x : four.words.y) |= sample(0) << 16 * (k & 1);
    } else {
      uint32_t *const to = k == 0   ? &four.words.x
                           : k == 1 ? &four.words.y
                           : k == 2 ? &four.words.z
                                    : &four.words.w;
      if constexpr (key == Key::LUMA)
        *to = load_channels(pixels, packing, pixel_x, y);
      else
        *to = __float_as_uint(
            rounded_intensity<Sample, colour>(pixels, packing, source.luma_row, pixel_x, y));
    }
  }
  return four;
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
                                              const LumaRow &luma_row, const Four<key> (&fours)[2])
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
        } else {
          pairs[i][0] = luma_row.of(fours[i].words.x, fours[i].words.y);
          pairs[i][1] = luma_row.of(fours[i].words.z, fours[i].words.w);
        }
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
  static constexpr int ROW_BYTES = COPIES * GROUP_BYTES;
  static_assert(ROW_BYTES < 256, "a byte multiplies");

  uint4 words;

  __device__ __forceinline__ explicit Numbers(const uint8_t *from)
      : words(*reinterpret_cast<const uint4 *>(from))
  {
  }

  __device__ __forceinline__ uint32_t row_of(int j, uint32_t table) const
  {
    return __dp2a_lo(word(words, j / 2), (uint32_t)ROW_BYTES << 8 * (j % 2), table);
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

} // namespace llf
