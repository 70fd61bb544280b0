/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A CTA of the kernel for the Laplacian coefficients of levels 0 and 1: its shared memory, and its
 * teams of threads. Teams share the LUT, and compute tiles independently: while one waits for
 * loads, the other computes.
 */
#pragma once

#include "cuda/common/named_barrier.cuh"
#include "cuda/llf/mma_laplacian_lut.cuh"
#include "cuda/llf/tiled_fp16.cuh"

namespace cf::llf
{

constexpr int kTileX = 64, kTileY = 32, kThreads = 256, kWarps = kThreads / 32;

/* A tile of level 0, and the tile of level 1 below it. The components of level 1 that the former
 * needs are those of the latter and a halo. */
using Tile0 = Tile<kTileY, kTileX>;
using Tile1 = Tile<kTileY / 2, kTileX / 2>;

constexpr int kTile1X = kTileX / 2, kTile1Y = kTileY / 2;

/* A strip of the components that T's tile has in shared memory, as the addends of the expansion at
 * their own level. ldmatrix loads two groups of 16 pixels, of a block of 4 x 4. */
template <typename T> struct OwnPixels {
  uint32_t
      from; /* the shared memory address of the pixel that the lane names to ldmatrix, block 0 */
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

  /* The addends for group c of block j; c from 0 on. */
  __device__ __forceinline__ void load(int j, int c, uint32_t *self)
  {
    const uint32_t at = from + (4 * j * kGroups + c) * kGroupBytes;

    if (c % 2 == 0)
      cf::ldmatrix_x4(words, at);
    self[0] = words[c % 2 * 2];
    self[1] = words[c % 2 * 2 + 1];
  }
};

/* The index of a pixel's Gaussian in the memory of a tile of level 1. The eight values that a lane
 * needs for half a strip are adjacent: four of each of its rows. */
__device__ __forceinline__ int gauss_index(int x, int y)
{
  return ((y / 4 * 2 + x / 16) * 8 + y % 2 * 4 + x % 4) * 8 + y / 2 % 2 * 4 + x % 16 / 4;
}

/* Starts the copies of the Gaussian of the tile of level 1 at (x, y), with the border replicated.
 * `to` is the address for the thread's first pixel. */
__device__ __forceinline__ void load_gauss(uint32_t to, const Level &level, int x, int y,
                                           int thread)
{
  constexpr int kStep = kThreads / kTile1X;
  static_assert(kStep % 4 == 0, "a step is whole strips");

  const uint32_t from_x = min(x + thread % kTile1X, level.width - 1);

#pragma unroll
  for (int k = 0; k < kTile1X * kTile1Y / kThreads; k++) {
    const uint32_t from_y = min(y + thread / kTile1X + k * kStep, level.height - 1);

    cf::cp_async_zero_fill<4>(to + k * kStep * kTile1X * (int)sizeof(float),
                              level.gauss + (from_y * (uint32_t)level.width + from_x), 4);
  }
}

/* ---- Shared memory ---- */

/* How often the LUT holds each row, and how often if shared memory is small. */
template <LutKind Kind> constexpr int kMostCopies = kHasDerivative<Kind> ? 8 : LutOf<Kind>::kCopies;
template <LutKind Kind> constexpr int kFewCopies = kMostCopies<Kind> > 2 ? 2 : 1;

/* The teams of a CTA, if there is room in shared memory. */
constexpr int kMostTeams = 2;

/* Shared memory in bytes: the LUT, then each team's memory. That has two buffers each for
 * components of level 1, components of level 2, and level 1's Gaussian, then LUT indices of level
 * 0. Offsets are from the team's first byte. */
template <LutKind Kind, int Copies> struct Memory {
  static constexpr int kLutBytes = kGroups * kTableRows<Kind> * Copies * kGroupBytes;
  static constexpr int kLevel1Bytes = (Tile0::kBytes + 127) / 128 * 128;
  static constexpr int kLevel2Offset = 2 * kLevel1Bytes;
  static constexpr int kLevel2Bytes = (Tile1::kBytes + 127) / 128 * 128;
  static constexpr int kGaussOffset = kLevel2Offset + 2 * kLevel2Bytes;
  static constexpr int kGaussBytes = kTile1X * kTile1Y * (int)sizeof(float);
  static constexpr int kIndicesOffset = kGaussOffset + 2 * kGaussBytes;
  static constexpr int kIndicesBytes = kTileX * kTileY / 128 * kStripBytes<Kind>;
  /* With two buffers a warp that has ended a tile need not wait for the others. */
  static constexpr int kIndexBuffers = Kind != LutKind::kRgbLuma ? 2 : 1;
  static constexpr int kTeamBytes = kIndicesOffset + kIndexBuffers * kIndicesBytes;

  __host__ __device__ static constexpr int bytes(int teams)
  {
    return kLutBytes + teams * kTeamBytes;
  }
};

/* ---- Coefficients ---- */

/* The coefficients of a strip of level 0. The own components of its pixels cancel. `indices`
 * and `low` point to the lane's LUT indices, for rotations and for low bits. */
template <typename T, LutKind Kind, int Copies>
__device__ __forceinline__ void
compute_strip_0(float (&sum)[4], const Columns<T> &columns, uint32_t table, const uint8_t *indices,
                const uint8_t *low, const Expansion &expansion, const OneHotColumns &ones,
                const LutDerivative<Kind> &derivative)
{
  const LutIndices<Kind, Copies> rows(indices);
  auto rotation_of = [&](int j, uint32_t *rotation) {
    const uint32_t row = rows.row_of(j, table);

    uint32_t words[4];
    cf::ldmatrix_x4(words, row);
#pragma unroll
    for (int k = 0; k < 4; k++)
      rotation[k] = words[k];
  };

  auto no_addend = [](int, int, uint32_t *self) { self[0] = self[1] = 0; };

  if constexpr (kHasDerivative<Kind>) {
    DerivativeSums<Kind> sums;

    expand_pairs<T, 8>(expansion, columns, no_addend, rotation_of,
                       [&](int j, const uint32_t *components, const uint32_t *rotation) {
                         sums.add(j, components, rotation, derivative);
                       });
    sums.values(sum, low);
  } else {
    RotatedSums sums(sum);

    expand_pairs<T, 8>(expansion, columns, no_addend, rotation_of,
                       [&](int j, const uint32_t *components, const uint32_t *rotation) {
                         sums.add(j, components, rotation, ones.pair_of(j));
                       });
  }
}

/* The coefficients of half a strip of level 1: the lanes of its two patches have them. `gauss`
 * points to the lane's eight values. */
__device__ __forceinline__ void compute_half_strip_1(float (&sum)[4], const Columns<Tile1> &columns,
                                                     OwnPixels<Tile0> pixels, const float *gauss,
                                                     const HarmonicFrequencies &turn,
                                                     const Expansion &expansion,
                                                     const OneHotColumns &ones)
{
  const float4 first_row = *reinterpret_cast<const float4 *>(gauss);
  const float4 second_row = *reinterpret_cast<const float4 *>(gauss + 4);
  RotatedSums sums(sum);

  expand_pairs<Tile1, 4>(
      expansion, columns, [&](int j, int c, uint32_t *self) { pixels.load(j, c, self); },
      [&](int j, uint32_t *rotation) {
        rotate(rotation, turn, (&first_row.x)[j], (&second_row.x)[j]);
      },
      [&](int j, const uint32_t *components, const uint32_t *rotation) {
        sums.add(j, components, rotation, ones.pair_of(j));
      });
}

/* ---- The kernel ---- */

/* The distance from a tile to the one `tiles` before it, in pixels: across, and in rows of tiles.
 */
struct Step {
  int x, y;

  Step(int tiles, int across) : x(tiles % across * kTileX), y(tiles / across * kTileY)
  {
  }
};

/* The tiles of a picture, in all and across; the step from a team's tile to its next one; and the
 * patches across of the coefficients (tiled_fp16.cuh). */
struct Tiling {
  int tiles, across;
  Step step;
  int patches_across_0, patches_across_1;
};

/* The kernel's argument, besides the picture's format. */
struct LaplacianFrame {
  Level level_1, level_2;
  __half *coefficients_0, *coefficients_1;
  PictureWords picture;
  Tiling tiling;
};

/* A team of a CTA: loads, computes and stores one tile of level 0, and its tile of level 1, after
 * the other. */
template <LutKind Kind, int Copies> struct LaplacianTeam {
  using M = Memory<Kind, Copies>;
  using T = Tile0;
  static constexpr int kStrips = kTileY / 2 / kWarps;
  static constexpr int kStripRows = 2 * kWarps; /* from one strip of a warp to its next one */
  static_assert(kTileX * kTileY == 8 * kThreads, "eight pixels per thread");

  const Pixels &pixels;
  const LaplacianFrame &frame;
  uint8_t *memory; /* the team's */
  int team, thread, lane, warp;
  int column, row; /* the first of the thread's eight pixels to load, in a tile */
  Expansion expansion;
  OneHotColumns ones;
  HarmonicFrequencies turn;
  LutDerivative<Kind> derivative;
  CoarseLoader<T> loader_1;
  CoarseLoader<Tile1> loader_2;
  /* Where the lane reads, in buffer 0 and for the warp's first strip. Level 0: level 1's
   * components, LUT indices and their low bits. Level 1: its own components, level 2's, and the
   * Gaussian. */
  Columns<T> columns_0;
  OwnPixels<T> own_pixels;
  Columns<Tile1> columns_1;
  const uint8_t *indices_from, *low_from;
  const float *gauss_from;
  uint32_t table, gauss_to; /* the lane's part of the LUT; where it loads Gaussians to */
  uint32_t word_0, word_1;  /* the first word that the lane stores, of the tile at (0, 0) */
  uint8_t *indices_to;
  typename LutOf<Kind>::Quad quads[2]; /* the thread's eight pixels of the next tile */
  int buffer = 0, next_x, next_y;      /* the next tile, and its buffer */

  /* `cta_memory`: the CTA's shared memory. */
  __device__ __forceinline__ LaplacianTeam(const Pixels &pixels, const Series &series,
                                           const LaplacianFrame &frame, uint8_t *cta_memory)
      : pixels(pixels), frame(frame),
        memory(cta_memory + M::kLutBytes + threadIdx.x / kThreads * M::kTeamBytes),
        team(threadIdx.x / kThreads), thread(threadIdx.x % kThreads), lane(thread % 32),
        warp(thread / 32), column(thread % (kTileX / 8) * 8), row(thread / (kTileX / 8)),
        expansion(lane), ones(lane), turn(series, lane),
        /* For 1024 steps of the lowest bit: DerivativeSums divides by 1024. */
        derivative(turn, 1024.0f * intensity_of_row<Kind>(pixels, 1.0f), lane),
        loader_1(memory, thread), loader_2(memory + M::kLevel2Offset, thread),
        columns_0(memory, warp % 2, warp / 2, lane), own_pixels(memory, warp / 2, lane),
        columns_1(memory + M::kLevel2Offset, 0, warp / 2, lane)
  {
    /* Of level 1 there are half as many strips as warps. */
    const int half = warp % 2;
    const int first_strip =
        team * M::kTeamBytes + M::kLutBytes + M::kIndicesOffset + warp * kStripBytes<Kind>;

    indices_from =
        cta_memory + keep_in_register(first_strip + LutIndices<Kind, Copies>::place(lane));
    low_from = cta_memory + (kHasDerivative<Kind> ? keep_in_register(first_strip + 4 * lane) : 0);
    gauss_from = reinterpret_cast<const float *>(
        cta_memory +
        keep_in_register(M::kLutBytes + team * M::kTeamBytes + M::kGaussOffset +
                         (warp * 64 + (lane / 16 * 4 + lane / 4 % 4) * 8) * (int)sizeof(float)));
    table = keep_in_register(cf::smem_address(cta_memory) + lane % Copies * kGroupBytes +
                             lane / 16 * (kTableRows<Kind> * Copies * kGroupBytes));
    word_0 = keep_in_register(
        first_word_of_lane(lane) +
        first_word_of_patch(frame.tiling.patches_across_0, 32 * (warp % 2), 4 * (warp / 2)));
    word_1 = keep_in_register(
        first_word_of_lane(lane) +
        first_word_of_patch(frame.tiling.patches_across_1, 16 * half, 4 * (warp / 2)));
    gauss_to =
        keep_in_register(cf::smem_address(memory + M::kGaussOffset) +
                         gauss_index(thread % kTile1X, thread / kTile1X) * (int)sizeof(float));
    indices_to =
        cta_memory + keep_in_register(M::kLutBytes + team * M::kTeamBytes + M::kIndicesOffset +
                                      index_offset<Kind, kTileX>(column, row));
    columns_0.from = keep_in_register(columns_0.from);
    columns_1.from = keep_in_register(columns_1.from + half * 4 * Columns<Tile1>::kPairBytes);
    own_pixels.from = keep_in_register(own_pixels.from + half * 16 * kGroups * kGroupBytes);
  }

  /* Tiles are computed from the last to the first: what earlier kernels wrote last is still in the
   * L2 cache. */
  __device__ __forceinline__ void place_first_tile()
  {
    const Tiling &tiling = frame.tiling;
    const int tile = tiling.tiles - 1 - ((int)blockIdx.x + team * (int)gridDim.x);
    const int first_row = tile / tiling.across;

    next_x = (tile - first_row * tiling.across) * kTileX;
    next_y = tile < 0 ? -kTileY : first_row * kTileY;
  }

  __device__ __forceinline__ bool has_tile() const
  {
    return next_y >= 0;
  }

  /* Moves on to the team's next tile; there is none if next_y is below 0. */
  __device__ __forceinline__ void advance()
  {
    next_x -= frame.tiling.step.x;
    next_y -= frame.tiling.step.y;
    if (next_x < 0) {
      next_x += frame.tiling.across * kTileX;
      next_y -= kTileY;
    }
  }

  __device__ __forceinline__ void start_copies()
  {
    loader_1.load(buffer * M::kLevel1Bytes, frame.level_1, next_x, next_y);
    loader_2.load(buffer * M::kLevel2Bytes, frame.level_2, next_x >> 1, next_y >> 1);
    load_gauss(gauss_to + buffer * M::kGaussBytes, frame.level_1, next_x >> 1, next_y >> 1, thread);
    cf::cp_async_commit();
  }

  /* Starts to load the next tile: the levels to shared memory, the picture to registers. */
  __device__ __forceinline__ void load()
  {
    start_copies();
    load_eight<Kind>(quads, pixels, frame.picture, next_x + column,
                     min(next_y + row, pixels.height - 1));
  }

  /* The coefficients of level 0 of the tile at (x, y), which is in buffer `current`. `index_bytes`:
   * from the first buffer of LUT indices to the tile's. */
  __device__ __forceinline__ void compute_level_0(int x, int y, int current, int index_bytes)
  {
#pragma unroll
    for (int k = 0; k < kStrips; k++) {
      float sum[4];

      compute_strip_0<T, Kind, Copies>(
          sum, columns_0.shifted(current * M::kLevel1Bytes + k * kStripRows / 2 * T::kPitch), table,
          indices_from + index_bytes + k * kWarps * kStripBytes<Kind>,
          low_from + index_bytes + k * kWarps * kStripBytes<Kind>, expansion, ones, derivative);
      store_patch(
          frame.coefficients_0,
          word_0 + first_word_of_patch(frame.tiling.patches_across_0, x, y + k * kStripRows), sum);
    }
  }

  /* The coefficients of level 1 of the tile. */
  __device__ __forceinline__ void compute_level_1(int x, int y, int current)
  {
    float sum[4];

    compute_half_strip_1(sum, columns_1.shifted(current * M::kLevel2Bytes),
                         own_pixels.shifted(current * M::kLevel1Bytes),
                         gauss_from + current * (M::kGaussBytes / 4), turn, expansion, ones);
    if (lane % 4 < 2)
      store_patch(frame.coefficients_1,
                  word_1 + first_word_of_patch(frame.tiling.patches_across_1, x >> 1, y >> 1), sum);
  }

  /* Computes the tile that load() has started to load, and starts to load the next one meanwhile.
   * The barrier makes the tile's copies and LUT indices visible to the team; with one buffer of LUT
   * indices another one keeps them until all warps have read them. */
  __device__ __forceinline__ void compute_tile()
  {
    const int x = next_x, y = next_y, current = buffer;
    const int index_bytes = M::kIndexBuffers == 2 ? current * M::kIndicesBytes : 0;

    store_indices<Kind>(indices_to + index_bytes, pixels, frame.picture, quads);
    cf::cp_async_wait<0>();
    named_barrier_sync<kThreads>(team + 1);
    advance();
    buffer ^= 1;
    if (has_tile())
      load();
    /* Level 1 first: products of level 0 need not wait for its sines. */
    compute_level_1(x, y, current);
    compute_level_0(x, y, current, index_bytes);
    if constexpr (M::kIndexBuffers == 1)
      named_barrier_sync<kThreads>(team + 1);
  }
};

} // namespace cf::llf
