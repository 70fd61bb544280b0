/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * From level to level of the pyramid, down, on tensor cores.
 */
#include "cuda/llf/mma_tile_load.cuh"

namespace cf::llf
{
namespace
{

/* With `gate` the terms that are launched later find the level `fine` made. */
template <typename S>
__global__ void __launch_bounds__(S::THREADS, 4)
    reduce_level_kernel(Level fine, Target target, bool gate)
{
  extern __shared__ __align__(128) uint8_t memory[];
  const int x = blockIdx.x * S::COARSE_X, y = blockIdx.y * S::COARSE_Y;

  target.first_group = blockIdx.z * kGroups;
  if (gate) {
    pdl_wait_then_trigger();
  } else {
    pdl_relay_then_trigger();
    pdl_wait();
  }
  start_tile<S>(memory, reinterpret_cast<float *>(memory + TileMemory<S>::GAUSS), fine,
                target.groups, target.first_group, x, y);
  cp_async_commit_and_wait();
  __syncthreads();
  reduce_tile<S>(memory, target, x, y);
}

template <typename S>
bool launch_reduce(Queue *queue, const Pyramid &pyramid, int fine, const Target &target)
{
  return launch(queue, "llf reduce", reduce_level_kernel<S>,
                dim3(blocks(target.coarse.width, S::COARSE_X),
                     blocks(target.coarse.height, S::COARSE_Y), pyramid.groups / kGroups),
                dim3(S::THREADS), TileMemory<S>::BYTES, pyramid.level[fine], target, fine == 2);
}

} // namespace

bool tensor_prepare_reduce(const Gpu &gpu, CfStatus *status)
{
  return allow_shared(gpu, reduce_level_kernel<TileShape>, TileMemory<TileShape>::BYTES, status);
}

bool tensor_reduce(Queue *queue, const Pyramid &pyramid, int fine, float top_gain)
{
  const Target target = target_of(pyramid, fine + 1, top_gain);

  return launch_reduce<TileShape>(queue, pyramid, fine, target);
}

} // namespace cf::llf
