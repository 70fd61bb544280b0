/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cpu/blockavg/regions.h"

#include <stdlib.h>
#include <string.h>

#include "cpu/common/memory.h"
#include "cpu/regions/blend.h"
#include "plan/mosaic.h"
#include "cpu/common/parallel.h"

/* The blocks of one grid that may be covered, in one plane. */
typedef struct {
  CfGrid grid;
  int region; /* -1: any of them */
  int plane;
  int column0, column1, row0, row1; /* blocks */
  size_t first;                     /* of its values, in their array */
  int first_task;                   /* each of its rows is a task */
} Patch;

/* Of one thread. A luma pixel may be a block. */
typedef struct {
  void *columns;
  double *results, *weighted, *inverse_widths;
  int *edges;      /* samples */
  uint8_t *wanted; /* blocks, one byte each */
} Scratch;

struct CfBlockRegions {
  CfVideo video;
  const CfFormatInfo *format;
  int threads;
  uint8_t *memory;

  Patch *patches; /* for each plane one, or one for each region */
  int patch_capacity;
  uint16_t *values; /* raw samples of all blocks */
  size_t value_capacity;

  Scratch scratch[];
};

/* One job. */
typedef struct {
  const CfBlockRegions *self;
  const CfBlockavgParams *params;
  const CfBlockReduction *reduction;
  int option;
  const CfJob *job;
  int patches_a_plane;
} Work;

/* ---- Colours of blocks ---- */

/* Some blocks of one row, side by side. */
typedef struct {
  const Work *work;
  const Patch *patch;
  const CfPlaneFormat *info;
  const Scratch *scratch;
  const uint8_t *source; /* their first sample */
  int height;            /* rows of samples */
  int count;             /* of blocks */
  uint16_t *values;
} Row;

static void reduce(const Row *row, const CfBlockReduction *reduction, int option, double *results)
{
  const int channels = row->info->channels, *edges = row->scratch->edges;
  const ptrdiff_t stride = row->work->job->source.stride[row->patch->plane];
  const size_t column_bytes = (size_t)edges[row->count] * (size_t)reduction->column_bytes;

  for (int i = 0; i < row->count * channels; i++)
    results[i] = reduction->fresh_value;
  for (int y = 0; y < row->height; y += reduction->rows) {
    const int rows = row->height - y < reduction->rows ? row->height - y : reduction->rows;

    memset(row->scratch->columns, reduction->fresh_byte, column_bytes);
    reduction->take_rows(row->scratch->columns, row->source + y * stride, stride, rows,
                         edges[row->count], option);
    reduction->take_columns(results, row->scratch->columns, edges, row->count, channels);
  }
}

uint16_t cf_block_invisible(const CfVideo *video, CfRole role)
{
  const bool chroma = role == CF_ROLE_CHROMA_BLUE || role == CF_ROLE_CHROMA_RED;

  return chroma ? (uint16_t)cf_chroma_centre(video) : 0;
}

/* Replaces the plain means of colours by those weighted by alpha, as blockavg.c does. */
static void weigh_colours(const Row *row)
{
  const int alpha = cf_alpha_channel(row->info), channels = row->info->channels;
  const int *edges = row->scratch->edges;
  bool weighed = false;

  for (int block = 0; block < row->count; block++) {
    const int first = block * channels;
    const double weight = row->scratch->results[first + alpha];

    if (weight == (double)cf_max_code(row->work->self->format) * row->height *
                      ((edges[block + 1] - edges[block]) / channels))
      continue;
    if (!weighed)
      reduce(row, &cf_block_weighted_sums, alpha, row->scratch->weighted);
    weighed = true;
    for (int i = 0; i < channels; i++) {
      if (i != alpha)
        row->values[first + i] =
            weight > 0.0 ? (uint16_t)((row->scratch->weighted[first + i] + 0.25) / weight + 0.5)
                         : cf_block_invisible(&row->work->self->video, row->info->role[i]);
    }
  }
}

static void measure_blocks(const Row *row)
{
  const Work *work = row->work;
  const int channels = row->info->channels, count = row->count * channels;
  const int shift = work->self->format->shift;
  const Scratch *scratch = row->scratch;

  reduce(row, work->reduction, work->option, scratch->results);
  if (work->params->mode != CF_BLOCKAVG_AVERAGE) {
    cf_block_extremes(row->values, scratch->results, count, work->option, shift);
    return;
  }
  for (int i = 0; i < count; i++) {
    const int width = scratch->edges[i / channels + 1] - scratch->edges[i / channels];
    scratch->inverse_widths[i] = width ? (double)channels / width : 0.0;
  }
  cf_block_means(row->values, scratch->results, scratch->inverse_widths, 1.0 / row->height, count,
                 shift);
  if (cf_alpha_channel(row->info) >= 0 &&
      (row->patch->grid.width > 1 || row->patch->grid.height > 1))
    weigh_colours(row);
}

/* The rows of samples of a row of blocks. */
static void find_rows(const Work *work, const Patch *patch, int row, int *y0, int *y1)
{
  const int sy = work->self->format->plane[patch->plane].subsampling_y;
  const int limit = cf_plane_height(&work->self->video, patch->plane);

  *y0 = cf_grid_start(patch->grid.y, patch->grid.height, sy, row, limit);
  *y1 = cf_grid_start(patch->grid.y, patch->grid.height, sy, row + 1, limit);
}

static CfRect region_rect(const Work *work, int plane, int region)
{
  const CfRegions *regions = work->job->regions;

  return cf_plane_rect(&work->self->video, plane,
                       cf_region_bounds(&work->self->video, regions, &regions->region[region]));
}

/* Of a grid that all regions share, only the blocks that some region touches are worth their time.
 */
static void choose_blocks(const Work *work, const Patch *patch, int y0, int y1, uint8_t *wanted)
{
  const int sx = work->self->format->plane[patch->plane].subsampling_x;
  const CfRegions *regions = work->job->regions;
  const bool all = patch->region >= 0 || regions->outside;

  memset(wanted, all, (size_t)(patch->column1 - patch->column0));
  for (int i = 0; !all && i < regions->count; i++) {
    const CfRect rect = region_rect(work, patch->plane, i);

    if (cf_rect_is_empty(rect) || rect.y0 >= y1 || rect.y1 <= y0)
      continue;
    const int first = cf_grid_block(patch->grid.x, patch->grid.width, sx, rect.x0);
    const int last = cf_grid_block(patch->grid.x, patch->grid.width, sx, rect.x1 - 1);
    memset(wanted + first - patch->column0, 1, (size_t)(last - first + 1));
  }
}

static void measure_row(const Work *work, const Patch *patch, int number, const Scratch *scratch)
{
  const CfBlockRegions *self = work->self;
  const int p = patch->plane, columns = patch->column1 - patch->column0;
  const CfPlaneFormat *info = &self->format->plane[p];
  const int limit = cf_plane_width(&self->video, p);
  int y0, y1;

  find_rows(work, patch, number, &y0, &y1);
  if (y0 >= y1)
    return;
  choose_blocks(work, patch, y0, y1, scratch->wanted);
  for (int first = 0, end; first < columns; first = end) {
    for (end = first + 1; end < columns && scratch->wanted[end] == scratch->wanted[first];)
      end++;
    if (!scratch->wanted[first])
      continue;

    const int x0 = cf_grid_start(patch->grid.x, patch->grid.width, info->subsampling_x,
                                 patch->column0 + first, limit);
    for (int i = first; i <= end; i++)
      scratch->edges[i - first] =
          info->channels * (cf_grid_start(patch->grid.x, patch->grid.width, info->subsampling_x,
                                          patch->column0 + i, limit) -
                            x0);
    const Row row = {.work = work,
                     .patch = patch,
                     .info = info,
                     .scratch = scratch,
                     .source = work->job->source.data[p] + y0 * work->job->source.stride[p] +
                               (ptrdiff_t)x0 * info->channels * cf_sample_bytes(self->format),
                     .height = y1 - y0,
                     .count = end - first,
                     .values = self->values + patch->first +
                               ((size_t)(number - patch->row0) * (size_t)columns + (size_t)first) *
                                   (size_t)info->channels};
    measure_blocks(&row);
  }
}

static const Patch *patch_of_task(const Work *work, int patches, int task)
{
  int least = 0, most = patches - 1;

  while (least < most) {
    const int middle = (least + most + 1) / 2;

    if (work->self->patches[middle].first_task <= task)
      least = middle;
    else
      most = middle - 1;
  }
  return &work->self->patches[least];
}

/* The rows of blocks of all patches. */
typedef struct {
  const Work *work;
  int patches;
} BlockRows;

static void measure_rows(void *context, int first, int end)
{
  const BlockRows *rows = context;
  const Work *work = rows->work;

  for (int task = first; task < end; task++) {
    const Patch *patch = patch_of_task(work, rows->patches, task);

    measure_row(work, patch, patch->row0 + task - patch->first_task,
                &work->self->scratch[cf_thread_index()]);
  }
}

/* ---- Covered samples ---- */

/* Part of a row of samples. */
typedef struct {
  const Work *work;
  const CfPlaneFormat *info;
  int plane, x0, y, count;
  const uint8_t *source; /* its first sample */
  uint8_t *destination;
} Stretch;

static void fill(uint8_t *to, const uint8_t *pixel, size_t pixel_bytes, int count)
{
  if (pixel_bytes == 1) {
    memset(to, pixel[0], (size_t)count);
    return;
  }
  for (int i = 0; i < count; i++, to += pixel_bytes) {
    if (pixel_bytes == 4)
      memcpy(to, pixel, 4);
    else if (pixel_bytes == 2)
      memcpy(to, pixel, 2);
    else
      memcpy(to, pixel, 3);
  }
}

/* The raw samples of a block as they lie in memory. */
static void draw_pixel(const Stretch *stretch, const Patch *patch, int column, int row,
                       uint8_t *pixel)
{
  const int channels = stretch->info->channels;
  const size_t block = (size_t)(row - patch->row0) * (size_t)(patch->column1 - patch->column0) +
                       (size_t)(column - patch->column0);
  const uint16_t *values = stretch->work->self->values + patch->first + block * (size_t)channels;

  for (int k = 0; k < channels; k++) {
    if (stretch->work->self->format->bits > 8)
      memcpy(pixel + 2 * k, &values[k], 2);
    else
      pixel[k] = (uint8_t)values[k];
  }
}

/* Samples i.. of one block and one coverage; returns the first that is not. */
static int fill_run(const Stretch *stretch, const uint16_t *coverage, const int *owner, int i)
{
  const Work *work = stretch->work;
  const CfFormatInfo *format = work->self->format;
  const bool single = work->patches_a_plane == 1;
  const Patch *patch =
      &work->self->patches[stretch->plane * work->patches_a_plane + (single ? 0 : owner[i])];
  const CfGrid *grid = &patch->grid;
  const size_t pixel_bytes = (size_t)stretch->info->channels * (size_t)cf_sample_bytes(format);
  const int column =
      cf_grid_block(grid->x, grid->width, stretch->info->subsampling_x, stretch->x0 + i);
  const int row = cf_grid_block(grid->y, grid->height, stretch->info->subsampling_y, stretch->y);
  const int limit = stretch->x0 + stretch->count;
  const int last =
      cf_grid_start(grid->x, grid->width, stretch->info->subsampling_x, column + 1, limit) -
      stretch->x0;
  uint8_t pixel[2 * CF_MAX_CHANNELS];
  int end = i + 1;

  while (end < last && coverage[end] == coverage[i] && (single || owner[end] == owner[i]))
    end++;
  draw_pixel(stretch, patch, column, row, pixel);
  if (coverage[i] == CF_COVERED) {
    fill(stretch->destination + (size_t)i * pixel_bytes, pixel, pixel_bytes, end - i);
    return end;
  }
  for (int x = i; x < end; x++) {
    const size_t at = (size_t)x * pixel_bytes;
    cf_compose_pixel(format, stretch->info, stretch->destination + at, stretch->source + at, pixel,
                     coverage[i]);
  }
  return end;
}

static void copy(uint8_t *to, const uint8_t *from, size_t bytes)
{
  if (to != from)
    memcpy(to, from, bytes);
}

static void fill_stretch(const Stretch *stretch)
{
  const Work *work = stretch->work;
  const size_t pixel_bytes =
      (size_t)stretch->info->channels * (size_t)cf_sample_bytes(work->self->format);
  uint16_t coverage[CF_COVERAGE_SAMPLES];
  int owner[CF_COVERAGE_SAMPLES];

  if (!cf_coverage_line(&work->self->video, work->job->regions, stretch->plane, stretch->y,
                        stretch->x0, stretch->count, coverage,
                        work->patches_a_plane > 1 ? owner : NULL)) {
    copy(stretch->destination, stretch->source, (size_t)stretch->count * pixel_bytes);
    return;
  }
  for (int i = 0, end; i < stretch->count; i = end) {
    if (coverage[i]) {
      end = fill_run(stretch, coverage, owner, i);
      continue;
    }
    for (end = i + 1; end < stretch->count && !coverage[end];)
      end++;
    copy(stretch->destination + (size_t)i * pixel_bytes, stretch->source + (size_t)i * pixel_bytes,
         (size_t)(end - i) * pixel_bytes);
  }
}

static void fill_row(const Work *work, int p, CfRect rect, int y)
{
  const CfFormatInfo *format = work->self->format;
  const size_t pixel_bytes = (size_t)format->plane[p].channels * (size_t)cf_sample_bytes(format);
  const uint8_t *from = work->job->source.data[p] + y * work->job->source.stride[p];
  uint8_t *to = work->job->destination.data[p] + y * work->job->destination.stride[p];

  if (y < rect.y0 || y >= rect.y1) {
    copy(to, from, cf_row_bytes(&work->self->video, p));
    return;
  }
  copy(to, from, (size_t)rect.x0 * pixel_bytes);
  copy(to + (size_t)rect.x1 * pixel_bytes, from + (size_t)rect.x1 * pixel_bytes,
       cf_row_bytes(&work->self->video, p) - (size_t)rect.x1 * pixel_bytes);
  for (int x = rect.x0; x < rect.x1; x += CF_COVERAGE_SAMPLES) {
    const Stretch stretch = {.work = work,
                             .info = &format->plane[p],
                             .plane = p,
                             .x0 = x,
                             .y = y,
                             .count = rect.x1 - x < CF_COVERAGE_SAMPLES ? rect.x1 - x
                                                                        : CF_COVERAGE_SAMPLES,
                             .source = from + (size_t)x * pixel_bytes,
                             .destination = to + (size_t)x * pixel_bytes};
    fill_stretch(&stretch);
  }
}

/* The rows of a plane. */
typedef struct {
  const Work *work;
  int plane, first;
  CfRect rect;
} SampleRows;

static void fill_rows(void *context, int first, int end)
{
  const SampleRows *rows = context;

  for (int y = rows->first + first; y < rows->first + end; y++)
    fill_row(rows->work, rows->plane, rows->rect, y);
}

static void fill_all(const Work *work)
{
  const int threads = work->self->threads;
  const CfVideo *video = &work->self->video;
  const CfRect bounds = cf_coverage_bounds(video, work->job->regions);

  for (int p = 0; p < work->self->format->planes; p++) {
    const CfRect rect = cf_plane_rect(video, p, bounds);
    const bool in_place = work->job->source.data[p] == work->job->destination.data[p];
    const int first = in_place ? rect.y0 : 0, end = in_place ? rect.y1 : cf_plane_height(video, p);

    SampleRows rows = {.work = work, .plane = p, .first = first, .rect = rect};

    cf_parallel_for(threads, end - first, cf_even_grain(threads, end - first), fill_rows, &rows);
  }
}

/* ---- A job ---- */

static bool reserve(void **array, size_t item_bytes, size_t count, CfStatus *status)
{
  void *larger = realloc(*array, count * item_bytes);

  if (!larger)
    return cf_fail(status, CF_ERROR_NO_MEMORY,
                   "blockavg: no memory for the %zu bytes of the blocks of all regions",
                   count * item_bytes);
  *array = larger;
  return true;
}

static void plan_patch(const Work *work, Patch *patch, int p, int region)
{
  const CfPlaneFormat *info = &work->self->format->plane[p];
  const CfRegions *regions = work->job->regions;
  const CfVideo *video = &work->self->video;
  const CfRect rect = region < 0 ? cf_plane_rect(video, p, cf_coverage_bounds(video, regions))
                                 : region_rect(work, p, region);

  CfShape shape;

  *patch = (Patch){.plane = p, .region = region, .grid = {0, 0, 1, 1}};
  if (cf_rect_is_empty(rect))
    return;
  if (region >= 0 && cf_shape_make(&shape, video, regions, &regions->region[region]))
    patch->grid = cf_mosaic_region_grid(work->params, &shape);
  else
    patch->grid = cf_mosaic_frame_grid(work->params, video, regions->field);
  patch->column0 = cf_grid_block(patch->grid.x, patch->grid.width, info->subsampling_x, rect.x0);
  patch->column1 =
      cf_grid_block(patch->grid.x, patch->grid.width, info->subsampling_x, rect.x1 - 1) + 1;
  patch->row0 = cf_grid_block(patch->grid.y, patch->grid.height, info->subsampling_y, rect.y0);
  patch->row1 =
      cf_grid_block(patch->grid.y, patch->grid.height, info->subsampling_y, rect.y1 - 1) + 1;
}

bool cf_block_regions_run(CfBlockRegions *self, const CfBlockavgParams *params,
                          const CfBlockReduction *reduction, int option, const CfJob *job,
                          CfStatus *status)
{
  const bool single = cf_mosaic_is_single(params, job->regions);
  const int grids = single || job->regions->count == 0 ? 1 : job->regions->count;
  const int patches = grids * self->format->planes;
  const Work work = {.self = self,
                     .params = params,
                     .reduction = reduction,
                     .option = option,
                     .job = job,
                     .patches_a_plane = grids};
  size_t values = 0;
  int tasks = 0;

  if (patches > self->patch_capacity) {
    if (!reserve((void **)&self->patches, sizeof *self->patches, (size_t)patches, status))
      return false;
    self->patch_capacity = patches;
  }
  for (int i = 0; i < patches; i++) {
    Patch *patch = &self->patches[i];

    plan_patch(&work, patch, i / grids, single || job->regions->count == 0 ? -1 : i % grids);
    patch->first = values;
    patch->first_task = tasks;
    tasks += patch->row1 - patch->row0;
    values += (size_t)(patch->row1 - patch->row0) * (size_t)(patch->column1 - patch->column0) *
              (size_t)self->format->plane[patch->plane].channels;
  }
  if (values > self->value_capacity) {
    if (!reserve((void **)&self->values, sizeof *self->values, values, status))
      return false;
    self->value_capacity = values;
  }
  cf_parallel_for(self->threads, tasks, 1, measure_rows, &(BlockRows){&work, patches});
  fill_all(&work);
  return true;
}

static size_t lay_out(CfBlockRegions *self)
{
  const size_t blocks = (size_t)self->video.width + 2, samples = blocks * CF_MAX_CHANNELS;
  CfArena arena = {.base = self->memory};

  for (int i = 0; i < self->threads; i++) {
    Scratch *scratch = &self->scratch[i];

    scratch->columns = cf_arena_take(&arena, samples * sizeof(uint32_t));
    scratch->results = cf_arena_take(&arena, samples * sizeof *scratch->results);
    scratch->weighted = cf_arena_take(&arena, samples * sizeof *scratch->weighted);
    scratch->inverse_widths = cf_arena_take(&arena, samples * sizeof *scratch->inverse_widths);
    scratch->edges = cf_arena_take(&arena, (blocks + 1) * sizeof *scratch->edges);
    scratch->wanted = cf_arena_take(&arena, blocks);
  }
  return arena.used;
}

CfBlockRegions *cf_block_regions_new(const CfVideo *video, int threads)
{
  CfBlockRegions *self = calloc(1, sizeof *self + (size_t)threads * sizeof self->scratch[0]);

  if (!self)
    return NULL;
  self->video = *video;
  self->format = cf_format_info(video->format);
  self->threads = threads;
  self->memory = cf_aligned_alloc(lay_out(self));
  if (!self->memory) {
    cf_block_regions_free(self);
    return NULL;
  }
  lay_out(self);
  return self;
}

void cf_block_regions_free(CfBlockRegions *self)
{
  if (!self)
    return;
  free(self->patches);
  free(self->values);
  free(self->memory);
  free(self);
}
