/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Block average: each row of blocks becomes one value per block and channel. Without regions these
 * become a line of pixels, which is copied to all rows of the blocks: the picture is read once and
 * written once. With regions a first loop computes all values, and a second one draws covered
 * samples, since blocks of different grids may overlap each other and, in place, samples that are
 * still to be read.
 */
#include "blockavg.h"

#include <stdlib.h>
#include <string.h>

#include "cpu/blockavg/lines.h"
#include "cpu/common/memory.h"
#include "cpu/common/parallel.h"
#include "cpu/regions/blend.h"
#include "plan/int_math.h"
#include "plan/mosaic.h"

/* Rows of blocks are cut into at most MOST_SPANS spans where there are fewer than TASKS_A_THREAD
 * rows per thread. A span has at least SMALLEST_SPAN bytes per row, below which memory is slow. */
#define MOST_SPANS     8
#define SMALLEST_SPAN  1024
#define TASKS_A_THREAD 4

/* Parts of the loop per thread, where there are enough tasks. */
#define CHUNKS_A_THREAD 16

/* Luma rows per task where one colour is filled in. */
#define FILL_ROWS 64

/* The blocks of one grid in one plane that regions may cover. */
typedef struct {
  CfGrid grid;
  int region; /* -1: all regions share the grid */
  int plane;
  int column0, column1, row0, row1; /* blocks of the grid: columns column0..column1 - 1, likewise
                                       rows */
  int first_task;                   /* each row of blocks is one task, or `spans` tasks */

  /* Per column of blocks: where it starts, as an index of samples (pixels times channels), with the
   * end of the last one as entry column1 - column0; and 1 / width in pixels, repeated for each
   * channel. */
  int *edges;
  double *inverse_widths;
  uint16_t *values; /* with regions: raw samples of all blocks, row by row */
} Patch;

/* Scratch of one thread, for rows of blocks as small as one luma pixel. */
typedef struct {
  CfBlockScratch row;
  uint16_t *values; /* raw samples of one row of blocks */
  uint8_t *wanted;  /* per block: whether some region touches it */
  uint8_t *line;    /* one row of pixels */
} Scratch;

typedef struct {
  CfVideo video;
  const CfFormatInfo *format;
  CfBlockavgParams params;
  uint16_t colour[CF_MAX_PLANES][CF_MAX_CHANNELS]; /* of CF_BLOCKAVG_FILL, as raw samples */
  uint8_t *colour_line[CF_MAX_PLANES];             /* CF_COVERAGE_SAMPLES pixels of that colour */
  int threads;
  CfCoverage coverage;
  CfBuffer patches, blocks; /* Patch; the arrays of all patches */
  uint8_t *memory;          /* lines and scratch */
  Scratch scratch[];        /* one for each thread */
} State;

/* One job. */
typedef struct {
  const State *state;
  const CfJob *job;
  Patch *patches; /* `grids` per plane, planes one after the other */
  int grids, count;
  int spans; /* tasks that each row of blocks is cut into */
} Work;

/* ---- Values of blocks ---- */

static int channels_of(const Work *work, const Patch *patch)
{
  return work->state->format->plane[patch->plane].channels;
}

/* The rows of samples y0..y1 - 1 of a row of blocks. */
static void find_rows(const Work *work, const Patch *patch, int row, int *y0, int *y1)
{
  const int sy = work->state->format->plane[patch->plane].subsampling_y;
  const int limit = cf_plane_height(&work->state->video, patch->plane);

  *y0 = cf_grid_start(patch->grid.y, patch->grid.height, sy, row, limit);
  *y1 = cf_grid_start(patch->grid.y, patch->grid.height, sy, row + 1, limit);
}

/* Reduces blocks first..end - 1 of a patch, in the rows of samples y0..y1 - 1, to raw samples. */
static void measure(const Work *work, const Patch *patch, int y0, int y1, int first, int end,
                    const Scratch *scratch, uint16_t *values)
{
  const State *state = work->state;
  const int channels = channels_of(work, patch);
  const CfBlockRow row = {.video = &state->video,
                          .info = &state->format->plane[patch->plane],
                          .source = cf_row(&work->job->source, patch->plane, y0),
                          .stride = work->job->source.stride[patch->plane],
                          .height = y1 - y0,
                          .count = end - first,
                          .edges = patch->edges + first,
                          .inverse_widths = patch->inverse_widths + first * channels,
                          .weighted = patch->grid.width > 1 || patch->grid.height > 1};

  if (state->params.mode == CF_BLOCKAVG_FILL)
    memcpy(values, state->colour[patch->plane], (size_t)channels * sizeof *values);
  else
    cf_block_row_measure(&row, state->params.mode, &scratch->row, values);
}

/* The raw samples of a block; row and column count from the first block of the patch. */
static uint16_t *values_of(const Work *work, const Patch *patch, int row, int column)
{
  const size_t block = (size_t)row * (size_t)(patch->column1 - patch->column0) + (size_t)column;

  return patch->values + block * (size_t)channels_of(work, patch);
}

static CfRect region_rect(const Work *work, int plane, int region)
{
  return cf_plane_rect(&work->state->video, plane, work->state->coverage.region[region].bounds);
}

/* Marks the blocks of a row that some region touches. Only a grid that all regions share has
 * others. */
static void choose_blocks(const Work *work, const Patch *patch, int y0, int y1, uint8_t *wanted)
{
  const int sx = work->state->format->plane[patch->plane].subsampling_x;
  const CfCoverage *coverage = &work->state->coverage;
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

/* A task with regions: computes the values of row `number` of a patch. */
static void measure_row(const Work *work, const Patch *patch, int number, const Scratch *scratch)
{
  const int columns = patch->column1 - patch->column0;
  const uint8_t *wanted = scratch->wanted;
  int y0, y1;

  find_rows(work, patch, patch->row0 + number, &y0, &y1);
  if (y0 >= y1)
    return;
  choose_blocks(work, patch, y0, y1, scratch->wanted);
  for (int first = 0, end; first < columns; first = end) {
    for (end = first + 1; end < columns && wanted[end] == wanted[first];)
      end++;
    if (wanted[first])
      measure(work, patch, y0, y1, first, end, scratch, values_of(work, patch, number, first));
  }
}

/* A task without regions: filters a span of row `number` of a patch. */
static void filter_span(const Work *work, const Patch *patch, int number, int span,
                        const Scratch *scratch)
{
  const int columns = patch->column1 - patch->column0;
  const int first = columns * span / work->spans, end = columns * (span + 1) / work->spans;
  const int *edges = patch->edges + first;
  const int bytes = cf_sample_bytes(work->state->format);
  const ptrdiff_t start = (ptrdiff_t)edges[0] * bytes;
  const size_t length = (size_t)(edges[end - first] - edges[0]) * (size_t)bytes;
  int y0, y1;

  find_rows(work, patch, number, &y0, &y1);
  if (y0 >= y1 || first == end)
    return;
  measure(work, patch, y0, y1, first, end, scratch, scratch->values);
  cf_block_fill(scratch->line, scratch->values, edges, end - first, channels_of(work, patch),
                bytes);
  for (int y = y0; y < y1; y++)
    memcpy(cf_row(&work->job->destination, patch->plane, y) + start, scratch->line + start, length);
}

static const Patch *patch_of_task(const Work *work, int task)
{
  int least = 0, most = work->count - 1;

  while (least < most) {
    const int middle = (least + most + 1) / 2;

    if (work->patches[middle].first_task <= task)
      least = middle;
    else
      most = middle - 1;
  }
  return &work->patches[least];
}

static void run_tasks(void *context, int first, int end)
{
  const Work *work = context;
  const Scratch *scratch = &work->state->scratch[cf_thread_index()];

  for (int task = first; task < end; task++) {
    const Patch *patch = patch_of_task(work, task);
    const int part = task - patch->first_task;

    if (work->job->regions)
      measure_row(work, patch, part, scratch);
    else
      filter_span(work, patch, part / work->spans, part % work->spans, scratch);
  }
}

/* CfFiltered.row: each covered sample gets the value of its block, from the grid of its owner. */
static const uint8_t *draw_row(void *context, int p, int y, int x0, int count,
                               const uint16_t *coverage, const int *owner)
{
  const Work *work = context;
  const CfFormatInfo *format = work->state->format;
  const CfPlaneFormat *info = &format->plane[p];
  uint8_t *line = work->state->scratch[cf_thread_index()].line;

  if (work->state->params.mode == CF_BLOCKAVG_FILL)
    return work->state->colour_line[p];
  for (int i = 0, end; i < count; i = end) {
    end = i + 1;
    if (!coverage[i])
      continue;
    const Patch *patch = &work->patches[p * work->grids + (owner ? owner[i] : 0)];
    const CfGrid *grid = &patch->grid;
    const int column = cf_grid_block(grid->x, grid->width, info->subsampling_x, x0 + i);
    const int row = cf_grid_block(grid->y, grid->height, info->subsampling_y, y);
    const int last =
        cf_grid_start(grid->x, grid->width, info->subsampling_x, column + 1, x0 + count) - x0;

    while (end < last && coverage[end] && (!owner || owner[end] == owner[i]))
      end++;
    cf_block_fill(line, values_of(work, patch, row - patch->row0, column - patch->column0),
                  (const int[2]){i * info->channels, end * info->channels}, 1, info->channels,
                  cf_sample_bytes(format));
  }
  return line;
}

/* ---- A job ---- */

static CfGrid grid_of(const Work *work, int region)
{
  const State *state = work->state;

  if (state->params.mode == CF_BLOCKAVG_FILL)
    return (CfGrid){0, 0, state->video.width, FILL_ROWS};
  if (region >= 0)
    return cf_mosaic_region_grid(&state->params, &state->coverage.region[region].shape);
  return cf_mosaic_frame_grid(&state->params, &state->video);
}

static void plan_patch(const Work *work, Patch *patch, int p, int region)
{
  const State *state = work->state;
  const CfPlaneFormat *info = &state->format->plane[p];
  const CfRect frame = {0, 0, state->video.width, state->video.height};
  const CfRect luma = work->job->regions ? state->coverage.bounds : frame;
  const CfRect rect =
      region < 0 ? cf_plane_rect(&state->video, p, luma) : region_rect(work, p, region);

  *patch = (Patch){.plane = p, .region = region, .grid = {0, 0, 1, 1}};
  if (cf_rect_is_empty(rect))
    return;
  patch->grid = grid_of(work, region);
  patch->column0 = cf_grid_block(patch->grid.x, patch->grid.width, info->subsampling_x, rect.x0);
  patch->column1 =
      cf_grid_block(patch->grid.x, patch->grid.width, info->subsampling_x, rect.x1 - 1) + 1;
  patch->row0 = cf_grid_block(patch->grid.y, patch->grid.height, info->subsampling_y, rect.y0);
  patch->row1 =
      cf_grid_block(patch->grid.y, patch->grid.height, info->subsampling_y, rect.y1 - 1) + 1;
}

/* Places the arrays of all patches; returns their bytes. */
static size_t lay_out_patches(const Work *work, void *memory)
{
  CfArena arena = {.base = memory};

  for (int i = 0; i < work->count; i++) {
    Patch *patch = &work->patches[i];
    const size_t columns = (size_t)(patch->column1 - patch->column0);
    const size_t values = columns * (size_t)channels_of(work, patch);
    const size_t rows = work->job->regions ? (size_t)(patch->row1 - patch->row0) : 0;

    patch->edges = cf_arena_take(&arena, (columns + 1) * sizeof *patch->edges);
    patch->inverse_widths = cf_arena_take(&arena, values * sizeof *patch->inverse_widths);
    patch->values = cf_arena_take(&arena, rows * values * sizeof *patch->values);
  }
  return arena.used;
}

static void find_columns(const Work *work, Patch *patch)
{
  const int channels = channels_of(work, patch), columns = patch->column1 - patch->column0;
  const int sx = work->state->format->plane[patch->plane].subsampling_x;
  const int limit = cf_plane_width(&work->state->video, patch->plane);

  for (int i = 0; i <= columns; i++)
    patch->edges[i] =
        channels * cf_grid_start(patch->grid.x, patch->grid.width, sx, patch->column0 + i, limit);
  for (int i = 0; i < columns; i++) {
    const int width = patch->edges[i + 1] - patch->edges[i];
    const double inverse = width ? (double)channels / width : 0.0;

    for (int k = 0; k < channels; k++)
      patch->inverse_widths[i * channels + k] = inverse;
  }
}

/* Prepares the patches; returns the number of tasks, or -1 when out of memory. */
static int plan(State *state, Work *work, CfStatus *status)
{
  const CfRegions *regions = work->job->regions;
  const bool single = cf_mosaic_is_single(&state->params, regions) || regions->count == 0 ||
                      state->params.mode == CF_BLOCKAVG_FILL;
  const int most = (int)(cf_row_bytes(&state->video, 0) / SMALLEST_SPAN);
  int rows = 0;

  work->grids = single ? 1 : regions->count;
  work->count = work->grids * state->format->planes;
  if (!cf_buffer_reserve(&state->patches, (size_t)work->count * sizeof(Patch), "regions", status))
    return -1;
  work->patches = state->patches.base;
  for (int i = 0; i < work->count; i++) {
    plan_patch(work, &work->patches[i], i / work->grids, single ? -1 : i % work->grids);
    rows += work->patches[i].row1 - work->patches[i].row0;
  }
  if (!cf_buffer_reserve(&state->blocks, lay_out_patches(work, NULL), "the blocks of all regions",
                         status))
    return -1;
  lay_out_patches(work, state->blocks.base);
  work->spans = regions ? 1
                        : cf_clamp(cf_divide_up(TASKS_A_THREAD * state->threads, rows), 1,
                                   cf_clamp(most, 1, MOST_SPANS));
  rows = 0;
  for (int i = 0; i < work->count; i++) {
    find_columns(work, &work->patches[i]);
    work->patches[i].first_task = rows * work->spans;
    rows += work->patches[i].row1 - work->patches[i].row0;
  }
  return rows * work->spans;
}

static bool run(void *user_data, const CfJob *job, CfStatus *status)
{
  State *state = user_data;
  Work work = {.state = state, .job = job};
  int tasks;

  if (job->regions && !cf_coverage_set(&state->coverage, &state->video, job->regions, status))
    return false;
  tasks = plan(state, &work, status);
  if (tasks < 0)
    return false;
  cf_parallel_for(state->threads, tasks, cf_max(1, tasks / (CHUNKS_A_THREAD * state->threads)),
                  run_tasks, &work);
  if (job->regions)
    cf_blend(&state->coverage, &job->source, &(CfFiltered){draw_row, &work, work.grids > 1},
             &job->destination, state->threads);
  return true;
}

/* ---- The engine ---- */

static bool update(void *user_data, const void *params, CfStatus *status)
{
  State *state = user_data;

  state->params = *(const CfBlockavgParams *)params;
  for (int p = 0; p < state->format->planes; p++) {
    const CfPlaneFormat *info = &state->format->plane[p];
    const int channels = info->channels;

    for (int k = 0; k < channels; k++)
      state->colour[p][k] =
          (uint16_t)(cf_color_code(&state->video, state->params.fill_color, info->role[k])
                     << state->format->shift);
    cf_block_fill(state->colour_line[p], state->colour[p],
                  (const int[2]){0, CF_COVERAGE_SAMPLES * channels}, 1, channels,
                  cf_sample_bytes(state->format));
  }
  return true;
}

/* Scratch for blocks of any size. */
static void lay_out(CfArena *arena, void *self)
{
  State *state = self;
  const size_t blocks = (size_t)state->video.width + 2, samples = blocks * CF_MAX_CHANNELS;

  for (int p = 0; p < state->format->planes; p++)
    state->colour_line[p] =
        cf_arena_take(arena, CF_COVERAGE_SAMPLES * 2 * CF_MAX_CHANNELS + CF_BLOCK_FILL_SLACK);
  for (int i = 0; i < state->threads; i++) {
    Scratch *scratch = &state->scratch[i];

    scratch->row.columns = cf_arena_take(arena, samples * sizeof(uint32_t));
    scratch->row.results = cf_arena_take(arena, samples * sizeof(double));
    scratch->row.weighted = cf_arena_take(arena, samples * sizeof(double));
    scratch->values = cf_arena_take(arena, samples * sizeof *scratch->values);
    scratch->wanted = cf_arena_take(arena, blocks);
    scratch->line = cf_arena_take(arena, 2 * samples + CF_BLOCK_FILL_SLACK);
  }
}

static void close_state(void *user_data)
{
  State *state = user_data;

  cf_coverage_clear(&state->coverage);
  free(state->patches.base);
  free(state->blocks.base);
  free(state->memory);
  free(state);
}

static void *open_state(const CfVideo *video, const void *params, const CfOpenOptions *options,
                        CfStatus *status)
{
  const int threads = cf_min(cf_thread_count(options->threads), video->height);
  State *state = calloc(1, sizeof *state + (size_t)threads * sizeof state->scratch[0]);

  if (state) {
    state->video = *video;
    state->format = cf_format_info(video->format);
    state->threads = threads;
    state->memory = cf_laid_out(lay_out, state);
  }
  if (!state || !state->memory) {
    cf_fail(status, CF_ERROR_NO_MEMORY, "blockavg: no memory for its state");
    free(state);
    return NULL;
  }
  update(state, params, status);
  return state;
}

static const char *algorithm(const void *user_data)
{
  const State *state = user_data;

  return state->params.mode == CF_BLOCKAVG_FILL      ? "fill"
         : state->params.mode == CF_BLOCKAVG_AVERAGE ? "column-sums"
                                                     : "column-extremes";
}

const CfEngine cf_blockavg_cpu = {
    .name = "cpu",
    .in_place = true,
    .open = open_state,
    .update = update,
    .run = run,
    .algorithm = algorithm,
    .close = close_state,
    .regions = true,
};
