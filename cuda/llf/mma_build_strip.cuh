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

#include "cuda/llf/mma_build_registers.cuh"
#include "cuda/llf/mma_build_moments.cuh"

namespace cf::llf
{

/* --- the Gaussian --- */

/* Two neighbours of the coarse row, from the samples about them of a fine one; 20 times each tap,
 * so that they are integers. Bytes are those of two rows, of which one is taken. */
__device__ __forceinline__ void reduce_across(const uint32_t (&words)[4], int row, uint32_t sums[2])
{
#pragma unroll
  for (int k = 0; k < 2; k++)
    sums[k] = __dp4a(
        words[k + 2], 0x00000001u << 8 * row,
        __dp4a(words[k + 1], 0x00050008u << 8 * row, __dp4a(words[k], 0x00050001u << 8 * row, 0u)));
}

__device__ __forceinline__ void reduce_across(const uint16_t *first, uint32_t sums[2])
{
  const uint32_t *const words = reinterpret_cast<const uint32_t *>(first);

  sums[0] =
      __dp2a_lo(words[2], 0x0001u, __dp2a_lo(words[1], 0x0508u, __dp2a_lo(words[0], 0x0501u, 0u)));
  sums[1] =
      __dp2a_lo(words[3], 0x0001u, __dp2a_lo(words[2], 0x0508u, __dp2a_lo(words[1], 0x0501u, 0u)));
}

/* Rows that are fetched before they are read. */
constexpr int kAhead = 8;

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
struct KernelTaps {
  float edge, side, centre;
};

__device__ __forceinline__ Taps taps_of_row(int y, int height, const KernelTaps &tap)
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
  DownsampleOutput first, second;
  PictureWords picture;
  float2 *moments; /* of the picture's blocks, or NULL */
  Progress *progress;
  int strip_rows;
  bool evict_first; /* level 1 is larger than the L2 cache */
};

/* What a warp knows of its strip. */
template <LutKind Kind> struct Strip {
  using M = TableMemory<Kind>;
  using Sample = typename M::Sample;
  using Quad = typename LutOf<Kind>::Quad;
  static constexpr int kRowBytes = M::kCopies * kGroupBytes;
  static constexpr bool kPaired = Kind == LutKind::kU8;

  const Pixels &pixels;
  const Analysis &analysis;
  /* Of large pictures level 1, and samples of two bytes, leave the L2 cache first: they do not fit
   * in, and level 2 is to be there when it is read. */
  const uint64_t policy;
  Sample *const slots;
  const Sample *looked_up, *pairs; /* a lane's, of a row */
  uint32_t table;
  int lane;
  LowBitsRotation low;
  Banded band;
  float factor;

  int x2, y2;
  int x0;                /* a lane's first sample */
  const uint8_t *column; /* above it, in row 0 */
  bool direct;           /* samples are read from there */
  bool border, kept_1[2];
  bool beyond, past_three; /* a lane's samples are beyond the border, and a word with three of it */
  Banded bands[kBlocks2];
  LineWriter<M::kTurned, kBlocks1> writer_1;
  LineWriter<M::kTurned, kBlocks2> writer_2;
  float *gauss_1;
  /* Two rows of level 1 in turns, two of level 2 in order. */
  Line<kBlocks1> line[2];
  Line<kBlocks2> coarse, coarse_next;
  Gauss gauss;
  Moments upper; /* of a block's first two rows */
  Quad quads[2];
  /* Where codes are bytes, those of two rows, for look-ups and for the Gaussian. */
  uint32_t paired[kReads], around[4];

  __device__ __forceinline__ Strip(const Pixels &pixels, const Series &series,
                                   const Analysis &analysis, uint8_t *memory, int lane, int warp)
      : pixels(pixels), analysis(analysis), policy(l2_policy(analysis.evict_first)),
        slots(reinterpret_cast<Sample *>(memory + kGroups * M::kTable) + warp * M::kRows),
        lane(lane)
  {
    /* Lanes 8 to 15 and 24 to 31 look up the second group's rows. */
    const int half = lane / 8 % 2;

    looked_up = slots + (2 + lane % 8 + lane / 16 * 8) * (kPaired ? 2 : 1);
    pairs = slots + 2 + 2 * (lane % 4);
    table = cf::smem_address(memory) + half * M::kTable + lane % M::kCopies * kGroupBytes;
    if constexpr (M::kTurned)
      low = low_bits_rotation<Kind>(pixels, series, lane);
    band = banded(1 << 20, 1 << 22, lane);
    factor = (Kind == LutKind::kRgbLuma ? intensity_of_row<Kind>(pixels, 1.0f) : pixels.weight[0]) *
             (1.0f / (float)(400 << M::kShift));
  }

  __device__ __forceinline__ static void set(uint32_t (&taps)[2], float tap)
  {
    taps[0] = taps[1] = cf::pack_half2(tap, tap);
  }

  __device__ __forceinline__ int width() const
  {
    return analysis.first.coarse.width;
  }

  __device__ __forceinline__ int height() const
  {
    return analysis.first.coarse.height;
  }

  __device__ __forceinline__ Quad loaded(const Quad *from) const
  {
    if constexpr (Kind == LutKind::kU10 || Kind == LutKind::kU16)
      return load_with_policy(from, policy);
    else
      return *from;
  }

  /* Fine rows `from` and the next, of each half. */
  __device__ __forceinline__ void load(int from)
  {
#pragma unroll
    for (int k = 0; k < 2; k++) {
      /* Where heights are even, rows beyond the first two are those again. */
      const int row = from + k, beyond_last = (pixels.height + 1) & ~1;
      const int y = mirrored(min(row, beyond_last + (row & 1)), pixels.height);

      if (direct)
        quads[k] =
            loaded(reinterpret_cast<const Quad *>(column + (ptrdiff_t)y * analysis.picture.stride));
      else
        quads[k] = gather_quad<Kind>(pixels, analysis.picture, y,
                                     [&](int i) { return mirrored(x0 + i, pixels.width); });
    }
  }

  __device__ __forceinline__ void fetch(int from, int rows) const
  {
    for (int k = 0; k < rows; k++) {
      const int y = min(max(from + k, 0), pixels.height - 1);
      prefetch_l2(column + (ptrdiff_t)y * analysis.picture.stride);
    }
  }

  __device__ __forceinline__ void store(int slot)
  {
    if (border)
      fold();
    Sample *const to = slots + slot * kSlotPitch;

    if constexpr (kPaired) {
      store_pairs(to + 8 * lane, clamped_bytes(analysis.picture, quads[0]),
                  clamped_bytes(analysis.picture, quads[1]));
    } else {
#pragma unroll
      for (int k = 0; k < 2; k++)
        store_four<M::kShift, Kind>(to + k * kSlotPitch + 4 * lane, pixels, analysis.picture,
                                    quads[k]);
    }
    __syncwarp();
  }

  /* A lane beyond the border has read the four samples next to it. Of those beyond it level 1 needs
   * two, which may lie in the word before. */
  __device__ __forceinline__ void fold()
  {
#pragma unroll
    for (int k = 0; k < 2; k++) {
      if (beyond)
        quads[k] = reversed(quads[k]);
      if (past_three)
        quads[k] = without_two(quads[k]);
    }
  }

  /* Codes of the rows in this slot and the next. */
  __device__ __forceinline__ void take_pairs(int slot)
  {
    if constexpr (kPaired) {
#pragma unroll
      for (int i = 0; i < kReads; i++)
        paired[i] = *reinterpret_cast<const uint16_t *>(looked_up + slot * kSlotPitch + 2 * 16 * i);
      const uint32_t *const words = reinterpret_cast<const uint32_t *>(
          slots + slot * kSlotPitch + 2 * (2 + 4 * min(lane, kPairs - 1)));
      const uint2 middle = *reinterpret_cast<const uint2 *>(words + 1);

      around[0] = words[0];
      around[1] = middle.x;
      around[2] = middle.y;
      around[3] = words[3];
    }
  }

  /* Fine row in a slot, and its share of the Gaussian. */
  template <typename Take>
  __device__ __forceinline__ void filter(int slot, uint32_t (&sums)[2], Take take)
  {
    const Sample *const codes = looked_up + slot * kSlotPitch;

    filter_row<Kind, kReads>(
        [&](int i) {
          if constexpr (kPaired)
            return __dp4a(paired[i], (uint32_t)kRowBytes << 8 * (slot % 2), table);
          else if constexpr (M::kTurned)
            return table + reinterpret_cast<const uint8_t *>(codes + 16 * i)[1] * kRowBytes;
          else
            return table + codes[16 * i] * kRowBytes;
        },
        pairs + slot * kSlotPitch, low, band, take);
    if constexpr (kPaired)
      reduce_across(around, slot % 2, sums);
    else
      reduce_across(slots + slot * kSlotPitch + 2 + 4 * min(lane, kPairs - 1), sums);
  }

  /* The moments of the cells of the row before this slot's and of that. */
  __device__ __forceinline__ Moments moments_at(int slot) const
  {
    if constexpr (kPaired) {
      const uint2 before = own_words(2 - slot, 2), here = own_words(slot, 2);

      return moments_of(__byte_perm(before.x, before.y, 0x7531),
                        __byte_perm(here.x, here.y, 0x6420));
    } else {
      return moments_of(own_words(3 - slot, 1), own_words(slot, 1));
    }
  }

  __device__ __forceinline__ uint2 own_words(int slot, int rows) const
  {
    return *reinterpret_cast<const uint2 *>(slots + slot * kSlotPitch + 4 * rows * lane);
  }

  /* The moments of the blocks of row `y`, of which a lane has one. */
  __device__ __forceinline__ void store_moments(int y)
  {
    const int column = x2 - 2 + lane, across = analysis.second.coarse.width;

    if (y >= y2 && y < analysis.second.coarse.height && (unsigned)(lane - 2) < kCoarse &&
        column < across)
      analysis.moments[(size_t)y * across + column] =
          upper.plus(moments_at(0))
              .of_block(400.0f * (M::kTurned ? 16.0f : 1.0f) * factor,
                        Kind == LutKind::kRgbLuma ? 0.0f : pixels.bias);
  }

  /* The first three fine rows above those of row 2 (y2 - 1) of level 1. */
  __device__ __forceinline__ void begin()
  {
    const int top = 4 * (y2 - 1);
    uint32_t sums[2], edge[2], side[2], centre[2];

    set(edge, kHalfEdge);
    set(side, kHalfSide);
    set(centre, kHalfCentre);
    load(top - 3);
    __syncwarp();
    store(2);
    take_pairs(2);
    load(top - 1);
    filter(3, sums, [&](int b, const Block &block) { begin_block(line[0].block[b], edge, block); });
#pragma unroll
    for (int k = 0; k < 2; k++)
      gauss.sums[0][k] = sums[k];
    gauss.coarse = gauss.next = 0.0f;
    store(0);
    take_pairs(0);
    load(top + 1);
    filter(0, sums, [&](int b, const Block &block) { add_block(line[0].block[b], side, block); });
#pragma unroll
    for (int k = 0; k < 2; k++)
      gauss.sums[0][k] += 5 * sums[k];
    filter(1, sums, [&](int b, const Block &block) {
      add_block(line[0].block[b], centre, block);
      begin_block(line[1].block[b], edge, block);
    });
#pragma unroll
    for (int k = 0; k < 2; k++) {
      gauss.sums[0][k] += 8 * sums[k];
      gauss.sums[1][k] = sums[k];
    }
    store(2);
  }

  /* A fine row at the side of both rows of level 1. */
  __device__ __forceinline__ void filter_between(int slot)
  {
    uint32_t sums[2], side[2];

    take_pairs(slot);

    set(side, kHalfSide);
    filter(slot, sums, [&](int b, const Block &block) {
      add_block(line[0].block[b], side, block);
      add_block(line[1].block[b], side, block);
    });
#pragma unroll
    for (int k = 0; k < 2; k++) {
      gauss.sums[0][k] += 5 * sums[k];
      gauss.sums[1][k] += 5 * sums[k];
    }
  }

  /* The fine row that completes row y of level 1, line[ENDING]: it is stored, filtered across and
   * taken by `take (b, block)`, and becomes the row after the next. Leaves the Gaussian filtered
   * across. */
  template <int Ending, typename Take>
  __device__ __forceinline__ void filter_last(int slot, int y, float &across, Take take)
  {
    uint32_t sums[2], edge[2], centre[2];
    Block done[2];
    bool stored;
    uint32_t written;

    set(edge, kHalfEdge);
    set(centre, kHalfCentre);
    stored = (unsigned)(y - 2 * y2) < (unsigned)(2 * analysis.strip_rows) && y < height();
    written = writer_1.written(stored);
    filter(slot, sums, [&](int b, const Block &block) {
      Block made = line[Ending].block[b];

      add_block(made, edge, block);
      begin_block(line[Ending].block[b], edge, block);
      add_block(line[1 - Ending].block[b], centre, block);
      writer_1.write(b, made, written,
                     [&](uint2 *to, uint2 words) { store_with_policy(to, words, policy); });
      if (b > 0 && b % 2 == 0)
        take(b / 2 - 1, filter_block(done[0], done[1], made, bands[b / 2 - 1]));
      done[b % 2] = made;
    });
    writer_1.advance(width());
    float two[2];

#pragma unroll
    for (int k = 0; k < 2; k++) {
      const uint32_t made = gauss.sums[Ending][k] + sums[k];

      gauss.sums[1 - Ending][k] += 8 * sums[k];
      gauss.sums[Ending][k] = sums[k];
      two[k] = fmaf((float)made, factor, Kind == LutKind::kRgbLuma ? 0.0f : pixels.bias);
      if (stored && kept_1[k])
        gauss_1[k] = two[k];
    }
    gauss_1 += width();
    float next[3] = {__shfl_down_sync(0xffffffffu, two[0], 1),
                     __shfl_down_sync(0xffffffffu, two[1], 1),
                     __shfl_down_sync(0xffffffffu, two[0], 2)};

    if (border)
      mirror(two, next);
    across = reduced(two[0], two[1], next[0], next[1], next[2]);
  }

  /* Of the pixels of level 1 that a lane's pixel of level 2 is made of, those beyond the border. */
  __device__ __forceinline__ void mirror(float (&two)[2], float (&next)[3]) const
  {
    const int left = width() - (2 * x2 - 2 + 2 * lane);

    if (left == 3)
      next[1] = next[0];
    if (x2 == 0 && lane == 0) {
      two[0] = next[1];
      two[1] = next[0];
    }
    if (left == 3)
      next[2] = two[1];
    if (left == 4)
      next[2] = next[1];
  }

  /* Taps of row y of level 1, in halves, and of each half's Gaussian. */
  __device__ __forceinline__ void taps_of(int y, bool plain, uint32_t (&taps)[3][2],
                                          Taps &exact) const
  {
    const bool even = y % 2 == 0;

    exact = even ? Taps{TAP_EDGE, TAP_CENTRE, TAP_EDGE} : Taps{0, TAP_SIDE, TAP_SIDE};
    set(taps[0], even ? kHalfEdge : 0.0f);
    set(taps[1], even ? kHalfCentre : kHalfSide);
    set(taps[2], even ? kHalfEdge : kHalfSide);
    if (plain)
      return;
    exact = taps_of_row(y, height(), KernelTaps{TAP_EDGE, TAP_SIDE, TAP_CENTRE});
#pragma unroll
    for (int q = 0; q < 2; q++) {
      const Taps t = taps_of_row(y, height(), KernelTaps{kHalfEdge, kHalfSide, kHalfCentre});

      taps[0][q] = cf::pack_half2(t.before, t.before);
      taps[1][q] = cf::pack_half2(t.at, t.at);
      taps[2][q] = cf::pack_half2(t.after, t.after);
    }
  }

  /* Row 2 m of level 1, from fine rows 4 m + 1 and 4 m + 2 in slots 2 and 3, completes row m - 1 of
   * level 2. */
  __device__ __forceinline__ void make_even_row(int m, bool plain)
  {
    const int coarse_width = analysis.second.coarse.width;
    uint32_t taps[3][2];
    float across;
    Taps exact;
    bool stored;
    uint32_t written;

    stored = m > y2 && m - 1 < analysis.second.coarse.height;
    written = writer_2.written(stored);
    taps_of(2 * m, plain, taps, exact);
    filter_last<0>(3, 2 * m, across, [&](int b, const Block &block) {
      add_block(coarse.block[b], taps[0], block);
      writer_2.write(b, coarse.block[b], written, [](uint2 *to, uint2 words) { *to = words; });
      add_block(coarse_next.block[b], taps[1], block);
      coarse.block[b] = coarse_next.block[b];
      begin_block(coarse_next.block[b], taps[2], block);
    });
    writer_2.advance(coarse_width);
    if (stored && lane < kCoarse && x2 + lane < coarse_width)
      analysis.second.store_gauss(x2 + lane, m - 1, fmaf(exact.before, across, gauss.coarse));
    gauss.coarse = fmaf(exact.at, across, gauss.next);
    gauss.next = exact.after * across;
  }

  /* Row 2 m + 1, from slots 0 and 1. */
  __device__ __forceinline__ void make_odd_row(int m, bool plain)
  {
    uint32_t taps[3][2];
    float across;
    Taps exact;

    taps_of(2 * m + 1, plain, taps, exact);
    filter_last<1>(1, 2 * m + 1, across, [&](int b, const Block &block) {
      add_block(coarse.block[b], taps[1], block);
      add_block(coarse_next.block[b], taps[2], block);
    });
    gauss.coarse = fmaf(exact.at, across, gauss.coarse);
    gauss.next = fmaf(exact.after, across, gauss.next);
  }

  /* The strip whose first pixel of level 2 is (x, y) is the next: its first rows are fetched. */
  __device__ __forceinline__ void aim(int x, int y)
  {
    x2 = x;
    y2 = y;
    /* Lanes beyond the picture read something else instead. */
    x0 = min(max(4 * x - 8 + 4 * lane, 0), (pixels.width - 1) & ~3);
    column = analysis.picture.from + (ptrdiff_t)x0 * (int)(sizeof(Quad) / 4);
    direct = analysis.picture.aligned && x0 + 4 <= pixels.width;
    fetch(4 * y - 7, 6 + kAhead);
  }

  /* Down the strip. */
  __device__ __forceinline__ void walk()
  {
    const int x = x2, y = y2, rows = analysis.strip_rows, x1 = 2 * x - 2;

    const int first = 4 * x - 8 + 4 * lane;

    border = x == 0 || x1 + 8 * kBlocks1 >= width();
    beyond = first < 0 || first >= pixels.width;
    past_three = first >= pixels.width && pixels.width % 4 == 3;
    writer_1.begin(analysis.first, x1, 2 * y - 2, 2 * rows, 2, 2 + kMiddle, lane);
    writer_2.begin(analysis.second, x, y - 2, rows, 0, kCoarse, lane);
#pragma unroll
    for (int b = 0; b < kBlocks2; b++)
      bands[b] = border ? banded(x1 + 16 * b, width(), lane) : band;
#pragma unroll
    for (int k = 0; k < 2; k++) {
      const int i = 2 * lane + k;

      kept_1[k] = i >= 2 && i < 2 + kMiddle && x1 + i < width();
    }
    gauss_1 = analysis.first.coarse.gauss + (ptrdiff_t)(2 * y - 2) * width() + x1 + 2 * lane;
    coarse = coarse_next = Line<kBlocks2>{};
    upper = Moments{};
    begin();
#pragma unroll 1
    for (int m = y - 1;; m++) {
      const bool plain = m > 0 && 2 * m + 4 < height();

      load(4 * m + 3);
      fetch(4 * m + 3 + kAhead, 4);
      filter_between(2);
      make_even_row(m, plain);
      if (m == y + rows)
        return;
      store(0);
      if (analysis.moments)
        store_moments(m);
      load(4 * m + 5);
      filter_between(0);
      make_odd_row(m, plain);
      store(2);
      if (analysis.moments)
        upper = moments_at(2);
    }
  }
};

} // namespace cf::llf
