/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Which D, D1, D2 and prefilter of plan/pyramid.h keep a blur accurate. All backends ask here, so
 * that the CPU and CUDA agree.
 */
#pragma once

#include <stdbool.h>

#include "plan/pyramid.h"

/* What a backend's kernels support along one axis; powers of two. */
typedef struct {
  int least_decimation, most_decimation; /* D1 */
  int most;                              /* D */
  bool boxes;                            /* prefilter `boxes`, used for 8 bits and D1 >= 4 */

  /* The other prefilter for 8 bits: sigma in units of D1, and where it is cut, in sigmas. Samples
   * of more bits get a wider one on every backend. */
  double prefilter_sigma, prefilter_reach;
} CfPyramidLimits;

/* D for a blur with one sigma, in samples of the plane: the largest power of two up to `most` with
 * results within a tenth of a code for 8 bits, a quarter for more bits, except for colours of next
 * to no alpha (docs/reference/accuracy.md). With `weighted`, colours are weighted by alpha and are
 * quotients, which show more of the pyramid's error: above 8, where a smaller D costs next to no
 * time, D is then smaller. */
int cf_pyramid_factor(double sigma, int bits, bool weighted, int most);

/* The same for a level of a blur map, which is blended with other levels. */
int cf_pyramid_level_factor(double sigma, int most);

/* Splits D into D1, as large as the backend supports, and D2, and chooses the prefilter. */
CfPyramidFactors cf_pyramid_factors(double sigma, int bits, bool weighted,
                                    const CfPyramidLimits *limits);
CfPyramidFactors cf_pyramid_level_factors(double sigma, const CfPyramidLimits *limits);
