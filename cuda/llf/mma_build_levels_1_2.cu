/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Levels 1 and 2 from the picture, in one kernel on tensor cores. Level 0's components are looked
 * up in a LUT; mma_build_strip.cuh says how a warp filters them.
 */
#include "cuda/llf/mma_build_strip.cuh"

#include <algorithm>

namespace cf::llf
{
namespace
{

/* Persistent CTAs, one per SM: each fills its LUT once, and its warps filter strip after strip. The
 * first rows of a warp's first strip are prefetched before the LUT is filled. */
template <LutKind Kind>
__global__ void __launch_bounds__(32 * kWarps, 1)
    build_kernel(const __grid_constant__ Pixels pixels, const __grid_constant__ Series series,
                 const __grid_constant__ BuildFrame frame)
{
  extern __shared__ __align__(128) uint8_t memory[];
  /* Broadcast, so that the compiler knows it to be the same in all lanes, and so the strip's place:
   * branches on rows and borders need no reconvergence, and much is in uniform registers. */
  const int warp = (int)cf::broadcast_lane_0(threadIdx.x / 32), rows = frame.strip_rows;
  const int strips_x = (frame.second.coarse.width + kCoarse - 1) / kCoarse;
  const int strips_y = (frame.second.coarse.height + rows - 1) / rows;
  Strip<Kind> strip(pixels, series, frame, memory, threadIdx.x % 32, warp);

  const int strips = strips_x * strips_y, step = gridDim.x * kWarps;
  int i = blockIdx.x + gridDim.x * warp;
  auto move_to_strip = [&] {
    if (i < strips)
      strip.move_to(i % strips_x * kCoarse, i / strips_x * rows);
  };

  move_to_strip();
  fill_table<Kind>(memory, pixels, series);
  pdl_trigger_then_wait();
  if (blockIdx.x + threadIdx.x == 0)
    *frame.coarse_inputs_ready = 0;
  __syncthreads();

#pragma unroll 1
  while (i < strips) {
    strip.walk();
    i += step;
    move_to_strip();
  }
}

/* ---- Launching ---- */

/* Rows of level 2 per strip. Every warp gets the same number of strips, so that all are busy to the
 * end: the fewest for which a strip has at most kMost rows. */
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

} // namespace

bool mma_build_levels_1_2(Queue *queue, const FramePlan &plan, const Pixels &pixels,
                          const Series &series, const Pyramid &pyramid, float top_gain)
{
  const DownsampleOutput first = output_of_level(pyramid, 1, top_gain);
  const DownsampleOutput second = output_of_level(pyramid, 2, top_gain);
  const int across = blocks(second.coarse.width, kCoarse);
  const int rows = rows_of_strips(queue->gpu, across, second.coarse.height);
  const int strips = across * blocks(second.coarse.height, rows);
  float2 *const moments = pyramid.builds_moments ? pyramid.moments[0] : nullptr;
  const BuildFrame frame = {
      first, second, words_of(pixels), moments, pyramid.coarse_inputs_ready, rows, plan.large};

  return with_lut_kind(pixels, [&](auto kind) {
    constexpr LutKind kKind = decltype(kind)::kKind;
    constexpr int kBytes = TableMemory<kKind>::kBytes;
    static_assert(kBytes <= kMinSharedBytes, "all GPUs have room");

    return launch(queue, "llf analyse", build_kernel<kKind>,
                  dim3(std::min(strips, queue->gpu.multiprocessors)), dim3(32 * kWarps), kBytes,
                  pixels, series, frame);
  });
}

} // namespace cf::llf
