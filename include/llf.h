/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Local Laplacian filter: Paris, Hasinoff, Kautz 2011, with the parameters of MATLAB's
 * locallapfilt.
 *
 * For one component I of the picture, in 0..1 of its nominal range, G_l its Gaussian pyramid:
 *
 *   L_l(p) = the coefficient at p of the Laplacian pyramid of g + r(I - g), where g = G_l(p)
 *   output = the collapse of all L_l and of the residual, the last G_l, as it is
 *
 *   r(d) = sign(d) sigma (t e + (1 - t) e^alpha), e = |d| / sigma,      where |d| <= sigma: detail
 *   r(d) = sign(d) (sigma + beta (|d| - sigma)),                        beyond: edges
 *
 * t is 0 where alpha >= 1; below, it falls smoothly from 1 at |d| <= noise_floor to 0 at twice
 * that. What the filter adds eases off towards black and white (protect) and is mixed with the
 * input (strength). alpha = beta = 1 and strength = 0 return the input. plan/llf_plan.h has the
 * pyramid, the engines' series, samples and weights, and how colour enters.
 */
#pragma once

#include "engine.h"

typedef enum {
  CF_LLF_FAST,    /* sine series: Sumiya et al. 2022 with least-squares coefficients */
  CF_LLF_SAMPLED, /* interpolation between sampled intensities: Aubry et al. 2014 */
  CF_LLF_EXACT,   /* dense gather */
} CfLlfMethod;

typedef enum {
  CF_LLF_LUMINANCE, /* filter luma; chroma is scaled by luma's gain */
  CF_LLF_SEPARATE,  /* filter every component as an image of its own */
  CF_LLF_RGB,       /* exact only: distance in RGB, Paris' r_color */
} CfLlfColorMode;

typedef struct {
  double sigma;         /* 0.01..1 of full scale: smaller differences are detail */
  double alpha;         /* 0.05..10: < 1 more detail, > 1 smoother, 1 as it is */
  double beta;          /* 0..5: < 1 compresses tones, > 1 expands them, 1 as they are */
  int levels;           /* levels of the Laplacian pyramid that are filtered: 1..16, 0 = full
                           depth */
  int method;           /* CfLlfMethod */
  int harmonics;        /* 2..16: terms of the sine series; CF_LLF_FAST */
  int intensity_levels; /* 0 = automatic, else 2..256: sampled intensities; CF_LLF_SAMPLED */
  int color_mode;       /* CfLlfColorMode; CF_LLF_RGB with CF_LLF_EXACT and RGB formats only */
  double noise_floor;   /* 0..0.1 of full scale: smaller differences are not amplified */
  double reach;         /* largest detail that is changed, as a fraction of the shorter side: 0..1,
                           0 = full depth */
  bool protect;         /* the change eases off before black and white, so that nothing new clips */
  double strength;      /* 0..1: 0 is the input, 1 the whole effect */
} CfLlfParams;

/* Engines that are not built are absent from cf_llf.engines. */
extern const CfEngine cf_llf_reference, cf_llf_cpu, cf_llf_cuda;
extern const CfEffect cf_llf;
