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

/* Straight or weighted by alpha. */
typedef struct {
  CfCpuPyramid *down;   /* G_y of the picture */
  CfCpuPyramid *across; /* G_x of single rows */
  CfLineFormat format;  /* of what is stored */
} Way;

struct CfCpuSharpen {
  CfVideo video;
  int p, threads;
  int width, channels, bytes;
  CfFirPlane plan;
  uint8_t border_pixel[8];
  Way straight, weighted;
  bool weighted_pays;
  CfBuffer tables, scratch;
  size_t scratch_stride; /* bytes a thread */
};

/* Rows of a thread, in single precision. */
typedef struct {
  float *source, *blurred;
  CfPyramidRow row;
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

static bool prepare_way(const CfCpuSharpen *sharpen, Way *way, int bits, const CfFirPlan *plan,
                        double horizontal, double vertical, CfStatus *status)
{
  const CfPyramidFactors none = {.decimation = 1, .thinning = 1};
  CfVideo row = sharpen->video; /* no rows wait in the one that blurs single ones */
  CfPyramidFactors x, y;

  row.height = 1;
  cf_cpu_pyramid_pays(bits, false, false, horizontal, vertical, &x, &y);
  return prepare_blur(sharpen, &way->down, &sharpen->video, plan, 0.0, vertical, &none, &y,
                      status) &&
         prepare_blur(sharpen, &way->across, &row, plan, horizontal, 0.0, &x, &none, status);
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

static Scratch take_scratch(const CfCpuSharpen *sharpen, const Way *way, CfArena *arena)
{
  const int pixels = sharpen->width + way->across->x.factor;
  const size_t row = cf_cpu_pyramid_row_samples(way->down, pixels) * sizeof(float);
  Scratch scratch;

  scratch.source = cf_arena_take(arena, row);
  scratch.blurred = cf_arena_take(arena, row);
  scratch.row = cf_cpu_pyramid_take_row(way->across, arena);
  return scratch;
}

bool cf_cpu_sharpen_update(CfCpuSharpen *sharpen, const CfFirPlan *plan, double horizontal,
                           double vertical, CfStatus *status)
{
  const int bits = cf_format_info(sharpen->video.format)->bits;
  CfArena tables = {0}, scratch = {0}, weighted = {0}, placed;

  sharpen->plan = plan->plane[sharpen->p];
  sharpen->weighted_pays =
      sharpen->plan.premultiplied && cf_cpu_sharpen_pays(bits, true, horizontal, vertical);
  if (!prepare_way(sharpen, &sharpen->straight, bits, plan, horizontal, vertical, status) ||
      (sharpen->weighted_pays && !prepare_way(sharpen, &sharpen->weighted, bits_of(bits, true),
                                              plan, horizontal, vertical, status)))
    return false;
  cf_border_pixel(&sharpen->video, &sharpen->plan, sharpen->border_pixel);
  lay_out_tables(sharpen, &tables);
  take_scratch(sharpen, &sharpen->straight, &scratch);
  if (sharpen->weighted_pays)
    take_scratch(sharpen, &sharpen->weighted, &weighted);
  sharpen->scratch_stride = scratch.used > weighted.used ? scratch.used : weighted.used;
  if (!cf_buffer_reserve(&sharpen->tables, tables.used, "what sharpens", status) ||
      !cf_buffer_reserve(&sharpen->scratch, sharpen->scratch_stride * (size_t)sharpen->threads,
                         "rows to sharpen", status))
    return false;
  placed = (CfArena){.base = sharpen->tables.base};
  lay_out_tables(sharpen, &placed);
  /* The taps belong to the caller's plan. */
  sharpen->plan.row.tap = sharpen->plan.column.tap = NULL;
  return true;
}

/* Rows */

/* Row `y` of the picture blurred along columns, in `to` or where it is. */
static const float *blur_columns(const CfCpuPyramid *blur, int y, int samples, float *to)
{
  const CfPyramidAxis *axis = &blur->y;
  const int first = y / axis->factor + axis->spline_first[y % axis->factor] - axis->coarse_first;
  const float *row = blur->coarse + (size_t)first * blur->coarse_stride;
  const void *rows[] = {row, row + blur->coarse_stride, row + 2 * blur->coarse_stride,
                        row + 3 * blur->coarse_stride};

  if (axis->factor == 1)
    return row;
  cf_lines_float.sum(&blur->y_spline[y % axis->factor], rows, cf_round_to_granule(samples), to);
  return to;
}

CF_MULTIVERSION
static void sharpen_samples(const float *restrict blurred, int samples, float *restrict line)
{
  for (int i = 0; i < samples; i++)
    line[i] = 2.0f * line[i] - blurred[i];
}

/* Row `y` of the result. */
static void sharpen_row(const CfCpuSharpen *sharpen, const Way *way, const CfJob *job, CfRect rect,
                        int y, const Scratch *scratch)
{
  const int channels = sharpen->channels, all = sharpen->width * channels;
  const int first = rect.x0 * channels, samples = (rect.x1 - rect.x0) * channels;
  const ptrdiff_t offset = (ptrdiff_t)first * sharpen->bytes;
  const uint8_t *source = job->source.data[sharpen->p] + y * job->source.stride[sharpen->p];
  uint8_t *to = job->destination.data[sharpen->p] + y * job->destination.stride[sharpen->p];
  float border_pixel[CF_MAX_CHANNELS];

  cf_lines_float.load(&way->format, sharpen->border_pixel, channels, border_pixel);
  cf_lines_float.load(&way->format, source, all, scratch->source);
  sharpen_samples(blur_columns(way->down, y, all, scratch->blurred), all, scratch->source);
  cf_cpu_pyramid_blur_row(way->across, &scratch->row, scratch->source, border_pixel,
                          scratch->blurred);
  sharpen_samples(scratch->blurred + first, samples, scratch->source + first);
  cf_lines_float.store(&way->format, scratch->source + first, samples, source + offset,
                       to + offset);
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
  const Scratch scratch = take_scratch(sharpen, strips->way, &arena);

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
  cf_cpu_pyramid_make_fine(way->down, job, weighted, rect.y0, rect.y1);
  cf_cpu_pyramid_make_coarse(way->down, rect.y0, rect.y1);
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
  for (int i = 0; i < 2; i++) {
    const Way *way = i ? &sharpen->weighted : &sharpen->straight;

    cf_cpu_pyramid_close(way->down);
    cf_cpu_pyramid_close(way->across);
  }
  free(sharpen->tables.base);
  free(sharpen->scratch.base);
  free(sharpen);
}
