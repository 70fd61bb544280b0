/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "llf-plan.h"

#include <math.h>

#define PI 3.14159265358979323846

CfLlfPyramid cf_llf_pyramid(int width, int height, int levels)
{
  CfLlfPyramid pyramid = {.images = 1, .width = {width}, .height = {height}};
  const int shorter = width < height ? width : height;
  int last = 0;

  while (shorter >> (last + 1) > 0 && (levels == 0 || last < levels)) {
    pyramid.width[last + 1] = (pyramid.width[last] + 1) / 2;
    pyramid.height[last + 1] = (pyramid.height[last] + 1) / 2;
    last++;
  }
  pyramid.images = last + 1;
  return pyramid;
}

/* Paris' smooth step t^2 (t - 2)^2 from 0 at `noise_floor` to 1 at twice that. */
static double above_noise(double magnitude, double noise_floor)
{
  double t = 1.0;

  if (noise_floor > 0.0)
    t = fmin(fmax((magnitude - noise_floor) / noise_floor, 0.0), 1.0);
  return t * t * (t - 2.0) * (t - 2.0);
}

double cf_llf_remap(const CfLlfParams *params, double d)
{
  const double sigma = params->sigma, magnitude = fabs(d);
  double remapped;

  if (magnitude == 0.0)
    return 0.0;
  if (magnitude > sigma) {
    remapped = params->beta * (magnitude - sigma) + sigma;
  } else {
    remapped = sigma * pow(magnitude / sigma, params->alpha);
    if (params->alpha < 1.0) {
      const double weight = above_noise(magnitude, params->noise_floor);
      remapped = weight * remapped + (1.0 - weight) * magnitude;
    }
  }
  return copysign(remapped, d);
}

/* --- sine series: Sumiya et al. 2022 generalised to any odd curve by least squares --- */

enum { POINTS = 400, N = CF_LLF_MAX_HARMONICS };

typedef struct {
  int harmonics;
  double floor_slope;                        /* slope of the linear part: 1 + linear */
  double value[POINTS][N], slope[POINTS][N]; /* of each sine */
  double gram[N][N], right[N];               /* normal equations without the slope condition */
} Fit;

static void fit_init(Fit *fit, const CfLlfParams *params, const CfLlfSeries *series)
{
  /* Small differences are by far the most frequent in a Laplacian pyramid. */
  const double weight_knee = 0.1;
  /* Keeps the equations solvable where the sines resolve more than the points do. */
  const double ridge = 1e-6;

  *fit = (Fit){.harmonics = series->harmonics, .floor_slope = 1.0 + series->linear};
  for (int point = 0; point < POINTS; point++) {
    const double d = (point + 0.5) / POINTS;
    const double weight = weight_knee / (weight_knee + d) / POINTS;
    const double target = cf_llf_remap(params, d) - (1.0 + series->linear) * d;

    for (int n = 0; n < fit->harmonics; n++) {
      const double frequency = (n + 1) * series->base;
      fit->value[point][n] = sin(frequency * d);
      fit->slope[point][n] = frequency * cos(frequency * d);
    }
    for (int row = 0; row < fit->harmonics; row++) {
      const double scaled = weight * fit->value[point][row];
      for (int column = 0; column <= row; column++)
        fit->gram[row][column] += scaled * fit->value[point][column];
      fit->right[row] += scaled * target;
    }
  }
  for (int n = 0; n < fit->harmonics; n++)
    fit->gram[n][n] += ridge;
}

/* Solves matrix x = right by Cholesky; only the lower triangle is read. */
static void solve_positive(int size, double matrix[N][N], const double right[N], double x[N])
{
  for (int row = 0; row < size; row++) {
    for (int column = 0; column <= row; column++) {
      double sum = matrix[row][column];
      for (int k = 0; k < column; k++)
        sum -= matrix[row][k] * matrix[column][k];
      matrix[row][column] = row == column ? sqrt(sum) : sum / matrix[column][column];
    }
  }
  for (int row = 0; row < size; row++) {
    double sum = right[row];
    for (int k = 0; k < row; k++)
      sum -= matrix[row][k] * x[k];
    x[row] = sum / matrix[row][row];
  }
  for (int row = size - 1; row >= 0; row--) {
    double sum = x[row];
    for (int k = row + 1; k < size; k++)
      sum -= matrix[k][row] * x[k];
    x[row] = sum / matrix[row][row];
  }
}

static double fit_slope(const Fit *fit, const double b[N], int point)
{
  double slope = fit->floor_slope;

  for (int n = 0; n < fit->harmonics; n++)
    slope += b[n] * fit->slope[point][n];
  return slope;
}

/* One Newton step of the fit whose negative slopes cost `penalty` times their square; returns
 * whether the set of points with a negative slope changed. */
static bool fit_step(const Fit *fit, double penalty, bool falls[POINTS], double b[N])
{
  double gram[N][N], right[N];
  bool changed = false;

  for (int row = 0; row < fit->harmonics; row++) {
    right[row] = fit->right[row];
    for (int column = 0; column <= row; column++)
      gram[row][column] = fit->gram[row][column];
  }
  for (int point = 0; point < POINTS; point++) {
    if (!falls[point])
      continue;
    for (int row = 0; row < fit->harmonics; row++) {
      const double scaled = penalty / POINTS * fit->slope[point][row];
      for (int column = 0; column <= row; column++)
        gram[row][column] += scaled * fit->slope[point][column];
      right[row] -= scaled * fit->floor_slope;
    }
  }
  solve_positive(fit->harmonics, gram, right, b);
  for (int point = 0; point < POINTS; point++) {
    const bool now = fit_slope(fit, b, point) < 0.0;
    changed |= now != falls[point];
    falls[point] = now;
  }
  return changed;
}

CfLlfSeries cf_llf_series(const CfLlfParams *params)
{
  /* Beyond sigma the curve is the straight line beta (d - sigma) + sigma. With half the period at
   * (1 + sigma) / 2, what remains of it over this linear part is odd about half the period, as the
   * sines are, so [sigma, 1] mirrors onto itself and all terms serve [0, (1 + sigma) / 2]. Measured
   * better than every period of a scan from 0.7 to 1.75. */
  const double half_period = 0.5 * (1.0 + params->sigma);
  CfLlfSeries series = {.harmonics = params->harmonics,
                        .linear = (params->beta - 1.0) * (1.0 - params->sigma / half_period),
                        .base = PI / half_period};
  Fit fit;
  bool falls[POINTS] = {false};
  double steepest_fall = 0.0;

  if (params->alpha == 1.0 && params->beta == 1.0)
    return series;

  fit_init(&fit, params, &series);
  fit_step(&fit, 0.0, falls, series.b);
  /* A rising penalty reaches the fit that never decreases; b = 0 is one, so there is a best. */
  for (double penalty = 1e-4; penalty < 2.0; penalty *= 10.0) {
    for (int i = 0; i < 12 && fit_step(&fit, penalty, falls, series.b); i++)
      ;
  }
  for (int point = 0; point < POINTS; point++)
    steepest_fall = fmax(steepest_fall, -fit_slope(&fit, series.b, point));
  for (int n = 0; n < series.harmonics; n++)
    series.b[n] *= fit.floor_slope / (fit.floor_slope + steepest_fall);
  return series;
}

double cf_llf_series_value(const CfLlfSeries *series, double d)
{
  double value = (1.0 + series->linear) * d;

  for (int n = 0; n < series->harmonics; n++)
    value += series->b[n] * sin((n + 1) * series->base * d);
  return value;
}

int cf_llf_intensity_levels(const CfLlfParams *params)
{
  if (params->intensity_levels > 0)
    return params->intensity_levels;
  if (params->alpha < 0.1)
    return 50;
  if (params->alpha < 0.9)
    return (int)floor((43.4 - 34.0 * params->alpha) / 0.8 + 0.5);
  return 16;
}

void cf_llf_component_range(const CfVideo *video, CfRole role, double *offset, double *scale)
{
  cf_code_range(video, role, offset, scale);
  if (role == CF_ROLE_CHROMA_BLUE || role == CF_ROLE_CHROMA_RED)
    *offset = cf_chroma_centre(video) - 0.5 * *scale;
}

static bool find_role(const CfVideo *video, CfRole role, CfLlfComponent *component)
{
  const CfFormatInfo *format = cf_format_info(video->format);

  for (int plane = 0; plane < format->planes; plane++) {
    for (int channel = 0; channel < format->plane[plane].channels; channel++) {
      if (format->plane[plane].role[channel] != role)
        continue;
      *component = (CfLlfComponent){.plane = plane,
                                    .channel = channel,
                                    .width = cf_plane_width(video, plane),
                                    .height = cf_plane_height(video, plane)};
      cf_llf_component_range(video, role, &component->offset, &component->scale);
      return true;
    }
  }
  return false;
}

int cf_llf_components(const CfVideo *video, CfLlfComponent components[3])
{
  static const CfRole roles[] = {CF_ROLE_LUMA, CF_ROLE_CHROMA_BLUE, CF_ROLE_CHROMA_RED,
                                 CF_ROLE_RED,  CF_ROLE_GREEN,       CF_ROLE_BLUE};
  int count = 0;

  for (size_t i = 0; i < sizeof roles / sizeof roles[0]; i++) {
    if (find_role(video, roles[i], &components[count]))
      count++;
  }
  return count;
}

void cf_llf_luma_weights(const CfVideo *video, double weight[3])
{
  weight[0] = video->luma_red;
  weight[1] = 1.0 - video->luma_red - video->luma_blue;
  weight[2] = video->luma_blue;
}
