/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Means of 8-bit samples on a processor with a matrix unit (AMX): filtering along rows and along
 * columns are products of samples with banded matrices of taps, so the time hardly depends on the
 * number of taps.
 *
 * The unit multiplies bytes. Taps have 16 fractional bits and are split into 256 high + low, -128
 * <= low < 128. Rows are filtered first: sums of bytes times both halves have 16 bits, 8 of them
 * fractional, and are split into bytes again. The column filter leaves out the product of low bytes
 * and low taps, except for its mean.
 */
#pragma once

#include "cpu/common/memory.h"
#include "plan/fir.h"

/* Rows and columns of a tile register of sums, and rows of the picture filtered at once. */
#define CF_MATRIX_ROWS 16
/* Bytes that one product sums over: samples along a row, or rows. */
#define CF_MATRIX_DEPTH 64
#define CF_MATRIX_TILE                                                                             \
  (CF_MATRIX_ROWS * CF_MATRIX_DEPTH) /* bytes of a tile register of samples or                     \
                                        taps */

typedef struct {
  int row_count, row_anchor, column_count, column_anchor; /* numbers of taps and their anchors */
  int row_tiles;      /* tiles of 64 samples each that `segment_groups` groups of 16 results along a
                         row read */
  int segment_groups; /* the most neighbouring groups that `row_tiles` tiles suffice for */
  int ring_rows;      /* filtered rows that 16 rows of the result read, rounded up to a multiple of
                         16 */
  int ring_tiles;     /* tiles of the ring: of all high bytes, followed by all low bytes */
  int high_tiles;     /* tiles of the ring that contain high bytes */
  int rounding;       /* initial value of column sums: rounds, and replaces the products left out by
                     their mean */

  const int8_t *row;    /* per group of a segment and row tile: high taps, low taps; right factors
                           of products */
  const int8_t *column; /* per rotation of the ring by 16 rows and ring tile, left factors of
                           products: taps for the high sums (high bytes x high taps), taps for the
                           low sums, which weigh 1/256 */
} CfFirMatrix;

/* Whether this processor and system can run cf_fir_matrix_run. Asks the system for permission,
 * which lets this process use the tile registers from then on. */
bool cf_fir_matrix_available(void);

/* Fills `matrix` and lays out its tables; with an arena that counts, all but the pointers. False
 * where the taps are no mean, too many, or too inaccurate when rounded. */
bool cf_fir_matrix_lay_out(CfFirMatrix *matrix, const CfTaps *row, const CfTaps *column,
                           CfArena *arena);
