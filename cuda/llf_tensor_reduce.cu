/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * From level to level of the pyramid, down, on tensor cores.
 */
#include "llf_tensor_down.cuh"

namespace llf
{
namespace
{

template <typename S>
__device__ void load_tile(uint8_t *memory, float *gauss, const Level &fine, int groups,
                          int first_group, int coarse_x, int coarse_y)
{
  using M = TileMemory<S>;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  constexpr int COPIES = (S::FINE_X * S::GROUPS + 31) / 32, FLOATS = (S::FINE_X + 31) / 32;
  size_t from[COPIES];
  int to[COPIES], gauss_from[FLOATS];

#pragma unroll
  for (int k = 0; k < COPIES; k++) {
    const int i = lane + 32 * k, c = i % S::GROUPS, x = i / S::GROUPS;
    from[k] = (size_t)mirrored(2 * coarse_x - 2 + x, fine.width) * groups + first_group + c;
    to[k] = x < S::FINE_X ? M::at(x, c) : -1;
  }
#pragma unroll
  for (int k = 0; k < FLOATS; k++)
    gauss_from[k] = mirrored(2 * coarse_x - 2 + lane + 32 * k, fine.width);

  for (int row = warp; row < S::FINE_Y; row += S::THREADS / 32) {
    const size_t y = (size_t)mirrored(2 * coarse_y - 2 + row, fine.height) * fine.width;
    const uint32_t base = cf_shared_address(memory + row * M::PITCH);

#pragma unroll
    for (int k = 0; k < COPIES; k++) {
      if (to[k] >= 0)
        start_copy(base + to[k], fine.groups + y * groups + from[k]);
    }
#pragma unroll
    for (int k = 0; k < FLOATS; k++) {
      if (lane + 32 * k < S::FINE_X)
        gauss[row * M::GAUSS_PITCH + lane + 32 * k] = fine.gauss[y + gauss_from[k]];
    }
  }
  wait_copies();
}

/* Tiles go from the last to the first where `backwards`: what the pass before wrote last is still
 * in the cache. */
template <typename S>
__global__ void __launch_bounds__(S::THREADS)
    reduce_level_kernel(Level fine, Target target, bool backwards)
{
  extern __shared__ __align__(128) uint8_t memory[];
  const int tile_x = backwards ? gridDim.x - 1 - blockIdx.x : blockIdx.x;
  const int tile_y = backwards ? gridDim.y - 1 - blockIdx.y : blockIdx.y;
  const int x = tile_x * S::COARSE_X, y = tile_y * S::COARSE_Y;

  target.first_group = blockIdx.z * S::GROUPS;
  await_previous();
  load_tile<S>(memory, reinterpret_cast<float *>(memory + TileMemory<S>::GAUSS), fine,
               target.groups, target.first_group, x, y);
  __syncthreads();
  reduce_tile<S>(memory, target, x, y);
}

template <typename S>
bool launch_reduce(Queue *queue, const Pyramid &pyramid, int fine, const Target &target)
{
  return launch(queue, "llf reduce", reduce_level_kernel<S>,
                dim3(blocks(target.coarse.width, S::COARSE_X),
                     blocks(target.coarse.height, S::COARSE_Y), pyramid.groups / S::GROUPS),
                dim3(S::THREADS), TileMemory<S>::BYTES, pyramid.level[fine], target, fine == 1);
}

} // namespace

bool tensor_prepare_reduce(const Gpu &gpu, CfStatus *status)
{
  return allow_shared(gpu, reduce_level_kernel<TileShape<1>>, TileMemory<TileShape<1>>::BYTES,
                      status) &&
         allow_shared(gpu, reduce_level_kernel<TileShape<2>>, TileMemory<TileShape<2>>::BYTES,
                      status);
}

bool tensor_reduce(Queue *queue, const Pyramid &pyramid, int fine, float top_gain)
{
  const Target target = target_of(pyramid, fine + 1, top_gain);

  return pyramid.groups == 1 ? launch_reduce<TileShape<1>>(queue, pyramid, fine, target)
                             : launch_reduce<TileShape<2>>(queue, pyramid, fine, target);
}

} // namespace llf
