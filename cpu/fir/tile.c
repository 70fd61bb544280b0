/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cpu/fir/tile.h"

#include <limits.h>
#include <string.h>

#include "cpu/common/alpha.h"
#include "cpu/common/memory.h"
#include "cpu/fir/amx_tile.h"
#include "plan/int_math.h"

/* A block of rows is made in chunks of so many samples: a chunk's part of the ring stays in the
 * first-level cache for the whole block. Whole pixels and granules. */
#define CHUNK_SAMPLES (9 * CF_LINE_GRANULE)
#define MOST_ROWS     4 /* of CfLines.rows */

/* A tile under way. */
typedef struct {
  const CfFirWork *work;
  const CfFirWay *way;
  const CfFirRows *rows;
  const CfRect *tile;
  int channels;       /* of a pixel, but for the one that is dropped */
  int samples;        /* of a row of the tile */
  int summed_samples; /* the same, rounded up */

  uint8_t *line;            /* one row with what the row taps reach on both sides */
  const void **line_shifts; /* the line from its first, second, ... pixel on, one a row tap */
  uint8_t *ring;            /* filtered rows: as many as a block reads */
  const void **ring_rows;   /* its slots, twice in a row, so that any rotation is contiguous */
  size_t slot_bytes;
  int *entered;            /* the last virtual row that read a source row, by source row + 1 */
  const void **chunk_rows; /* rows of the ring from the first sample of a chunk on, and one more
                              that is loaded in vain */
  uint8_t *result;         /* a row, or one chunk after another */

  bool watch_alpha; /* this way is for opaque pixels only */
  bool saw_alpha;   /* and it has read others */
} Tile;

/* Scratch */

static int ring_slots(const CfFirWay *way)
{
  return way->column.count - 1 + CF_FIR_BLOCK_ROWS;
}

static int line_channels(const CfFirWork *work, const CfFirWay *way)
{
  return work->channels - (way->format.dropped >= 0);
}

/* An odd number of cache lines, so that equal places of all rows do not share a cache set. */
static size_t slot_bytes(const Tile *tile)
{
  const CfFirWay *way = tile->way;
  const size_t bytes =
      (size_t)cf_round_to_granule(way->tile_width * tile->channels) * way->lines->size;

  return ((bytes + CF_ALIGNMENT - 1) / CF_ALIGNMENT | 1) * CF_ALIGNMENT;
}

/* Whole vectors are written where pixels drop a channel. */
static size_t line_bytes(const Tile *tile)
{
  const size_t pixel = (size_t)tile->channels * tile->way->lines->line_size;

  return tile->slot_bytes + (size_t)(tile->way->row.count - 1) * pixel + CF_LINE_GRANULE;
}

static void lay_out(Tile *tile, CfArena *arena)
{
  const CfFirWork *work = tile->work;
  const CfFirWay *way = tile->way;
  const size_t row_taps = (size_t)way->row.count, slots = (size_t)ring_slots(way);

  tile->channels = line_channels(work, way);
  tile->slot_bytes = slot_bytes(tile);
  tile->line = cf_arena_take(arena, line_bytes(tile));
  tile->line_shifts = cf_arena_take(arena, row_taps * sizeof *tile->line_shifts);
  tile->ring = cf_arena_take(arena, slots * tile->slot_bytes);
  tile->ring_rows = cf_arena_take(arena, 2 * slots * sizeof *tile->ring_rows);
  tile->entered = cf_arena_take(arena, ((size_t)work->height + 1) * sizeof *tile->entered);
  tile->chunk_rows = cf_arena_take(arena, (slots + 1) * sizeof *tile->chunk_rows);
  tile->result =
      cf_arena_take(arena, tile->slot_bytes + MOST_ROWS * CHUNK_SAMPLES * way->lines->size);
}

static bool in_matrix(const CfFirWork *work)
{
  return work->matrix.row_tiles > 0;
}

static size_t way_scratch(const CfFirWork *work, const CfFirWay *way)
{
  Tile tile = {.work = work, .way = way};
  CfArena arena = {0};

  if (way->lines)
    lay_out(&tile, &arena);
  return arena.used;
}

size_t cf_fir_tile_scratch(const CfFirWork *work, int tile_width)
{
  const size_t straight = in_matrix(work) ? cf_fir_matrix_scratch(work, tile_width)
                                          : way_scratch(work, &work->straight);
  const size_t weighted = way_scratch(work, &work->weighted);

  return straight > weighted ? straight : weighted;
}

/* Rows */

static uint8_t *line_pixel(const Tile *tile, uint8_t *line, int pixel)
{
  return line + (size_t)pixel * (size_t)tile->channels * tile->way->lines->line_size;
}

static const uint8_t *source_row(const Tile *tile, int y)
{
  return tile->rows->source + y * tile->rows->source_stride;
}

static void load_pixels(Tile *tile, const uint8_t *from, int pixels, uint8_t *to)
{
  if (tile->watch_alpha && !cf_pixels_are_opaque(from, tile->work->alpha, pixels))
    tile->saw_alpha = true;
  tile->way->lines->load(&tile->way->format, from, pixels * tile->work->channels, to);
}

/* Reads columns `begin` <= x < `end` of row `y`, -1 for the constant border; some may lie outside
 * the picture. */
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

/* Reads source row `y`, -1 for the constant border, and filters it along itself. */
static void filter_row(Tile *tile, int y, uint8_t *to)
{
  const CfFirWay *way = tile->way;
  const int begin = tile->tile->x0 - way->row.anchor;
  const int end = tile->tile->x1 + way->row.count - 1 - way->row.anchor;
  uint8_t *line = way->row.tap ? tile->line : to;

  load_line(tile, y, begin, end, line);
  if (way->row.tap)
    way->lines->sum(&way->row, tile->line_shifts, tile->summed_samples, to);
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

/* Writes `samples` samples of a line from sample `first` of the tile's row `y` on: whole pixels. */
static void store_samples(const Tile *tile, const void *line, int y, int first, int samples)
{
  const CfFirWork *work = tile->work;
  const int pixels = samples / tile->channels;
  const ptrdiff_t offset =
      ((ptrdiff_t)tile->tile->x0 + first / tile->channels) * work->channels * work->sample_bytes;
  const uint8_t *source = source_row(tile, y) + offset;
  uint8_t *destination = tile->rows->destination + y * tile->rows->destination_stride + offset;

  tile->way->lines->store(&tile->way->format, line, pixels * work->channels, source, destination);
  copy_channels(work, source, pixels, destination);
}

/* Columns */

static uint8_t *ring_slot(const Tile *tile, int virtual_row)
{
  const int slot =
      (virtual_row - tile->tile->y0 + tile->way->column.anchor) % ring_slots(tile->way);

  return tile->ring + (size_t)slot * tile->slot_bytes;
}

/* The processor does not foresee that this row of the result is written next. Inlined, or GCC takes
 * it for a function without effect. */
static inline __attribute__((always_inline)) void fetch_result(const Tile *tile, int y)
{
  const int channels = tile->work->channels;
  const uint8_t *to = tile->rows->destination + y * tile->rows->destination_stride +
                      (ptrdiff_t)tile->tile->x0 * channels;

  for (int i = 0; i < (tile->tile->x1 - tile->tile->x0) * channels; i += CF_ALIGNMENT)
    __builtin_prefetch(to + i, 1);
}

/* Rows outside the picture repeat ones that often still are in the ring. */
static void enter_row(Tile *tile, int virtual_row)
{
  const CfFirWork *work = tile->work;
  const int y = cf_border_index(work->border, virtual_row, work->height);
  const int before = tile->entered[y + 1];
  const int completed = virtual_row + tile->way->column.anchor - tile->way->column.count + 1;
  uint8_t *slot = ring_slot(tile, virtual_row);

  if (cf_lines_are_bytes(tile->way->lines) && completed >= tile->tile->y0)
    fetch_result(tile, completed);
  if (before > virtual_row - ring_slots(tile->way))
    memcpy(slot, ring_slot(tile, before), tile->slot_bytes);
  else
    filter_row(tile, y, slot);
  tile->entered[y + 1] = virtual_row;
}

/* Filters rows y..y+rows-1, which the ring has all rows for, along columns. */
static void filter_block(Tile *tile, int y, int rows)
{
  const CfFirWay *way = tile->way;
  const size_t size = way->lines->size;
  const void *const *oldest = tile->ring_rows + (y - tile->tile->y0) % ring_slots(way);
  void *results[MOST_ROWS];

  for (int i = 0; i < MOST_ROWS; i++)
    results[i] = tile->result + (size_t)i * CHUNK_SAMPLES * size;

  for (int first = 0; first < tile->samples; first += CHUNK_SAMPLES) {
    const int samples = cf_min(tile->samples - first, CHUNK_SAMPLES);

    for (int i = 0; i <= ring_slots(way); i++)
      tile->chunk_rows[i] = (const uint8_t *)oldest[i] + (size_t)first * size;
    for (int i = 0; i < rows; i += way->lines->rows) {
      way->lines->sum_rows(&way->column, tile->chunk_rows + i, cf_round_to_granule(samples),
                           results);
      for (int row = i; row < i + way->lines->rows && row < rows; row++)
        store_samples(tile, results[row - i], y + row, first, samples);
    }
  }
}

/* Both return the first row that they did not write, because it needs pixels that are not opaque;
 * otherwise the end of the tile. */
static int filter_columns(Tile *tile)
{
  const CfFirWay *way = tile->way;
  const int slots = ring_slots(way);
  const int newest = tile->tile->y0 - way->column.anchor + way->column.count - 1;
  int row = tile->tile->y0 - way->column.anchor;

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

/* Sums also run over what rounds rows up to granules, where stale bytes might be slow denormal
 * numbers. */
static void clear_rounding(Tile *tile)
{
  const size_t size = tile->way->lines->size, begin = (size_t)tile->samples * size;
  const size_t end = (size_t)tile->summed_samples * size;

  memset(tile->line, 0, line_bytes(tile));
  for (int i = 0; i < ring_slots(tile->way); i++)
    memset(tile->ring + (size_t)i * tile->slot_bytes + begin, 0, end - begin);
}

static int run_way(const CfFirWork *work, const CfFirWay *way, const CfFirRows *rows,
                   const CfRect *bounds, void *scratch)
{
  CfArena arena = {.base = scratch};
  Tile tile = {.work = work,
               .way = way,
               .rows = rows,
               .tile = bounds,
               .watch_alpha =
                   way == &work->straight && (work->weighted.lines || work->only_opaque)};

  lay_out(&tile, &arena);
  tile.samples = (bounds->x1 - bounds->x0) * tile.channels;
  tile.summed_samples = cf_round_to_granule(tile.samples);
  clear_rounding(&tile);
  for (int i = 0; i < way->row.count; i++)
    tile.line_shifts[i] = line_pixel(&tile, tile.line, i);
  return way->column.tap ? filter_columns(&tile) : filter_rows_only(&tile);
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
                            : run_way(work, &work->straight, rows, bounds, scratch);
  if (rest.y0 == bounds->y1)
    return in_matrix(work) ? CF_FIR_MATRIX : arithmetic(work->straight.lines);
  if (work->only_opaque)
    return CF_FIR_LEFT;
  run_way(work, &work->weighted, rows, &rest, scratch);
  return arithmetic(work->weighted.lines);
}
