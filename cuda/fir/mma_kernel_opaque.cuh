/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Short kernels, of opaque pixels: all warps load, filter across and filter down, step after step,
 * and meet once a step. They are bound by how many instructions there are.
 */
#pragma once

#include "cuda/fir/mma_types.cuh"
#include "cuda/fir/mma_load.cuh"
#include "cuda/fir/mma_store.cuh"
#include "cuda/fir/mma_filter.cuh"

/* 16 rows of the result, from the rows of Tiles steps. */
template <int C, int Tiles>
__device__ inline void
cf_tensor_finish_short(const CfTensorJob &job, const CfFirWork &work, const CfTensorStrip &strip,
                       const CfTensorMatricesOf<C, Tiles> &matrices,
                       const uint4 (&steps)[Tiles][CfTensorShape<C, Tiles>::kBlocks]
                                           [CfTensorShape<C, Tiles>::kColours],
                       CfTensorTarget target)
{
  constexpr int kBlocks = CfTensorShape<C, Tiles>::kBlocks;
  constexpr int kColours = CfTensorShape<C, Tiles>::kColours;
  constexpr int kAtOnce = C == 1 ? 2 : 1; /* blocks, for registers */
  const int x0 = target.x0;
  uint32_t gray[2][kBlocks];

#pragma unroll
  for (int first = 0; first < kBlocks; first += kAtOnce) {
    CfTensorSums sums[kAtOnce][kColours] = {};

#pragma unroll
    for (int tile = 0; tile < Tiles; tile++) {
#pragma unroll
      for (int b = 0; b < kAtOnce; b++) {
#pragma unroll
        for (int c = 0; c < kColours; c++)
          cf_tensor_add_down(matrices, tile, steps[tile][first + b][c], sums[b][c]);
      }
    }
    target.x0 = x0 + 16 * first;
    if constexpr (C == 1) {
#pragma unroll
      for (int b = 0; b < kAtOnce; b++)
        cf_tensor_gray_codes(strip, sums[b], gray[0][first + b], gray[1][first + b]);
    } else if constexpr (C == 2) {
      cf_tensor_store_pair(work, strip, sums[0], target);
    } else {
      const CfTensorSums no_alpha = {};
      cf_tensor_store_colours<false, 8>(work, strip, job, sums[0], no_alpha, target);
    }
  }
  if constexpr (C == 1) {
    target.x0 = x0;
    cf_tensor_store_gray(work, gray, target);
  }
}

/* Filters a strip up to where it is not opaque. Returns how many rows are finished. */
template <int C, int Tiles>
__device__ inline int cf_tensor_filter_short(const CfTensorJob &job, const CfFirWork &work,
                                             const CfTensorStrip &strip, const CfTensorPlace &place,
                                             uint8_t *shared)
{
  typedef CfTensorShort<C, Tiles> Shape;
  const int x0 = place.column * Shape::kPixels, left = x0 - Shape::kHalo;
  const int top = cf_tensor_first_step(work) + place.first_row;
  const int end = min(top + place.rows, work.end), y0 = top - Shape::kRadius;
  const int steps = (end - top + kTensorStep - 1) / kTensorStep + Tiles - 1;
  const int warp_pixel = (threadIdx.x >> 5) * Shape::kWarpPixels;
  uint8_t *const planes = shared + Shape::kStages * Shape::kStageBytes;
  uint32_t *const taps = (uint32_t *)(planes + Shape::kPlaneSets * Shape::kSetBytes);
  const CfTensorCopier<Shape> copier(work, strip.colour, left, shared);
  const CfTensorConverter<Shape> converter(job, work, left, copier.needs_repair());
  CfTensorFetcher<Shape> fetcher(copier, work, left, y0, steps);

  copier.fill_rest(shared);
  for (int step = 0; step < Shape::kStages; step++)
    fetcher.fetch(step);
  for (int i = threadIdx.x; i < 2 * kTensorTapPairs; i += Shape::kThreads)
    taps[i] = job.taps[work.set][i / kTensorTapPairs][i % kTensorTapPairs];
  __syncthreads();
  const CfTensorMatricesOf<C, Tiles> matrices(taps, taps + kTensorTapPairs, false);
  uint4 waiting[Tiles][Shape::kBlocks][Shape::kColours] = {}; /* the newest step last */

  for (int step = 0; step < steps; step++) {
    uint8_t *const set = planes + (step & 1) * Shape::kSetBytes;

    cf::cp_async_wait<Shape::kStages - 1>();
    __syncwarp();
    const bool opaque = converter.convert(shared + step % Shape::kStages * Shape::kStageBytes, set);
    __syncwarp();
    fetcher.fetch(step + Shape::kStages);
    if constexpr (C != 4) {
      __syncthreads();
    } else if (__syncthreads_or(!opaque)) {
      cf::cp_async_wait<0>();
      __syncthreads();
      return max(0, step - (Tiles - 1)) * kTensorStep;
    }
    cf_tensor_filter_across<C, Tiles>(matrices, cf::smem_address(set), warp_pixel,
                                      waiting[Tiles - 1]);
    if (step >= Tiles - 1) {
      CfTensorTarget target;
      target.x0 = x0 + warp_pixel;
      target.y0 = top + (step - Tiles + 1) * kTensorStep;
      target.end = end;
      target.inside = target.x0 + Shape::kWarpPixels <= work.width && target.y0 >= work.first &&
                      target.y0 + kTensorStep <= end;
      cf_tensor_finish_short<C, Tiles>(job, work, strip, matrices, waiting, target);
    }
#pragma unroll
    for (int age = 0; age + 1 < Tiles; age++) { /* of memcpy, nvcc 13.0 made wrong code */
#pragma unroll
      for (int b = 0; b < Shape::kBlocks; b++) {
#pragma unroll
        for (int c = 0; c < Shape::kColours; c++)
          waiting[age][b][c] = waiting[age + 1][b][c];
      }
    }
  }
  return place.rows;
}
