/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Block average in one reading and one writing of the picture: every row of blocks is reduced to
 * one line of pixels, which is copied to all its rows.
 *
 * The mean of colours weighted by alpha is their plain mean where the block is opaque. Only rows of
 * blocks with translucent pixels are read a second time, from the cache, to add colour times alpha.
 */
#include "blockavg.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cpu/blockavg/regions.h"
#include "cpu/common/memory.h"
#include "plan/mosaic.h"
#include "cpu/common/parallel.h"

/* With fewer rows of blocks for every thread, threads may share each row instead of taking
 * different ones: too many would be without work at the end. */
#define ROWS_OF_BLOCKS_A_THREAD 4

/* What a thread reads, in bytes, while those that share a row of blocks meet for it, five times: so
 * much for each of them. NV12 640x360 in blocks of 4 x 4 took 64 threads on two processors 180 ms
 * while they shared all rows that are fewer, and 0.5 ms since. */
#define MEETING_BYTES 4096.0

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

/* Lines to work with, for one thread or one share of a row of blocks. */
typedef struct {
  void *columns;
  double *results;
  double *weighted; /* sums of colour times alpha, where some blocks need them */
  uint16_t *values; /* raw samples of each block */
  uint8_t *line;    /* what all rows of the blocks become */
} Scratch;

typedef struct {
  CfVideo video;
  const CfFormatInfo *format;
  CfBlockavgParams params;
  CfGrid grid; /* without regions */
  const CfBlockReduction *reduction;
  int option; /* of the reduction */
  Plane plane[CF_MAX_PLANES];
  CfBlockRegions *regions;
  int block_rows;  /* of all planes */
  bool together;   /* threads share each row of blocks */
  uint8_t *memory; /* all arrays of the planes and the scratch */
  int threads;
  Scratch scratch[]; /* one for each thread */
} State;

/* One row of blocks of a job. */
typedef struct {
  const State *state;
  const Plane *plane;
  const uint8_t *source; /* its first row */
  ptrdiff_t source_stride;
  uint8_t *destination;
  ptrdiff_t destination_stride;
  int height; /* rows */
} BlockRow;

/* Blocks first..last-1 of a row. */
typedef struct {
  int first, last;
} Span;

/* ---- A row of blocks ---- */

/* Reduces rows y0..y1-1 of some blocks to their results. */
static void reduce(const BlockRow *row, const CfBlockReduction *reduction, int option, Span blocks,
                   int y0, int y1, void *columns, double *results)
{
  const int channels = row->plane->info->channels;
  const int *edges = row->plane->edges + blocks.first;
  const int count = blocks.last - blocks.first, samples = edges[count] - edges[0];
  const size_t start = (size_t)edges[0];
  const uint8_t *source = row->source + start * (size_t)cf_sample_bytes(row->state->format);
  uint8_t *first_column = (uint8_t *)columns + start * (size_t)reduction->column_bytes;

  results += blocks.first * channels;
  for (int i = 0; i < count * channels; i++)
    results[i] = reduction->fresh_value;
  for (int y = y0; y < y1; y += reduction->rows) {
    const int rows = y1 - y < reduction->rows ? y1 - y : reduction->rows;

    memset(first_column, reduction->fresh_byte, (size_t)samples * (size_t)reduction->column_bytes);
    reduction->take_rows(first_column, source + y * row->source_stride, row->source_stride, rows,
                         samples, option);
    reduction->take_columns(results, columns, edges, count, channels);
  }
}

/* The largest sum of alpha of a block: what it is if all its pixels are opaque. */
static double opaque_sum(const BlockRow *row, int block)
{
  const int *edges = row->plane->edges;
  const int width = (edges[block + 1] - edges[block]) / row->plane->info->channels;

  return (double)cf_max_code(row->state->format) * width * row->height;
}

/* The blocks whose colours the plain sums cannot tell, and those between them. */
static Span translucent_blocks(const BlockRow *row, const double *results)
{
  const int alpha = cf_alpha_channel(row->plane->info);
  Span span = {0, 0};

  if (alpha < 0 || row->state->params.mode != CF_BLOCKAVG_AVERAGE)
    return span;
  for (int block = 0; block < row->plane->blocks; block++) {
    const double sum = results[block * row->plane->info->channels + alpha];

    if (sum > 0.0 && sum < opaque_sum(row, block)) {
      if (span.last == 0)
        span.first = block;
      span.last = block + 1;
    }
  }
  return span;
}

/* Replaces the plain means of colours by weighted ones in blocks that are not opaque. As exact as
 * cf_block_means: the quarter keeps quotients 2^-34 away from the next whole number. */
static void weigh_colours(const BlockRow *row, const Scratch *scratch)
{
  const CfPlaneFormat *info = row->plane->info;
  const int alpha = cf_alpha_channel(info);

  for (int block = 0; block < row->plane->blocks; block++) {
    const int first = block * info->channels;
    const double weight = scratch->results[first + alpha];

    if (weight == opaque_sum(row, block))
      continue;
    for (int i = 0; i < info->channels; i++) {
      if (i == alpha)
        continue;
      scratch->values[first + i] =
          weight > 0.0 ? (uint16_t)((scratch->weighted[first + i] + 0.25) / weight + 0.5)
                       : cf_block_invisible(&row->state->video, info->role[i]);
    }
  }
}

static void draw_line(const BlockRow *row, const Scratch *scratch)
{
  const State *state = row->state;
  const Plane *plane = row->plane;
  const int count = plane->blocks * plane->info->channels, shift = state->format->shift;

  if (state->params.mode == CF_BLOCKAVG_AVERAGE) {
    cf_block_means(scratch->values, scratch->results, plane->inverse_widths, 1.0 / row->height,
                   count, shift);
    if (cf_alpha_channel(plane->info) >= 0)
      weigh_colours(row, scratch);
  } else {
    cf_block_extremes(scratch->values, scratch->results, count, state->option, shift);
  }
  cf_block_fill(scratch->line, scratch->values, plane->edges, plane->blocks, plane->info->channels,
                cf_sample_bytes(state->format));
}

static void write_rows(const BlockRow *row, const uint8_t *line, int y0, int y1)
{
  const size_t bytes =
      (size_t)row->plane->edges[row->plane->blocks] * (size_t)cf_sample_bytes(row->state->format);

  for (int y = y0; y < y1; y++)
    memcpy(row->destination + y * row->destination_stride, line, bytes);
}

static void filter_alone(const BlockRow *row, const Scratch *scratch)
{
  const State *state = row->state;
  const Span all = {0, row->plane->blocks};

  reduce(row, state->reduction, state->option, all, 0, row->height, scratch->columns,
         scratch->results);
  const Span translucent = translucent_blocks(row, scratch->results);
  if (translucent.last > 0)
    reduce(row, &cf_block_weighted_sums, cf_alpha_channel(row->plane->info), translucent, 0,
           row->height, scratch->columns, scratch->weighted);
  draw_line(row, scratch);
  write_rows(row, scratch->line, 0, row->height);
}

/* Several threads at one row of blocks, each with a share of its rows. */
typedef struct {
  const BlockRow *row;
  const CfBlockReduction *reduction;
  int option;
  Span blocks;
  bool weighted; /* where results go */
} Shared;

static int share_start(const BlockRow *row, int share)
{
  return row->height * share / row->state->threads;
}

static void reduce_shares(void *context, int first, int end)
{
  const Shared *shared = context;

  for (int share = first; share < end; share++) {
    const Scratch *scratch = &shared->row->state->scratch[share];

    reduce(shared->row, shared->reduction, shared->option, shared->blocks,
           share_start(shared->row, share), share_start(shared->row, share + 1), scratch->columns,
           shared->weighted ? scratch->weighted : scratch->results);
  }
}

static void write_shares(void *context, int first, int end)
{
  const Shared *shared = context;

  write_rows(shared->row, shared->row->state->scratch[0].line, share_start(shared->row, first),
             share_start(shared->row, end));
}

/* The same by all threads; the joined results are those of the first share. */
static void filter_together(const BlockRow *row)
{
  const State *state = row->state;
  const Scratch *scratch = state->scratch;
  const Plane *plane = row->plane;
  const int shares = state->threads, count = plane->blocks * plane->info->channels;
  Shared shared = {.row = row,
                   .reduction = state->reduction,
                   .option = state->option,
                   .blocks = {0, plane->blocks}};

  cf_parallel_for(shares, shares, 1, reduce_shares, &shared);
  for (int share = 1; share < shares; share++)
    state->reduction->take_results(scratch[0].results, scratch[share].results, count);

  const Span translucent = translucent_blocks(row, scratch[0].results);
  if (translucent.last > 0) {
    const int first = translucent.first * plane->info->channels;

    shared.reduction = &cf_block_weighted_sums;
    shared.option = cf_alpha_channel(plane->info);
    shared.blocks = translucent;
    shared.weighted = true;
    cf_parallel_for(shares, shares, 1, reduce_shares, &shared);
    for (int share = 1; share < shares; share++)
      cf_block_weighted_sums.take_results(scratch[0].weighted + first,
                                          scratch[share].weighted + first,
                                          translucent.last * plane->info->channels - first);
  }
  draw_line(row, &scratch[0]);
  cf_parallel_for(shares, shares, 1, write_shares, &shared);
}

/* ---- A picture ---- */

/* The row of blocks of that number, counted through all planes. */
static BlockRow block_row(const State *state, const CfJob *job, int number)
{
  int p = 0;

  for (; number >= state->plane[p].block_rows; p++)
    number -= state->plane[p].block_rows;

  const Plane *plane = &state->plane[p];
  const int y = plane->row_edges[number];
  const BlockRow row = {.state = state,
                        .plane = plane,
                        .source = job->source.data[p] + y * job->source.stride[p],
                        .source_stride = job->source.stride[p],
                        .destination = job->destination.data[p] + y * job->destination.stride[p],
                        .destination_stride = job->destination.stride[p],
                        .height = plane->row_edges[number + 1] - y};
  return row;
}

/* Rows of blocks, or rows of a plane. */
typedef struct {
  const State *state;
  const CfJob *job;
  int plane; /* of rows */
} Rows;

static void filter_rows(void *context, int first, int end)
{
  const Rows *rows = context;

  for (int number = first; number < end; number++) {
    const BlockRow row = block_row(rows->state, rows->job, number);
    filter_alone(&row, &rows->state->scratch[cf_thread_index()]);
  }
}

static void filter_apart(const State *state, const CfJob *job)
{
  const int even = state->block_rows / (CHUNKS_A_THREAD * state->threads);

  cf_parallel_for(state->threads, state->block_rows, even > 1 ? even : 1, filter_rows,
                  &(Rows){state, job, 0});
}

static void filter_jointly(const State *state, const CfJob *job)
{
  for (int number = 0; number < state->block_rows; number++) {
    const BlockRow row = block_row(state, job, number);
    filter_together(&row);
  }
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
  const State *state = user_data;

  if (job->regions)
    return cf_block_regions_run(state->regions, &state->params, state->reduction, state->option,
                                job, status);
  if (is_identity(state))
    copy(state, job);
  else if (state->together)
    filter_jointly(state, job);
  else
    filter_apart(state, job);
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

/* The slowest thread has so many bytes to read, or to wait as long. */
static bool sharing_pays(const State *state)
{
  const double threads = state->threads, rows = state->block_rows;
  double all = 0.0, largest = 0.0;

  for (int p = 0; p < state->format->planes; p++) {
    const Plane *plane = &state->plane[p];
    const double bytes = (double)cf_row_bytes(&state->video, p) * plane->height;

    all += bytes;
    largest = fmax(largest, bytes / plane->block_rows);
  }
  const double apart = ceil(rows / threads) * largest;
  const double together = all / threads + rows * threads * MEETING_BYTES;
  return rows < ROWS_OF_BLOCKS_A_THREAD * threads && together < apart;
}

static bool update(void *user_data, const void *params, CfStatus *status)
{
  State *state = user_data;
  const bool narrow = state->format->bits == 8;

  (void)status;
  state->params = *(const CfBlockavgParams *)params;
  state->grid = cf_mosaic_frame_grid(&state->params, &state->video, false);
  if (state->params.mode == CF_BLOCKAVG_AVERAGE) {
    state->reduction = narrow ? &cf_block_sums_8 : &cf_block_sums_16;
    state->option = state->format->shift;
  } else {
    const int all_bits = narrow ? UINT8_MAX : UINT16_MAX;
    state->reduction = narrow ? &cf_block_least_8 : &cf_block_least_16;
    state->option = state->params.mode == CF_BLOCKAVG_MAX ? all_bits : 0;
  }

  state->block_rows = 0;
  for (int p = 0; p < state->format->planes; p++) {
    cut_plane(state, p);
    state->block_rows += state->plane[p].block_rows;
  }
  state->together = sharing_pays(state);
  return true;
}

/* Hands out parts of the state's memory; while there is none yet, only counts them. */
static void *part(const State *state, size_t *used, size_t bytes)
{
  const size_t start = *used;

  *used += (bytes + CF_ALIGNMENT - 1) / CF_ALIGNMENT * CF_ALIGNMENT;
  return state->memory ? state->memory + start : NULL;
}

/* Gives every array its place, for blocks of any size; returns the bytes of all. */
static size_t lay_out(State *state)
{
  size_t used = 0, widest = 0;

  for (int p = 0; p < state->format->planes; p++) {
    Plane *plane = &state->plane[p];
    const size_t samples = (size_t)plane->width * (size_t)plane->info->channels;

    plane->edges = part(state, &used, ((size_t)plane->width + 1) * sizeof *plane->edges);
    plane->row_edges = part(state, &used, ((size_t)plane->height + 1) * sizeof *plane->row_edges);
    plane->inverse_widths = part(state, &used, samples * sizeof *plane->inverse_widths);
    widest = samples > widest ? samples : widest;
  }
  for (int i = 0; i < state->threads; i++) {
    Scratch *scratch = &state->scratch[i];

    scratch->columns = part(state, &used, widest * sizeof(uint32_t));
    scratch->results = part(state, &used, widest * sizeof *scratch->results);
    scratch->weighted =
        part(state, &used, state->format->alpha ? widest * sizeof *scratch->weighted : 0);
    scratch->values = part(state, &used, widest * sizeof *scratch->values);
    scratch->line =
        part(state, &used, widest * (size_t)cf_sample_bytes(state->format) + CF_BLOCK_FILL_SLACK);
  }
  return used;
}

static void close_state(void *user_data)
{
  State *state = user_data;

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
