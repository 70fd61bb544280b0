/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The kernels for four channels with alpha; all warps do the same work. In each step they convert
 * 16 rows to premultiplied fp16, filter these, and filter the columns of the rows of the last
 * TapTiles steps; then the new rows replace the oldest in a history. While all of these steps are
 * opaque, alpha is not filtered.
 */
#pragma once

#include "cuda/fir/mma_convert.cuh"
#include "cuda/fir/mma_filter.cuh"
#include "cuda/fir/mma_store.cuh"

namespace cf::fir
{

/* The filtered rows of opaque alpha, bit for bit as filter_rows() would make them. */
template <int TapTiles>
__device__ inline uint4 opaque_alpha_rows(const ToeplitzMatrices<TapTiles> &matrices)
{
  MmaSums sums = {};

#pragma unroll
  for (int tile = 0; tile < TapTiles; tile++) {
    uint32_t left[4];
    matrices.row_operand(tile, left);
    mma_f32(sums[0], left, kOpaqueFp16x2, kOpaqueFp16x2);
    mma_f32(sums[1], left, kOpaqueFp16x2, kOpaqueFp16x2);
  }
  return pack_fp16(sums);
}

/* A thread's filtered rows of the last TapTiles - 1 steps: of colours, and, valid only while one of
 * the steps is not opaque, of alpha. */
template <typename Shape> class RowHistory
{
  static constexpr int kBlocks = Shape::kBlocks, kColours = Shape::kColours;
  static constexpr int kSteps = Shape::kHistory;
  uint4 colours[Shape::kRegistersHoldRows ? kSteps : 1][kBlocks][kColours];
  uint4 *const shared;
  int oldest; /* slot in shared memory of the oldest step */

  __device__ uint4 &in_shared(int slot, int block, int channel) const
  {
    return shared[((slot * kBlocks + block) * Shape::kSharedChannels + channel) * Shape::kThreads];
  }

  /* The slot of the step that came `age` steps after the oldest. */
  __device__ int slot(int age) const
  {
    const int at = oldest + age;

    return at < kSteps ? at : at - kSteps;
  }

public:
  /* `shared` has Shape::kHistoryBytes. */
  __device__ RowHistory(uint4 *shared)
      : colours(), shared(shared + threadIdx.x % Shape::kThreads), oldest(0)
  {
  }

  __device__ uint4 get(int age, int block, int channel) const
  {
    if constexpr (Shape::kRegistersHoldRows)
      return colours[age][block][channel];
    else
      return in_shared(slot(age), block, channel);
  }

  __device__ uint4 get_alpha(int age, int block) const
  {
    return in_shared(slot(age), block, Shape::kSharedColours);
  }

  /* Sets the alpha of all steps to `rows`. */
  __device__ void fill_alpha(const uint4 &rows)
  {
#pragma unroll 1
    for (int slot = 0; slot < kSteps; slot++) {
#pragma unroll
      for (int b = 0; b < kBlocks; b++)
        in_shared(slot, b, Shape::kSharedColours) = rows;
    }
  }

  /* Replace the oldest step's alpha, and its colours. */
  __device__ void put_alpha(const uint4 (&newest)[kBlocks][1])
  {
#pragma unroll
    for (int b = 0; b < kBlocks; b++)
      in_shared(oldest, b, Shape::kSharedColours) = newest[b][0];
  }

  __device__ void put(const uint4 (&newest)[kBlocks][kColours])
  {
#pragma unroll
    for (int b = 0; b < kBlocks; b++) {
#pragma unroll
      for (int c = 0; c < kColours; c++) {
        if constexpr (Shape::kRegistersHoldRows) {
#pragma unroll
          for (int age = 0; age + 1 < kSteps; age++)
            colours[age][b][c] = colours[age + 1][b][c];
          colours[kSteps - 1][b][c] = newest[b][c];
        } else {
          in_shared(oldest, b, c) = newest[b][c];
        }
      }
    }
  }

  /* Makes the step just put the newest. */
  __device__ void advance()
  {
    oldest = oldest + 1 == kSteps ? 0 : oldest + 1;
  }
};

/* The rows of one step, not yet in the history. */
template <typename Shape> struct NewestRows {
  uint4 colours[Shape::kBlocks][Shape::kColours];
  uint4 alpha[Shape::kBlocks][1];
};

/* Column sums of one block of 16 pixels: sums[0..2] of colours; filter_alpha_columns() makes
 * sums[3] of alpha. */
template <int TapTiles, typename Shape>
__device__ inline void
filter_colour_columns(const ToeplitzMatrices<TapTiles> &matrices, const RowHistory<Shape> &history,
                      const NewestRows<Shape> &newest, int block, MmaSums (&sums)[4])
{
#pragma unroll
  for (int tile = 0; tile < TapTiles; tile++) {
#pragma unroll
    for (int c = 0; c < 3; c++)
      add_column_product(
          matrices, tile,
          tile == TapTiles - 1 ? newest.colours[block][c] : history.get(tile, block, c), sums[c]);
  }
}

template <int TapTiles, typename Shape>
__device__ inline void
filter_alpha_columns(const ToeplitzMatrices<TapTiles> &matrices, const RowHistory<Shape> &history,
                     const NewestRows<Shape> &newest, int block, MmaSums (&sums)[4])
{
#pragma unroll
  for (int tile = 0; tile < TapTiles; tile++)
    add_column_product(
        matrices, tile,
        tile == TapTiles - 1 ? newest.alpha[block][0] : history.get_alpha(tile, block), sums[3]);
}

/* Makes 16 rows of the result. `weighted`: some step that they read is not opaque. */
template <int TapTiles, typename Shape>
__device__ inline void
filter_columns_and_store(const MmaJob &job, const PlaneWork &work, const MmaStrips &strip,
                         const ToeplitzMatrices<TapTiles> &matrices,
                         const RowHistory<Shape> &history, const NewestRows<Shape> &newest,
                         bool weighted, StoreTarget target)
{
  const int x0 = target.x0;

#pragma unroll
  for (int b = 0; b < Shape::kBlocks; b++) {
    MmaSums sums[4] = {};

    filter_colour_columns(matrices, history, newest, b, sums);
    target.x0 = x0 + 16 * b;
    if (weighted) {
      filter_alpha_columns(matrices, history, newest, b, sums);
      store_weighted_colours(work, strip, job, sums, target);
    } else {
      store_opaque_colours(work, strip, job, sums, target);
    }
  }
}

/* Filters a strip; by the first Shape::kThreads threads of the CTA together. */
template <int TapTiles, typename Shape>
__device__ inline void filter_strip_alpha(const MmaJob &job, const PlaneWork &work,
                                          const MmaStrips &strip, const StripPlace &place,
                                          uint8_t *shared)
{
  const StripSpan<Shape> span(work, place);
  const int warp_pixel = (threadIdx.x >> 5) * Shape::kWarpPixels;
  uint8_t *const planes = shared + Shape::kStages * Shape::kStageBytes;
  uint4 *const behind = (uint4 *)(planes + Shape::kPlaneSets * Shape::kSetBytes);
  volatile int *const not_opaque = (volatile int *)(planes + Shape::kFlagsOffset);
  const StripEdges<Shape> edges(work, span.left);
  const RowCopier<Shape> copier(work, strip.colour, edges, shared);
  const Fp16Converter<Shape> converter(job, work, edges);
  StepFetcher<Shape> fetcher(copier, work, edges, span.y0, span.steps);

  copier.fill_uncopied(shared);
  for (int step = 0; step < Shape::kStages; step++)
    fetcher.fetch(step);

  uint32_t *const taps = (uint32_t *)behind;
  copy_taps<Shape>(job, work.tap_set, taps);
  if (threadIdx.x < 4)
    not_opaque[threadIdx.x] = -1;
  Shape::synchronize();
  const ToeplitzMatrices<TapTiles> matrices(taps, taps + kTapPairs);
  RowHistory<Shape> history(behind);
  unsigned weighted =
      0; /* a bit for each of the last TapTiles steps that is not opaque, newest 0 */

  Shape::synchronize();
  for (int step = 0; step < span.steps; step++) {
    uint8_t *const set = planes + (Shape::kPlaneSets == 1 ? 0 : (step & 1) * Shape::kSetBytes);
    const unsigned before = weighted;
    NewestRows<Shape> newest;

    cp_async_wait<Shape::kStages - 1>();
    __syncwarp();
    if (!converter.convert(shared + step % Shape::kStages * Shape::kStageBytes, set))
      not_opaque[step & 1] = step;
    __syncwarp(); /* the warp has read the stage, which the next fetch overwrites */
    fetcher.fetch(step + Shape::kStages);
    Shape::synchronize(); /* planes and flags are complete */
    weighted = (weighted << 1 | (not_opaque[step & 1] == step)) & ((1u << TapTiles) - 1);
    if (weighted && !before)
      report_alpha(job);

    filter_rows<Shape>(matrices, smem_address(set), warp_pixel, newest.colours);
    if (weighted && !before)
      history.fill_alpha(opaque_alpha_rows(matrices));
    if (weighted)
      filter_rows<Shape>(matrices, smem_address(set) + 3 * Shape::kPlaneBytes, warp_pixel,
                         newest.alpha);
    if (Shape::kPlaneSets == 1)
      Shape::synchronize(); /* the next step overwrites the only set of planes */
    if (step >= TapTiles - 1)
      filter_columns_and_store(
          job, work, strip, matrices, history, newest, weighted != 0,
          span.target(work, step - (TapTiles - 1), warp_pixel, Shape::kWarpPixels));
    if (weighted)
      history.put_alpha(newest.alpha);
    history.put(newest.colours);
    history.advance();
  }
}

} // namespace cf::fir
