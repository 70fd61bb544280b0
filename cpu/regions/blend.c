/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cpu/regions/blend.h"

#include <string.h>

#include "cpu/common/parallel.h"

/* Rows of one plane, at the first sample of a stretch. */
typedef struct {
  const CfFormatInfo *format;
  const CfPlaneFormat *info;
  const uint8_t *source, *filtered;
  uint8_t *destination;
} Stretch;

void cf_compose_pixel(const CfFormatInfo *format, const CfPlaneFormat *info, uint8_t *destination,
                      const uint8_t *source, const uint8_t *filtered, uint32_t coverage)
{
  const int alpha = cf_alpha_channel(info), shift = format->shift;

  if (alpha >= 0) {
    cf_mix_weighted(destination, source, filtered, alpha, coverage);
    return;
  }
  for (int k = 0; k < info->channels; k++) {
    if (format->bits > 8) {
      uint16_t one, other;

      memcpy(&one, source + 2 * k, 2);
      memcpy(&other, filtered + 2 * k, 2);
      one = (uint16_t)(cf_mix((uint32_t)one >> shift, (uint32_t)other >> shift, coverage) << shift);
      memcpy(destination + 2 * k, &one, 2);
    } else {
      destination[k] = (uint8_t)cf_mix(source[k], filtered[k], coverage);
    }
  }
}

static void copy(uint8_t *to, const uint8_t *from, size_t bytes)
{
  if (to != from)
    memcpy(to, from, bytes);
}

static void compose_stretch(const Stretch *stretch, const uint16_t *coverage, int count)
{
  const size_t pixel_bytes =
      (size_t)stretch->info->channels * (size_t)cf_sample_bytes(stretch->format);

  for (int i = 0, end; i < count; i = end) {
    const size_t at = (size_t)i * pixel_bytes;

    for (end = i + 1; end < count && coverage[end] == coverage[i];)
      end++;
    const size_t bytes = (size_t)(end - i) * pixel_bytes;
    if (coverage[i] == 0) {
      copy(stretch->destination + at, stretch->source + at, bytes);
    } else if (coverage[i] == CF_COVERED) {
      memcpy(stretch->destination + at, stretch->filtered + at, bytes);
    } else {
      for (size_t pixel = at; pixel < at + bytes; pixel += pixel_bytes)
        cf_compose_pixel(stretch->format, stretch->info, stretch->destination + pixel,
                         stretch->source + pixel, stretch->filtered + pixel, coverage[i]);
    }
  }
}

static void compose_row(const CfVideo *video, const CfRegions *regions, const CfPicture *source,
                        const CfPicture *filtered, const CfPicture *destination, int p, CfRect rect,
                        int y)
{
  const CfFormatInfo *format = cf_format_info(video->format);
  const size_t pixel_bytes = (size_t)format->plane[p].channels * (size_t)cf_sample_bytes(format);
  const uint8_t *from = source->data[p] + y * source->stride[p];
  uint8_t *to = destination->data[p] + y * destination->stride[p];
  uint16_t coverage[CF_COVERAGE_SAMPLES];

  if (y < rect.y0 || y >= rect.y1) {
    copy(to, from, cf_row_bytes(video, p));
    return;
  }
  copy(to, from, (size_t)rect.x0 * pixel_bytes);
  copy(to + (size_t)rect.x1 * pixel_bytes, from + (size_t)rect.x1 * pixel_bytes,
       cf_row_bytes(video, p) - (size_t)rect.x1 * pixel_bytes);
  for (int x = rect.x0; x < rect.x1; x += CF_COVERAGE_SAMPLES) {
    const int count = rect.x1 - x < CF_COVERAGE_SAMPLES ? rect.x1 - x : CF_COVERAGE_SAMPLES;
    const size_t at = (size_t)x * pixel_bytes;

    if (cf_coverage_line(video, regions, p, y, x, count, coverage, NULL)) {
      const Stretch stretch = {.format = format,
                               .info = &format->plane[p],
                               .source = from + at,
                               .filtered =
                                   filtered->data[p] + y * filtered->stride[p] + (ptrdiff_t)at,
                               .destination = to + at};
      compose_stretch(&stretch, coverage, count);
    } else {
      copy(to + at, from + at, (size_t)count * pixel_bytes);
    }
  }
}

/* The rows of a plane. */
typedef struct {
  const CfVideo *video;
  const CfRegions *regions;
  const CfPicture *source, *filtered, *destination;
  int plane, first;
  CfRect rect;
} Rows;

static void compose_rows(void *context, int first, int end)
{
  const Rows *rows = context;

  for (int y = rows->first + first; y < rows->first + end; y++)
    compose_row(rows->video, rows->regions, rows->source, rows->filtered, rows->destination,
                rows->plane, rows->rect, y);
}

void cf_compose(const CfVideo *video, const CfRegions *regions, const CfPicture *source,
                const CfPicture *filtered, const CfPicture *destination, int threads)
{
  const CfRect bounds = cf_coverage_bounds(video, regions);

  for (int p = 0; p < cf_format_info(video->format)->planes; p++) {
    const CfRect rect = cf_plane_rect(video, p, bounds);
    const bool in_place = source->data[p] == destination->data[p];
    const int first = in_place ? rect.y0 : 0, end = in_place ? rect.y1 : cf_plane_height(video, p);

    Rows rows = {.video = video,
                 .regions = regions,
                 .source = source,
                 .filtered = filtered,
                 .destination = destination,
                 .plane = p,
                 .first = first,
                 .rect = rect};

    cf_parallel_for(threads, end - first, cf_even_grain(threads, end - first), compose_rows, &rows);
  }
}
