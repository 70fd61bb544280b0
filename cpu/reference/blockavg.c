/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The definition of the block average, computed literally in integers.
 */
#include "blockavg.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cpu/reference/samples.h"
#include "plan/coverage_frame.h"
#include "plan/mosaic.h"

/* The block of one sample, and the colour of that block. */
typedef struct {
  int owner, column, row; /* owner -1: none */
  uint64_t codes[CF_MAX_CHANNELS];
} Cell;

typedef struct {
  CfVideo video;
  CfBlockavgParams params;
  Cell *line;      /* one for each column of the widest plane */
  uint8_t *memory; /* of the largest plane: the source of what is filtered in place */
  CfCoverage coverage;
} State;

/* The samples x0 <= x < x1, y0 <= y < y1 of one plane. */
typedef struct {
  int x0, y0, x1, y1;
} Block;

/* One plane of the job. */
typedef struct {
  const CfVideo *video;
  const CfFormatInfo *format;
  const CfPlaneFormat *info;
  int width, height;
  const uint8_t *source;
  ptrdiff_t source_stride;
  uint8_t *destination;
  ptrdiff_t destination_stride;
} Plane;

static uint64_t read_code(const Plane *plane, int x, int y, int channel)
{
  return (uint64_t)cf_reference_load(plane->format, plane->source + y * plane->source_stride,
                                     (ptrdiff_t)x * plane->info->channels + channel);
}

static void write_code(const Plane *plane, int x, int y, int channel, uint64_t code)
{
  cf_reference_store(plane->format, plane->destination + y * plane->destination_stride,
                     (ptrdiff_t)x * plane->info->channels + channel, (int)code);
}

/* `empty` where nothing has any weight. */
static uint64_t rounded_quotient(uint64_t sum, uint64_t weight, uint64_t empty)
{
  return weight ? (2 * sum + weight) / (2 * weight) : empty;
}

static uint64_t average(const Plane *plane, const Block *block, int channel)
{
  const int alpha = cf_alpha_channel(plane->info);
  const CfRole role = plane->info->role[channel];
  const bool chroma = role == CF_ROLE_CHROMA_BLUE || role == CF_ROLE_CHROMA_RED;
  const bool weighted = alpha >= 0 && channel != alpha;
  uint64_t sum = 0, weight = 0;

  for (int y = block->y0; y < block->y1; y++) {
    for (int x = block->x0; x < block->x1; x++) {
      const uint64_t share = weighted ? read_code(plane, x, y, alpha) : 1;
      sum += share * read_code(plane, x, y, channel);
      weight += share;
    }
  }
  return rounded_quotient(sum, weight, chroma ? (uint64_t)cf_chroma_centre(plane->video) : 0);
}

static uint64_t extreme(const Plane *plane, const Block *block, int channel, bool largest)
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

static void fill(const Plane *plane, const Block *block, const uint64_t *codes)
{
  for (int y = block->y0; y < block->y1; y++) {
    for (int x = block->x0; x < block->x1; x++) {
      for (int channel = 0; channel < plane->info->channels; channel++)
        write_code(plane, x, y, channel, codes[channel]);
    }
  }
}

static uint64_t colour(const Plane *plane, uint32_t argb, int channel)
{
  double codes[CF_ROLE_COUNT];

  cf_color_codes(plane->video, argb, codes);
  return (uint64_t)fmin(fmax(floor(codes[plane->info->role[channel]] + 0.5), 0.0),
                        cf_max_code(plane->format));
}

/* What a channel of a block becomes; `single` pixels stay what they are. */
static uint64_t block_code(const Plane *plane, const CfBlockavgParams *params, const Block *block,
                           int channel, bool single)
{
  if (params->mode == CF_BLOCKAVG_FILL)
    return colour(plane, params->fill_color, channel);
  if (params->mode == CF_BLOCKAVG_AVERAGE && !single)
    return average(plane, block, channel);
  return extreme(plane, block, channel, params->mode == CF_BLOCKAVG_MAX);
}

static void filter_block(const Plane *plane, const CfBlockavgParams *params, const Block *block,
                         bool single)
{
  uint64_t codes[CF_MAX_CHANNELS];

  for (int channel = 0; channel < plane->info->channels; channel++)
    codes[channel] = block_code(plane, params, block, channel, single);
  fill(plane, block, codes);
}

static bool is_single_pixel(const CfGrid *grid)
{
  return grid->width == 1 && grid->height == 1;
}

static void filter_plane(const Plane *plane, const CfGrid *grid, const CfBlockavgParams *params)
{
  const int sx = plane->info->subsampling_x, sy = plane->info->subsampling_y;
  Block block;

  for (int row = 0; cf_grid_start(0, grid->height, sy, row, plane->height) < plane->height; row++) {
    block.y0 = cf_grid_start(0, grid->height, sy, row, plane->height);
    block.y1 = cf_grid_start(0, grid->height, sy, row + 1, plane->height);
    for (int i = 0; cf_grid_start(0, grid->width, sx, i, plane->width) < plane->width; i++) {
      block.x0 = cf_grid_start(0, grid->width, sx, i, plane->width);
      block.x1 = cf_grid_start(0, grid->width, sx, i + 1, plane->width);
      if (block.x1 > block.x0 && block.y1 > block.y0)
        filter_block(plane, params, &block, is_single_pixel(grid));
    }
  }
}

/* ---- Regions ---- */

/* Mixes the colour of its block into a sample that is not fully covered. */
static void mix_pixel(const Plane *plane, int x, int y, const uint64_t *codes, uint32_t coverage)
{
  const int alpha = cf_alpha_channel(plane->info);
  uint8_t source[CF_MAX_CHANNELS], filtered[CF_MAX_CHANNELS], mixed[CF_MAX_CHANNELS];

  for (int channel = 0; channel < plane->info->channels; channel++) {
    const uint64_t code = read_code(plane, x, y, channel);

    source[channel] = (uint8_t)code;
    filtered[channel] = (uint8_t)codes[channel];
    if (alpha < 0)
      write_code(plane, x, y, channel, cf_mix((uint32_t)code, (uint32_t)codes[channel], coverage));
  }
  if (alpha < 0)
    return;
  cf_mix_weighted(mixed, source, filtered, alpha, coverage);
  for (int channel = 0; channel < plane->info->channels; channel++)
    write_code(plane, x, y, channel, mixed[channel]);
}

static void measure_block(const Plane *plane, const CfBlockavgParams *params, const CfGrid *grid,
                          Cell *cell)
{
  const int sx = plane->info->subsampling_x, sy = plane->info->subsampling_y;
  const Block block = {cf_grid_start(grid->x, grid->width, sx, cell->column, plane->width),
                       cf_grid_start(grid->y, grid->height, sy, cell->row, plane->height),
                       cf_grid_start(grid->x, grid->width, sx, cell->column + 1, plane->width),
                       cf_grid_start(grid->y, grid->height, sy, cell->row + 1, plane->height)};

  for (int channel = 0; channel < plane->info->channels; channel++)
    cell->codes[channel] = block_code(plane, params, &block, channel, is_single_pixel(grid));
}

static bool is_same_block(const Cell *a, const Cell *b)
{
  return a->owner == b->owner && a->column == b->column && a->row == b->row;
}

/* Gives a sample its block. The one above and the one to the left often have the same. */
static void find_block(const State *state, const CfRegions *regions, const Plane *plane, int x,
                       int y, int owner)
{
  const bool single = cf_mosaic_is_single(&state->params, regions);
  const CfGrid grid =
      single ? cf_mosaic_frame_grid(&state->params, &state->video, regions->field)
             : cf_mosaic_region_grid(&state->params, &state->coverage.region[owner].shape);
  const int sx = plane->info->subsampling_x, sy = plane->info->subsampling_y;
  Cell cell = {.owner = single ? 0 : owner,
               .column = cf_grid_block(grid.x, grid.width, sx, x),
               .row = cf_grid_block(grid.y, grid.height, sy, y)};

  if (is_same_block(&cell, &state->line[x]))
    return;
  if (x > 0 && is_same_block(&cell, &state->line[x - 1]))
    cell = state->line[x - 1];
  else
    measure_block(plane, &state->params, &grid, &cell);
  state->line[x] = cell;
}

/* Blocks of different grids overlap: what is filtered in place is read from a copy. */
static void take_copy(const State *state, Plane *plane, size_t row_bytes)
{
  const bool in_place = plane->source == plane->destination;
  uint8_t *const copy = in_place ? state->memory : plane->destination;
  const ptrdiff_t stride = in_place ? (ptrdiff_t)row_bytes : plane->destination_stride;

  for (int y = 0; y < plane->height; y++)
    memcpy(copy + y * stride, plane->source + y * plane->source_stride, row_bytes);
  if (in_place) {
    plane->source = copy;
    plane->source_stride = stride;
  }
}

static void filter_regions(const State *state, const CfRegions *regions, const Plane *plane,
                           int index)
{
  uint16_t coverage[CF_COVERAGE_SAMPLES];
  int owner[CF_COVERAGE_SAMPLES];

  for (int x = 0; x < plane->width; x++)
    state->line[x].owner = -1;
  for (int y = 0; y < plane->height; y++) {
    for (int x = 0; x < plane->width; x++) {
      const int i = x % CF_COVERAGE_SAMPLES, left = plane->width - x;

      if (i == 0)
        cf_coverage_row(&state->coverage, index, y, x,
                        left < CF_COVERAGE_SAMPLES ? left : CF_COVERAGE_SAMPLES, coverage, owner);
      if (coverage[i] == 0)
        continue;
      find_block(state, regions, plane, x, y, owner[i]);
      mix_pixel(plane, x, y, state->line[x].codes, coverage[i]);
    }
  }
}

/* ---- The engine ---- */

static bool run(void *user_data, const CfJob *job, CfStatus *status)
{
  State *state = user_data;
  const CfVideo *video = &state->video;
  const CfFormatInfo *format = cf_format_info(video->format);

  if (job->regions && !cf_coverage_set(&state->coverage, video, job->regions, status))
    return false;
  for (int p = 0; p < format->planes; p++) {
    Plane plane = {.video = video,
                   .format = format,
                   .info = &format->plane[p],
                   .width = cf_plane_width(video, p),
                   .height = cf_plane_height(video, p),
                   .source = job->source.data[p],
                   .source_stride = job->source.stride[p],
                   .destination = job->destination.data[p],
                   .destination_stride = job->destination.stride[p]};

    if (job->regions) {
      take_copy(state, &plane, cf_row_bytes(video, p));
      filter_regions(state, job->regions, &plane, p);
    } else {
      const CfGrid grid = cf_mosaic_frame_grid(&state->params, video, false);
      filter_plane(&plane, &grid, &state->params);
    }
  }
  return true;
}

static bool update(void *user_data, const void *params, CfStatus *status)
{
  State *state = user_data;

  (void)status;
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

  (void)options;
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
  (void)state;
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
