/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The separable filter on tensor cores: how the threads of a CTA share a strip, and its shared
 * memory.
 *
 * A matrix product has 16 rows by 8 columns and sums over 16 places. Both directions have pixels as
 * the matrix's rows and picture rows as its columns:
 *
 *   row sums [16 pixels x 8 rows] = row taps [16 x 16 inputs]   * samples [16 inputs x 8 rows]
 *   result   [16 pixels x 8 rows] = row sums, fp16 [16 x 16 rows] * column taps [16 rows x 8]
 *
 * where the taps are banded Toeplitz matrices, `TapTiles` of them one after the other. The threads
 * hold the sums of the first product as they must hold the left side of the second: rounding them
 * to fp16 is all that happens in between. So only the samples, as fp16, are shared.
 *
 * Colours are weighted by alpha before they become fp16. Where all is opaque a CTA leaves out alpha
 * and the division by it, and the bytes are the same: pixels whose neighbours are opaque elsewhere
 * are not divided either.
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

/* The strip that a CTA filters. */
struct StripPlace {
  int column, first_row, rows; /* rows count from first_step_row */

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

  /* The first rows are finished. */
  __device__ void skip(int finished)
  {
    first_row += finished;
    rows -= finished;
  }
};

/* Where a warp stores: 16 rows from y0 on, from pixel x0 on; rows from `end` on are not wanted. */
struct StoreTarget {
  int x0, y0, end;
  bool inside; /* all of the pixels are wanted */
};

/* Rows and columns of a strip, in the plane's pixels. */
template <typename Shape> struct StripSpan {
  const int x0, left; /* of the result, and of the pixels to load */
  const int top, end; /* rows of the result; `top` is the first step's */
  const int y0;       /* the first row to load */
  const int results;  /* steps of the result */
  const int steps;    /* steps of rows to load */

  __device__ StripSpan(const PlaneWork &work, const StripPlace &place)
      : x0(place.column * Shape::kPixels), left(x0 - Shape::kHalo),
        top(first_step_row(work) + place.first_row), end(min(top + place.rows, work.end)),
        y0(top - Shape::kRadius), results((end - top + kStepRows - 1) / kStepRows),
        steps(results + Shape::kTapTiles - 1)
  {
  }

  /* Step `result` of the result, `pixels` from `pixel` of the strip on. */
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

/* What a plane's pixels are: bytes, or 10 bits in two bytes. */
template <int Channels, int SampleBytes> struct PixelType {
  static constexpr bool kPacked = false;
  static constexpr int kChannels = Channels, kSampleBytes = SampleBytes;
  static constexpr int kColours = Channels == 4 ? 3 : Channels; /* the fourth is alpha or padding */
  static constexpr int kPixelBytes = Channels * SampleBytes;
  static constexpr int kMaxCode = SampleBytes == 1 ? 255 : 1023;
};

typedef PixelType<4, 1> FourBytes;

/* Two pixels of packed 4:2:2. What is filtered of 16 are two blocks of luma and one of each chroma;
 * chroma reaches twice as far. */
struct Macropixel {
  static constexpr bool kPacked = true;
  static constexpr int kChannels = 3, kSampleBytes = 1, kColours = 4, kPixelBytes = 4;
};

__host__ __device__ constexpr bool is_uniform(int tap_tiles)
{
  return tap_tiles <= kMaxUniformTapTiles;
}

/* A strip of planes of these pixels, whatever the kernel. */
template <typename Pixel, int TapTiles> struct StripShape : Pixel {
  static constexpr int C = Pixel::kChannels;
  static constexpr bool kFewTaps = TapTiles <= kMaxFewTapTiles;
  static constexpr int kTapTiles = TapTiles;

  /* Blocks of 16 pixels that a warp has, and warps. */
  static constexpr int kBlocks = C == 4 ? (kFewTaps ? 2 : 1) : 4 / C;
  static constexpr int kWarps = Pixel::kPacked || (C == 4 && !kFewTaps) ? 8 : 4;
  static constexpr int kWarpPixels = 16 * kBlocks;
  static constexpr int kPixels = kWarpPixels * kWarps;

  /* 16 rows of the source, as copied: pieces of 16 bytes. */
  static constexpr int kRadius = 8 * (TapTiles - 1);
  static constexpr int kPiecePixels = 16 / Pixel::kPixelBytes;
  static constexpr int kHalo = round_up(kRadius, kPiecePixels);
  static constexpr int kInputPixels = kPixels + 2 * kHalo;
  static constexpr int kPieces = kInputPixels / kPiecePixels; /* of a row */
  static constexpr int kStageBytes = kPieces * 16 * kStepRows;

  /* 16 rows as fp16, a plane a channel; macropixels have their lumas and then the two chromas in a
   * row. Padding lets eight rows in a row start in different banks; in the first row it has room
   * for a few words, from kFlagsOffset on. */
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

/* A kernel's part: the threads that load, kLoads pieces each, in `Threads` / 16 threads a row. */
template <typename Strip, int Threads> struct LoadShape {
  static constexpr int kRowThreads = Threads / kStepRows;
  static constexpr int kLoads = div_up(Strip::kPieces, kRowThreads);
};

/* Opaque pixels, all warps alike: each loads, filters rows and columns, and keeps the rows that
 * wait for the columns in registers. */
template <typename Pixel, int TapTiles>
struct UniformShape
    : StripShape<Pixel, TapTiles>,
      LoadShape<StripShape<Pixel, TapTiles>, 32 * StripShape<Pixel, TapTiles>::kWarps> {
  typedef StripShape<Pixel, TapTiles> Strip;
  static constexpr bool kHasAlpha = false;
  static constexpr int kThreads = 32 * Strip::kWarps;
  static constexpr int kStages = Pixel::kChannels == 4 ? 1 : 2; /* of copies: steps ahead */
  static constexpr int kPlaneSets = 2, kSetBytes = Strip::set_bytes(Strip::kColours);
  static constexpr int kBytes =
      kStages * Strip::kStageBytes + kPlaneSets * kSetBytes + Strip::kTapBytes;

  __device__ static void synchronize()
  {
    __syncthreads();
  }
};

/* A role a warp. Warps that filter columns make two steps of the result at a time, so that the rows
 * they load serve two products; while one half of them does, the other stores. */
template <typename Pixel, int TapTiles, bool HasAlpha>
struct WarpSpecializedShape : StripShape<Pixel, TapTiles>,
                              LoadShape<StripShape<Pixel, TapTiles>, 32 * kLoadWarps> {
  typedef StripShape<Pixel, TapTiles> Strip;
  static constexpr bool kHasAlpha = HasAlpha;
  static constexpr int kFiltered = Pixel::kColours + HasAlpha; /* channels */
  static constexpr int kThreads = 32 * (kLoadWarps + kRowWarps + kColumnWarps);
  static constexpr int kStages = Pixel::kSampleBytes == 1 ? 2 : 1;
  static constexpr int kPlaneSets = 2;
  static constexpr int kSetBytes = Strip::set_bytes(kFiltered);

  /* Blocks of 16 pixels of the strip, and of a warp that filters columns. */
  static constexpr int kPixelBlocks = Strip::kPixels / 16,
                       kColumnBlocks = kPixelBlocks / kColumnWarps;

  /* The ring of rows that wait for the columns, in steps: those that two steps of the result need,
   * and one that is being made. */
  static constexpr int kSlots = TapTiles + 2;
  static constexpr int kSlotBytes = kPixelBlocks * kFiltered * 32 * 16;
  static constexpr int kBytes =
      kStages * Strip::kStageBytes + kPlaneSets * kSetBytes + kSlots * kSlotBytes;

  __device__ static void synchronize()
  {
    __syncthreads();
  }
};

/* Four channels with alpha, all warps alike. `BehindOpaque`: the threads are the first of a CTA
 * whose kernel for opaque pixels has ended where pixels are not; it must not need more shared
 * memory than that, which would mean fewer CTAs on an SM. */
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

  /* Filtered rows that wait for the columns, each thread's for itself: of colours in registers or
   * in shared memory, of alpha, which rarely has any, always in shared memory. */
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
