/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What one CTA does for the Laplacian coefficients of level 0, and of level 1 where they are made
 * along: its shared memory, and its teams of threads, each of which makes tiles.
 */
#pragma once

#include "cuda/llf/mma_laplacian_smem.cuh"
#include "cuda/llf/mma_lut_derivative.cuh"
#include "cuda/llf/tiled_fp16.cuh"

namespace cf::llf
{

/* Blocks of a multiprocessor. */
constexpr int kResident = 2;

/* Of a row in the table. */
template <LutKind Kind> constexpr int kMostCopies = kHasDerivative<Kind> ? 8 : LutOf<Kind>::kCopies;

/* A kernel: how often its table holds each row, tiles of components in shared memory, and whether
 * it makes level 1's coefficients along. */
template <LutKind Lut, int Copies, int Buffers, bool Joined> struct LaplacianKernel {
  static constexpr LutKind Kind = Lut;
  static constexpr int kCopies = Copies, kBuffers = Buffers;
  static constexpr bool kJoined = Joined;
  /* Teams that share a large table. */
  static constexpr int kMostTeams =
      kCopies > 1 || Kind == LutKind::kRgbLuma || Kind == LutKind::kU10 ? 2 : 1;
};

/* Level 1's terms are made along with level 0's; RGB's in large pictures only: smaller ones have
 * too few tiles to keep the SMs busy with both. */
template <LutKind Kind> constexpr bool kAlwaysJoined = Kind != LutKind::kRgbLuma;

/* Shared memory, in bytes: the table; and of each team tiles of levels 1 and 2, of level 1's
 * Gaussian, and of pixels. */
template <typename Variant> struct Memory {
  static constexpr LutKind Kind = Variant::Kind;
  static constexpr int kCopies = Variant::kCopies, kBuffers = Variant::kBuffers;
  static constexpr bool kJoined = Variant::kJoined;
  static constexpr int kTable = kGroups * kTableRows<Kind> * kCopies * kGroupBytes;
  static constexpr int kCoarse = (BaseTile::kBytes + 127) / 128 * 128;
  static constexpr int kSecond = kBuffers * kCoarse;
  static constexpr int kSecondBytes = kJoined ? (NextTile::kBytes + 127) / 128 * 128 : 0;
  static constexpr int kGauss = kSecond + kBuffers * kSecondBytes;
  static constexpr int kGaussBytes = kJoined ? kNextX * kNextY * (int)sizeof(float) : 0;
  static constexpr int kPixels = kGauss + kBuffers * kGaussBytes;
  static constexpr int kNumbers = kTileX * kTileY / 128 * kStripBytes<Kind>;
  /* With two, a warp that has ended a tile need not wait for the others. */
  static constexpr int kNumberBuffers = kBuffers == 2 && Kind != LutKind::kRgbLuma ? 2 : 1;
  static constexpr int kTeam = kPixels + kNumberBuffers * kNumbers;

  __host__ __device__ static constexpr int bytes(int teams)
  {
    return kTable + teams * kTeam;
  }
};

/* --- terms --- */

/* Of a strip of pixels. */
template <typename T, LutKind Kind, int Copies>
__device__ __forceinline__ void
make_terms(float (&sum)[4], const Columns<T> &columns, uint32_t table, const uint8_t *strip,
           const uint8_t *low, const HarmonicFrequencies &turn, const Expansion &expansion,
           const OneHotColumns &ones, const LutDerivative<Kind> &slopes)
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
  PictureRows source;
  Tiling tiling;
};

/* What a team of a CTA does: load, compute and store one tile of level 0 after the other. */
template <typename Variant> struct LaplacianTeam {
  static constexpr LutKind Kind = Variant::Kind;
  static constexpr int kCopies = Variant::kCopies;
  using M = Memory<Variant>;
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
  PixelQuad<Kind> quads[2];
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

    strip = table + keep_in_register(strips + LutIndices<Kind, kCopies>::place(lane));
    low = table + (kHasDerivative<Kind> ? keep_in_register(strips + 4 * lane) : 0);
    gauss = reinterpret_cast<const float *>(memory + M::kGauss) + warp * 64 +
            (lane / 16 * 4 + lane / 4 % 4) * 8;
    looked_up = cf::smem_address(table) + lane % kCopies * kGroupBytes +
                lane / 16 * (kTableRows<Kind> * kCopies * kGroupBytes);
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
    if constexpr (Variant::kJoined) {
      second_loader.load(memory + M::kSecond + buffer * M::kSecondBytes, frame.second, next_x >> 1,
                         next_y >> 1);
      load_gauss(gauss_to + buffer * M::kGaussBytes, frame.coarse, next_x >> 1, next_y >> 1,
                 thread);
    }
    cf::cp_async_commit();
  }

  /* Starts to load the next tile: with two buffers its components, and its pixels. */
  __device__ __forceinline__ void load()
  {
    if constexpr (Variant::kBuffers == 2)
      start_components();
    load_eight<Kind>(quads, pixels, frame.source, next_x + column,
                     min(next_y + row, pixels.height - 1));
  }

  __device__ __forceinline__ void wait() const
  {
    await_team<Variant::kMostTeams, kThreads>(team);
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
      make_terms<T, Kind, kCopies>(
          sum, columns.shifted(current * M::kCoarse + k * kStripRows / 2 * T::kPitch), looked_up,
          strip + numbered + k * kWarps * kStripBytes<Kind>,
          low + numbered + k * kWarps * kStripBytes<Kind>, turn, expansion, ones, slopes);
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
    if (lane % 4 / 2 == half)
      store_cells(frame.next_cells, frame.coarse.width, frame.tiling.next_cells_across, from_x,
                  from_y, lane, sum);
  }

  /* The tile that load() has inputs_ready, while the next one is loaded. */
  __device__ __forceinline__ void make_tile()
  {
    const int x = next_x, y = next_y, current = buffer;
    const int numbered = M::kNumberBuffers == 2 ? current * M::kNumbers : 0;

    if constexpr (Variant::kBuffers == 1)
      start_components();
    store_numbers<Kind>(numbers + numbered, pixels, frame.source, quads);
    cf::cp_async_wait<0>();
    wait();
    advance();
    if constexpr (Variant::kBuffers == 2)
      buffer ^= 1;
    if (has_tile())
      load();
    make_level_0(x, y, current, numbered);
    if constexpr (Variant::kJoined)
      make_level_1(x, y, current);
    if constexpr (M::kNumberBuffers == 1)
      wait();
  }
};

} // namespace cf::llf
