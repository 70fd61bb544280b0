/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "plan/pyramid_factors.h"

#include <math.h>

/* Sigma in D, at least. */
#define RATIO_OF_8_BITS   2.0
#define RATIO_OF_10_BITS  3.0
#define RATIO_OF_16_BITS  16.0
#define RATIO_OF_WEIGHTED 4.0
#define RATIO_OF_LEVELS   1.5

#define ANY_WEIGHTED_FACTOR 8 /* up to here weights make no difference */

/* The largest power of two up to `most`, from `least` on, of which sigma is `ratio` or more. */
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
