/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The weights of the dense filter (CF_LLF_EXACT). A coefficient of the Laplacian pyramid of a
 * remapped image is a weighted sum of remapped pixels. Its weights are products of a row's and a
 * column's weights, and those of an axis are products of the pyramid's own reduce and expand
 * operators, so borders need no special cases.
 */
#pragma once

#include "plan/llf_plan.h"

/* A linear operator on one axis, a matrix stored as a band: output i is the sum over k < width of
 * weight[i * width + k] * input[first[i] + k]. Every band lies inside the inputs; unused weights
 * are 0. */
typedef struct {
  int inputs, outputs, width;
  int *first;
  double *weight;
} CfLlfOperator;

/* The pyramid of one axis. A coefficient of level l at (x, y) is the sum over the picture of
 *   (reduced_y reduced_x - expanded_y expanded_x) r_g(I)
 * The band of a row of `expanded` contains that of the same row of `reduced`. */
typedef struct {
  CfLlfOperator reduced[CF_LLF_MAX_IMAGES];  /* picture -> image l */
  CfLlfOperator expanded[CF_LLF_MAX_IMAGES]; /* picture -> image l + 1 -> size of image l */
  CfLlfOperator expand[CF_LLF_MAX_IMAGES];   /* image l + 1 -> size of image l */
} CfLlfAxis;

/* Fills a zeroed axis for image sizes as in CfLlfPyramid. False where memory runs out. The caller
 * calls cf_llf_axis_free() either way. */
bool cf_llf_axis_open(CfLlfAxis *axis, const int size[CF_LLF_MAX_IMAGES], int images);

void cf_llf_axis_free(CfLlfAxis *axis);

/* The weight of `input` in output `i`; the input lies in the band of row `i`. */
static inline double *cf_llf_weight(const CfLlfOperator *op, int i, int input)
{
  return &op->weight[(size_t)i * (size_t)op->width + (size_t)(input - op->first[i])];
}

/* The same for any input. */
static inline double cf_llf_weight_or_zero(const CfLlfOperator *op, int i, int input)
{
  const int k = input - op->first[i];

  return k >= 0 && k < op->width ? *cf_llf_weight(op, i, input) : 0.0;
}
