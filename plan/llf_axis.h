/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What one sample of a pyramid level is made of. A coefficient of the Laplacian pyramid of a
 * remapped image is a weighted sum of remapped pixels; the weights are products of those of the two
 * axes, and those of an axis are products of the pyramid's own operators, so borders need no cases.
 */
#pragma once

#include "plan/llf_plan.h"

/* A linear operator on one axis: output i is the sum over k < width of weight[i * width + k] times
 * input first[i] + k. Every row lies inside the inputs; weights that are not needed are 0. */
typedef struct {
  int inputs, outputs, width;
  int *first;
  double *weight;
} CfLlfOperator;

/* The pyramid of one axis. A coefficient of level l at (x, y) is the sum over the picture of
 *   (reduced_y reduced_x - expanded_y expanded_x) r_g(I)
 * and what `expanded` reaches contains what `reduced` reaches. */
typedef struct {
  CfLlfOperator reduced[CF_LLF_MAX_IMAGES];  /* the picture -> image l */
  CfLlfOperator expanded[CF_LLF_MAX_IMAGES]; /* the picture -> image l + 1 -> the size of l */
  CfLlfOperator expand[CF_LLF_MAX_IMAGES];   /* image l + 1 -> the size of l */
} CfLlfAxis;

/* Fills a zeroed axis for the sizes of CfLlfPyramid. False where memory ran out; then, too, the
 * caller calls cf_llf_axis_free(). */
bool cf_llf_axis_open(CfLlfAxis *axis, const int size[CF_LLF_MAX_IMAGES], int images);

void cf_llf_axis_free(CfLlfAxis *axis);

/* The weight of an input that row `i` reaches. */
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
