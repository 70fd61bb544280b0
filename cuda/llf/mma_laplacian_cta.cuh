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
constexpr int RESIDENT = 2;

/* Of a row in the table. */
template <Key key> constexpr int MOST_COPIES = HAS_SLOPES<key> ? 8 : KeyOf<key>::COPIES;

/* A kernel: how often its table holds each row, tiles of components in shared memory, and whether
 * it makes level 1's coefficients along. */
template <Key kind, int copies, int buffers, bool joined> struct Kernel {
  static constexpr Key key = kind;
  static constexpr int COPIES = copies, BUFFERS = buffers;
  static constexpr bool JOINED = joined;
  /* Teams that share a large table. */
  static constexpr int MOST_TEAMS = COPIES > 1 || key == Key::LUMA || key == Key::WORD ? 2 : 1;
};

/* Level 1's terms are made along with level 0's. RGB's are in large pictures only: at 1920x1080 a
 * frame takes 93 us so, and 81 with a kernel of their own. */
template <Key key> constexpr bool ALWAYS_JOINED = key != Key::LUMA;

/* Shared memory, in bytes: the table; and of each team tiles of levels 1 and 2, of level 1's
 * Gaussian, and of pixels. */
template <typename Variant> struct Memory {
  static constexpr Key key = Variant::key;
  static constexpr int COPIES = Variant::COPIES, BUFFERS = Variant::BUFFERS;
  static constexpr bool JOINED = Variant::JOINED;
  static constexpr int TABLE = kGroups * TABLE_ROWS<key> * COPIES * GROUP_BYTES;
  static constexpr int COARSE = (BaseTile::BYTES + 127) / 128 * 128;
  static constexpr int SECOND = BUFFERS * COARSE;
  static constexpr int SECOND_BYTES = JOINED ? (NextTile::BYTES + 127) / 128 * 128 : 0;
  static constexpr int GAUSS = SECOND + BUFFERS * SECOND_BYTES;
  static constexpr int GAUSS_BYTES = JOINED ? NEXT_X * NEXT_Y * (int)sizeof(float) : 0;
  static constexpr int PIXELS = GAUSS + BUFFERS * GAUSS_BYTES;
  static constexpr int NUMBERS = TILE_X * TILE_Y / 128 * STRIP_BYTES<key>;
  /* With two, a warp that has ended a tile need not wait for the others. */
  static constexpr int NUMBER_BUFFERS = BUFFERS == 2 && key != Key::LUMA ? 2 : 1;
  static constexpr int TEAM = PIXELS + NUMBER_BUFFERS * NUMBERS;

  __host__ __device__ static constexpr int bytes(int teams)
  {
    return TABLE + teams * TEAM;
  }
};

/* --- terms --- */

/* Of a strip of pixels. */
template <typename T, Key key, int COPIES>
__device__ __forceinline__ void make_terms(float (&sum)[4], const Columns<T> &columns,
                                           uint32_t table, const uint8_t *strip, const uint8_t *low,
                                           const Turn &turn, const Expansion &expansion,
                                           const Ones &ones, const Slopes<key> &slopes)
{
  const Numbers<key, COPIES> numbers(strip);
  auto rotation_of = [&](int j, uint32_t *rotation) {
    const uint32_t row = numbers.row_of(j, table);

    uint32_t words[4];
    cf::ldmatrix_x4(words, row);
#pragma unroll
    for (int k = 0; k < 4; k++)
      rotation[k] = words[k];
  };

  auto none = [](int, int, uint32_t *self) { self[0] = self[1] = 0; };

  if constexpr (HAS_SLOPES<key>) {
    SlopedSums<key> sums;

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
                                                const Turn &turn, const Expansion &expansion,
                                                const HalfOnes &ones)
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

  Step(int tiles, int across) : x(tiles % across * TILE_X), y(tiles / across * TILE_Y)
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
  static constexpr Key key = Variant::key;
  static constexpr int COPIES = Variant::COPIES;
  using M = Memory<Variant>;
  using T = BaseTile;
  using Next = Columns<NextTile>;
  static constexpr int STRIPS = TILE_Y / 2 / WARPS;
  static constexpr int STRIP_ROWS = 2 * WARPS; /* from one strip of a warp to its next */
  static_assert(TILE_X * TILE_Y == 8 * THREADS, "eight pixels a thread");

  const Pixels &pixels;
  const Frame &frame;
  uint8_t *memory; /* the team's */
  int team, thread, lane, warp;
  int strip_x, strip_y; /* of the warp's first strip in a tile */
  int column, row;      /* of the thread's eight pixels in a tile */
  Expansion expansion;
  Ones ones;
  Turn turn;
  Slopes<key> slopes;
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
  Four<key> fours[2];
  int buffer = 0, next_x, next_y;

  /* `table` is the CTA's shared memory. */
  __device__ __forceinline__ LaplacianTeam(const Pixels &pixels, const Series &series,
                                           const Frame &frame, uint8_t *table)
      : pixels(pixels), frame(frame), memory(table + M::TABLE + threadIdx.x / THREADS * M::TEAM),
        team(threadIdx.x / THREADS), thread(threadIdx.x % THREADS), lane(thread % 32),
        warp(thread / 32), strip_x(32 * (warp % 2)), strip_y(4 * (warp / 2)),
        column(thread % (TILE_X / 8) * 8), row(thread / (TILE_X / 8)), expansion(lane), ones(lane),
        turn(series, lane),
        /* 1024 times as much as the lowest bit, which counts so much less. */
        slopes(turn, 1024.0f * intensity_of_row<key>(pixels, 1.0f), lane),
        loader(frame.coarse, thread), second_loader(frame.second, thread), next(warp / 2),
        half(warp % 2), columns(memory, warp % 2, warp / 2, lane), own_pixels(memory, next, lane),
        next_columns(memory + M::SECOND, 0, next, lane)
  {
    const int strips = team * M::TEAM + M::TABLE + M::PIXELS + warp * STRIP_BYTES<key>;

    strip = table + keep_in_register(strips + Numbers<key, COPIES>::place(lane));
    low = table + (HAS_SLOPES<key> ? keep_in_register(strips + 4 * lane) : 0);
    gauss = reinterpret_cast<const float *>(memory + M::GAUSS) + warp * 64 +
            (lane / 16 * 4 + lane / 4 % 4) * 8;
    looked_up = cf::smem_address(table) + lane % COPIES * GROUP_BYTES +
                lane / 16 * (TABLE_ROWS<key> * COPIES * GROUP_BYTES);
    gauss_to =
        keep_in_register(cf::smem_address(memory + M::GAUSS) +
                         place_of_gauss(thread % NEXT_X, thread / NEXT_X) * (int)sizeof(float));
    numbers = table + keep_in_register(M::TABLE + team * M::TEAM + M::PIXELS +
                                       place_of_number<key, TILE_X>(column, row));
    columns.from = keep_in_register(columns.from);
    next_columns.from = keep_in_register(next_columns.from + half * 4 * Next::PAIR_BYTES);
    own_pixels.from = keep_in_register(own_pixels.from + half * 16 * kGroups * GROUP_BYTES);
  }

  /* Tiles go from the last to the first: what the kernel before wrote last is still in the cache.
   */
  __device__ __forceinline__ void place_first_tile()
  {
    const Tiling &tiling = frame.tiling;
    const int tile = tiling.tiles - 1 - ((int)blockIdx.x + team * (int)gridDim.x);
    const int first_row = (int)(((float)tile + 0.5f) / (float)tiling.across);

    next_x = (tile - first_row * tiling.across) * TILE_X;
    next_y = tile < 0 ? -TILE_Y : first_row * TILE_Y;
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
      next_x += frame.tiling.across * TILE_X;
      next_y -= TILE_Y;
    }
  }

  __device__ __forceinline__ void start_components()
  {
    loader.load(memory + buffer * M::COARSE, frame.coarse, next_x, next_y);
    if constexpr (Variant::JOINED) {
      second_loader.load(memory + M::SECOND + buffer * M::SECOND_BYTES, frame.second, next_x >> 1,
                         next_y >> 1);
      load_gauss(gauss_to + buffer * M::GAUSS_BYTES, frame.coarse, next_x >> 1, next_y >> 1,
                 thread);
    }
    cf::cp_async_commit();
  }

  /* Starts to load the next tile: with two buffers its components, and its pixels. */
  __device__ __forceinline__ void load()
  {
    if constexpr (Variant::BUFFERS == 2)
      start_components();
    load_eight<key>(fours, pixels, frame.source, next_x + column,
                    min(next_y + row, pixels.height - 1));
  }

  __device__ __forceinline__ void wait() const
  {
    await_team<Variant::MOST_TEAMS, THREADS>(team);
  }

  /* Coefficients of level 0 of the tile at (x, y), whose components are in buffer `current`. */
  __device__ __forceinline__ void make_level_0(int x, int y, int current, int numbered)
  {
    const uint32_t first_word =
        first_word_in_cells(frame.tiling.cells_across, x + strip_x, y + strip_y, lane);

#pragma unroll
    for (int k = 0; k < STRIPS; k++) {
      const int from_x = x + strip_x, from_y = y + strip_y + k * STRIP_ROWS;
      float sum[4];

      if (from_x >= pixels.width || from_y >= pixels.height)
        continue;
      make_terms<T, key, COPIES>(
          sum, columns.shifted(current * M::COARSE + k * STRIP_ROWS / 2 * T::PITCH), looked_up,
          strip + numbered + k * WARPS * STRIP_BYTES<key>,
          low + numbered + k * WARPS * STRIP_BYTES<key>, turn, expansion, ones, slopes);
      if (from_x + CELL_X * (lane % 4) < pixels.width)
        store_cell(frame.cells,
                   first_word +
                       k * STRIP_ROWS / CELL_Y * frame.tiling.cells_across * (CELL_HALVES / 2),
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
    make_next_terms(sum, next_columns.shifted(current * M::SECOND_BYTES),
                    own_pixels.shifted(current * M::COARSE), gauss + current * (M::GAUSS_BYTES / 4),
                    turn, expansion, HalfOnes{ones, half == 1});
    if (lane % 4 / 2 == half)
      store_cells(frame.next_cells, frame.coarse.width, frame.tiling.next_cells_across, from_x,
                  from_y, lane, sum);
  }

  /* The tile that load() has begun, while the next one is loaded. */
  __device__ __forceinline__ void make_tile()
  {
    const int x = next_x, y = next_y, current = buffer;
    const int numbered = M::NUMBER_BUFFERS == 2 ? current * M::NUMBERS : 0;

    if constexpr (Variant::BUFFERS == 1)
      start_components();
    store_numbers<key>(numbers + numbered, pixels, frame.source, fours);
    cf::cp_async_wait<0>();
    wait();
    advance();
    if constexpr (Variant::BUFFERS == 2)
      buffer ^= 1;
    if (has_tile())
      load();
    make_level_0(x, y, current, numbered);
    if constexpr (Variant::JOINED)
      make_level_1(x, y, current);
    if constexpr (M::NUMBER_BUFFERS == 1)
      wait();
  }
};

} // namespace cf::llf
