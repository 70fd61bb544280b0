/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Gaussian blur: the normalised sampled Gaussian, cut at ceil(4 sigma), in both directions.
 */
#pragma once

#include "border.h"
#include "engine.h"

typedef struct {
  double sigma;          /* -250..250 luma pixels; negative sharpens with the taps 2 delta - g */
  double sigma_vertical; /* -1 = as sigma, else 0..250; sharpens too where sigma is negative */
  int border;            /* CfBorder; constant is opaque black */
} CfGaussblurParams;

extern const CfEngine cf_gaussblur_reference, cf_gaussblur_cpu, cf_gaussblur_cuda;
extern const CfEffect cf_gaussblur;
