/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cpu/reference/llf_math.h"

#include <math.h>
#include <stdlib.h>

#include "cpu/common/parallel.h"

void cf_exact_llf_free(CfExactLlf *filter)
{
  cf_llf_axis_free(&filter->horizontal);
  cf_llf_axis_free(&filter->vertical);
  free(filter->intensity);
  for (int l = 0; l < CF_LLF_MAX_IMAGES; l++)
    free(filter->output[l]);
  *filter = (CfExactLlf){0};
}

bool cf_exact_llf_open(CfExactLlf *filter, int width, int height, bool field,
                       const CfLlfParams *params, int channels)
{
  const CfLlfPyramid pyramid = cf_llf_pyramid(width, height, field, params);
  bool good;

  *filter = (CfExactLlf){.pyramid = pyramid, .channels = channels};
  filter->intensity = calloc((size_t)width * (size_t)height * (size_t)channels, sizeof(double));
  good = filter->intensity &&
         cf_llf_axis_open(&filter->horizontal, pyramid.width, pyramid.images) &&
         cf_llf_axis_open(&filter->vertical, pyramid.height, pyramid.images);
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
      const double weight = *cf_llf_weight(down, y, row) * *cf_llf_weight(across, x, column);
      for (int c = 0; c < filter->channels; c++)
        g[c] += weight * pixel(filter, column, row)[c];
    }
  }
}

/* Paris' r_color, applied by a share; with one channel it is his r_gray. */
static void remap(const CfLlfParams *params, double share, int channels, const double *i,
                  const double g[3], double remapped[3])
{
  double length = 0.0;

  for (int c = 0; c < channels; c++)
    length += (i[c] - g[c]) * (i[c] - g[c]);
  length = sqrt(length);
  for (int c = 0; c < channels; c++) {
    remapped[c] = i[c];
    if (length > 0.0)
      remapped[c] += share * (i[c] - g[c]) * (cf_llf_remap(params, length) / length - 1.0);
  }
}

/* The coefficient at (x, y) of Laplacian level `level` of the image remapped about G_l (x, y). */
static void laplacian(const CfExactLlf *filter, const CfLlfParams *params, int level, int x, int y,
                      double coefficient[3])
{
  const CfLlfAxis *horizontal = &filter->horizontal, *vertical = &filter->vertical;
  const CfLlfOperator *across = &horizontal->expanded[level], *down = &vertical->expanded[level];
  const double share = level == filter->pyramid.images - 2 ? filter->pyramid.last_share : 1.0;
  double g[3], remapped[3];

  gaussian(filter, level, x, y, g);
  coefficient[0] = coefficient[1] = coefficient[2] = 0.0;
  /* The band of `expanded` contains that of `reduced`. */
  for (int row = down->first[y]; row < down->first[y] + down->width; row++) {
    const double reduced_down = cf_llf_weight_or_zero(&vertical->reduced[level], y, row);
    const double expanded_down = *cf_llf_weight(down, y, row);

    for (int column = across->first[x]; column < across->first[x] + across->width; column++) {
      const double weight =
          reduced_down * cf_llf_weight_or_zero(&horizontal->reduced[level], x, column) -
          expanded_down * *cf_llf_weight(across, x, column);

      remap(params, share, filter->channels, pixel(filter, column, row), g, remapped);
      for (int c = 0; c < filter->channels; c++)
        coefficient[c] += weight * remapped[c];
    }
  }
}

/* The expanded O_l+1 at (x, y) of level l. */
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
        sum[c] += *cf_llf_weight(down, y, row) * *cf_llf_weight(across, x, column) *
                  coarse[at * (size_t)filter->channels + (size_t)c];
    }
  }
}

typedef struct {
  const CfExactLlf *filter;
  const CfLlfParams *params;
  int number;
} Level;

static void filter_rows(void *context, int first, int end)
{
  const CfExactLlf *filter = ((const Level *)context)->filter;
  const CfLlfParams *params = ((const Level *)context)->params;
  const int level = ((const Level *)context)->number, width = filter->pyramid.width[level];
  const size_t channels = (size_t)filter->channels;

  for (int y = first; y < end; y++) {
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
    cf_parallel_for(threads, filter->pyramid.height[level], 1, filter_rows,
                    &(Level){filter, params, level});
}
