/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cpu/fir/tile.h"

#include <limits.h>
#include <string.h>

#include "cpu/common/alpha.h"
#include "cpu/common/memory.h"
#include "cpu/fir/amx_tile.h"
#include "plan/int_math.h"

/* A block of rows is summed in chunks of columns, such that a chunk's part of the ring stays in the
 * first-level cache for the whole block. Whole pixels and granules. */
#define CHUNK_SAMPLES (9 * CF_LINE_GRANULE)
#define MOST_ROWS     4 /* the largest CfLines.rows */

/* The state of a tile while it is filtered. */
typedef struct {
  const CfFirWork *work;
  const CfFirPath *path;
  const CfFirRows *rows;
  const CfRect *tile;
  int channels;       /* of a pixel in lines: without the one that is dropped */
  int samples;        /* in a row of the tile */
  int summed_samples; /* the same, rounded up to granules */

  uint8_t *line;            /* one source row, with the halo of the row taps on both sides */
  const void **line_shifts; /* per row tap: the line from pixel 0, 1, ... on */
  uint8_t *ring;            /* rows filtered along themselves, as many as a block reads */
  const void **ring_rows;   /* slots of the ring, twice in a row, so that every rotation is
                               contiguous */
  size_t slot_bytes;
  int *entered;            /* per source row + 1: the last virtual row that repeated it (virtual
                              rows continue outside the picture) */
  const void **chunk_rows; /* rows of the ring from the first sample of a chunk on, and one more
                              that sum_rows loads without using it */
  uint8_t *result;         /* a row, or one chunk of several rows */

  bool watch_alpha; /* stop at pixels that are not opaque */
  bool saw_alpha;   /* such a pixel has been read */
} Tile;

/* ---- Scratch ---- */

static int ring_slots(const CfFirPath *path)
{
  return path->column.count - 1 + CF_FIR_BLOCK_ROWS;
}

static int line_channels(const CfFirWork *work, const CfFirPath *path)
{
  return work->channels - (path->format.dropped >= 0);
}

/* Bytes of a row in the ring: an odd number of cache lines, so that the same columns of all rows do
 * not fall into one cache set. */
static size_t slot_bytes(const Tile *tile)
{
  const CfFirPath *path = tile->path;
  const size_t bytes =
      (size_t)cf_round_to_granule(path->tile_width * tile->channels) * path->lines->size;

  return ((bytes + CF_ALIGNMENT - 1) / CF_ALIGNMENT | 1) * CF_ALIGNMENT;
}

/* With slack, since load() writes whole vectors where pixels drop a channel. */
static size_t line_bytes(const Tile *tile)
{
  const size_t pixel = (size_t)tile->channels * tile->path->lines->line_size;

  return tile->slot_bytes + (size_t)(tile->path->row.count - 1) * pixel + CF_LINE_GRANULE;
}

static void lay_out(Tile *tile, CfArena *arena)
{
  const CfFirWork *work = tile->work;
  const CfFirPath *path = tile->path;
  const size_t row_taps = (size_t)path->row.count, slots = (size_t)ring_slots(path);

  tile->channels = line_channels(work, path);
  tile->slot_bytes = slot_bytes(tile);
  tile->line = cf_arena_take(arena, line_bytes(tile));
  tile->line_shifts = cf_arena_take(arena, row_taps * sizeof *tile->line_shifts);
  tile->ring = cf_arena_take(arena, slots * tile->slot_bytes);
  tile->ring_rows = cf_arena_take(arena, 2 * slots * sizeof *tile->ring_rows);
  tile->entered = cf_arena_take(arena, ((size_t)work->height + 1) * sizeof *tile->entered);
  tile->chunk_rows = cf_arena_take(arena, (slots + 1) * sizeof *tile->chunk_rows);
  tile->result =
      cf_arena_take(arena, tile->slot_bytes + MOST_ROWS * CHUNK_SAMPLES * path->lines->size);
}

static bool in_matrix(const CfFirWork *work)
{
  return work->matrix.row_tiles > 0;
}

static size_t path_scratch(const CfFirWork *work, const CfFirPath *path)
{
  Tile tile = {.work = work, .path = path};
  CfArena arena = {0};

  if (path->lines)
    lay_out(&tile, &arena);
  return arena.used;
}

size_t cf_fir_tile_scratch(const CfFirWork *work, int tile_width)
{
  const size_t straight = in_matrix(work) ? cf_fir_matrix_scratch(work, tile_width)
                                          : path_scratch(work, &work->straight);
  const size_t weighted = path_scratch(work, &work->weighted);

  return straight > weighted ? straight : weighted;
}

/* ---- Rows ---- */

static uint8_t *line_pixel(const Tile *tile, uint8_t *line, int pixel)
{
  return line + (size_t)pixel * (size_t)tile->channels * tile->path->lines->line_size;
}

static const uint8_t *source_row(const Tile *tile, int y)
{
  return tile->rows->source + y * tile->rows->source_stride;
}

static void load_pixels(Tile *tile, const uint8_t *from, int pixels, uint8_t *to)
{
  if (tile->watch_alpha && !cf_pixels_are_opaque(from, tile->work->alpha, pixels))
    tile->saw_alpha = true;
  tile->path->lines->load(&tile->path->format, from, pixels * tile->work->channels, to);
}

/* Loads columns `begin` <= x < `end` of row `y` (-1: a row of the constant border); some may lie
 * outside the picture. */
static void load_line(Tile *tile, int y, int begin, int end, uint8_t *line)
{
  const CfFirWork *work = tile->work;
  const uint8_t *row = y < 0 ? NULL : source_row(tile, y);
  const int inner_begin = row ? cf_max(begin, 0) : end;
  const int inner_end = row ? cf_min(end, work->width) : end;

  if (row)
    load_pixels(tile, cf_fir_pixel(work, row, inner_begin), inner_end - inner_begin,
                line_pixel(tile, line, inner_begin - begin));
  for (int x = begin; x < inner_begin; x++)
    load_pixels(tile, cf_fir_pixel(work, row, x), 1, line_pixel(tile, line, x - begin));
  for (int x = inner_end; x < end; x++)
    load_pixels(tile, cf_fir_pixel(work, row, x), 1, line_pixel(tile, line, x - begin));
}

/* Loads source row `y` (-1: a row of the constant border), and filters it along itself. */
static void filter_row(Tile *tile, int y, uint8_t *to)
{
  const CfFirPath *path = tile->path;
  const int begin = tile->tile->x0 - path->row.anchor;
  const int end = tile->tile->x1 + path->row.count - 1 - path->row.anchor;
  uint8_t *line = path->row.tap ? tile->line : to;

  load_line(tile, y, begin, end, line);
  if (path->row.tap)
    path->lines->sum(&path->row, tile->line_shifts, tile->summed_samples, to);
}

static void copy_channels(const CfFirWork *work, const uint8_t *source, int pixels,
                          uint8_t *destination)
{
  for (int i = 0; i < work->copied_count; i++) {
    const int channel = work->copied[i];

    for (int x = 0; x < pixels; x++)
      destination[x * work->channels + channel] = source[x * work->channels + channel];
  }
}

/* Stores `samples` samples of a line, whole pixels, from sample `first` of row `y` on. */
static void store_samples(const Tile *tile, const void *line, int y, int first, int samples)
{
  const CfFirWork *work = tile->work;
  const int pixels = samples / tile->channels;
  const ptrdiff_t offset =
      ((ptrdiff_t)tile->tile->x0 + first / tile->channels) * work->channels * work->sample_bytes;
  const uint8_t *source = source_row(tile, y) + offset;
  uint8_t *destination = tile->rows->destination + y * tile->rows->destination_stride + offset;

  tile->path->lines->store(&tile->path->format, line, pixels * work->channels, source, destination);
  copy_channels(work, source, pixels, destination);
}

/* ---- Columns ---- */

static uint8_t *ring_slot(const Tile *tile, int virtual_row)
{
  const int slot =
      (virtual_row - tile->tile->y0 + tile->path->column.anchor) % ring_slots(tile->path);

  return tile->ring + (size_t)slot * tile->slot_bytes;
}

/* Prefetches row `y` of the result for writing, which the hardware prefetcher does not foresee.
 * Inlined, since GCC otherwise takes it for a function without effect. */
static inline __attribute__((always_inline)) void fetch_result(const Tile *tile, int y)
{
  const int channels = tile->work->channels;
  const uint8_t *to = tile->rows->destination + y * tile->rows->destination_stride +
                      (ptrdiff_t)tile->tile->x0 * channels;

  for (int i = 0; i < (tile->tile->x1 - tile->tile->x0) * channels; i += CF_ALIGNMENT)
    __builtin_prefetch(to + i, 1);
}

/* Adds a row to the ring. Rows outside the picture repeat rows that are often still in the ring. */
static void enter_row(Tile *tile, int virtual_row)
{
  const CfFirWork *work = tile->work;
  const int y = cf_border_index(work->border, virtual_row, work->height);
  const int before = tile->entered[y + 1];
  const int completed = virtual_row + tile->path->column.anchor - tile->path->column.count + 1;
  uint8_t *slot = ring_slot(tile, virtual_row);

  if (cf_lines_are_bytes(tile->path->lines) && completed >= tile->tile->y0)
    fetch_result(tile, completed);
  if (before > virtual_row - ring_slots(tile->path))
    memcpy(slot, ring_slot(tile, before), tile->slot_bytes);
  else
    filter_row(tile, y, slot);
  tile->entered[y + 1] = virtual_row;
}

/* Filters rows y..y + rows - 1 along columns; the ring holds all rows that they read. */
static void filter_block(Tile *tile, int y, int rows)
{
  const CfFirPath *path = tile->path;
  const size_t size = path->lines->size;
  const void *const *oldest = tile->ring_rows + (y - tile->tile->y0) % ring_slots(path);
  void *results[MOST_ROWS];

  for (int i = 0; i < MOST_ROWS; i++)
    results[i] = tile->result + (size_t)i * CHUNK_SAMPLES * size;

  for (int first = 0; first < tile->samples; first += CHUNK_SAMPLES) {
    const int samples = cf_min(tile->samples - first, CHUNK_SAMPLES);

    for (int i = 0; i <= ring_slots(path); i++)
      tile->chunk_rows[i] = (const uint8_t *)oldest[i] + (size_t)first * size;
    for (int i = 0; i < rows; i += path->lines->rows) {
      path->lines->sum_rows(&path->column, tile->chunk_rows + i, cf_round_to_granule(samples),
                            results);
      for (int row = i; row < i + path->lines->rows && row < rows; row++)
        store_samples(tile, results[row - i], y + row, first, samples);
    }
  }
}

/* This and filter_rows_only return the end of the tile, or the first row that was not written
 * because it depends on pixels that are not opaque. */
static int filter_columns(Tile *tile)
{
  const CfFirPath *path = tile->path;
  const int slots = ring_slots(path);
  const int newest = tile->tile->y0 - path->column.anchor + path->column.count - 1;
  int row = tile->tile->y0 - path->column.anchor;

  for (int y = 0; y <= tile->work->height; y++)
    tile->entered[y] = INT_MIN;
  for (int i = 0; i < 2 * slots; i++)
    tile->ring_rows[i] = tile->ring + (size_t)(i % slots) * tile->slot_bytes;

  for (int y = tile->tile->y0; y < tile->tile->y1; y += CF_FIR_BLOCK_ROWS) {
    const int rows = cf_min(tile->tile->y1 - y, CF_FIR_BLOCK_ROWS);

    for (; row < newest + y - tile->tile->y0 + rows; row++)
      enter_row(tile, row);
    if (tile->saw_alpha)
      return y;
    filter_block(tile, y, rows);
  }
  return tile->tile->y1;
}

static int filter_rows_only(Tile *tile)
{
  for (int y = tile->tile->y0; y < tile->tile->y1; y++) {
    filter_row(tile, y, tile->result);
    if (tile->saw_alpha)
      return y;
    store_samples(tile, tile->result, y, 0, tile->samples);
  }
  return tile->tile->y1;
}

/* Clears the samples that round rows up to granules: sums run over them too, and stale bytes could
 * be slow denormal numbers. */
static void clear_rounding(Tile *tile)
{
  const size_t size = tile->path->lines->size, begin = (size_t)tile->samples * size;
  const size_t end = (size_t)tile->summed_samples * size;

  memset(tile->line, 0, line_bytes(tile));
  for (int i = 0; i < ring_slots(tile->path); i++)
    memset(tile->ring + (size_t)i * tile->slot_bytes + begin, 0, end - begin);
}

static int run_path(const CfFirWork *work, const CfFirPath *path, const CfFirRows *rows,
                    const CfRect *bounds, void *scratch)
{
  CfArena arena = {.base = scratch};
  Tile tile = {.work = work,
               .path = path,
               .rows = rows,
               .tile = bounds,
               .watch_alpha =
                   path == &work->straight && (work->weighted.lines || work->only_opaque)};

  lay_out(&tile, &arena);
  tile.samples = (bounds->x1 - bounds->x0) * tile.channels;
  tile.summed_samples = cf_round_to_granule(tile.samples);
  clear_rounding(&tile);
  for (int i = 0; i < path->row.count; i++)
    tile.line_shifts[i] = line_pixel(&tile, tile.line, i);
  return path->column.tap ? filter_columns(&tile) : filter_rows_only(&tile);
}

static CfFirArithmetic arithmetic(const CfLines *lines)
{
  return lines == &cf_lines_float    ? CF_FIR_FLOAT
         : lines == &cf_lines_double ? CF_FIR_DOUBLE
                                     : CF_FIR_FIXED;
}

CfFirArithmetic cf_fir_tile_run(const CfFirWork *work, const CfFirRows *rows, const CfRect *bounds,
                                void *scratch)
{
  CfRect rest = *bounds;

  rest.y0 = in_matrix(work) ? cf_fir_matrix_run(work, rows, bounds, scratch)
                            : run_path(work, &work->straight, rows, bounds, scratch);
  if (rest.y0 == bounds->y1)
    return in_matrix(work) ? CF_FIR_MATRIX : arithmetic(work->straight.lines);
  if (work->only_opaque)
    return CF_FIR_LEFT;
  run_path(work, &work->weighted, rows, &rest, scratch);
  return arithmetic(work->weighted.lines);
}
