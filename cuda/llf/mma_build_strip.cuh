/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Levels 1 and 2 of a strip of the picture, by one warp.
 *
 * The warp walks down the strip. A row of the picture is looked up, filtered across, and added to
 * the two or three rows of level 1 that it has taps in; a complete row of level 1 is stored,
 * filtered across, and added to rows of level 2. All these rows stay in registers: the fragments
 * that one product leaves (components by pixels) are the operands of the next. Only codes go
 * through shared memory, and only within the warp, so that no warp waits for another.
 */
#pragma once

#include "cuda/llf/mma_build_registers.cuh"
#include "cuda/llf/mma_build_moments.cuh"

namespace cf::llf
{

/* ---- The Gaussian ---- */

/* Two adjacent pixels of a row reduced across, times 20, which makes the taps the integers 1, 5, 8,
 * 5, 1. `words` hold the 8 samples from the first tap on, of two rows interleaved as bytes; `row`,
 * 0 or 1, selects one. */
__device__ __forceinline__ void reduce_across(const uint32_t (&words)[4], int row, uint32_t sums[2])
{
#pragma unroll
  for (int k = 0; k < 2; k++)
    sums[k] = __dp4a(
        words[k + 2], 0x00000001u << 8 * row,
        __dp4a(words[k + 1], 0x00050008u << 8 * row, __dp4a(words[k], 0x00050001u << 8 * row, 0u)));
}

/* The same for 16-bit samples in shared memory. */
__device__ __forceinline__ void reduce_across(const uint16_t *first, uint32_t sums[2])
{
  const uint32_t *const words = reinterpret_cast<const uint32_t *>(first);

  sums[0] =
      __dp2a_lo(words[2], 0x0001u, __dp2a_lo(words[1], 0x0508u, __dp2a_lo(words[0], 0x0501u, 0u)));
  sums[1] =
      __dp2a_lo(words[3], 0x0001u, __dp2a_lo(words[2], 0x0508u, __dp2a_lo(words[1], 0x0501u, 0u)));
}

/* How many rows ahead of its loads a warp prefetches to L2. */
constexpr int kAhead = 8;

/* Unfinished sums of the Gaussian in a lane. */
struct Gauss {
  uint32_t sums[2][2]; /* of the even and the odd row of level 1, at the lane's two pixels */
  float coarse, next;  /* of the current and the next row of level 2, at the lane's pixel */
};

/* ---- The walk ---- */

/* The taps of row y of level 1. For y = 2 m: in rows m - 1 (`before`), m (`at`) and m + 1 (`after`)
 * of level 2. For y = 2 m + 1: in rows m (`at`) and m + 1 (`after`). They include the taps of rows
 * beyond the border that mirror to row y; rows beyond the border have none. */
struct Taps {
  float before, at, after;
};

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

/* The kernel's argument, besides the picture's format: levels 1 and 2, and the input. */
struct BuildFrame {
  DownsampleOutput first, second;
  PictureWords picture;
  float2 *moments;               /* of the picture's blocks, or NULL */
  unsigned *coarse_inputs_ready; /* Pyramid */
  int strip_rows;
  bool evict_first; /* level 1 is larger than the L2 cache */
};

/* A warp's state. Column and row numbers are those of level 2 (x2, y2) or of the picture (x0). */
template <LutKind Kind> struct Strip {
  using M = TableMemory<Kind>;
  using Sample = typename M::Sample;
  using Quad = typename LutOf<Kind>::Quad;
  static constexpr int kRowBytes = M::kCopies * kGroupBytes;
  static constexpr bool kPaired = Kind == LutKind::kU8;
  /* Lanes that prefetch a row: up to 32 bytes each. */
  static constexpr int kFetchers = Kind == LutKind::kRgbLuma ? 16 : 8;

  const Pixels &pixels;
  const BuildFrame &frame;
  /* In large pictures, level 1 and samples of two bytes are evicted from L2 first: they do not fit,
   * and level 2 should still be there when the next kernel reads it. */
  const uint64_t policy;
  Sample *const slots;   /* the warp's rows of codes in shared memory */
  const Sample *lookups; /* in slot 0, the code that the lane looks up in look-up 0 */
  const Sample *pairs;   /* in slot 0, the codes of the pixels whose components it then holds */
  uint32_t table;        /* shared memory address of the lane's table and copy */
  int lane;
  LowBitsRotation low;
  Banded band;      /* inside the picture, horizontally */
  float gauss_unit; /* intensity per unit of the integer sums of the Gaussian */

  int x2, y2;             /* the strip's first pixel in level 2 */
  int x0;                 /* the lane's first sample in the picture, of four */
  const uint8_t *column;  /* that sample in row 0 */
  const uint8_t *fetched; /* what the lane prefetches, in row 0 */
  bool direct;            /* every lane's four samples can be read by one load */
  bool border;            /* the strip touches the left or the right border */
  bool stored_1[2];       /* the lane's two pixels of level 1 are in the strip and in the level */
  bool stored_2;          /* and its pixel of level 2 */
  bool stored_moments;    /* and its block of the picture, if moments are wanted */
  bool outside;           /* the lane's samples are beyond the left or the right border */
  bool after_three;       /* and follow a quad of which three samples are inside */
  Banded bands[kBlocks2]; /* level 1 to 2 */
  LineWriter<M::kTurned, kBlocks1> writer_1;
  LineWriter<M::kTurned, kBlocks2> writer_2;
  float *gauss_1; /* the lane's first pixel of level 1 in the row to store next */
  int index_2;    /* the lane's pixel of level 2 in the row to store next */
  /* Unfinished rows: line[0] is the even row of level 1, line[1] the odd row after or before it;
   * coarse is a row of level 2, coarse_next the one after it. */
  Line<kBlocks1> line[2];
  Line<kBlocks2> coarse, coarse_next;
  Gauss gauss;
  Moments upper; /* of the first two rows of the lane's block */
  Quad quads[2]; /* the next two rows of the picture, loaded but not yet stored to a slot */
  /* kPaired: the codes of two rows, interleaved as bytes, for the lane's look-ups and its pixels of
   * the Gaussian. */
  uint32_t paired[kReads], gauss_codes[4];

  __device__ __forceinline__ Strip(const Pixels &pixels, const Series &series,
                                   const BuildFrame &frame, uint8_t *memory, int lane, int warp)
      : pixels(pixels), frame(frame), policy(l2_policy(frame.evict_first)),
        slots(reinterpret_cast<Sample *>(memory + kGroups * M::kTable) + warp * M::kRows),
        lane(lane)
  {
    /* ldmatrix takes the rows of its four 8 x 8 matrices from lanes 0..7, 8..15, 16..23 and 24..31:
     * table 0 and table 1 for 8 pixels, then for the next 8. */
    const int second = lane / 8 % 2;

    lookups = slots + (2 + lane % 8 + lane / 16 * 8) * (kPaired ? 2 : 1);
    pairs = slots + 2 + 2 * (lane % 4);
    table = cf::smem_address(memory) + second * M::kTable + lane % M::kCopies * kGroupBytes;
    if constexpr (M::kTurned)
      low = low_bits_rotation<Kind>(pixels, series, lane);
    band = banded(1 << 20, 1 << 22, lane);
    gauss_unit =
        (Kind == LutKind::kRgbLuma ? intensity_of_row<Kind>(pixels, 1.0f) : pixels.weight[0]) *
        (1.0f / (float)(400 << M::kShift));
  }

  __device__ __forceinline__ static uint32_t twice(float tap)
  {
    return cf::pack_half2(tap, tap);
  }

  __device__ __forceinline__ int width() const
  {
    return frame.first.coarse.width;
  }

  __device__ __forceinline__ int height() const
  {
    return frame.first.coarse.height;
  }

  __device__ __forceinline__ Quad loaded(const Quad *from) const
  {
    if constexpr (Kind == LutKind::kU10 || Kind == LutKind::kU16)
      return load_with_policy(from, policy);
    else
      return *from;
  }

  /* Loads rows `from` and `from` + 1 of the picture into `quads`. `plain`: both are inside. */
  __device__ __forceinline__ void load(int from, bool plain)
  {
    int y[2] = {from, from + 1};

    /* Below an even height the first two rows are mirrored, and the others repeat these. */
    if (!plain) {
      const int beyond_last = (pixels.height + 1) & ~1;

#pragma unroll
      for (int k = 0; k < 2; k++)
        y[k] = mirrored(min(y[k], beyond_last + (y[k] & 1)), pixels.height);
    }
    if (direct) {
#pragma unroll
      for (int k = 0; k < 2; k++)
        quads[k] =
            loaded(reinterpret_cast<const Quad *>(column + (ptrdiff_t)y[k] * frame.picture.stride));
    } else {
#pragma unroll
      for (int k = 0; k < 2; k++)
        quads[k] = gather_quad<Kind>(pixels, frame.picture, y[k],
                                     [&](int i) { return mirrored(x0 + i, pixels.width); });
    }
  }

  /* Prefetches at least Rows rows of the picture to L2. */
  template <int Rows> __device__ __forceinline__ void fetch(int from) const
  {
#pragma unroll
    for (int k = 0; k < Rows; k += 32 / kFetchers) {
      const int y = min(max(from + k + lane / kFetchers, 0), pixels.height - 1);
      prefetch_l2(fetched + (ptrdiff_t)y * frame.picture.stride);
    }
  }

  /* Stores `quads` as codes to slots `slot` and `slot` + 1. */
  __device__ __forceinline__ void store(int slot)
  {
    if (border)
      fold();
    Sample *const to = slots + slot * kSlotPitch;

    if constexpr (kPaired) {
      store_pairs(to + 8 * lane, frame.picture, quads[0], quads[1]);
    } else {
#pragma unroll
      for (int k = 0; k < 2; k++)
        store_quad_codes<M::kShift, Kind>(to + k * kSlotPitch + 4 * lane, pixels, frame.picture,
                                          quads[k]);
    }
    __syncwarp();
  }

  /* Mirrors at the left and right borders: a lane outside has loaded the quad next to the border.
   * Level 1 needs two samples from beyond it; if only three samples of the last quad are inside,
   * its loads have mirrored the first of the two. */
  __device__ __forceinline__ void fold()
  {
#pragma unroll
    for (int k = 0; k < 2; k++) {
      if (outside)
        quads[k] = reversed(quads[k]);
      if (after_three)
        quads[k] = last_two(quads[k]);
    }
  }

  /* kPaired: loads the codes of rows `slot` and `slot` + 1. */
  __device__ __forceinline__ void load_pairs(int slot)
  {
    if constexpr (kPaired) {
#pragma unroll
      for (int i = 0; i < kReads; i++)
        paired[i] = *reinterpret_cast<const uint16_t *>(lookups + slot * kSlotPitch + 2 * 16 * i);
      const uint32_t *const words = reinterpret_cast<const uint32_t *>(
          slots + slot * kSlotPitch + 2 * (2 + 4 * min(lane, kPairs - 1)));
      const uint2 middle = *reinterpret_cast<const uint2 *>(words + 1);

      gauss_codes[0] = words[0];
      gauss_codes[1] = middle.x;
      gauss_codes[2] = middle.y;
      gauss_codes[3] = words[3];
    }
  }

  /* Filters the row in a slot across: components to `consume`, the Gaussian to `sums`. */
  template <typename Consume>
  __device__ __forceinline__ void filter(int slot, uint32_t (&sums)[2], Consume consume)
  {
    const Sample *const codes = lookups + slot * kSlotPitch;

    filter_row<Kind, kReads>(
        [&](int i) {
          if constexpr (kPaired)
            return __dp4a(paired[i], (uint32_t)kRowBytes << 8 * (slot % 2), table);
          else if constexpr (M::kTurned)
            return table + reinterpret_cast<const uint8_t *>(codes + 16 * i)[1] * kRowBytes;
          else
            return table + codes[16 * i] * kRowBytes;
        },
        pairs + slot * kSlotPitch, low, band, consume);
    if constexpr (kPaired)
      reduce_across(gauss_codes, slot % 2, sums);
    else
      reduce_across(slots + slot * kSlotPitch + 2 + 4 * min(lane, kPairs - 1), sums);
  }

  /* The sums over the lane's block of the row in `slot`, 0 or 2, and of the row before it. */
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

  /* Stores the moments of row `y` of blocks, those of the row to store next of level 2; lane i has
   * block x2 - 2 + i, which is also the column of level 2. */
  __device__ __forceinline__ void store_moments(int y)
  {
    if (y >= y2 && y < frame.second.coarse.height && stored_moments)
      frame.moments[index_2 - 2] =
          upper.plus(moments_at(0)).of_block(400.0f * (M::kTurned ? 16.0f : 1.0f) * gauss_unit);
  }

  /* Starts a strip: the first three of the five rows of the picture that reduce to row 2 (y2 - 1)
   * of level 1, the last of which is also the first of the next row's. */
  __device__ __forceinline__ void begin()
  {
    const int top = 4 * (y2 - 1);
    const uint32_t edge = twice(kHalfEdge), side = twice(kHalfSide), centre = twice(kHalfCentre);
    uint32_t sums[2];

    load(top - 3, false);
    __syncwarp();
    store(2);
    load_pairs(2);
    load(top - 1, false);
    filter(3, sums, [&](int b, const Block &block) { begin_block(line[0].block[b], edge, block); });
#pragma unroll
    for (int k = 0; k < 2; k++)
      gauss.sums[0][k] = sums[k];
    gauss.coarse = gauss.next = 0.0f;
    store(0);
    load_pairs(0);
    load(top + 1, false);
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

  /* Filters a row of the picture that has the side tap in both unfinished rows of level 1. */
  __device__ __forceinline__ void filter_between(int slot)
  {
    const uint32_t side = twice(kHalfSide);
    uint32_t sums[2];

    load_pairs(slot);
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

  /* Filters the row of the picture that completes row y of level 1, line[Ending]. Row y is stored,
   * and filtered across for level 2: components to consume (b, block), the Gaussian to `across`.
   * line[Ending] then starts row y + 2, with the same row of the picture. */
  template <int Ending, typename Consume>
  __device__ __forceinline__ void filter_last(int slot, int y, float &across, Consume consume)
  {
    const uint32_t edge = twice(kHalfEdge), centre = twice(kHalfCentre);
    const bool stored = (unsigned)(y - 2 * y2) < (unsigned)(2 * frame.strip_rows) && y < height();
    const uint32_t written = writer_1.written(stored);
    uint32_t sums[2];
    Block done[2];

    filter(slot, sums, [&](int b, const Block &block) {
      Block result = line[Ending].block[b];

      add_block(result, edge, block);
      begin_block(line[Ending].block[b], edge, block);
      add_block(line[1 - Ending].block[b], centre, block);
      writer_1.write(b, result, written,
                     [&](uint2 *to, uint2 words) { store_with_policy(to, words, policy); });
      if (b > 0 && b % 2 == 0)
        consume(b / 2 - 1, filter_block(done[0], done[1], result, bands[b / 2 - 1]));
      done[b % 2] = result;
    });
    writer_1.advance(width());
    float own[2];

#pragma unroll
    for (int k = 0; k < 2; k++) {
      const uint32_t sum = gauss.sums[Ending][k] + sums[k];

      gauss.sums[1 - Ending][k] += 8 * sums[k];
      gauss.sums[Ending][k] = sums[k];
      own[k] = (float)sum * gauss_unit;
      if (stored && stored_1[k])
        gauss_1[k] = own[k];
    }
    gauss_1 += width();
    float next[3] = {__shfl_down_sync(0xffffffffu, own[0], 1),
                     __shfl_down_sync(0xffffffffu, own[1], 1),
                     __shfl_down_sync(0xffffffffu, own[0], 2)};

    if (border)
      mirror(own, next);
    across = reduced(own[0], own[1], next[0], next[1], next[2]);
  }

  /* Mirrors the pixels of level 1 that are beyond the left or the right border, of the five that
   * reduce to a lane's pixel of level 2: own[0], own[1], next[0..2]. */
  __device__ __forceinline__ void mirror(float (&own)[2], float (&next)[3]) const
  {
    const int left = width() - (2 * x2 - 2 + 2 * lane);

    if (left == 3)
      next[1] = next[0];
    if (x2 == 0 && lane == 0) {
      own[0] = next[1];
      own[1] = next[0];
    }
    if (left == 3)
      next[2] = own[1];
    if (left == 4)
      next[2] = next[1];
  }

  /* The taps of row y of level 1: in fp16, twice per word, for components, and in fp32 for the
   * Gaussian. `plain`: no rows beyond the top or bottom border are involved. */
  __device__ __forceinline__ void taps_of(int y, bool plain, uint32_t (&taps)[3], Taps &exact) const
  {
    const bool even = y % 2 == 0;

    exact = even ? Taps{TAP_EDGE, TAP_CENTRE, TAP_EDGE} : Taps{0, TAP_SIDE, TAP_SIDE};
    taps[0] = twice(even ? kHalfEdge : 0.0f);
    taps[1] = twice(even ? kHalfCentre : kHalfSide);
    taps[2] = twice(even ? kHalfEdge : kHalfSide);
    if (plain)
      return;
    exact = taps_of_row(y, height(), KernelTaps{TAP_EDGE, TAP_SIDE, TAP_CENTRE});
    const Taps rounded = taps_of_row(y, height(), KernelTaps{kHalfEdge, kHalfSide, kHalfCentre});
    taps[0] = twice(rounded.before);
    taps[1] = twice(rounded.at);
    taps[2] = twice(rounded.after);
  }

  /* Row 2 m of level 1 is completed by row 4 m + 2 of the picture, in slot 3, and itself completes
   * row m - 1 of level 2. */
  __device__ __forceinline__ void make_even_row(int m, bool plain)
  {
    const bool stored = m > y2 && m - 1 < frame.second.coarse.height;
    const uint32_t written = writer_2.written(stored);
    uint32_t taps[3];
    float across;
    Taps exact;

    taps_of(2 * m, plain, taps, exact);
    filter_last<0>(3, 2 * m, across, [&](int b, const Block &block) {
      add_block(coarse.block[b], taps[0], block);
      writer_2.write(b, coarse.block[b], written, [](uint2 *to, uint2 words) { *to = words; });
      add_block(coarse_next.block[b], taps[1], block);
      coarse.block[b] = coarse_next.block[b];
      begin_block(coarse_next.block[b], taps[2], block);
    });
    writer_2.advance(frame.second.coarse.width);
    if (stored && stored_2)
      frame.second.store_gauss_at(index_2, fmaf(exact.before, across, gauss.coarse));
    index_2 += frame.second.coarse.width;
    gauss.coarse = fmaf(exact.at, across, gauss.next);
    gauss.next = exact.after * across;
  }

  /* Row 2 m + 1 of level 1 is completed by row 4 m + 4 of the picture, in slot 1. */
  __device__ __forceinline__ void make_odd_row(int m, bool plain)
  {
    uint32_t taps[3];
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

  /* Makes the strip whose first pixel of level 2 is (x, y) the next, and prefetches its first rows.
   */
  __device__ __forceinline__ void move_to(int x, int y)
  {
    x2 = x;
    y2 = y;
    /* Lanes outside the picture load the quad next to the border. */
    x0 = min(max(4 * x - 8 + 4 * lane, 0), (pixels.width - 1) & ~3);
    column = frame.picture.from + (ptrdiff_t)x0 * (int)(sizeof(Quad) / 4);
    direct = __all_sync(0xffffffffu, frame.picture.aligned && x0 + 4 <= pixels.width);
    fetched = frame.picture.from +
              (ptrdiff_t)min(max(4 * x - 8 + lane % kFetchers * (kSlot / kFetchers), 0),
                             pixels.width - 1) *
                  (int)(sizeof(Quad) / 4);
    fetch<6 + kAhead>(4 * y - 7);
  }

  /* Computes the strip. Each iteration takes four rows of the picture, which complete two rows of
   * level 1 and one of level 2. Slots 0 and 1, and slots 2 and 3, are refilled in turn: between the
   * look-ups in one pair and its refill lies the __syncwarp() at the end of the other's refill. */
  __device__ __forceinline__ void walk()
  {
    const int x = x2, y = y2, rows = frame.strip_rows, x1 = 2 * x - 2;

    const int first = 4 * x - 8 + 4 * lane;

    border = x == 0 || x1 + 8 * kBlocks1 >= width();
    outside = first < 0 || first >= pixels.width;
    after_three = first >= pixels.width && pixels.width % 4 == 3;
    writer_1.begin(frame.first, x1, 2 * y - 2, 2, 2 + kMiddle, lane);
    writer_2.begin(frame.second, x, y - 2, 0, kCoarse, lane);
#pragma unroll
    for (int b = 0; b < kBlocks2; b++)
      bands[b] = border ? banded(x1 + 16 * b, width(), lane) : band;
#pragma unroll
    for (int k = 0; k < 2; k++) {
      const int i = 2 * lane + k;

      stored_1[k] = i >= 2 && i < 2 + kMiddle && x1 + i < width();
    }
    stored_2 = lane < kCoarse && x + lane < frame.second.coarse.width;
    stored_moments = frame.moments && lane >= 2 && lane < 2 + kCoarse &&
                     x - 2 + lane < frame.second.coarse.width;
    index_2 = (y - 2) * frame.second.coarse.width + x + lane;
    gauss_1 = frame.first.coarse.gauss + (ptrdiff_t)(2 * y - 2) * width() + x1 + 2 * lane;
    /* Row m of level 2, and all that is computed with it, is inside if it is 1 .. plain_rows. */
    const int plain_rows = max((height() - 3) / 2 - 1, 0);
    coarse = coarse_next = Line<kBlocks2>{};
    upper = Moments{};
    begin();
#pragma unroll 1
    for (int m = y - 1;; m++) {
      const bool plain = (unsigned)(m - 1) < (unsigned)plain_rows;

      load(4 * m + 3, plain);
      fetch<4>(4 * m + 3 + kAhead);
      filter_between(2);
      make_even_row(m, plain);
      if (m == y + rows)
        return;
      store(0);
      store_moments(m);
      load(4 * m + 5, plain);
      filter_between(0);
      make_odd_row(m, plain);
      store(2);
      if (frame.moments)
        upper = moments_at(2);
    }
  }
};

} // namespace cf::llf
