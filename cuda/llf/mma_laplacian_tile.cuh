/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The terms of levels 1 and up on tensor cores, a tile at a time: none depends on another's.
 */
#pragma once

#include "cuda/llf/tiled_fp16.cuh"
#include "cuda/common/grid_flags.cuh"
#include "cuda/llf/mma_upsample.cuh"

namespace cf::llf
{

/* Low tiles, since small levels have few. */
using LevelTile = Tile<16>;

constexpr int kMostLevels = CF_LLF_MAX_IMAGES - 1;

/* Levels from `first` on, and the one behind the last. */
struct Levels {
  int first, count, tiles;
  int first_tile[kMostLevels], tiles_x[kMostLevels];
  Level level[kMostLevels + 1];
  __half *cells; /* level 1's terms; others have theirs in the collapsed image */
  const unsigned *coarse_inputs_ready;
};

/* --- a level's own pixels --- */

/* From shared memory, where all of a tile's come at once, in rows that begin in different banks.
 * Few at a time are enough then: blocks are so short that they wait for instructions, too. */
template <typename T> struct StagedPixels {
  static constexpr int kPitch = (T::kFineX * kGroups + 1) * kGroupBytes;
  static constexpr int kGaussPitch = (T::kFineX + 4) * (int)sizeof(float);
  static constexpr int kOwn = (T::kBytes + 127) / 128 * 128, kGauss = kOwn + T::kFineY * kPitch;
  static constexpr int kBytes = kGauss + T::kFineY * kGaussPitch, kTogether = 2;

  const uint8_t *groups, *gauss;

  /* Starts to load them. What is beyond the level's border is some of the level's: a product
   * spreads what a strip has of it there, times zero, and what is no number would stay one. */
  __device__ __forceinline__ static void start(uint8_t *memory, const Level &own, int tile_x,
                                               int tile_y, int thread)
  {
    const uint32_t to = cf::smem_address(memory);
    const int width = own.width - tile_x, height = own.height - tile_y;
    const size_t first = (size_t)tile_y * own.width + tile_x;

    start_pieces<T::kFineX * kGroups>(to + kOwn, kPitch, own.groups + first * kGroups,
                                      own.width * kGroups, width * kGroups, height, thread);
    if (own.width % 4 == 0)
      start_pieces<T::kFineX / 4>(to + kGauss, kGaussPitch,
                                  reinterpret_cast<const uint4 *>(own.gauss + first), own.width / 4,
                                  width / 4, height, thread);
    else
      start_words(to + kGauss, own.gauss + first, own.width, width, height, thread);
  }

  /* kAcross of 16 bytes a row: a thread's are one above the other. */
  template <int Across>
  __device__ __forceinline__ static void start_pieces(uint32_t to, int to_pitch, const uint4 *from,
                                                      int pitch, int width, int height, int thread)
  {
    constexpr int kStep = T::kThreads / Across;
    const int column = thread % Across, row = thread / Across;

    to += row * to_pitch + column * kGroupBytes;
    from += column < width ? column : 0;
#pragma unroll
    for (int k = 0; k < T::kFineY; k += kStep)
      cp_async<16>(to + k * to_pitch, from + (ptrdiff_t)min(row + k, height - 1) * pitch);
  }

  __device__ __forceinline__ static void start_words(uint32_t to, const float *from, int pitch,
                                                     int width, int height, int thread)
  {
#pragma unroll 1
    for (int i = thread; i < T::kFineX * T::kFineY; i += T::kThreads) {
      const int row = i / T::kFineX, column = i % T::kFineX;

      cf::cp_async_zero_fill<4>(
          to + row * kGaussPitch + column * (int)sizeof(float),
          from + (ptrdiff_t)min(row, height - 1) * pitch + (column < width ? column : 0), 4);
    }
  }

  __device__ __forceinline__ StagedPixels(const uint8_t *memory, int x, int y, int lane)
  {
    const int column = x + lane / 4 % 4, row = y + lane / 16;

    groups = memory + kOwn + row * kPitch + column * kGroups * kGroupBytes + lane % 4 * 4;
    gauss = memory + kGauss + row * kGaussPitch + column * (int)sizeof(float);
  }

  __device__ __forceinline__ uint32_t word(int k, int j, int c) const
  {
    return *reinterpret_cast<const uint32_t *>(groups + 2 * k * kPitch +
                                               (4 * j * kGroups + c) * kGroupBytes);
  }

  __device__ __forceinline__ float intensity(int k, int j) const
  {
    return reinterpret_cast<const float *>(gauss + 2 * k * kGaussPitch)[4 * j];
  }
};

/* --- tiles --- */

/* The terms of tile `number`. `memory` has StagedPixels<T>::kBytes. Levels 3 and up may still be in
 * the making `beside` this kernel: every thread polls the flag itself, before any load, since a
 * fence after cp.async would wait for the copies. */
template <typename T>
__device__ __forceinline__ void make_level_tile(const Levels &levels, uint8_t *memory, int number,
                                                const Expansion &expansion,
                                                const HarmonicFrequencies &turn, bool beside)
{
  using Own = StagedPixels<T>;
  const int thread = (int)threadIdx.x;
  const int lane = thread % 32, warp = thread / 32;
  int index = 0;

  while (index + 1 < levels.count && number >= levels.first_tile[index + 1])
    index++;
  const Level &own = levels.level[index], &coarse = levels.level[index + 1];
  const int level = levels.first + index;
  const int tile = number - levels.first_tile[index], tiles_x = levels.tiles_x[index];
  const int tile_x = tile % tiles_x * T::kFineX, tile_y = tile / tiles_x * T::kFineY;

  if (beside && level > 1)
    spin_acquire(levels.coarse_inputs_ready, 1);
  Own::start(memory, own, tile_x, tile_y, thread);
  CoarseLoader<T>(coarse, thread).load(memory, coarse, tile_x, tile_y);
  cp_async_commit_and_wait();
  __syncthreads();

  for (int strip = warp; strip < T::kFineY / 2; strip += T::kWarps) {
    const int strip_x = strip % 2, strip_y = strip / 2;
    const int x = tile_x + 32 * strip_x, y = tile_y + 4 * strip_y;
    float sum[4];

    if (x >= own.width || y >= own.height)
      continue;
    const Own pixels(memory, 32 * strip_x, 4 * strip_y, lane);
    Columns<T> columns(memory, strip_x, strip_y, lane);

    expand_strip<Own::kTogether>(
        sum, expansion, MadeOneHotColumns(lane),
        [&](int j, uint32_t *words) { columns.load(words, j); },
        [&](int j, int c, uint32_t *self) {
          self[0] = pixels.word(0, j, c);
          self[1] = pixels.word(1, j, c);
        },
        [&](int j, uint32_t *rotation) {
          rotate(rotation, turn, pixels.intensity(0, j), pixels.intensity(1, j));
        });
    if (level == 1) {
      store_cells(levels.cells, own.width, cells_across(own.width), x, y, lane, sum);
      continue;
    }
#pragma unroll
    for (int q = 0; q < 4; q++) {
      const int to_x = x + strip_pixel_x(lane, q), to_y = y + strip_pixel_y(lane, q);
      if (to_x < own.width && to_y < own.height)
        own.collapsed[(size_t)to_y * own.width + to_x] = sum[q];
    }
  }
}

/* Levels first .. last - 1. */
template <typename T> Levels levels_of(const Pyramid &pyramid, int first, int last)
{
  Levels levels = {};

  levels.first = first;
  levels.count = last - first;
  levels.cells = pyramid.cells[1];
  levels.coarse_inputs_ready = pyramid.coarse_inputs_ready;
  for (int i = 0; i < levels.count; i++) {
    const Level &level = pyramid.level[first + i];
    const int tiles_x = blocks(level.width, T::kFineX);

    levels.level[i] = level;
    levels.first_tile[i] = levels.tiles;
    levels.tiles_x[i] = tiles_x;
    levels.tiles += tiles_x * blocks(level.height, T::kFineY);
  }
  levels.level[levels.count] = pyramid.level[last];
  return levels;
}

} // namespace cf::llf
