/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What the tests of blur maps share: params, drawings on maps, and the values of maps by a second
 * implementation in real numbers, independent of plan/map.c.
 */
#pragma once

#include <math.h>
#include <stdlib.h>

#include "gaussblur.h"
#include "harness.h"
#include "naive_fir.h"
#include "plan/map.h"

static inline CfGaussblurParams mapped(CfMapMode mode, double sigma, double sigma_min)
{
  return (CfGaussblurParams){.sigma = sigma,
                             .sigma_vertical = -1.0,
                             .map_mode = mode,
                             .sigma_min = sigma_min,
                             .map_x = 0.5,
                             .map_y = 0.5,
                             .map_outer = 0.333};
}

static inline void say(CfTest *test, const CfGaussblurParams *params, const CfTestPicture *source)
{
  static const char *const modes[] = {"none", "file", "radial", "linear", "luma", "alpha"};

  cf_test_context(test, "%s map, sigma %g to %g, vertical %g, border %s, %dx%d",
                  modes[params->map_mode], params->sigma_min, params->sigma, params->sigma_vertical,
                  cf_border_choices[params->border].nick, source->video.width,
                  source->video.height);
}

static inline CfTestPicture *picture(CfFormat format, int width, int height, CfPattern pattern,
                                     CfAlphaFill alpha, uint64_t seed)
{
  const CfVideo video = cf_video(format, width, height);
  CfTestPicture *result = cf_picture_new(&video, (CfLayout)(seed % CF_LAYOUT_COUNT));

  cf_picture_fill(result, pattern, alpha, seed);
  return result;
}

/* Drawings on maps. */
typedef enum { MAP_NOISE, MAP_STEP, MAP_CHECKER, MAP_RAMP, MAP_CONSTANT } Drawing;

static inline CfMap *draw(Drawing drawing, int width, int height, uint64_t seed)
{
  CfRandom random = {seed};
  uint16_t *values = malloc((size_t)width * (size_t)height * sizeof *values);
  CfMap *map;

  for (int i = 0; i < width * height; i++) {
    const int x = i % width, y = i / width;
    const int drawn[] = {cf_random_below(&random, 65536), x < width / 2 ? 0 : 65535,
                         (x + y) % 2 ? 65535 : 0, 65535 * x / (width > 1 ? width - 1 : 1),
                         (int)(seed % 65536)};
    values[i] = (uint16_t)drawn[drawing];
  }
  map = cf_map_new(width, height, values, NULL);
  free(values);
  return map;
}

/* ---- The definition ---- */

static inline double naive_ramp(const CfGaussblurParams *params, double d)
{
  if (d <= params->map_inner)
    return 0.0;
  if (d >= params->map_outer)
    return 1.0;
  return (d - params->map_inner) / (params->map_outer - params->map_inner);
}

static inline double naive_image(const CfMap *map, double u, double v)
{
  const int width = cf_map_width(map), height = cf_map_height(map);
  const uint16_t *values = cf_map_values(map);
  double sum = 0.0;

  /* Tent functions around all pixels; those outside repeat the nearest inside. */
  for (int j = -1; j <= height; j++) {
    for (int i = -1; i <= width; i++) {
      const int x = i < 0 ? 0 : i >= width ? width - 1 : i;
      const int y = j < 0 ? 0 : j >= height ? height - 1 : j;
      const double near_x = 1.0 - fabs(u - i), near_y = 1.0 - fabs(v - j);

      if (near_x > 0.0 && near_y > 0.0)
        sum += near_x * near_y * values[y * width + x] / 65535.0;
    }
  }
  return sum;
}

static inline double naive_luma(const CfTestPicture *source, int x, int y)
{
  const CfVideo *video = &source->video;
  const CfFormatInfo *info = cf_format_info(video->format);
  double luma = 0.0;

  for (int p = 0; p < info->planes; p++) {
    for (int c = 0; c < info->plane[p].channels; c++) {
      const CfRole role = info->plane[p].role[c];
      const double kr = video->luma_red, kb = video->luma_blue;
      const double weight = role == CF_ROLE_LUMA    ? 1.0
                            : role == CF_ROLE_RED   ? kr
                            : role == CF_ROLE_GREEN ? 1.0 - kr - kb
                            : role == CF_ROLE_BLUE  ? kb
                                                    : 0.0;
      double offset, scale;

      cf_code_range(video, role, &offset, &scale);
      if (weight > 0.0)
        luma += weight * (cf_picture_get(source, p, x, y, c) - offset) / scale;
    }
  }
  return luma;
}

static inline double naive_alpha_code(const CfTestPicture *source, int x, int y)
{
  const CfFormatInfo *info = cf_format_info(source->video.format);

  return info->alpha ? cf_picture_get(source, 0, x, y, cf_alpha_channel(&info->plane[0])) / 255.0
                     : 1.0;
}

static inline double naive_m(const CfGaussblurParams *params, const CfTestPicture *source, int p,
                             int x, int y)
{
  const CfPlaneFormat *plane = &cf_format_info(source->video.format)->plane[p];
  const int across = 1 << plane->subsampling_x, down = 1 << plane->subsampling_y;
  const double width = source->video.width, height = source->video.height;
  const double px = (x + 0.5) * across, py = (y + 0.5) * down;
  const double dx = px - params->map_x * width, dy = py - params->map_y * height;
  const double turn = params->map_angle * acos(-1.0) / 180.0;
  double m = 0.0;
  int count = 0;

  switch (params->map_mode) {
  case CF_MAP_FILE:
    m = naive_image(params->map,
                    fmin(fmax(px * cf_map_width(params->map) / width - 0.5, 0.0),
                         cf_map_width(params->map) - 1),
                    fmin(fmax(py * cf_map_height(params->map) / height - 0.5, 0.0),
                         cf_map_height(params->map) - 1));
    break;
  case CF_MAP_RADIAL:
    m = naive_ramp(params, hypot(dx, dy) / width);
    break;
  case CF_MAP_LINEAR:
    m = naive_ramp(params, fabs(cos(turn) * dy - sin(turn) * dx) / width);
    break;
  default:
    for (int j = y * down; j < (y + 1) * down && j < source->video.height; j++) {
      for (int i = x * across; i < (x + 1) * across && i < source->video.width; i++, count++)
        m += params->map_mode == CF_MAP_LUMA ? naive_luma(source, i, j)
                                             : naive_alpha_code(source, i, j);
    }
    m = fmin(fmax(m / count, 0.0), 1.0);
    break;
  }
  return params->map_invert ? 1.0 - m : m;
}

static inline void naive_gaussian(NaiveTaps *taps, double sigma)
{
  const int radius = (int)ceil(4.0 * sigma);
  double sum = 0.0;

  taps->count = 2 * radius + 1;
  taps->anchor = radius;
  for (int i = -radius; i <= radius; i++)
    sum += taps->tap[i + radius] = i ? exp(-i * i / (2.0 * sigma * sigma)) : 1.0;
  for (int i = 0; i < taps->count; i++)
    taps->tap[i] /= sum;
}

/* ---- Comparing ---- */

/* Codes of 8 bits, in codes of the format. */
static inline double codes(CfFormat format, double eighths)
{
  return eighths * cf_max_code(cf_format_info(format)) / 255.0;
}

static inline double rms(const CfDifference *difference, CfFormat format)
{
  return cf_max_code(cf_format_info(format)) * pow(10.0, -difference->psnr / 20.0);
}

/* Within two codes of 8 bits of the reference, and half a code on average. */
static inline void compare_with_reference(CfTest *test, const CfGaussblurParams *params,
                                          const CfTestPicture *source)
{
  CfTestPicture *want = cf_test_reference(test, params, source);
  CfTestPicture *got = cf_picture_new(&source->video, source->layout);

  say(test, params, source);
  if (want && cf_test_filter(test, test->engine, params, 2, source, got)) {
    const CfDifference difference = cf_picture_compare(got, want, 0.0);

    cf_test_compare(test, got, want, codes(source->video.format, 2.0));
    /* The mean over few samples is left to chance. */
    CF_EXPECT(test,
              difference.samples < 1000 ||
                  rms(&difference, source->video.format) < codes(source->video.format, 0.5),
              "rms %g", rms(&difference, source->video.format));
  }
  cf_picture_free(got);
  cf_picture_free(want);
}
