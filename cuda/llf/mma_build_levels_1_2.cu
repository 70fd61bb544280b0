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
template <LutKind Kind>
__global__ void __launch_bounds__(32 * kWarps, 1)
    build_kernel(const __grid_constant__ Pixels pixels, const __grid_constant__ Series series,
                 const __grid_constant__ Analysis analysis)
{
  extern __shared__ __align__(128) uint8_t memory[];
  const int warp = threadIdx.x / 32, rows = analysis.strip_rows;
  const int coarse_width = (analysis.first.coarse.width + 1) / 2;
  const int strips_x = (coarse_width + kCoarse - 1) / kCoarse;
  const int strips_y = ((analysis.first.coarse.height + 1) / 2 + rows - 1) / rows;
  Strip<Kind> strip(pixels, series, analysis, memory, threadIdx.x % 32, warp);

  const int strips = strips_x * strips_y, step = gridDim.x * kWarps;
  int i = blockIdx.x + gridDim.x * warp;
  auto aim = [&] {
    if (i < strips)
      strip.aim(i % strips_x * kCoarse, i / strips_x * rows);
  };

  aim();
  fill_table<Kind>(memory, pixels, series, 0);
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
  constexpr int kMost = 16, kLeast = 3;
  const int warps = gpu.multiprocessors * kWarps;

  for (int waves = 1;; waves++) {
    const int down = warps * waves / across;
    const int rows = down ? blocks(height, down) : kMost + 1;

    if (rows <= kMost)
      return rows < kLeast ? kLeast : rows;
  }
}

template <LutKind Kind>
bool launch_table(Queue *queue, const Gpu &gpu, const FramePlan &plan, const Pixels &pixels,
                  const Series &series, const DownsampleOutput &first,
                  const DownsampleOutput &second)
{
  const Channel &channel = pixels.channel[0];
  const int width = (first.coarse.width + 1) / 2, height = (first.coarse.height + 1) / 2;
  const int across = blocks(width, kCoarse);
  const int rows = rows_of_strips(gpu, across, height);
  const int count = across * blocks(height, rows);
  const int grid = std::min(count, gpu.multiprocessors);
  const Packing packing = packing_of(pixels);
  const uintptr_t address =
      ((uintptr_t)channel.from - packing.byte[0]) | (uintptr_t)channel.from_stride;
  Analysis analysis = {first, second, {}, rows, plan.large};
  Picture &picture = analysis.picture;

  picture.from = channel.from - (Kind == LutKind::kRgbLuma ? packing.byte[0] : 0);
  picture.stride = (int)channel.from_stride;
  picture.aligned =
      picture.stride == channel.from_stride &&
      (Kind == LutKind::kRgbLuma ? packing.packed && address % 16 == 0
                                 : pixels.step[0] == 1 && address % sizeof(PixelQuad<Kind>) == 0);
  picture.first_code = (uint32_t)pixels.offset * 65537u;
  picture.last_code = (uint32_t)(pixels.offset + pixels.scale) * 65537u;
  picture.clamps = pixels.offset > 0 || pixels.offset + pixels.scale < pixels.max_code ||
                   (Kind == LutKind::kU10 && pixels.shift == 0);
  picture.packing = packing;
  picture.luma_row = luma_row_of(pixels, packing);
  return launch(queue, "llf analyse", build_kernel<Kind>, dim3(grid), dim3(32 * kWarps),
                TableMemory<Kind>::kBytes, pixels, series, analysis);
}

bool launch_analyse(Queue *queue, const Gpu &gpu, const FramePlan &plan, const Pixels &pixels,
                    const Series &series, const Pyramid &pyramid, float top_gain)
{
  const DownsampleOutput target = output_of_level(pyramid, 1, top_gain);
  const DownsampleOutput second = output_of_level(pyramid, 2, top_gain);

  switch (lut_kind_of(pixels)) {
  case LutKind::kU8:
    return launch_table<LutKind::kU8>(queue, gpu, plan, pixels, series, target, second);
  case LutKind::kU10:
    return launch_table<LutKind::kU10>(queue, gpu, plan, pixels, series, target, second);
  case LutKind::kU16:
    return launch_table<LutKind::kU16>(queue, gpu, plan, pixels, series, target, second);
  default:
    return launch_table<LutKind::kRgbLuma>(queue, gpu, plan, pixels, series, target, second);
  }
}

template <LutKind Kind> bool prepare_table(const Gpu &gpu, CfStatus *status)
{
  constexpr int kBytes = TableMemory<Kind>::kBytes;
  static_assert(kBytes <= kMinSharedBytes, "all GPUs have room");

  return allow_shared(gpu, build_kernel<Kind>, kBytes, status);
}

bool prepare_tables(const Gpu &gpu, CfStatus *status)
{
  return prepare_table<LutKind::kU8>(gpu, status) && prepare_table<LutKind::kU10>(gpu, status) &&
         prepare_table<LutKind::kU16>(gpu, status) && prepare_table<LutKind::kRgbLuma>(gpu, status);
}

} // namespace

bool mma_prepare_build(const Gpu &gpu, CfStatus *status)
{
  return prepare_tables(gpu, status);
}

bool mma_build_levels_1_2(Queue *queue, const Gpu &gpu, const FramePlan &plan, const Pixels &pixels,
                          const Series &series, const Pyramid &pyramid, float top_gain)
{
  return launch_analyse(queue, gpu, plan, pixels, series, pyramid, top_gain);
}

} // namespace cf::llf
