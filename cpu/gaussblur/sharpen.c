/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cpu/gaussblur/sharpen.h"

#include <math.h>
#include <stdlib.h>

#include "cpu/common/alpha.h"
#include "cpu/common/cpu.h"
#include "cpu/common/memory.h"
#include "cpu/common/parallel.h"
#include "cpu/pyramid/fixed.h"
#include "cpu/pyramid/layout.h"
#include "plan/int_math.h"

/* Rows of the result that a thread computes at once. */
#define STRIP_ROWS 32

/* Where alpha comes close to 0, quotients of sharpened colours and alpha amplify the pyramid's
 * error: pyramids of planes that are not opaque are as accurate as for this many bits. */
#define WEIGHTED_BITS 16

/* The pyramids for samples as they are, or weighted by alpha. */
typedef struct {
  CfCpuPyramid *down;   /* blurs columns of the picture: G_y */
  CfCpuPyramid *across; /* blurs single rows: G_x */
} Blurs;

struct CfCpuSharpen {
  CfVideo video;
  int p, threads;
  Blurs straight, weighted;
  bool premultiplied, weighted_pays;
  CfBuffer scratch;
  size_t scratch_stride; /* bytes per thread */
};

/* Rows of one thread: in fixed point for 8 bits without weights, else in single precision. */
typedef struct {
  void *source, *along_x, *along_y;
  int16_t *rows; /* the coarse rows that a strip lies between */
  size_t stride; /* of all rows, in samples */
  CfPyramidScratch row;
} Scratch;

/* ---- Preparing ---- */

static int bits_of(int bits, bool weighted)
{
  return weighted ? WEIGHTED_BITS : bits;
}

/* From this sigma on D is at least 4 for 8 and 10 bits: three pyramids with D = 2 are slower than
 * taps. */
static double smallest_sigma(int bits)
{
  return bits > 8 ? 12.0 : 8.0;
}

bool cf_cpu_sharpen_pays(int bits, bool weighted, double horizontal, double vertical)
{
  CfPyramidFactors x, y;

  return fmax(horizontal, vertical) >= smallest_sigma(bits) &&
         cf_cpu_pyramid_pays(bits_of(bits, weighted), false, false, horizontal, vertical, &x, &y);
}

static bool prepare_blur(const CfCpuSharpen *sharpen, CfCpuPyramid **blur, const CfVideo *video,
                         const CfFirPlan *plan, double horizontal, double vertical,
                         const CfPyramidFactors *x, const CfPyramidFactors *y, CfStatus *status)
{
  if (!*blur)
    *blur = cf_cpu_pyramid_open(video, sharpen->p, sharpen->threads, status);
  if (!*blur)
    return false;
  cf_cpu_pyramid_allow_folding(*blur);
  return cf_cpu_pyramid_update(*blur, plan, horizontal, vertical, x, y, NULL, status);
}

static bool prepare_blurs(const CfCpuSharpen *sharpen, Blurs *blurs, int bits,
                          const CfFirPlan *plan, double horizontal, double vertical,
                          CfStatus *status)
{
  const CfPyramidFactors none = {.decimation = 1, .decimation2 = 1};
  CfVideo row = sharpen->video; /* height 1: the pyramid of single rows keeps no picture */
  CfPyramidFactors x, y;

  row.height = 1;
  cf_cpu_pyramid_pays(bits, false, false, horizontal, vertical, &x, &y);
  return prepare_blur(sharpen, &blurs->down, &sharpen->video, plan, 0.0, vertical, &none, &y,
                      status) &&
         prepare_blur(sharpen, &blurs->across, &row, plan, horizontal, 0.0, &x, &none, status);
}

static Scratch take_scratch(const Blurs *blurs, CfArena *arena)
{
  const CfCpuPyramid *down = blurs->down;
  Scratch scratch = {.stride =
                         cf_cpu_pyramid_row_samples(down, down->width + blurs->across->x.factor)};
  const size_t row = scratch.stride * sizeof(float);

  scratch.source = cf_arena_take(arena, row);
  scratch.along_x = cf_arena_take(arena, row);
  scratch.along_y = cf_arena_take(arena, row);
  scratch.rows = cf_arena_take(arena, (size_t)(STRIP_ROWS / down->y.factor + 5) * scratch.stride *
                                          sizeof *scratch.rows);
  scratch.row = cf_cpu_pyramid_take_scratch(blurs->across, arena);
  return scratch;
}

bool cf_cpu_sharpen_update(CfCpuSharpen *sharpen, const CfFirPlan *plan, double horizontal,
                           double vertical, CfStatus *status)
{
  const int bits = cf_format_info(sharpen->video.format)->bits;
  CfArena straight = {0}, weighted = {0};

  sharpen->premultiplied = plan->plane[sharpen->p].premultiplied;
  sharpen->weighted_pays =
      sharpen->premultiplied && cf_cpu_sharpen_pays(bits, true, horizontal, vertical);
  if (!prepare_blurs(sharpen, &sharpen->straight, bits, plan, horizontal, vertical, status) ||
      (sharpen->weighted_pays && !prepare_blurs(sharpen, &sharpen->weighted, bits_of(bits, true),
                                                plan, horizontal, vertical, status)))
    return false;
  take_scratch(&sharpen->straight, &straight);
  if (sharpen->weighted_pays)
    take_scratch(&sharpen->weighted, &weighted);
  sharpen->scratch_stride = straight.used > weighted.used ? straight.used : weighted.used;
  return cf_buffer_reserve(&sharpen->scratch, sharpen->scratch_stride * (size_t)sharpen->threads,
                           "rows to sharpen", status);
}

/* ---- Rows ---- */

/* Row `y` of the picture, blurred along columns: in `to`, or where it lies already. */
static const float *blur_columns(const CfCpuPyramid *blur, int y, int samples, float *to)
{
  const size_t first = (size_t)cf_coarse_rows(&blur->y, y, y + 1).first;
  const float *row = blur->coarse + first * blur->coarse_stride;
  const void *rows[] = {row, row + blur->coarse_stride, row + 2 * blur->coarse_stride,
                        row + 3 * blur->coarse_stride};

  if (blur->y.factor == 1)
    return row;
  cf_lines_float.sum(&blur->y_spline[y % blur->y.factor], rows, cf_round_to_granule(samples), to);
  return to;
}

CF_MULTIVERSION
static void sharpen_samples(const float *restrict blurred, int samples, float *restrict line)
{
  for (int i = 0; i < samples; i++)
    line[i] = 2.0f * line[i] - blurred[i];
}

/* The loop over strips of rows of a plane. */
typedef struct {
  const CfCpuSharpen *sharpen;
  const Blurs *blurs;
  const CfJob *job;
  CfRect rect;
  const CfLineFormat *format; /* NULL: fixed point */
  int all, first, count;      /* in a row: all samples, and the range inside `rect` */
} Strips;

static uint8_t *result_row(const Strips *strips, int y)
{
  return cf_row(&strips->job->destination, strips->sharpen->p, y) +
         (ptrdiff_t)strips->first * strips->blurs->down->bytes;
}

static void sharpen_row(const Strips *strips, int y, const Scratch *scratch)
{
  const CfCpuPyramid *down = strips->blurs->down;
  const uint8_t *source = cf_row(&strips->job->source, strips->sharpen->p, y);
  const int first = strips->first;
  float border_pixel[CF_MAX_CHANNELS], *line = scratch->source, *along_x = scratch->along_x;

  cf_lines_float.load(strips->format, down->border_pixel, down->channels, border_pixel);
  cf_lines_float.load(strips->format, source, strips->all, line);
  sharpen_samples(blur_columns(down, y, strips->all, scratch->along_y), strips->all, line);
  cf_cpu_pyramid_blur_row(strips->blurs->across, &cf_lines_float, &scratch->row, line, border_pixel,
                          along_x);
  sharpen_samples(along_x + first, strips->count, line + first);
  cf_lines_float.store(strips->format, line + first, strips->count,
                       source + (ptrdiff_t)first * down->bytes, result_row(strips, y));
}

/* Sharpens row `y` in fixed point; `row` is the first of the four coarse rows around it. */
static void sharpen_fixed_row(const Strips *strips, int y, const int16_t *row,
                              const Scratch *scratch)
{
  const CfCpuPyramid *down = strips->blurs->down;
  const int16_t *const rows[] = {row, row + scratch->stride, row + 2 * scratch->stride,
                                 row + 3 * scratch->stride};
  const uint8_t *source = cf_row(&strips->job->source, strips->sharpen->p, y);
  const int first = strips->first;
  int16_t border_pixel[CF_MAX_CHANNELS], *along_x = scratch->along_x, *along_y = scratch->along_y;

  for (int c = 0; c < down->channels; c++)
    border_pixel[c] =
        (int16_t)((down->border_pixel[c] - 2 * CF_FIXED_MIDDLE) * (1 << CF_FIXED_BITS) / 2);
  cf_fixed_sum_rows(&down->straight.up_y[y % down->y.factor], rows, strips->all, along_y);
  cf_fixed_less_half(source, along_y, strips->all, scratch->source);
  cf_cpu_pyramid_blur_row(strips->blurs->across, &cf_lines_fixed, &scratch->row, scratch->source,
                          border_pixel, along_x);
  cf_fixed_sharpen(source + first, along_y + first, along_x + first, strips->count,
                   result_row(strips, y));
}

static void sharpen_fixed_rows(const Strips *strips, int y0, int y1, const Scratch *scratch)
{
  const CfCpuPyramid *down = strips->blurs->down;
  const CfPyramidRows rows = cf_coarse_rows(&down->y, y0, y1);

  for (int row = rows.first; row <= rows.last; row++)
    cf_fixed_from_float(down->coarse + (size_t)row * down->coarse_stride, strips->all,
                        scratch->rows + (size_t)(row - rows.first) * scratch->stride);
  for (int y = y0; y < y1; y++) {
    const int row = cf_coarse_rows(&down->y, y, y + 1).first - rows.first;

    sharpen_fixed_row(strips, y, scratch->rows + (size_t)row * scratch->stride, scratch);
  }
}

/* ---- Planes ---- */

static void sharpen_strips(void *context, int strip, int end)
{
  const Strips *strips = context;
  const CfCpuSharpen *sharpen = strips->sharpen;
  CfArena arena = {.base = (uint8_t *)sharpen->scratch.base +
                           sharpen->scratch_stride * (size_t)cf_thread_index()};
  const Scratch scratch = take_scratch(strips->blurs, &arena);

  for (; strip < end; strip++) {
    const int y0 = strips->rect.y0 + strip * STRIP_ROWS;
    const int y1 = cf_min(y0 + STRIP_ROWS, strips->rect.y1);

    if (!strips->format)
      sharpen_fixed_rows(strips, y0, y1, &scratch);
    for (int y = y0; y < y1 && strips->format; y++)
      sharpen_row(strips, y, &scratch);
  }
}

const char *cf_cpu_sharpen_run(CfCpuSharpen *sharpen, const CfJob *job, CfRect rect)
{
  const bool weighted =
      sharpen->premultiplied && !cf_plane_is_opaque(&sharpen->video, sharpen->p, &job->source);
  const Blurs *blurs = weighted ? &sharpen->weighted : &sharpen->straight;

  if (cf_rect_is_empty(rect))
    return "none";
  if (weighted && !sharpen->weighted_pays)
    return NULL;

  const CfCpuPyramid *down = blurs->down;
  const CfPyramidPath *samples = weighted ? &down->weighted : &down->straight;
  Strips strips = {.sharpen = sharpen,
                   .blurs = blurs,
                   .job = job,
                   .rect = rect,
                   .format = samples->lines == &cf_lines_fixed ? NULL : &samples->format,
                   .all = down->width * down->channels,
                   .first = rect.x0 * down->channels,
                   .count = (rect.x1 - rect.x0) * down->channels};

  cf_cpu_pyramid_make_fine(blurs->down, job, weighted, rect.y0, rect.y1);
  cf_cpu_pyramid_make_coarse(blurs->down, rect.y0, rect.y1);
  cf_parallel_for(sharpen->threads, cf_divide_up(rect.y1 - rect.y0, STRIP_ROWS), 1, sharpen_strips,
                  &strips);
  return strips.format ? "pyramid-float" : "pyramid-fixed";
}

/* ---- State ---- */

CfCpuSharpen *cf_cpu_sharpen_open(const CfVideo *video, int plane, int threads, CfStatus *status)
{
  CfCpuSharpen *sharpen = cf_zeroed(sizeof *sharpen, status);

  if (!sharpen)
    return NULL;
  sharpen->video = *video;
  sharpen->p = plane;
  sharpen->threads = threads;
  return sharpen;
}

void cf_cpu_sharpen_close(CfCpuSharpen *sharpen)
{
  if (!sharpen)
    return;
  for (int i = 0; i < 2; i++) {
    const Blurs *blurs = i ? &sharpen->weighted : &sharpen->straight;

    cf_cpu_pyramid_close(blurs->down);
    cf_cpu_pyramid_close(blurs->across);
  }
  free(sharpen->scratch.base);
  free(sharpen);
}
