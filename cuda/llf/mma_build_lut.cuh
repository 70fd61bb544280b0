/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Shared memory of the kernel of levels 1 and 2: the LUT of components (a table per group), and for
 * each warp the codes of four rows of its strip of the picture.
 */
#pragma once

#include "cuda/llf/mma_downsample.cuh"

namespace cf::llf
{

/* A strip is kCoarse pixels of level 2 wide, kMiddle of level 1, and as many rows long as the
 * launch says. A block is 8 pixels of a row. A warp computes kBlocks1 blocks of level 1, the first
 * of which begins two pixels left of the strip, from kReads look-ups of 16 pixels of the picture,
 * which begin two pixels left of that block. */
constexpr int kBlocks1 = 7, kBlocks2 = kBlocks1 / 2;
constexpr int kCoarse = 8 * kBlocks2, kMiddle = 2 * kCoarse;
constexpr int kReads = kBlocks1;
constexpr int kPairs = 4 * kBlocks1; /* of pixels of level 1; lane i has the Gaussian of pair i */

constexpr int kSlots = 4;     /* rows of the picture per warp */
constexpr int kSlot = 4 * 32; /* samples of a row, four per lane; look-ups begin with the third */
static_assert(kSlot >= 2 + 16 * kReads, "a slot has the samples of all look-ups");
constexpr int kSlotPitch = kSlot + 4;
constexpr int kWarps = 12;

/* For codes of more than 8 bits the LUT has a row per value of the high 8 bits, computed for the
 * middle of the low bits' range. The low bits rotate the looked-up sines and cosines the rest of
 * the way, to first order. The error is at most 0.3 % of a component, as large as that of rounding
 * luma to 12 bits. */
template <LutKind Kind> constexpr bool kTurns = Kind != LutKind::kU8;

/* Bits below the high 8. Codes in shared memory are shifted left by kLowShift: then the high bits
 * are a byte, and the low byte is an fp16 denormal, from which one multiplication makes the angle
 * (LowBitsRotation). */
template <LutKind Kind>
constexpr int kLowBits = Kind == LutKind::kRgbLuma ? 4
                         : Kind == LutKind::kU16   ? 8
                                                   : 2;
template <LutKind Kind> constexpr int kLowShift = 8 - kLowBits<Kind>;

/* The layout: table 0, table 1, then the slots of each warp. A row of a table is stored kCopies
 * times in succession, so that the rows that a warp looks up lie in different banks. */
template <LutKind Kind> struct TableMemory {
  using Sample = typename LutOf<Kind>::Sample;
  static constexpr bool kTurned = kTurns<Kind>;
  static constexpr int kEntries = kTurned ? 256 : LutOf<Kind>::kEntries;
  static constexpr int kCopies = kTurned ? 8 : LutOf<Kind>::kCopies;
  static constexpr int kShift = kTurned ? kLowShift<Kind> : 0;    /* of codes in shared memory */
  static constexpr int kTable = kEntries * kCopies * kGroupBytes; /* bytes of a table */
  static constexpr int kRows = kSlots * kSlotPitch;               /* samples of a warp's slots */
  static constexpr int kBytes = kGroups * kTable + kWarps * kRows * (int)sizeof(Sample);
};

/* Fills both tables; the CTA must synchronise before it reads them. Codes are numbers above black.
 * Row `code` of table t has sine and cosine of harmonics t + 1, t + 3, t + 5 and t + 7; or, if
 * kTurned, table 0 the sines and table 1 the cosines of harmonics 1..8. LineWriter restores the
 * order of component images. */
template <LutKind Kind>
__device__ void fill_table(uint8_t *memory, const Pixels &pixels, const Series &series)
{
  using M = TableMemory<Kind>;

  for (int code = threadIdx.x; code < M::kEntries; code += blockDim.x) {
    uint32_t words[kGroups][4];

    if constexpr (M::kTurned) {
      const float middle = (float)(1 << kLowBits<Kind>)*((float)code + 0.5f) - 0.5f;
      const float turns =
          series.turn * (Kind == LutKind::kRgbLuma ? intensity_of_row<Kind>(pixels, middle)
                                                   : pixels.weight[0] * middle);
      Rotation rotation(turns, turns);

#pragma unroll
      for (int k = 0; k < 4; k++) {
        float sine[2], cosine[2];

#pragma unroll
        for (int n = 0; n < 2; n++) {
          sine[n] = series.b[2 * k + n] * rotation.sine;
          cosine[n] = series.b[2 * k + n] * rotation.cosine;
          rotation.advance();
        }
        words[0][k] = cf::pack_half2(sine[0], sine[1]);
        words[1][k] = cf::pack_half2(cosine[0], cosine[1]);
      }
    } else {
      const float turns = series.turn * intensity_of_row<Kind>(pixels, (float)code + pixels.offset);

#pragma unroll
      for (int table = 0; table < kGroups; table++) {
        Rotation rotation((float)(table + 1) * turns, 2.0f * turns);

#pragma unroll
        for (int k = 0; k < 4; k++) {
          const float b = series.b[table + 2 * k];

          words[table][k] = cf::pack_half2(b * rotation.sine, b * rotation.cosine);
          rotation.advance();
        }
      }
    }
#pragma unroll
    for (int table = 0; table < kGroups; table++) {
      const uint32_t(&row)[4] = words[table];
      uint4 *const to = reinterpret_cast<uint4 *>(memory + table * M::kTable) + code * M::kCopies;

#pragma unroll
      for (int copy = 0; copy < M::kCopies; copy++)
        to[(copy + threadIdx.x) % M::kCopies] = make_uint4(row[0], row[1], row[2], row[3]);
    }
  }
}

/* ---- Rows of the picture ---- */

/* The samples of a quad in reverse order. */
__device__ __forceinline__ uint32_t reversed(uint32_t quad)
{
  return __byte_perm(quad, 0, 0x0123);
}

__device__ __forceinline__ uint2 reversed(const uint2 &quad)
{
  return make_uint2(__byte_perm(quad.y, 0, 0x1032), __byte_perm(quad.x, 0, 0x1032));
}

__device__ __forceinline__ uint4 reversed(const uint4 &quad)
{
  return make_uint4(quad.w, quad.z, quad.y, quad.x);
}

/* Moves the last two samples of a quad to its front. */
__device__ __forceinline__ uint32_t last_two(uint32_t quad)
{
  return quad >> 16;
}

__device__ __forceinline__ uint2 last_two(const uint2 &quad)
{
  return make_uint2(quad.y, 0);
}

__device__ __forceinline__ uint4 last_two(const uint4 &quad)
{
  return make_uint4(quad.z, quad.w, 0, 0);
}

/* Stores the LUT indices of four bytes of each of two rows interleaved, so that one load gets both
 * rows of a column. */
__device__ __forceinline__ void store_pairs(uint8_t *to, const PictureWords &picture,
                                            uint32_t first, uint32_t second)
{
  const uint32_t pairs[2] = {__byte_perm(first, second, 0x5140),
                             __byte_perm(first, second, 0x7362)};
  uint32_t indices[2];

#pragma unroll
  for (int i = 0; i < 2; i++)
    indices[i] = __byte_perm(picture.above_black(__byte_perm(pairs[i], 0, 0x4240)),
                             picture.above_black(__byte_perm(pairs[i], 0, 0x4341)), 0x6240);
  *reinterpret_cast<uint2 *>(to) = make_uint2(indices[0], indices[1]);
}

/* Stores a quad's LUT indices to shared memory, shifted left by Shift. */
template <int Shift, LutKind Kind>
__device__ __forceinline__ void store_quad_codes(typename LutOf<Kind>::Sample *to,
                                                 const Pixels &pixels, const PictureWords &picture,
                                                 const typename LutOf<Kind>::Quad &quad)
{
  if constexpr (Kind == LutKind::kU10) {
    *reinterpret_cast<uint2 *>(to) =
        make_uint2(picture.above_black(u10_rows(quad.x, pixels.shift)) << Shift,
                   picture.above_black(u10_rows(quad.y, pixels.shift)) << Shift);
  } else if constexpr (Kind == LutKind::kU16) {
    *reinterpret_cast<uint2 *>(to) = quad;
  } else {
    static_assert(Shift <= LumaRow::kShift, "numbers are shifted right");
    const uint32_t words[4] = {quad.x, quad.y, quad.z, quad.w};
    uint32_t numbers[2];

    picture.luma_row.shifted_rows_of<2>(words, numbers);
    *reinterpret_cast<uint2 *>(to) = make_uint2(numbers[0] >> (LumaRow::kShift - Shift),
                                                numbers[1] >> (LumaRow::kShift - Shift));
  }
}

} // namespace cf::llf
