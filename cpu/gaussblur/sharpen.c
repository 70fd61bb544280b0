/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cpu/gaussblur/sharpen.h"

#include <math.h>
#include <stdlib.h>

#include "cpu/common/cpu.h"
#include "cpu/common/int_math.h"
#include "cpu/common/memory.h"
#include "cpu/fir/unpack.h"
#include "cpu/common/parallel.h"
#include "cpu/pyramid/layout.h"

/* Rows that a thread makes at a time. */
#define STRIP_ROWS 16

/* Quotients of sharpened colours and alpha show what pyramids lack where alpha comes close to 0:
 * those of non-opaque planes are as accurate as for so many bits. */
#define WEIGHTED_BITS 16

enum { ALONG_X, ALONG_Y, ALONG_BOTH, BLURS };

/* The three blurs, straight or weighted by alpha. */
typedef struct {
  CfCpuPyramid *blur[BLURS];
  CfLineFormat format; /* of what is stored */
} Way;

struct CfCpuSharpen {
  CfVideo video;
  int p, threads;
  int width, channels, bytes;
  CfFirPlane plan;
  Way straight, weighted;
  bool weighted_pays;
  CfBuffer tables, scratch;
  size_t scratch_stride; /* bytes a thread */
};

/* Rows of a thread, in single precision. */
typedef struct {
  float *coarse, *along_x, *along_y, *source;
  float *work;
} Scratch;

/* Preparing */

static int bits_of(int bits, bool weighted)
{
  return weighted ? WEIGHTED_BITS : bits;
}

/* Where D is 4 in 8 and 10 bits: three pyramids with D = 2 take longer than the taps. */
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

static bool prepare_blurs(CfCpuSharpen *sharpen, Way *way, int bits, const CfFirPlan *plan,
                          double horizontal, double vertical, CfStatus *status)
{
  const CfPyramidFactors none = {.decimation = 1, .thinning = 1};
  CfPyramidFactors x, y;
  bool good = true;

  cf_cpu_pyramid_pays(bits, false, false, horizontal, vertical, &x, &y);
  for (int i = 0; good && i < BLURS; i++) {
    const bool across = i != ALONG_Y, down = i != ALONG_X;

    if (!way->blur[i])
      way->blur[i] = cf_cpu_pyramid_open(&sharpen->video, sharpen->p, sharpen->threads, status);
    if (way->blur[i])
      cf_cpu_pyramid_allow_folding(way->blur[i]);
    good = way->blur[i] && cf_cpu_pyramid_update(way->blur[i], plan, across ? horizontal : 0.0,
                                                 down ? vertical : 0.0, across ? &x : &none,
                                                 down ? &y : &none, NULL, status);
  }
  return good;
}

static void lay_out_tables(CfCpuSharpen *sharpen, CfArena *arena)
{
  const size_t samples = (size_t)sharpen->width * (size_t)sharpen->channels;

  sharpen->straight.format = cf_line_format(&sharpen->video, sharpen->p, &sharpen->plan, false,
                                            &cf_lines_float, samples, arena);
  if (sharpen->weighted_pays)
    sharpen->weighted.format = cf_line_format(&sharpen->video, sharpen->p, &sharpen->plan, true,
                                              &cf_lines_float, samples, arena);
}

static Scratch take_scratch(const CfCpuSharpen *sharpen, CfArena *arena)
{
  const CfCpuPyramid *blur = sharpen->straight.blur[ALONG_X];
  const CfCpuPyramid *weighted = sharpen->weighted_pays ? sharpen->weighted.blur[ALONG_X] : blur;
  const int factor = cf_max(blur->x.factor, weighted->x.factor);
  const int coarse = cf_max(blur->x.coarse_count, weighted->x.coarse_count);
  const size_t row = cf_cpu_pyramid_row_samples(blur, sharpen->width + factor) * sizeof(float);
  const size_t work = cf_row_work(sharpen->width, sharpen->channels, factor);
  Scratch scratch;

  scratch.coarse = cf_arena_take(arena, cf_cpu_pyramid_row_samples(blur, coarse) * sizeof(float));
  scratch.along_x = cf_arena_take(arena, row);
  scratch.along_y = cf_arena_take(arena, row);
  scratch.source = cf_arena_take(arena, row);
  scratch.work = cf_arena_take(arena, work * sizeof(float));
  return scratch;
}

bool cf_cpu_sharpen_update(CfCpuSharpen *sharpen, const CfFirPlan *plan, double horizontal,
                           double vertical, CfStatus *status)
{
  const int bits = cf_format_info(sharpen->video.format)->bits;
  CfArena tables = {0}, scratch = {0}, placed;

  sharpen->plan = plan->plane[sharpen->p];
  sharpen->weighted_pays =
      sharpen->plan.premultiplied && cf_cpu_sharpen_pays(bits, true, horizontal, vertical);
  if (!prepare_blurs(sharpen, &sharpen->straight, bits, plan, horizontal, vertical, status) ||
      (sharpen->weighted_pays && !prepare_blurs(sharpen, &sharpen->weighted, bits_of(bits, true),
                                                plan, horizontal, vertical, status)))
    return false;
  lay_out_tables(sharpen, &tables);
  take_scratch(sharpen, &scratch);
  sharpen->scratch_stride = scratch.used;
  if (!cf_buffer_reserve(&sharpen->tables, tables.used, "what sharpens", status) ||
      !cf_buffer_reserve(&sharpen->scratch, scratch.used * (size_t)sharpen->threads,
                         "rows to sharpen", status))
    return false;
  placed = (CfArena){.base = sharpen->tables.base};
  lay_out_tables(sharpen, &placed);
  /* The taps belong to the caller's plan. */
  sharpen->plan.row.tap = sharpen->plan.column.tap = NULL;
  return true;
}

/* Rows */

/* The four coarse rows that row `y` of the result lies between; without decimation one. */
static void find_rows(const CfCpuPyramid *blur, int y, const void *rows[4])
{
  const CfPyramidAxis *axis = &blur->y;
  const int first = y / axis->factor + axis->spline_first[y % axis->factor] - axis->coarse_first;

  for (int k = 0; k < 4; k++)
    rows[k] =
        blur->coarse + (size_t)(k < axis->spline_count ? first + k : first) * blur->coarse_stride;
}

/* Row `y` interpolated along columns. */
static const float *interpolate_columns(const CfCpuPyramid *blur, int y, int samples, float *to)
{
  const CfLineTaps *taps = &blur->y_spline[y % blur->y.factor];
  const void *rows[4];

  find_rows(blur, y, rows);
  if (!taps->tap)
    return rows[0];
  cf_lines_float.sum(taps, rows, cf_round_to_granule(samples), to);
  return to;
}

CF_MULTIVERSION
static void subtract_twice(const float *restrict both, const float *restrict along_x, int samples,
                           float *restrict to)
{
  for (int i = 0; i < samples; i++)
    to[i] = both[i] - 2.0f * along_x[i];
}

CF_MULTIVERSION
static void add_up(const float *restrict rest, const float *restrict along_y, int samples,
                   float *restrict source)
{
  for (int i = 0; i < samples; i++)
    source[i] = 4.0f * source[i] - 2.0f * along_y[i] + rest[i];
}

/* Row `y` of the result: what is interpolated along rows is added up before. */
static void sharpen_row(const CfCpuSharpen *sharpen, const Way *way, const CfJob *job, CfRect rect,
                        int y, const Scratch *scratch)
{
  const CfCpuPyramid *const *blur = (const CfCpuPyramid *const *)way->blur;
  const CfPyramidAxis *x = &blur[ALONG_X]->x;
  const int channels = sharpen->channels, first = rect.x0 * channels;
  const int samples = (rect.x1 - rect.x0) * channels, coarse = x->coarse_count * channels;
  const ptrdiff_t offset = (ptrdiff_t)first * sharpen->bytes;
  const uint8_t *source =
      job->source.data[sharpen->p] + y * job->source.stride[sharpen->p] + offset;
  uint8_t *destination =
      job->destination.data[sharpen->p] + y * job->destination.stride[sharpen->p] + offset;
  const void *along_x[4];

  find_rows(blur[ALONG_X], y, along_x);
  subtract_twice(interpolate_columns(blur[ALONG_BOTH], y, coarse, scratch->coarse), along_x[0],
                 coarse, scratch->coarse);
  cf_row_expand(x, blur[ALONG_X]->x_spline, channels, scratch->coarse, 0, sharpen->width,
                scratch->work, scratch->along_x);

  const float *along_y =
      interpolate_columns(blur[ALONG_Y], y, sharpen->width * channels, scratch->along_y);
  along_y -= (ptrdiff_t)blur[ALONG_Y]->x.coarse_first * channels;
  cf_lines_float.load(&way->format, source, samples, scratch->source);
  add_up(scratch->along_x + first, along_y + first, samples, scratch->source);
  cf_lines_float.store(&way->format, scratch->source, samples, source, destination);
}

/* Planes */

typedef struct {
  CfCpuSharpen *sharpen;
  const Way *way;
  const CfJob *job;
  CfRect rect;
} Strips;

static void sharpen_strips(void *context, int strip, int end)
{
  const Strips *strips = context;
  CfCpuSharpen *sharpen = strips->sharpen;
  const int y0 = strips->rect.y0 + strip * STRIP_ROWS, y1 = strips->rect.y0 + end * STRIP_ROWS;
  CfArena arena = {.base = (uint8_t *)sharpen->scratch.base +
                           sharpen->scratch_stride * (size_t)cf_thread_index()};
  const Scratch scratch = take_scratch(sharpen, &arena);

  for (int y = y0; y < y1 && y < strips->rect.y1; y++)
    sharpen_row(sharpen, strips->way, strips->job, strips->rect, y, &scratch);
}

const char *cf_cpu_sharpen_run(CfCpuSharpen *sharpen, const CfJob *job, CfRect rect)
{
  const bool weighted =
      sharpen->plan.premultiplied && !cf_plane_is_opaque(&sharpen->video, sharpen->p, &job->source);
  const Way *way = weighted ? &sharpen->weighted : &sharpen->straight;
  const int strips = (rect.y1 - rect.y0 + STRIP_ROWS - 1) / STRIP_ROWS;

  if (cf_rect_is_empty(rect))
    return "none";
  if (weighted && !sharpen->weighted_pays)
    return NULL;
  for (int i = 0; i < BLURS; i++) {
    cf_cpu_pyramid_make_fine(way->blur[i], job, weighted, rect.y0, rect.y1);
    cf_cpu_pyramid_make_coarse(way->blur[i], rect.y0, rect.y1);
  }
  cf_parallel_for(sharpen->threads, strips, 1, sharpen_strips, &(Strips){sharpen, way, job, rect});
  return "pyramid-float";
}

/* State */

CfCpuSharpen *cf_cpu_sharpen_open(const CfVideo *video, int plane, int threads, CfStatus *status)
{
  const CfFormatInfo *info = cf_format_info(video->format);
  CfCpuSharpen *sharpen = calloc(1, sizeof *sharpen);

  if (!sharpen) {
    cf_fail(status, CF_ERROR_NO_MEMORY, "no memory to sharpen by pyramids");
    return NULL;
  }
  sharpen->video = *video;
  sharpen->p = plane;
  sharpen->threads = threads;
  sharpen->width = cf_plane_width(video, plane);
  sharpen->channels = info->plane[plane].channels;
  sharpen->bytes = cf_sample_bytes(info);
  return sharpen;
}

void cf_cpu_sharpen_close(CfCpuSharpen *sharpen)
{
  if (!sharpen)
    return;
  for (int i = 0; i < BLURS; i++) {
    cf_cpu_pyramid_close(sharpen->straight.blur[i]);
    cf_cpu_pyramid_close(sharpen->weighted.blur[i]);
  }
  free(sharpen->tables.base);
  free(sharpen->scratch.base);
  free(sharpen);
}
