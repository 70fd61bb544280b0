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
template <int GROUPS> using LevelTile = Tile<GROUPS, 16>;

/* Levels from `first` on, MOST at the most, and the one behind the last. */
template <int MOST> struct Levels {
  int first, count, tiles;
  int first_tile[MOST], tiles_x[MOST];
  Level level[MOST + 1];
  __half *cells; /* level 1's terms; others have theirs in the collapsed image */
  const unsigned *coarse_begun;
};

/* --- a level's own pixels --- */

/* From memory, as a strip comes to them: for kernels that stay, with tiles that are in the L2
 * cache. The others take 1.3 us longer so at 3840x2160. */
template <typename T> struct DirectPixels {
  static constexpr int BYTES = T::BYTES, TOGETHER = 8;

  const uint32_t *groups[2];
  const float *gauss[2];
  int most; /* pixels to the level's last one */

  __device__ __forceinline__ static void start(uint8_t *, const Level &, int, int, int)
  {
  }

  /* Those of a lane in the strip at (`x`, `y`) of the tile. */
  __device__ __forceinline__ DirectPixels(const uint8_t *, const Level &own, int tile_x, int tile_y,
                                          int x, int y, int lane)
  {
    const int column = tile_x + x + lane / 4 % 4;

#pragma unroll
    for (int k = 0; k < 2; k++) {
      const int row = min(tile_y + y + lane / 16 + 2 * k, own.height - 1);
      const size_t pixel = (size_t)row * own.width + column;

      groups[k] = reinterpret_cast<const uint32_t *>(own.groups + pixel * T::GROUPS) + lane % 4;
      gauss[k] = own.gauss + pixel;
    }
    most = own.width - 1 - column;
  }

  __device__ __forceinline__ uint32_t word(int k, int j, int c) const
  {
    return groups[k][(min(4 * j, most) * T::GROUPS + c) * 4];
  }

  __device__ __forceinline__ float intensity(int k, int j) const
  {
    return gauss[k][min(4 * j, most)];
  }
};

/* From shared memory, where all of a tile's come at once, in rows that begin in different banks.
 * Few at a time are enough then: blocks are so short that they wait for instructions, too. */
template <typename T> struct StagedPixels {
  static constexpr int PITCH = (T::FINE_X * T::GROUPS + 1) * GROUP_BYTES;
  static constexpr int GAUSS_PITCH = (T::FINE_X + 4) * (int)sizeof(float);
  static constexpr int OWN = (T::BYTES + 127) / 128 * 128, GAUSS = OWN + T::FINE_Y * PITCH;
  static constexpr int BYTES = GAUSS + T::FINE_Y * GAUSS_PITCH, TOGETHER = 2;

  const uint8_t *groups, *gauss;

  /* Starts to load them. What is beyond the level's border is some of the level's: a product
   * spreads what a strip has of it there, times zero, and what is no number would stay one. */
  __device__ __forceinline__ static void start(uint8_t *memory, const Level &own, int tile_x,
                                               int tile_y, int thread)
  {
    const uint32_t to = cf::smem_address(memory);
    const int width = own.width - tile_x, height = own.height - tile_y;
    const size_t first = (size_t)tile_y * own.width + tile_x;

    start_pieces<T::FINE_X * T::GROUPS>(to + OWN, PITCH, own.groups + first * T::GROUPS,
                                        own.width * T::GROUPS, width * T::GROUPS, height, thread);
    if (own.width % 4 == 0)
      start_pieces<T::FINE_X / 4>(to + GAUSS, GAUSS_PITCH,
                                  reinterpret_cast<const uint4 *>(own.gauss + first), own.width / 4,
                                  width / 4, height, thread);
    else
      start_words(to + GAUSS, own.gauss + first, own.width, width, height, thread);
  }

  /* ACROSS of 16 bytes a row: a thread's are one above the other. */
  template <int ACROSS>
  __device__ __forceinline__ static void start_pieces(uint32_t to, int to_pitch, const uint4 *from,
                                                      int pitch, int width, int height, int thread)
  {
    constexpr int STEP = T::THREADS / ACROSS;
    const int column = thread % ACROSS, row = thread / ACROSS;

    to += row * to_pitch + column * GROUP_BYTES;
    from += column < width ? column : 0;
#pragma unroll
    for (int k = 0; k < T::FINE_Y; k += STEP)
      cp_async<16>(to + k * to_pitch, from + (ptrdiff_t)min(row + k, height - 1) * pitch);
  }

  __device__ __forceinline__ static void start_words(uint32_t to, const float *from, int pitch,
                                                     int width, int height, int thread)
  {
#pragma unroll 1
    for (int i = thread; i < T::FINE_X * T::FINE_Y; i += T::THREADS) {
      const int row = i / T::FINE_X, column = i % T::FINE_X;

      cf::cp_async_zero_fill<4>(
          to + row * GAUSS_PITCH + column * (int)sizeof(float),
          from + (ptrdiff_t)min(row, height - 1) * pitch + (column < width ? column : 0), 4);
    }
  }

  __device__ __forceinline__ StagedPixels(const uint8_t *memory, const Level &, int, int, int x,
                                          int y, int lane)
  {
    const int column = x + lane / 4 % 4, row = y + lane / 16;

    groups = memory + OWN + row * PITCH + column * T::GROUPS * GROUP_BYTES + lane % 4 * 4;
    gauss = memory + GAUSS + row * GAUSS_PITCH + column * (int)sizeof(float);
  }

  __device__ __forceinline__ uint32_t word(int k, int j, int c) const
  {
    return *reinterpret_cast<const uint32_t *>(groups + 2 * k * PITCH +
                                               (4 * j * T::GROUPS + c) * GROUP_BYTES);
  }

  __device__ __forceinline__ float intensity(int k, int j) const
  {
    return reinterpret_cast<const float *>(gauss + 2 * k * GAUSS_PITCH)[4 * j];
  }
};

/* --- tiles --- */

/* The terms of a tile. `memory` has Own<T>::BYTES, `await` waits for all threads of the tile.
 * Levels 3 and up may still be in the making `beside` this kernel. To ask for them first, and each
 * thread for itself, takes RGBA 3840x2160 from 167.8 us a frame to 166.1: a thread that asked for
 * all, between the loads of the one level and of the other, waited for the first behind its fence.
 */
template <typename T, template <typename> class Own, int MOST, typename Await>
__device__ __forceinline__ void
make_level_tile(const Levels<MOST> &levels, uint8_t *memory, int number, int thread,
                const Expansion &expansion, const Turn<T::GROUPS> &turn, bool beside, Await await)
{
  const int lane = thread % 32, warp = thread / 32;
  int index = 0;

  while (index + 1 < levels.count && number >= levels.first_tile[index + 1])
    index++;
  const Level &own = levels.level[index], &coarse = levels.level[index + 1];
  const int level = levels.first + index;
  const int tile = number - levels.first_tile[index], tiles_x = levels.tiles_x[index];
  const int tile_x = tile % tiles_x * T::FINE_X, tile_y = tile / tiles_x * T::FINE_Y;

  if (beside && level > 1)
    spin_acquire(levels.coarse_begun, 1);
  Own<T>::start(memory, own, tile_x, tile_y, thread);
  CoarseLoader<T>(coarse, thread).load(memory, coarse, tile_x, tile_y);
  cp_async_commit_and_wait();
  await();

  for (int strip = warp; strip < T::FINE_Y / 2; strip += T::WARPS) {
    const int strip_x = strip % 2, strip_y = strip / 2;
    const int x = tile_x + 32 * strip_x, y = tile_y + 4 * strip_y;
    float sum[4];

    if (x >= own.width || y >= own.height)
      continue;
    const Own<T> pixels(memory, own, tile_x, tile_y, 32 * strip_x, 4 * strip_y, lane);
    Columns<T> columns(memory, strip_x, strip_y, lane);

    expand_strip<T::GROUPS, Own<T>::TOGETHER>(
        sum, expansion, MadeOnes(lane), [&](int j, uint32_t *words) { columns.load(words, j); },
        [&](int j, int c, uint32_t *self) {
          self[0] = pixels.word(0, j, c);
          self[1] = pixels.word(1, j, c);
        },
        [&](int j, uint32_t *rotation) {
          rotate<T::GROUPS>(rotation, turn, pixels.intensity(0, j), pixels.intensity(1, j));
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
template <typename T, int MOST> Levels<MOST> levels_of(const Pyramid &pyramid, int first, int last)
{
  Levels<MOST> levels = {};

  levels.first = first;
  levels.count = last - first;
  levels.cells = pyramid.cells[1];
  levels.coarse_begun = pyramid.coarse_begun;
  for (int i = 0; i < levels.count; i++) {
    const Level &level = pyramid.level[first + i];
    const int tiles_x = blocks(level.width, T::FINE_X);

    levels.level[i] = level;
    levels.first_tile[i] = levels.tiles;
    levels.tiles_x[i] = tiles_x;
    levels.tiles += tiles_x * blocks(level.height, T::FINE_Y);
  }
  levels.level[levels.count] = pyramid.level[last];
  return levels;
}

} // namespace cf::llf
