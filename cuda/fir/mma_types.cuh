/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The separable filter of 8-bit pictures on tensor cores: fp16 products, fp32 sums, one launch, one
 * read, one write.
 *
 * A product of the tensor cores has 16 rows by 8 columns and sums over 16 places. Both directions
 * have pixels as rows and picture rows as columns:
 *
 *   across [16 pixels x 8 rows] = row matrix [16 x 16 inputs]     * samples [16 inputs x 8 rows]
 *   result [16 pixels x 8 rows] = across, as halves [16 x 16 rows] * column matrix [16 rows x 8]
 *
 * where the matrices are the taps as banded Toeplitz matrices, `Tiles` of them one after the other
 * to cover the filter. The threads hold the sums of the first product as they must hold the left
 * side of the second: rounding them to halves is all that happens in between. So each warp marches
 * down its own columns, 16 rows a step, and only the samples, as halves, are shared.
 *
 * Colours are weighted by alpha before they become halves. Where all is opaque a block leaves out
 * alpha and the division by it, and the bytes are the same: pixels whose neighbours are opaque
 * elsewhere are not divided either.
 */
#pragma once

#include "cuda/fir/types.cuh"
#include "cuda/common/half2.cuh"
#include "cuda/common/named_barrier.cuh"
#include "cuda/common/ptx_async.cuh"
#include "cuda/common/ptx_mma.cuh"

constexpr int kTensorStep = 16; /* rows */
constexpr int kTensorMaxTiles = 9;

/* -(kTensorCodes + v) has the code of v, rounded half up, as its second byte, for a unit in the
 * last place is 1/256; its highest bit is set. */
constexpr float kTensorCodes = 49152.5f;

/* Zeros around the taps, which the Toeplitz matrices reach into: by 15 on either side. */
constexpr int kTensorMargin = 16;
constexpr int kTensorTapPairs = (16 * (kTensorMaxTiles - 1) + 2 * kTensorMargin) / 2;

struct CfTensorStrip {
  int first_block; /* of the grid */
  int across;      /* strips side by side */
  int rows;        /* of a strip, a multiple of kTensorStep */
  int outer_rows;  /* of those at the left and right border, which have more to do */
  int outer;       /* how many these are; they come first */
  uint32_t colour; /* of the border, a word of pixels */

  /* A result in units of 255, of filtered channel c: addend + factor * sum, where first in
   * `absolute` channels sum becomes |sum * inner_factor + inner_addend|. */
  float factor[3], addend[3], inner_factor[3], inner_addend[3];
  int absolute; /* bits */

  /* Where no result can leave the codes: less kTensorCodes, in code values. */
  bool bounded;
  float code_factor[3], code_addend[3];
};

/* Of pixels with alpha. */
struct CfTensorWeights {
  int exists;   /* colours are weighted */
  int filtered; /* and alpha is filtered, else it is the source's */
  int copied;   /* nothing is weighted, and alpha is the source's */
  float factor; /* alpha' is factor * sum */
  float opaque; /* the sum where all is opaque, and how far others may be */
  float tolerance;
  float tie;       /* sends exact halves up */
  float centre[3]; /* of colours, see CfFirChannel */
  float offset[3]; /* centre and bias and tie, in units of 255 */

  /* Weighted colours count from 128. What this takes from a result is, in units of 255,
   * addend[c] * (share + weight_factor * sum / alpha'), with the sum of alpha. */
  float addend[3], share, weight_factor;

  /* Farther than `sure` from its code, alpha' may be another on the CPU; so may colours that are
   * within `error`, in units of 255, of a tie, and of faint pixels within `faint_error`. */
  float sure, error, faint_error;
};

struct CfTensorJob {
  CfFirWork plane[CF_MAX_PLANES];
  CfTensorStrip strip[CF_MAX_PLANES];
  int planes;
  int first_colour; /* of a pixel of four bytes, the first of three that are filtered: 0 or 1 */
  uint32_t first_two, third; /* selectors of bytes: these colours of two pixels */
  uint32_t exponents;        /* cf::kExponentsOf1024 */
  CfTensorWeights weights;
  uint32_t *sightings, number;          /* see CfFirSightings */
  uint32_t taps[2][2][kTensorTapPairs]; /* [set][row, column]: halves, the anchor's in the middle */
};

/* Steps start at multiples of kTensorStep in every band: which of a product's places a tap is in
 * may show in the last bit of the sum. */
__host__ __device__ inline int cf_tensor_first_step(const CfFirWork &work)
{
  return work.first / kTensorStep * kTensorStep;
}

/* How many of the strips side by side are at the left or right border. */
__host__ __device__ inline int cf_tensor_borders(int across)
{
  return across < 2 ? 1 : 2;
}

__host__ __device__ constexpr int cf_round_up(int value, int multiple)
{
  return (value + multiple - 1) / multiple * multiple;
}

/* Which strip a block has. */
struct CfTensorPlace {
  int column, first_row, rows;

  __device__ CfTensorPlace(const CfTensorStrip &strip, int index)
  {
    const int borders = cf_tensor_borders(strip.across), inner = strip.across - borders;

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

/* What becomes of alpha divides all colours. Halves of its sums, and what these lack, make colours
 * exact of which little is visible. The longest kernels have no room for it, nor need: what is
 * rounded differently in many rows is added. */
__host__ __device__ constexpr bool cf_tensor_keeps_rests(int tiles)
{
  return tiles < kTensorMaxTiles;
}

/* Sums of pixels of less alpha' may be of few rows, which do not make up for each other's errors.
 */
constexpr float kTensorFaint = 64.0f;

/* How a block's threads share a strip of planes with C bytes a pixel, and its shared memory. */
template <int C, int Tiles> struct CfTensorShape {
  static constexpr bool kHasAlpha = C == 4;
  static constexpr int kColours = C == 4 ? 3 : C; /* the fourth byte is alpha or padding */
  static constexpr int kChannels = C;
  static constexpr bool kHasRests = kHasAlpha && cf_tensor_keeps_rests(Tiles);

  /* Blocks of 16 pixels that a warp has, and warps. Short kernels need few registers for what waits
   * for the columns, long ones much shared memory. */
  static constexpr bool kShort = Tiles <= 3;
  static constexpr int kBlocks = C == 4 ? (kShort ? 2 : 1) : 4 / C;
  static constexpr int kWarps = C == 4 && !kShort ? 8 : 4;
  static constexpr int kWarpPixels = 16 * kBlocks;
  static constexpr int kWeightedAtOnce = Tiles == 2   ? 1
                                         : Tiles == 3 ? 4
                                                      : 8; /* see cf_tensor_store_colours */

  /* Where rows that wait leave room for few blocks on an SM, half of the warps filter across what
   * came, each one channel of several blocks of pixels, while the others filter down what was made
   * a step before. */
  static constexpr bool kPaired = C == 4 && Tiles >= 6;
  static constexpr int kAcrossBlocks = kPaired ? kBlocks * kChannels : kBlocks;
  static constexpr int kLanes = 32 * kWarps; /* of all warps that do the same */
  static constexpr int kThreads = kPaired ? 2 * kLanes : kLanes;
  static constexpr int kPixels = kWarpPixels * kWarps; /* of a strip */

  /* Whether there are registers for taps that are there twice, and for sums of all blocks at once.
   * Planes of four tiles would pay for them with one of four blocks on an SM. */
  static constexpr bool kHasRegisters = C != 4 && (kShort || Tiles == 5);

  /* Copies of the source: pieces of 16 bytes, a row's by as many threads as there are rows for. */
  static constexpr int kRadius = 8 * (Tiles - 1);
  static constexpr int kPiecePixels = 16 / C;
  static constexpr int kHalo = cf_round_up(kRadius, kPiecePixels);
  static constexpr int kInputPixels = kPixels + 2 * kHalo;
  static constexpr int kPieces = kInputPixels / kPiecePixels; /* of a row */
  static constexpr int kRowThreads = kThreads / kTensorStep;
  static constexpr int kLoads = (kPieces + kRowThreads - 1) / kRowThreads;
  static constexpr int kStageBytes = kPieces * 16 * kTensorStep;

  /* Samples as halves, a plane a channel. Padding lets eight rows in a row start in different
   * banks; in the first row it has room for a few words. */
  static constexpr int kStride = (kInputPixels + 8) * 2;
  static constexpr int kWords = kInputPixels * 2;
  static constexpr int kPlaneBytes = kStride * kTensorStep;
  static constexpr int kPlaneSets = kShort || (C == 4 ? Tiles == 4 : Tiles == 5) ? 2 : 1;
  static constexpr int kStages = C == 4 && Tiles <= 5 ? 1 : 2; /* of copies: steps ahead */

  /* Rows filtered across wait for the columns in registers, or where these are too few in shared
   * memory, each thread's for itself where warps do both. Those of alpha are rarely there. */
  static constexpr bool kKeepsInRegisters = kShort;
  static constexpr int kKept = kPaired ? Tiles + 1 : Tiles - 1;
  static constexpr int kKeptColours = kKeepsInRegisters ? 0 : kColours;
  static constexpr int kKeptChannels = kKeptColours + (kHasAlpha ? 1 : 0);
  static constexpr int kKeptPlaces = kKept * kBlocks * kKeptChannels * kLanes;
  static constexpr int kKeptBytes =
      16 * kKeptPlaces + (kHasRests ? kKept * kBlocks * kLanes * 8 : 0);

  static constexpr int kTapBytes = 2 * 4 * kTensorTapPairs;
  static constexpr int kBytes = kStages * kStageBytes + kPlaneSets * kChannels * kPlaneBytes +
                                (kKeptBytes > kTapBytes ? kKeptBytes : kTapBytes);

  __device__ static void synchronize()
  {
    __syncthreads();
  }
};

/* The same for short kernels of opaque pixels: each warp loads, filters across and down, and keeps
 * the rows that wait for the columns in registers. */
template <int C, int Tiles> struct CfTensorShort : CfTensorShape<C, Tiles> {
  typedef CfTensorShape<C, Tiles> Strip;
  static constexpr bool kHasAlpha = false;
  static constexpr int kColours = Strip::kColours;
  static constexpr int kPlaneSets = 2, kSetBytes = kColours * Strip::kPlaneBytes;
  static constexpr int kBytes =
      Strip::kStages * Strip::kStageBytes + kPlaneSets * kSetBytes + Strip::kTapBytes;
};

/* The same for long kernels of opaque pixels: some warps load, some filter across, and some filter
 * down. These make two steps of the result at a time, so that what they load serves two products;
 * while one half of them does, the other stores what it has. Warp i is on quarter i % 4 of an SM:
 * each has all kinds of them. */
template <int C, int Tiles> struct CfTensorPipeline : CfTensorShape<C, Tiles> {
  typedef CfTensorShape<C, Tiles> Strip;
  static constexpr bool kHasAlpha = false;
  static constexpr int kColours = Strip::kColours;
  static constexpr int kLoadWarps = 4, kAcrossWarps = 4, kDownWarps = 8;
  static constexpr int kThreads = 32 * (kLoadWarps + kAcrossWarps + kDownWarps);
  static constexpr int kRowThreads = 32 * kLoadWarps / kTensorStep;
  static constexpr int kLoads = (Strip::kPieces + kRowThreads - 1) / kRowThreads;
  static constexpr int kStages = 2, kPlaneSets = 2;
  static constexpr int kSetBytes = kColours * Strip::kPlaneBytes;

  /* Blocks of 16 pixels of the strip, and that a warp filters down at once. */
  static constexpr int kPixelBlocks = Strip::kPixels / 16, kDownBlocks = kPixelBlocks / kDownWarps;

  /* Steps of rows that wait: those that two steps of the result need, and one that is being made.
   */
  static constexpr int kSlots = Tiles + 2;
  static constexpr int kSlotBytes = kPixelBlocks * kColours * 32 * 16;
  static constexpr int kBytes =
      kStages * Strip::kStageBytes + kPlaneSets * kSetBytes + kSlots * kSlotBytes;
};

/* The same for all threads of a block, or the first of those that filtered what is opaque, where
 * this ends. They must not need more shared memory, which would be fewer blocks on an SM. */
template <int Tiles, bool BehindOpaque> struct CfTensorFirstThreads : CfTensorShape<4, Tiles> {
  typedef CfTensorShape<4, Tiles> Strip;
  static constexpr int kPlaneSets = BehindOpaque ? 1 : Strip::kPlaneSets;
  static constexpr int kBytes =
      Strip::kBytes - (Strip::kPlaneSets - kPlaneSets) * Strip::kChannels * Strip::kPlaneBytes;

  __device__ static void synchronize()
  {
    if constexpr (BehindOpaque)
      cf::named_barrier_sync<CfTensorShape<4, Tiles>::kThreads>(2);
    else
      __syncthreads();
  }
};
