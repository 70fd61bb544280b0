/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "plan/pyramid.h"

#include <math.h>
#include <stdlib.h>

#include "plan/gaussian.h"
#include "plan/int_math.h"
#include "plan/pyramid_low.h"

#define SMALLEST_LOW_VARIANCE 0.25

/* ---- Taps ---- */

/* Taps first..first + count - 1. */
typedef struct {
  int first, count;
} Range;

static Range range_around(double centre, double reach)
{
  const int first = (int)ceil(centre - reach), last = (int)floor(centre + reach);

  return (Range){first, last - first + 1};
}

static void normalise(double *tap, int count)
{
  double sum = 0.0;

  for (int i = 0; i < count; i++)
    sum += tap[i];
  for (int i = 0; i < count; i++)
    tap[i] /= sum;
}

static void sample_gaussian(double sigma, double centre, Range range, double *tap)
{
  for (int i = 0; i < range.count; i++) {
    const double distance = range.first + i - centre;

    tap[i] = exp(-0.5 * distance * distance / (sigma * sigma));
  }
}

static double variance(const double *tap, Range range, double centre)
{
  double sum = 0.0;

  for (int i = 0; i < range.count; i++) {
    const double distance = range.first + i - centre;

    sum += tap[i] * distance * distance;
  }
  return sum;
}

static double prefilter_centre(const CfPyramidFactors *factors)
{
  return (factors->decimation - 1) / 2.0;
}

static Range prefilter_range(const CfPyramidFactors *factors)
{
  const int boxes = 3 * factors->decimation - 2 + factors->decimation / 2;
  const double reach =
      factors->boxes
          ? (boxes - 1) / 2.0
          : factors->prefilter_reach * factors->prefilter_sigma * factors->decimation + 0.5;

  return factors->decimation == 1 ? (Range){0, 1} : range_around(prefilter_centre(factors), reach);
}

static void convolve_in_place(double *tap, int *count, int length, int spacing)
{
  const int before = *count;

  *count += (length - 1) * spacing;
  for (int i = *count - 1; i >= 0; i--) {
    double sum = 0.0;

    for (int k = 0; k < length; k++)
      sum += i - k * spacing >= 0 && i - k * spacing < before ? tap[i - k * spacing] : 0.0;
    tap[i] = sum;
  }
}

static void fill_boxes(int decimation, double *tap)
{
  int count = 1;

  tap[0] = 1.0;
  for (int i = 0; i < 3; i++)
    convolve_in_place(tap, &count, decimation, 1);
  convolve_in_place(tap, &count, 2, decimation / 2);
  normalise(tap, count);
}

static void fill_prefilter(const CfPyramidFactors *factors, double *tap)
{
  const Range range = prefilter_range(factors);

  if (factors->decimation == 1) {
    tap[0] = 1.0;
    return;
  }
  if (factors->boxes) {
    fill_boxes(factors->decimation, tap);
    return;
  }
  sample_gaussian(factors->prefilter_sigma * factors->decimation, prefilter_centre(factors), range,
                  tap);
  normalise(tap, range.count);
}

/* What is left for the coarse taps, in samples of the fine grid; `prefilter` is a variance in
 * source samples. */
static double low_variance(double sigma, const CfPyramidFactors *factors, double prefilter)
{
  const double decimation = factors->decimation, factor = decimation * factors->decimation2;
  const double spline = factor > 1.0 ? factor * factor / 3.0 : 0.0;

  return (sigma * sigma - prefilter - spline) / (decimation * decimation);
}

static double low_centre(const CfPyramidFactors *factors)
{
  return (factors->decimation2 - 1) / 2.0;
}

/* The Gaussian ends after R + 1/2 samples. Taps less than D / 2 beyond improve how the whole ends;
 * farther ones do next to nothing. */
static Range low_range(double sigma, const CfPyramidFactors *factors)
{
  const int radius = cf_gaussian_radius(sigma), factor = factors->decimation * factors->decimation2;

  if (factor == 1)
    return (Range){-radius, 2 * radius + 1};
  return range_around(low_centre(factors), (radius + 0.5 + 0.5 * factor) / factors->decimation);
}

/* The weights of the cubic B-spline at the distances 1 + f, f, 1 - f, 2 - f. */
static void spline_weights(double f, double weight[4])
{
  const double g = 1.0 - f;

  weight[0] = g * g * g / 6.0;
  weight[1] = (4.0 - 6.0 * f * f + 3.0 * f * f * f) / 6.0;
  weight[2] = (4.0 - 6.0 * g * g + 3.0 * g * g * g) / 6.0;
  weight[3] = f * f * f / 6.0;
}

static void fill_spline(CfPyramidAxis *axis)
{
  const double factor = axis->factor;

  if (axis->factor == 1) {
    axis->spline_first[0] = 0;
    axis->spline[0] = 1.0;
    axis->spline[1] = axis->spline[2] = axis->spline[3] = 0.0;
    return;
  }
  for (int p = 0; p < axis->factor; p++) {
    const double position = (p - (factor - 1.0) / 2.0) / factor, floored = floor(position);

    axis->spline_first[p] = (int)floored - 1;
    spline_weights(position - floored, &axis->spline[4 * p]);
  }
}

static bool fill_low(CfPyramidAxis *axis, double sigma, CfStatus *status)
{
  const CfPyramidFactors *factors = &axis->factors;
  const Range range = {axis->prefilter_first, axis->prefilter_count};
  const double prefilter = variance(axis->prefilter, range, prefilter_centre(factors));

  if (axis->factor == 1) {
    cf_gaussian_taps(sigma, axis->coarse_taps_count / 2, axis->coarse_taps);
    return true;
  }
  return cf_pyramid_fit_low(axis, sigma, low_variance(sigma, factors, prefilter), status);
}

/* ---- Ranges ---- */

static int floor_divide(int numerator, int divisor)
{
  return (int)floor((double)numerator / divisor);
}

static void find_ranges(CfPyramidAxis *axis)
{
  const int last = axis->size - 1;
  const int coarse_last =
      last / axis->factor + axis->spline_first[last % axis->factor] + axis->spline_count - 1;
  const int decimation2 = axis->factors.decimation2;

  axis->coarse_first = axis->spline_first[0];
  axis->coarse_count = coarse_last - axis->coarse_first + 1;
  axis->fine_first = decimation2 * axis->coarse_first + axis->coarse_taps_first;
  axis->fine_count = decimation2 * (axis->coarse_count - 1) + axis->coarse_taps_count;
}

/* Fine samples that read only the replicated edge sample, or only the constant, are all equal: one
 * of them on each side is computed. */
static void find_made(CfPyramidAxis *axis, CfBorder border)
{
  const int decimation = axis->factors.decimation;
  const int edge = border == CF_BORDER_CONSTANT ? 1 : 0;
  const int fine_last = axis->fine_first + axis->fine_count - 1;
  /* `before` is the last fine sample that reads nothing after source sample -edge; `after` is the
   * first that reads nothing before its counterpart at the other end. */
  const int before =
      floor_divide(-edge - axis->prefilter_first - axis->prefilter_count + 1, decimation);
  const int after = -floor_divide(-(axis->size - 1 + edge - axis->prefilter_first), decimation);

  axis->stored_first = axis->fine_first;
  axis->stored_count = axis->fine_count;
  if (border != CF_BORDER_REPLICATE && border != CF_BORDER_CONSTANT)
    return;
  if (before > axis->stored_first)
    axis->stored_first = cf_min(before, fine_last);
  axis->stored_count = cf_min(after, fine_last) - axis->stored_first + 1;
}

/* ---- The plan ---- */

static double prefilter_variance(const CfPyramidFactors *factors)
{
  const double sigma = factors->prefilter_sigma * factors->decimation;

  return factors->decimation == 1 ? 0.0 : sigma * sigma;
}

bool cf_pyramid_fits(double sigma, const CfPyramidFactors *factors)
{
  return factors->decimation * factors->decimation2 == 1 ||
         low_variance(sigma, factors, prefilter_variance(factors)) >= SMALLEST_LOW_VARIANCE;
}

static bool allocate(CfPyramidAxis *axis, CfStatus *status)
{
  const size_t factor = (size_t)axis->factor;
  const size_t doubles =
      (size_t)axis->prefilter_count + (size_t)axis->coarse_taps_count + 4 * factor;

  axis->storage = malloc(doubles * sizeof *axis->storage + factor * sizeof *axis->spline_first);
  if (!axis->storage)
    return cf_fail(status, CF_ERROR_NO_MEMORY, "no memory for %zu filter taps", doubles);
  axis->prefilter = axis->storage;
  axis->coarse_taps = axis->prefilter + axis->prefilter_count;
  axis->spline = axis->coarse_taps + axis->coarse_taps_count;
  axis->spline_first = (int *)(axis->spline + 4 * factor);
  return true;
}

bool cf_pyramid_axis(CfPyramidAxis *axis, double sigma, int size, CfBorder border,
                     const CfPyramidFactors *factors, CfStatus *status)
{
  const Range prefilter = prefilter_range(factors), low = low_range(sigma, factors);
  CfPyramidAxis next = {
      .factors = *factors,
      .factor = factors->decimation * factors->decimation2,
      .size = size,
      .prefilter_first = prefilter.first,
      .prefilter_count = prefilter.count,
      .coarse_taps_first = low.first,
      .coarse_taps_count = low.count,
  };

  if (next.factor > CF_PYRAMID_LARGEST_FACTOR || !cf_pyramid_fits(sigma, factors))
    return cf_fail(status, CF_ERROR_INVALID, "no pyramid of factor %d makes a sigma of %g",
                   next.factor, sigma);
  next.spline_count = next.factor > 1 ? 4 : 1;
  if (!allocate(&next, status))
    return false;

  fill_prefilter(factors, next.prefilter);
  fill_spline(&next);
  if (!fill_low(&next, sigma, status)) {
    cf_pyramid_axis_free(&next);
    return false;
  }
  find_ranges(&next);
  find_made(&next, border);
  cf_pyramid_axis_free(axis);
  *axis = next;
  return true;
}

/* A result lies up to D - 1 after the start of its cell of D samples, and reads coarse samples from
 * two cells before on. All stages are symmetric, so it reads as far to the other side. */
int cf_pyramid_halo(const CfPyramidAxis *axis, CfBorder border)
{
  const int spline = axis->factor > 1 ? 3 * axis->factor - 1 : 0;

  if (border == CF_BORDER_WRAP)
    return -1;
  return spline - axis->factors.decimation * axis->coarse_taps_first - axis->prefilter_first;
}

void cf_pyramid_axis_free(CfPyramidAxis *axis)
{
  free(axis->storage);
  *axis = (CfPyramidAxis){0};
}
