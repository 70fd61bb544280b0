/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cpu/reference/llf_series.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cpu/common/parallel.h"

/* Images of the pyramid's sizes, of one value a pixel. */
typedef struct {
  double *image[CF_LLF_MAX_IMAGES];
} Pyramid;

/* A filter under way. */
typedef struct {
  CfLlfPyramid size;
  CfLlfSeries series;
  int threads;
  double *scratch, *expanded; /* as large as the picture */
  Pyramid gaussian, sine, cosine;
  Pyramid sum; /* S_l, then D_l */
} Filter;

static const double taps[5] = {CF_LLF_TAP_EDGE, CF_LLF_TAP_SIDE, CF_LLF_TAP_CENTRE, CF_LLF_TAP_SIDE,
                               CF_LLF_TAP_EDGE};

/* The sample that sample i of `size`, a few outside at most, repeats: -1 reads 0. */
static int mirrored(int i, int size)
{
  while (i < 0 || i >= size)
    i = i < 0 ? -i - 1 : 2 * size - 1 - i;
  return i;
}

/* ---- One line ---- */

/* Lines are `step` values from sample to sample. */
static void reduce_line(const double *from, int size, ptrdiff_t from_step, double *to,
                        ptrdiff_t to_step)
{
  for (int i = 0; i < (size + 1) / 2; i++) {
    double value = 0.0;

    for (int k = 0; k < 5; k++)
      value += taps[k] * from[mirrored(2 * i + k - 2, size) * from_step];
    to[i * to_step] = value;
  }
}

/* From ceil (size / 2) samples to `size`. */
static void expand_line(const double *from, ptrdiff_t from_step, double *to, int size,
                        ptrdiff_t to_step)
{
  const int coarse = (size + 1) / 2;

  for (int i = 0; i < size; i++) {
    double value = 0.0;

    for (int k = i % 2 ? 1 : 0; k < 5; k += 2)
      value += 2.0 * taps[k] * from[mirrored((i + k - 2) / 2, coarse) * from_step];
    to[i * to_step] = value;
  }
}

/* ---- Images ---- */

/* What a loop over lines is about. */
typedef struct {
  const double *from;
  double *to;
  int width, height; /* of the finer image */
} Lines;

static void reduce_rows(void *context, int first, int end)
{
  const Lines *lines = context;

  for (int y = first; y < end; y++)
    reduce_line(lines->from + (ptrdiff_t)y * lines->width, lines->width, 1,
                lines->to + (ptrdiff_t)y * ((lines->width + 1) / 2), 1);
}

static void reduce_columns(void *context, int first, int end)
{
  const Lines *lines = context;
  const int coarse = (lines->width + 1) / 2;

  for (int x = first; x < end; x++)
    reduce_line(lines->from + x, lines->height, coarse, lines->to + x, coarse);
}

static void expand_columns(void *context, int first, int end)
{
  const Lines *lines = context;
  const int coarse = (lines->width + 1) / 2;

  for (int x = first; x < end; x++)
    expand_line(lines->from + x, coarse, lines->to + x, lines->height, coarse);
}

static void expand_rows(void *context, int first, int end)
{
  const Lines *lines = context;

  for (int y = first; y < end; y++)
    expand_line(lines->from + (ptrdiff_t)y * ((lines->width + 1) / 2), 1,
                lines->to + (ptrdiff_t)y * lines->width, lines->width, 1);
}

/* The next image of each in `pyramid`, whose first is filled. */
static void reduce_all(const Filter *filter, const Pyramid *pyramid)
{
  for (int l = 0; l + 1 < filter->size.images; l++) {
    const int width = filter->size.width[l], height = filter->size.height[l];
    Lines rows = {pyramid->image[l], filter->scratch, width, height};
    Lines columns = {filter->scratch, pyramid->image[l + 1], width, height};

    cf_parallel_for(filter->threads, height, 16, reduce_rows, &rows);
    cf_parallel_for(filter->threads, (width + 1) / 2, 16, reduce_columns, &columns);
  }
}

/* The image after `l`, as large as l. */
static void expand_to(const Filter *filter, const Pyramid *pyramid, int l, double *expanded)
{
  const int width = filter->size.width[l], height = filter->size.height[l];
  Lines columns = {pyramid->image[l + 1], filter->scratch, width, height};
  Lines rows = {filter->scratch, expanded, width, height};

  cf_parallel_for(filter->threads, (width + 1) / 2, 16, expand_columns, &columns);
  cf_parallel_for(filter->threads, height, 16, expand_rows, &rows);
}

static size_t pixels(const Filter *filter, int l)
{
  return (size_t)filter->size.width[l] * (size_t)filter->size.height[l];
}

/* ---- The series ---- */

/* A term's part in S_l. */
static void add_term(const Filter *filter, int n, int l)
{
  const double turn = (n + 1) * filter->series.base, b = filter->series.b[n];
  const double *g = filter->gaussian.image[l];

  expand_to(filter, &filter->sine, l, filter->expanded);
  for (size_t i = 0; i < pixels(filter, l); i++)
    filter->sum.image[l][i] +=
        b * cos(turn * g[i]) * (filter->sine.image[l][i] - filter->expanded[i]);
  expand_to(filter, &filter->cosine, l, filter->expanded);
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

    expand_to(filter, &filter->sum, l, filter->expanded);
    for (size_t i = 0; i < pixels(filter, l); i++)
      filter->sum.image[l][i] = share * (filter->sum.image[l][i] + filter->expanded[i]) -
                                (1.0 - share) * linear * filter->gaussian.image[l][i];
  }
  for (size_t i = 0; i < pixels(filter, 0); i++)
    intensity[i] = (1.0 + linear) * filter->gaussian.image[0][i] + filter->sum.image[0][i];
}

/* ---- Memory ---- */

static bool open_pyramid(const Filter *filter, Pyramid *pyramid)
{
  bool good = true;

  for (int l = 0; l < filter->size.images; l++) {
    pyramid->image[l] = calloc(pixels(filter, l), sizeof(double));
    good = good && pyramid->image[l];
  }
  return good;
}

static void close_pyramid(Pyramid *pyramid)
{
  for (int l = 0; l < CF_LLF_MAX_IMAGES; l++)
    free(pyramid->image[l]);
}

bool cf_series_llf_run(double *intensity, int width, int height, const CfLlfParams *params,
                       int threads)
{
  Filter filter = {.size = cf_llf_pyramid(width, height, params),
                   .series = cf_llf_series(params),
                   .threads = threads};
  bool good = open_pyramid(&filter, &filter.gaussian);

  good = open_pyramid(&filter, &filter.sine) && good;
  good = open_pyramid(&filter, &filter.cosine) && good;
  good = open_pyramid(&filter, &filter.sum) && good;
  filter.scratch = malloc(pixels(&filter, 0) * sizeof(double));
  filter.expanded = malloc(pixels(&filter, 0) * sizeof(double));
  good = good && filter.scratch && filter.expanded;
  if (good) {
    memcpy(filter.gaussian.image[0], intensity, pixels(&filter, 0) * sizeof(double));
    reduce_all(&filter, &filter.gaussian);
    add_terms(&filter);
    collapse(&filter, intensity);
  }
  close_pyramid(&filter.gaussian);
  close_pyramid(&filter.sine);
  close_pyramid(&filter.cosine);
  close_pyramid(&filter.sum);
  free(filter.scratch);
  free(filter.expanded);
  return good;
}
