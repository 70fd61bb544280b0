/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The curves that the tests of the local Laplacian filter use.
 */
#pragma once

#include <math.h>

#include "harness.h"
#include "llf.h"

/* Curves of docs/reference/accuracy.md, and the accuracy of the fast engine with 8 harmonics. */
static const struct {
  double sigma, alpha, beta;
  double fast_psnr;
} curves[] = {
    {0.4, 0.5, 1.0, 40.0},  {0.2, 0.25, 1.0, 40.0}, {0.1, 0.25, 1.0, 40.0}, {0.2, 2.0, 1.0, 60.0},
    {0.35, 0.4, 5.0, 40.0}, {0.1, 1.0, 0.4, 60.0},  {0.2, 0.5, 0.5, 40.0},
};
enum { CURVES = sizeof curves / sizeof curves[0] };

static inline CfLlfParams defaults(void)
{
  CfLlfParams params;

  cf_params_init(cf_llf.params, &params);
  return params;
}

static inline CfLlfParams curve_params(int curve, CfLlfMethod method)
{
  CfLlfParams params = defaults();

  params.sigma = curves[curve].sigma;
  params.alpha = curves[curve].alpha;
  params.beta = curves[curve].beta;
  params.method = method;
  return params;
}

/* The curve alone, without `protect`. */
static inline CfLlfParams bare_params(int curve, CfLlfMethod method)
{
  CfLlfParams params = curve_params(curve, method);

  params.protect = false;
  return params;
}

/* One of several combinations of the settings applied after the filter, and of its depth. */
static inline void vary_finish(CfLlfParams *params, int turn)
{
  params->protect = turn % 3 != 1;
  params->strength = turn % 4 == 3 ? 0.6 : 1.0;
  params->reach = (const double[]){0.0, 0.35, 0.0, 0.12, 0.7}[turn % 5];
}

static inline CfLlfParams random_curve(CfRandom *random)
{
  CfLlfParams params = defaults();

  params.sigma = 0.01 * pow(100.0, cf_random_unit(random));
  params.alpha = 0.05 * pow(200.0, cf_random_unit(random));
  params.beta =
      cf_random_below(random, 3) ? 5.0 * cf_random_unit(random) : cf_random_below(random, 2);
  params.harmonics = 2 + cf_random_below(random, 15);
  params.noise_floor = cf_random_below(random, 4) ? 0.1 * cf_random_unit(random) : 0.0;
  params.reach = cf_random_below(random, 2) ? cf_random_unit(random) : 0.0;
  params.protect = cf_random_below(random, 2);
  params.strength = cf_random_below(random, 2) ? cf_random_unit(random) : 1.0;
  return params;
}
