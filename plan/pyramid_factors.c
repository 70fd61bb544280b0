/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "plan/pyramid_factors.h"

#include <math.h>

/* The least sigma, in units of D. */
#define RATIO_OF_8_BITS   2.0
#define RATIO_OF_10_BITS  3.0
#define RATIO_OF_16_BITS  16.0
#define RATIO_OF_WEIGHTED 3.0
#define RATIO_OF_LEVELS   1.5

#define ANY_WEIGHTED_FACTOR 8 /* up to this D, weighting makes no difference */

/* The largest power of two from `least` to `most` with sigma >= `ratio` times it. */
static int largest_factor(double sigma, double ratio, int least, int most)
{
  int factor = least;

  while (factor < most && sigma >= 2 * factor * ratio)
    factor *= 2;
  return factor;
}

int cf_pyramid_factor(double sigma, int bits, bool weighted, int most)
{
  const double ratio = bits > 10 ? RATIO_OF_16_BITS : bits > 8 ? RATIO_OF_10_BITS : RATIO_OF_8_BITS;
  const int factor = largest_factor(sigma, ratio, 1, most);

  if (!weighted || factor <= ANY_WEIGHTED_FACTOR)
    return factor;
  return largest_factor(sigma, fmax(ratio, RATIO_OF_WEIGHTED), ANY_WEIGHTED_FACTOR, most);
}

int cf_pyramid_level_factor(double sigma, int most)
{
  return largest_factor(sigma, RATIO_OF_LEVELS, 1, most);
}

static CfPyramidFactors divide(int factor, int bits, const CfPyramidLimits *limits)
{
  CfPyramidFactors factors = {.decimation = factor,
                              .decimation2 = 1,
                              .prefilter_sigma = limits->prefilter_sigma,
                              .prefilter_reach = limits->prefilter_reach};

  if (factors.decimation < limits->least_decimation)
    factors.decimation = limits->least_decimation;
  if (factors.decimation > limits->most_decimation)
    factors.decimation = limits->most_decimation;
  if (factor > factors.decimation)
    factors.decimation2 = factor / factors.decimation;
  if (bits > 8) {
    factors.prefilter_sigma = bits > 10 ? 1.0 : 0.8;
    factors.prefilter_reach = bits > 10 ? 5.0 : 4.0;
  }
  factors.boxes = limits->boxes && bits <= 8 && factors.decimation >= 4;
  return factors;
}

CfPyramidFactors cf_pyramid_factors(double sigma, int bits, bool weighted,
                                    const CfPyramidLimits *limits)
{
  return divide(cf_pyramid_factor(sigma, bits, weighted, limits->most), bits, limits);
}

CfPyramidFactors cf_pyramid_level_factors(double sigma, const CfPyramidLimits *limits)
{
  return divide(cf_pyramid_level_factor(sigma, limits->most), 8, limits);
}
