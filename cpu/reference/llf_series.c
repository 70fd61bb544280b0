/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cpu/reference/llf_series.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cpu/common/memory.h"
#include "cpu/common/parallel.h"

/* Images of the pyramid's sizes, with one value per pixel. */
typedef struct {
  double *image[CF_LLF_MAX_IMAGES];
} Pyramid;

/* The state of one run. */
typedef struct {
  CfLlfPyramid size;
  CfLlfSeries series;
  int threads;
  double *expanded; /* of the picture's size */
  Pyramid gaussian, sine, cosine;
  Pyramid sum; /* S_l, then D_l */
} Filter;

static const double taps[5] = {CF_LLF_TAP_EDGE, CF_LLF_TAP_SIDE, CF_LLF_TAP_CENTRE, CF_LLF_TAP_SIDE,
                               CF_LLF_TAP_EDGE};

/* The sample of 0..size - 1 that sample i mirrors (half-sample symmetric). */
static int mirrored(int i, int size)
{
  while (i < 0 || i >= size)
    i = i < 0 ? -i - 1 : 2 * size - 1 - i;
  return i;
}

/* ---- Images ---- */

/* The context of a loop over rows of `to`. */
typedef struct {
  const double *from;
  double *to;
  int width, height; /* of the finer image */
} Images;

static void reduce_rows(void *context, int first, int end)
{
  const Images *images = context;
  const int width = images->width, coarse = (width + 1) / 2;

  for (int y = first; y < end; y++) {
    for (int x = 0; x < coarse; x++) {
      double value = 0.0;

      for (int j = 0; j < 5; j++) {
        const int row = mirrored(2 * y + j - 2, images->height);
        double across = 0.0;

        for (int k = 0; k < 5; k++)
          across += taps[k] * images->from[row * (ptrdiff_t)width + mirrored(2 * x + k - 2, width)];
        value += taps[j] * across;
      }
      images->to[y * (ptrdiff_t)coarse + x] = value;
    }
  }
}

/* Expands ceil (size / 2) samples of each axis to `size`. */
static void expand_rows(void *context, int first, int end)
{
  const Images *images = context;
  const int width = images->width, coarse = (width + 1) / 2;

  for (int y = first; y < end; y++) {
    for (int x = 0; x < width; x++) {
      double value = 0.0;

      for (int k = x % 2; k < 5; k += 2) {
        const int column = mirrored((x + k - 2) / 2, coarse);
        double down = 0.0;

        for (int j = y % 2; j < 5; j += 2) {
          const int row = mirrored((y + j - 2) / 2, (images->height + 1) / 2);

          down += 2.0 * taps[j] * images->from[row * (ptrdiff_t)coarse + column];
        }
        value += 2.0 * taps[k] * down;
      }
      images->to[y * (ptrdiff_t)width + x] = value;
    }
  }
}

/* Computes all images of a pyramid from its first. */
static void reduce_all(const Filter *filter, const Pyramid *pyramid)
{
  const CfLlfPyramid *size = &filter->size;

  for (int l = 0; l + 1 < size->images; l++)
    cf_parallel_for(
        filter->threads, size->height[l + 1], 8, reduce_rows,
        &(Images){pyramid->image[l], pyramid->image[l + 1], size->width[l], size->height[l]});
}

/* Expands the image after `l` to the size of image l, in `expanded`. */
static void expand(const Filter *filter, const Pyramid *pyramid, int l)
{
  const CfLlfPyramid *size = &filter->size;

  cf_parallel_for(
      filter->threads, size->height[l], 8, expand_rows,
      &(Images){pyramid->image[l + 1], filter->expanded, size->width[l], size->height[l]});
}

static size_t pixels(const Filter *filter, int l)
{
  return (size_t)filter->size.width[l] * (size_t)filter->size.height[l];
}

/* ---- The series ---- */

/* Adds one harmonic to S_l. */
static void add_term(const Filter *filter, int n, int l)
{
  const double turn = (n + 1) * filter->series.base, b = filter->series.b[n];
  const double *g = filter->gaussian.image[l];

  expand(filter, &filter->sine, l);
  for (size_t i = 0; i < pixels(filter, l); i++)
    filter->sum.image[l][i] +=
        b * cos(turn * g[i]) * (filter->sine.image[l][i] - filter->expanded[i]);
  expand(filter, &filter->cosine, l);
  for (size_t i = 0; i < pixels(filter, l); i++)
    filter->sum.image[l][i] -=
        b * sin(turn * g[i]) * (filter->cosine.image[l][i] - filter->expanded[i]);
}

static void add_terms(const Filter *filter)
{
  for (int n = 0; n < filter->series.harmonics; n++) {
    const double turn = (n + 1) * filter->series.base;

    for (size_t i = 0; i < pixels(filter, 0); i++) {
      filter->sine.image[0][i] = sin(turn * filter->gaussian.image[0][i]);
      filter->cosine.image[0][i] = cos(turn * filter->gaussian.image[0][i]);
    }
    reduce_all(filter, &filter->sine);
    reduce_all(filter, &filter->cosine);
    for (int l = 0; l + 1 < filter->size.images; l++)
      add_term(filter, n, l);
  }
}

static void collapse(const Filter *filter, double *intensity)
{
  const int top = filter->size.images - 1;
  const double linear = filter->series.linear;

  for (size_t i = 0; i < pixels(filter, top); i++)
    filter->sum.image[top][i] = -linear * filter->gaussian.image[top][i];
  for (int l = top - 1; l >= 0; l--) {
    const double share = l == top - 1 ? filter->size.last_share : 1.0;

    expand(filter, &filter->sum, l);
    for (size_t i = 0; i < pixels(filter, l); i++)
      filter->sum.image[l][i] = share * (filter->sum.image[l][i] + filter->expanded[i]) -
                                (1.0 - share) * linear * filter->gaussian.image[l][i];
  }
  for (size_t i = 0; i < pixels(filter, 0); i++)
    intensity[i] = (1.0 + linear) * filter->gaussian.image[0][i] + filter->sum.image[0][i];
}

/* ---- A picture ---- */

static void lay_out(CfArena *arena, void *self)
{
  Filter *filter = self;

  filter->expanded = cf_arena_take(arena, pixels(filter, 0) * sizeof(double));
  for (int l = 0; l < filter->size.images; l++) {
    const size_t bytes = pixels(filter, l) * sizeof(double);

    filter->gaussian.image[l] = cf_arena_take(arena, bytes);
    filter->sine.image[l] = cf_arena_take(arena, bytes);
    filter->cosine.image[l] = cf_arena_take(arena, bytes);
    filter->sum.image[l] = cf_arena_take(arena, bytes);
  }
}

bool cf_series_llf_run(double *intensity, int width, int height, bool field,
                       const CfLlfParams *params, int threads)
{
  Filter filter = {.size = cf_llf_pyramid(width, height, field, params),
                   .series = cf_llf_series(params),
                   .threads = threads};
  void *memory = cf_laid_out(lay_out, &filter);

  if (!memory)
    return false;
  memcpy(filter.gaussian.image[0], intensity, pixels(&filter, 0) * sizeof(double));
  reduce_all(&filter, &filter.gaussian);
  add_terms(&filter);
  collapse(&filter, intensity);
  free(memory);
  return true;
}
