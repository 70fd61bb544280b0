/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What the kernel of levels 1 and 2 has in shared memory: the table of components, and for each
 * warp the codes of a few rows of its strip of the picture.
 */
#pragma once

#include "cuda/llf/mma_downsample.cuh"

namespace cf::llf
{

/* A strip is kCoarse pixels of level 2 wide and as long as the launch says. Blocks are 8 pixels;
 * those of level 1 begin two left of the strip, and those of the picture two left of these: whole
 * blocks of level 2. */
constexpr int kBlocks1 = 7, kBlocks2 = kBlocks1 / 2;
constexpr int kCoarse = 8 * kBlocks2, kMiddle = 2 * kCoarse;
constexpr int kReads = kBlocks1;     /* of 16 pixels */
constexpr int kPairs = 4 * kBlocks1; /* of pixels of level 1, a lane each */

constexpr int kSlots = 4;     /* rows in shared memory */
constexpr int kSlot = 4 * 32; /* samples, four a lane; two before the strip's first block */
static_assert(kSlot >= 2 + 16 * kReads, "the look-ups' are there");
constexpr int kSlotPitch = kSlot + 4;
constexpr int kWarps = 12;

/* Codes of more than 8 bits: the table has rows for the high 8, at the middle of what the low bits
 * can be, and the low ones turn sines and cosines of two groups the rest of the way, to first
 * order: off by 0.3 % of a component at most, where rounding luma to 12 bits is off by as much. */
template <LutKind Kind> constexpr bool kTurns = Kind != LutKind::kU8;

/* Bits below the high 8, and how far all are shifted in shared memory: so that the low ones of a
 * half are a denormal, of which the turn is a product that stays in range. */
template <LutKind Kind>
constexpr int kLowBits = Kind == LutKind::kRgbLuma ? 4
                         : Kind == LutKind::kU16   ? 8
                                                   : 2;
template <LutKind Kind> constexpr int kLowShift = 8 - kLowBits<Kind>;

/* Each row of the table is there several times, so that those that a warp looks up lie in
 * different banks. */
template <LutKind Kind> struct TableMemory {
  using Sample = typename LutOf<Kind>::Sample;
  static constexpr bool kTurned = kTurns<Kind>;
  static constexpr int kEntries = kTurned ? 256 : LutOf<Kind>::kEntries;
  static constexpr int kCopies = kTurned ? 8 : LutOf<Kind>::kCopies;
  static constexpr int kShift = kTurned ? kLowShift<Kind> : 0;    /* of codes in shared memory */
  static constexpr int kTable = kEntries * kCopies * kGroupBytes; /* bytes a group */
  static constexpr int kRows = kSlots * kSlotPitch;               /* samples of a warp */
  static constexpr int kBytes = kGroups * kTable + kWarps * kRows * (int)sizeof(Sample);
};

/* Row `code` of table c: the components of the harmonics as they are stored. */
template <LutKind Kind>
__device__ void fill_table(uint8_t *memory, const Pixels &pixels, const Series &series)
{
  using M = TableMemory<Kind>;

  for (int i = threadIdx.x; i < M::kEntries * kGroups; i += blockDim.x) {
    const int code = i % M::kEntries, table = i / M::kEntries;
    uint32_t words[4];

    if constexpr (M::kTurned) {
      /* All sines in one table, all cosines in the other. */
      const float middle = (float)(1 << kLowBits<Kind>)*((float)code + 0.5f) - 0.5f;
      const float turns =
          series.turn * (Kind == LutKind::kRgbLuma ? intensity_of_row<Kind>(pixels, middle)
                                                   : fmaf(pixels.weight[0], middle, pixels.bias));
      Rotation rotation(turns, turns);

#pragma unroll
      for (int k = 0; k < 4; k++) {
        float two[2];

#pragma unroll
        for (int n = 0; n < 2; n++) {
          two[n] = series.b[2 * k + n] * (table ? rotation.cosine : rotation.sine);
          rotation.advance();
        }
        words[k] = cf::pack_half2(two[0], two[1]);
      }
    } else {
      const float turns = series.turn * intensity_of_row<Kind>(pixels, (float)code);
      Rotation rotation((float)(table + 1) * turns, 2.0f * turns);

#pragma unroll
      for (int k = 0; k < 4; k++) {
        const float b = series.b[table + 2 * k];

        words[k] = cf::pack_half2(b * rotation.sine, b * rotation.cosine);
        rotation.advance();
      }
    }
    uint4 *const row = reinterpret_cast<uint4 *>(memory + table * M::kTable) + code * M::kCopies;
#pragma unroll
    for (int copy = 0; copy < M::kCopies; copy++)
      row[(copy + threadIdx.x) % M::kCopies] = make_uint4(words[0], words[1], words[2], words[3]);
  }
}

/* --- rows of the picture --- */

/* The last first. */
__device__ __forceinline__ uint32_t reversed(uint32_t four)
{
  return __byte_perm(four, 0, 0x0123);
}

__device__ __forceinline__ uint2 reversed(const uint2 &four)
{
  return make_uint2(__byte_perm(four.y, 0, 0x1032), __byte_perm(four.x, 0, 0x1032));
}

__device__ __forceinline__ uint4 reversed(const uint4 &four)
{
  return make_uint4(four.w, four.z, four.y, four.x);
}

/* The last two first. */
__device__ __forceinline__ uint32_t without_two(uint32_t four)
{
  return four >> 16;
}

__device__ __forceinline__ uint2 without_two(const uint2 &four)
{
  return make_uint2(four.y, 0);
}

__device__ __forceinline__ uint4 without_two(const uint4 &four)
{
  return make_uint4(four.z, four.w, 0, 0);
}

/* Two rows of four bytes, those of a pixel side by side: so one load has both. */
__device__ __forceinline__ void store_pairs(uint8_t *to, uint32_t first, uint32_t second)
{
  *reinterpret_cast<uint2 *>(to) =
      make_uint2(__byte_perm(first, second, 0x5140), __byte_perm(first, second, 0x7362));
}

__device__ __forceinline__ uint32_t clamped_bytes(const PictureWords &picture, uint32_t codes)
{
  return !picture.clamps
             ? codes
             : __byte_perm(clamped(codes & 0x00ff00ffu, picture.first_code, picture.last_code),
                           clamped(codes >> 8 & 0x00ff00ffu, picture.first_code, picture.last_code),
                           0x6240);
}

/* To shared memory, as the numbers of rows of the table. Foot and headroom count as black and white
 * in the Gaussian pyramid; the table knows. */
template <int Shift, LutKind Kind>
__device__ __forceinline__ void store_four(typename LutOf<Kind>::Sample *to, const Pixels &pixels,
                                           const PictureWords &picture,
                                           const typename LutOf<Kind>::Quad &four)
{
  if constexpr (Kind == LutKind::kU10) {
    uint32_t first = u10_rows(four.x, pixels.shift);
    uint32_t second = u10_rows(four.y, pixels.shift);

    if (picture.clamps) {
      first = clamped(first, picture.first_code, picture.last_code);
      second = clamped(second, picture.first_code, picture.last_code);
    }
    *reinterpret_cast<uint2 *>(to) = make_uint2(first << Shift, second << Shift);
  } else if constexpr (Kind == LutKind::kU16) {
    *reinterpret_cast<uint2 *>(to) = four;
  } else {
    static_assert(Shift <= LumaRow::kShift, "rows are in steps of as much");
    const uint32_t words[4] = {four.x, four.y, four.z, four.w};
    uint32_t numbers[2];

    picture.luma_row.numbers_of<2>(words, numbers);
    *reinterpret_cast<uint2 *>(to) = make_uint2(numbers[0] >> (LumaRow::kShift - Shift),
                                                numbers[1] >> (LumaRow::kShift - Shift));
  }
}

} // namespace cf::llf
