/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The kernels for more than 49 taps, for opaque pixels or, with `HasAlpha`, for any. Warps are
 * specialised in loading, filtering rows, or filtering columns, and each role works one step behind
 * the one before. So products do not wait for loads and stores, and each warp needs registers for
 * the taps of one direction only.
 *
 *   step s:      load warps      rows s of the source -> fp16 planes, set s % 2
 *   step s + 1:  row warps       set s % 2 -> ring slot of step s
 *   step s + 2:  column warps    ring -> sums of two steps of the result (half of the warps)
 *   step s + 3:                  their codes -> memory, while the other half filters
 *
 * There is one barrier of all warps in each step. Each role has a loop of its own, since a common
 * loop would need the registers of all roles, so the warps reach the barrier at different places in
 * the code: named_barrier_sync() allows that, __syncthreads() does not.
 */
#pragma once

#include "cuda/fir/mma_convert.cuh"
#include "cuda/fir/mma_filter.cuh"
#include "cuda/fir/mma_store.cuh"

namespace cf::fir
{

/* The filtered rows of the last steps in shared memory, [slot][block of 16 pixels][channel][lane]:
 * what each lane needs as left matrix of a column product. */
template <typename Shape> class RowRing
{
  uint4 *const lane;

public:
  __device__ RowRing(uint4 *shared) : lane(shared + (threadIdx.x & 31))
  {
  }

  __device__ static int next(int slot)
  {
    return slot + 1 == Shape::kSlots ? 0 : slot + 1;
  }

  /* `slot` is below 2 kSlots, and wraps around. */
  __device__ uint4 &at(int slot, int block, int colour) const
  {
    const int wrapped = slot < Shape::kSlots ? slot : slot - Shape::kSlots;

    return lane[((wrapped * Shape::kPixelBlocks + block) * Shape::kFiltered + colour) * 32];
  }
};

/* Filters the rows of `Blocks` blocks of one channel. */
template <int Blocks, typename Shape>
__device__ inline void filter_rows_of_colour(const OneToeplitzMatrix<Shape::kTapTiles> &matrix,
                                             const RowRing<Shape> &ring, uint32_t planes, int slot,
                                             int block, int colour)
{
  uint4 rows[Blocks][1];

  filter_rows<Shape>(matrix, planes + colour * Shape::kPlaneBytes, 16 * block, rows);
#pragma unroll
  for (int b = 0; b < Blocks; b++)
    ring.at(slot, block + b, colour) = rows[b][0];
}

/* Macropixels: half of the row warps filter eight blocks of luma each, the others four blocks of
 * each chroma. */
template <typename Shape>
__device__ inline void filter_macropixels_to_ring(const OneToeplitzMatrix<Shape::kTapTiles> &matrix,
                                                  const RowRing<Shape> &ring, uint32_t planes,
                                                  int slot, int warp)
{
  const bool luma = warp < kRowWarps / 2;

#pragma unroll 1
  for (int i = 0; i < 2; i++) {
    const int first = luma ? 8 * warp + 4 * i : 4 * (warp % 2);
    uint4 rows[4][1];

    filter_rows<Shape>(matrix, planes + (luma ? 2 * Shape::kHalo : (2 + i) * Shape::kPlaneBytes),
                       16 * first, rows);
#pragma unroll
    for (int b = 0; b < 4; b++)
      ring.at(slot, luma ? first / 2 + b / 2 : first + b, luma ? b % 2 : 2 + i) = rows[b][0];
  }
}

/* What row warp `warp` does in a step: four blocks of one channel; with four channels, four blocks
 * of another one; with three channels, two blocks of the third. */
template <typename Shape>
__device__ inline void filter_rows_to_ring(const OneToeplitzMatrix<Shape::kTapTiles> &matrix,
                                           const RowRing<Shape> &ring, uint32_t planes, int slot,
                                           int warp)
{
  constexpr int kFours = Shape::kPixelBlocks / 4;

  if constexpr (Shape::kPacked) {
    filter_macropixels_to_ring(matrix, ring, planes, slot, warp);
  } else if constexpr (Shape::kFiltered == 4) {
#pragma unroll 1
    for (int c = warp / kFours; c < 4; c += kRowWarps / kFours)
      filter_rows_of_colour<4>(matrix, ring, planes, slot, 4 * (warp % kFours), c);
  } else {
    filter_rows_of_colour<4>(matrix, ring, planes, slot, 4 * (warp % kFours), warp / kFours);
    if constexpr (Shape::kFiltered == 3)
      filter_rows_of_colour<2>(matrix, ring, planes, slot, 2 * warp, 2);
  }
}

/* Sums of two steps of the result, from the TapTiles + 1 steps of rows from slot `oldest` on. */
template <typename Shape, int Blocks, int Colours>
__device__ inline void filter_columns_from_ring(const OneToeplitzMatrix<Shape::kTapTiles> &matrix,
                                                const RowRing<Shape> &ring, int oldest, int block,
                                                MmaSums (&upper)[Blocks][Colours],
                                                MmaSums (&lower)[Blocks][Colours])
{
#pragma unroll
  for (int tile = 0; tile <= Shape::kTapTiles; tile++) {
#pragma unroll
    for (int b = 0; b < Blocks; b++) {
#pragma unroll
      for (int c = 0; c < Colours; c++) {
        const uint4 rows = ring.at(oldest + tile, block + b, c);
        if (tile < Shape::kTapTiles)
          add_column_product(matrix, tile, rows, upper[b][c]);
        if (tile > 0)
          add_column_product(matrix, tile - 1, rows, lower[b][c]);
      }
    }
  }
}

template <typename Shape, typename Pixel, int Blocks, int Colours>
__device__ inline void store_blocks(const MmaJob &job, const PlaneWork &work,
                                    const MmaStrips &strip, MmaSums (&sums)[Blocks][Colours],
                                    const StoreTarget &target)
{
  if constexpr (Shape::kHasAlpha) {
    static_assert(Blocks == 1, "of pixels of four bytes");
    store_weighted_colours(work, strip, job, sums[0], target);
  } else if constexpr (Pixel::kPixelBytes == 1) {
    uint32_t codes[2][Blocks];
#pragma unroll
    for (int b = 0; b < Blocks; b++)
      gray_codes(strip, sums[b], codes[0][b], codes[1][b]);
    store_gray(work, codes, target);
  } else {
#pragma unroll
    for (int b = 0; b < Blocks; b++) {
      StoreTarget block = target;
      block.x0 += 16 * b;
      store_block<Pixel>(job, work, strip, sums[b], block);
    }
  }
}

/* Steps from the load of rows to the store of results. */
constexpr int kStoreDelay = 3;

/* The loop of every role: calls work_of_step(step, ring slot of the rows of step - 1), then waits
 * at the barrier. Kernels without alpha stop after a step that is not opaque. Returns that step, or
 * -1. */
template <typename Shape, typename Work>
__device__ inline int each_step(int steps, const volatile int *not_opaque, const Work &work_of_step)
{
  int slot = Shape::kSlots - 1;

  for (int step = 0; step < steps + kStoreDelay + 1; step++) {
    work_of_step(step, slot);
    slot = RowRing<Shape>::next(slot);
    named_barrier_sync<Shape::kThreads>(1);
    if (Shape::kChannels == 4 && !Shape::kHasAlpha && not_opaque[step & 1] == step)
      return step;
  }
  return -1;
}

/* The load warps' role. */
template <typename Shape>
__device__ inline int load_steps(const StripSpan<Shape> &span,
                                 const Fp16Converter<Shape> &converter, StepFetcher<Shape> &fetcher,
                                 const uint8_t *stages, uint8_t *planes, volatile int *not_opaque)
{
  const int stopped = each_step<Shape>(span.steps, not_opaque, [&](int step, int) {
    if (step >= span.steps)
      return;
    cp_async_wait<Shape::kStages - 1>();
    __syncwarp();
    if (!converter.convert(stages + step % Shape::kStages * Shape::kStageBytes,
                           planes + (step & 1) * Shape::kSetBytes))
      not_opaque[step & 1] = step;
    __syncwarp();
    fetcher.fetch(step + Shape::kStages);
  });

  cp_async_wait<0>();
  return stopped;
}

/* The role of column warp `warp`: half of the warps filter in even steps and store in odd ones, the
 * other half the other way round. */
template <typename Pixel, typename Shape>
__device__ inline int filter_and_store_steps(const MmaJob &job, const PlaneWork &work,
                                             const MmaStrips &strip, const StripSpan<Shape> &span,
                                             const OneToeplitzMatrix<Shape::kTapTiles> &matrix,
                                             const RowRing<Shape> &ring, int warp,
                                             const volatile int *not_opaque)
{
  constexpr int kBlocks = Shape::kColumnBlocks;
  const int block = kBlocks * warp;
  MmaSums sums[2][kBlocks][Shape::kFiltered];

  return each_step<Shape>(span.steps, not_opaque, [&](int step, int slot) {
    if (((step ^ warp / 4) & 1) == 0) {
      memset(sums, 0, sizeof sums);
      if (step > Shape::kTapTiles)
        filter_columns_from_ring(matrix, ring, slot + 1, block, sums[0], sums[1]);
      return;
    }
#pragma unroll
    for (int i = 0; i < 2; i++) {
      const int result = step - kStoreDelay - Shape::kTapTiles + i;
      if (result >= 0 && result < span.results)
        store_blocks<Shape, Pixel>(job, work, strip, sums[i],
                                   span.target(work, result, 16 * block, 16 * kBlocks));
    }
  });
}

/* Filters a strip; without `HasAlpha` it stops at the first step that is not opaque. Returns the
 * number of rows that are complete. */
template <typename Pixel, int TapTiles, bool HasAlpha>
__device__ inline int filter_strip_warp_specialized(const MmaJob &job, const PlaneWork &work,
                                                    const MmaStrips &strip, const StripPlace &place,
                                                    uint8_t *shared)
{
  typedef WarpSpecializedShape<Pixel, TapTiles, HasAlpha> Shape;
  typedef OneToeplitzMatrix<TapTiles> Matrix;
  const StripSpan<Shape> span(work, place);
  const int warp = threadIdx.x >> 5;
  const bool loads = warp < kLoadWarps, columns = warp >= kLoadWarps + kRowWarps;
  uint8_t *const planes = shared + Shape::kStages * Shape::kStageBytes;
  uint8_t *const behind = planes + Shape::kPlaneSets * Shape::kSetBytes;
  volatile int *const not_opaque = (volatile int *)(planes + Shape::kFlagsOffset);
  const StripEdges<Shape> edges(work, span.left);
  const RowCopier<Shape> copier(work, strip.colour, edges, shared);
  StepFetcher<Shape> fetcher(copier, work, edges, span.y0, span.steps);

  copier.fill_uncopied(shared);
  if (loads) {
    for (int step = 0; step < Shape::kStages; step++)
      fetcher.fetch(step);
  }
  uint32_t *const taps = (uint32_t *)behind;
  copy_taps<Shape>(job, work.tap_set, taps);
  if (threadIdx.x < 2)
    not_opaque[threadIdx.x] = -1;
  __syncthreads();
  const bool chroma = Shape::kPacked && warp >= kLoadWarps + kRowWarps / 2;
  const Matrix matrix(taps, columns  ? Matrix::kColumns
                            : chroma ? Matrix::kChromaRows
                                     : Matrix::kRows);
  const RowRing<Shape> ring((uint4 *)behind); /* over the taps, which are in registers now */

  __syncthreads();
  int stopped;
  if (loads) {
    const Fp16Converter<Shape> converter(job, work, edges);
    stopped = load_steps(span, converter, fetcher, shared, planes, not_opaque);
  } else if (!columns) {
    stopped = each_step<Shape>(span.steps, not_opaque, [&](int step, int slot) {
      if (step > 0 && step <= span.steps)
        filter_rows_to_ring(matrix, ring,
                            smem_address(planes) + ((step - 1) & 1) * Shape::kSetBytes, slot,
                            warp - kLoadWarps);
    });
  } else {
    stopped = filter_and_store_steps<Pixel>(job, work, strip, span, matrix, ring,
                                            warp - kLoadWarps - kRowWarps, not_opaque);
  }
  if (HasAlpha && (not_opaque[0] >= 0 || not_opaque[1] >= 0))
    report_alpha(job);
  if (stopped < 0)
    return place.rows;
  __syncthreads();
  return max(0, stopped + 1 - kStoreDelay - TapTiles) * kStepRows;
}

} // namespace cf::fir
