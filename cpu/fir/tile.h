/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * One tile of a plane, filtered from top to bottom. Each source row is filtered along itself and
 * stays in a ring of rows as long as the column taps of a block of result rows reach it.
 */
#pragma once

#include "cpu/fir/amx.h"
#include "cpu/fir/line_ops.h"
#include "plan/coverage.h"

/* Rows of the result that are computed at once, a multiple of CfLines.rows. The ring holds
 * column.count - 1 rows more. */
#define CF_FIR_BLOCK_ROWS 16

/* One arithmetic for a plane, with its tables. */
typedef struct {
  const CfLines *lines; /* NULL: not needed for this plane */
  CfLineFormat format;
  CfLineTaps row, column;
  int tile_width; /* pixels, at most */
} CfFirPath;

/* A plane of the picture, ready to be filtered. */
typedef struct {
  const CfFirPlane *plan;
  CfBorder border;
  int width, height;
  int channels;
  int sample_bytes;
  int copied[CF_MAX_CHANNELS]; /* channels that are not filtered, in planes of 8-bit samples */
  int copied_count;
  int alpha, padding;      /* channels, or -1 */
  uint8_t border_pixel[8]; /* as in memory, for CF_BORDER_CONSTANT */
  /* Filters without weights; in premultiplied planes, where all pixels that a tile reads are
   * opaque. */
  CfFirMatrix matrix; /* replaces `straight` where it has row tiles */
  CfFirPath straight;
  CfFirPath weighted; /* weights by alpha, in premultiplied planes */
  bool only_opaque;   /* there is no `weighted`: tiles stop where it would be needed */
} CfFirWork;

/* The pixel that column `x`, any integer, of a row reads; `row` is NULL for a row of the constant
 * border. */
static inline const uint8_t *cf_fir_pixel(const CfFirWork *work, const uint8_t *row, int x)
{
  const int from = row ? cf_border_index(work->border, x, work->width) : -1;

  return from < 0 ? work->border_pixel
                  : row + (ptrdiff_t)from * work->channels * work->sample_bytes;
}

/* The rows of the plane in memory. */
typedef struct {
  const uint8_t *source;
  ptrdiff_t source_stride;
  uint8_t *destination;
  ptrdiff_t destination_stride;
} CfFirRows;

/* Bytes of scratch that cf_fir_tile_run needs for tiles of up to `tile_width` pixels. */
size_t cf_fir_tile_scratch(const CfFirWork *work, int tile_width);

/* From the fastest to the slowest. */
typedef enum {
  CF_FIR_COPY,
  CF_FIR_MATRIX,
  CF_FIR_FIXED,
  CF_FIR_FLOAT,
  CF_FIR_DOUBLE,
  CF_FIR_LEFT, /* given up because of pixels that are not opaque */
} CfFirArithmetic;

/* Filters a tile, in pixels of the plane, no wider than the tile_width of its paths. `scratch` is
 * aligned to CF_ALIGNMENT and used by this call alone. Returns the arithmetic that was used. */
CfFirArithmetic cf_fir_tile_run(const CfFirWork *work, const CfFirRows *rows, const CfRect *tile,
                                void *scratch);
