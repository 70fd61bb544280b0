/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdatomic.h>
#include <string.h>

#include "cpu/common/alpha.h"
#include "cpu/common/parallel.h"
#include "cpu/pyramid/engine.h"
#include "cpu/pyramid/fixed.h"
#include "cpu/pyramid/layout.h"
#include "plan/int_math.h"

/* The coarse taps of a coarse row. */
static const CfLineTaps *low_taps(const CfCpuPyramid *pyramid, int coarse)
{
  return pyramid->y_folded ? &pyramid->y_folded[coarse] : &pyramid->y_low;
}

/* The fine row that one of these taps reads, as an index from the owner's stored_first on. */
static int made_row(const CfCpuPyramid *pyramid, int coarse, int tap)
{
  const CfPyramidAxis *axis = &pyramid->y, *made = &cf_cpu_pyramid_owner(pyramid)->y;
  const int fine =
      axis->factors.decimation2 * (coarse + axis->coarse_first) + axis->coarse_taps_first + tap;

  return pyramid->y_folded ? tap : cf_clamp(fine - made->stored_first, 0, made->stored_count - 1);
}

/* ---- Step 1: prefilter and decimate ---- */

typedef struct {
  CfCpuPyramid *pyramid;
  const CfPyramidPath *path;
  const uint8_t *source;
  ptrdiff_t source_stride;
  uint8_t *destination;
  ptrdiff_t destination_stride;
  CfRect rect;
  bool watch_alpha;
} Run;

/* Prefetches into the second-level cache: the hardware prefetcher does not follow pieces of so many
 * rows. */
static void fetch_ahead(const uint8_t *from, int bytes)
{
  for (int i = 0; i < bytes; i += CF_ALIGNMENT)
    __builtin_prefetch(from + i, 0, 2);
}

/* Loads pixels x0..x1-1 of the source rows that `rows` fine rows, from index `first` on, read.
 * False where a pixel is not opaque but has to be. */
static bool load_tile(const Run *run, const CfPyramidScratch *scratch, int first, int rows, int x0,
                      int x1)
{
  const CfCpuPyramid *pyramid = run->pyramid;
  const CfPyramidAxis *axis = &pyramid->y;
  const int step = axis->factors.decimation, pixel = pyramid->channels * pyramid->bytes;
  const int top = step * (axis->stored_first + first) + axis->prefilter_first;
  const int count = step * (rows - 1) + axis->prefilter_count;
  const CfLines *lines = run->path->lines;
  const size_t line_bytes = (CF_PYRAMID_TILE_SAMPLES + CF_LINE_GRANULE) * lines->size;

  for (int i = 0; i < count; i++) {
    const int y = cf_border_index(pyramid->border, top + i, pyramid->height);
    uint8_t *to = scratch->tile + (size_t)i * line_bytes;

    scratch->lines[i] = to;
    if (y < 0) {
      for (int x = x0; x < x1; x++)
        lines->load(&run->path->format, pyramid->border_pixel, pyramid->channels,
                    to + (size_t)(x - x0) * (size_t)pyramid->channels * lines->size);
      continue;
    }
    const uint8_t *from = run->source + y * run->source_stride + (ptrdiff_t)x0 * pixel;
    if (run->watch_alpha && !cf_pixels_are_opaque(from, run->path->format.alpha, x1 - x0))
      return false;
    lines->load(&run->path->format, from, (x1 - x0) * pyramid->channels, to);
    if (x1 < pyramid->width)
      fetch_ahead(from + (ptrdiff_t)(x1 - x0) * pixel, (x1 - x0) * pixel);
  }
  return true;
}

static bool prefilter_columns(const Run *run, const CfPyramidScratch *scratch, int first, int rows)
{
  const CfCpuPyramid *pyramid = run->pyramid;
  const CfLines *lines = run->path->lines;
  const int step = pyramid->y.factors.decimation,
            widest = CF_PYRAMID_TILE_SAMPLES / pyramid->channels;

  for (int x0 = 0; x0 < pyramid->width; x0 += widest) {
    const int x1 = cf_min(x0 + widest, pyramid->width);
    const int samples = (x1 - x0) * pyramid->channels;
    const size_t offset = (size_t)x0 * (size_t)pyramid->channels * lines->size;

    if (!load_tile(run, scratch, first, rows, x0, x1))
      return false;
    for (int i = 0; i < rows; i++) {
      uint8_t *to = scratch->rows + (size_t)i * scratch->samples * lines->size + offset;

      if (run->path->down.tap)
        lines->sum(&run->path->down, scratch->lines + i * step, cf_round_to_granule(samples), to);
      else
        memcpy(to, scratch->lines[i], (size_t)samples * lines->size);
    }
  }
  return true;
}

/* Filters a line of working samples, which is already filtered along columns, to fine samples. */
static void prefilter_row(const CfCpuPyramid *pyramid, const CfLines *lines,
                          const CfPyramidScratch *scratch, const void *line,
                          const void *border_pixel, float *to)
{
  const bool fixed = lines == &cf_lines_fixed;
  const CfRowFilter filter = {.lines = lines,
                              .step = pyramid->x.factors.decimation,
                              .channels = pyramid->channels,
                              .taps = fixed ? pyramid->x_prefilter_fixed : pyramid->x_prefilter};
  const int first = filter.step * pyramid->x.stored_first + pyramid->x.prefilter_first;
  const size_t pixel = (size_t)pyramid->channels * lines->size;
  /* Where no margin is needed, the first pixels of the line may not be needed either. */
  const uint8_t *from =
      (uint8_t *)scratch->extended + (size_t)(first + pyramid->source_margins.before) * pixel;

  cf_row_extend(line, pyramid->width, pixel, &pyramid->source_margins, border_pixel,
                scratch->extended);
  cf_row_filter(&filter, from, pyramid->x.stored_count, scratch->work,
                fixed ? (void *)scratch->rows : to);
  if (fixed)
    cf_row_to_float(lines, scratch->rows, pyramid->x.stored_count * pyramid->channels, to);
}

/* Computes fine rows. False where a pixel is not opaque but has to be. */
static bool make_fine_strip(const Run *run, int first, int rows)
{
  CfCpuPyramid *pyramid = run->pyramid;
  const CfPyramidScratch scratch = cf_cpu_pyramid_thread_scratch(pyramid);
  const CfLines *lines = run->path->lines;
  const int samples = pyramid->width * pyramid->channels;
  float border_pixel[CF_MAX_CHANNELS], working[CF_MAX_CHANNELS];

  lines->load(&run->path->format, pyramid->border_pixel, pyramid->channels, working);
  cf_row_to_float(lines, working, pyramid->channels, border_pixel);
  if (!prefilter_columns(run, &scratch, first, rows))
    return false;
  for (int i = 0; i < rows; i++) {
    cf_row_to_float(lines, scratch.rows + (size_t)i * scratch.samples * lines->size, samples,
                    scratch.line);
    prefilter_row(pyramid, &cf_lines_float, &scratch, scratch.line, border_pixel,
                  pyramid->fine + (size_t)(first + i) * pyramid->fine_stride);
  }
  return true;
}

typedef struct {
  const Run *run;
  CfPyramidRows rows;
  atomic_bool failed;
} FineRows;

static void make_fine_strips(void *context, int strip, int end)
{
  FineRows *fine = context;

  for (; strip < end; strip++) {
    const int first = fine->rows.first + strip * CF_PYRAMID_FINE_ROWS;
    if (!make_fine_strip(fine->run, first,
                         cf_min(fine->rows.last - first + 1, CF_PYRAMID_FINE_ROWS)))
      atomic_store(&fine->failed, true);
  }
}

static bool make_fine(const Run *run, CfPyramidRows rows)
{
  const int count = rows.last - rows.first + 1;
  const int strips = cf_divide_up(count, CF_PYRAMID_FINE_ROWS);
  FineRows fine = {.run = run, .rows = rows};

  cf_parallel_for(run->pyramid->threads, strips, 1, make_fine_strips, &fine);
  return !atomic_load(&fine.failed);
}

/* ---- Step 2: the coarse taps ---- */

/* Filters a line of fine samples, which is already filtered along columns, to coarse samples. */
static void filter_coarse_row(const CfCpuPyramid *pyramid, const CfPyramidScratch *scratch,
                              const float *line, float *to)
{
  const CfRowFilter filter = {.lines = &cf_lines_float,
                              .step = pyramid->x.factors.decimation2,
                              .channels = pyramid->channels,
                              .taps = pyramid->x_low};

  cf_row_extend(line, pyramid->read_count, (size_t)pyramid->channels * sizeof *line,
                &pyramid->fine_margins, NULL, scratch->extended);
  cf_row_filter(&filter, scratch->extended, pyramid->x.coarse_count, scratch->work, to);
}

/* Computes coarse row `row` and, with `both`, the row below. */
static void make_coarse_rows(const CfCpuPyramid *pyramid, int row, bool both)
{
  const CfCpuPyramid *owner = cf_cpu_pyramid_owner(pyramid);
  const int samples = cf_round_to_granule(pyramid->read_count * pyramid->channels);
  const ptrdiff_t first = (ptrdiff_t)pyramid->read_first * pyramid->channels;
  const CfPyramidScratch scratch = cf_cpu_pyramid_thread_scratch(pyramid);
  const CfLineTaps *taps = low_taps(pyramid, row);
  float *to = pyramid->coarse + (size_t)row * pyramid->coarse_stride;

  for (int t = 0; t < taps->count + both; t++)
    scratch.lines[t] = owner->fine + (size_t)made_row(pyramid, row, t) * owner->fine_stride + first;
  if (both) {
    cf_lines_float.sum_rows(taps, scratch.lines, samples,
                            (void *const[]){scratch.line, scratch.below});
    filter_coarse_row(pyramid, &scratch, scratch.below, to + pyramid->coarse_stride);
  } else if (taps->tap) {
    cf_lines_float.sum(taps, scratch.lines, samples, scratch.line);
  }
  filter_coarse_row(pyramid, &scratch, taps->tap ? scratch.line : scratch.lines[0], to);
}

typedef struct {
  const CfCpuPyramid *pyramid;
  CfPyramidRows rows;
  int step; /* rows computed at once */
} CoarseRows;

static void make_coarse_steps(void *context, int first, int end)
{
  const CoarseRows *coarse = context;

  for (int i = first; i < end; i++) {
    const int row = coarse->rows.first + i * coarse->step;

    make_coarse_rows(coarse->pyramid, row, coarse->step == 2 && row < coarse->rows.last);
  }
}

static void make_coarse(const CfCpuPyramid *pyramid, CfPyramidRows rows)
{
  /* Neighbouring rows read nearly the same lines where no fine row is skipped. */
  const int step = pyramid->y_low.tap && pyramid->y.factors.decimation2 == 1 ? 2 : 1;
  CoarseRows coarse = {.pyramid = pyramid, .rows = rows, .step = step};

  cf_parallel_for(pyramid->threads, (rows.last - rows.first) / step + 1, 4, make_coarse_steps,
                  &coarse);
}

/* ---- Step 3: interpolate ---- */

/* Samples that are computed for all rows of a strip at once: the samples that they read stay in the
 * first-level cache. Whole pixels and granules. */
#define CHUNK_SAMPLES (15 * CF_LINE_GRANULE)

/* Prefetches the next samples of a row of the result for writing, which the hardware prefetcher
 * does not foresee. */
static void fetch_result(uint8_t *to, int bytes)
{
  for (int i = 0; i < bytes; i += CF_ALIGNMENT)
    __builtin_prefetch(to + bytes + i, 1);
}

/* Interpolates a coarse row along x, in single precision or in fixed point. */
static void expand_row(const CfCpuPyramid *pyramid, const CfLines *lines,
                       const CfPyramidScratch *scratch, const float *coarse, void *to)
{
  const bool fixed = lines == &cf_lines_fixed;
  const void *from = fixed ? scratch->extended : coarse;

  if (fixed)
    cf_fixed_from_float(coarse, pyramid->x.coarse_count * pyramid->channels, scratch->extended);
  cf_row_expand(fixed ? &cf_fixed_spline : &cf_lines_float, &pyramid->x,
                fixed ? pyramid->straight.up_x : pyramid->x_spline, pyramid->channels, from, 0,
                pyramid->width, scratch->work, to);
}

/* Interpolates and stores `samples` samples of row `y` of the result; `lines` are the four rows
 * that it lies between. */
static void interpolate_row(const Run *run, int y, const void *const lines[4], ptrdiff_t offset,
                            int samples, void *result)
{
  const CfPyramidPath *path = run->path;
  const CfLineTaps *taps = &path->up_y[y % run->pyramid->y.factor];
  uint8_t *to = run->destination + y * run->destination_stride + offset;

  fetch_result(to, samples * run->pyramid->bytes);
  if (path->lines == &cf_lines_fixed) {
    cf_fixed_blend_rows(taps, (const int16_t *const *)lines, samples, to);
    return;
  }
  if (taps->tap)
    path->lines->sum(taps, lines, cf_round_to_granule(samples), result);
  path->lines->store(&path->format, taps->tap ? result : lines[0], samples,
                     run->source + y * run->source_stride + offset, to);
}

/* Interpolates rows y0..y1-1 of the result. */
static void interpolate_strip(const Run *run, int y0, int y1)
{
  const CfCpuPyramid *pyramid = run->pyramid;
  const CfLines *lines = run->path->lines;
  const CfPyramidScratch scratch = cf_cpu_pyramid_thread_scratch(pyramid);
  const size_t stride = scratch.samples * lines->size;
  const CfPyramidRows rows = cf_coarse_rows(&pyramid->y, y0, y1);
  const int channels = pyramid->channels, end = run->rect.x1 * channels;

  for (int row = rows.first; row <= rows.last; row++)
    expand_row(pyramid, lines, &scratch, pyramid->coarse + (size_t)row * pyramid->coarse_stride,
               scratch.rows + (size_t)(row - rows.first) * stride);
  for (int first = run->rect.x0 * channels; first < end; first += CHUNK_SAMPLES) {
    const int samples = cf_min(end - first, CHUNK_SAMPLES);

    for (int y = y0; y < y1; y++) {
      const int top = cf_coarse_rows(&pyramid->y, y, y + 1).first - rows.first;
      const uint8_t *row = scratch.rows + (size_t)top * stride + (size_t)first * lines->size;
      const void *const four[] = {row, row + stride, row + 2 * stride, row + 3 * stride};

      interpolate_row(run, y, four, (ptrdiff_t)first * pyramid->bytes, samples, scratch.line);
    }
  }
}

static void interpolate_strips(void *context, int first, int end)
{
  const Run *run = context;

  for (int i = first; i < end; i++) {
    const int y0 = run->rect.y0 + i * CF_PYRAMID_RESULT_ROWS;

    interpolate_strip(run, y0, cf_min(y0 + CF_PYRAMID_RESULT_ROWS, run->rect.y1));
  }
}

static void interpolate(Run *run)
{
  const int strips = cf_divide_up(run->rect.y1 - run->rect.y0, CF_PYRAMID_RESULT_ROWS);

  cf_parallel_for(run->pyramid->threads, strips, 1, interpolate_strips, run);
}

/* ---- Planes ---- */

/* The fine rows that the rows y0..y1-1 of the result depend on. */
static CfPyramidRows fine_rows(const CfCpuPyramid *pyramid, int y0, int y1)
{
  const CfPyramidRows coarse = cf_coarse_rows(&pyramid->y, y0, y1);

  return (CfPyramidRows){made_row(pyramid, coarse.first, 0),
                         made_row(pyramid, coarse.last, low_taps(pyramid, coarse.last)->count - 1)};
}

static bool run_path(Run *run)
{
  const int y0 = run->rect.y0, y1 = run->rect.y1;

  if (!make_fine(run, fine_rows(run->pyramid, y0, y1)))
    return false;
  make_coarse(run->pyramid, cf_coarse_rows(&run->pyramid->y, y0, y1));
  interpolate(run);
  return true;
}

static Run run_of(CfCpuPyramid *pyramid, const CfJob *job, CfRect rect)
{
  return (Run){.pyramid = pyramid,
               .path = &pyramid->straight,
               .source = job->source.data[pyramid->p],
               .source_stride = job->source.stride[pyramid->p],
               .destination = job->destination.data[pyramid->p],
               .destination_stride = job->destination.stride[pyramid->p],
               .rect = rect};
}

const char *cf_cpu_pyramid_run(CfCpuPyramid *pyramid, const CfJob *job, CfRect rect)
{
  Run run = run_of(pyramid, job, rect);

  run.watch_alpha = pyramid->weighted.lines != NULL;
  if (!cf_rect_is_empty(rect) && !run_path(&run)) {
    run.path = &pyramid->weighted;
    run.watch_alpha = false;
    run_path(&run);
  }
  return run.path->lines == &cf_lines_fixed ? "pyramid-fixed" : "pyramid-float";
}

/* ---- Single rows ---- */

void cf_cpu_pyramid_blur_row(const CfCpuPyramid *pyramid, const CfLines *lines,
                             const CfPyramidScratch *scratch, const void *line,
                             const void *border_pixel, void *to)
{
  prefilter_row(pyramid, lines, scratch, line, border_pixel, scratch->line);
  filter_coarse_row(pyramid, scratch,
                    scratch->line + (ptrdiff_t)pyramid->read_first * pyramid->channels,
                    scratch->below);
  expand_row(pyramid, lines, scratch, scratch->below, to);
}

/* ---- Levels of blur maps ---- */

void cf_cpu_pyramid_make_fine(CfCpuPyramid *pyramid, const CfJob *job, bool weighted, int y0,
                              int y1)
{
  Run run = run_of(pyramid, job, (CfRect){0, y0, pyramid->width, y1});

  if (weighted)
    run.path = &pyramid->weighted;
  make_fine(&run, fine_rows(pyramid, y0, y1));
}

void cf_cpu_pyramid_make_coarse(CfCpuPyramid *pyramid, int y0, int y1)
{
  make_coarse(pyramid, cf_coarse_rows(&pyramid->y, y0, y1));
}

void cf_cpu_pyramid_tile(const CfCpuPyramid *pyramid, CfRect tile, float *to, size_t stride)
{
  const CfPyramidScratch scratch = cf_cpu_pyramid_thread_scratch(pyramid);
  const CfPyramidAxis *axis = &pyramid->y;
  const CfPyramidRows rows = cf_coarse_rows(axis, tile.y0, tile.y1);
  const int width = tile.x1 - tile.x0, samples = width * pyramid->channels;
  const size_t row_floats = cf_cpu_pyramid_row_samples(pyramid, width + pyramid->x.factor);
  float *expanded = (float *)scratch.rows;

  for (int row = rows.first; row <= rows.last; row++)
    cf_row_expand(&cf_lines_float, &pyramid->x, pyramid->x_spline, pyramid->channels,
                  pyramid->coarse + (size_t)row * pyramid->coarse_stride, tile.x0, width,
                  scratch.work, expanded + (size_t)(row - rows.first) * row_floats);
  for (int y = tile.y0; y < tile.y1; y++, to += stride) {
    const int first = cf_coarse_rows(axis, y, y + 1).first - rows.first;
    const CfLineTaps *taps = &pyramid->y_spline[y % axis->factor];
    const float *row = expanded + (size_t)first * row_floats;
    const void *lines[] = {row, row + row_floats, row + 2 * row_floats, row + 3 * row_floats};

    if (taps->tap)
      cf_lines_float.sum(taps, lines, cf_round_to_granule(samples), to);
    else
      memcpy(to, row, (size_t)samples * sizeof *to);
  }
}
