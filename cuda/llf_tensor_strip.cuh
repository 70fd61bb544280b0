/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Levels 1 and 2 from the picture, where few intensities occur: their components are a table's
 * rows, which are looked up.
 *
 * A warp walks down a strip, and nothing of it goes through shared memory but codes: a fine row,
 * looked up, enters the rows of level 1 that it reaches; these, complete, enter those of level 2 as
 * they are in the registers. What products leave, components by pixels, is what the next products
 * take. No warp waits for another.
 */
#pragma once

#include "llf_tensor_codes.cuh"

namespace llf
{

/* --- rows of components --- */

/* Words q of block b: components lane / 4 + 8 q of its pixels 2 (lane % 4) and the next. */
struct Block {
  uint32_t word[2];
};

template <int BLOCKS> struct Line {
  Block block[BLOCKS];
};

/* `tap` has one for each q. */
__device__ __forceinline__ void add_block(Block &total, const uint32_t (&tap)[2],
                                          const Block &block)
{
#pragma unroll
  for (int q = 0; q < 2; q++)
    total.word[q] = multiplied_added(tap[q], block.word[q], total.word[q]);
}

__device__ __forceinline__ void begin_block(Block &total, const uint32_t (&tap)[2],
                                            const Block &block)
{
#pragma unroll
  for (int q = 0; q < 2; q++)
    total.word[q] = multiplied(tap[q], block.word[q]);
}

/* The taps of a block as a banded matrix: 8 coarse pixels of 24 fine ones, of which 19 are used. */
struct Banded {
  uint32_t word[3];
};

/* What fine sample `tap` of a coarse one counts; those that are mirrored at a border to it count
 * there. */
__device__ __forceinline__ float weight_of(int tap)
{
  return tap == 2               ? HALF_CENTRE
         : tap == 1 || tap == 3 ? HALF_SIDE
         : tap == 0 || tap == 4 ? HALF_EDGE
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

    band.word[q] = cf_pack_halves(folded_weight(tap, x + sample, width),
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

  multiply_half(sum, four, band.word[0], band.word[1], 0, 0);
  multiply_half_8(made.word, third.word, band.word[2], sum[0], sum[1]);
  return made;
}

/* How far a low bit turns a lane's harmonic: of the denormals that low bits are, and what belongs
 * to the table's rows already. */
struct LowTurn {
  uint32_t factor, middle;
};

template <int GROUPS, Key key>
__device__ __forceinline__ LowTurn low_turn(const Pixels &pixels, const Series &series, int first,
                                            int lane)
{
  const float step = key == Key::LUMA ? intensity_of_row<key>(pixels, 1.0f) : pixels.weight[0];
  const float radians = 6.283185307f * series.turn * (float)(first + lane / 4 + 1) * step;
  const float factor = radians * (float)(1 << (24 - LOW_SHIFT<key>));
  const float middle = -0.5f * (float)((1 << LOW_BITS<key>)-1) * radians;

  return {cf_pack_halves(factor, factor), cf_pack_halves(middle, middle)};
}

/* Sines and cosines of two pixels. */
__device__ __forceinline__ void turn_further(uint32_t &sine, uint32_t &cosine, uint32_t codes,
                                             uint32_t mask, const LowTurn &low)
{
  const __half2 by = __hfma2(as_halves(codes & mask), as_halves(low.factor), as_halves(low.middle));
  const __half2 s = as_halves(sine), c = as_halves(cosine);

  sine = as_word(__hfma2(by, c, s));
  cosine = as_word(__hfma2(__hneg2(by), s, c));
}

/* A fine row, looked up and filtered across, of which `take (b, words)` takes the blocks in order:
 * registers for a whole row there are not. `codes` are a lane's of the look-ups, `pairs` those of
 * its words of the components. */
template <int GROUPS, Key key, typename Take>
__device__ __forceinline__ void filter_row(uint32_t table, const typename KeyOf<key>::Sample *codes,
                                           const typename KeyOf<key>::Sample *pairs,
                                           const LowTurn &low, const Banded &band, Take take)
{
  using M = TableMemory<GROUPS, key>;
  constexpr int ROW = M::COPIES * GROUP_BYTES;
  constexpr uint32_t LOW_MASK = ((1u << LOW_BITS<key>)-1) * 65537u << LOW_SHIFT<key>;
  Block two[2], next[2];

#pragma unroll
  for (int i = 0; i < READS; i++) {
    const uint32_t code =
        M::TURNED ? reinterpret_cast<const uint8_t *>(codes + 16 * i)[1] : (uint32_t)codes[16 * i];
    const uint32_t row = table + code * ROW;
    const bool both = 2 * i + 1 < BLOCKS_0;
    uint32_t words[4];

    if (both)
      look_up_4(words, row);
    else
      look_up_2(words, row);
#pragma unroll
    for (int k = 0; k < (both ? 2 : 1); k++) {
      if constexpr (M::TURNED)
        turn_further(words[2 * k], words[2 * k + 1],
                     *reinterpret_cast<const uint32_t *>(pairs + 16 * i + 8 * k), LOW_MASK, low);
#pragma unroll
      for (int q = 0; q < 2; q++)
        next[k].word[q] = words[2 * k + q];
    }
    if (i > 0)
      take(i - 1, filter_block(two[0], two[1], next[0], band));
#pragma unroll
    for (int k = 0; k < (both ? 2 : 1); k++)
      two[k] = next[k];
  }
}

/* Stores rows of a strip, one after the other: products leave components in rows, memory has them
 * in columns. Of two groups, the first one's pairs are the even ones of eight, the second's the odd
 * ones. A level's pixels have ALL groups. */
template <int GROUPS, int ALL, bool turned, int BLOCKS> struct LineWriter {
  static constexpr int HALF = HALVES<GROUPS>, PIXEL_BYTES = ALL * GROUP_BYTES;

  uint8_t *next[HALF];
  uint32_t kept; /* blocks of which the lane's pixel is in the strip and in the level */

  /* Row y may be one that is not stored; the second half is `distance` rows below. */
  __device__ __forceinline__ void begin(const Target &target, int x, int y, int distance, int first,
                                        int end, int lane)
  {
    const Level &level = target.coarse;

#pragma unroll
    for (int h = 0; h < HALF; h++)
      next[h] = reinterpret_cast<uint8_t *>(level.groups + blockIdx.y * GROUPS) +
                ((ptrdiff_t)(y + h * distance) * level.width + x + lane / 4) * PIXEL_BYTES +
                lane % 4 * (GROUPS == 2 ? 8 : 4);
    kept = 0;
#pragma unroll
    for (int b = 0; b < BLOCKS; b++) {
      const int i = 8 * b + lane / 4;
      kept |= i >= first && i < end && x + i < level.width ? 1u << b : 0;
    }
  }

  __device__ __forceinline__ void write(int b, const Block &block, const bool (&stored)[HALF]) const
  {
    uint32_t words[2];

#pragma unroll
    for (int q = 0; q < 2; q++)
      words[q] = transposed(block.word[q]);
    if constexpr (turned) {
      const uint32_t sines = words[0], cosines = words[1];

      words[0] = __byte_perm(sines, cosines, 0x5410);
      words[1] = __byte_perm(sines, cosines, 0x7632);
    }
#pragma unroll
    for (int h = 0; h < HALF; h++) {
      uint8_t *const to = next[h] + 8 * b * PIXEL_BYTES;

      if (!(kept >> b & 1) || !stored[h])
        continue;
      if constexpr (GROUPS == 2)
        *reinterpret_cast<uint2 *>(to) = make_uint2(words[0], words[1]);
      else
        *reinterpret_cast<uint32_t *>(to) = words[h];
    }
  }

  __device__ __forceinline__ void advance(int width)
  {
#pragma unroll
    for (int h = 0; h < HALF; h++)
      next[h] += (ptrdiff_t)width * PIXEL_BYTES;
  }
};

/* --- the Gaussian --- */

/* Two neighbours of the coarse row, from the samples about them of a fine one; 20 times each tap,
 * so that they are integers. */
__device__ __forceinline__ void reduce_across(const uint8_t *first, uint32_t sums[2])
{
  const uint32_t *const words = reinterpret_cast<const uint32_t *>(first - 2);

  sums[0] = __dp4a(words[1], 0x00010508u, __dp4a(words[0], 0x05010000u, 0u));
  sums[1] = __dp4a(words[2], 0x00000001u, __dp4a(words[1], 0x05080501u, 0u));
}

__device__ __forceinline__ void reduce_across(const uint16_t *first, uint32_t sums[2])
{
  const uint32_t *const words = reinterpret_cast<const uint32_t *>(first);

  sums[0] =
      __dp2a_lo(words[2], 0x0001u, __dp2a_lo(words[1], 0x0508u, __dp2a_lo(words[0], 0x0501u, 0u)));
  sums[1] =
      __dp2a_lo(words[3], 0x0001u, __dp2a_lo(words[2], 0x0508u, __dp2a_lo(words[1], 0x0501u, 0u)));
}

constexpr int PAIRS = 4 * BLOCKS_1; /* of pixels of level 1, a lane each */

/* One half's: sums of two rows of level 1 at a lane's pair, and of two rows of level 2. */
struct Gauss {
  uint32_t sums[2][2];
  float coarse, next;
};

/* --- the walk --- */

/* What a level 1 row adds to the rows of level 2 before, at and after it (even rows) or at and
 * after it (odd ones): taps of rows beyond the border count for those that they are mirrored to. */
struct Taps {
  float before, at, after;
};

/* Edge, side and centre. */
struct Kernel {
  float edge, side, centre;
};

__device__ __forceinline__ Taps taps_of_row(int y, int height, const Kernel &tap)
{
  const bool inside = y >= 0 && y < height, last = y == height - 1;
  Taps taps = {0, 0, 0};

  if (!inside)
    return taps;
  if (y % 2 == 0) {
    taps.before = taps.after = tap.edge;
    taps.at = tap.centre + (y == 0 ? tap.side : 0.0f) + (last ? tap.side : 0.0f);
  } else {
    taps.at = tap.side + (y == 1 ? tap.edge : 0.0f) + (last ? tap.edge : 0.0f);
    taps.after = tap.side + (y == height - 2 ? tap.edge : 0.0f);
  }
  return taps;
}

/* Where a level's kernel finds what it needs; the level and the next one are made. */
struct Analysis {
  Target first, second;
  Picture picture;
  int strip_rows;
  bool reduces; /* level 2 is made */
};

/* What a warp knows of its strip. */
template <int GROUPS, int ALL, Key key> struct Strip {
  using M = TableMemory<GROUPS, key>;
  using Sample = typename M::Sample;
  static constexpr int HALF = HALVES<GROUPS>;

  const Pixels &pixels;
  const Analysis &analysis;
  Sample *const slots;
  const Sample *looked_up, *pairs; /* a lane's, of a row */
  uint32_t table;
  int lane;
  LowTurn low;
  Banded band;
  float factor;

  int x2, y2;
  int x0;                /* a lane's first sample */
  const uint8_t *column; /* above it, in row 0 */
  bool direct;           /* samples are read from there */
  bool border, kept_1[2];
  int mirror[2]; /* where a lane's pair is to be found that is beyond the border */
  Banded bands[BLOCKS_2];
  LineWriter<GROUPS, ALL, M::TURNED, BLOCKS_1> writer_1;
  LineWriter<GROUPS, ALL, M::TURNED, BLOCKS_2> writer_2;
  float *gauss_1[HALF];
  /* Two rows of level 1 in turns, two of level 2 in order. */
  Line<BLOCKS_1> line[2];
  Line<BLOCKS_2> coarse, coarse_next;
  Gauss gauss[HALF];
  Four<key> fours[HALF][2];

  __device__ __forceinline__ Strip(const Pixels &pixels, const Series &series,
                                   const Analysis &analysis, uint8_t *memory, int lane, int warp)
      : pixels(pixels), analysis(analysis),
        slots(reinterpret_cast<Sample *>(memory + GROUPS * M::TABLE) + warp * M::ROWS), lane(lane)
  {
    /* Lanes 8 to 15 and 24 to 31 look up the second group's rows, or the second half's pixels. */
    const int half = lane / 8 % 2;

    looked_up =
        slots + (GROUPS == 1 ? half * SLOTS * SLOT_PITCH : 0) + 2 + lane % 8 + lane / 16 * 8;
    pairs = slots + 2 + 2 * (lane % 4);
    table = cf_shared_address(memory) + (GROUPS == 2 ? half * M::TABLE : 0) +
            lane % M::COPIES * GROUP_BYTES;
    if constexpr (M::TURNED)
      low = low_turn<GROUPS, key>(pixels, series, 4 * (int)blockIdx.y * GROUPS, lane);
    band = banded(1 << 20, 1 << 22, lane);
    factor = (key == Key::LUMA ? intensity_of_row<key>(pixels, 1.0f) : pixels.weight[0]) *
             (1.0f / (float)(400 << M::SHIFT));
  }

  __device__ __forceinline__ static void set(uint32_t (&taps)[2], float tap)
  {
    taps[0] = taps[1] = cf_pack_halves(tap, tap);
  }

  __device__ __forceinline__ int width() const
  {
    return analysis.first.coarse.width;
  }

  __device__ __forceinline__ int height() const
  {
    return analysis.first.coarse.height;
  }

  /* Fine rows `from` and the next, of each half. */
  __device__ __forceinline__ void load(int from)
  {
#pragma unroll
    for (int h = 0; h < HALF; h++) {
#pragma unroll
      for (int k = 0; k < 2; k++) {
        const int y = mirrored(from + k + 4 * h * analysis.strip_rows, pixels.height);

        if (direct)
          fours[h][k] =
              *reinterpret_cast<const Four<key> *>(column + (ptrdiff_t)y * analysis.picture.stride);
        else
          fours[h][k] = load_mirrored<key>(pixels, analysis.picture, x0, y);
      }
    }
  }

  __device__ __forceinline__ void store(int slot)
  {
#pragma unroll
    for (int h = 0; h < HALF; h++) {
#pragma unroll
      for (int k = 0; k < 2; k++)
        store_four<M::SHIFT, key>(slots + (h * SLOTS + slot + k) * SLOT_PITCH +
                                      4 * min(lane, SLOT / 4 - 1),
                                  pixels, analysis.picture, fours[h][k]);
    }
    __syncwarp();
    if (border) {
      mirror_samples(slot);
      __syncwarp();
    }
  }

  /* The two samples beyond either border, which is all that level 1 needs of them, in two slots. */
  __device__ __forceinline__ void mirror_samples(int slot)
  {
    const int k = lane & 3, row = lane / 4 % 2, h = lane / 8, first = 4 * x2 - 8;
    const int end = k < 2 ? 0 : pixels.width;
    const int to = (k < 2 ? -1 - k : end + k - 2) - first, from = 2 * (end - first) - 1 - to;

    if (h < HALF && to >= 0 && to < SLOT && from >= 0 && from < SLOT) {
      Sample *const samples = slots + (h * SLOTS + slot + row) * SLOT_PITCH;
      samples[to] = samples[from];
    }
  }

  /* Fine row in a slot, and its share of the Gaussian. */
  template <typename Take>
  __device__ __forceinline__ void filter(int slot, uint32_t (&sums)[HALF][2], Take take)
  {
    filter_row<GROUPS, key>(table, looked_up + slot * SLOT_PITCH, pairs + slot * SLOT_PITCH, low,
                            band, take);
#pragma unroll
    for (int h = 0; h < HALF; h++)
      reduce_across(slots + (h * SLOTS + slot) * SLOT_PITCH + 2 + 4 * min(lane, PAIRS - 1),
                    sums[h]);
  }

  /* The first three fine rows above those of row 2 (y2 - 1) of level 1. */
  __device__ __forceinline__ void begin()
  {
    const int top = 4 * (y2 - 1);
    uint32_t sums[HALF][2], edge[2], side[2], centre[2];

    set(edge, HALF_EDGE);
    set(side, HALF_SIDE);
    set(centre, HALF_CENTRE);
    load(top - 3);
    __syncwarp();
    store(2);
    load(top - 1);
    filter(3, sums, [&](int b, const Block &block) { begin_block(line[0].block[b], edge, block); });
#pragma unroll
    for (int h = 0; h < HALF; h++) {
#pragma unroll
      for (int k = 0; k < 2; k++)
        gauss[h].sums[0][k] = sums[h][k];
      gauss[h].coarse = gauss[h].next = 0.0f;
    }
    store(0);
    load(top + 1);
    filter(0, sums, [&](int b, const Block &block) { add_block(line[0].block[b], side, block); });
#pragma unroll
    for (int h = 0; h < HALF; h++) {
#pragma unroll
      for (int k = 0; k < 2; k++)
        gauss[h].sums[0][k] += 5 * sums[h][k];
    }
    filter(1, sums, [&](int b, const Block &block) {
      add_block(line[0].block[b], centre, block);
      begin_block(line[1].block[b], edge, block);
    });
#pragma unroll
    for (int h = 0; h < HALF; h++) {
#pragma unroll
      for (int k = 0; k < 2; k++) {
        gauss[h].sums[0][k] += 8 * sums[h][k];
        gauss[h].sums[1][k] = sums[h][k];
      }
    }
    store(2);
  }

  /* A fine row at the side of both rows of level 1. */
  __device__ __forceinline__ void filter_between(int slot)
  {
    uint32_t sums[HALF][2], side[2];

    set(side, HALF_SIDE);
    filter(slot, sums, [&](int b, const Block &block) {
      add_block(line[0].block[b], side, block);
      add_block(line[1].block[b], side, block);
    });
#pragma unroll
    for (int h = 0; h < HALF; h++) {
#pragma unroll
      for (int k = 0; k < 2; k++) {
        gauss[h].sums[0][k] += 5 * sums[h][k];
        gauss[h].sums[1][k] += 5 * sums[h][k];
      }
    }
  }

  /* The fine row that completes row y of level 1, line[ENDING]: it is stored, filtered across and
   * taken by `take (b, block)`, and becomes the row after the next. Leaves the Gaussian filtered
   * across. */
  template <int ENDING, typename Take>
  __device__ __forceinline__ void filter_last(int slot, int y, float (&across)[HALF], Take take)
  {
    uint32_t sums[HALF][2], edge[2], centre[2];
    Block done[2];
    bool stored[HALF];

    set(edge, HALF_EDGE);
    set(centre, HALF_CENTRE);
#pragma unroll
    for (int h = 0; h < HALF; h++)
      stored[h] = (unsigned)(y - 2 * y2) < (unsigned)(2 * analysis.strip_rows) &&
                  y + 2 * h * analysis.strip_rows < height();
    filter(slot, sums, [&](int b, const Block &block) {
      Block made = line[ENDING].block[b];

      add_block(made, edge, block);
      begin_block(line[ENDING].block[b], edge, block);
      add_block(line[1 - ENDING].block[b], centre, block);
      writer_1.write(b, made, stored);
      if (b > 0 && b % 2 == 0)
        take(b / 2 - 1, filter_block(done[0], done[1], made, bands[b / 2 - 1]));
      done[b % 2] = made;
    });
    writer_1.advance(width());
#pragma unroll
    for (int h = 0; h < HALF; h++) {
      float two[2];

#pragma unroll
      for (int k = 0; k < 2; k++) {
        const uint32_t made = gauss[h].sums[ENDING][k] + sums[h][k];

        gauss[h].sums[1 - ENDING][k] += 8 * sums[h][k];
        gauss[h].sums[ENDING][k] = sums[h][k];
        two[k] = fmaf((float)made, factor, key == Key::LUMA ? 0.0f : pixels.bias);
        if (stored[h] && kept_1[k])
          gauss_1[h][k] = two[k];
      }
      gauss_1[h] += width();
      if (border) {
        float from[2];

#pragma unroll
        for (int k = 0; k < 2; k++) {
          const float even = __shfl_sync(0xffffffffu, two[0], mirror[k] >> 1);
          const float odd = __shfl_sync(0xffffffffu, two[1], mirror[k] >> 1);
          from[k] = mirror[k] & 1 ? odd : even;
        }
        two[0] = from[0];
        two[1] = from[1];
      }
      across[h] = reduced(two[0], two[1], __shfl_down_sync(0xffffffffu, two[0], 1),
                          __shfl_down_sync(0xffffffffu, two[1], 1),
                          __shfl_down_sync(0xffffffffu, two[0], 2));
    }
  }

  /* Taps of row y of level 1, in halves, and of each half's Gaussian. */
  __device__ __forceinline__ void taps_of(int y, bool plain, uint32_t (&taps)[3][2],
                                          Taps (&exact)[HALF]) const
  {
    const bool even = y % 2 == 0;

#pragma unroll
    for (int h = 0; h < HALF; h++)
      exact[h] = even ? Taps{TAP_EDGE, TAP_CENTRE, TAP_EDGE} : Taps{0, TAP_SIDE, TAP_SIDE};
    set(taps[0], even ? HALF_EDGE : 0.0f);
    set(taps[1], even ? HALF_CENTRE : HALF_SIDE);
    set(taps[2], even ? HALF_EDGE : HALF_SIDE);
    if (plain)
      return;
#pragma unroll
    for (int h = 0; h < HALF; h++)
      exact[h] = taps_of_row(y + 2 * h * analysis.strip_rows, height(),
                             Kernel{TAP_EDGE, TAP_SIDE, TAP_CENTRE});
#pragma unroll
    for (int q = 0; q < 2; q++) {
      const Taps t = taps_of_row(y + 2 * (q % HALF) * analysis.strip_rows, height(),
                                 Kernel{HALF_EDGE, HALF_SIDE, HALF_CENTRE});

      taps[0][q] = cf_pack_halves(t.before, t.before);
      taps[1][q] = cf_pack_halves(t.at, t.at);
      taps[2][q] = cf_pack_halves(t.after, t.after);
    }
  }

  /* Row 2 m of level 1, from fine rows 4 m + 1 and 4 m + 2 in slots 2 and 3, completes row m - 1 of
   * level 2. */
  __device__ __forceinline__ void make_even_row(int m, bool plain)
  {
    const int coarse_width = analysis.second.coarse.width;
    uint32_t taps[3][2];
    float across[HALF];
    Taps exact[HALF];
    bool stored[HALF];

#pragma unroll
    for (int h = 0; h < HALF; h++)
      stored[h] = analysis.reduces && m > y2 &&
                  m - 1 + h * analysis.strip_rows < analysis.second.coarse.height;
    taps_of(2 * m, plain, taps, exact);
    filter_last<0>(3, 2 * m, across, [&](int b, const Block &block) {
      add_block(coarse.block[b], taps[0], block);
      writer_2.write(b, coarse.block[b], stored);
      add_block(coarse_next.block[b], taps[1], block);
      coarse.block[b] = coarse_next.block[b];
      begin_block(coarse_next.block[b], taps[2], block);
    });
    writer_2.advance(coarse_width);
#pragma unroll
    for (int h = 0; h < HALF; h++) {
      if (stored[h] && lane < COARSE && x2 + lane < coarse_width)
        analysis.second.store_gauss(x2 + lane, m - 1 + h * analysis.strip_rows,
                                    fmaf(exact[h].before, across[h], gauss[h].coarse));
      gauss[h].coarse = fmaf(exact[h].at, across[h], gauss[h].next);
      gauss[h].next = exact[h].after * across[h];
    }
  }

  /* Row 2 m + 1, from slots 0 and 1. */
  __device__ __forceinline__ void make_odd_row(int m, bool plain)
  {
    uint32_t taps[3][2];
    float across[HALF];
    Taps exact[HALF];

    taps_of(2 * m + 1, plain, taps, exact);
    filter_last<1>(1, 2 * m + 1, across, [&](int b, const Block &block) {
      add_block(coarse.block[b], taps[1], block);
      add_block(coarse_next.block[b], taps[2], block);
    });
#pragma unroll
    for (int h = 0; h < HALF; h++) {
      gauss[h].coarse = fmaf(exact[h].at, across[h], gauss[h].coarse);
      gauss[h].next = fmaf(exact[h].after, across[h], gauss[h].next);
    }
  }

  /* The strip whose first pixel of level 2 is (x, y). */
  __device__ __forceinline__ void walk(int x, int y)
  {
    const int rows = analysis.strip_rows, x1 = 2 * x - 2;

    x2 = x;
    y2 = y;
    /* Lanes beyond the picture read something else instead. */
    x0 = min(max(4 * x - 8 + 4 * min(lane, SLOT / 4 - 1), 0), (pixels.width - 1) & ~3);
    column = analysis.picture.from + (ptrdiff_t)x0 * (key == Key::LUMA ? 4 : (int)sizeof(Sample));
    direct = analysis.picture.aligned && x0 + 4 <= pixels.width;
    border = x == 0 || x1 + 8 * BLOCKS_1 >= width();
    writer_1.begin(analysis.first, x1, 2 * y - 2, 2 * rows, 2, 2 + MIDDLE, lane);
    writer_2.begin(analysis.second, x, y - 2, rows, 0, COARSE, lane);
#pragma unroll
    for (int b = 0; b < BLOCKS_2; b++)
      bands[b] = border ? banded(x1 + 16 * b, width(), lane) : band;
#pragma unroll
    for (int k = 0; k < 2; k++) {
      const int i = 2 * lane + k;

      mirror[k] = mirrored(x1 + i, width()) - x1;
      kept_1[k] = i >= 2 && i < 2 + MIDDLE && x1 + i < width();
    }
#pragma unroll
    for (int h = 0; h < HALF; h++)
      gauss_1[h] = analysis.first.coarse.gauss + (ptrdiff_t)(2 * (y + h * rows) - 2) * width() +
                   x1 + 2 * lane;
    coarse = coarse_next = Line<BLOCKS_2>{};
    begin();
#pragma unroll 1
    for (int m = y - 1;; m++) {
      const bool plain = m > 0 && 2 * (m + (HALF - 1) * rows) + 4 < height();

      load(4 * m + 3);
      filter_between(2);
      make_even_row(m, plain);
      if (m == y + rows)
        return;
      store(0);
      load(4 * m + 5);
      filter_between(0);
      make_odd_row(m, plain);
      store(2);
    }
  }
};

} // namespace llf
