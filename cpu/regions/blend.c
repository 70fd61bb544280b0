/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cpu/regions/blend.h"

#include <string.h>

#include "cpu/common/alpha.h"
#include "cpu/common/cpu.h"
#include "cpu/common/parallel.h"

/* Pixels that are mixed at once. */
#define MIXED 64

/* One plane of a job: item i of the loop is row first + i; samples are blended within `rect`. */
typedef struct {
  const CfCoverage *coverage;
  const CfPicture *source, *destination;
  const CfFiltered *filtered;
  const CfFormatInfo *format;
  const CfPlaneFormat *info;
  size_t pixel_bytes;
  int plane, first;
  CfRect rect;
} Plane;

static void copy(uint8_t *to, const uint8_t *from, size_t bytes)
{
  if (to != from)
    memcpy(to, from, bytes);
}

/* Repeats the coverage of each pixel for all channels, so that mixing is one loop over samples. */
INLINE void spread_pixels(const int channels, const uint16_t *coverage, int pixels,
                          uint16_t *restrict samples)
{
  for (int i = 0; i < pixels; i++) {
    for (int k = 0; k < channels; k++)
      samples[i * channels + k] = coverage[i];
  }
}

CF_MULTIVERSION
static void spread(const uint16_t *coverage, int pixels, int channels, uint16_t *samples)
{
  CF_FOR_CHANNELS(channels, spread_pixels, coverage, pixels, samples);
}

CF_MULTIVERSION
static void mix_bytes(const uint8_t *from, const uint8_t *filtered, const uint16_t *coverage,
                      int samples, uint8_t *restrict to)
{
  for (int i = 0; i < samples; i++)
    to[i] = (uint8_t)cf_mix(from[i], filtered[i], coverage[i]);
}

CF_MULTIVERSION
static void mix_words(const uint8_t *from, const uint8_t *filtered, const uint16_t *coverage,
                      int shift, int samples, uint8_t *restrict to)
{
  for (int i = 0; i < samples; i++) {
    uint16_t one, other;

    memcpy(&one, from + 2 * i, 2);
    memcpy(&other, filtered + 2 * i, 2);
    one =
        (uint16_t)(cf_mix((uint32_t)one >> shift, (uint32_t)other >> shift, coverage[i]) << shift);
    memcpy(to + 2 * i, &one, 2);
  }
}

/* Mixes partly covered pixels; `to` may be `from`. */
static void mix(const Plane *plane, uint8_t *to, const uint8_t *from, const uint8_t *filtered,
                const uint16_t *coverage, int pixels)
{
  const int alpha = cf_alpha_channel(plane->info), channels = plane->info->channels;
  uint16_t spread_coverage[MIXED * CF_MAX_CHANNELS];
  uint8_t mixed[MIXED * CF_MAX_CHANNELS * sizeof(uint16_t)];

  /* Weights change nothing where all pixels are opaque. */
  if (alpha >= 0 && !(cf_pixels_are_opaque(from, alpha, pixels) &&
                      cf_pixels_are_opaque(filtered, alpha, pixels))) {
    for (int i = 0; i < pixels; i++)
      cf_mix_weighted(to + 4 * i, from + 4 * i, filtered + 4 * i, alpha, coverage[i]);
    return;
  }
  spread(coverage, pixels, channels, spread_coverage);
  if (plane->format->bits > 8)
    mix_words(from, filtered, spread_coverage, plane->format->shift, pixels * channels, mixed);
  else
    mix_bytes(from, filtered, spread_coverage, pixels * channels, mixed);
  memcpy(to, mixed, (size_t)pixels * plane->pixel_bytes);
}

static bool is_mixed(int coverage)
{
  return coverage != 0 && coverage != CF_COVERED;
}

static void blend_stretch(const Plane *plane, uint8_t *to, const uint8_t *from,
                          const uint8_t *filtered, const uint16_t *coverage, int count)
{
  for (int i = 0, end; i < count; i = end) {
    const size_t at = (size_t)i * plane->pixel_bytes;
    const bool mixed = is_mixed(coverage[i]);

    for (end = i + 1; end < count && (mixed ? end - i < MIXED && is_mixed(coverage[end])
                                            : coverage[end] == coverage[i]);)
      end++;
    const size_t bytes = (size_t)(end - i) * plane->pixel_bytes;
    if (mixed)
      mix(plane, to + at, from + at, filtered + at, coverage + i, end - i);
    else if (coverage[i] == 0)
      copy(to + at, from + at, bytes);
    else
      memcpy(to + at, filtered + at, bytes);
  }
}

static void blend_row(const Plane *plane, int y)
{
  const CfRect *rect = &plane->rect;
  const int p = plane->plane;
  const size_t row_bytes = cf_row_bytes(&plane->coverage->video, p),
               pixel_bytes = plane->pixel_bytes;
  const size_t left = (size_t)rect->x0 * pixel_bytes, right = (size_t)rect->x1 * pixel_bytes;
  const uint8_t *from = cf_row(plane->source, p, y);
  uint8_t *to = cf_row(plane->destination, p, y);
  uint16_t coverage[CF_COVERAGE_SAMPLES];
  int owners[CF_COVERAGE_SAMPLES], *owner = plane->filtered->wants_owner ? owners : NULL;

  if (y < rect->y0 || y >= rect->y1) {
    copy(to, from, row_bytes);
    return;
  }
  copy(to, from, left);
  copy(to + right, from + right, row_bytes - right);
  for (int x = rect->x0, end; x < rect->x1; x = end) {
    const size_t at = (size_t)x * pixel_bytes;
    bool close;

    end = cf_coverage_stretch(plane->coverage, p, y, x, rect->x1, &close);
    const int count = end - x;

    if (close && cf_coverage_row(plane->coverage, p, y, x, count, coverage, owner))
      blend_stretch(plane, to + at, from + at,
                    plane->filtered->row(plane->filtered->context, p, y, x, count, coverage, owner),
                    coverage, count);
    else
      copy(to + at, from + at, (size_t)count * pixel_bytes);
  }
}

static void blend_rows(void *context, int first, int end)
{
  const Plane *plane = context;

  for (int y = plane->first + first; y < plane->first + end; y++)
    blend_row(plane, y);
}

void cf_blend(const CfCoverage *coverage, const CfPicture *source, const CfFiltered *filtered,
              const CfPicture *destination, int threads)
{
  const CfVideo *video = &coverage->video;
  const CfFormatInfo *format = cf_format_info(video->format);

  for (int p = 0; p < format->planes; p++) {
    const CfRect rect = cf_plane_rect(video, p, coverage->bounds);
    const bool in_place = source->data[p] == destination->data[p];
    const int first = in_place ? rect.y0 : 0;
    const int rows = (in_place ? rect.y1 : cf_plane_height(video, p)) - first;
    Plane plane = {.coverage = coverage,
                   .source = source,
                   .destination = destination,
                   .filtered = filtered,
                   .format = format,
                   .info = &format->plane[p],
                   .pixel_bytes =
                       (size_t)format->plane[p].channels * (size_t)cf_sample_bytes(format),
                   .plane = p,
                   .first = first,
                   .rect = rect};

    cf_parallel_evenly(threads, rows, blend_rows, &plane);
  }
}

/* ---- A filtered picture ---- */

typedef struct {
  const CfVideo *video;
  const CfPicture *picture;
} Picture;

static const uint8_t *picture_row(void *context, int p, int y, int x0, int count,
                                  const uint16_t *coverage, const int *owner)
{
  const Picture *filtered = context;
  const CfFormatInfo *format = cf_format_info(filtered->video->format);
  const int pixel_bytes = format->plane[p].channels * cf_sample_bytes(format);

  return cf_row(filtered->picture, p, y) + (ptrdiff_t)x0 * pixel_bytes;
}

void cf_blend_picture(const CfCoverage *coverage, const CfPicture *source,
                      const CfPicture *filtered, const CfPicture *destination, int threads)
{
  Picture picture = {&coverage->video, filtered};

  cf_blend(coverage, source, &(CfFiltered){picture_row, &picture, false}, destination, threads);
}
