/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <math.h>
#include <string.h>

#include "cpu/blurmap/layout.h"
#include "cpu/common/cpu.h"
#include "cpu/common/memory.h"
#include "cpu/common/parallel.h"
#include "cpu/pyramid/rows.h"
#include "plan/int_math.h"

void cf_cpu_blurmap_note_used(const CfBlurPlane *plane, CfRect rect, CfBlurUsed *used)
{
  for (int y = rect.y0; y < rect.y1; y++) {
    const float *row = plane->position + (size_t)y * (size_t)plane->width;

    for (int x = rect.x0; x < rect.x1; x++) {
      const int level = (int)row[x];

      used->used[level] = true;
      if ((float)level < row[x])
        used->used[level + 1] = true;
    }
  }
}

/* Loads pixels x0..x1-1 of a source row (NULL: a row of the border); some may lie outside the
 * picture. */
static void load_row(const CfCpuBlurMap *blur, const CfBlurPlane *plane, const CfLineFormat *format,
                     const uint8_t *row, int x0, int x1, float *to)
{
  const int channels = plane->channels, pixel = channels * plane->bytes;
  const int inner0 = cf_max(x0, 0), inner1 = cf_min(x1, plane->width);

  if (row)
    cf_lines_float.load(format, row + (ptrdiff_t)inner0 * pixel, (inner1 - inner0) * channels,
                        to + (ptrdiff_t)(inner0 - x0) * channels);
  for (int x = x0; x < x1; x++) {
    if (row && x >= inner0 && x < inner1)
      continue;
    const int from = row ? cf_border_index((CfBorder)blur->border, x, plane->width) : -1;
    const uint8_t *source = from < 0 ? plane->border_pixel : row + (ptrdiff_t)from * pixel;
    cf_lines_float.load(format, source, channels, to + (ptrdiff_t)(x - x0) * channels);
  }
}

static void load_source(const CfCpuBlurMap *blur, const CfBlurPlane *plane,
                        const CfLineFormat *format, const CfJob *job, CfRect tile,
                        const CfBlurScratch *scratch)
{
  for (int i = 0; i < tile.y1 - tile.y0 + 2 * plane->radius_y; i++) {
    const int y =
        cf_border_index((CfBorder)blur->border, tile.y0 - plane->radius_y + i, plane->height);
    const uint8_t *row = y < 0 ? NULL : cf_row(&job->source, plane->p, y);

    load_row(blur, plane, format, row, tile.x0 - plane->radius_x, tile.x1 + plane->radius_x,
             scratch->source + (size_t)i * scratch->source_stride);
  }
}

/* Filters the loaded tile by a small level: along columns, then along rows. */
static void filter_level(const CfBlurPlane *plane, const CfBlurMapLevel *level, CfRect tile,
                         const CfBlurScratch *scratch)
{
  const int channels = plane->channels, width = tile.x1 - tile.x0;
  const int loaded = (width + 2 * plane->radius_x) * channels;
  const ptrdiff_t left = (ptrdiff_t)(plane->radius_x - level->radius_x) * channels;

  for (int i = 0; i < tile.y1 - tile.y0; i++) {
    const float *top = scratch->source + (size_t)(i + plane->radius_y) * scratch->source_stride;
    float *to = scratch->level + (size_t)i * scratch->stride;
    const float *line = top;

    if (level->column.tap) {
      for (int t = 0; t < level->column.count; t++)
        scratch->lines[t] = top + (t - level->radius_y) * (ptrdiff_t)scratch->source_stride;
      cf_lines_float.sum(&level->column, scratch->lines, cf_round_to_granule(loaded),
                         scratch->columns);
      line = scratch->columns;
    }
    if (level->row.tap) {
      for (int t = 0; t < level->row.count; t++)
        scratch->lines[t] = line + left + (ptrdiff_t)t * channels;
      cf_lines_float.sum(&level->row, scratch->lines, cf_round_to_granule(width * channels), to);
    } else {
      memcpy(to, line + (ptrdiff_t)plane->radius_x * channels,
             (size_t)(width * channels) * sizeof *to);
    }
  }
}

/* Repeats the position of each pixel for all its channels, so that the blend is one loop over
 * samples. */
INLINE void spread_pixels(const int channels, const float *position, int width,
                          float *restrict samples)
{
  for (int x = 0; x < width; x++) {
    for (int c = 0; c < channels; c++)
      samples[x * channels + c] = position[x];
  }
}

CF_MULTIVERSION
static void spread(const float *position, int width, int channels, float *samples)
{
  CF_FOR_CHANNELS(channels, spread_pixels, position, width, samples);
}

static void spread_positions(const CfBlurPlane *plane, CfRect tile, const CfBlurScratch *scratch)
{
  for (int y = tile.y0; y < tile.y1; y++)
    spread(plane->position + (size_t)y * (size_t)plane->width + tile.x0, tile.x1 - tile.x0,
           plane->channels, scratch->position + (size_t)(y - tile.y0) * scratch->stride);
}

/* Adds a level, with the weight 1 at the level, falling to 0 at its neighbours. */
CF_MULTIVERSION
static void blend_line(const float *restrict position, float level, const float *restrict line,
                       int samples, float *restrict blend)
{
  for (int i = 0; i < samples; i++) {
    const float weight = 1.0f - fabsf(position[i] - level);

    blend[i] += (weight > 0.0f ? weight : 0.0f) * line[i];
  }
}

static void blend_level(const CfBlurPlane *plane, int level, CfRect tile,
                        const CfBlurScratch *scratch)
{
  for (int i = 0; i < tile.y1 - tile.y0; i++) {
    const size_t row = (size_t)i * scratch->stride;

    blend_line(scratch->position + row, (float)level, scratch->level + row,
               (tile.x1 - tile.x0) * plane->channels, scratch->blend + row);
  }
}

static bool is_copy(const CfBlurPlane *plane, int level)
{
  return !plane->level[level].large && !plane->level[level].row.tap &&
         !plane->level[level].column.tap;
}

/* Copies pixels exactly at a level that copies, bit for bit: keeps colours that alpha hides. */
static void restore_copies(const CfBlurPlane *plane, int level, const float *position, int width,
                           const uint8_t *source, uint8_t *to)
{
  const size_t pixel = (size_t)(plane->channels * plane->bytes);

  for (int x = 0; x < width; x++) {
    if (position[x] == (float)level)
      memcpy(to + (size_t)x * pixel, source + (size_t)x * pixel, pixel);
  }
}

static void store_tile(const CfBlurPlane *plane, const CfLineFormat *format, const CfJob *job,
                       CfRect tile, const float *blend, size_t stride, int copy)
{
  const int width = tile.x1 - tile.x0;
  const ptrdiff_t offset = (ptrdiff_t)tile.x0 * plane->channels * plane->bytes;

  for (int y = tile.y0; y < tile.y1; y++, blend += stride) {
    const uint8_t *source = cf_row(&job->source, plane->p, y) + offset;
    uint8_t *to = cf_row(&job->destination, plane->p, y) + offset;

    cf_lines_float.store(format, blend, width * plane->channels, source, to);
    if (copy >= 0)
      restore_copies(plane, copy, plane->position + (size_t)y * (size_t)plane->width + tile.x0,
                     width, source, to);
  }
}

static void copy_tile(const CfBlurPlane *plane, const CfJob *job, CfRect tile)
{
  const ptrdiff_t pixel = plane->channels * plane->bytes;

  for (int y = tile.y0; y < tile.y1; y++)
    memcpy(cf_row(&job->destination, plane->p, y) + tile.x0 * pixel,
           cf_row(&job->source, plane->p, y) + tile.x0 * pixel,
           (size_t)((tile.x1 - tile.x0) * pixel));
}

void cf_cpu_blurmap_tile(const CfCpuBlurMap *blur, const CfBlurPlane *plane,
                         const CfLineFormat *format, const CfJob *job, CfRect tile)
{
  CfArena arena = {.base = (uint8_t *)blur->scratch.base +
                           blur->scratch_stride * (size_t)cf_thread_index()};
  const CfBlurScratch scratch = cf_cpu_blurmap_take_scratch(plane, &arena);
  CfBlurUsed used = {{false}};
  int count = 0, copy = -1;
  bool loaded = false;

  cf_cpu_blurmap_note_used(plane, tile, &used);
  for (int i = 0; i < plane->levels.count; i++) {
    count += used.used[i];
    if (used.used[i] && is_copy(plane, i))
      copy = i;
  }
  if (count == 1 && copy >= 0) {
    copy_tile(plane, job, tile);
    return;
  }
  if (count > 1) {
    memset(scratch.blend, 0, CF_BLUR_TILE_HEIGHT * scratch.stride * sizeof *scratch.blend);
    spread_positions(plane, tile, &scratch);
  }
  for (int i = 0; i < plane->levels.count; i++) {
    if (!used.used[i])
      continue;
    if (plane->level[i].large) {
      cf_cpu_pyramid_tile(plane->level[i].pyramid, tile, scratch.level, scratch.stride);
    } else {
      if (!loaded)
        load_source(blur, plane, format, job, tile, &scratch);
      loaded = true;
      filter_level(plane, &plane->level[i], tile, &scratch);
    }
    if (count > 1)
      blend_level(plane, i, tile, &scratch);
  }
  store_tile(plane, format, job, tile, count > 1 ? scratch.blend : scratch.level, scratch.stride,
             copy);
}
