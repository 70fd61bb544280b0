/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The parameters of the kernels on tensor cores. For host and device code.
 */
#pragma once

#include "cuda/fir/types.cuh"

namespace cf::fir
{

constexpr int kStepRows = 16; /* rows that a CTA filters at a time */
constexpr int kMaxTapTiles = 9;

/* The float -(kCodeBias + v) has v rounded half up in bits 8 and up: a unit in the last place is
 * 1/256. Its highest bit is set (pack_opaque_pixel() uses that). */
constexpr float kCodeBias = 49152.5f;

/* Zeros on either side of the taps; the Toeplitz matrices reach 15 of them. */
constexpr int kTapMargin = 16;
constexpr int kTapPairs = (16 * (kMaxTapTiles - 1) + 2 * kTapMargin) / 2;

/* One plane: its division into strips, each of which a CTA filters from top to bottom, and the
 * transforms from sums of opaque pixels to codes. */
struct MmaStrips {
  int first_block; /* the first strip's CTA in the grid */
  int across;      /* strips side by side */
  int rows;        /* of a strip, a multiple of kStepRows */
  int outer_rows;  /* rows of the strips at the left and right border, which take longer */
  int outer;       /* number of these strips; they come first */
  uint32_t colour; /* the constant border: a word of pixels */

  /* Of filtered channel c, result / max_code = addend + factor * sum. For channels whose bit is set
   * in `absolute`, sum is first replaced by |sum * inner_factor + inner_addend|. */
  float factor[3], addend[3], inner_factor[3], inner_addend[3];
  int absolute;

  /* If `bounded`, no result needs clamping, and -(kCodeBias + result) = code_addend + code_factor *
   * sum. */
  bool bounded;
  float code_factor[3], code_addend[3];
};

/* The transform from sums to codes of pixels that are not opaque. */
struct AlphaTransform {
  int exists;           /* colours are premultiplied by alpha */
  int filtered;         /* alpha is filtered; else the result has the source's alpha */
  int copied;           /* not premultiplied, and the result has the source's alpha */
  uint32_t transparent; /* the pixel to store where alpha is 0 */
  float opaque;         /* the sum of alpha of opaque pixels */
  float tolerance;      /* a pixel is opaque if its sum of alpha is this close to `opaque` */
  float factor;         /* filtered alpha (alpha') = factor * sum of alpha */

  /* If alpha is not filtered: mean[c] * (sum of alpha) + offset[c] * alpha / 255 is added to the
   * sum of colour c, since MmaStrips.addend holds only where (sum of alpha) / alpha' is the taps'
   * gain. */
  float mean[3], offset[3];
};

/* The kernels' parameter. */
struct MmaJob {
  PlaneWork plane[CF_MAX_PLANES];
  MmaStrips strip[CF_MAX_PLANES]; /* of packed 4:2:2 [1] has the transforms of chroma */
  int planes;
  int first_colour; /* of four channels: 1 if alpha or padding comes first, else 0 */

  /* Byte selectors (permute_bytes). Of two pixels of four channels: the first two colours of both;
   * the third colour and alpha of both. Of packed 4:2:2: both chromas of two macropixels; both
   * lumas of one, with the exponents of ByteToHalf. */
  uint32_t first_two, third;
  uint32_t exponents; /* kExponentsOf1024 */
  AlphaTransform weights;
  uint32_t *feedback, number; /* AlphaFeedback */
  uint32_t taps[2][2]
               [kTapPairs]; /* [tap set][rows, columns]: pairs of fp16, anchor in the middle */
};

/* The first row that a CTA filters: a multiple of kStepRows, so that each tap has the same place in
 * a matrix product in every band, and sums are the same to the last bit. */
__host__ __device__ inline int first_step_row(const PlaneWork &work)
{
  return work.first / kStepRows * kStepRows;
}

/* How many of `across` strips side by side are at the left or right border. */
__host__ __device__ inline int outer_columns(int across)
{
  return across < 2 ? 1 : 2;
}

} // namespace cf::fir
