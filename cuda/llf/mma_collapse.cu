/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The terms of all coarse levels add up to level 3, which is where the last kernel begins. Each
 * block expands what its pixels need by itself.
 */
#include "cuda/llf/halo_region.cuh"

namespace cf::llf
{
namespace
{

constexpr int TILE_X = 64, TILE_Y = 8, THREADS = 256;

struct Collapse {
  int last; /* the terms of this level are its collapsed image */
  float *collapsed;
  int offset[CF_LLF_MAX_IMAGES], pitch[CF_LLF_MAX_IMAGES]; /* in shared memory, floats */
  int width[CF_LLF_MAX_IMAGES], height[CF_LLF_MAX_IMAGES];
  const float *terms[CF_LLF_MAX_IMAGES];
};

__global__ void __launch_bounds__(THREADS)
    collapse_kernel(const __grid_constant__ Collapse collapse)
{
  extern __shared__ __align__(16) float memory[];
  const Region own = {(int)blockIdx.x * TILE_X, (int)blockIdx.y * TILE_Y, TILE_X, TILE_Y};
  auto part_of = [&](int level) {
    const int steps = level - COLLAPSED_LEVEL;
    return Part{memory + collapse.offset[level], collapse.pitch[level], collapse.width[level],
                collapse.height[level], steps > 0 ? coarser(own, steps) : own};
  };

  pdl_trigger_then_wait();
#pragma unroll 1
  for (int level = COLLAPSED_LEVEL; level <= collapse.last; level++)
    load_part<THREADS>(part_of(level), collapse.terms[level]);
  cf::cp_async_commit();
  cf::cp_async_wait<0>();
  __syncthreads();
#pragma unroll 1
  for (int level = collapse.last - 1; level >= COLLAPSED_LEVEL; level--) {
    add_expanded<THREADS>(part_of(level), part_of(level + 1));
    __syncthreads();
  }

  const Part made = part_of(COLLAPSED_LEVEL);
  for (int i = threadIdx.x; i < TILE_X * TILE_Y; i += THREADS) {
    const int column = i % TILE_X, row = i / TILE_X;
    const int x = own.x + column, y = own.y + row;

    if (x < made.width && y < made.height)
      collapse.collapsed[(size_t)y * made.width + x] = made.memory[row * made.pitch + column];
  }
}

} // namespace

bool tensor_collapse(Queue *queue, const Pyramid &pyramid, int last)
{
  const Level &level = pyramid.level[COLLAPSED_LEVEL];
  int width = TILE_X, height = TILE_Y, floats = 0;
  Collapse collapse = {};

  if (last <= FIRST_LEVEL)
    return true;
  collapse.last = last;
  collapse.collapsed = level.gauss;
  for (int i = COLLAPSED_LEVEL; i <= last; i++) {
    collapse.width[i] = pyramid.level[i].width;
    collapse.height[i] = pyramid.level[i].height;
    collapse.terms[i] = pyramid.level[i].collapsed;
    collapse.offset[i] = floats;
    collapse.pitch[i] = width;
    floats += width * height;
    width = most_coarser(width);
    height = most_coarser(height);
  }
  return launch(queue, "llf collapse", collapse_kernel,
                dim3(blocks(level.width, TILE_X), blocks(level.height, TILE_Y)), dim3(THREADS),
                floats * sizeof(float), collapse);
}

} // namespace cf::llf
