/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * From level to level of the pyramid, down, on tensor cores.
 */
#include "llf_tensor_down.cuh"

namespace llf
{
namespace
{

/* Copies floats to shared memory in the background, as start_copy() does groups. */
__device__ __forceinline__ void start_copy_float(float *to, const float *from)
{
  cf_copy_async_word(cf_shared_address(to), from, 4);
}

/* Where nothing is mirrored, copies of a row lie at distances that are known when compiling. */
template <typename S, bool INSIDE>
__device__ __forceinline__ void start_rows(uint8_t *memory, float *gauss, const Level &fine,
                                           int groups, int first_group, int first_x, int first_y)
{
  using M = TileMemory<S>;
  constexpr int COPIES = (S::FINE_X * S::GROUPS + 31) / 32, FLOATS = (S::FINE_X + 31) / 32;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const uint32_t to = cf_shared_address(memory) + M::at(lane / S::GROUPS, lane % S::GROUPS);

#pragma unroll 1
  for (int row = warp; row < S::FINE_Y; row += S::THREADS / 32) {
    const int y = INSIDE ? first_y + row : mirrored(first_y + row, fine.height);
    const size_t start = (size_t)y * fine.width + (INSIDE ? first_x : 0);
    const uint4 *const group = fine.groups + start * groups + first_group;

#pragma unroll
    for (int k = 0; k < COPIES; k++) {
      const int i = lane + 32 * k, c = i % S::GROUPS;
      const int x = INSIDE ? i / S::GROUPS : mirrored(first_x + i / S::GROUPS, fine.width);

      if (i < S::FINE_X * S::GROUPS)
        start_copy(to + row * M::PITCH + k * 32 * GROUP_BYTES, group + x * groups + c);
    }
#pragma unroll
    for (int k = 0; k < FLOATS; k++) {
      const int i = lane + 32 * k;

      if (i < S::FINE_X)
        start_copy_float(gauss + row * M::GAUSS_PITCH + i,
                         fine.gauss + start + (INSIDE ? i : mirrored(first_x + i, fine.width)));
    }
  }
}

template <typename S>
__device__ __forceinline__ void load_tile(uint8_t *memory, float *gauss, const Level &fine,
                                          int groups, int first_group, int coarse_x, int coarse_y)
{
  const int first_x = 2 * coarse_x - 2, first_y = 2 * coarse_y - 2;
  const bool inside = first_x >= 0 && first_y >= 0 && first_x + S::FINE_X <= fine.width &&
                      first_y + S::FINE_Y <= fine.height;

  if (inside && groups == S::GROUPS)
    start_rows<S, true>(memory, gauss, fine, S::GROUPS, 0, first_x, first_y);
  else
    start_rows<S, false>(memory, gauss, fine, groups, first_group, first_x, first_y);
  wait_copies();
}

/* Tiles go from the last to the first where `backwards`: what the pass before wrote last is still
 * in the cache. With `gate` the terms that are launched later find the level `fine` made. */
template <typename S>
__global__ void __launch_bounds__(S::THREADS, 4)
    reduce_level_kernel(Level fine, Target target, bool backwards, bool gate)
{
  extern __shared__ __align__(128) uint8_t memory[];
  const int tile_x = backwards ? gridDim.x - 1 - blockIdx.x : blockIdx.x;
  const int tile_y = backwards ? gridDim.y - 1 - blockIdx.y : blockIdx.y;
  const int x = tile_x * S::COARSE_X, y = tile_y * S::COARSE_Y;

  target.first_group = blockIdx.z * S::GROUPS;
  if (gate)
    open_gate();
  else
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
                dim3(S::THREADS), TileMemory<S>::BYTES, pyramid.level[fine], target, fine == 1,
                fine == 2);
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
