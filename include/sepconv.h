/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Separable correlation: rows with `row_kernel`, columns with `column_kernel`, tap[0] on the
 * leftmost and topmost sample. Kernels count samples of each plane.
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
  int preset_size;        /* 3..255, odd: taps of a preset */
  int anchor_x;           /* -1 = middle, else 0..254: tap on the output sample */
  int anchor_y;           /* -1 = middle, else 0..254 */
  bool normalize;         /* divide each kernel by its sum */
  double scale;           /* the result is scale * sum + bias */
  double bias;            /* fraction of full scale */
  bool absolute;          /* take the magnitude before the bias */
  int border;             /* CfBorder */
  uint32_t border_color;  /* 0xAARRGGBB */
  int planes;             /* CfSepconvPlanes */
} CfSepconvParams;

extern const CfEngine cf_sepconv_reference, cf_sepconv_cpu, cf_sepconv_cuda;
extern const CfEffect cf_sepconv;
