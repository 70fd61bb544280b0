/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The definition of the block average, computed literally in integers.
 */
#include "blockavg.h"

#include <stdlib.h>

#include "cpu/common/samples.h"
#include "plan/coverage_frame.h"
#include "plan/mosaic.h"

/* The block that a sample belongs to, and the colour of that block. */
typedef struct {
  int owner, column, row; /* index of the region whose grid the block is in; -1: not set */
  uint64_t codes[CF_MAX_CHANNELS];
} Cell;

typedef struct {
  CfVideo video;
  CfBlockavgParams params;
  Cell *line;      /* the block of the last sample in each column */
  uint8_t *memory; /* a copy of the source plane, since blocks of different grids overlap */
  CfCoverage coverage;
} State;

/* One plane of a job. */
typedef struct {
  const State *state;
  const CfRegions *regions; /* NULL: everywhere */
  int number;
  const CfPlaneFormat *info;
  CfSamples source, destination;
} Plane;

/* ---- Colours of blocks ---- */

static uint64_t read_code(const Plane *plane, int x, int y, int channel)
{
  return (uint64_t)cf_sample_load(&plane->source, x, y, channel);
}

/* The mean over a block, rounded half up; of colours weighted by alpha. */
static uint64_t average(const Plane *plane, const CfRect *block, int channel)
{
  const int alpha = cf_alpha_channel(plane->info);
  const bool weighted = alpha >= 0 && channel != alpha;
  uint64_t sum = 0, weight = 0;

  for (int y = block->y0; y < block->y1; y++) {
    for (int x = block->x0; x < block->x1; x++) {
      const uint64_t share = weighted ? read_code(plane, x, y, alpha) : 1;
      sum += share * read_code(plane, x, y, channel);
      weight += share;
    }
  }
  return weight ? (2 * sum + weight) / (2 * weight)
                : (uint64_t)cf_neutral_code(&plane->state->video, plane->info->role[channel]);
}

static uint64_t extreme(const Plane *plane, const CfRect *block, int channel, bool largest)
{
  uint64_t result = read_code(plane, block->x0, block->y0, channel);

  for (int y = block->y0; y < block->y1; y++) {
    for (int x = block->x0; x < block->x1; x++) {
      const uint64_t code = read_code(plane, x, y, channel);
      if (largest ? code > result : code < result)
        result = code;
    }
  }
  return result;
}

/* The code of one channel of a block. Blocks of a `single` pixel keep its colour, also where alpha
 * is 0. */
static uint64_t block_code(const Plane *plane, const CfRect *block, int channel, bool single)
{
  const CfBlockavgParams *params = &plane->state->params;

  if (params->mode == CF_BLOCKAVG_FILL)
    return (uint64_t)cf_color_code(&plane->state->video, params->fill_color,
                                   plane->info->role[channel]);
  if (params->mode == CF_BLOCKAVG_AVERAGE && !single)
    return average(plane, block, channel);
  return extreme(plane, block, channel, params->mode == CF_BLOCKAVG_MAX);
}

static void measure_block(const Plane *plane, const CfGrid *grid, Cell *cell)
{
  const int sx = plane->info->subsampling_x, sy = plane->info->subsampling_y;
  const int width = plane->source.width, height = plane->source.height;
  const CfRect block = {cf_grid_start(grid->x, grid->width, sx, cell->column, width),
                        cf_grid_start(grid->y, grid->height, sy, cell->row, height),
                        cf_grid_start(grid->x, grid->width, sx, cell->column + 1, width),
                        cf_grid_start(grid->y, grid->height, sy, cell->row + 1, height)};

  for (int channel = 0; channel < plane->info->channels; channel++)
    cell->codes[channel] =
        block_code(plane, &block, channel, grid->width == 1 && grid->height == 1);
}

static bool is_same_block(const Cell *a, const Cell *b)
{
  return a->owner == b->owner && a->column == b->column && a->row == b->row;
}

/* The block of a sample, with its colour; often that of the sample above or to the left. */
static const Cell *find_block(const Plane *plane, int x, int y, int owner)
{
  const State *state = plane->state;
  const CfRegions *regions = plane->regions;
  const bool single = !regions || cf_mosaic_is_single(&state->params, regions);
  const CfGrid grid =
      single ? cf_mosaic_frame_grid(&state->params, &state->video)
             : cf_mosaic_region_grid(&state->params, &state->coverage.region[owner].shape);
  Cell cell = {.owner = single ? 0 : owner,
               .column = cf_grid_block(grid.x, grid.width, plane->info->subsampling_x, x),
               .row = cf_grid_block(grid.y, grid.height, plane->info->subsampling_y, y)};

  if (is_same_block(&cell, &state->line[x]))
    return &state->line[x];
  if (x > 0 && is_same_block(&cell, &state->line[x - 1]))
    cell = state->line[x - 1];
  else
    measure_block(plane, &grid, &cell);
  state->line[x] = cell;
  return &state->line[x];
}

/* ---- Samples ---- */

/* Mixes the colour of its block into a sample, by its coverage. */
static void mix_pixel(const Plane *plane, int x, int y, const uint64_t *codes, uint32_t coverage)
{
  const int alpha = cf_alpha_channel(plane->info);
  uint8_t source[CF_MAX_CHANNELS], filtered[CF_MAX_CHANNELS], mixed[CF_MAX_CHANNELS];

  for (int channel = 0; channel < plane->info->channels; channel++) {
    const uint64_t code = read_code(plane, x, y, channel);

    source[channel] = (uint8_t)code;
    filtered[channel] = (uint8_t)codes[channel];
    if (alpha < 0)
      cf_sample_store(&plane->destination, x, y, channel,
                      cf_mix((uint32_t)code, (uint32_t)codes[channel], coverage));
  }
  if (alpha < 0)
    return;
  cf_mix_weighted(mixed, source, filtered, alpha, coverage);
  for (int channel = 0; channel < plane->info->channels; channel++)
    cf_sample_store(&plane->destination, x, y, channel, mixed[channel]);
}

static void filter_row(const Plane *plane, int y)
{
  for (int x = 0; x < plane->source.width; x++) {
    uint16_t coverage = CF_COVERED;
    int owner = 0;

    if (plane->regions &&
        !cf_coverage_row(&plane->state->coverage, plane->number, y, x, 1, &coverage, &owner))
      continue;
    if (coverage > 0)
      mix_pixel(plane, x, y, find_block(plane, x, y, owner)->codes, coverage);
  }
}

static void filter_plane(const State *state, const CfJob *job, int p)
{
  const CfSamples source = cf_samples_of(&state->video, &job->source, p);
  Plane plane = {.state = state,
                 .regions = job->regions,
                 .number = p,
                 .info = &source.format->plane[p],
                 .source = source,
                 .destination = cf_samples_of(&state->video, &job->destination, p)};

  plane.source.data = state->memory;
  plane.source.stride = (ptrdiff_t)cf_row_bytes(&state->video, p);
  cf_samples_copy(&source, &plane.source);
  if (plane.destination.data != source.data)
    cf_samples_copy(&source, &plane.destination);
  for (int x = 0; x < source.width; x++)
    state->line[x].owner = -1;
  for (int y = 0; y < source.height; y++)
    filter_row(&plane, y);
}

/* ---- The engine ---- */

static bool run(void *user_data, const CfJob *job, CfStatus *status)
{
  State *state = user_data;

  if (job->regions && !cf_coverage_set(&state->coverage, &state->video, job->regions, status))
    return false;
  for (int p = 0; p < cf_format_info(state->video.format)->planes; p++)
    filter_plane(state, job, p);
  return true;
}

static bool update(void *user_data, const void *params, CfStatus *status)
{
  State *state = user_data;

  state->params = *(const CfBlockavgParams *)params;
  return true;
}

static void close_state(void *user_data)
{
  State *state = user_data;

  cf_coverage_clear(&state->coverage);
  free(state->line);
  free(state->memory);
  free(state);
}

static void *open_state(const CfVideo *video, const void *params, const CfOpenOptions *options,
                        CfStatus *status)
{
  State *state = calloc(1, sizeof *state);
  size_t bytes = 0;

  for (int p = 0; p < cf_format_info(video->format)->planes; p++) {
    const size_t plane_bytes = cf_row_bytes(video, p) * (size_t)cf_plane_height(video, p);
    bytes = plane_bytes > bytes ? plane_bytes : bytes;
  }
  if (state) {
    state->line = calloc((size_t)video->width, sizeof *state->line);
    state->memory = malloc(bytes);
  }
  if (!state || !state->line || !state->memory) {
    cf_fail(status, CF_ERROR_NO_MEMORY, "blockavg: no memory for its state");
    if (state)
      close_state(state);
    return NULL;
  }
  state->video = *video;
  update(state, params, status);
  return state;
}

static const char *algorithm(const void *state)
{
  return "integer";
}

const CfEngine cf_blockavg_reference = {
    .name = "reference",
    .in_place = true,
    .open = open_state,
    .update = update,
    .run = run,
    .algorithm = algorithm,
    .close = close_state,
    .regions = true,
};
