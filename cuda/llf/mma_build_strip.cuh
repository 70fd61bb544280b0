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

/* Rows that are fetched before they are read: without, warps waited for them a seventh of their
 * time. */
constexpr int AHEAD = 8;

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
  bool reduces;    /* level 2 is made */
  unsigned *done;  /* of Strips */
  int per_block;   /* strips of a block at a time */
  unsigned *ended; /* of the pyramid, to be set back */
};

/* What a warp knows of its strip. */
template <int GROUPS, int ALL, Key key, int BLOCKS> struct Strip {
  using M = TableMemory<GROUPS, key>;
  using Shape = StripShape<BLOCKS>;
  using Sample = typename M::Sample;
  static constexpr int HALF = HALVES<GROUPS>, ROW_BYTES = M::COPIES * GROUP_BYTES;
  static constexpr bool PAIRED = key == Key::BYTE;
  static constexpr int BLOCKS_1 = Shape::BLOCKS_1, BLOCKS_2 = Shape::BLOCKS_2;
  static constexpr int COARSE = Shape::COARSE, MIDDLE = Shape::MIDDLE;
  static constexpr int READS = Shape::READS, PAIRS = Shape::PAIRS;

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
  bool beyond, past_three; /* a lane's samples are beyond the border, and a word with three of it */
  Banded bands[BLOCKS_2];
  LineWriter<GROUPS, ALL, M::TURNED, BLOCKS_1, BLOCKS_1 == LARGE_BLOCKS> writer_1;
  LineWriter<GROUPS, ALL, M::TURNED, BLOCKS_2, false> writer_2;
  float *gauss_1[HALF];
  /* Two rows of level 1 in turns, two of level 2 in order. */
  Line<BLOCKS_1> line[2];
  Line<BLOCKS_2> coarse, coarse_next;
  Gauss gauss[HALF];
  Four<key> fours[HALF][2];
  /* Where codes are bytes, those of two rows, for look-ups and for the Gaussian. */
  uint32_t paired[READS], around[HALF][4];

  __device__ __forceinline__ Strip(const Pixels &pixels, const Series &series,
                                   const Analysis &analysis, uint8_t *memory, int lane, int warp)
      : pixels(pixels), analysis(analysis),
        slots(reinterpret_cast<Sample *>(memory + GROUPS * M::TABLE) + warp * M::ROWS), lane(lane)
  {
    /* Lanes 8 to 15 and 24 to 31 look up the second group's rows, or the second half's pixels. */
    const int half = lane / 8 % 2;

    looked_up = slots + (GROUPS == 1 ? half * SLOTS * SLOT_PITCH : 0) +
                (2 + lane % 8 + lane / 16 * 8) * (PAIRED ? 2 : 1);
    pairs = slots + 2 + 2 * (lane % 4);
    table = cf::smem_address(memory) + (GROUPS == 2 ? half * M::TABLE : 0) +
            lane % M::COPIES * GROUP_BYTES;
    if constexpr (M::TURNED)
      low = low_turn<GROUPS, key>(pixels, series, 4 * (int)blockIdx.y * GROUPS, lane);
    band = banded(1 << 20, 1 << 22, lane);
    factor = (key == Key::LUMA ? intensity_of_row<key>(pixels, 1.0f) : pixels.weight[0]) *
             (1.0f / (float)(400 << M::SHIFT));
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

  /* Of large pictures with two bytes a sample, which are no longer in the L2 cache when they are
   * read again: they leave it first. */
  __device__ __forceinline__ static Four<key> loaded(const Four<key> *from)
  {
    if constexpr (key == Key::WORD && BLOCKS_1 == LARGE_BLOCKS)
      return Four<key>{__ldcs(&from->words)};
    else
      return *from;
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
          fours[h][k] = loaded(
              reinterpret_cast<const Four<key> *>(column + (ptrdiff_t)y * analysis.picture.stride));
        else
          fours[h][k] = load_mirrored<key>(pixels, analysis.picture, x0, y);
      }
    }
  }

  __device__ __forceinline__ void fetch(int from, int rows) const
  {
#pragma unroll
    for (int h = 0; h < HALF; h++) {
      for (int k = 0; k < rows; k++) {
        const int y = min(max(from + k + 4 * h * analysis.strip_rows, 0), pixels.height - 1);
        prefetch_l2(column + (ptrdiff_t)y * analysis.picture.stride);
      }
    }
  }

  __device__ __forceinline__ void store(int slot)
  {
    if (border)
      fold();
#pragma unroll
    for (int h = 0; h < HALF; h++) {
      Sample *const to = slots + (h * SLOTS + slot) * SLOT_PITCH;

      if constexpr (PAIRED) {
        store_pairs(to + 8 * lane, clamped_bytes(analysis.picture, fours[h][0].words),
                    clamped_bytes(analysis.picture, fours[h][1].words));
      } else {
#pragma unroll
        for (int k = 0; k < 2; k++)
          store_four<M::SHIFT, key>(to + k * SLOT_PITCH + 4 * lane, pixels, analysis.picture,
                                    fours[h][k]);
      }
    }
    __syncwarp();
  }

  /* A lane beyond the border has read the four samples next to it. Of those beyond it level 1 needs
   * two, which may lie in the word before. */
  __device__ __forceinline__ void fold()
  {
#pragma unroll
    for (int h = 0; h < HALF; h++) {
#pragma unroll
      for (int k = 0; k < 2; k++) {
        if (beyond)
          fours[h][k] = reversed(fours[h][k]);
        if (past_three)
          fours[h][k] = without_two(fours[h][k]);
      }
    }
  }

  /* Codes of the rows in this slot and the next. */
  __device__ __forceinline__ void take_pairs(int slot)
  {
    if constexpr (PAIRED) {
#pragma unroll
      for (int i = 0; i < READS; i++)
        paired[i] = *reinterpret_cast<const uint16_t *>(looked_up + slot * SLOT_PITCH + 2 * 16 * i);
#pragma unroll
      for (int h = 0; h < HALF; h++) {
        const uint32_t *const words = reinterpret_cast<const uint32_t *>(
            slots + (h * SLOTS + slot) * SLOT_PITCH + 2 * (2 + 4 * min(lane, PAIRS - 1)));
        const uint2 middle = *reinterpret_cast<const uint2 *>(words + 1);

        around[h][0] = words[0];
        around[h][1] = middle.x;
        around[h][2] = middle.y;
        around[h][3] = words[3];
      }
    }
  }

  /* Fine row in a slot, and its share of the Gaussian. */
  template <typename Take>
  __device__ __forceinline__ void filter(int slot, uint32_t (&sums)[HALF][2], Take take)
  {
    const Sample *const codes = looked_up + slot * SLOT_PITCH;

    filter_row<GROUPS, key, READS>(
        [&](int i) {
          if constexpr (PAIRED)
            return __dp4a(paired[i], (uint32_t)ROW_BYTES << 8 * (slot % 2), table);
          else if constexpr (M::TURNED)
            return table + reinterpret_cast<const uint8_t *>(codes + 16 * i)[1] * ROW_BYTES;
          else
            return table + codes[16 * i] * ROW_BYTES;
        },
        pairs + slot * SLOT_PITCH, low, band, take);
#pragma unroll
    for (int h = 0; h < HALF; h++) {
      if constexpr (PAIRED)
        reduce_across(around[h], slot % 2, sums[h]);
      else
        reduce_across(slots + (h * SLOTS + slot) * SLOT_PITCH + 2 + 4 * min(lane, PAIRS - 1),
                      sums[h]);
    }
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
    take_pairs(2);
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
    take_pairs(0);
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

    take_pairs(slot);

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
    uint32_t written[HALF];

    set(edge, HALF_EDGE);
    set(centre, HALF_CENTRE);
#pragma unroll
    for (int h = 0; h < HALF; h++) {
      stored[h] = (unsigned)(y - 2 * y2) < (unsigned)(2 * analysis.strip_rows) &&
                  y + 2 * h * analysis.strip_rows < height();
      written[h] = writer_1.written(stored[h]);
    }
    filter(slot, sums, [&](int b, const Block &block) {
      Block made = line[ENDING].block[b];

      add_block(made, edge, block);
      begin_block(line[ENDING].block[b], edge, block);
      add_block(line[1 - ENDING].block[b], centre, block);
      writer_1.write(b, made, written);
      if (b > 0 && b % 2 == 0)
        take(b / 2 - 1, filter_block(done[0], done[1], made, bands[b / 2 - 1]));
      if (BLOCKS_1 % 2 == 0 && b == BLOCKS_1 - 1)
        take(b / 2, filter_block(done[0], made, bands[b / 2]));
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
      float next[3] = {__shfl_down_sync(0xffffffffu, two[0], 1),
                       __shfl_down_sync(0xffffffffu, two[1], 1),
                       __shfl_down_sync(0xffffffffu, two[0], 2)};

      if (border)
        mirror(two, next);
      across[h] = reduced(two[0], two[1], next[0], next[1], next[2]);
    }
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
    float across[HALF];
    Taps exact[HALF];
    bool stored[HALF];
    uint32_t written[HALF];

#pragma unroll
    for (int h = 0; h < HALF; h++) {
      stored[h] = analysis.reduces && m > y2 &&
                  m - 1 + h * analysis.strip_rows < analysis.second.coarse.height;
      written[h] = writer_2.written(stored[h]);
    }
    taps_of(2 * m, plain, taps, exact);
    filter_last<0>(3, 2 * m, across, [&](int b, const Block &block) {
      add_block(coarse.block[b], taps[0], block);
      writer_2.write(b, coarse.block[b], written);
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

  /* The strip whose first pixel of level 2 is (x, y) is the next: its first rows are fetched. */
  __device__ __forceinline__ void aim(int x, int y)
  {
    x2 = x;
    y2 = y;
    /* Lanes beyond the picture read something else instead. */
    x0 = min(max(4 * x - 8 + 4 * lane, 0), (pixels.width - 1) & ~3);
    column = analysis.picture.from + (ptrdiff_t)x0 * (key == Key::LUMA ? 4 : (int)sizeof(Sample));
    direct = analysis.picture.aligned && x0 + 4 <= pixels.width;
    fetch(4 * y - 7, 6 + AHEAD);
  }

  /* Down the strip. */
  __device__ __forceinline__ void walk()
  {
    const int x = x2, y = y2, rows = analysis.strip_rows, x1 = 2 * x - 2;

    const int first = 4 * x - 8 + 4 * lane;

    border = x == 0 || x1 + 8 * BLOCKS_1 >= width();
    beyond = first < 0 || first >= pixels.width;
    past_three = first >= pixels.width && pixels.width % 4 == 3;
    writer_1.begin(analysis.first, x1, 2 * y - 2, 2 * rows, 2, 2 + MIDDLE, lane);
    writer_2.begin(analysis.second, x, y - 2, rows, 0, COARSE, lane);
#pragma unroll
    for (int b = 0; b < BLOCKS_2; b++)
      bands[b] = border ? banded(x1 + 16 * b, width(), lane) : band;
#pragma unroll
    for (int k = 0; k < 2; k++) {
      const int i = 2 * lane + k;

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
      fetch(4 * m + 3 + AHEAD, 4);
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

} // namespace cf::llf
