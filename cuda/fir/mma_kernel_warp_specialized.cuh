/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Long kernels, of opaque pixels: loading, across and down are each the work of other warps, a step
 * after one another. So products need not wait for loads and stores, and each warp has registers
 * for one direction only.
 *
 * All meet once a step, in different places of the program, for one loop for all kinds of warps
 * takes the registers of all. That is `barrier.sync`; of `bar.sync`, which __syncthreads is, the
 * compute sanitizer wants one place.
 */
#pragma once

#include "cuda/fir/mma_types.cuh"
#include "cuda/fir/mma_load.cuh"
#include "cuda/fir/mma_store.cuh"
#include "cuda/fir/mma_filter.cuh"

/* The rows that wait for the columns: of each step, block of pixels, and colour, what a warp of
 * those that go down must hold as left side. */
template <typename Shape> class CfTensorRing
{
  uint4 *const mine;

public:
  __device__ CfTensorRing(uint4 *shared) : mine(shared + (threadIdx.x & 31))
  {
  }

  __device__ static int next(int slot)
  {
    return slot + 1 == Shape::kSlots ? 0 : slot + 1;
  }

  __device__ uint4 &place(int slot, int block, int colour) const
  {
    const int wrapped = slot < Shape::kSlots ? slot : slot - Shape::kSlots;

    return mine[((wrapped * Shape::kPixelBlocks + block) * Shape::kColours + colour) * 32];
  }
};

/* `Blocks` blocks of one colour. */
template <int C, int Tiles, int Blocks>
__device__ inline void cf_tensor_ring_across(const CfTensorDirection<Tiles> &matrices,
                                             const CfTensorRing<CfTensorPipeline<C, Tiles>> &ring,
                                             uint32_t planes, int slot, int block, int colour)
{
  uint4 across[Blocks][1];

  cf_tensor_filter_across<C, Tiles>(
      matrices, planes + colour * CfTensorPipeline<C, Tiles>::kPlaneBytes, 16 * block, across);
#pragma unroll
  for (int b = 0; b < Blocks; b++)
    ring.place(slot, block + b, colour) = across[b][0];
}

/* Each warp's share of a step: four blocks of one colour, and of a third colour two. */
template <int C, int Tiles>
__device__ inline void cf_tensor_ring_across(const CfTensorDirection<Tiles> &matrices,
                                             const CfTensorRing<CfTensorPipeline<C, Tiles>> &ring,
                                             uint32_t planes, int slot, int warp)
{
  constexpr int kFours = CfTensorPipeline<C, Tiles>::kPixelBlocks / 4;

  cf_tensor_ring_across<C, Tiles, 4>(matrices, ring, planes, slot, 4 * (warp % kFours),
                                     warp / kFours);
  if constexpr (C == 4)
    cf_tensor_ring_across<C, Tiles, 2>(matrices, ring, planes, slot, 2 * warp, 2);
}

/* Two steps of the result from the Tiles + 1 steps of rows that begin in slot `oldest`. */
template <int C, int Tiles, int Blocks, int Colours>
__device__ inline void
cf_tensor_ring_down(const CfTensorDirection<Tiles> &matrices,
                    const CfTensorRing<CfTensorPipeline<C, Tiles>> &ring, int oldest, int block,
                    CfTensorSums (&upper)[Blocks][Colours], CfTensorSums (&lower)[Blocks][Colours])
{
#pragma unroll
  for (int tile = 0; tile <= Tiles; tile++) {
#pragma unroll
    for (int b = 0; b < Blocks; b++) {
#pragma unroll
      for (int c = 0; c < Colours; c++) {
        const uint4 across = ring.place(oldest + tile, block + b, c);
        if (tile < Tiles)
          cf_tensor_add_down(matrices, tile, across, upper[b][c]);
        if (tile > 0)
          cf_tensor_add_down(matrices, tile - 1, across, lower[b][c]);
      }
    }
  }
}

template <int C, int Blocks, int Colours>
__device__ inline void
cf_tensor_store_opaque(const CfTensorJob &job, const CfFirWork &work, const CfTensorStrip &strip,
                       CfTensorSums (&sums)[Blocks][Colours], const CfTensorTarget &target)
{
  if constexpr (C == 1) {
    uint32_t codes[2][Blocks];
#pragma unroll
    for (int b = 0; b < Blocks; b++)
      cf_tensor_gray_codes(strip, sums[b], codes[0][b], codes[1][b]);
    cf_tensor_store_gray(work, codes, target);
  } else if constexpr (C == 2) {
    cf_tensor_store_pair(work, strip, sums[0], target);
  } else {
    const CfTensorSums no_alpha = {};
    cf_tensor_store_colours<false, 8>(work, strip, job, sums[0], no_alpha, target);
  }
}

/* Filters a strip up to where it is not opaque. Returns how many rows are finished. */
template <int C, int Tiles>
__device__ inline int cf_tensor_filter_opaque(const CfTensorJob &job, const CfFirWork &work,
                                              const CfTensorStrip &strip,
                                              const CfTensorPlace &place, uint8_t *shared)
{
  typedef CfTensorPipeline<C, Tiles> Shape;
  constexpr int kBlocks = Shape::kDownBlocks, kColours = Shape::kColours;
  constexpr int kDelay = 3; /* in steps, of the stores behind the loads */
  const int x0 = place.column * Shape::kPixels, left = x0 - Shape::kHalo;
  const int top = cf_tensor_first_step(work) + place.first_row;
  const int end = min(top + place.rows, work.end), y0 = top - Shape::kRadius;
  const int results = (end - top + kTensorStep - 1) / kTensorStep; /* steps of the result */
  const int steps = results + Tiles - 1;
  const int warp = threadIdx.x >> 5;
  const bool loads = warp < Shape::kLoadWarps;
  const bool goes_down = warp >= Shape::kLoadWarps + Shape::kAcrossWarps;
  uint8_t *planes = shared + Shape::kStages * Shape::kStageBytes;
  uint8_t *behind = planes + Shape::kPlaneSets * Shape::kSetBytes;
  volatile int *not_opaque = (volatile int *)(planes + Shape::kWords);
  const CfTensorCopier<Shape> copier(work, strip.colour, left, shared);
  CfTensorFetcher<Shape> fetcher(copier, work, left, y0, steps);

  copier.fill_rest(shared);
  if (loads) {
    for (int step = 0; step < Shape::kStages; step++)
      fetcher.fetch(step);
  }
  uint32_t *taps = (uint32_t *)behind;
  for (int i = threadIdx.x; i < 2 * kTensorTapPairs; i += Shape::kThreads)
    taps[i] = job.taps[work.set][i / kTensorTapPairs][i % kTensorTapPairs];
  if (threadIdx.x < 2)
    not_opaque[threadIdx.x] = -1;
  __syncthreads();
  const CfTensorDirection<Tiles> matrices(taps, taps + kTensorTapPairs, goes_down);
  const CfTensorRing<Shape> ring((uint4 *)behind);

  __syncthreads();
  /* Calls `work_of_step` with each step, and the slot for the rows of the step before. Returns the
   * step that was not opaque, or -1. */
  const auto each_step = [&](const auto &work_of_step) {
    int slot = Shape::kSlots - 1;

    for (int step = 0; step < steps + kDelay + 1; step++) {
      work_of_step(step, slot);
      slot = ring.next(slot);
      cf::named_barrier_sync<Shape::kThreads>(1);
      if (C == 4 && not_opaque[step & 1] == step)
        return step;
    }
    return -1;
  };
  int stopped;

  if (loads) {
    const CfTensorConverter<Shape> converter(job, work, left, copier.needs_repair());

    stopped = each_step([&](int step, int) {
      const int stage = step % Shape::kStages;

      if (step >= steps)
        return;
      cf::cp_async_wait<Shape::kStages - 1>();
      __syncwarp();
      if (!converter.convert(shared + stage * Shape::kStageBytes,
                             planes + (step & 1) * Shape::kSetBytes))
        not_opaque[step & 1] = step;
      __syncwarp();
      fetcher.fetch(step + Shape::kStages);
    });
    cf::cp_async_wait<0>();
  } else if (!goes_down) {
    stopped = each_step([&](int step, int slot) {
      if (step > 0 && step <= steps)
        cf_tensor_ring_across<C, Tiles>(
            matrices, ring, cf::smem_address(planes) + ((step - 1) & 1) * Shape::kSetBytes, slot,
            warp - Shape::kLoadWarps);
    });
  } else {
    const int down = warp - Shape::kLoadWarps - Shape::kAcrossWarps, block = kBlocks * down;
    CfTensorSums sums[2][kBlocks][kColours];

    stopped = each_step([&](int step, int slot) {
      if (((step ^ down / 4) & 1) == 0) {
        memset(sums, 0, sizeof sums);
        if (step > Tiles)
          cf_tensor_ring_down<C, Tiles>(matrices, ring, slot + 1, block, sums[0], sums[1]);
        return;
      }
#pragma unroll
      for (int i = 0; i < 2; i++) {
        const int result = step - kDelay - Tiles + i;
        if (result >= 0 && result < results) {
          CfTensorTarget target;
          target.x0 = x0 + 16 * block;
          target.y0 = top + result * kTensorStep;
          target.end = end;
          target.inside = target.x0 + 16 * kBlocks <= work.width && target.y0 >= work.first &&
                          target.y0 + kTensorStep <= end;
          cf_tensor_store_opaque<C>(job, work, strip, sums[i], target);
        }
      }
    });
  }
  if (stopped < 0)
    return place.rows;
  __syncthreads();
  return max(0, stopped + 1 - kDelay - Tiles) * kTensorStep;
}
