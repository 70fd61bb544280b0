/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Local Laplacian filter: Paris, Hasinoff, Kautz 2011, with the parameters of MATLAB's
 * locallapfilt. docs/reference/definitions.md has the formulas.
 */
#pragma once

#include "engine.h"

typedef enum {
  CF_LLF_FAST,    /* sine series: Sumiya et al. 2022 with least-squares coefficients */
  CF_LLF_SAMPLED, /* interpolation between sampled intensities: Aubry et al. 2014 */
  CF_LLF_EXACT,   /* dense gather */
} CfLlfMethod;

typedef enum {
  CF_LLF_LUMINANCE, /* filter luma; chroma follows its gain */
  CF_LLF_SEPARATE,  /* filter every component as an image of its own */
  CF_LLF_RGB,       /* exact only: distance in RGB, Paris' r_color */
} CfLlfColorMode;

typedef struct {
  double sigma;         /* 0.01..1: amplitude, in units of full scale, below which detail ends */
  double alpha;         /* 0.05..10: < 1 more detail, > 1 smoother */
  double beta;          /* 0..5: < 1 compresses tones, > 1 expands them */
  int levels;           /* Laplacian levels above the residual: 0 = full depth, else 1..16 */
  int method;           /* CfLlfMethod */
  int harmonics;        /* 2..16: terms of the sine series */
  int intensity_levels; /* 0 = MATLAB's rule, else 2..256: sampled intensities */
  int color_mode;       /* CfLlfColorMode */
  double noise_floor;   /* 0..0.1: differences below it are not amplified */
} CfLlfParams;

/* Engines that are not built are absent from cf_llf.engines. */
extern const CfEngine cf_llf_reference, cf_llf_cpu, cf_llf_cuda;
extern const CfEffect cf_llf;
