/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The loops of the block average that touch samples. A row of blocks is reduced in two steps: rows
 * to columns (one value a sample of the row), columns to results (one value a channel of a block).
 * Results are doubles, which hold the sum of any block exactly: 2^16 x 4096^2 = 2^40.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "blockavg.h"

/* How samples become one value a block. */
typedef struct {
  int column_bytes;   /* of one column */
  int rows;           /* as many as columns can take */
  int fresh_byte;     /* every byte of columns that have taken nothing */
  double fresh_value; /* a result that has taken nothing */

  /* Takes `count` rows of `samples` samples; `option` is what the reduction says below. */
  void (*take_rows)(void *columns, const uint8_t *rows, ptrdiff_t stride, int count, int samples,
                    int option);

  /* Takes the columns edges[b] <= i < edges[b + 1] of each block b into its `channels` results. */
  void (*take_columns)(double *results, const void *columns, const int *edges, int blocks,
                       int channels);

  /* Takes the results of other rows of the same blocks. */
  void (*take_results)(double *results, const double *others, int count);
} CfBlockReduction;

/* Sums of code values; the option is the format's shift. */
extern const CfBlockReduction cf_block_sums_8, cf_block_sums_16;

/* Sums of colour times alpha of 8-bit pixels of four channels; the option is alpha's channel, whose
 * own sums mean nothing. */
extern const CfBlockReduction cf_block_weighted_sums;

/* Least of the raw samples, with the bits of the option inverted: 0 for the smallest sample; with
 * all bits, the inverse of the largest one. */
extern const CfBlockReduction cf_block_least_8, cf_block_least_16;

/* Raw samples of the means of `count` sums, rounded half up: sum * inverse_width * inverse_height,
 * shifted left by `shift`. */
void cf_block_means(uint16_t *values, const double *sums, const double *inverse_widths,
                    double inverse_height, int count, int shift);

/* Raw samples of `count` results of the least reductions with the same option, their lowest `shift`
 * bits cleared. */
void cf_block_extremes(uint16_t *values, const double *least, int count, int option, int shift);

/* Bytes beyond the last block's end that cf_block_fill may write. */
#define CF_BLOCK_FILL_SLACK 32

/* Fills a line of samples with the value of each block. */
void cf_block_fill(uint8_t *line, const uint16_t *values, const int *edges, int blocks,
                   int channels, int sample_bytes);
