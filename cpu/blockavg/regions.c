/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cpu/blockavg/regions.h"

#include <stdlib.h>
#include <string.h>

#include "cpu/common/memory.h"
#include "cpu/common/parallel.h"
#include "cpu/regions/blend.h"
#include "plan/mosaic.h"

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
  CfBlockScratch row;
  double *inverse_widths;
  int *edges;      /* samples */
  uint8_t *wanted; /* blocks, one byte each */
  uint8_t *line;   /* CF_COVERAGE_SAMPLES pixels */
} Scratch;

struct CfBlockRegions {
  CfVideo video;
  const CfFormatInfo *format;
  int threads;
  uint8_t *memory;

  Patch *patches;   /* for each plane one, or one for each region */
  uint16_t *values; /* raw samples of all blocks */
  CfCoverage coverage;
  CfBuffer patch_memory, value_memory;

  Scratch scratch[];
};

/* One job. */
typedef struct {
  const CfBlockRegions *self;
  const CfBlockavgParams *params;
  const CfJob *job;
  int patches_a_plane;
} Work;

/* ---- Colours of blocks ---- */

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
  return cf_plane_rect(&work->self->video, plane, work->self->coverage.region[region].bounds);
}

/* Of a grid that all regions share, only the blocks that some region touches are worth their time.
 */
static void choose_blocks(const Work *work, const Patch *patch, int y0, int y1, uint8_t *wanted)
{
  const int sx = work->self->format->plane[patch->plane].subsampling_x;
  const CfCoverage *coverage = &work->self->coverage;
  const bool all = patch->region >= 0 || coverage->rule.outside;

  memset(wanted, all, (size_t)(patch->column1 - patch->column0));
  for (int i = 0; !all && i < coverage->count; i++) {
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
    for (int i = 0; i < (end - first) * info->channels; i++) {
      const int *edge = scratch->edges + i / info->channels, width = edge[1] - edge[0];
      scratch->inverse_widths[i] = width ? (double)info->channels / width : 0.0;
    }
    const CfBlockRow row = {.video = &self->video,
                            .info = info,
                            .source =
                                work->job->source.data[p] + y0 * work->job->source.stride[p] +
                                (ptrdiff_t)x0 * info->channels * cf_sample_bytes(self->format),
                            .stride = work->job->source.stride[p],
                            .height = y1 - y0,
                            .count = end - first,
                            .edges = scratch->edges,
                            .inverse_widths = scratch->inverse_widths,
                            .weighted = patch->grid.width > 1 || patch->grid.height > 1};
    cf_block_row_measure(&row, work->params->mode, &scratch->row,
                         self->values + patch->first +
                             ((size_t)(number - patch->row0) * (size_t)columns + (size_t)first) *
                                 (size_t)info->channels);
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
static void draw_pixel(const Work *work, const Patch *patch, int column, int row, uint8_t *pixel)
{
  const int channels = work->self->format->plane[patch->plane].channels;
  const size_t block = (size_t)(row - patch->row0) * (size_t)(patch->column1 - patch->column0) +
                       (size_t)(column - patch->column0);
  const uint16_t *values = work->self->values + patch->first + block * (size_t)channels;

  for (int k = 0; k < channels; k++) {
    if (work->self->format->bits > 8)
      memcpy(pixel + 2 * k, &values[k], 2);
    else
      pixel[k] = (uint8_t)values[k];
  }
}

/* The `row` of CfFiltered: every covered sample gets the value of its block. */
static const uint8_t *draw_row(void *context, int p, int y, int x0, int count,
                               const uint16_t *coverage, const int *owner)
{
  const Work *work = context;
  const CfFormatInfo *format = work->self->format;
  const CfPlaneFormat *info = &format->plane[p];
  const size_t pixel_bytes = (size_t)info->channels * (size_t)cf_sample_bytes(format);
  uint8_t *line = work->self->scratch[cf_thread_index()].line;

  for (int i = 0, end; i < count; i = end) {
    end = i + 1;
    if (!coverage[i])
      continue;
    const Patch *patch = &work->self->patches[p * work->patches_a_plane + (owner ? owner[i] : 0)];
    const CfGrid *grid = &patch->grid;
    const int column = cf_grid_block(grid->x, grid->width, info->subsampling_x, x0 + i);
    const int row = cf_grid_block(grid->y, grid->height, info->subsampling_y, y);
    const int last =
        cf_grid_start(grid->x, grid->width, info->subsampling_x, column + 1, x0 + count) - x0;
    uint8_t pixel[2 * CF_MAX_CHANNELS];

    while (end < last && coverage[end] && (!owner || owner[end] == owner[i]))
      end++;
    draw_pixel(work, patch, column, row, pixel);
    fill(line + (size_t)i * pixel_bytes, pixel, pixel_bytes, end - i);
  }
  return line;
}

/* ---- A job ---- */

static void plan_patch(const Work *work, Patch *patch, int p, int region)
{
  const CfPlaneFormat *info = &work->self->format->plane[p];
  const CfCoverage *coverage = &work->self->coverage;
  const CfVideo *video = &work->self->video;
  const CfRect rect =
      region < 0 ? cf_plane_rect(video, p, coverage->bounds) : region_rect(work, p, region);

  *patch = (Patch){.plane = p, .region = region, .grid = {0, 0, 1, 1}};
  if (cf_rect_is_empty(rect))
    return;
  if (region >= 0)
    patch->grid = cf_mosaic_region_grid(work->params, &coverage->region[region].shape);
  else
    patch->grid = cf_mosaic_frame_grid(work->params, video, work->job->regions->field);
  patch->column0 = cf_grid_block(patch->grid.x, patch->grid.width, info->subsampling_x, rect.x0);
  patch->column1 =
      cf_grid_block(patch->grid.x, patch->grid.width, info->subsampling_x, rect.x1 - 1) + 1;
  patch->row0 = cf_grid_block(patch->grid.y, patch->grid.height, info->subsampling_y, rect.y0);
  patch->row1 =
      cf_grid_block(patch->grid.y, patch->grid.height, info->subsampling_y, rect.y1 - 1) + 1;
}

bool cf_block_regions_run(CfBlockRegions *self, const CfBlockavgParams *params, const CfJob *job,
                          CfStatus *status)
{
  const bool single = cf_mosaic_is_single(params, job->regions);
  const int grids = single || job->regions->count == 0 ? 1 : job->regions->count;
  const int patches = grids * self->format->planes;
  Work work = {.self = self, .params = params, .job = job, .patches_a_plane = grids};
  size_t values = 0;
  int tasks = 0;

  if (!cf_coverage_set(&self->coverage, &self->video, job->regions, status))
    return false;
  if (!cf_buffer_reserve(&self->patch_memory, (size_t)patches * sizeof(Patch), "regions", status))
    return false;
  self->patches = self->patch_memory.base;
  for (int i = 0; i < patches; i++) {
    Patch *patch = &self->patches[i];

    plan_patch(&work, patch, i / grids, single || job->regions->count == 0 ? -1 : i % grids);
    patch->first = values;
    patch->first_task = tasks;
    tasks += patch->row1 - patch->row0;
    values += (size_t)(patch->row1 - patch->row0) * (size_t)(patch->column1 - patch->column0) *
              (size_t)self->format->plane[patch->plane].channels;
  }
  if (!cf_buffer_reserve(&self->value_memory, values * sizeof(uint16_t),
                         "the blocks of all regions", status))
    return false;
  self->values = self->value_memory.base;
  cf_parallel_for(self->threads, tasks, 1, measure_rows, &(BlockRows){&work, patches});
  cf_blend(&self->coverage, &job->source, &(CfFiltered){draw_row, &work, grids > 1},
           &job->destination, self->threads);
  return true;
}

static size_t lay_out(CfBlockRegions *self)
{
  const size_t blocks = (size_t)self->video.width + 2, samples = blocks * CF_MAX_CHANNELS;
  CfArena arena = {.base = self->memory};

  for (int i = 0; i < self->threads; i++) {
    Scratch *scratch = &self->scratch[i];

    scratch->row.columns = cf_arena_take(&arena, samples * sizeof(uint32_t));
    scratch->row.results = cf_arena_take(&arena, samples * sizeof(double));
    scratch->row.weighted = cf_arena_take(&arena, samples * sizeof(double));
    scratch->inverse_widths = cf_arena_take(&arena, samples * sizeof(double));
    scratch->edges = cf_arena_take(&arena, (blocks + 1) * sizeof *scratch->edges);
    scratch->wanted = cf_arena_take(&arena, blocks);
    scratch->line = cf_arena_take(&arena, 2 * CF_MAX_CHANNELS * CF_COVERAGE_SAMPLES);
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
  cf_coverage_clear(&self->coverage);
  free(self->patch_memory.base);
  free(self->value_memory.base);
  free(self->memory);
  free(self);
}
