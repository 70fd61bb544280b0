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
constexpr int ROWS = 9;

__global__ void __launch_bounds__(Twice<ROWS>::THREADS, 1)
    reduce_twice_kernel(const __grid_constant__ TwiceLevels levels)
{
  extern __shared__ __align__(128) uint8_t memory[];

  make_twice<ROWS>(memory, levels, blockIdx.x);
}

bool launch_twice(Queue *queue, const Pyramid &pyramid, int fine, float top_gain)
{
  using S = Twice<ROWS>;
  const TwiceLevels levels = twice_levels<ROWS>(pyramid, fine, top_gain);

  return launch(queue, "llf reduce twice", reduce_twice_kernel, dim3(levels.tasks),
                dim3(S::THREADS), S::BYTES, levels);
}

bool prepare(const Gpu &gpu, CfStatus *status)
{
  return allow_shared(gpu, reduce_twice_kernel, Twice<ROWS>::BYTES, status);
}

} // namespace

bool tensor_prepare_twice(const Gpu &gpu, CfStatus *status)
{
  return prepare(gpu, status);
}

bool tensor_reduce_twice(Queue *queue, const Pyramid &pyramid, int fine, float top_gain)
{
  return launch_twice(queue, pyramid, fine, top_gain);
}

} // namespace cf::llf
