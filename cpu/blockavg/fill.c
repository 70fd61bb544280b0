/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cpu/blockavg/fill.h"

#include <string.h>

#include "cpu/common/parallel.h"
#include "cpu/regions/blend.h"

void cf_fill_set(CfFill *fill, const CfVideo *video, uint32_t argb)
{
  const CfFormatInfo *format = cf_format_info(video->format);

  fill->video = *video;
  for (int p = 0; p < format->planes; p++) {
    uint8_t pixel[2 * CF_MAX_CHANNELS];
    const size_t bytes = cf_color_pixel(video, argb, p, pixel);

    for (size_t i = 0; i < CF_COVERAGE_SAMPLES; i++)
      memcpy(fill->line[p] + i * bytes, pixel, bytes);
  }
}

void cf_fill_clear(CfFill *fill)
{
  cf_coverage_clear(&fill->coverage);
}

/* The `row` of CfFiltered. */
static const uint8_t *colour_row(void *context, int p, int y, int x0, int count,
                                 const uint16_t *coverage, const int *owner)
{
  const CfFill *fill = context;

  (void)y;
  (void)x0;
  (void)count;
  (void)coverage;
  (void)owner;
  return fill->line[p];
}

/* The rows of a plane. */
typedef struct {
  const CfFill *fill;
  const CfPicture *picture;
  int plane;
} Rows;

static void fill_rows(void *context, int first, int end)
{
  const Rows *rows = context;
  const int p = rows->plane;
  const size_t bytes = cf_row_bytes(&rows->fill->video, p);
  const CfFormatInfo *format = cf_format_info(rows->fill->video.format);
  const size_t line =
      (size_t)CF_COVERAGE_SAMPLES * (size_t)(format->plane[p].channels * cf_sample_bytes(format));

  for (int y = first; y < end; y++) {
    uint8_t *to = rows->picture->data[p] + y * rows->picture->stride[p];

    for (size_t at = 0; at < bytes; at += line)
      memcpy(to + at, rows->fill->line[p], bytes - at < line ? bytes - at : line);
  }
}

bool cf_fill_run(CfFill *fill, const CfJob *job, int threads, CfStatus *status)
{
  if (job->regions) {
    if (!cf_coverage_set(&fill->coverage, &fill->video, job->regions, status))
      return false;
    cf_blend(&fill->coverage, &job->source, &(CfFiltered){colour_row, fill, false},
             &job->destination, threads);
    return true;
  }
  for (int p = 0; p < cf_format_info(fill->video.format)->planes; p++) {
    const int height = cf_plane_height(&fill->video, p);

    cf_parallel_for(threads, height, cf_even_grain(threads, height), fill_rows,
                    &(Rows){fill, &job->destination, p});
  }
  return true;
}
