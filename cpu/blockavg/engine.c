/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Block average in one reading and one writing of the picture: every row of blocks is reduced to
 * one line of pixels, which is copied to all its rows. With regions see regions.h, and fill.h for
 * one colour.
 */
#include "blockavg.h"

#include <stdlib.h>
#include <string.h>

#include "cpu/blockavg/fill.h"
#include "cpu/blockavg/regions.h"
#include "cpu/common/memory.h"
#include "plan/mosaic.h"
#include "cpu/common/parallel.h"

/* Rows of blocks are cut into so many spans at most, of no fewer bytes a row than memory delivers
 * well, where threads would otherwise wait for the last of them for more than such a share of the
 * time. */
#define MOST_SPANS    8
#define SMALLEST_SPAN 1024
#define LARGEST_LOSS  0.4

/* Chunks that every thread takes, one after the other, where there are enough rows of blocks. */
#define CHUNKS_A_THREAD 16

/* One plane, cut into blocks. Channels count as samples. */
typedef struct {
  const CfPlaneFormat *info;
  int width, height;      /* pixels */
  int blocks;             /* in a row of blocks */
  int *edges;             /* blocks + 1 numbers of samples */
  double *inverse_widths; /* 1 / pixels across the block, for each channel of each block */
  int block_rows;
  int *row_edges; /* block_rows + 1 numbers of rows */
} Plane;

/* Of one thread. */
typedef struct {
  CfBlockScratch row;
  uint16_t *values; /* raw samples of each block */
  uint8_t *line;    /* what all rows of the blocks become */
} Scratch;

typedef struct {
  CfVideo video;
  const CfFormatInfo *format;
  CfBlockavgParams params;
  CfGrid grid; /* without regions */
  Plane plane[CF_MAX_PLANES];
  CfBlockRegions *regions;
  CfFill fill;
  int block_rows;  /* of all planes */
  int spans;       /* that each row of blocks is cut into */
  uint8_t *memory; /* all arrays of the planes and the scratch */
  int threads;
  Scratch scratch[]; /* one for each thread */
} State;

/* ---- A picture ---- */

/* The rows of a plane, or the spans of all rows of blocks. */
typedef struct {
  const State *state;
  const CfJob *job;
  int plane; /* of rows */
} Rows;

/* Filters span `span` of row of blocks `number`, counted through all planes. */
static void filter_span(const Rows *rows, int number, int span, const Scratch *scratch)
{
  const State *state = rows->state;
  const size_t bytes = (size_t)cf_sample_bytes(state->format);
  int p = 0;

  for (; number >= state->plane[p].block_rows; p++)
    number -= state->plane[p].block_rows;

  const Plane *plane = &state->plane[p];
  const CfPicture *from = &rows->job->source, *to = &rows->job->destination;
  const int first = plane->blocks * span / state->spans;
  const int end = plane->blocks * (span + 1) / state->spans;
  const int channels = plane->info->channels, y = plane->row_edges[number];
  const int *edges = plane->edges + first;
  const CfBlockRow row = {.video = &state->video,
                          .info = plane->info,
                          .source = from->data[p] + y * from->stride[p],
                          .stride = from->stride[p],
                          .height = plane->row_edges[number + 1] - y,
                          .count = end - first,
                          .edges = edges,
                          .inverse_widths = plane->inverse_widths + first * channels,
                          .weighted = true};
  if (first == end)
    return;

  const size_t start = (size_t)edges[0] * bytes, stop = (size_t)edges[end - first] * bytes;
  cf_block_row_measure(&row, state->params.mode, &scratch->row, scratch->values);
  cf_block_fill(scratch->line, scratch->values, edges, end - first, channels, (int)bytes);
  for (int i = y; i < plane->row_edges[number + 1]; i++)
    memcpy(to->data[p] + i * to->stride[p] + start, scratch->line + start, stop - start);
}

static void filter_spans(void *context, int first, int end)
{
  const Rows *rows = context;
  const State *state = rows->state;

  for (int i = first; i < end; i++)
    filter_span(rows, i / state->spans, i % state->spans, &state->scratch[cf_thread_index()]);
}

static void filter(const State *state, const CfJob *job)
{
  const int tasks = state->block_rows * state->spans;
  const int grain = tasks / (CHUNKS_A_THREAD * state->threads);

  cf_parallel_for(state->threads, tasks, grain > 1 ? grain : 1, filter_spans,
                  &(Rows){state, job, 0});
}

static bool is_identity(const State *state)
{
  return state->grid.width == 1 && state->grid.height == 1;
}

static void copy_rows(void *context, int first, int end)
{
  const Rows *rows = context;
  const CfPicture *from = &rows->job->source, *to = &rows->job->destination;
  const int p = rows->plane;

  for (int y = first; y < end; y++)
    memcpy(to->data[p] + y * to->stride[p], from->data[p] + y * from->stride[p],
           cf_row_bytes(&rows->state->video, p));
}

static void copy(const State *state, const CfJob *job)
{
  for (int p = 0; p < state->format->planes; p++) {
    const int height = state->plane[p].height;

    if (job->source.data[p] != job->destination.data[p])
      cf_parallel_for(state->threads, height, cf_even_grain(state->threads, height), copy_rows,
                      &(Rows){state, job, p});
  }
}

static bool run(void *user_data, const CfJob *job, CfStatus *status)
{
  State *state = user_data;

  if (state->params.mode == CF_BLOCKAVG_FILL)
    return cf_fill_run(&state->fill, job, state->threads, status);
  if (job->regions)
    return cf_block_regions_run(state->regions, &state->params, job, status);
  if (is_identity(state))
    copy(state, job);
  else
    filter(state, job);
  return true;
}

/* ---- Preparation ---- */

/* Cuts `size` samples that are `luma_size` luma pixels into blocks: a sample belongs to the block
 * of its first luma pixel, and a block that has none is left out. Writes where blocks start, times
 * `scale`, and the end; returns the number of blocks. */
static int cut(int luma_size, int block_size, int subsampling, int size, int scale, int *edges)
{
  int count = 0;

  edges[0] = 0;
  for (int luma = block_size; luma < luma_size; luma += block_size) {
    const int start = (luma + (1 << subsampling) - 1) >> subsampling;
    if (start * scale > edges[count] && start < size)
      edges[++count] = start * scale;
  }
  edges[++count] = size * scale;
  return count;
}

static void cut_plane(State *state, int p)
{
  const CfVideo *video = &state->video;
  Plane *plane = &state->plane[p];
  const CfPlaneFormat *info = plane->info;

  plane->blocks = cut(video->width, state->grid.width, info->subsampling_x, plane->width,
                      info->channels, plane->edges);
  plane->block_rows = cut(video->height, state->grid.height, info->subsampling_y, plane->height, 1,
                          plane->row_edges);
  for (int i = 0; i < plane->blocks * info->channels; i++) {
    const int block = i / info->channels;
    plane->inverse_widths[i] =
        (double)info->channels / (plane->edges[block + 1] - plane->edges[block]);
  }
}

/* The share of the time that threads wait at the end, if all tasks take as long. */
static double idle_share(int tasks, int threads)
{
  const int rounds = (tasks + threads - 1) / threads;

  return 1.0 - (double)tasks / ((double)rounds * threads);
}

static int choose_spans(const State *state)
{
  const size_t most = cf_row_bytes(&state->video, 0) / SMALLEST_SPAN;
  int best = 1;

  for (int spans = 1; spans <= MOST_SPANS && (size_t)spans <= most; spans++) {
    const double loss = idle_share(state->block_rows * best, state->threads);

    if (loss > LARGEST_LOSS && idle_share(state->block_rows * spans, state->threads) < loss)
      best = spans;
  }
  return best;
}

static bool update(void *user_data, const void *params, CfStatus *status)
{
  State *state = user_data;

  (void)status;
  state->params = *(const CfBlockavgParams *)params;
  cf_fill_set(&state->fill, &state->video, state->params.fill_color);
  state->grid = cf_mosaic_frame_grid(&state->params, &state->video, false);
  state->block_rows = 0;
  for (int p = 0; p < state->format->planes; p++) {
    cut_plane(state, p);
    state->block_rows += state->plane[p].block_rows;
  }
  state->spans = choose_spans(state);
  return true;
}

/* Gives every array its place, for blocks of any size; returns the bytes of all. */
static size_t lay_out(State *state)
{
  CfArena arena = {.base = state->memory};
  size_t widest = 0;

  for (int p = 0; p < state->format->planes; p++) {
    Plane *plane = &state->plane[p];
    const size_t samples = (size_t)plane->width * (size_t)plane->info->channels;

    plane->edges = cf_arena_take(&arena, ((size_t)plane->width + 1) * sizeof(int));
    plane->row_edges = cf_arena_take(&arena, ((size_t)plane->height + 1) * sizeof(int));
    plane->inverse_widths = cf_arena_take(&arena, samples * sizeof(double));
    widest = samples > widest ? samples : widest;
  }
  for (int i = 0; i < state->threads; i++) {
    Scratch *scratch = &state->scratch[i];

    scratch->row.columns = cf_arena_take(&arena, widest * sizeof(uint32_t));
    scratch->row.results = cf_arena_take(&arena, widest * sizeof(double));
    scratch->row.weighted =
        cf_arena_take(&arena, state->format->alpha ? widest * sizeof(double) : 0);
    scratch->values = cf_arena_take(&arena, widest * sizeof *scratch->values);
    scratch->line = cf_arena_take(&arena, widest * (size_t)cf_sample_bytes(state->format) +
                                              CF_BLOCK_FILL_SLACK);
  }
  return arena.used;
}

static void close_state(void *user_data)
{
  State *state = user_data;

  cf_fill_clear(&state->fill);
  cf_block_regions_free(state->regions);
  free(state->memory);
  free(state);
}

static void *open_state(const CfVideo *video, const void *params, const CfOpenOptions *options,
                        CfStatus *status)
{
  const int wanted = cf_thread_count(options->threads);
  const int threads = wanted < video->height ? wanted : video->height;
  State *state = calloc(1, sizeof *state + (size_t)threads * sizeof state->scratch[0]);

  if (!state) {
    cf_fail(status, CF_ERROR_NO_MEMORY, "blockavg: no memory for its state");
    return NULL;
  }
  state->video = *video;
  state->format = cf_format_info(video->format);
  state->threads = threads;
  for (int p = 0; p < state->format->planes; p++) {
    state->plane[p].info = &state->format->plane[p];
    state->plane[p].width = cf_plane_width(video, p);
    state->plane[p].height = cf_plane_height(video, p);
  }

  const size_t bytes = lay_out(state);
  state->memory = cf_aligned_alloc(bytes);
  state->regions = cf_block_regions_new(video, threads);
  if (!state->memory || !state->regions) {
    cf_fail(status, CF_ERROR_NO_MEMORY, "blockavg: no memory for %zu bytes of lines", bytes);
    close_state(state);
    return NULL;
  }
  lay_out(state);
  update(state, params, status);
  return state;
}

static const char *algorithm(const void *user_data)
{
  const State *state = user_data;

  if (state->params.mode == CF_BLOCKAVG_FILL)
    return "fill";
  if (is_identity(state))
    return "copy";
  return state->params.mode == CF_BLOCKAVG_AVERAGE ? "column-sums" : "column-extremes";
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
