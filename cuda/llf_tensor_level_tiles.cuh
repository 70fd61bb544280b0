/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The terms of levels 1 and up on tensor cores, a tile at a time: none depends on another's.
 */
#pragma once

#include "llf_tensor_cells.cuh"
#include "llf_tensor_up.cuh"

namespace llf
{

/* Low tiles, since small levels have few. */
template <int GROUPS> using LevelTile = Tile<GROUPS, 16>;

/* Levels from `first` on, MOST at the most, and the one behind the last. */
template <int MOST> struct Levels {
  int first, count, tiles;
  int first_waiting; /* tile that needs what may still be in the making */
  int first_tile[MOST], tiles_x[MOST];
  Level level[MOST + 1];
  __half *cells; /* level 1's terms; others have theirs in the collapsed image */
  const unsigned *coarse_begun;
};

/* A lane's words of a pixel. */
template <typename T>
__device__ __forceinline__ const uint32_t *own_words(const Level &own, size_t pixel, int lane)
{
  return reinterpret_cast<const uint32_t *>(own.groups + pixel * T::GROUPS) + lane % 4;
}

/* Levels 3 and up may still be in the making beside this kernel. */
__device__ __forceinline__ void await_coarse_levels(const unsigned *begun)
{
  while (*(volatile const unsigned *)begun == 0) {
  }
  __threadfence();
}

/* The terms of a tile. `memory` has T::BYTES, and `await` waits for all threads of the tile. */
template <typename T, int MOST, typename Await>
__device__ __forceinline__ void make_level_tile(const Levels<MOST> &levels, uint8_t *memory,
                                                int number, int thread, const Expansion &expansion,
                                                const Turn<T::GROUPS> &turn, Await await)
{
  const int lane = thread % 32, warp = thread / 32;
  int index = 0;

  while (index + 1 < levels.count && number >= levels.first_tile[index + 1])
    index++;
  const Level &own = levels.level[index], &coarse = levels.level[index + 1];
  const int tile = number - levels.first_tile[index], tiles_x = levels.tiles_x[index];
  const int tile_x = tile % tiles_x * T::FINE_X, tile_y = tile / tiles_x * T::FINE_Y;

  CoarseLoader<T>(coarse, thread).load(memory, coarse, tile_x, tile_y);
  wait_copies();
  await();

  for (int strip = warp; strip < T::FINE_Y / 2; strip += T::WARPS) {
    const int strip_x = strip % 2, strip_y = strip / 2;
    const int x = tile_x + 32 * strip_x, y = tile_y + 4 * strip_y;
    float sum[4];

    if (x >= own.width || y >= own.height)
      continue;
    const int pixel_x = x + lane / 4 % 4, pixel_y = y + lane / 16;
    const size_t row_0 = (size_t)min(pixel_y, own.height - 1) * own.width;
    const size_t row_1 = (size_t)min(pixel_y + 2, own.height - 1) * own.width;
    /* The strip's first pixels; `offset (j)` pixels on are those of block j. */
    const uint32_t *const groups_0 = own_words<T>(own, row_0 + pixel_x, lane);
    const uint32_t *const groups_1 = own_words<T>(own, row_1 + pixel_x, lane);
    const float *const gauss_0 = own.gauss + row_0 + pixel_x;
    const float *const gauss_1 = own.gauss + row_1 + pixel_x;
    auto make = [&](auto offset) {
      Columns<T> columns(memory, strip_x, strip_y, lane);
      expand_strip<T::GROUPS>(
          sum, expansion, lane, [&](int j, uint32_t *words) { columns.load(words, j); },
          [&](int j, int c, uint32_t *self) {
            self[0] = groups_0[(offset(j) * T::GROUPS + c) * 4];
            self[1] = groups_1[(offset(j) * T::GROUPS + c) * 4];
          },
          [&](int j, uint32_t *rotation) {
            rotate<T::GROUPS>(rotation, turn, gauss_0[offset(j)], gauss_1[offset(j)]);
          });
    };

    if (x + 32 <= own.width)
      make([](int j) { return 4 * j; });
    else
      make([&](int j) { return min(pixel_x + 4 * j, own.width - 1) - pixel_x; });
    if (levels.first + index == 1) {
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
    if (first + i == 1)
      levels.first_waiting = levels.tiles;
  }
  levels.level[levels.count] = pyramid.level[last];
  return levels;
}

} // namespace llf
