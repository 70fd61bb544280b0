/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "plan/blurmap_levels.h"

#define LEVEL_RATIO 1.1892071150027210 /* 2^(1/4) */
#define LEVEL_STEP  0.05
/* Below this sigma taps are so close to a delta that one step leads from 0 to it. */
#define FIRST_SIGMA 0.3
#define ROUNDING    1e-6

static double sigma_at(const double ends[2], double m)
{
  return ends[0] + m * (ends[1] - ends[0]);
}

/* The farthest sigma that may be blended with this one: a larger one here, a smaller one below. */
static double next_larger(double sigma)
{
  if (sigma < FIRST_SIGMA - ROUNDING)
    return FIRST_SIGMA;
  return sigma < 1.0 - ROUNDING ? fmin(sigma + LEVEL_STEP, 1.0) : sigma * LEVEL_RATIO;
}

static double next_smaller(double sigma)
{
  if (sigma <= FIRST_SIGMA + ROUNDING)
    return 0.0;
  if (sigma <= 1.0 + ROUNDING)
    return fmax(sigma - LEVEL_STEP, FIRST_SIGMA);
  return fmax(sigma / LEVEL_RATIO, 1.0);
}

/* The largest m up to which this axis may be blended with its sigma at `m`. */
static double next_m(const double ends[2], double m)
{
  const double sigma = sigma_at(ends, m), slope = ends[1] - ends[0];

  if (slope == 0.0)
    return 1.0;
  return m + ((slope > 0.0 ? next_larger(sigma) : next_smaller(sigma)) - sigma) / slope;
}

/* 1 / the middle tap of the sampled Gaussian: below 1 the sum of its taps, above, the limit of that
 * sum by Poisson's formula. */
static double spread(double sigma)
{
  const double pi = acos(-1.0);

  if (sigma < 0.02)
    return 1.0;
  if (sigma >= 1.0)
    return sigma * sqrt(2.0 * pi);
  double sum = 1.0;
  for (int i = 1; i <= 4; i++)
    sum += 2.0 * exp(-0.5 * i * i / (sigma * sigma));
  return sum;
}

/* A scale of sigmas along which blending is linear: the middle tap, which distinguishes small
 * Gaussians best, and from 1 on the logarithm of sigma, with the same slope there. */
static double measure(double sigma)
{
  return sigma < 1.0 ? -1.0 / spread(sigma) : log(sigma) / spread(1.0) - 1.0 / spread(1.0);
}

static double distance(const double ends[2], double from, double to)
{
  return fabs(measure(sigma_at(ends, to)) - measure(sigma_at(ends, from)));
}

/* How far m lies on the way from one level to the next, 0..1, with the distances of both axes
 * added. */
static double share(const CfMapSigmas *sigmas, double from, double to, double m)
{
  const double way = distance(sigmas->horizontal, from, m) + distance(sigmas->vertical, from, m);
  const double length =
      distance(sigmas->horizontal, from, to) + distance(sigmas->vertical, from, to);

  return length == 0.0 ? 0.0 : way / length;
}

void cf_blur_levels(CfBlurLevels *levels, const CfMapSigmas *sigmas)
{
  double at[CF_BLUR_LEVELS] = {0.0};
  int level = 0;

  levels->count = 1;
  while (at[levels->count - 1] < 1.0 && levels->count < CF_BLUR_LEVELS) {
    const double m = at[levels->count - 1];
    const double next = fmin(next_m(sigmas->horizontal, m), next_m(sigmas->vertical, m));

    /* Without a sliver before the end, which rounding could leave. */
    at[levels->count++] = next > 1.0 - 1e-9 ? 1.0 : fmax(next, m + 1e-9);
  }
  for (int i = 0; i < levels->count; i++)
    levels->level[i] =
        (CfBlurLevel){sigma_at(sigmas->horizontal, at[i]), sigma_at(sigmas->vertical, at[i])};

  for (int i = 0; i <= CF_BLUR_TABLE; i++) {
    const double m = (double)i / CF_BLUR_TABLE;

    while (level + 2 < levels->count && at[level + 1] <= m)
      level++;
    levels->position[i] = (float)(level + share(sigmas, at[level], at[level + 1], m));
  }
  levels->position[CF_BLUR_TABLE] = (float)(levels->count - 1);
  levels->position[CF_BLUR_TABLE + 1] = levels->position[CF_BLUR_TABLE];
}

void cf_blur_positions(const CfBlurLevels *levels, int count, float *m)
{
  for (int i = 0; i < count; i++) {
    const float scaled = m[i] * CF_BLUR_TABLE;
    const int entry = (int)scaled;
    const float left = levels->position[entry], right = levels->position[entry + 1];

    m[i] = left + (scaled - (float)entry) * (right - left);
  }
}
