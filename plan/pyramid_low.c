/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Let l be the coarse taps, g the Gaussian's taps, and s the distance of a source sample from
 * result x, whose phase is p. The result is the sum of v(x + s) times
 *
 *   h_p(s) = sum over t of l[t] * u_p(s - D1 (coarse_taps_first + t)),
 *   u_p(s) = sum over k of spline[4 p + k] * prefilter(s + p - D (spline_first[p] + k)).
 *
 * The coarse taps minimise the sum over all p and s of (h_p(s) - g(s))^2, under the condition that
 * they add up to 1. Sums over all s of u_p(s) * u_p(s + D1 j), j any integer, do not depend on
 * where u_p lies, so two small tables suffice:
 *
 *   K[j] = sum over p and s of u_p(s) * u_p(s + D1 j),   b[t] = sum over s of u(s - D1 t) * g(s),
 *
 * with u the sum of all u_p. Then K * l = b, up to a multiple of the solution of K * y = 1.
 *
 * Fitted taps beat a sampled Gaussian of the right variance most where the Gaussian ends, in a
 * step. Prefilter and spline smear the step over about D samples, and around it the fit lets the
 * outermost taps oscillate. Colours whose alpha is 1/2 to 1 of 255 keep an error from this, since
 * they are quotients of sums over the outermost taps (docs/engineering/experiments/pyramid-cpu.md).
 */
#include "plan/pyramid_low.h"

#include <math.h>
#include <stdlib.h>

#include "plan/gaussian.h"

/* In units of K[0]. With D2 > 1 taps could oscillate from one to the next nearly without effect on
 * the results; penalising the difference from a sampled Gaussian prevents this. */
#define PENALTY 1e-2

/* One allocation, `storage`, holds all arrays. */
typedef struct {
  int count, band;          /* number of coarse taps; K[j] = 0 for j >= band */
  int response_count;       /* samples of u */
  int radius;               /* of g */
  double *response;         /* u; index 0 is sample response_first() */
  double *gaussian;         /* g; index 0 is sample -radius */
  double *products;         /* K[0..band-1] */
  double *factor;           /* L, `count` rows of `band`: factorise() */
  double *right, *constant; /* right-hand sides, then solutions */
  double *storage;
} LowFit;

static bool open_fit(LowFit *fit, const CfPyramidAxis *axis, double sigma, CfStatus *status)
{
  const int decimation = axis->factors.decimation;

  fit->count = axis->coarse_taps_count;
  fit->response_count = 4 * axis->factor + axis->prefilter_count - 1;
  fit->band = (3 * axis->factor + axis->prefilter_count - 1) / decimation + 1;
  fit->radius = cf_gaussian_radius(sigma);

  const size_t count = (size_t)fit->count, band = (size_t)fit->band;
  const size_t response = (size_t)fit->response_count, taps = 2 * (size_t)fit->radius + 1;
  const size_t doubles = response + taps + band + count * band + 2 * count;
  fit->storage = calloc(doubles, sizeof *fit->storage);
  if (!fit->storage)
    return cf_fail(status, CF_ERROR_NO_MEMORY, "no memory to fit %d filter taps", fit->count);
  fit->response = fit->storage;
  fit->gaussian = fit->response + response;
  fit->products = fit->gaussian + taps;
  fit->factor = fit->products + band;
  fit->right = fit->factor + count * band;
  fit->constant = fit->right + count;
  return true;
}

/* ---- Least squares ---- */

/* Autocorrelation of the prefilter at `lag` samples. */
static double prefilter_product(const CfPyramidAxis *axis, int lag)
{
  double sum = 0.0;

  for (int i = abs(lag); i < axis->prefilter_count; i++)
    sum += axis->prefilter[i] * axis->prefilter[i - abs(lag)];
  return sum;
}

/* Autocorrelation of the spline's weights, summed over all phases, at `lag` coarse samples. */
static double spline_product(const CfPyramidAxis *axis, int lag)
{
  double sum = 0.0;

  for (int p = 0; p < axis->factor; p++) {
    for (int k = abs(lag); k < 4; k++)
      sum += axis->spline[4 * p + k] * axis->spline[4 * p + k - abs(lag)];
  }
  return sum;
}

static void find_products(LowFit *fit, const CfPyramidAxis *axis)
{
  for (int lag = -3; lag <= 3; lag++) {
    const double spline = spline_product(axis, lag);

    for (int j = 0; j < fit->band; j++)
      fit->products[j] +=
          spline * prefilter_product(axis, axis->factors.decimation * j + lag * axis->factor);
  }
}

/* The first sample of u without the prefilter. The last phase before the middle has the same first
 * coarse sample as all before it, and of these lies farthest right. */
static int response_first(const CfPyramidAxis *axis)
{
  const int p = axis->factor / 2 - 1;

  return axis->factor * axis->spline_first[p] - p;
}

static void find_response(LowFit *fit, const CfPyramidAxis *axis)
{
  const int first = response_first(axis);

  for (int p = 0; p < axis->factor; p++) {
    for (int k = 0; k < 4; k++) {
      double *to = fit->response + axis->factor * (axis->spline_first[p] + k) - p - first;

      for (int i = 0; i < axis->prefilter_count; i++)
        to[i] += axis->spline[4 * p + k] * axis->prefilter[i];
    }
  }
}

/* b[t] - (K * low)[t] */
static double missing(const LowFit *fit, const CfPyramidAxis *axis, int t)
{
  const int at = response_first(axis) + axis->prefilter_first +
                 axis->factors.decimation * (axis->coarse_taps_first + t);
  double sum = 0.0;

  for (int i = 0; i < fit->response_count; i++)
    sum +=
        abs(at + i) <= fit->radius ? fit->response[i] * fit->gaussian[fit->radius + at + i] : 0.0;
  for (int j = 1 - fit->band; j < fit->band; j++)
    sum -=
        t + j >= 0 && t + j < fit->count ? fit->products[abs(j)] * axis->coarse_taps[t + j] : 0.0;
  return sum;
}

/* ---- Linear equations ---- */

/* Cholesky's factor L of K plus the penalty: L[i][i - j] is factor[i * band + j]. */
static void factorise(LowFit *fit)
{
  for (int i = 0; i < fit->count; i++) {
    double *row = fit->factor + (ptrdiff_t)i * fit->band;

    for (int j = i < fit->band ? i : fit->band - 1; j >= 0; j--) {
      const double *other = row - (ptrdiff_t)j * fit->band;
      double sum = fit->products[j] + (j == 0 ? PENALTY * fit->products[0] : 0.0);

      for (int k = j + 1; k < fit->band && k <= i; k++)
        sum -= row[k] * other[k - j];
      row[j] = j == 0 ? sqrt(sum) : sum / other[0];
    }
  }
}

static void solve(const LowFit *fit, double *vector)
{
  const double *factor = fit->factor;

  for (int i = 0; i < fit->count; i++) {
    for (int j = 1; j < fit->band && j <= i; j++)
      vector[i] -= factor[(ptrdiff_t)i * fit->band + j] * vector[i - j];
    vector[i] /= factor[(ptrdiff_t)i * fit->band];
  }
  for (int i = fit->count - 1; i >= 0; i--) {
    for (int j = 1; j < fit->band && i + j < fit->count; j++)
      vector[i] -= factor[(ptrdiff_t)(i + j) * fit->band + j] * vector[i + j];
    vector[i] /= factor[(ptrdiff_t)i * fit->band];
  }
}

/* ---- The taps ---- */

/* A Gaussian of this variance, with a sum of 1. */
static void sample_gaussian(const CfPyramidAxis *axis, double variance, double *tap)
{
  const double centre = (axis->coarse_taps_count - 1) / 2.0;
  double sum = 0.0;

  for (int i = 0; i < axis->coarse_taps_count; i++) {
    tap[i] = exp(-0.5 * (i - centre) * (i - centre) / variance);
    sum += tap[i];
  }
  for (int i = 0; i < axis->coarse_taps_count; i++)
    tap[i] /= sum;
}

static double sum_of(const double *number, int count)
{
  double sum = 0.0;

  for (int i = 0; i < count; i++)
    sum += number[i];
  return sum;
}

/* Adds the fit to the coarse taps, and makes them symmetric to the last bit, despite rounding. */
static void add_fitted(const LowFit *fit, double *low)
{
  const int count = fit->count;
  const double much = -sum_of(fit->right, count) / sum_of(fit->constant, count);

  for (int i = 0; i < (count + 1) / 2; i++) {
    const int other = count - 1 - i;

    low[i] += 0.5 * (fit->right[i] + fit->right[other] +
                     much * (fit->constant[i] + fit->constant[other]));
    low[other] = low[i];
  }
}

bool cf_pyramid_fit_low(CfPyramidAxis *axis, double sigma, double variance, CfStatus *status)
{
  LowFit fit = {0};

  if (!open_fit(&fit, axis, sigma, status))
    return false;
  cf_gaussian_taps(sigma, fit.radius, fit.gaussian);
  find_products(&fit, axis);
  find_response(&fit, axis);
  factorise(&fit);

  sample_gaussian(axis, variance, axis->coarse_taps);
  for (int i = 0; i < fit.count; i++) {
    fit.right[i] = missing(&fit, axis, i);
    fit.constant[i] = 1.0;
  }
  solve(&fit, fit.right);
  solve(&fit, fit.constant);
  add_fitted(&fit, axis->coarse_taps);
  free(fit.storage);
  return true;
}
