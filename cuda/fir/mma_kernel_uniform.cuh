/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The kernels for opaque pixels, up to 49 taps. All warps load, filter rows, filter columns and
 * store, with one barrier for each step. They are bound by the issue rate of instructions.
 */
#pragma once

#include "cuda/fir/mma_convert.cuh"
#include "cuda/fir/mma_filter.cuh"
#include "cuda/fir/mma_store.cuh"

namespace cf::fir
{

/* Makes 16 rows of the result from the filtered rows of TapTiles steps, the newest last. */
template <typename Pixel, int TapTiles, int Blocks, int Colours>
__device__ inline void
filter_columns_and_store(const MmaJob &job, const PlaneWork &work, const MmaStrips &strip,
                         const ToeplitzMatrices<TapTiles> &matrices,
                         const uint4 (&rows)[TapTiles][Blocks][Colours], StoreTarget target)
{
  constexpr bool kGray = Pixel::kPixelBytes == 1;
  constexpr int kAtOnce = Pixel::kChannels == 1 ? 2 : 1; /* blocks: as many as registers allow */
  const int x0 = target.x0;
  uint32_t gray[2][Blocks];

#pragma unroll
  for (int first = 0; first < Blocks; first += kAtOnce) {
    MmaSums sums[kAtOnce][Colours] = {};

#pragma unroll
    for (int tile = 0; tile < TapTiles; tile++) {
#pragma unroll
      for (int b = 0; b < kAtOnce; b++) {
#pragma unroll
        for (int c = 0; c < Colours; c++)
          add_column_product(matrices, tile, rows[tile][first + b][c], sums[b][c]);
      }
    }
#pragma unroll
    for (int b = 0; b < kAtOnce; b++) {
      target.x0 = x0 + 16 * (first + b);
      if constexpr (kGray)
        gray_codes(strip, sums[b], gray[0][first + b], gray[1][first + b]);
      else
        store_block<Pixel>(job, work, strip, sums[b], target);
    }
  }
  if constexpr (kGray) {
    target.x0 = x0;
    store_gray(work, gray, target);
  }
}

/* Filters a strip, or stops at the first step that is not opaque. Returns the number of rows that
 * are complete. */
template <typename Pixel, int TapTiles>
__device__ inline int filter_strip_uniform(const MmaJob &job, const PlaneWork &work,
                                           const MmaStrips &strip, const StripPlace &place,
                                           uint8_t *shared)
{
  typedef UniformShape<Pixel, TapTiles> Shape;
  const StripSpan<Shape> span(work, place);
  const int warp_pixel = (threadIdx.x >> 5) * Shape::kWarpPixels;
  uint8_t *const planes = shared + Shape::kStages * Shape::kStageBytes;
  uint32_t *const taps = (uint32_t *)(planes + Shape::kPlaneSets * Shape::kSetBytes);
  const StripEdges<Shape> edges(work, span.left);
  const RowCopier<Shape> copier(work, strip.colour, edges, shared);
  const Fp16Converter<Shape> converter(job, work, edges);
  StepFetcher<Shape> fetcher(copier, work, edges, span.y0, span.steps);

  copier.fill_uncopied(shared);
  for (int step = 0; step < Shape::kStages; step++)
    fetcher.fetch(step);
  copy_taps<Shape>(job, work.tap_set, taps);
  __syncthreads();
  const ToeplitzMatrices<TapTiles> matrices(taps, taps + kTapPairs);
  const ChromaMatrices<TapTiles> chroma(taps + (Shape::kTapKinds - 1) * kTapPairs);
  uint4 rows[TapTiles][Shape::kBlocks][Shape::kColours] = {}; /* the newest step last */

  for (int step = 0; step < span.steps; step++) {
    uint8_t *const set = planes + (step & 1) * Shape::kSetBytes;

    cp_async_wait<Shape::kStages - 1>();
    __syncwarp();
    const bool opaque = converter.convert(shared + step % Shape::kStages * Shape::kStageBytes, set);
    __syncwarp(); /* the warp has read the stage, which the next fetch overwrites */
    fetcher.fetch(step + Shape::kStages);
    if constexpr (Pixel::kChannels != 4) {
      __syncthreads();
    } else if (__syncthreads_or(!opaque)) {
      cp_async_wait<0>();
      __syncthreads();
      return max(0, step - (TapTiles - 1)) * kStepRows;
    }
    if constexpr (Pixel::kPacked)
      filter_macropixel_rows<Shape>(matrices, chroma, smem_address(set), warp_pixel,
                                    rows[TapTiles - 1]);
    else
      filter_rows<Shape>(matrices, smem_address(set), warp_pixel, rows[TapTiles - 1]);
    if (step >= TapTiles - 1)
      filter_columns_and_store<Pixel>(
          job, work, strip, matrices, rows,
          span.target(work, step - (TapTiles - 1), warp_pixel, Shape::kWarpPixels));
#pragma unroll
    for (int age = 0; age + 1 < TapTiles; age++) { /* nvcc 13.0 miscompiles a memcpy() here */
#pragma unroll
      for (int b = 0; b < Shape::kBlocks; b++) {
#pragma unroll
        for (int c = 0; c < Shape::kColours; c++)
          rows[age][b][c] = rows[age + 1][b][c];
      }
    }
  }
  return place.rows;
}

} // namespace cf::fir
