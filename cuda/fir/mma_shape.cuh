/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The separable filter on tensor cores: how a strip is divided among the threads of a CTA, and the
 * layout of shared memory.
 *
 * A matrix product is 16 x 8 and sums over 16 elements. In both directions the rows of the result
 * are pixels, its columns rows of the picture:
 *
 *   row sums [16 pixels x 8 rows] = row taps [16 x 16 inputs]   * samples [16 inputs x 8 rows]
 *   result   [16 pixels x 8 rows] = row sums, fp16 [16 x 16 rows] * column taps [16 rows x 8]
 *
 * where the taps are banded Toeplitz matrices, `TapTiles` of them side by side. The sums of the
 * first product are in the registers in which the second needs its left matrix: they are only
 * rounded to fp16, and need no shared memory.
 *
 * Colours are premultiplied by alpha before they are rounded to fp16. Where all pixels are opaque,
 * a CTA neither filters alpha nor divides by it. The results are the same bytes, since kernels with
 * alpha do not divide the sums of opaque pixels either.
 */
#pragma once

#include "cuda/common/half2.cuh"
#include "cuda/common/int_math.cuh"
#include "cuda/common/named_barrier.cuh"
#include "cuda/common/ptx_async.cuh"
#include "cuda/common/ptx_mma.cuh"
#include "cuda/fir/mma_job.h"
#include "cuda/fir/tuning.h"

namespace cf::fir
{

/* The position of a CTA's strip among those of its plane. */
struct StripPlace {
  int column, first_row, rows; /* first_row is counted from first_step_row() on */

  __device__ StripPlace(const MmaStrips &strip, int index)
  {
    const int borders = outer_columns(strip.across), inner = strip.across - borders;

    if (index < strip.outer) {
      rows = strip.outer_rows;
      column = index % borders * (strip.across - 1);
      first_row = index / borders * rows;
    } else {
      rows = strip.rows;
      column = 1 + (index - strip.outer) % inner;
      first_row = (index - strip.outer) / inner * rows;
    }
  }

  /* Removes the first rows, which are complete. */
  __device__ void skip(int finished)
  {
    first_row += finished;
    rows -= finished;
  }
};

/* The 16 rows that a warp stores, from pixel (x0, y0) on, but none from row `end` on. */
struct StoreTarget {
  int x0, y0, end;
  bool inside; /* all of the warp's pixels are to be stored */
};

/* Rows and columns of a strip, in the plane's pixels. */
template <typename Shape> struct StripSpan {
  const int x0, left; /* first columns of the result and of the source */
  const int top, end; /* rows of the result; `top` may be above the first row to store */
  const int y0;       /* first row of the source */
  const int results;  /* steps of the result */
  const int steps;    /* steps of the source */

  __device__ StripSpan(const PlaneWork &work, const StripPlace &place)
      : x0(place.column * Shape::kPixels), left(x0 - Shape::kHalo),
        top(first_step_row(work) + place.first_row), end(min(top + place.rows, work.end)),
        y0(top - Shape::kRadius), results((end - top + kStepRows - 1) / kStepRows),
        steps(results + Shape::kTapTiles - 1)
  {
  }

  /* The target of step `result` of the result, for `pixels` pixels from `pixel` of the strip on. */
  __device__ StoreTarget target(const PlaneWork &work, int result, int pixel, int pixels) const
  {
    StoreTarget target;

    target.x0 = x0 + pixel;
    target.y0 = top + result * kStepRows;
    target.end = end;
    target.inside =
        target.x0 + pixels <= work.width && target.y0 >= work.first && target.y0 + kStepRows <= end;
    return target;
  }
};

/* The pixels of a plane: channels of 8 bits, or of 10 bits in two bytes. */
template <int Channels, int SampleBytes> struct PixelType {
  static constexpr bool kPacked = false;
  static constexpr int kChannels = Channels, kSampleBytes = SampleBytes;
  static constexpr int kColours = Channels == 4 ? 3 : Channels; /* the fourth is alpha or padding */
  static constexpr int kPixelBytes = Channels * SampleBytes;
  static constexpr int kMaxCode = SampleBytes == 1 ? 255 : 1023;
};

typedef PixelType<4, 1> FourBytes;

/* Two pixels of packed 4:2:2. 16 macropixels are filtered as two blocks of luma and one of each
 * chroma. In macropixels, the taps of chroma reach twice as far as those of luma. */
struct Macropixel {
  static constexpr bool kPacked = true;
  static constexpr int kChannels = 3, kSampleBytes = 1, kColours = 4, kPixelBytes = 4;
};

__host__ __device__ constexpr bool is_uniform(int tap_tiles)
{
  return tap_tiles <= kMaxUniformTapTiles;
}

/* A strip of these pixels, in all kernels. */
template <typename Pixel, int TapTiles> struct StripShape : Pixel {
  static constexpr int C = Pixel::kChannels;
  static constexpr bool kFewTaps = TapTiles <= kMaxFewTapTiles;
  static constexpr int kTapTiles = TapTiles;

  /* Blocks of 16 pixels per warp, and warps that filter. */
  static constexpr int kBlocks = C == 4 ? (kFewTaps ? 2 : 1) : 4 / C;
  static constexpr int kWarps = Pixel::kPacked || (C == 4 && !kFewTaps) ? 8 : 4;
  static constexpr int kWarpPixels = 16 * kBlocks;
  static constexpr int kPixels = kWarpPixels * kWarps;

  /* A stage: 16 rows of the source, in pieces of 16 bytes. */
  static constexpr int kRadius = 8 * (TapTiles - 1);
  static constexpr int kPiecePixels = 16 / Pixel::kPixelBytes;
  static constexpr int kHalo = round_up(kRadius, kPiecePixels);
  static constexpr int kInputPixels = kPixels + 2 * kHalo;
  static constexpr int kPieces = kInputPixels / kPiecePixels; /* per row */
  static constexpr int kStageBytes = kPieces * 16 * kStepRows;

  /* A set of fp16 planes: 16 rows, one plane for each channel. Of macropixels, each row has all
   * lumas, then one chroma, then the other. Rows are padded so that eight consecutive rows start in
   * different banks; the first row's padding holds the flags, from kFlagsOffset on. */
  static constexpr int kStride = ((Pixel::kPacked ? 4 : 1) * kInputPixels + 8) * 2;
  static constexpr int kFlagsOffset = kStride - 16;
  static constexpr int kPlaneBytes = Pixel::kPacked ? kInputPixels * 2 : kStride * kStepRows;

  __host__ __device__ static constexpr int set_bytes(int planes)
  {
    return kStride * kStepRows * (Pixel::kPacked ? 1 : planes);
  }

  static constexpr int kTapKinds = Pixel::kPacked ? 3 : 2; /* rows, columns, rows of chroma */
  static constexpr int kTapBytes = kTapKinds * 4 * kTapPairs;
};

/* The loads of a kernel with `Threads` loading threads: Threads / 16 for each row, kLoads pieces
 * each. */
template <typename Strip, int Threads> struct LoadShape {
  static constexpr int kRowThreads = Threads / kStepRows;
  static constexpr int kLoads = div_up(Strip::kPieces, kRowThreads);
};

struct CtaBarrier {
  __device__ static void synchronize()
  {
    __syncthreads();
  }
};

/* Opaque pixels; all warps do the same work, and keep filtered rows for the columns in registers.
 */
template <typename Pixel, int TapTiles>
struct UniformShape
    : StripShape<Pixel, TapTiles>,
      LoadShape<StripShape<Pixel, TapTiles>, 32 * StripShape<Pixel, TapTiles>::kWarps>,
      CtaBarrier {
  typedef StripShape<Pixel, TapTiles> Strip;
  static constexpr bool kHasAlpha = false;
  static constexpr int kThreads = 32 * Strip::kWarps;
  static constexpr int kStages = Pixel::kChannels == 4 ? 1 : 2; /* steps that copies are ahead */
  static constexpr int kPlaneSets = 2, kSetBytes = Strip::set_bytes(Strip::kColours);
  static constexpr int kBytes =
      kStages * Strip::kStageBytes + kPlaneSets * kSetBytes + Strip::kTapBytes;
};

/* Each warp has one role. Column warps make two steps of the result at a time, so that each row
 * that they load from the ring serves two products; half of them filter while the others store. */
template <typename Pixel, int TapTiles, bool HasAlpha>
struct WarpSpecializedShape : StripShape<Pixel, TapTiles>,
                              LoadShape<StripShape<Pixel, TapTiles>, 32 * kLoadWarps>,
                              CtaBarrier {
  typedef StripShape<Pixel, TapTiles> Strip;
  static constexpr bool kHasAlpha = HasAlpha;
  static constexpr int kFiltered = Pixel::kColours + HasAlpha; /* filtered channels */
  static constexpr int kThreads = 32 * (kLoadWarps + kRowWarps + kColumnWarps);
  static constexpr int kStages = Pixel::kSampleBytes == 1 ? 2 : 1;
  static constexpr int kPlaneSets = 2;
  static constexpr int kSetBytes = Strip::set_bytes(kFiltered);

  /* Blocks of 16 pixels: of the strip, and of a column warp. */
  static constexpr int kPixelBlocks = Strip::kPixels / 16,
                       kColumnBlocks = kPixelBlocks / kColumnWarps;

  /* Steps of filtered rows in the ring: those that two steps of the result need, and one that is
   * being written. */
  static constexpr int kSlots = TapTiles + 2;
  static constexpr int kSlotBytes = kPixelBlocks * kFiltered * 32 * 16;
  static constexpr int kBytes =
      kStages * Strip::kStageBytes + kPlaneSets * kSetBytes + kSlots * kSlotBytes;
};

/* Four channels with alpha; all warps do the same work. `BehindOpaque`: inside a kernel for opaque
 * pixels, after it has stopped at one that is not, by the CTA's first threads. It should not need
 * more shared memory than that kernel, or fewer CTAs would fit on an SM. */
template <int TapTiles, bool BehindOpaque>
struct AlphaShape
    : StripShape<FourBytes, TapTiles>,
      LoadShape<StripShape<FourBytes, TapTiles>, 32 * StripShape<FourBytes, TapTiles>::kWarps> {
  typedef StripShape<FourBytes, TapTiles> Strip;
  static constexpr bool kHasAlpha = true;
  static constexpr int kThreads = 32 * Strip::kWarps;
  static constexpr int kStages = 1;
  static constexpr int kPlaneSets = BehindOpaque ? 1 : 2;
  static constexpr int kSetBytes = Strip::kChannels * Strip::kPlaneBytes;

  /* Each thread's history of filtered rows: of colours in registers or shared memory; of alpha,
   * which is rarely needed, in shared memory. */
  static constexpr bool kRegistersHoldRows = Strip::kFewTaps;
  static constexpr int kHistory = TapTiles - 1; /* steps */
  static constexpr int kSharedColours = kRegistersHoldRows ? 0 : Strip::kColours;
  static constexpr int kSharedChannels = kSharedColours + 1;
  static constexpr int kHistoryBytes = 16 * kHistory * Strip::kBlocks * kSharedChannels * kThreads;
  static constexpr int kBytes = kStages * Strip::kStageBytes + kPlaneSets * kSetBytes +
                                larger(kHistoryBytes, Strip::kTapBytes);

  __device__ static void synchronize()
  {
    if constexpr (BehindOpaque)
      named_barrier_sync<kThreads>(2);
    else
      __syncthreads();
  }
};

} // namespace cf::fir
