/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "plan/gaussian.h"

#include <math.h>

/* Below it exp(-1 / (2 sigma^2)) is 0 in double precision: the Gaussian is a delta. */
#define SMALLEST_SIGMA 0.02

int cf_gaussian_radius(double sigma)
{
  return fabs(sigma) < SMALLEST_SIGMA ? 0 : (int)ceil(4.0 * fabs(sigma));
}

void cf_gaussian_taps(double sigma, int radius, double *tap)
{
  const double steepness = radius > 0 ? -0.5 / (sigma * sigma) : 0.0;
  double sum = 0.0;

  /* The smallest first, for the most accurate sum. */
  for (int i = radius; i > 0; i--) {
    const double weight = exp(steepness * i * i);
    tap[radius - i] = tap[radius + i] = weight;
    sum += 2.0 * weight;
  }
  tap[radius] = 1.0;
  sum += 1.0;
  for (int i = 0; i <= 2 * radius; i++)
    tap[i] /= sum;
}

void cf_sharpening_taps(int radius, double *tap)
{
  for (int i = 0; i <= 2 * radius; i++)
    tap[i] = -tap[i];
  tap[radius] += 2.0;
}
