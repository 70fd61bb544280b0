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

/* Of a tile; of four groups, whose components are two blocks' work, 1920x1080 then has 210 blocks
 * and not 240. */
template <int GROUPS> constexpr int ROWS = GROUPS == 4 ? 10 : 9;

template <int GROUPS>
__global__ void __launch_bounds__(TwiceTile<GROUPS, ROWS<GROUPS>>::THREADS, 1)
    reduce_twice_kernel(const __grid_constant__ TwiceLevels levels)
{
  extern __shared__ __align__(128) uint8_t memory[];

  make_twice<GROUPS, ROWS<GROUPS>>(memory, levels, blockIdx.x);
}

template <int GROUPS>
bool launch_twice(Queue *queue, const Pyramid &pyramid, int fine, float top_gain)
{
  using S = TwiceTile<GROUPS, ROWS<GROUPS>>;
  const TwiceLevels levels = twice_levels<ROWS<GROUPS>>(pyramid, fine, top_gain);

  return launch(queue, "llf reduce twice", reduce_twice_kernel<GROUPS>, dim3(levels.tasks),
                dim3(S::THREADS), S::BYTES, levels);
}

template <int GROUPS> bool prepare(const Gpu &gpu, CfStatus *status)
{
  return allow_shared(gpu, reduce_twice_kernel<GROUPS>, TwiceTile<GROUPS, ROWS<GROUPS>>::BYTES,
                      status);
}

} // namespace

bool tensor_prepare_twice(const Gpu &gpu, CfStatus *status)
{
  return prepare<1>(gpu, status) && prepare<2>(gpu, status) && prepare<4>(gpu, status);
}

bool tensor_reduce_twice(Queue *queue, const Pyramid &pyramid, int fine, float top_gain)
{
  return pyramid.groups == 1   ? launch_twice<1>(queue, pyramid, fine, top_gain)
         : pyramid.groups == 2 ? launch_twice<2>(queue, pyramid, fine, top_gain)
                               : launch_twice<4>(queue, pyramid, fine, top_gain);
}

} // namespace cf::llf
