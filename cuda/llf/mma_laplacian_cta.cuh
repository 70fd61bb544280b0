/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What one CTA does for the Laplacian coefficients of levels 0 and 1: its shared memory, and its
 * teams of threads, which share a table, go their own ways, and each make tiles: one team would
 * wait most of the time.
 */
#pragma once

#include "cuda/common/named_barrier.cuh"
#include "cuda/llf/mma_laplacian_lut.cuh"
#include "cuda/llf/tiled_fp16.cuh"

namespace cf::llf
{

constexpr int kTileX = 64, kTileY = 32, kThreads = 256, kWarps = kThreads / 32;

/* Of level 0, and of the pixels of level 1 that it needs: those inside are all a level-1 tile. */
using BaseTile = Tile<kTileY, kTileX>;
using NextTile = Tile<kTileY / 2, kTileX / 2>;

constexpr int kNextX = kTileX / 2, kNextY = kTileY / 2;

/* A level's own components in shared memory, as the addends of the expansion: matrices of eight
 * pixels, two of a group. */
template <typename T> struct OwnPixels {
  uint32_t from;
  uint32_t words[4];

  __device__ __forceinline__ OwnPixels(const uint8_t *memory, int strip_y, int lane)
  {
    const int matrix = lane / 8, pixel = lane % 8 + (matrix & 1) * 8;
    const int row = 1 + 4 * strip_y + pixel / 4, column = 1 + pixel % 4;
    const int swap = row >> 1 & 1;

    from = cf::smem_address(memory) + row * T::kPitch +
           (column * kGroups + ((matrix >> 1) ^ swap)) * kGroupBytes;
  }

  __device__ __forceinline__ OwnPixels shifted(int bytes) const
  {
    OwnPixels pixels = *this;
    pixels.from += bytes;
    return pixels;
  }

  __device__ __forceinline__ void load(int j, int c, uint32_t *self)
  {
    const uint32_t at = from + (4 * j * kGroups + c) * kGroupBytes;

    if (c % 2 == 0)
      cf::ldmatrix_x4(words, at);
    self[0] = words[c % 2 * 2];
    self[1] = words[c % 2 * 2 + 1];
  }
};

/* Where a pixel of a tile of level 1 has its Gaussian: a lane's part of half a strip lies side by
 * side. */
__device__ __forceinline__ int place_of_gauss(int x, int y)
{
  return ((y / 4 * 2 + x / 16) * 8 + y % 2 * 4 + x % 4) * 8 + y / 2 % 2 * 4 + x % 16 / 4;
}

/* Starts to load the Gaussian of a tile of level 1, to where the thread's first pixel has its
 * place.
 */
__device__ __forceinline__ void load_gauss(uint32_t to, const Level &level, int x, int y,
                                           int thread)
{
  constexpr int kStep = kThreads / kNextX;
  static_assert(kStep % 4 == 0, "whole strips");

  const uint32_t from_x = min(x + thread % kNextX, level.width - 1);

#pragma unroll
  for (int k = 0; k < kNextX * kNextY / kThreads; k++) {
    const uint32_t from_y = min(y + thread / kNextX + k * kStep, level.height - 1);

    cf::cp_async_zero_fill<4>(to + k * kStep * kNextX * (int)sizeof(float),
                              level.gauss + (from_y * (uint32_t)level.width + from_x), 4);
  }
}

/* --- shared memory --- */

/* How often a table holds each row: as often as is good, and where shared memory is small. */
template <LutKind Kind> constexpr int kMostCopies = kHasDerivative<Kind> ? 8 : LutOf<Kind>::kCopies;
template <LutKind Kind> constexpr int kFewCopies = kMostCopies<Kind> > 2 ? 2 : 1;

/* Teams that share a table, where there is room. */
constexpr int kMostTeams = 2;

/* Shared memory, in bytes: the table; and of each team tiles of levels 1 and 2, and of level 1's
 * Gaussian, twice; and of pixels. */
template <LutKind Kind, int Copies> struct Memory {
  static constexpr int kTable = kGroups * kTableRows<Kind> * Copies * kGroupBytes;
  static constexpr int kCoarse = (BaseTile::kBytes + 127) / 128 * 128;
  static constexpr int kSecond = 2 * kCoarse;
  static constexpr int kSecondBytes = (NextTile::kBytes + 127) / 128 * 128;
  static constexpr int kGauss = kSecond + 2 * kSecondBytes;
  static constexpr int kGaussBytes = kNextX * kNextY * (int)sizeof(float);
  static constexpr int kPixels = kGauss + 2 * kGaussBytes;
  static constexpr int kNumbers = kTileX * kTileY / 128 * kStripBytes<Kind>;
  /* With two, a warp that has ended a tile need not wait for the others. */
  static constexpr int kNumberBuffers = Kind != LutKind::kRgbLuma ? 2 : 1;
  static constexpr int kTeam = kPixels + kNumberBuffers * kNumbers;

  __host__ __device__ static constexpr int bytes(int teams)
  {
    return kTable + teams * kTeam;
  }
};

/* --- terms --- */

/* Of a strip of pixels. */
template <typename T, LutKind Kind, int Copies>
__device__ __forceinline__ void make_terms(float (&sum)[4], const Columns<T> &columns,
                                           uint32_t table, const uint8_t *strip, const uint8_t *low,
                                           const Expansion &expansion, const OneHotColumns &ones,
                                           const LutDerivative<Kind> &slopes)
{
  const LutIndices<Kind, Copies> numbers(strip);
  auto rotation_of = [&](int j, uint32_t *rotation) {
    const uint32_t row = numbers.row_of(j, table);

    uint32_t words[4];
    cf::ldmatrix_x4(words, row);
#pragma unroll
    for (int k = 0; k < 4; k++)
      rotation[k] = words[k];
  };

  auto none = [](int, int, uint32_t *self) { self[0] = self[1] = 0; };

  if constexpr (kHasDerivative<Kind>) {
    DerivativeSums<Kind> sums;

    expand_pairs<T, 8>(expansion, columns, none, rotation_of,
                       [&](int j, const uint32_t *components, const uint32_t *rotation) {
                         sums.add(j, components, rotation, slopes);
                       });
    sums.values(sum, low);
  } else {
    sum[0] = sum[1] = sum[2] = sum[3] = 0.0f;
    expand_pairs<T, 8>(expansion, columns, none, rotation_of,
                       [&](int j, const uint32_t *components, const uint32_t *rotation) {
                         add_rotated(sum, components, rotation, ones.of(j));
                       });
  }
}

/* The same of half a strip of level 1; `gauss` is a lane's part of it. */
__device__ __forceinline__ void make_next_terms(float (&sum)[4], const Columns<NextTile> &columns,
                                                OwnPixels<BaseTile> pixels, const float *gauss,
                                                const HarmonicFrequencies &turn,
                                                const Expansion &expansion,
                                                const HalfOneHotColumns &ones)
{
  const float4 above = *reinterpret_cast<const float4 *>(gauss);
  const float4 below = *reinterpret_cast<const float4 *>(gauss + 4);

  sum[0] = sum[1] = sum[2] = sum[3] = 0.0f;
  expand_pairs<NextTile, 4>(
      expansion, columns, [&](int j, int c, uint32_t *self) { pixels.load(j, c, self); },
      [&](int j, uint32_t *rotation) { rotate(rotation, turn, (&above.x)[j], (&below.x)[j]); },
      [&](int j, const uint32_t *components, const uint32_t *rotation) {
        add_rotated(sum, components, rotation, ones.of(j));
      });
}

/* --- the kernel --- */

/* Tiles as far as pixels and rows of tiles. */
struct Step {
  int x, y;

  Step(int tiles, int across) : x(tiles % across * kTileX), y(tiles / across * kTileY)
  {
  }
};

/* A picture's tiles; how far a team's next one is from the one before; and the cells of levels 0
 * and 1. */
struct Tiling {
  int tiles, across;
  Step step;
  int cells_across, next_cells_across;
};

/* What a frame's kernel reads and writes besides the picture: levels 1 and 2, and the coefficients
 * of levels 0 and 1. */
struct Frame {
  Level coarse, second;
  __half *cells, *next_cells;
  PictureWords source;
  Tiling tiling;
};

/* What a team of a CTA does: load, compute and store one tile of level 0 after the other. */
template <LutKind Kind, int Copies> struct LaplacianTeam {
  using M = Memory<Kind, Copies>;
  using T = BaseTile;
  using Next = Columns<NextTile>;
  static constexpr int kStrips = kTileY / 2 / kWarps;
  static constexpr int kStripRows = 2 * kWarps; /* from one strip of a warp to its next */
  static_assert(kTileX * kTileY == 8 * kThreads, "eight pixels a thread");

  const Pixels &pixels;
  const Frame &frame;
  uint8_t *memory; /* the team's */
  int team, thread, lane, warp;
  int strip_x, strip_y; /* of the warp's first strip in a tile */
  int column, row;      /* of the thread's eight pixels in a tile */
  Expansion expansion;
  OneHotColumns ones;
  HarmonicFrequencies turn;
  LutDerivative<Kind> slopes;
  CoarseLoader<T> loader;
  CoarseLoader<NextTile> second_loader;
  /* Level 1 has half as many strips as there are warps, which make a half each. */
  int next, half;
  /* Where a lane finds its part of the warp's strips; of level 1, of the first strip. */
  Columns<T> columns;
  OwnPixels<T> own_pixels;
  Next next_columns;
  const uint8_t *strip, *low;
  const float *gauss;
  uint32_t looked_up, gauss_to;
  uint8_t *numbers;
  typename LutOf<Kind>::Quad quads[2];
  int buffer = 0, next_x, next_y;

  /* `table` is the CTA's shared memory. */
  __device__ __forceinline__ LaplacianTeam(const Pixels &pixels, const Series &series,
                                           const Frame &frame, uint8_t *table)
      : pixels(pixels), frame(frame), memory(table + M::kTable + threadIdx.x / kThreads * M::kTeam),
        team(threadIdx.x / kThreads), thread(threadIdx.x % kThreads), lane(thread % 32),
        warp(thread / 32), strip_x(32 * (warp % 2)), strip_y(4 * (warp / 2)),
        column(thread % (kTileX / 8) * 8), row(thread / (kTileX / 8)), expansion(lane), ones(lane),
        turn(series, lane),
        /* 1024 times as much as the lowest bit, which counts so much less. */
        slopes(turn, 1024.0f * intensity_of_row<Kind>(pixels, 1.0f), lane),
        loader(frame.coarse, thread), second_loader(frame.second, thread), next(warp / 2),
        half(warp % 2), columns(memory, warp % 2, warp / 2, lane), own_pixels(memory, next, lane),
        next_columns(memory + M::kSecond, 0, next, lane)
  {
    const int strips = team * M::kTeam + M::kTable + M::kPixels + warp * kStripBytes<Kind>;

    strip = table + keep_in_register(strips + LutIndices<Kind, Copies>::place(lane));
    low = table + (kHasDerivative<Kind> ? keep_in_register(strips + 4 * lane) : 0);
    gauss = reinterpret_cast<const float *>(memory + M::kGauss) + warp * 64 +
            (lane / 16 * 4 + lane / 4 % 4) * 8;
    looked_up = cf::smem_address(table) + lane % Copies * kGroupBytes +
                lane / 16 * (kTableRows<Kind> * Copies * kGroupBytes);
    gauss_to =
        keep_in_register(cf::smem_address(memory + M::kGauss) +
                         place_of_gauss(thread % kNextX, thread / kNextX) * (int)sizeof(float));
    numbers = table + keep_in_register(M::kTable + team * M::kTeam + M::kPixels +
                                       place_of_number<Kind, kTileX>(column, row));
    columns.from = keep_in_register(columns.from);
    next_columns.from = keep_in_register(next_columns.from + half * 4 * Next::kPairBytes);
    own_pixels.from = keep_in_register(own_pixels.from + half * 16 * kGroups * kGroupBytes);
  }

  /* Tiles go from the last to the first: what the kernel before wrote last is still in the cache.
   */
  __device__ __forceinline__ void place_first_tile()
  {
    const Tiling &tiling = frame.tiling;
    const int tile = tiling.tiles - 1 - ((int)blockIdx.x + team * (int)gridDim.x);
    const int first_row = (int)(((float)tile + 0.5f) / (float)tiling.across);

    next_x = (tile - first_row * tiling.across) * kTileX;
    next_y = tile < 0 ? -kTileY : first_row * kTileY;
  }

  __device__ __forceinline__ bool has_tile() const
  {
    return next_y >= 0;
  }

  /* To the next tile, if there is one. */
  __device__ __forceinline__ void advance()
  {
    next_x -= frame.tiling.step.x;
    next_y -= frame.tiling.step.y;
    if (next_x < 0) {
      next_x += frame.tiling.across * kTileX;
      next_y -= kTileY;
    }
  }

  __device__ __forceinline__ void start_components()
  {
    loader.load(memory + buffer * M::kCoarse, frame.coarse, next_x, next_y);
    second_loader.load(memory + M::kSecond + buffer * M::kSecondBytes, frame.second, next_x >> 1,
                       next_y >> 1);
    load_gauss(gauss_to + buffer * M::kGaussBytes, frame.coarse, next_x >> 1, next_y >> 1, thread);
    cf::cp_async_commit();
  }

  /* Starts to load the next tile. */
  __device__ __forceinline__ void load()
  {
    start_components();
    load_eight<Kind>(quads, pixels, frame.source, next_x + column,
                     min(next_y + row, pixels.height - 1));
  }

  /* Coefficients of level 0 of the tile at (x, y), whose components are in buffer `current`. */
  __device__ __forceinline__ void make_level_0(int x, int y, int current, int numbered)
  {
    const uint32_t first_word =
        first_word_in_cells(frame.tiling.cells_across, x + strip_x, y + strip_y, lane);

#pragma unroll
    for (int k = 0; k < kStrips; k++) {
      const int from_x = x + strip_x, from_y = y + strip_y + k * kStripRows;
      float sum[4];

      if (from_x >= pixels.width || from_y >= pixels.height)
        continue;
      make_terms<T, Kind, Copies>(
          sum, columns.shifted(current * M::kCoarse + k * kStripRows / 2 * T::kPitch), looked_up,
          strip + numbered + k * kWarps * kStripBytes<Kind>,
          low + numbered + k * kWarps * kStripBytes<Kind>, expansion, ones, slopes);
      if (from_x + kCellX * (lane % 4) < pixels.width)
        store_cell(frame.cells,
                   first_word +
                       k * kStripRows / kCellY * frame.tiling.cells_across * (kCellHalves / 2),
                   sum);
    }
  }

  /* The same of level 1. */
  __device__ __forceinline__ void make_level_1(int x, int y, int current)
  {
    const int from_x = x >> 1, from_y = (y >> 1) + 4 * next;
    float sum[4];

    if (from_x + 16 * half >= frame.coarse.width || from_y >= frame.coarse.height)
      return;
    make_next_terms(sum, next_columns.shifted(current * M::kSecondBytes),
                    own_pixels.shifted(current * M::kCoarse),
                    gauss + current * (M::kGaussBytes / 4), turn, expansion,
                    HalfOneHotColumns{ones, half == 1});
    if (lane % 4 / 2 == half && from_x + kCellX * (lane % 4) < frame.coarse.width)
      store_cell(frame.next_cells,
                 first_word_in_cells(frame.tiling.next_cells_across, from_x, from_y, lane), sum);
  }

  /* The tile that load() has begun to load, while it does the next one. */
  __device__ __forceinline__ void make_tile()
  {
    const int x = next_x, y = next_y, current = buffer;
    const int numbered = M::kNumberBuffers == 2 ? current * M::kNumbers : 0;

    store_numbers<Kind>(numbers + numbered, pixels, frame.source, quads);
    cf::cp_async_wait<0>();
    named_barrier_sync<kThreads>(team + 1);
    advance();
    buffer ^= 1;
    if (has_tile())
      load();
    make_level_0(x, y, current, numbered);
    make_level_1(x, y, current);
    if constexpr (M::kNumberBuffers == 1)
      named_barrier_sync<kThreads>(team + 1);
  }
};

} // namespace cf::llf
