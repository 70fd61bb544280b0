/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Two levels of the pyramid in a kernel of their own: in small pictures, and where they have more
 * tiles than have room at once beside the coarse levels' cluster. Else see
 * cuda/llf/mma_coarse_levels.cu.
 */
#include "cuda/llf/mma_downsample_x2.cuh"

namespace cf::llf
{
namespace
{

/* Rows of a tile. */
constexpr int kRows = 9;

__global__ void __launch_bounds__(FusedTile<kRows>::kThreads, 1)
    downsample_x2_kernel(const __grid_constant__ FusedLevels levels)
{
  extern __shared__ __align__(128) uint8_t memory[];

  make_fused_tile<kRows>(memory, levels, blockIdx.x);
}

bool launch_downsample_x2(Queue *queue, const Pyramid &pyramid, int fine, float top_gain)
{
  using S = FusedTile<kRows>;
  const FusedLevels levels = fused_levels<kRows>(pyramid, fine, top_gain);

  return launch(queue, "llf reduce twice", downsample_x2_kernel, dim3(levels.tasks),
                dim3(S::kThreads), S::kBytes, levels);
}

bool prepare(const Gpu &gpu, CfStatus *status)
{
  return allow_shared(gpu, downsample_x2_kernel, FusedTile<kRows>::kBytes, status);
}

} // namespace

bool mma_prepare_downsample_x2(const Gpu &gpu, CfStatus *status)
{
  return prepare(gpu, status);
}

bool mma_downsample_x2(Queue *queue, const Pyramid &pyramid, int fine, float top_gain)
{
  return launch_downsample_x2(queue, pyramid, fine, top_gain);
}

} // namespace cf::llf
