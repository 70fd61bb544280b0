/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The exact local Laplacian filter of one image of intensities, in double precision.
 */
#pragma once

#include "plan/llf_axis.h"

/* An image of 1 or 3 interleaved channels; with 3 the filter applies to colour vectors. */
typedef struct {
  CfLlfPyramid pyramid;
  int channels;
  CfLlfAxis horizontal, vertical;
  double *intensity;                 /* filled by the caller: width x height x channels, 0..1 */
  double *output[CF_LLF_MAX_IMAGES]; /* O_l; [0] is the result, laid out as `intensity` */
} CfExactLlf;

/* Prepares for the levels of `params`; `field` as CfVideo.field. False when out of memory; the
 * caller calls cf_exact_llf_free() either way. */
bool cf_exact_llf_open(CfExactLlf *filter, int width, int height, bool field,
                       const CfLlfParams *params, int channels);

/* Filters `intensity` into `output[0]`. */
void cf_exact_llf_run(CfExactLlf *filter, const CfLlfParams *params, int threads);

void cf_exact_llf_free(CfExactLlf *filter);
