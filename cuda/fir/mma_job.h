/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The separable filter of 8- and 10-bit frames on tensor cores: what a launch is told. Compiles for
 * host code too.
 */
#pragma once

#include "cuda/fir/types.cuh"

namespace cf::fir
{

constexpr int kStepRows = 16; /* rows that a CTA filters at a time */
constexpr int kMaxTapTiles = 9;

/* -(kCodeBias + v) has the code of v, rounded half up, from its second byte on, for a unit in the
 * last place is 1/256; its highest bit is set. */
constexpr float kCodeBias = 49152.5f;

/* Zeros around the taps, which the Toeplitz matrices reach into: by 15 on either side. */
constexpr int kTapMargin = 16;
constexpr int kTapPairs = (16 * (kMaxTapTiles - 1) + 2 * kTapMargin) / 2;

/* One plane: how it is divided into strips, each of which a CTA filters from top to bottom, and
 * what becomes of the sums where all pixels are opaque. */
struct MmaStrips {
  int first_block; /* the first strip's CTA in the grid */
  int across;      /* strips side by side */
  int rows;        /* of a strip, a multiple of kStepRows */
  int outer_rows;  /* of those at the left and right border, which have more to do */
  int outer;       /* how many these are; they come first */
  uint32_t colour; /* of the border, a word of pixels */

  /* A result in units of the largest code, of filtered channel c: addend + factor * sum, where
   * first in `absolute` channels sum becomes |sum * inner_factor + inner_addend|. */
  float factor[3], addend[3], inner_factor[3], inner_addend[3];
  int absolute; /* bits */

  /* Where no result can leave the codes: -(kCodeBias + result), in code values. */
  bool bounded;
  float code_factor[3], code_addend[3];
};

/* What becomes of the sums of pixels that are not opaque. */
struct AlphaTransform {
  int exists;           /* colours are weighted by alpha */
  int filtered;         /* and alpha is filtered; else the result has the source's */
  int copied;           /* no weights: the result has the source's alpha */
  uint32_t transparent; /* the pixel where nothing shows */
  float opaque;         /* the sum of alpha where all is opaque */
  float tolerance;      /* a sum this close to `opaque` is an opaque pixel's */
  float factor;         /* filtered alpha (alpha'): factor * sum */

  /* Where alpha is not filtered, a sum of colours, which count from 128, is to grow by
   * mean[c] * (sum of alpha) * 255 / alpha' + offset[c]. */
  float mean[3], offset[3];
};

/* The kernels' argument. */
struct MmaJob {
  PlaneWork plane[CF_MAX_PLANES];
  MmaStrips strip[CF_MAX_PLANES]; /* of packed 4:2:2 the second has what becomes of chroma */
  int planes;
  int first_colour; /* of a pixel of four bytes, the first of three that are filtered: 0 or 1 */
  uint32_t first_two, third; /* selectors of bytes: these colours of two pixels; of packed 4:2:2
                                both chromas of two, both lumas of one and the exponents */
  uint32_t exponents;        /* kExponentsOf1024 */
  AlphaTransform weights;
  uint32_t *feedback, number;     /* see AlphaFeedback */
  uint32_t taps[2][2][kTapPairs]; /* [set][row, column]: fp16, the anchor's in the middle */
};

/* Steps start at multiples of kStepRows in every band: which of a product's places a tap is in may
 * show in the last bit of the sum. */
__host__ __device__ inline int first_step_row(const PlaneWork &work)
{
  return work.first / kStepRows * kStepRows;
}

/* How many of the strips side by side are at the left or right border. */
__host__ __device__ inline int outer_columns(int across)
{
  return across < 2 ? 1 : 2;
}

} // namespace cf::fir
