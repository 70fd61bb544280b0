/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cpu/pyramid/layout.h"

#include <stdlib.h>
#include <string.h>

#include "cpu/common/memory.h"
#include "cpu/common/parallel.h"
#include "cpu/fir/line_tables.h"
#include "plan/int_math.h"

/* ---- Tables ---- */

static CfLineTaps *lay_out_spline(const CfLines *lines, const CfPyramidAxis *axis, CfArena *arena)
{
  CfLineTaps *spline = cf_arena_take(arena, (size_t)axis->factor * sizeof *spline);

  for (int p = 0; p < axis->factor; p++) {
    const CfTaps taps = cf_taps(&axis->spline[4 * p], axis->spline_count, 0);
    const CfLineTaps laid_out = cf_line_taps(lines, &taps, arena);

    if (spline)
      spline[p] = laid_out;
  }
  return spline;
}

static CfPyramidPath lay_out_path(CfCpuPyramid *pyramid, const CfLines *lines, bool premultiplied,
                                  CfArena *arena)
{
  const CfTaps down = cf_taps(pyramid->y.prefilter, pyramid->y.prefilter_count, 0);
  CfPyramidPath path = {.lines = lines};

  path.down = cf_line_taps(lines, &down, arena);
  path.up_x = lay_out_spline(lines, &pyramid->x, arena);
  path.up_y = lay_out_spline(lines, &pyramid->y, arena);
  path.format = cf_line_format(&pyramid->video, pyramid->p, &pyramid->plan, premultiplied, lines,
                               (size_t)pyramid->width * (size_t)pyramid->channels, arena);
  return path;
}

/* The columns outside 0..width-1 that the fine samples read. */
static CfRowMargins lay_out_source_margins(const CfCpuPyramid *pyramid, CfArena *arena)
{
  const CfPyramidAxis *axis = &pyramid->x;
  const int first = axis->factors.decimation * axis->stored_first + axis->prefilter_first;
  const int end =
      first + axis->factors.decimation * (axis->stored_count - 1) + axis->prefilter_count;
  CfRowMargins margins = {.before = first < 0 ? -first : 0,
                          .after = end > axis->size ? end - axis->size : 0};
  int *index = cf_arena_take(arena, (size_t)(margins.before + margins.after) * sizeof *index);

  for (int i = 0; index && i < margins.before; i++)
    index[i] = cf_border_index(pyramid->border, i - margins.before, axis->size);
  for (int i = 0; index && i < margins.after; i++)
    index[margins.before + i] = cf_border_index(pyramid->border, axis->size + i, axis->size);
  margins.index = index;
  return margins;
}

/* The range of the owner's fine samples along x that this pyramid reads, and margins for samples
 * that were not computed because they equal the outermost ones. Where the owner's Gaussian is
 * larger, its samples may begin before and end after those that this pyramid reads. */
static void lay_out_fine_samples(CfCpuPyramid *pyramid, CfArena *arena)
{
  const CfPyramidAxis *axis = &pyramid->x, *made = &cf_cpu_pyramid_owner(pyramid)->x;
  const int before = made->stored_first - axis->fine_first;
  const int after = axis->fine_first + axis->fine_count - made->stored_first - made->stored_count;
  CfRowMargins margins = {.before = cf_max(before, 0), .after = cf_max(after, 0)};
  int *index = cf_arena_take(arena, (size_t)(margins.before + margins.after) * sizeof *index);

  pyramid->read_first = before < 0 ? -before : 0;
  pyramid->read_count = axis->fine_count - margins.before - margins.after;
  for (int i = 0; index && i < margins.before + margins.after; i++)
    index[i] = i < margins.before ? 0 : pyramid->read_count - 1;
  margins.index = index;
  pyramid->fine_margins = margins;
}

/* With an arena that counts, all but the pointers. */
static void lay_out_tables(CfCpuPyramid *pyramid, CfArena *arena)
{
  const CfFormatInfo *info = cf_format_info(pyramid->video.format);
  const CfPyramidAxis *x = &pyramid->x, *y = &pyramid->y;
  const CfTaps x_prefilter = cf_taps(x->prefilter, x->prefilter_count, 0);
  const CfTaps x_low = cf_taps(x->coarse_taps, x->coarse_taps_count, 0);
  const CfTaps y_low = cf_taps(y->coarse_taps, y->coarse_taps_count, 0);

  pyramid->x_prefilter = cf_line_taps(&cf_lines_float, &x_prefilter, arena);
  if (info->bits == 8)
    pyramid->x_prefilter_fixed = cf_line_taps(&cf_lines_fixed, &x_prefilter, arena);
  pyramid->x_low = cf_line_taps(&cf_lines_float, &x_low, arena);
  pyramid->y_low = cf_line_taps(&cf_lines_float, &y_low, arena);
  pyramid->y_folded = NULL;
  if (cf_cpu_pyramid_folds(pyramid))
    cf_cpu_pyramid_fold(pyramid, arena);
  pyramid->x_spline = lay_out_spline(&cf_lines_float, x, arena);
  pyramid->y_spline = lay_out_spline(&cf_lines_float, y, arena);
  pyramid->source_margins = lay_out_source_margins(pyramid, arena);
  lay_out_fine_samples(pyramid, arena);
  pyramid->straight =
      lay_out_path(pyramid, info->bits == 8 ? &cf_lines_fixed : &cf_lines_float, false, arena);
  pyramid->weighted = (CfPyramidPath){0};
  if (pyramid->plan.premultiplied)
    pyramid->weighted = lay_out_path(pyramid, &cf_lines_float, true, arena);
}

/* ---- Scratch ---- */

size_t cf_cpu_pyramid_row_samples(const CfCpuPyramid *pyramid, int pixels)
{
  return (size_t)cf_round_to_granule(pixels * pyramid->channels) + CF_LINE_GRANULE;
}

static size_t larger(size_t a, size_t b)
{
  return a > b ? a : b;
}

/* Samples of `work` for all filters along rows; `extended` is the longest row of source pixels. */
static size_t work_samples(const CfCpuPyramid *pyramid, int extended)
{
  const CfPyramidAxis *x = &pyramid->x;
  const int step = x->factors.decimation, decimation2 = x->factors.decimation2;
  const int channels = pyramid->channels;

  return larger(cf_row_work(extended + step, channels, step),
                larger(cf_row_work(x->fine_count + decimation2, channels, decimation2),
                       cf_row_work(pyramid->width, channels, x->factor)));
}

CfPyramidScratch cf_cpu_pyramid_take_scratch(const CfCpuPyramid *pyramid, CfArena *arena)
{
  const CfPyramidAxis *x = &pyramid->x, *y = &pyramid->y;
  const int extended =
      pyramid->source_margins.before + pyramid->width + pyramid->source_margins.after;
  const int source_rows = (CF_PYRAMID_FINE_ROWS - 1) * y->factors.decimation + y->prefilter_count;
  const int lines = cf_max(source_rows, cf_max(y->coarse_taps_count + 1, y->stored_count));
  const int rows = cf_max(CF_PYRAMID_FINE_ROWS, CF_PYRAMID_RESULT_ROWS / y->factor + 5);
  const int longest = cf_max(extended, x->fine_count) + CF_PYRAMID_LARGEST_STEP;
  /* Interpolation works on whole blocks of D pixels. */
  CfPyramidScratch scratch = {.samples = cf_cpu_pyramid_row_samples(
                                  pyramid, cf_max(pyramid->width + x->factor, x->fine_count))};
  const size_t row = scratch.samples * sizeof(float);

  scratch.tile = cf_arena_take(
      arena, (size_t)source_rows * (CF_PYRAMID_TILE_SAMPLES + CF_LINE_GRANULE) * sizeof(float));
  scratch.lines = cf_arena_take(arena, (size_t)lines * sizeof *scratch.lines);
  scratch.rows = cf_arena_take(arena, (size_t)rows * row);
  scratch.line = cf_arena_take(arena, row);
  scratch.below = cf_arena_take(arena, row);
  scratch.extended =
      cf_arena_take(arena, cf_cpu_pyramid_row_samples(pyramid, longest) * sizeof(float));
  scratch.work = cf_arena_take(arena, work_samples(pyramid, extended) * sizeof(float));
  return scratch;
}

CfPyramidScratch cf_cpu_pyramid_thread_scratch(const CfCpuPyramid *pyramid)
{
  const CfCpuPyramid *owner = cf_cpu_pyramid_owner(pyramid);
  CfArena arena = {.base = (uint8_t *)owner->scratch.base +
                           owner->scratch_stride * (size_t)cf_thread_index()};

  return cf_cpu_pyramid_take_scratch(pyramid, &arena);
}

/* ---- Memory ---- */

bool cf_cpu_pyramid_prepare(CfCpuPyramid *pyramid, CfStatus *status)
{
  CfArena counted = {0}, scratch = {0}, placed;

  lay_out_tables(pyramid, &counted);
  pyramid->fine_stride = cf_cpu_pyramid_row_samples(pyramid, pyramid->x.stored_count);
  pyramid->coarse_stride = cf_cpu_pyramid_row_samples(pyramid, pyramid->x.coarse_count + 1);
  cf_cpu_pyramid_take_scratch(pyramid, &scratch);
  pyramid->scratch_stride = scratch.used;

  const size_t fine = pyramid->owner ? 0 : pyramid->fine_stride * (size_t)pyramid->y.stored_count;
  const size_t coarse = pyramid->coarse_stride * (size_t)pyramid->y.coarse_count;
  const size_t slack = CF_LINE_GRANULE; /* sums of the last row may overwrite this much */
  const size_t all_scratch = pyramid->owner ? 0 : scratch.used * (size_t)pyramid->threads;
  if (!cf_buffer_reserve(&pyramid->tables, counted.used, "a pyramid's tables", status) ||
      !cf_buffer_reserve(&pyramid->images, (fine + coarse + slack) * sizeof(float), "a pyramid",
                         status) ||
      !cf_buffer_reserve(&pyramid->scratch, all_scratch, "a pyramid's rows", status))
    return false;
  placed = (CfArena){.base = pyramid->tables.base};
  lay_out_tables(pyramid, &placed);
  pyramid->fine = pyramid->images.base;
  pyramid->coarse = pyramid->fine + fine;
  return true;
}
