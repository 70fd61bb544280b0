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
__global__ void __launch_bounds__(S::kThreads, 4)
    downsample_kernel(Level fine, DownsampleOutput target, bool gate)
{
  extern __shared__ __align__(128) uint8_t memory[];
  const int x = blockIdx.x * S::kCoarseX, y = blockIdx.y * S::kCoarseY;

  target.first_group = blockIdx.z * kGroups;
  if (gate) {
    pdl_wait_then_trigger();
  } else {
    pdl_relay_then_trigger();
    pdl_wait();
  }
  start_tile<S>(memory, reinterpret_cast<float *>(memory + TileMemory<S>::kGauss), fine,
                target.groups, target.first_group, x, y);
  cp_async_commit_and_wait();
  __syncthreads();
  reduce_tile<S>(memory, target, x, y);
}

template <typename S>
bool launch_reduce(Queue *queue, const Pyramid &pyramid, int fine, const DownsampleOutput &target)
{
  return launch(queue, "llf reduce", downsample_kernel<S>,
                dim3(blocks(target.coarse.width, S::kCoarseX),
                     blocks(target.coarse.height, S::kCoarseY), pyramid.groups / kGroups),
                dim3(S::kThreads), TileMemory<S>::kBytes, pyramid.level[fine], target, fine == 2);
}

} // namespace

bool mma_prepare_downsample(const Gpu &gpu, CfStatus *status)
{
  return allow_shared(gpu, downsample_kernel<TileShape>, TileMemory<TileShape>::kBytes, status);
}

bool mma_downsample(Queue *queue, const Pyramid &pyramid, int fine, float top_gain)
{
  const DownsampleOutput target = output_of_level(pyramid, fine + 1, top_gain);

  return launch_reduce<TileShape>(queue, pyramid, fine, target);
}

} // namespace cf::llf
