/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "blurmap.h"

#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "blurmap_levels.h"
#include "cpu_pyramid.h"
#include "fir_format.h"
#include "fir_tile.h"
#include "gaussian.h"
#include "pyramid_rows.h"

/* A multiple of what cf_cpu_pyramid_tile wants. */
#define TILE_WIDTH  64
#define TILE_HEIGHT 32

/* Sigma in D down to which blends of levels stay accurate. */
#define SMALLEST_RATIO 1.5
#define LARGEST_FACTOR 16
#define MOST_DECIMATED 8

/* One level of one plane. */
typedef struct {
  CfCpuPyramid *pyramid; /* opened once; used where `large` */
  bool large;            /* read from the pyramid, else filtered in the tile */
  bool owner;            /* its fine samples serve all levels with the same factors */
  CfPyramidFactors x, y;

  /* In the tile. */
  int radius_x, radius_y;
  CfLineTaps row, column;
} Level;

typedef struct {
  int p, width, height, channels, bytes;
  CfBlurLevels levels;
  Level level[CF_BLUR_LEVELS];
  int radius_x, radius_y; /* the largest of levels filtered in tiles */
  CfLineFormat straight, weighted;
  uint8_t border_pixel[8];

  float *position; /* of each sample among the levels, row by row */
  bool placed;     /* they hold for the next picture too */
  void *tables;    /* taps and formats */
  size_t tables_bytes;
} Plane;

struct CfCpuBlurMap {
  CfVideo video;
  int threads;
  CfFirPlan plan;
  CfMapSigmas sigmas[CF_MAX_PLANES]; /* that the levels are of */
  int border;
  bool ready;
  Plane plane[CF_MAX_PLANES];
  void *scratch; /* `scratch_stride` bytes a thread */
  size_t scratch_bytes, scratch_stride;
};

/* Levels */

static CfPyramidFactors choose_factors(double sigma)
{
  CfPyramidFactors factors = {
      .decimation = 1, .thinning = 1, .prefilter_sigma = 0.7, .prefilter_reach = 4.0};
  int factor = 1;

  while (factor < LARGEST_FACTOR && sigma >= 2 * factor * SMALLEST_RATIO)
    factor *= 2;
  factors.decimation = factor < MOST_DECIMATED ? factor : MOST_DECIMATED;
  factors.thinning = factor / factors.decimation;
  return factors;
}

static bool same_factors(const Level *a, const Level *b)
{
  return a->x.decimation == b->x.decimation && a->x.thinning == b->x.thinning &&
         a->y.decimation == b->y.decimation && a->y.thinning == b->y.thinning;
}

/* The level whose fine samples level `i` uses: of those with its factors one that has the largest
 * sigmas along both axes; itself where there is none. */
static int owner_of(const Plane *plane, int i)
{
  const CfBlurLevel *sigma = plane->levels.level;
  int owner = i;

  for (int j = 0; j < plane->levels.count; j++) {
    if (plane->level[j].large && same_factors(&plane->level[i], &plane->level[j]) &&
        sigma[j].horizontal >= sigma[owner].horizontal &&
        sigma[j].vertical >= sigma[owner].vertical)
      owner = j;
  }
  return owner;
}

static void choose_levels(Plane *plane, const CfMapSigmas *sigmas)
{
  cf_blur_levels(&plane->levels, sigmas);
  plane->radius_x = plane->radius_y = 0;
  for (int i = 0; i < plane->levels.count; i++) {
    Level *level = &plane->level[i];
    const CfBlurLevel *sigma = &plane->levels.level[i];

    level->x = choose_factors(sigma->horizontal);
    level->y = choose_factors(sigma->vertical);
    level->large = level->x.decimation > 1 || level->y.decimation > 1;
    level->radius_x = cf_gaussian_radius(sigma->horizontal);
    level->radius_y = cf_gaussian_radius(sigma->vertical);
    if (!level->large) {
      plane->radius_x = level->radius_x > plane->radius_x ? level->radius_x : plane->radius_x;
      plane->radius_y = level->radius_y > plane->radius_y ? level->radius_y : plane->radius_y;
    }
  }
}

static bool prepare_pyramid(CfCpuBlurMap *blur, Plane *plane, int i, int owner, CfStatus *status)
{
  Level *level = &plane->level[i];
  const CfBlurLevel *sigma = &plane->levels.level[i];

  level->owner = owner == i;
  if (!level->pyramid)
    level->pyramid = cf_cpu_pyramid_open(&blur->video, plane->p, blur->threads, status);
  return level->pyramid &&
         cf_cpu_pyramid_update(level->pyramid, &blur->plan, sigma->horizontal, sigma->vertical,
                               &level->x, &level->y,
                               owner == i ? NULL : plane->level[owner].pyramid, status);
}

/* Owners first: the others are laid out for them. */
static bool prepare_pyramids(CfCpuBlurMap *blur, Plane *plane, CfStatus *status)
{
  for (int pass = 0; pass < 2; pass++) {
    for (int i = 0; i < plane->levels.count; i++) {
      if (!plane->level[i].large)
        continue;
      const int owner = owner_of(plane, i);

      if ((owner == i) == (pass == 0) && !prepare_pyramid(blur, plane, i, owner, status))
        return false;
    }
  }
  return true;
}

/* Tables */

static CfLineTaps lay_out_gaussian(double sigma, CfArena *arena)
{
  double tap[2 * 16 + 1];
  const int radius = cf_gaussian_radius(sigma);
  const CfTaps taps = {.count = 2 * radius + 1,
                       .anchor = radius,
                       .tap = tap,
                       .sum = 1.0,
                       .magnitude = radius ? 1.0 + 1e-9 : 1.0};

  cf_gaussian_taps(sigma, radius, tap);
  return cf_line_taps(&cf_lines_float, &taps, arena);
}

static CfLineFormat lay_out_format(const CfCpuBlurMap *blur, const Plane *plane, bool premultiplied,
                                   CfArena *arena)
{
  const CfFormatInfo *info = cf_format_info(blur->video.format);
  CfLineFormat format = {.channels = plane->channels,
                         .alpha = cf_alpha_channel(&info->plane[plane->p]),
                         .bytes = plane->bytes,
                         .shift = info->shift,
                         .max_code = cf_max_code(info),
                         .premultiplied = premultiplied,
                         .plan = &blur->plan.plane[plane->p]};

  cf_line_format_tables(&format, &cf_lines_float, TILE_WIDTH * (size_t)plane->channels, arena);
  return format;
}

static void lay_out_tables(const CfCpuBlurMap *blur, Plane *plane, CfArena *arena)
{
  for (int i = 0; i < plane->levels.count; i++) {
    Level *level = &plane->level[i];

    if (level->large)
      continue;
    level->row = lay_out_gaussian(plane->levels.level[i].horizontal, arena);
    level->column = lay_out_gaussian(plane->levels.level[i].vertical, arena);
  }
  plane->straight = lay_out_format(blur, plane, false, arena);
  if (blur->plan.plane[plane->p].premultiplied)
    plane->weighted = lay_out_format(blur, plane, true, arena);
}

static bool prepare_tables(const CfCpuBlurMap *blur, Plane *plane, CfStatus *status)
{
  CfArena counted = {0}, placed;

  lay_out_tables(blur, plane, &counted);
  if (counted.used > plane->tables_bytes) {
    free(plane->tables);
    plane->tables_bytes = 0;
    plane->tables = cf_aligned_alloc(counted.used);
    if (!plane->tables)
      return cf_fail(status, CF_ERROR_NO_MEMORY, "no memory for blur levels of %zu bytes",
                     counted.used);
    plane->tables_bytes = counted.used;
  }
  placed = (CfArena){.base = plane->tables};
  lay_out_tables(blur, plane, &placed);
  return true;
}

static void describe_border(const CfCpuBlurMap *blur, Plane *plane)
{
  const int shift = cf_format_info(blur->video.format)->shift;

  for (int c = 0; c < plane->channels; c++) {
    const uint16_t code = (uint16_t)(blur->plan.plane[plane->p].channel[c].border << shift);

    if (plane->bytes == 1)
      plane->border_pixel[c] = (uint8_t)code;
    else
      memcpy(&plane->border_pixel[2 * c], &code, sizeof code);
  }
}

/* Scratch of a thread */

typedef struct {
  float *source; /* the tile and what the largest small level reaches around it */
  size_t source_stride;
  float *columns; /* filtered along columns, one row */
  float *level;   /* one level of the tile */
  float *blend;   /* the sum of all */
  size_t stride;  /* of both */
  float *weights; /* one row */
  const void **lines;
  float *work;
} Scratch;

static size_t pyramid_work(const Plane *plane)
{
  size_t largest = 0;

  for (int i = 0; i < plane->levels.count; i++) {
    if (!plane->level[i].large)
      continue;
    const size_t work = cf_cpu_pyramid_tile_work(plane->level[i].pyramid, TILE_WIDTH, TILE_HEIGHT);
    largest = work > largest ? work : largest;
  }
  return largest;
}

static Scratch take_scratch(const Plane *plane, CfArena *arena)
{
  const int most = plane->radius_x > plane->radius_y ? plane->radius_x : plane->radius_y;
  Scratch scratch;

  scratch.source_stride =
      (size_t)cf_round_to_granule((TILE_WIDTH + 2 * plane->radius_x) * plane->channels) +
      CF_LINE_GRANULE;
  scratch.stride =
      (size_t)(TILE_WIDTH + LARGEST_FACTOR) * (size_t)plane->channels + CF_LINE_GRANULE;
  scratch.source = cf_arena_take(arena, (size_t)(TILE_HEIGHT + 2 * plane->radius_y) *
                                            scratch.source_stride * sizeof(float));
  scratch.columns = cf_arena_take(arena, scratch.source_stride * sizeof(float));
  scratch.level =
      cf_arena_take(arena, (TILE_HEIGHT * scratch.stride + CF_LINE_GRANULE) * sizeof(float));
  scratch.blend = cf_arena_take(arena, TILE_HEIGHT * scratch.stride * sizeof(float));
  scratch.weights = cf_arena_take(arena, scratch.stride * sizeof(float));
  scratch.lines = cf_arena_take(arena, (size_t)(2 * most + 1) * sizeof *scratch.lines);
  scratch.work = cf_arena_take(arena, pyramid_work(plane) * sizeof(float));
  return scratch;
}

static bool prepare_scratch(CfCpuBlurMap *blur, CfStatus *status)
{
  size_t largest = 0;

  for (int p = 0; p < blur->plan.planes; p++) {
    CfArena counted = {0};

    take_scratch(&blur->plane[p], &counted);
    largest = counted.used > largest ? counted.used : largest;
  }
  blur->scratch_stride = largest;
  if (largest * (size_t)blur->threads <= blur->scratch_bytes)
    return true;
  free(blur->scratch);
  blur->scratch_bytes = 0;
  blur->scratch = cf_aligned_alloc(largest * (size_t)blur->threads);
  if (!blur->scratch)
    return cf_fail(status, CF_ERROR_NO_MEMORY, "no memory for tiles of %zu bytes", largest);
  blur->scratch_bytes = largest * (size_t)blur->threads;
  memset(blur->scratch, 0, blur->scratch_bytes);
  return true;
}

/* Preparing */

static bool same_sigmas(const CfMapSigmas *a, const CfMapSigmas *b)
{
  return a->horizontal[0] == b->horizontal[0] && a->horizontal[1] == b->horizontal[1] &&
         a->vertical[0] == b->vertical[0] && a->vertical[1] == b->vertical[1];
}

static bool is_ready_for(const CfCpuBlurMap *blur, const CfBlurField *field,
                         const CfRegions *regions)
{
  bool ready = blur->ready && blur->border == field->params.border;

  for (int p = 0; ready && p < blur->plan.planes; p++) {
    const CfMapSigmas sigmas = cf_blur_field_sigmas(field, regions, p);
    ready = same_sigmas(&sigmas, &blur->sigmas[p]);
  }
  return ready;
}

static bool prepare_plane(CfCpuBlurMap *blur, Plane *plane, CfStatus *status)
{
  choose_levels(plane, &blur->sigmas[plane->p]);
  describe_border(blur, plane);
  plane->placed = false;
  return prepare_pyramids(blur, plane, status) && prepare_tables(blur, plane, status);
}

static bool prepare(CfCpuBlurMap *blur, const CfBlurField *field, const CfRegions *regions,
                    CfStatus *status)
{
  /* Any blur tells what happens to the channels. */
  const CfGaussblurParams some = {
      .sigma = 1.0, .sigma_vertical = -1.0, .border = field->params.border};

  if (is_ready_for(blur, field, regions))
    return true;
  blur->ready = false;
  blur->border = field->params.border;
  if (!cf_fir_plan_gaussblur(&blur->plan, &blur->video, &some, status))
    return false;
  for (int p = 0; p < blur->plan.planes; p++) {
    blur->sigmas[p] = cf_blur_field_sigmas(field, regions, p);
    if (!prepare_plane(blur, &blur->plane[p], status))
      return false;
  }
  blur->ready = prepare_scratch(blur, status);
  return blur->ready;
}

/* Positions */

static void place_rows(const CfCpuBlurMap *blur, Plane *plane, const CfBlurField *field,
                       const CfJob *job, CfRect rect)
{
#pragma omp parallel for schedule(static) num_threads(blur->threads)
  for (int y = rect.y0; y < rect.y1; y++) {
    float *row = plane->position + (size_t)y * (size_t)plane->width;

    cf_blur_field_row(field, job, plane->p, y, row);
    cf_blur_positions(&plane->levels, plane->width, row);
  }
}

/* Which levels samples blend. */
typedef struct {
  bool used[CF_BLUR_LEVELS];
} Used;

static void note_used(const Plane *plane, CfRect rect, Used *used)
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

/* Tiles */

static int fold(const CfCpuBlurMap *blur, int i, int size)
{
  return cf_border_index((CfBorder)blur->border, i, size);
}

/* Pixels x0..x1-1 of a row of the source (-1: of the border), some perhaps outside the picture. */
static void load_row(const CfCpuBlurMap *blur, const Plane *plane, const CfLineFormat *format,
                     const uint8_t *row, int x0, int x1, float *to)
{
  const int channels = plane->channels, pixel = channels * plane->bytes;
  const int inner0 = x0 > 0 ? x0 : 0, inner1 = x1 < plane->width ? x1 : plane->width;

  if (row)
    cf_lines_float.load(format, row + (ptrdiff_t)inner0 * pixel, (inner1 - inner0) * channels,
                        to + (ptrdiff_t)(inner0 - x0) * channels);
  for (int x = x0; x < x1; x++) {
    if (row && x >= inner0 && x < inner1)
      continue;
    const int from = row ? fold(blur, x, plane->width) : -1;
    const uint8_t *source = from < 0 ? plane->border_pixel : row + (ptrdiff_t)from * pixel;
    cf_lines_float.load(format, source, channels, to + (ptrdiff_t)(x - x0) * channels);
  }
}

static void load_source(const CfCpuBlurMap *blur, const Plane *plane, const CfLineFormat *format,
                        const CfJob *job, CfRect tile, const Scratch *scratch)
{
  for (int i = 0; i < tile.y1 - tile.y0 + 2 * plane->radius_y; i++) {
    const int y = fold(blur, tile.y0 - plane->radius_y + i, plane->height);
    const uint8_t *row =
        y < 0 ? NULL : job->source.data[plane->p] + y * job->source.stride[plane->p];

    load_row(blur, plane, format, row, tile.x0 - plane->radius_x, tile.x1 + plane->radius_x,
             scratch->source + (size_t)i * scratch->source_stride);
  }
}

/* Filters the loaded source with a small level. */
static void filter_level(const Plane *plane, const Level *level, CfRect tile,
                         const Scratch *scratch)
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

CF_MULTIVERSION
static void add_weighted(const float *restrict level, const float *restrict weights, int samples,
                         float *restrict blend)
{
  for (int i = 0; i < samples; i++)
    blend[i] += weights[i] * level[i];
}

/* 1 at the level, 0 from its neighbours on. */
CF_MULTIVERSION
static void weigh(const float *restrict position, float level, int width, int channels,
                  float *restrict weights)
{
  for (int x = 0; x < width; x++) {
    const float distance = position[x] > level ? position[x] - level : level - position[x];
    const float weight = distance < 1.0f ? 1.0f - distance : 0.0f;

    for (int c = 0; c < channels; c++)
      weights[x * channels + c] = weight;
  }
}

static void blend_level(const Plane *plane, int level, CfRect tile, const Scratch *scratch)
{
  const int width = tile.x1 - tile.x0;

  for (int i = 0; i < tile.y1 - tile.y0; i++) {
    const float *position =
        plane->position + (size_t)(tile.y0 + i) * (size_t)plane->width + tile.x0;

    weigh(position, (float)level, width, plane->channels, scratch->weights);
    add_weighted(scratch->level + (size_t)i * scratch->stride, scratch->weights,
                 width * plane->channels, scratch->blend + (size_t)i * scratch->stride);
  }
}

static bool is_copy(const Plane *plane, int level)
{
  return !plane->level[level].large && !plane->level[level].row.tap &&
         !plane->level[level].column.tap;
}

/* Where the position is exactly that of a level that copies, so are the bytes, also of colours that
 * do not show. */
static void restore_copies(const Plane *plane, int level, const float *position, int width,
                           const uint8_t *source, uint8_t *to)
{
  const size_t pixel = (size_t)(plane->channels * plane->bytes);

  for (int x = 0; x < width; x++) {
    if (position[x] == (float)level)
      memcpy(to + (size_t)x * pixel, source + (size_t)x * pixel, pixel);
  }
}

static void store_tile(const Plane *plane, const CfLineFormat *format, const CfJob *job,
                       CfRect tile, const float *blend, size_t stride, int copy)
{
  const int width = tile.x1 - tile.x0;
  const ptrdiff_t offset = (ptrdiff_t)tile.x0 * plane->channels * plane->bytes;

  for (int y = tile.y0; y < tile.y1; y++, blend += stride) {
    const uint8_t *source = job->source.data[plane->p] + y * job->source.stride[plane->p] + offset;
    uint8_t *to = job->destination.data[plane->p] + y * job->destination.stride[plane->p] + offset;

    cf_lines_float.store(format, blend, width * plane->channels, source, to);
    if (copy >= 0)
      restore_copies(plane, copy, plane->position + (size_t)y * (size_t)plane->width + tile.x0,
                     width, source, to);
  }
}

static void copy_tile(const Plane *plane, const CfJob *job, CfRect tile)
{
  const ptrdiff_t pixel = plane->channels * plane->bytes;

  for (int y = tile.y0; y < tile.y1; y++)
    memcpy(job->destination.data[plane->p] + y * job->destination.stride[plane->p] +
               tile.x0 * pixel,
           job->source.data[plane->p] + y * job->source.stride[plane->p] + tile.x0 * pixel,
           (size_t)((tile.x1 - tile.x0) * pixel));
}

static void run_tile(const CfCpuBlurMap *blur, const Plane *plane, const CfLineFormat *format,
                     const CfJob *job, CfRect tile)
{
  CfArena arena = {.base =
                       (uint8_t *)blur->scratch + blur->scratch_stride * (size_t)cf_thread_index()};
  const Scratch scratch = take_scratch(plane, &arena);
  Used used = {{false}};
  int count = 0, copy = -1;
  bool loaded = false;

  note_used(plane, tile, &used);
  for (int i = 0; i < plane->levels.count; i++) {
    count += used.used[i];
    if (used.used[i] && is_copy(plane, i))
      copy = i;
  }
  if (count == 1 && copy >= 0) {
    copy_tile(plane, job, tile);
    return;
  }
  if (count > 1)
    memset(scratch.blend, 0, TILE_HEIGHT * scratch.stride * sizeof *scratch.blend);
  for (int i = 0; i < plane->levels.count; i++) {
    if (!used.used[i])
      continue;
    if (plane->level[i].large) {
      cf_cpu_pyramid_tile(plane->level[i].pyramid, tile, scratch.work, scratch.level,
                          scratch.stride);
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

/* Planes */

static CfRect tile_at(CfRect rect, int columns, int index)
{
  /* Tiles start at multiples of their size, as pyramids want it. */
  const int x0 = rect.x0 / TILE_WIDTH * TILE_WIDTH + index % columns * TILE_WIDTH;
  const int y0 = rect.y0 + index / columns * TILE_HEIGHT;

  return (CfRect){x0, y0, x0 + TILE_WIDTH < rect.x1 ? x0 + TILE_WIDTH : rect.x1,
                  y0 + TILE_HEIGHT < rect.y1 ? y0 + TILE_HEIGHT : rect.y1};
}

static bool is_opaque(const Plane *plane, const CfJob *job)
{
  bool opaque = true;

  for (int y = 0; opaque && y < plane->height; y++)
    opaque = cf_pixels_are_opaque(job->source.data[plane->p] + y * job->source.stride[plane->p],
                                  plane->weighted.alpha, plane->width);
  return opaque;
}

/* Fine samples once for all levels that share them, then the levels that some tile reads. */
static void make_levels(const Plane *plane, const CfJob *job, bool weighted, CfRect rect)
{
  Used used = {{false}}, owners = {{false}};

  note_used(plane, rect, &used);
  for (int i = 0; i < plane->levels.count; i++) {
    if (used.used[i] && plane->level[i].large)
      owners.used[owner_of(plane, i)] = true;
  }
  for (int i = 0; i < plane->levels.count; i++) {
    if (owners.used[i])
      cf_cpu_pyramid_make_fine(plane->level[i].pyramid, job, weighted, rect.y0, rect.y1);
  }
  for (int i = 0; i < plane->levels.count; i++) {
    if (used.used[i] && plane->level[i].large)
      cf_cpu_pyramid_make_coarse(plane->level[i].pyramid, rect.y0, rect.y1);
  }
}

static void run_plane(const CfCpuBlurMap *blur, const Plane *plane, const CfJob *job, CfRect rect)
{
  const bool weighted = blur->plan.plane[plane->p].premultiplied && !is_opaque(plane, job);
  const CfLineFormat *format = weighted ? &plane->weighted : &plane->straight;
  const int left = rect.x0 / TILE_WIDTH * TILE_WIDTH;
  const int columns = (rect.x1 - left + TILE_WIDTH - 1) / TILE_WIDTH;
  const int rows = (rect.y1 - rect.y0 + TILE_HEIGHT - 1) / TILE_HEIGHT;

  make_levels(plane, job, weighted, rect);
#pragma omp parallel for schedule(dynamic) num_threads(blur->threads)
  for (int i = 0; i < columns * rows; i++)
    run_tile(blur, plane, format, job, tile_at(rect, columns, i));
}

bool cf_cpu_blurmap_run(CfCpuBlurMap *blur, const CfBlurField *field, bool changed,
                        const CfJob *job, const CfRect rects[CF_MAX_PLANES], CfStatus *status)
{
  const bool still = cf_blur_field_is_still(field) && !job->regions;

  if (!prepare(blur, field, job->regions, status))
    return false;
  for (int p = 0; p < blur->plan.planes; p++) {
    Plane *plane = &blur->plane[p];

    if (cf_rect_is_empty(rects[p]))
      continue;
    if (changed || !still || !plane->placed)
      place_rows(blur, plane, field, job, rects[p]);
    plane->placed = still;
    run_plane(blur, plane, job, rects[p]);
  }
  return true;
}

/* State */

static bool open_plane(const CfCpuBlurMap *blur, int p, Plane *plane)
{
  const CfFormatInfo *info = cf_format_info(blur->video.format);

  plane->p = p;
  plane->width = cf_plane_width(&blur->video, p);
  plane->height = cf_plane_height(&blur->video, p);
  plane->channels = info->plane[p].channels;
  plane->bytes = cf_sample_bytes(info);
  plane->position =
      cf_aligned_alloc((size_t)plane->width * (size_t)plane->height * sizeof *plane->position);
  return plane->position != NULL;
}

CfCpuBlurMap *cf_cpu_blurmap_open(const CfVideo *video, int threads, CfStatus *status)
{
  CfCpuBlurMap *blur = calloc(1, sizeof *blur);
  bool good = blur != NULL;

  if (blur) {
    blur->video = *video;
    blur->threads = threads;
  }
  for (int p = 0; good && p < cf_format_info(video->format)->planes; p++)
    good = open_plane(blur, p, &blur->plane[p]);
  if (!good) {
    cf_cpu_blurmap_close(blur);
    cf_fail(status, CF_ERROR_NO_MEMORY, "no memory for a blur map of %dx%d", video->width,
            video->height);
    return NULL;
  }
  return blur;
}

void cf_cpu_blurmap_close(CfCpuBlurMap *blur)
{
  if (!blur)
    return;
  for (int p = 0; p < CF_MAX_PLANES; p++) {
    for (int i = 0; i < CF_BLUR_LEVELS; i++)
      cf_cpu_pyramid_close(blur->plane[p].level[i].pyramid);
    free(blur->plane[p].position);
    free(blur->plane[p].tables);
  }
  cf_fir_plan_free(&blur->plan);
  free(blur->scratch);
  free(blur);
}
