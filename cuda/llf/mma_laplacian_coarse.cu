/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The terms of levels 1 and up on tensor cores, of several levels in one kernel.
 */
#include "cuda/llf/mma_laplacian_tile.cuh"

namespace cf::llf
{
namespace
{

template <typename T>
__global__ void __launch_bounds__(T::kThreads, 4)
    laplacian_coarse_kernel(const __grid_constant__ Levels levels,
                            const __grid_constant__ Series series, bool beside)
{
  extern __shared__ __align__(128) uint8_t memory[];
  const int lane = threadIdx.x % 32;
  const Expansion expansion(lane);
  const HarmonicFrequencies turn(series, lane);

  begin(beside);
  make_level_tile<T>(levels, memory, (int)blockIdx.x, expansion, turn, beside);
  end(beside);
}

bool launch_levels(Queue *queue, const FramePlan &plan, const Pyramid &pyramid, int first, int last,
                   const Series &series)
{
  using T = LevelTile;
  const Levels levels = levels_of<T>(pyramid, first, last);
  return launch(queue, "llf terms", laplacian_coarse_kernel<T>, dim3(levels.tiles),
                dim3(T::kThreads), StagedPixels<T>::kBytes, levels, series, plan.beside_coarse);
}

bool prepare(const Gpu &gpu, CfStatus *status)
{
  using T = LevelTile;

  return allow_shared(gpu, laplacian_coarse_kernel<T>, StagedPixels<T>::kBytes, status);
}

} // namespace

bool mma_prepare_laplacian_coarse(const Gpu &gpu, CfStatus *status)
{
  return prepare(gpu, status);
}

bool mma_laplacian_coarse(Queue *queue, const FramePlan &plan, const Pyramid &pyramid, int first,
                          int last, const Series &series)
{
  if (first >= last)
    return true;
  return launch_levels(queue, plan, pyramid, first, last, series);
}

} // namespace cf::llf
