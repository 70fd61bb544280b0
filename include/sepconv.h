/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Separable correlation: rows with `row_kernel`, columns with `column_kernel`, tap[0] on the
 * leftmost and topmost sample. Kernels count samples of each plane. A sample becomes
 *
 *   scale * sum over i, j of row[i] column[j] sample(x + i - anchor_x, y + j - anchor_y) + bias
 *
 * in code values, those of chroma counted from neutral, rounded half up and cut to 0..max code.
 * Colours beside alpha are weighted by it. plan/fir.h has all of it.
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
  CF_SEPCONV_UNSHARP, /* not a kernel alone: see `amount` */
} CfSepconvPreset;

/* RGB counts as luma. */
typedef enum {
  CF_SEPCONV_PLANE_LUMA = 1,
  CF_SEPCONV_PLANE_CHROMA = 2,
  CF_SEPCONV_PLANE_ALPHA = 4,
} CfSepconvPlanes;

typedef struct {
  CfKernel row_kernel;    /* 1..255 taps, preset = custom */
  CfKernel column_kernel; /* 1..255 taps, preset = custom */
  int preset;             /* CfSepconvPreset */
  int preset_size;        /* 3..255, odd: taps of a preset; custom: means nothing */
  int anchor_x;           /* tap on the output sample: -1 = middle, else 0..taps - 1 */
  int anchor_y;           /* the same of the column kernel */
  bool normalize;         /* divide each kernel by its sum */

  /* preset = unsharp: where a sample v and the sum m, a mean by the taps of the preset gaussian,
   * differ by more than the threshold, v + amount (v - m) takes the place of the sum, else v. */
  double amount;    /* 0..10 */
  double threshold; /* 0..1, a fraction of full scale */

  double scale;          /* -1e9..1e9, of the sum */
  double bias;           /* -16..16: a fraction of full scale, added to the sum */
  bool absolute;         /* take the magnitude before the bias */
  int border;            /* CfBorder */
  uint32_t border_color; /* 0xAARRGGBB, border = constant */
  int planes;            /* CfSepconvPlanes: a union of what is filtered; the rest is copied */
} CfSepconvParams;

extern const CfEngine cf_sepconv_reference, cf_sepconv_cpu, cf_sepconv_cuda;
extern const CfEffect cf_sepconv;
