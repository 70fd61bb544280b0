/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * One tile of a plane, filtered from top to bottom: each row enters, is filtered along itself, and
 * stays in a ring as long as column taps of a block of rows reach it.
 */
#pragma once

#include "cpu/fir/amx.h"
#include "cpu/fir/line_ops.h"
#include "plan/coverage.h"

/* Rows that a tile makes at a time, a multiple of CfLines.rows; its ring holds one less and the
 * column taps. */
#define CF_FIR_BLOCK_ROWS 16

/* How to filter a plane with one arithmetic. */
typedef struct {
  const CfLines *lines; /* NULL: this way is not needed */
  CfLineFormat format;
  CfLineTaps row, column;
  int tile_width; /* pixels, at most */
} CfFirWay;

/* A plane of the picture format, ready to be filtered. */
typedef struct {
  const CfFirPlane *plan;
  CfBorder border;
  int width, height;
  int channels;
  int sample_bytes;
  int copied[CF_MAX_CHANNELS]; /* channels not filtered, in planes of 8-bit samples */
  int copied_count;
  int alpha, padding;      /* channels, or -1 */
  uint8_t border_pixel[8]; /* as stored in memory, for a constant border */
  /* Without weights; also where all alpha that a tile sees is opaque. */
  CfFirMatrix matrix; /* if it has row tiles, in place of the next */
  CfFirWay straight;
  CfFirWay weighted; /* by alpha, in premultiplied planes */
  bool only_opaque;  /* there is no such way: tiles are left where it was needed */
} CfFirWork;

/* What column `x`, any integer, of a row in memory reads; the row is NULL for the constant border.
 */
static inline const uint8_t *cf_fir_pixel(const CfFirWork *work, const uint8_t *row, int x)
{
  const int from = row ? cf_border_index(work->border, x, work->width) : -1;

  return from < 0 ? work->border_pixel
                  : row + (ptrdiff_t)from * work->channels * work->sample_bytes;
}

/* The plane's rows in memory. */
typedef struct {
  const uint8_t *source;
  ptrdiff_t source_stride;
  uint8_t *destination;
  ptrdiff_t destination_stride;
} CfFirRows;

/* Bytes of scratch that cf_fir_tile_run needs, for any tile of so many pixels a row. */
size_t cf_fir_tile_scratch(const CfFirWork *work, int tile_width);

/* From the cheapest to the dearest. */
typedef enum {
  CF_FIR_COPY,
  CF_FIR_MATRIX,
  CF_FIR_FIXED,
  CF_FIR_FLOAT,
  CF_FIR_DOUBLE,
  CF_FIR_LEFT, /* because of pixels that are not opaque */
} CfFirArithmetic;

/* Filters a tile, pixels of the plane, no wider than either way's tile_width. `scratch` is aligned
 * to CF_ALIGNMENT and belongs to this call. Returns the arithmetic that it took. */
CfFirArithmetic cf_fir_tile_run(const CfFirWork *work, const CfFirRows *rows, const CfRect *tile,
                                void *scratch);
