/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Which D, D1, D2 and prefilter of plan/pyramid.h keep a blur accurate. All backends ask here: that
 * the CPU and CUDA agree depends on it.
 */
#pragma once

#include <stdbool.h>

#include "plan/pyramid.h"

/* What a backend's kernels can do along one axis; powers of two. */
typedef struct {
  int least_decimation, most_decimation; /* D1 */
  int most;                              /* D */
  bool boxes;                            /* the prefilter of that name, for 8 bits and D1 >= 4 */
  double prefilter_sigma;                /* of 8 bits without boxes, in D1; finer samples take a */
  double prefilter_reach;                /* wider prefilter everywhere */
} CfPyramidLimits;

/* D of a blur of one sigma, in samples of the plane: the largest power of two up to `most` at which
 * results are within a tenth of a code of 8 bits, a quarter of finer ones, but for colours where
 * next to nothing is visible (docs/reference/accuracy.md). Where alpha weighs colours
 * (`weighted`) these are quotients, which show more of what the pyramid lacks; above D = 8 less
 * costs next to nothing. */
int cf_pyramid_factor(double sigma, int bits, bool weighted, int most);

/* The same of a level of a blur map, which is blended with others. */
int cf_pyramid_level_factor(double sigma, int most);

/* How D is divided into D1, as large as the backend's kernels can, and D2, and the prefilter. */
CfPyramidFactors cf_pyramid_factors(double sigma, int bits, bool weighted,
                                    const CfPyramidLimits *limits);
CfPyramidFactors cf_pyramid_level_factors(double sigma, const CfPyramidLimits *limits);
