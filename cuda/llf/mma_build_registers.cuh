/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Rows of components in the registers of a warp, for the kernel of levels 1 and 2: look-up,
 * horizontal filter, weighted sums of rows, stores.
 */
#pragma once

#include "cuda/llf/mma_build_lut.cuh"

namespace cf::llf
{

/* 16 components of 8 pixels, as mma leaves them: word q of a lane has component lane / 4 + 8 q of
 * pixels 2 (lane % 4) and 2 (lane % 4) + 1. */
struct Block {
  uint32_t word[2];
};

template <int Blocks> struct Line {
  Block block[Blocks];
};

/* total += tap * block; `tap` holds the tap twice. */
__device__ __forceinline__ void add_block(Block &total, uint32_t tap, const Block &block)
{
#pragma unroll
  for (int q = 0; q < 2; q++)
    total.word[q] = hfma2_bits(tap, block.word[q], total.word[q]);
}

__device__ __forceinline__ void begin_block(Block &total, uint32_t tap, const Block &block)
{
#pragma unroll
  for (int q = 0; q < 2; q++)
    total.word[q] = hmul2_bits(tap, block.word[q]);
}

/* A lane's fragments of the banded matrix of taps that turns 24 fine pixels into 8 coarse ones; 19
 * of the fine ones have taps. */
struct Banded {
  uint32_t word[3];
};

/* The weight of fine sample number `tap`, 0..4, in a coarse sample. */
__device__ __forceinline__ float weight_of(int tap)
{
  return tap == 2               ? kHalfCentre
         : tap == 1 || tap == 3 ? kHalfSide
         : tap == 0 || tap == 4 ? kHalfEdge
                                : 0.0f;
}

/* The weight of fine sample x, the weights of samples mirrored to it at a border included; 0 for
 * samples beyond a border. */
__device__ __forceinline__ float folded_weight(int tap, int x, int width)
{
  return x < 0 || x >= width
             ? 0.0f
             : weight_of(tap) + weight_of(tap - 1 - 2 * x) + weight_of(tap + 2 * width - 1 - 2 * x);
}

/* The matrix for the block whose first fine sample has column x, in a level of this width. */
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

/* A coarse block from three fine blocks. */
__device__ __forceinline__ Block filter_block(const Block &first, const Block &second,
                                              const Block &third, const Banded &band)
{
  const uint32_t four[4] = {first.word[0], first.word[1], second.word[0], second.word[1]};
  uint32_t sum[2];
  Block result;

  mma_f16(sum, four, band.word[0], band.word[1], 0, 0);
  mma_f16_k8(result.word, third.word[0], third.word[1], band.word[2], sum[0], sum[1]);
  return result;
}

/* The same for the last block of level 1 in a strip: only its first three pixels are needed, in
 * which the third fine block has no weight. */
__device__ __forceinline__ Block filter_block(const Block &first, const Block &second,
                                              const Banded &band)
{
  const uint32_t four[4] = {first.word[0], first.word[1], second.word[0], second.word[1]};
  Block result;

  mma_f16(result.word, four, band.word[0], band.word[1], 0, 0);
  return result;
}

/* The angle that low bits add to a lane's harmonic: factor * (low bits as an fp16 denormal) +
 * middle, in radians; `middle` is minus the angle of the middle of the low bits' range, for which
 * the LUT's rows are computed. Both hold their value twice. */
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

/* Rotates the sines and cosines of two pixels by the low bits (`mask`) of their codes. */
__device__ __forceinline__ void rotate_by_low_bits(uint32_t &sine, uint32_t &cosine, uint32_t codes,
                                                   uint32_t mask, const LowBitsRotation &low)
{
  const __half2 angle = __hfma2(as_half2(codes & mask), as_half2(low.factor), as_half2(low.middle));
  const __half2 s = as_half2(sine), c = as_half2(cosine);

  sine = as_bits(__hfma2(angle, c, s));
  cosine = as_bits(__hfma2(__hneg2(angle), s, c));
}

/* Looks up a row of the picture and filters it across. consume (b, block) gets block b of the
 * result, in order: there are no registers for a whole row. row_of (i) is the shared memory address
 * of the LUT row that a lane fetches for look-up i; `pairs` are the codes of the two pixels whose
 * components the lane holds after look-up 0. */
template <LutKind Kind, int Reads, typename RowOf, typename Consume>
__device__ __forceinline__ void filter_row(RowOf row_of, const typename LutOf<Kind>::Sample *pairs,
                                           const LowBitsRotation &low, const Banded &band,
                                           Consume consume)
{
  using M = TableMemory<Kind>;
  constexpr uint32_t kLowMask = ((1u << kLowBits<Kind>)-1) * 65537u << kLowShift<Kind>;
  Block previous[2], next[2];

#pragma unroll
  for (int i = 0; i < Reads; i++) {
    const uint32_t row = row_of(i);
    uint32_t words[4];

    ldmatrix_x4_trans_constant(words, row);
#pragma unroll
    for (int k = 0; k < 2; k++) {
      if constexpr (M::kTurned)
        rotate_by_low_bits(words[2 * k], words[2 * k + 1],
                           *reinterpret_cast<const uint32_t *>(pairs + 16 * i + 8 * k), kLowMask,
                           low);
#pragma unroll
      for (int q = 0; q < 2; q++)
        next[k].word[q] = words[2 * k + q];
    }
    if (i > 0)
      consume(i - 1, filter_block(previous[0], previous[1], next[0], band));
#pragma unroll
    for (int k = 0; k < 2; k++)
      previous[k] = next[k];
  }
  consume(Reads - 1, filter_block(previous[0], previous[1], band));
}

/* Stores the components of a strip's rows, one row after the other. A Block has two pixels of a
 * component per word; movmatrix transposes it to two components of a pixel. Word 0 is then pair
 * 2 (lane % 4) of pixel lane / 4, and word 1 the next pair: the order of harmonics in which the LUT
 * is filled makes these 8 consecutive bytes. */
template <bool Turned, int Blocks> struct LineWriter {
  static constexpr int kPixelBytes = kGroups * kGroupBytes;

  uint8_t *next; /* the lane's bytes of block 0 in the next row */
  uint32_t kept; /* a bit per block: the lane's pixel is in the strip and in the level */

  /* Row y, whose block 0 begins at column x, is next; it may be outside the level if it is not
   * stored. Pixels first..end - 1 of the row are in the strip. */
  __device__ __forceinline__ void begin(const DownsampleOutput &target, int x, int y, int first,
                                        int end, int lane)
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
    /* Else the compiler would hoist the tests of its bits out of the loop over rows into
     * predicates, of which there are not enough. */
    kept = keep_in_register(kept);
  }

  /* The blocks to store of a row. */
  __device__ __forceinline__ uint32_t written(bool stored) const
  {
    return stored ? kept : 0;
  }

  /* Writes block b of the row, by store (to, words). */
  template <typename Store>
  __device__ __forceinline__ void write(int b, const Block &block, uint32_t written,
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

    if (!(written & 1u << b))
      return;
    store(reinterpret_cast<uint2 *>(to), make_uint2(words[0], words[1]));
  }

  __device__ __forceinline__ void advance(int width)
  {
    next += (ptrdiff_t)width * kPixelBytes;
  }
};

} // namespace cf::llf
