/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * From level to level of the pyramid, down, on tensor cores.
 */
#include "cuda/llf/mma_tile_load.cuh"

namespace cf::llf
{
namespace
{

/* Tiles go from the last to the first where `backwards`: what the pass before wrote last is still
 * in the cache. With `gate` the terms that are launched later find the level `fine` made. Where
 * strips tell that they are there, a tile waits for its own only. */
template <typename S>
__global__ void __launch_bounds__(S::THREADS, 4)
    reduce_level_kernel(Level fine, Target target, bool backwards, bool gate,
                        const __grid_constant__ Strips strips)
{
  extern __shared__ __align__(128) uint8_t memory[];
  const int tile_x = backwards ? gridDim.x - 1 - blockIdx.x : blockIdx.x;
  const int tile_y = backwards ? gridDim.y - 1 - blockIdx.y : blockIdx.y;
  const int x = tile_x * S::COARSE_X, y = tile_y * S::COARSE_Y;

  target.first_group = blockIdx.z * S::GROUPS;
  if (strips.done)
    await_strips<S>(strips, fine, (int)blockIdx.z, x, y);
  else if (gate)
    pdl_wait_then_trigger();
  else
    pdl_trigger_then_wait();
  start_tile<S>(memory, reinterpret_cast<float *>(memory + TileMemory<S>::GAUSS), fine,
                target.groups, target.first_group, x, y);
  if (strips.done)
    pdl_wait_then_trigger();
  cp_async_commit_and_wait();
  __syncthreads();
  reduce_tile<S>(memory, target, x, y);
}

template <typename S>
bool launch_reduce(Queue *queue, const Pyramid &pyramid, int fine, const Target &target,
                   const Strips &strips)
{
  return launch(queue, "llf reduce", reduce_level_kernel<S>,
                dim3(blocks(target.coarse.width, S::COARSE_X),
                     blocks(target.coarse.height, S::COARSE_Y), pyramid.groups / S::GROUPS),
                dim3(S::THREADS), TileMemory<S>::BYTES, pyramid.level[fine], target, fine == 1,
                fine == 2, strips);
}

} // namespace

bool tensor_prepare_reduce(const Gpu &gpu, CfStatus *status)
{
  return allow_shared(gpu, reduce_level_kernel<TileShape<1>>, TileMemory<TileShape<1>>::BYTES,
                      status) &&
         allow_shared(gpu, reduce_level_kernel<TileShape<2>>, TileMemory<TileShape<2>>::BYTES,
                      status);
}

bool tensor_reduce(Queue *queue, const Pyramid &pyramid, int fine, float top_gain,
                   const Strips &strips)
{
  const Target target = target_of(pyramid, fine + 1, top_gain);

  return pyramid.groups == 1 ? launch_reduce<TileShape<1>>(queue, pyramid, fine, target, strips)
                             : launch_reduce<TileShape<2>>(queue, pyramid, fine, target, strips);
}

} // namespace cf::llf
