/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "plan/llf_plan.h"

#include <math.h>
#include <string.h>

#include "plan/int_math.h"

#define PI 3.14159265358979323846

/* The number of Laplacian levels, of `levels`, for details up to `largest`, and the share of the
 * last. */
static int reached_levels(double largest, int levels, double *share)
{
  const double depth = log2(largest);

  if (depth >= levels)
    return levels;
  if (depth <= 0.0)
    return 0;
  *share = depth - ceil(depth) + 1.0;
  return (int)ceil(depth);
}

/* A `largest` of 0 is no limit. */
static CfLlfPyramid shape(int width, int height, int levels, double largest)
{
  CfLlfPyramid pyramid = {.width = {width}, .height = {height}, .last_share = 1.0};
  const int shorter = cf_min(width, height);
  int last = 0;

  while (shorter >> (last + 1) > 0 && (levels == 0 || last < levels))
    last++;
  if (largest > 0.0)
    last = reached_levels(largest, last, &pyramid.last_share);
  for (int l = 1; l <= last; l++) {
    pyramid.width[l] = (pyramid.width[l - 1] + 1) / 2;
    pyramid.height[l] = (pyramid.height[l - 1] + 1) / 2;
  }
  pyramid.images = last + 1;
  return pyramid;
}

CfLlfPyramid cf_llf_pyramid(int width, int height, bool field, const CfLlfParams *params)
{
  return shape(width, height, params->levels,
               params->reach * cf_min(width, field ? 2 * height : height));
}

CfLlfPyramid cf_llf_full_pyramid(int width, int height)
{
  return shape(width, height, 0, 0.0);
}

/* Paris' smooth step t^2 (t - 2)^2 from 0 at `noise_floor` to 1 at twice the floor. */
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

/* ---- How the result enters the picture ---- */

double cf_llf_shoulder(double value, double unit, double room)
{
  const double bound = pow(pow(room, 4.0) + pow(value * unit, 4.0), 0.25);

  return bound > 0.0 ? value * room / bound : 0.0;
}

double cf_llf_protected(double intensity, double ceiling, double added)
{
  if (added <= 0.0)
    return cf_llf_shoulder(added, 1.0, CF_LLF_MOST_OF_ROOM * intensity);
  return cf_llf_shoulder(added, ceiling + CF_LLF_GAIN_EPSILON,
                         CF_LLF_MOST_OF_ROOM * fmax(1.0 - ceiling, 0.0) *
                             (intensity + CF_LLF_GAIN_EPSILON));
}

static double smoothstep(double t)
{
  const double inside = fmin(fmax(t, 0.0), 1.0);

  return inside * inside * (3.0 - 2.0 * inside);
}

double cf_llf_follow(double luma, double filtered)
{
  const double added = filtered - luma;

  if (added <= 0.0)
    return fmax(added / fmax(luma, CF_LLF_GAIN_EPSILON), -1.0);
  return smoothstep(luma / CF_LLF_EASED_BELOW) *
         fmin(added / (luma + CF_LLF_GAIN_EPSILON), CF_LLF_MAX_GAIN - 1.0);
}

/* ---- Sine series: Sumiya et al. 2022, generalised to any odd curve by least squares ---- */

/* Points on [0, 1] that the curve is fitted at, and the order of the largest matrix. */
enum { POINTS = 400, ORDER = CF_LLF_MAX_HARMONICS };

typedef struct {
  int harmonics;
  double floor_slope; /* slope that the linear part adds everywhere: 1 +
                         linear */
  double value[POINTS][ORDER], slope[POINTS][ORDER]; /* of each sine at each point */
  double gram[ORDER][ORDER], right[ORDER]; /* normal equations, without the condition on the
                                  slope */
} SeriesFit;

static void fit_init(SeriesFit *fit, const CfLlfParams *params, const CfLlfSeries *series)
{
  /* Weights are (knee / (knee + d))^2, since small differences are by far the most frequent in a
   * Laplacian pyramid. */
  const double knee = 0.05;
  /* Keeps the equations solvable where the sines are finer than the points. */
  const double ridge = 1e-6;

  *fit = (SeriesFit){.harmonics = series->harmonics, .floor_slope = 1.0 + series->linear};
  for (int point = 0; point < POINTS; point++) {
    const double d = (point + 0.5) / POINTS;
    const double weight = pow(knee / (knee + d), 2.0) / POINTS;
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

/* Solves matrix x = right by Cholesky's method; reads, and overwrites, the lower triangle only. */
static void solve_positive(int size, double matrix[ORDER][ORDER], const double right[ORDER],
                           double x[ORDER])
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

static double fit_slope(const SeriesFit *fit, const double b[ORDER], int point)
{
  double slope = fit->floor_slope;

  for (int n = 0; n < fit->harmonics; n++)
    slope += b[n] * fit->slope[point][n];
  return slope;
}

/* What the fit minimises: its squared error, and `penalty` times the squares of negative slopes. */
static double fit_cost(const SeriesFit *fit, double penalty, const double b[ORDER])
{
  double cost = 0.0;

  for (int row = 0; row < fit->harmonics; row++) {
    double product = 0.5 * fit->gram[row][row] * b[row] - fit->right[row];
    for (int column = 0; column < row; column++)
      product += fit->gram[row][column] * b[column];
    cost += product * b[row];
  }
  for (int point = 0; point < POINTS; point++) {
    const double fall = fmin(fit_slope(fit, b, point), 0.0);
    cost += 0.5 * penalty / POINTS * fall * fall;
  }
  return cost;
}

/* Newton's step: the minimum of the cost if exactly the slopes that are negative at `b` were
 * penalised. */
static void newton_target(const SeriesFit *fit, double penalty, const double b[ORDER],
                          double target[ORDER])
{
  double gram[ORDER][ORDER], right[ORDER];

  for (int row = 0; row < fit->harmonics; row++) {
    right[row] = fit->right[row];
    for (int column = 0; column <= row; column++)
      gram[row][column] = fit->gram[row][column];
  }
  for (int point = 0; point < POINTS; point++) {
    if (fit_slope(fit, b, point) >= 0.0)
      continue;
    for (int row = 0; row < fit->harmonics; row++) {
      const double scaled = penalty / POINTS * fit->slope[point][row];
      for (int column = 0; column <= row; column++)
        gram[row][column] += scaled * fit->slope[point][column];
      right[row] -= scaled * fit->floor_slope;
    }
  }
  solve_positive(fit->harmonics, gram, right, target);
}

/* Minimises the cost, starting at `b`. The cost is convex and smooth, so steps that lower it
 * converge. */
static void fit_minimise(const SeriesFit *fit, double penalty, double b[ORDER])
{
  double cost = fit_cost(fit, penalty, b), gain = INFINITY;

  for (int i = 0; i < 30 && gain > 1e-12 * fabs(cost); i++) {
    double target[ORDER], tried[ORDER], step = 1.0, tried_cost;

    newton_target(fit, penalty, b, target);
    do {
      for (int n = 0; n < fit->harmonics; n++)
        tried[n] = b[n] + step * (target[n] - b[n]);
      tried_cost = fit_cost(fit, penalty, tried);
      step *= 0.5;
    } while (tried_cost > cost && step > 1e-6);
    gain = cost - tried_cost;
    if (gain <= 0.0)
      return;
    cost = tried_cost;
    memcpy(b, tried, (size_t)fit->harmonics * sizeof *b);
  }
}

CfLlfSeries cf_llf_series(const CfLlfParams *params)
{
  /* Beyond sigma the curve is the straight line beta (d - sigma) + sigma. Its difference from the
   * linear part below is odd about half the period, as the sines are. With half the period at (1 +
   * sigma) / 2, [sigma, 1] mirrors onto itself, and all terms serve the part below sigma. The small
   * addition keeps the mirrored corner of the curve away from d = 1, black against white. */
  const double half_period = 0.5 * (1.0 + params->sigma) + 0.01;
  CfLlfSeries series = {.harmonics = params->harmonics,
                        .linear = (params->beta - 1.0) * (1.0 - params->sigma / half_period),
                        .base = PI / half_period};
  SeriesFit fit;
  double steepest_fall = 0.0;

  if (params->alpha == 1.0 && params->beta == 1.0)
    return series;

  fit_init(&fit, params, &series);
  newton_target(&fit, 0.0, series.b, series.b);
  /* A rising penalty leads to the best fit that never decreases; b = 0 is such a fit. */
  for (double penalty = 1e-6; penalty < 0.2; penalty *= 10.0)
    fit_minimise(&fit, penalty, series.b);
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

/* The noise floor of the weights, which fades to 0 with the noise floor of the curve. */
static double weighted_floor(const CfLlfParams *params)
{
  const double fade = 0.05;

  return params->noise_floor * fmin(fmax((1.0 - params->alpha) / fade, 0.0), 1.0);
}

CfLlfWeights cf_llf_weights(const CfLlfParams *params, const CfLlfPyramid *pyramid)
{
  /* The deviation, in noise floors, at which a weight begins to rise. Of all values that leave flat
   * noise nearly as it is, photographs come closest to the dense filter with this one
   * (docs/engineering). */
  const double closed_below = 0.33;
  const double noise_floor = weighted_floor(params);
  const int levels = pyramid->images - 1;
  /* A smaller floor would be below DARK, which makes all weights 1. */
  const bool has_floor = noise_floor > CF_LLF_WEIGHT_DARK / (2.0 * closed_below);
  const bool has_share = pyramid->last_share < 1.0 && levels <= CF_LLF_WEIGHTED_LEVELS;
  CfLlfWeights weights = {.offset = has_floor ? -1.0 : 1.0};

  if (has_floor || has_share)
    weights.levels = cf_min(levels, CF_LLF_WEIGHTED_LEVELS);
  if (has_floor)
    weights.slope = 1.0 / (closed_below * noise_floor);
  for (int l = 0; l < weights.levels; l++)
    weights.share[l] = l == levels - 1 ? pyramid->last_share : 1.0;
  return weights;
}

int cf_llf_intensity_levels(const CfLlfParams *params)
{
  /* MATLAB's rule follows the steepness of the curve, but resolves no noise floor below this. */
  const double drawn_floor = 0.02;
  double levels = 16.0;

  if (params->intensity_levels > 0)
    return params->intensity_levels;
  if (params->alpha < 0.1)
    levels = 50.0;
  else if (params->alpha < 0.9)
    levels = floor((43.4 - 34.0 * params->alpha) / 0.8 + 0.5);
  if (params->alpha < 1.0 && params->noise_floor > 0.0)
    levels *= fmin(fmax(drawn_floor / params->noise_floor, 1.0), 2.0);
  return (int)levels;
}

void cf_llf_component_range(const CfVideo *video, CfRole role, double *offset, double *scale)
{
  cf_code_range(video, role, offset, scale);
  if (cf_is_chroma(role))
    *offset = cf_chroma_centre(video) - 0.5 * *scale;
}

int cf_llf_components(const CfVideo *video, CfLlfComponent components[3])
{
  static const CfRole roles[] = {CF_ROLE_LUMA, CF_ROLE_CHROMA_BLUE, CF_ROLE_CHROMA_RED,
                                 CF_ROLE_RED,  CF_ROLE_GREEN,       CF_ROLE_BLUE};
  int count = 0;

  for (size_t i = 0; i < sizeof roles / sizeof roles[0]; i++) {
    CfLlfComponent found;

    if (!cf_find_role(cf_format_info(video->format), roles[i], &found.plane, &found.channel))
      continue;
    found.width = cf_plane_width(video, found.plane);
    found.height = cf_plane_height(video, found.plane);
    cf_llf_component_range(video, roles[i], &found.offset, &found.scale);
    components[count++] = found;
  }
  return count;
}

void cf_llf_luma_weights(const CfVideo *video, double weight[3])
{
  weight[0] = video->luma_red;
  weight[1] = 1.0 - video->luma_red - video->luma_blue;
  weight[2] = video->luma_blue;
}

CfLlfColours cf_llf_colours(const CfVideo *video)
{
  double weight[3];

  cf_llf_luma_weights(video, weight);
  const double red = 2.0 * (1.0 - weight[0]), blue = 2.0 * (1.0 - weight[2]);
  return (CfLlfColours){.red_of_red = red,
                        .blue_of_blue = blue,
                        .green_of_blue = -blue * weight[2] / weight[1],
                        .green_of_red = -red * weight[0] / weight[1]};
}

double cf_llf_colour_above(const CfLlfColours *colours, double blue_chroma, double red_chroma)
{
  const double red = colours->red_of_red * red_chroma, blue = colours->blue_of_blue * blue_chroma;
  const double green = colours->green_of_blue * blue_chroma + colours->green_of_red * red_chroma;

  return fmax(fmax(red, blue), green);
}
