/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Level 1 from the picture, on tensor cores, and level 2 along with it: their components
 * are a table's rows, which are looked up.
 */
#include "cuda/llf/mma_build_strip.cuh"

#include <algorithm>

namespace cf::llf
{
namespace
{

/* Blocks stay for many strips, since the table is dear. */
template <Key key>
__global__ void __launch_bounds__(32 * WARPS, 1)
    analyse_table_kernel(const __grid_constant__ Pixels pixels,
                         const __grid_constant__ Series series,
                         const __grid_constant__ Analysis analysis)
{
  extern __shared__ __align__(128) uint8_t memory[];
  const int warp = threadIdx.x / 32, rows = analysis.strip_rows;
  const int coarse_width = (analysis.first.coarse.width + 1) / 2;
  const int strips_x = (coarse_width + COARSE - 1) / COARSE;
  const int strips_y = ((analysis.first.coarse.height + 1) / 2 + rows - 1) / rows;
  Strip<key> strip(pixels, series, analysis, memory, threadIdx.x % 32, warp);

  const int strips = strips_x * strips_y, step = gridDim.x * WARPS;
  int i = blockIdx.x + gridDim.x * warp;
  auto aim = [&] {
    if (i < strips)
      strip.aim(i % strips_x * COARSE, i / strips_x * rows);
  };

  aim();
  fill_table<key>(memory, pixels, series, 0);
  pdl_trigger_then_wait();
  __syncthreads();

#pragma unroll 1
  while (i < strips) {
    strip.walk();
    i += step;
    aim();
  }
}

/* --- launching --- */

/* Rows of level 2 in a strip, so that all warps are busy to the end. */
int rows_of_strips(const Gpu &gpu, int across, int height)
{
  constexpr int MOST = 16, LEAST = 3;
  const int warps = gpu.multiprocessors * WARPS;

  for (int waves = 1;; waves++) {
    const int down = warps * waves / across;
    const int rows = down ? blocks(height, down) : MOST + 1;

    if (rows <= MOST)
      return rows < LEAST ? LEAST : rows;
  }
}

template <Key key>
bool launch_table(Queue *queue, const Gpu &gpu, const FramePlan &plan, const Pixels &pixels,
                  const Series &series, const Target &first, const Target &second)
{
  const Channel &channel = pixels.channel[0];
  const int width = (first.coarse.width + 1) / 2, height = (first.coarse.height + 1) / 2;
  const int across = blocks(width, COARSE);
  const int rows = rows_of_strips(gpu, across, height);
  const int count = across * blocks(height, rows);
  const int grid = std::min(count, gpu.multiprocessors);
  const Packing packing = packing_of(pixels);
  const uintptr_t address =
      ((uintptr_t)channel.from - packing.byte[0]) | (uintptr_t)channel.from_stride;
  Analysis analysis = {first, second, {}, rows, plan.large};
  Picture &picture = analysis.picture;

  picture.from = channel.from - (key == Key::LUMA ? packing.byte[0] : 0);
  picture.stride = (int)channel.from_stride;
  picture.aligned = picture.stride == channel.from_stride &&
                    (key == Key::LUMA ? packing.packed && address % 16 == 0
                                      : pixels.step[0] == 1 && address % sizeof(Four<key>) == 0);
  picture.first_code = (uint32_t)pixels.offset * 65537u;
  picture.last_code = (uint32_t)(pixels.offset + pixels.scale) * 65537u;
  picture.clamps = pixels.offset > 0 || pixels.offset + pixels.scale < pixels.max_code ||
                   (key == Key::WORD && pixels.shift == 0);
  picture.packing = packing;
  picture.luma_row = luma_row_of(pixels, packing);
  return launch(queue, "llf analyse", analyse_table_kernel<key>, dim3(grid), dim3(32 * WARPS),
                TableMemory<key>::BYTES, pixels, series, analysis);
}

bool launch_analyse(Queue *queue, const Gpu &gpu, const FramePlan &plan, const Pixels &pixels,
                    const Series &series, const Pyramid &pyramid, float top_gain)
{
  const Target target = target_of(pyramid, 1, top_gain);
  const Target second = target_of(pyramid, 2, top_gain);

  switch (key_of(pixels)) {
  case Key::BYTE:
    return launch_table<Key::BYTE>(queue, gpu, plan, pixels, series, target, second);
  case Key::WORD:
    return launch_table<Key::WORD>(queue, gpu, plan, pixels, series, target, second);
  default:
    return launch_table<Key::LUMA>(queue, gpu, plan, pixels, series, target, second);
  }
}

template <Key key> bool prepare_table(const Gpu &gpu, CfStatus *status)
{
  constexpr int BYTES = TableMemory<key>::BYTES;
  static_assert(BYTES <= LEAST_SHARED, "all GPUs have room");

  return allow_shared(gpu, analyse_table_kernel<key>, BYTES, status);
}

bool prepare_tables(const Gpu &gpu, CfStatus *status)
{
  return prepare_table<Key::BYTE>(gpu, status) && prepare_table<Key::WORD>(gpu, status) &&
         prepare_table<Key::LUMA>(gpu, status);
}

} // namespace

bool tensor_prepare_analyse(const Gpu &gpu, CfStatus *status)
{
  return prepare_tables(gpu, status);
}

bool tensor_analyse(Queue *queue, const Gpu &gpu, const FramePlan &plan, const Pixels &pixels,
                    const Series &series, const Pyramid &pyramid, float top_gain)
{
  return launch_analyse(queue, gpu, plan, pixels, series, pyramid, top_gain);
}

} // namespace cf::llf
