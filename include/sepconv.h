/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Separable correlation: rows with `row_kernel`, columns with `column_kernel`, tap[0] on the
 * leftmost and topmost sample. Taps are one sample apart in every plane, subsampled or not. A
 * sample becomes
 *
 *   scale * sum over i, j of row[i] column[j] sample(x + i - anchor_x, y + j - anchor_y) + bias
 *
 * in code values (chroma relative to its neutral code), rounded half up and clamped to 0..max code.
 * Colours beside an alpha channel are weighted by alpha. plan/fir.h has the full definition.
 */
#pragma once

#include "border.h"
#include "engine.h"

typedef enum {
  CF_SEPCONV_CUSTOM,
  CF_SEPCONV_BOX,
  CF_SEPCONV_BINOMIAL,
  CF_SEPCONV_GAUSSIAN,
  CF_SEPCONV_SOBEL_X,
  CF_SEPCONV_SOBEL_Y,
  CF_SEPCONV_SHARPEN,
  CF_SEPCONV_UNSHARP, /* more than a kernel: see `amount` */
} CfSepconvPreset;

/* Bits of CfSepconvParams.planes. Red, green and blue count as luma. */
typedef enum {
  CF_SEPCONV_PLANE_LUMA = 1,
  CF_SEPCONV_PLANE_CHROMA = 2,
  CF_SEPCONV_PLANE_ALPHA = 4,
} CfSepconvPlanes;

typedef struct {
  CfKernel row_kernel;    /* 1..255 taps, for CF_SEPCONV_CUSTOM */
  CfKernel column_kernel; /* 1..255 taps, for CF_SEPCONV_CUSTOM */
  int preset;             /* CfSepconvPreset */
  int preset_size;        /* 3..255, odd: taps of a preset; ignored for CF_SEPCONV_CUSTOM */
  int anchor_x;           /* tap of the row kernel on the output sample: -1 = middle, else 0..taps -
                             1 */
  int anchor_y;           /* the same for the column kernel */
  bool normalize;         /* divide each kernel by the sum of its taps */

  /* For CF_SEPCONV_UNSHARP, with v the sample and m the mean of its neighbourhood by the taps of
   * CF_SEPCONV_GAUSSIAN: v + amount (v - m) replaces the sum where |v - m| exceeds the threshold,
   * else v does. */
  double amount;    /* 0..10 */
  double threshold; /* 0..1, a fraction of full scale */

  double scale;          /* -1e9..1e9, multiplies the sum */
  double bias;           /* -16..16: a fraction of full scale, added to the sum */
  bool absolute;         /* take the magnitude before the bias */
  int border;            /* CfBorder */
  uint32_t border_color; /* 0xAARRGGBB, for CF_BORDER_CONSTANT */
  int planes;            /* CfSepconvPlanes, or-ed: the channels to filter; others are copied */
} CfSepconvParams;

extern const CfEngine cf_sepconv_reference, cf_sepconv_cpu, cf_sepconv_cuda;
extern const CfEffect cf_sepconv;
