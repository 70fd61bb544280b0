/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A coefficient of the Laplacian pyramid of a remapped image is a weighted sum of remapped pixels.
 * The weights are products of the pyramid's own one-dimensional operators, so borders need no cases
 * of their own.
 */
#include "reference_llf.h"

#include <math.h>
#include <stdlib.h>

#include "border.h"

/* --- linear operators on one axis --- */

static void operator_free(CfLlfOperator *operator)
{
  free(operator->first);
  free(operator->weight);
  *operator=(CfLlfOperator){0};
}

static bool operator_alloc(CfLlfOperator *operator, int inputs, int outputs, int width)
{
  operator->inputs = inputs;
  operator->outputs = outputs;
  operator->width = width<inputs ? width : inputs;
  operator->first = malloc((size_t)outputs * sizeof *operator->first);
  operator->weight = calloc((size_t)outputs *(size_t) operator->width, sizeof *operator->weight);
  return operator->first && operator->weight;
}

/* Lets output `i` begin at input `first`, or before, where the row would leave the inputs. */
static void operator_place(CfLlfOperator *operator, int i, int first)
{
  const int last_start = operator->inputs - operator->width;

  operator->first[i] = first<0 ? 0 : first> last_start ? last_start : first;
}

static double *operator_weight(const CfLlfOperator *operator, int i, int input)
{
  return &
  operator->weight[(size_t)i * (size_t) operator->width +(size_t)(input - operator->first[i])];
}

static double weight_or_zero(const CfLlfOperator *operator, int i, int input)
{
  const int k = input - operator->first[i];

  return k >= 0 && k < operator->width ? *operator_weight(operator, i, input) : 0.0;
}

static int mirrored(int i, int size)
{
  return cf_border_index(CF_BORDER_REFLECT, i, size);
}

static bool operator_identity(CfLlfOperator *operator, int size)
{
  if (!operator_alloc(operator, size, size, 1))
    return false;
  for (int i = 0; i < size; i++) {
    operator_place(operator, i, i);
    *operator_weight(operator, i, i) = 1.0;
  }
  return true;
}

static bool operator_reduce(CfLlfOperator *operator, int fine)
{
  static const double tap[5] = {CF_LLF_TAP_EDGE, CF_LLF_TAP_SIDE, CF_LLF_TAP_CENTRE,
                                CF_LLF_TAP_SIDE, CF_LLF_TAP_EDGE};

  if (!operator_alloc(operator, fine, (fine + 1) / 2, 5))
    return false;
  for (int i = 0; i < operator->outputs; i++) {
    operator_place(operator, i, 2 * i - 2);
    for (int k = 0; k < 5; k++)
      *operator_weight(operator, i, mirrored(2 * i + k - 2, fine)) += tap[k];
  }
  return true;
}

static bool operator_expand(CfLlfOperator *operator, int fine)
{
  const int coarse = (fine + 1) / 2;

  if (!operator_alloc(operator, coarse, fine, 3))
    return false;
  for (int i = 0; i < fine; i++) {
    const int here = i / 2, after = mirrored(here + 1, coarse);

    operator_place(operator, i, here - 1);
    if (i % 2 == 0) {
      *operator_weight(operator, i, mirrored(here - 1, coarse)) += 2.0 * CF_LLF_TAP_EDGE;
      *operator_weight(operator, i, here) += 2.0 * CF_LLF_TAP_CENTRE;
      *operator_weight(operator, i, after) += 2.0 * CF_LLF_TAP_EDGE;
    } else {
      *operator_weight(operator, i, here) += 2.0 * CF_LLF_TAP_SIDE;
      *operator_weight(operator, i, after) += 2.0 * CF_LLF_TAP_SIDE;
    }
  }
  return true;
}

/* `outer` after `inner`. */
static bool operator_product(CfLlfOperator *operator, const CfLlfOperator * outer,
                             const CfLlfOperator *inner)
{
  int width = 1;

  for (int i = 0; i < outer->outputs; i++) {
    const int from = outer->first[i], to = from + outer->width - 1;
    const int reach = inner->first[to] + inner->width - inner->first[from];
    width = reach > width ? reach : width;
  }
  if (!operator_alloc(operator, inner->inputs, outer->outputs, width))
    return false;
  for (int i = 0; i < operator->outputs; i++) {
    operator_place(operator, i, inner->first[outer->first[i]]);
    for (int k = 0; k < outer->width; k++) {
      const int middle = outer->first[i] + k;
      for (int j = 0; j < inner->width; j++) {
        const int input = inner->first[middle] + j;
        *operator_weight(operator, i, input) +=
            *operator_weight(outer, i, middle) * *operator_weight(inner, middle, input);
      }
    }
  }
  return true;
}

/* --- the pyramid as operators on the picture --- */

static void axis_free(CfLlfAxis *axis)
{
  for (int l = 0; l < CF_LLF_MAX_IMAGES; l++) {
    operator_free(&axis->reduced[l]);
    operator_free(&axis->expanded[l]);
    operator_free(&axis->expand[l]);
  }
}

static bool axis_open(CfLlfAxis *axis, const int size[CF_LLF_MAX_IMAGES], int images)
{
  bool good = operator_identity(&axis->reduced[0], size[0]);

  for (int l = 0; good && l + 1 < images; l++) {
    CfLlfOperator reduce = {0};

    good = operator_reduce(&reduce, size[l]) &&
           operator_product(&axis->reduced[l + 1], &reduce, &axis->reduced[l]) &&
           operator_expand(&axis->expand[l], size[l]) &&
           operator_product(&axis->expanded[l], &axis->expand[l], &axis->reduced[l + 1]);
    operator_free(&reduce);
  }
  return good;
}

void cf_exact_llf_free(CfExactLlf *filter)
{
  axis_free(&filter->horizontal);
  axis_free(&filter->vertical);
  free(filter->intensity);
  for (int l = 0; l < CF_LLF_MAX_IMAGES; l++)
    free(filter->output[l]);
  *filter = (CfExactLlf){0};
}

bool cf_exact_llf_open(CfExactLlf *filter, int width, int height, int levels, int channels)
{
  const CfLlfPyramid pyramid = cf_llf_pyramid(width, height, levels);
  bool good;

  *filter = (CfExactLlf){.pyramid = pyramid, .channels = channels};
  filter->intensity = calloc((size_t)width * (size_t)height * (size_t)channels, sizeof(double));
  good = filter->intensity && axis_open(&filter->horizontal, pyramid.width, pyramid.images) &&
         axis_open(&filter->vertical, pyramid.height, pyramid.images);
  for (int l = 0; l < pyramid.images; l++) {
    filter->output[l] = calloc(
        (size_t)pyramid.width[l] * (size_t)pyramid.height[l] * (size_t)channels, sizeof(double));
    good = good && filter->output[l];
  }
  return good;
}

static const double *pixel(const CfExactLlf *filter, int x, int y)
{
  return &filter->intensity[((size_t)y * (size_t)filter->pyramid.width[0] + (size_t)x) *
                            (size_t)filter->channels];
}

/* G_l at (x, y). */
static void gaussian(const CfExactLlf *filter, int level, int x, int y, double g[3])
{
  const CfLlfOperator *across = &filter->horizontal.reduced[level];
  const CfLlfOperator *down = &filter->vertical.reduced[level];

  g[0] = g[1] = g[2] = 0.0;
  for (int row = down->first[y]; row < down->first[y] + down->width; row++) {
    for (int column = across->first[x]; column < across->first[x] + across->width; column++) {
      const double weight = *operator_weight(down, y, row) * *operator_weight(across, x, column);
      for (int c = 0; c < filter->channels; c++)
        g[c] += weight * pixel(filter, column, row)[c];
    }
  }
}

/* Paris' r_color; with one channel it is his r_gray. */
static void remap(const CfLlfParams *params, int channels, const double *i, const double g[3],
                  double remapped[3])
{
  double length = 0.0;

  for (int c = 0; c < channels; c++)
    length += (i[c] - g[c]) * (i[c] - g[c]);
  length = sqrt(length);
  for (int c = 0; c < channels; c++) {
    remapped[c] = g[c];
    if (length > 0.0)
      remapped[c] += (i[c] - g[c]) / length * cf_llf_remap(params, length);
  }
}

/* The coefficient at (x, y) of Laplacian level `level` of the image remapped about G_l. */
static void laplacian(const CfExactLlf *filter, const CfLlfParams *params, int level, int x, int y,
                      double coefficient[3])
{
  const CfLlfAxis *horizontal = &filter->horizontal, *vertical = &filter->vertical;
  const CfLlfOperator *across = &horizontal->expanded[level], *down = &vertical->expanded[level];
  double g[3], remapped[3];

  gaussian(filter, level, x, y, g);
  coefficient[0] = coefficient[1] = coefficient[2] = 0.0;
  /* What the expanded next image reaches contains what the reduced image reaches. */
  for (int row = down->first[y]; row < down->first[y] + down->width; row++) {
    const double reduced_down = weight_or_zero(&vertical->reduced[level], y, row);
    const double expanded_down = *operator_weight(down, y, row);

    for (int column = across->first[x]; column < across->first[x] + across->width; column++) {
      const double weight = reduced_down * weight_or_zero(&horizontal->reduced[level], x, column) -
                            expanded_down * *operator_weight(across, x, column);

      remap(params, filter->channels, pixel(filter, column, row), g, remapped);
      for (int c = 0; c < filter->channels; c++)
        coefficient[c] += weight * remapped[c];
    }
  }
}

/* O_l+1 expanded, at (x, y) of level l. */
static void expanded_output(const CfExactLlf *filter, int level, int x, int y, double sum[3])
{
  const CfLlfOperator *across = &filter->horizontal.expand[level];
  const CfLlfOperator *down = &filter->vertical.expand[level];
  const double *coarse = filter->output[level + 1];

  sum[0] = sum[1] = sum[2] = 0.0;
  for (int row = down->first[y]; row < down->first[y] + down->width; row++) {
    for (int column = across->first[x]; column < across->first[x] + across->width; column++) {
      const size_t at = (size_t)row * (size_t)across->inputs + (size_t)column;
      for (int c = 0; c < filter->channels; c++)
        sum[c] += *operator_weight(down, y, row) * *operator_weight(across, x, column) *
                  coarse[at * (size_t)filter->channels + (size_t)c];
    }
  }
}

static void filter_level(CfExactLlf *filter, const CfLlfParams *params, int level, int threads)
{
  const int width = filter->pyramid.width[level], height = filter->pyramid.height[level];
  const size_t channels = (size_t)filter->channels;

#pragma omp parallel for num_threads(threads) schedule(dynamic)
  for (int y = 0; y < height; y++) {
    for (int x = 0; x < width; x++) {
      double *output = &filter->output[level][((size_t)y * (size_t)width + (size_t)x) * channels];
      double below[3], coefficient[3];

      if (level == filter->pyramid.images - 1) {
        gaussian(filter, level, x, y, below);
        coefficient[0] = coefficient[1] = coefficient[2] = 0.0;
      } else {
        expanded_output(filter, level, x, y, below);
        laplacian(filter, params, level, x, y, coefficient);
      }
      for (size_t c = 0; c < channels; c++)
        output[c] = below[c] + coefficient[c];
    }
  }
}

void cf_exact_llf_run(CfExactLlf *filter, const CfLlfParams *params, int threads)
{
  for (int level = filter->pyramid.images - 1; level >= 0; level--)
    filter_level(filter, params, level, threads);
}
