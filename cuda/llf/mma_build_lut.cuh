/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What the kernel of levels 1 and 2 has in shared memory: the table of components, and for each
 * warp the codes of a few rows of its strip of the picture.
 */
#pragma once

#include "cuda/llf/mma_downsample.cuh"

namespace cf::llf
{

/* A strip is COARSE pixels of level 2 wide and as long as the launch says. Blocks are 8 pixels;
 * those of level 1 begin two left of the strip, and those of the picture two left of these. An odd
 * number of them makes whole blocks of level 2, of an even one the last needs two of three. With
 * one group the lower half of what products filter is a second strip below. */
template <int blocks> struct StripShape {
  static constexpr int BLOCKS_1 = blocks, BLOCKS_2 = blocks / 2;
  static constexpr int COARSE = 8 * BLOCKS_2 - (blocks % 2 ? 0 : 3), MIDDLE = 2 * COARSE;
  static constexpr int READS = blocks;     /* of 16 pixels */
  static constexpr int PAIRS = 4 * blocks; /* of pixels of level 1, a lane each */
};

/* Of large pictures, and of others: these have short strips, of which there are more of the smaller
 * ones for each warp. */
constexpr int LARGE_BLOCKS = 7, SMALL_BLOCKS = 6;

constexpr int SLOTS = 4;     /* rows in shared memory */
constexpr int SLOT = 4 * 32; /* samples, four a lane; two before the strip's first block */
static_assert(SLOT >= 2 + 16 * StripShape<LARGE_BLOCKS>::READS, "the look-ups' are there");
constexpr int SLOT_PITCH = SLOT + 4;
constexpr int WARPS = 12;

template <int GROUPS> constexpr int HALVES = GROUPS == 1 ? 2 : 1;

/* Codes of more than 8 bits: the table has rows for the high 8, at the middle of what the low bits
 * can be, and the low ones turn sines and cosines of two groups the rest of the way, to first
 * order: off by 0.3 % of a component at most, where rounding luma to 12 bits is off by as much. */
template <int GROUPS, Key key> constexpr bool TURNS = GROUPS == 2 && key != Key::BYTE;

/* Bits below the high 8, and how far all are shifted in shared memory: so that the low ones of a
 * half are a denormal, of which the turn is a product that stays in range. */
template <Key key> constexpr int LOW_BITS = key == Key::LUMA ? 4 : 2;
template <Key key> constexpr int LOW_SHIFT = 8 - LOW_BITS<key>;

/* Each row of the table is there several times, so that those that a warp looks up lie in
 * different banks. */
template <int GROUPS, Key key> struct TableMemory {
  using Sample = typename KeyOf<key>::Sample;
  static constexpr bool TURNED = TURNS<GROUPS, key>;
  static constexpr int ENTRIES = TURNED ? 256 : KeyOf<key>::ENTRIES;
  static constexpr int COPIES = TURNED ? 8 : KeyOf<key>::COPIES;
  static constexpr int SHIFT = TURNED ? LOW_SHIFT<key> : 0;        /* of codes in shared memory */
  static constexpr int TABLE = ENTRIES * COPIES * GROUP_BYTES;     /* bytes a group */
  static constexpr int ROWS = SLOTS * HALVES<GROUPS> * SLOT_PITCH; /* samples of a warp */
  static constexpr int BYTES = GROUPS * TABLE + WARPS * ROWS * (int)sizeof(Sample);
};

/* Row `code` of table c: the components of harmonics first + 1.. as they are stored. */
template <int GROUPS, Key key>
__device__ void fill_table(uint8_t *memory, const Pixels &pixels, const Series &series, int first)
{
  using M = TableMemory<GROUPS, key>;

  for (int i = threadIdx.x; i < M::ENTRIES * GROUPS; i += blockDim.x) {
    const int code = i % M::ENTRIES, table = i / M::ENTRIES;
    uint32_t words[4];

    if constexpr (M::TURNED) {
      /* All sines in one table, all cosines in the other. */
      const float middle = (float)(1 << LOW_BITS<key>)*((float)code + 0.5f) - 0.5f;
      const float turns =
          series.turn * (key == Key::LUMA ? intensity_of_row<key>(pixels, middle)
                                          : fmaf(pixels.weight[0], middle, pixels.bias));
      Rotation rotation((float)(first + 1) * turns, turns);

#pragma unroll
      for (int k = 0; k < 4; k++) {
        float two[2];

#pragma unroll
        for (int n = 0; n < 2; n++) {
          two[n] = series.b[first + 2 * k + n] * (table ? rotation.cosine : rotation.sine);
          rotation.advance();
        }
        words[k] = cf::pack_half2(two[0], two[1]);
      }
    } else {
      const int step = GROUPS == 2 ? 2 : 1, start = first + (GROUPS == 2 ? table : 0);
      const float turns = series.turn * intensity_of_row<key>(pixels, (float)code);
      Rotation rotation((float)(start + 1) * turns, (float)step * turns);

#pragma unroll
      for (int k = 0; k < 4; k++) {
        const float b = series.b[start + step * k];

        words[k] = cf::pack_half2(b * rotation.sine, b * rotation.cosine);
        rotation.advance();
      }
    }
    uint4 *const row = reinterpret_cast<uint4 *>(memory + table * M::TABLE) + code * M::COPIES;
#pragma unroll
    for (int copy = 0; copy < M::COPIES; copy++)
      row[(copy + threadIdx.x) % M::COPIES] = make_uint4(words[0], words[1], words[2], words[3]);
  }
}

/* --- rows of the picture --- */

struct Picture {
  const uint8_t *from; /* the first pixel */
  int stride;          /* bytes */
  bool aligned;        /* four samples can be read in one go */
  uint32_t first_code, last_code;
  bool clamps;
  Packing packing;
  LumaRow luma_row;
};

/* One sample more, at the end. */
__device__ __forceinline__ void push(Four<Key::BYTE> &four, uint32_t sample)
{
  four.words = four.words >> 8 | sample << 24;
}

__device__ __forceinline__ void push(Four<Key::WORD> &four, uint32_t sample)
{
  four.words = make_uint2(__funnelshift_r(four.words.x, four.words.y, 16),
                          four.words.y >> 16 | sample << 16);
}

__device__ __forceinline__ void push(Four<Key::LUMA> &four, uint32_t sample)
{
  four.words = make_uint4(four.words.y, four.words.z, four.words.w, sample);
}

/* The last first. */
__device__ __forceinline__ Four<Key::BYTE> reversed(const Four<Key::BYTE> &four)
{
  return {__byte_perm(four.words, 0, 0x0123)};
}

__device__ __forceinline__ Four<Key::WORD> reversed(const Four<Key::WORD> &four)
{
  return {make_uint2(__byte_perm(four.words.y, 0, 0x1032), __byte_perm(four.words.x, 0, 0x1032))};
}

__device__ __forceinline__ Four<Key::LUMA> reversed(const Four<Key::LUMA> &four)
{
  return {make_uint4(four.words.w, four.words.z, four.words.y, four.words.x)};
}

/* The last two first. */
__device__ __forceinline__ Four<Key::BYTE> without_two(const Four<Key::BYTE> &four)
{
  return {four.words >> 16};
}

__device__ __forceinline__ Four<Key::WORD> without_two(const Four<Key::WORD> &four)
{
  return {make_uint2(four.words.y, 0)};
}

__device__ __forceinline__ Four<Key::LUMA> without_two(const Four<Key::LUMA> &four)
{
  return {make_uint4(four.words.z, four.words.w, 0, 0)};
}

/* Four samples from x on, one by one: not aligned, or some of them beyond the border. */
template <Key key>
__device__ __forceinline__ Four<key> load_mirrored(const Pixels &pixels, const Picture &picture,
                                                   int x, int y)
{
  using Sample = typename KeyOf<key>::Sample;
  const Channel &channel = pixels.channel[0];
  Four<key> four = {};

#pragma unroll
  for (int k = 0; k < 4; k++) {
    const int pixel_x = mirrored(x + k, pixels.width);

    if constexpr (key == Key::LUMA)
      push(four, load_channels(pixels, picture.packing, pixel_x, y));
    else
      push(four,
           load_code<Sample>(channel.from, channel.from_stride, pixels.step[0], pixel_x, y, 0));
  }
  return four;
}

/* Two rows of four bytes, those of a pixel side by side: so one load has both. */
__device__ __forceinline__ void store_pairs(uint8_t *to, uint32_t first, uint32_t second)
{
  *reinterpret_cast<uint2 *>(to) =
      make_uint2(__byte_perm(first, second, 0x5140), __byte_perm(first, second, 0x7362));
}

__device__ __forceinline__ uint32_t clamped_bytes(const Picture &picture, uint32_t codes)
{
  return !picture.clamps
             ? codes
             : __byte_perm(clamped(codes & 0x00ff00ffu, picture.first_code, picture.last_code),
                           clamped(codes >> 8 & 0x00ff00ffu, picture.first_code, picture.last_code),
                           0x6240);
}

/* To shared memory, as the numbers of rows of the table. Foot and headroom count as black and white
 * in the Gaussian pyramid; the table knows. */
template <int SHIFT, Key key>
__device__ __forceinline__ void store_four(typename KeyOf<key>::Sample *to, const Pixels &pixels,
                                           const Picture &picture, const Four<key> &four)
{
  if constexpr (key == Key::WORD) {
    const uint32_t mask = 65535u >> pixels.shift;
    uint32_t first = four.words.x >> pixels.shift & mask * 65537u;
    uint32_t second = four.words.y >> pixels.shift & mask * 65537u;

    if (picture.clamps) {
      first = clamped(first, picture.first_code, picture.last_code);
      second = clamped(second, picture.first_code, picture.last_code);
    }
    *reinterpret_cast<uint2 *>(to) = make_uint2(first << SHIFT, second << SHIFT);
  } else {
    static_assert(SHIFT <= LumaRow::SHIFT, "rows are in steps of as much");
    const uint32_t words[4] = {four.words.x, four.words.y, four.words.z, four.words.w};
    uint32_t numbers[2];

    picture.luma_row.numbers_of<2>(words, numbers);
    *reinterpret_cast<uint2 *>(to) =
        make_uint2(numbers[0] >> (LumaRow::SHIFT - SHIFT), numbers[1] >> (LumaRow::SHIFT - SHIFT));
  }
}

} // namespace cf::llf
