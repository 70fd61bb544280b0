/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A second implementation of the definition of gaussblur and sepconv: two-dimensional, one double
 * loop per sample. Shares no code with the engines, their plans or the folding of borders. Results
 * are not rounded, so that tests can bound an engine's distance from the exact value.
 */
#pragma once

#include <math.h>
#include <stdlib.h>

#include "harness.h"
#include "sepconv.h"

typedef struct {
  int count, anchor;
  double tap[2100];
} NaiveTaps;

typedef struct {
  NaiveTaps row, column;
  CfBorder border;
  uint32_t border_color;
  double scale, bias; /* as a fraction of full scale */
  bool absolute;
  int planes; /* CfSepconvPlanes */
} NaiveFilter;

/* One plane of the picture under test. */
typedef struct {
  const NaiveFilter *filter;
  const CfTestPicture *source;
  const CfPlaneFormat *format;
  int plane, width, height, alpha, max_code;
  double border[CF_ROLE_COUNT]; /* code values */
} Naive;

static inline bool naive_is_chroma(CfRole role)
{
  return role == CF_ROLE_CHROMA_BLUE || role == CF_ROLE_CHROMA_RED;
}

static inline bool naive_is_selected(const Naive *naive, CfRole role)
{
  const int plane = role == CF_ROLE_ALPHA     ? CF_SEPCONV_PLANE_ALPHA
                    : naive_is_chroma(role)   ? CF_SEPCONV_PLANE_CHROMA
                    : role == CF_ROLE_PADDING ? 0
                                              : CF_SEPCONV_PLANE_LUMA;

  return naive->filter->planes & plane;
}

/* Folds one step at a time until the position is inside; -1 for the border colour. */
static inline int naive_fold(CfBorder border, int i, int size)
{
  while (i < 0 || i >= size) {
    switch (border) {
    case CF_BORDER_REPLICATE:
      i += i < 0 ? 1 : -1;
      break;
    case CF_BORDER_REFLECT:
      i = i < 0 ? -1 - i : 2 * size - 1 - i;
      break;
    case CF_BORDER_REFLECT_101:
      if (size == 1)
        return 0;
      i = i < 0 ? -i : 2 * size - 2 - i;
      break;
    case CF_BORDER_WRAP:
      i += i < 0 ? size : -size;
      break;
    case CF_BORDER_CONSTANT:
      return -1;
    }
  }
  return i;
}

static inline double naive_code(const Naive *naive, int x, int y, int channel)
{
  const int folded_x = naive_fold(naive->filter->border, x, naive->width);
  const int folded_y = naive_fold(naive->filter->border, y, naive->height);

  if (folded_x < 0 || folded_y < 0)
    return naive->border[naive->format->role[channel]];
  return cf_picture_get(naive->source, naive->plane, folded_x, folded_y, channel);
}

/* Sum of taps times (channel - centre), weighted by alpha if asked. */
static inline double naive_sum(const Naive *naive, int x, int y, int channel, double centre,
                               bool weighted)
{
  const NaiveTaps *row = &naive->filter->row, *column = &naive->filter->column;
  double sum = 0.0;

  for (int j = 0; j < column->count; j++) {
    for (int i = 0; i < row->count; i++) {
      const int from_x = x + i - row->anchor, from_y = y + j - column->anchor;
      const double weight = weighted ? naive_code(naive, from_x, from_y, naive->alpha) : 1.0;

      sum += column->tap[j] * row->tap[i] * weight *
             (naive_code(naive, from_x, from_y, channel) - centre);
    }
  }
  return sum;
}

static inline double naive_tap_sum(const NaiveTaps *taps, bool magnitude)
{
  double sum = 0.0;

  for (int i = 0; i < taps->count; i++)
    sum += magnitude ? fabs(taps->tap[i]) : taps->tap[i];
  return sum;
}

static inline double naive_alpha(const Naive *naive, int x, int y)
{
  const NaiveFilter *filter = naive->filter;
  const double sum = naive_tap_sum(&filter->row, false) * naive_tap_sum(&filter->column, false);
  const double magnitude = naive_tap_sum(&filter->row, true) * naive_tap_sum(&filter->column, true);

  if (fabs(sum) < 1e-6 * magnitude || magnitude == 0.0)
    return cf_picture_get(naive->source, naive->plane, x, y, naive->alpha);
  return naive_sum(naive, x, y, naive->alpha, 0.0, false) / sum;
}

/* The channel's value before rounding and clamping. `alpha` gets the pixel's filtered alpha where
 * it weights the colours, else 1. */
static inline double naive_value(const Naive *naive, int x, int y, int channel, double *alpha)
{
  const NaiveFilter *filter = naive->filter;
  const CfRole role = naive->format->role[channel];
  const double centre = naive_is_chroma(role) ? cf_chroma_centre(&naive->source->video) : 0.0;
  const bool weighted = naive->alpha >= 0 && naive_is_selected(naive, CF_ROLE_ALPHA);
  double value;

  *alpha = 1.0;
  if (!naive_is_selected(naive, role))
    return cf_picture_get(naive->source, naive->plane, x, y, channel);
  if (role == CF_ROLE_ALPHA)
    return naive_alpha(naive, x, y);
  if (weighted)
    *alpha = naive_alpha(naive, x, y);
  if (*alpha <= 0.0)
    return centre;
  value = filter->scale * naive_sum(naive, x, y, channel, centre, weighted) / *alpha;
  if (naive_is_chroma(role))
    return centre + value;
  return (filter->absolute ? fabs(value) : value) + filter->bias * naive->max_code;
}

static inline Naive naive_plane(const NaiveFilter *filter, const CfTestPicture *source, int plane)
{
  const CfFormatInfo *info = cf_format_info(source->video.format);
  Naive naive = {.filter = filter,
                 .source = source,
                 .format = &info->plane[plane],
                 .plane = plane,
                 .width = cf_plane_width(&source->video, plane),
                 .height = cf_plane_height(&source->video, plane),
                 .alpha = cf_alpha_channel(&info->plane[plane]),
                 .max_code = cf_max_code(info)};

  cf_color_codes(&source->video, filter->border_color, naive.border);
  for (int role = 0; role < CF_ROLE_COUNT; role++)
    naive.border[role] = fmin(fmax(floor(naive.border[role] + 0.5), 0.0), naive.max_code);
  return naive;
}

/* The largest distance of a sample of `got` in this plane from the definition, clamped but not
 * rounded; rounding alone gives 0.5. Colours in formats with alpha count by their share of alpha.
 */
static inline double naive_distance(const Naive *naive, const CfTestPicture *got)
{
  double largest = 0.0;

  for (int y = 0; y < naive->height; y++) {
    for (int x = 0; x < naive->width; x++) {
      for (int c = 0; c < naive->format->channels; c++) {
        double alpha, value, share;

        if (naive->format->role[c] == CF_ROLE_PADDING)
          continue;
        value = naive_value(naive, x, y, c, &alpha);
        value = fmin(fmax(value, 0.0), naive->max_code);
        /* Colours without visible alpha do not count. */
        share = alpha == 1.0 ? 1.0 : fmin(alpha / naive->max_code, 1.0);
        largest = fmax(largest, share * fabs(cf_picture_get(got, naive->plane, x, y, c) - value));
      }
    }
  }
  return largest;
}
