/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cpu/blurmap/isolate.h"

#include <math.h>
#include <stdlib.h>

#include "cpu/common/memory.h"
#include "cpu/common/parallel.h"
#include "cpu/common/samples.h"
#include "plan/gaussian.h"

/* Samples up to this sigma gather by their own Gaussian; in gaps those up to GAP_SIGMA. */
#define SMALL_SIGMA   1.0f
#define GAP_SIGMA     12.0f
#define LARGEST_REACH 48 /* radius of a Gaussian of GAP_SIGMA */

/* A sample lies in a gap between sharp samples, as between hairs, where the blurred map is less
 * than 1 / GAP of its own map value: only the tails of its Gaussian reach other samples. */
#define GAP 16

/* 16-bit planes, row by row, each as large as the picture. */
typedef struct {
  uint16_t *map;             /* 0..CF_MAP_ONE */
  uint16_t *product;         /* map times the channel, as a share of its largest code */
  uint16_t *blurred;         /* the product, blurred */
  uint16_t *weights, *alpha; /* the map alone and the map times alpha, blurred */
} Planes;

struct CfCpuIsolate {
  CfVideo video;
  int threads;
  CfCpuBlurMap *blur[CF_MAX_PLANES]; /* for each plane, as a picture of 16-bit grey */
  void *memory;
  float *row; /* one row of map values per thread */
  Planes planes;
};

/* The work on one plane of a job. */
typedef struct {
  CfCpuIsolate *isolate;
  const CfBlurRows *rows;
  const CfPlaneFormat *info;
  CfSamples source, destination;
  int p, width, height;
  int alpha;   /* channel that weights the others, or -1 */
  int channel; /* current channel; -1: the map alone */
  CfMapSigmas sigmas;
  CfRect rect;
} Work;

static float max_code(const Work *work)
{
  return (float)cf_max_code(work->source.format);
}

static float sample_at(const Work *work, int x, int y, int channel)
{
  return (float)cf_sample_load(&work->source, x, y, channel);
}

/* Whether the current channel is weighted by alpha. */
static bool is_weighted(const Work *work)
{
  return work->alpha >= 0 && work->channel != work->alpha;
}

static void read_map(void *context, int first, int end)
{
  const Work *work = context;
  float *row = work->isolate->row + (size_t)cf_thread_index() * (size_t)work->isolate->video.width;

  for (int y = first; y < end; y++) {
    uint16_t *map = work->isolate->planes.map + (size_t)y * (size_t)work->width;

    cf_blur_row(work->rows, work->p, y, row);
    for (int x = 0; x < work->width; x++)
      map[x] = (uint16_t)(row[x] * (float)CF_MAP_ONE + 0.5f);
  }
}

/* Writes the products of map and current channel; colours beside alpha are also multiplied by
 * alpha. */
static void multiply(void *context, int first, int end)
{
  const Work *work = context;
  const float share = 1.0f / max_code(work);
  const bool weighted = is_weighted(work);

  for (int y = first; y < end; y++) {
    const size_t at = (size_t)y * (size_t)work->width;
    const uint16_t *map = work->isolate->planes.map + at;
    uint16_t *product = work->isolate->planes.product + at;

    for (int x = 0; x < work->width; x++) {
      float value = (float)map[x] * share * sample_at(work, x, y, work->channel);

      value *= weighted ? share * sample_at(work, x, y, work->alpha) : 1.0f;
      product[x] = (uint16_t)(value + 0.5f);
    }
  }
}

static void over_rows(Work *work, CfLoopBody body, int count)
{
  cf_parallel_evenly(work->isolate->threads, count, body, work);
}

/* Blurs `from`, the map or a product, by the map. `changed`: the map differs from that of the last
 * call. */
static bool blur(const Work *work, const uint16_t *from, uint16_t *to, bool changed,
                 CfStatus *status)
{
  const ptrdiff_t stride = 2 * (ptrdiff_t)work->width;
  /* The mode only says that the field does not change from call to call; `values` replaces it. */
  const CfBlurField field = {.video = cf_video(CF_FORMAT_GRAY16_LE, work->width, work->height),
                             .params = {.sigma = work->sigmas.horizontal[1],
                                        .sigma_vertical = work->sigmas.vertical[1],
                                        .border = work->rows->field->params.border,
                                        .map_mode = CF_MAP_RADIAL}};
  const CfJob job = {.source = {{(uint8_t *)(uintptr_t)from}, {stride}},
                     .destination = {{(uint8_t *)to}, {stride}}};
  const CfRect rects[CF_MAX_PLANES] = {work->rect};
  const CfBlurRows rows = {.field = &field, .job = &job, .values = work->isolate->planes.map};

  return cf_cpu_blurmap_run(work->isolate->blur[work->p], &rows, changed, rects, status);
}

/* ---- Samples for which levels do not suffice ---- */

/* Half of a Gaussian: taps at the distances 0..radius, not normalised. */
typedef struct {
  int radius;
  float tap[LARGEST_REACH + 1];
} Gaussian;

static Gaussian gaussian(float sigma)
{
  Gaussian result = {.radius = cf_gaussian_radius((double)sigma), .tap = {1.0f}};

  for (int i = 1; i <= result.radius; i++)
    result.tap[i] = expf(-0.5f * (float)(i * i) / (sigma * sigma));
  return result;
}

/* The definition: one channel of a sample, gathered with weights; NaN where all weights are 0.
 * Needed where sigmas are small: between levels the map may rise so steeply that a blend weighs it
 * wrongly. */
static float gather(const Work *work, int x, int y, const Gaussian *across, const Gaussian *down)
{
  const CfBorder border = (CfBorder)work->rows->field->params.border;
  const bool weighted = is_weighted(work);
  float sum = 0.0f, weights = 0.0f;

  for (int j = -down->radius; j <= down->radius; j++) {
    const int v = cf_border_index(border, y + j, work->height);

    for (int i = -across->radius; v >= 0 && i <= across->radius; i++) {
      const int u = cf_border_index(border, x + i, work->width);

      if (u < 0)
        continue;
      float weight = down->tap[abs(j)] * across->tap[abs(i)] *
                     (float)work->isolate->planes.map[(size_t)v * (size_t)work->width + (size_t)u];

      weight *= weighted ? sample_at(work, u, v, work->alpha) : 1.0f;
      weights += weight;
      sum += weight * sample_at(work, u, v, work->channel);
    }
  }
  return weights > 0.0f ? sum / weights : NAN;
}

/* ---- Samples ---- */

/* One channel of a sample; NaN where all weights are 0. */
static float isolated(const Work *work, int x, int y)
{
  const Planes *planes = &work->isolate->planes;
  const size_t at = (size_t)y * (size_t)work->width + (size_t)x;
  const bool weighted = is_weighted(work);
  const float m = (float)planes->map[at] * (1.0f / CF_MAP_ONE);
  const float across = m * (float)work->sigmas.horizontal[1];
  const float down = m * (float)work->sigmas.vertical[1];
  const uint16_t *blurred = work->alpha >= 0 && !weighted ? planes->alpha : planes->blurred;
  const uint16_t by = weighted ? planes->alpha[at] : planes->weights[at];

  const float largest = fmaxf(across, down);
  const bool gap = planes->weights[at] < planes->map[at] / GAP;

  if (largest <= (gap ? GAP_SIGMA : SMALL_SIGMA)) {
    const Gaussian row = gaussian(across), column = gaussian(down);

    return gather(work, x, y, &row, &column);
  }
  return by == 0 ? NAN : (float)blurred[at] * max_code(work) / (float)by;
}

/* Writes the current channel of rows; samples whose map value or weights are 0 stay as they are. */
static void divide(void *context, int first, int end)
{
  const Work *work = context;
  const Planes *planes = &work->isolate->planes;
  const float neutral =
      (float)cf_neutral_code(&work->isolate->video, work->info->role[work->channel]);

  for (int y = work->rect.y0 + first; y < work->rect.y0 + end; y++) {
    const size_t at = (size_t)y * (size_t)work->width;

    for (int x = work->rect.x0; x < work->rect.x1; x++) {
      const bool stays = planes->map[at + (size_t)x] == 0 || planes->weights[at + (size_t)x] == 0;
      const float value = stays ? sample_at(work, x, y, work->channel) : isolated(work, x, y);

      cf_sample_store(&work->destination, x, y, work->channel,
                      (isnan(value) ? neutral : value) + 0.5f);
    }
  }
}

static bool run_channel(Work *work, int channel, uint16_t *to, CfStatus *status)
{
  work->channel = channel;
  over_rows(work, multiply, work->height);
  if (!blur(work, work->isolate->planes.product, to, false, status))
    return false;
  over_rows(work, divide, work->rect.y1 - work->rect.y0);
  return true;
}

static bool run_plane(Work *work, CfStatus *status)
{
  const Planes *planes = &work->isolate->planes;
  bool good;

  over_rows(work, read_map, work->height);
  good = blur(work, planes->map, planes->weights, true, status);
  if (good && work->alpha >= 0)
    good = run_channel(work, work->alpha, planes->alpha, status);
  for (int c = 0; good && c < work->info->channels; c++) {
    if (c != work->alpha && work->info->role[c] != CF_ROLE_PADDING)
      good = run_channel(work, c, planes->blurred, status);
  }
  return good;
}

bool cf_cpu_isolate_run(CfCpuIsolate *isolate, const CfBlurRows *rows,
                        const CfRect rects[CF_MAX_PLANES], CfStatus *status)
{
  const CfFormatInfo *format = cf_format_info(isolate->video.format);

  for (int p = 0; p < format->planes; p++) {
    Work work = {.isolate = isolate,
                 .rows = rows,
                 .info = &format->plane[p],
                 .source = cf_samples_of(&isolate->video, &rows->job->source, p),
                 .destination = cf_samples_of(&isolate->video, &rows->job->destination, p),
                 .p = p,
                 .width = cf_plane_width(&isolate->video, p),
                 .height = cf_plane_height(&isolate->video, p),
                 .alpha = cf_alpha_channel(&format->plane[p]),
                 .sigmas = cf_blur_field_sigmas(rows->field, NULL, p),
                 .rect = rects[p]};

    if (!cf_rect_is_empty(rects[p]) && !run_plane(&work, status))
      return false;
  }
  return true;
}

/* ---- State ---- */

static void lay_out(CfArena *arena, void *self)
{
  CfCpuIsolate *isolate = self;
  const size_t width = (size_t)isolate->video.width, height = (size_t)isolate->video.height;
  Planes *planes = &isolate->planes;
  uint16_t **const each[] = {&planes->map, &planes->product, &planes->blurred, &planes->weights,
                             &planes->alpha};

  for (size_t i = 0; i < sizeof each / sizeof each[0]; i++)
    *each[i] = cf_arena_take(arena, width * height * sizeof(uint16_t));
  isolate->row = cf_arena_take(arena, (size_t)isolate->threads * width * sizeof *isolate->row);
}

CfCpuIsolate *cf_cpu_isolate_open(const CfVideo *video, int threads, CfStatus *status)
{
  CfCpuIsolate *isolate = calloc(1, sizeof *isolate);
  bool good = isolate != NULL;

  if (isolate) {
    isolate->video = *video;
    isolate->threads = threads;
    isolate->memory = cf_laid_out(lay_out, isolate);
    good = isolate->memory != NULL;
  }
  for (int p = 0; good && p < cf_format_info(video->format)->planes; p++) {
    const CfVideo plane =
        cf_video(CF_FORMAT_GRAY16_LE, cf_plane_width(video, p), cf_plane_height(video, p));

    isolate->blur[p] = cf_cpu_blurmap_open(&plane, threads, status);
    good = isolate->blur[p] != NULL;
  }
  if (!good) {
    cf_cpu_isolate_close(isolate);
    cf_fail(status, CF_ERROR_NO_MEMORY, "no memory for an isolating blur map of %dx%d",
            video->width, video->height);
    return NULL;
  }
  return isolate;
}

void cf_cpu_isolate_close(CfCpuIsolate *isolate)
{
  if (!isolate)
    return;
  for (int p = 0; p < CF_MAX_PLANES; p++)
    cf_cpu_blurmap_close(isolate->blur[p]);
  free(isolate->memory);
  free(isolate);
}
