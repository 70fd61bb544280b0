/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The first of the coarse levels, made by the blocks that have the others: a kernel of its own
 * would fill the GPU for its few microseconds, and the terms, which need no more than level 2,
 * would begin behind it.
 */
#pragma once

#include "cuda/llf/mma_tile_load.cuh"
#include "cuda/llf/mma_coarse_levels.cuh"

namespace cf::llf
{

/* What it is made of, in tiles; none where it is there already. */
struct FirstLevel {
  Level fine;
  Target target;
  int across, tiles;
};

/* Warps that make a tile's components, two rows each; the others make its Gaussian. Of 3840x2160,
 * whose level 4 has 135 rows, a cluster of 16 then makes four tiles a block. */
constexpr int FIRST_WARPS = 9;

template <int groups>
using FirstTile =
    WithGauss<Shape<groups == 1 ? 1 : 2, 1, FIRST_WARPS, 2>, TAIL_THREADS / 32 - FIRST_WARPS>;

/* Of one tile in shared memory. */
template <int GROUPS> constexpr int FIRST_TILE_BYTES = TileMemory<FirstTile<GROUPS>>::BYTES;

/* The block's tiles, each loaded while the one before is made. They are there, and the memory is
 * free, when all blocks of the cluster have come here. */
template <int GROUPS>
__device__ __forceinline__ void make_first_level(uint8_t *memory, const FirstLevel &first)
{
  using S = FirstTile<GROUPS>;
  using M = TileMemory<S>;
  constexpr int PARTS = GROUPS / S::GROUPS;
  const int tasks = first.tiles * PARTS, step = (int)gridDim.x;
  Target target = first.target;
  int buffer = 0;
  auto place = [&](int task, int *x, int *y) {
    const int tile = task / PARTS, row = tile / first.across;

    target.first_group = task % PARTS * S::GROUPS;
    *x = (tile - row * first.across) * S::COARSE_X;
    *y = row * S::COARSE_Y;
  };
  auto start = [&](int task, uint8_t *to) {
    int x, y;

    place(task, &x, &y);
    start_tile<S>(to, reinterpret_cast<float *>(to + M::GAUSS), first.fine, GROUPS,
                  target.first_group, x, y);
    cf::cp_async_commit();
  };

  if ((int)blockIdx.x < tasks)
    start((int)blockIdx.x, memory);
#pragma unroll 1
  for (int task = (int)blockIdx.x; task < tasks; task += step, buffer ^= 1) {
    uint8_t *const tile = memory + buffer * FIRST_TILE_BYTES<GROUPS>;
    int x, y;

    if (task + step < tasks) {
      start(task + step, memory + (buffer ^ 1) * FIRST_TILE_BYTES<GROUPS>);
      cf::cp_async_wait<1>();
    } else {
      cf::cp_async_wait<0>();
    }
    __syncthreads();
    place(task, &x, &y);
    reduce_tile<S>(tile, target, x, y);
    __syncthreads();
  }
  __threadfence();
}

inline FirstLevel first_level(const Pyramid &pyramid, int level, float top_gain)
{
  const Target target = target_of(pyramid, level, top_gain);
  const int across = blocks(target.coarse.width, FirstTile<2>::COARSE_X);

  return FirstLevel{pyramid.level[level - 1], target, across,
                    across * blocks(target.coarse.height, FirstTile<2>::COARSE_Y)};
}

template <int GROUPS> constexpr int FIRST_LEVEL_BYTES = 2 * FIRST_TILE_BYTES<GROUPS>;

} // namespace cf::llf
