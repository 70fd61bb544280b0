/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * From level to level of the pyramid, up, on tensor cores.
 */
#include "llf_tensor_up.cuh"

namespace llf
{
namespace
{

template <typename T>
__global__ void __launch_bounds__(T::THREADS, RESIDENT<T::GROUPS, Colour::SINGLE>)
    expand_level_kernel(Level own, Level coarse, const __grid_constant__ Series series)
{
  extern __shared__ __align__(128) uint8_t memory[];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int tile_x = blockIdx.x * T::FINE_X, tile_y = blockIdx.y * T::FINE_Y;
  const Expansion expansion(lane);

  await_previous();
  load_coarse<T>(memory, coarse, tile_x, tile_y);
  wait_copies();
  __syncthreads();

  for (int strip = warp; strip < T::FINE_Y / 2; strip += T::WARPS) {
    const int strip_x = strip % 2, strip_y = strip / 2;
    const int x = tile_x + 32 * strip_x, y = tile_y + 4 * strip_y;
    float sum[4];

    if (x >= own.width || y >= own.height)
      continue;
    const int pixel_x = x + lane / 4 % 4, pixel_y = y + lane / 16;
    const size_t row_0 = (size_t)min(pixel_y, own.height - 1) * own.width;
    const size_t row_1 = (size_t)min(pixel_y + 2, own.height - 1) * own.width;

    expand_strip<T>(
        sum, memory, expansion, strip_x, strip_y, lane,
        [&](int j, int c, uint32_t *self) {
          const int column = min(pixel_x + 4 * j, own.width - 1);
          const uint4 *const group_0 = own.groups + (row_0 + column) * T::GROUPS + c;
          const uint4 *const group_1 = own.groups + (row_1 + column) * T::GROUPS + c;
          self[0] = reinterpret_cast<const uint32_t *>(group_0)[lane % 4];
          self[1] = reinterpret_cast<const uint32_t *>(group_1)[lane % 4];
        },
        [&](int j, uint32_t *rotation) {
          const int column = min(pixel_x + 4 * j, own.width - 1);
          rotate<T::GROUPS>(rotation, series.turn, own.gauss[row_0 + column],
                            own.gauss[row_1 + column], lane);
        });
#pragma unroll
    for (int q = 0; q < 4; q++) {
      const int to_x = x + strip_pixel_x(lane, q), to_y = y + strip_pixel_y(lane, q);
      if (to_x < own.width && to_y < own.height)
        own.collapsed[(size_t)to_y * own.width + to_x] = sum[q];
    }
  }
}

/* --- launching --- */

template <int GROUPS> using LargeTile = Tile<GROUPS, 16>;
template <int GROUPS> using SmallTile = Tile<GROUPS, 8>; /* fills the GPU on coarse levels */

constexpr long long LARGE_LEVEL = 400000; /* pixels */

template <typename T>
bool launch_expand(Queue *queue, const Pyramid &pyramid, int fine, const Series &series)
{
  const Level &own = pyramid.level[fine];

  return launch(queue, "llf expand", expand_level_kernel<T>,
                dim3(blocks(own.width, T::FINE_X), blocks(own.height, T::FINE_Y)), dim3(T::THREADS),
                T::PIXELS, own, pyramid.level[fine + 1], series);
}

template <int GROUPS>
bool launch_expand(Queue *queue, const Pyramid &pyramid, int fine, const Series &series)
{
  const Level &own = pyramid.level[fine];

  return (long long)own.width * own.height > LARGE_LEVEL
             ? launch_expand<LargeTile<GROUPS>>(queue, pyramid, fine, series)
             : launch_expand<SmallTile<GROUPS>>(queue, pyramid, fine, series);
}

} // namespace

bool tensor_prepare_expand(CfStatus *status)
{
  return allow_shared(expand_level_kernel<LargeTile<1>>, LargeTile<1>::PIXELS, status) &&
         allow_shared(expand_level_kernel<SmallTile<1>>, SmallTile<1>::PIXELS, status) &&
         allow_shared(expand_level_kernel<LargeTile<2>>, LargeTile<2>::PIXELS, status) &&
         allow_shared(expand_level_kernel<SmallTile<2>>, SmallTile<2>::PIXELS, status) &&
         allow_shared(expand_level_kernel<LargeTile<4>>, LargeTile<4>::PIXELS, status) &&
         allow_shared(expand_level_kernel<SmallTile<4>>, SmallTile<4>::PIXELS, status);
}

bool tensor_expand(Queue *queue, const Pyramid &pyramid, int fine, const Series &series)
{
  return pyramid.groups == 1   ? launch_expand<1>(queue, pyramid, fine, series)
         : pyramid.groups == 2 ? launch_expand<2>(queue, pyramid, fine, series)
                               : launch_expand<4>(queue, pyramid, fine, series);
}

} // namespace llf
