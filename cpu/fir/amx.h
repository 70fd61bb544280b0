/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Means of 8-bit samples on a processor with a matrix unit (AMX): both directions are products of
 * samples with banded matrices of taps, so that the time hardly depends on the number of taps.
 *
 * A matrix tile multiplies bytes. Taps have 16 fractional bits and are split as 256 high + low,
 * -128 <= low < 128. Rows are filtered first: sums of bytes by both halves give 16 bits, 8 of them
 * fractional, which are split into bytes again. Columns then leave out the product of both low
 * halves, but for its mean.
 */
#pragma once

#include "cpu/common/memory.h"
#include "plan/fir.h"

/* Rows and columns of a tile of sums, and rows of the picture that enter at a time. */
#define CF_MATRIX_ROWS 16
/* Bytes along which one product sums: samples of a row, or rows. */
#define CF_MATRIX_DEPTH 64
#define CF_MATRIX_TILE  (CF_MATRIX_ROWS * CF_MATRIX_DEPTH) /* bytes */

typedef struct {
  int row_count, row_anchor, column_count, column_anchor; /* of taps */
  int row_tiles;      /* 64 samples each that some groups of 16 results of a row read */
  int segment_groups; /* that many, one beside the other */
  int ring_rows;      /* filtered rows that 16 rows of the result read: whole tiles' rows */
  int ring_tiles;     /* of their high bytes and then of their low bytes, in all */
  int high_tiles;     /* of these, the ones with any high bytes */
  int half;           /* what rounds the sums of columns */

  const int8_t *row;    /* of each such group, each row tile: high taps, low taps; right factors */
  const int8_t *column; /* of each rotation of the ring by 16 rows, each ring tile: what multiplies
                           high bytes by high taps, what adds to the 256 times smaller sums */
} CfFirMatrix;

/* Whether this processor and system have what cf_fir_matrix_run needs; asks the system for it,
 * which lets this process use the registers of the matrix unit from then on. */
bool cf_fir_matrix_available(void);

/* Lays the tables out; with an arena that only counts, all but the pointers. False where the taps
 * are no mean, or too many to gain anything. */
bool cf_fir_matrix_lay_out(CfFirMatrix *matrix, const CfTaps *row, const CfTaps *column,
                           CfArena *arena);
