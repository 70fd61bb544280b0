/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Rows of components in the registers of a warp, for the kernel of levels 1 and 2: looked up,
 * filtered across, added up and stored.
 */
#pragma once

#include "cuda/llf/mma_build_lut.cuh"

namespace cf::llf
{

/* Words q of block b: components lane / 4 + 8 q of its pixels 2 (lane % 4) and the next. */
struct Block {
  uint32_t word[2];
};

template <int Blocks> struct Line {
  Block block[Blocks];
};

/* `tap` has one for each q. */
__device__ __forceinline__ void add_block(Block &total, const uint32_t (&tap)[2],
                                          const Block &block)
{
#pragma unroll
  for (int q = 0; q < 2; q++)
    total.word[q] = hfma2_bits(tap[q], block.word[q], total.word[q]);
}

__device__ __forceinline__ void begin_block(Block &total, const uint32_t (&tap)[2],
                                            const Block &block)
{
#pragma unroll
  for (int q = 0; q < 2; q++)
    total.word[q] = hmul2_bits(tap[q], block.word[q]);
}

/* The taps of a block as a banded matrix: 8 coarse pixels of 24 fine ones, of which 19 are used. */
struct Banded {
  uint32_t word[3];
};

/* What fine sample `tap` of a coarse one counts; those that are mirrored at a border to it count
 * there. */
__device__ __forceinline__ float weight_of(int tap)
{
  return tap == 2               ? kHalfCentre
         : tap == 1 || tap == 3 ? kHalfSide
         : tap == 0 || tap == 4 ? kHalfEdge
                                : 0.0f;
}

__device__ __forceinline__ float folded_weight(int tap, int x, int width)
{
  return x < 0 || x >= width
             ? 0.0f
             : weight_of(tap) + weight_of(tap - 1 - 2 * x) + weight_of(tap + 2 * width - 1 - 2 * x);
}

/* Of the block whose first fine sample is number x. */
__device__ __forceinline__ Banded banded(int x, int width, int lane)
{
  Banded band;

#pragma unroll
  for (int q = 0; q < 3; q++) {
    const int sample = 8 * q + 2 * (lane % 4), tap = sample - 2 * (lane / 4);

    band.word[q] = cf::pack_half2(folded_weight(tap, x + sample, width),
                                  folded_weight(tap + 1, x + sample + 1, width));
  }
  return band;
}

/* A coarse block from three fine ones. */
__device__ __forceinline__ Block filter_block(const Block &first, const Block &second,
                                              const Block &third, const Banded &band)
{
  const uint32_t four[4] = {first.word[0], first.word[1], second.word[0], second.word[1]};
  uint32_t sum[2];
  Block made;

  mma_f16(sum, four, band.word[0], band.word[1], 0, 0);
  mma_f16_k8(made.word, third.word[0], third.word[1], band.word[2], sum[0], sum[1]);
  return made;
}

/* The same where only three pixels of the coarse block are needed, for which the third counts
 * nothing. */
__device__ __forceinline__ Block filter_block(const Block &first, const Block &second,
                                              const Banded &band)
{
  const uint32_t four[4] = {first.word[0], first.word[1], second.word[0], second.word[1]};
  Block made;

  mma_f16(made.word, four, band.word[0], band.word[1], 0, 0);
  return made;
}

/* How far a low bit turns a lane's harmonic: of the denormals that low bits are, and what belongs
 * to the table's rows already. */
struct LowBitsRotation {
  uint32_t factor, middle;
};

template <LutKind Kind>
__device__ __forceinline__ LowBitsRotation low_bits_rotation(const Pixels &pixels,
                                                             const Series &series, int lane)
{
  const float step =
      Kind == LutKind::kRgbLuma ? intensity_of_row<Kind>(pixels, 1.0f) : pixels.weight[0];
  const float radians = 6.283185307f * series.turn * (float)(lane / 4 + 1) * step;
  const float factor = radians * (float)(1 << (24 - kLowShift<Kind>));
  const float middle = -0.5f * (float)((1 << kLowBits<Kind>)-1) * radians;

  return {cf::pack_half2(factor, factor), cf::pack_half2(middle, middle)};
}

/* Sines and cosines of two pixels. */
__device__ __forceinline__ void turn_further(uint32_t &sine, uint32_t &cosine, uint32_t codes,
                                             uint32_t mask, const LowBitsRotation &low)
{
  const __half2 by = __hfma2(as_half2(codes & mask), as_half2(low.factor), as_half2(low.middle));
  const __half2 s = as_half2(sine), c = as_half2(cosine);

  sine = as_bits(__hfma2(by, c, s));
  cosine = as_bits(__hfma2(__hneg2(by), s, c));
}

/* A fine row, looked up and filtered across, of which `take (b, words)` takes the blocks in order:
 * registers for a whole row there are not. `row_of (i)` is where a lane finds its row of the table
 * for look-up i, `pairs` are the codes of its words of the components. */
template <LutKind Kind, int Reads, typename RowOf, typename Take>
__device__ __forceinline__ void filter_row(RowOf row_of, const typename LutOf<Kind>::Sample *pairs,
                                           const LowBitsRotation &low, const Banded &band,
                                           Take take)
{
  using M = TableMemory<Kind>;
  constexpr uint32_t kLowMask = ((1u << kLowBits<Kind>)-1) * 65537u << kLowShift<Kind>;
  Block two[2], next[2];

#pragma unroll
  for (int i = 0; i < Reads; i++) {
    const uint32_t row = row_of(i);
    uint32_t words[4];

    ldmatrix_x4_trans_constant(words, row);
#pragma unroll
    for (int k = 0; k < 2; k++) {
      if constexpr (M::kTurned)
        turn_further(words[2 * k], words[2 * k + 1],
                     *reinterpret_cast<const uint32_t *>(pairs + 16 * i + 8 * k), kLowMask, low);
#pragma unroll
      for (int q = 0; q < 2; q++)
        next[k].word[q] = words[2 * k + q];
    }
    if (i > 0)
      take(i - 1, filter_block(two[0], two[1], next[0], band));
#pragma unroll
    for (int k = 0; k < 2; k++)
      two[k] = next[k];
  }
  take(Reads - 1, filter_block(two[0], two[1], band));
}

/* Stores rows of a strip, one after the other: products leave components in rows, memory has them
 * in columns. Of two groups, the first one's pairs are the even ones of eight, the second's the odd
 * ones. */
template <bool Turned, int Blocks> struct LineWriter {
  static constexpr int kPixelBytes = kGroups * kGroupBytes;

  uint8_t *next;
  uint32_t kept; /* blocks of which the lane's pixel is in the strip and in the level */

  /* Row y may be one that is not stored; the second half is `distance` rows below. */
  __device__ __forceinline__ void begin(const DownsampleOutput &target, int x, int y, int distance,
                                        int first, int end, int lane)
  {
    const Level &level = target.coarse;

    next = reinterpret_cast<uint8_t *>(level.groups) +
           ((ptrdiff_t)y * level.width + x + lane / 4) * kPixelBytes + lane % 4 * 8;
    kept = 0;
#pragma unroll
    for (int b = 0; b < Blocks; b++) {
      const int i = 8 * b + lane / 4;
      kept |= i >= first && i < end && x + i < level.width ? 1u << b : 0;
    }
    kept = keep_in_register(kept);
  }

  /* Those of a row. Of two groups, not what stays the same in all rows: the compiler would hold
   * that in predicates, of which there are not enough. */
  __device__ __forceinline__ uint32_t written(bool stored) const
  {
    const uint32_t blocks = stored ? kept : 0;
    return keep_in_register(blocks);
  }

  /* `store (to, words)` stores a uint2. */
  template <typename Store>
  __device__ __forceinline__ void write(int b, const Block &block, const uint32_t &written,
                                        Store store) const
  {
    uint32_t words[2];

#pragma unroll
    for (int q = 0; q < 2; q++)
      words[q] = movmatrix_trans(block.word[q]);
    if constexpr (Turned) {
      const uint32_t sines = words[0], cosines = words[1];

      words[0] = __byte_perm(sines, cosines, 0x5410);
      words[1] = __byte_perm(sines, cosines, 0x7632);
    }
    uint8_t *const to = next + 8 * b * kPixelBytes;

    if (!(written >> b & 1))
      return;
    store(reinterpret_cast<uint2 *>(to), make_uint2(words[0], words[1]));
  }

  __device__ __forceinline__ void advance(int width)
  {
    next += (ptrdiff_t)width * kPixelBytes;
  }
};

} // namespace cf::llf
