/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The loops of the block average that touch samples: a row of blocks becomes one value a channel
 * and block, and these become a line of pixels. Means are exact: rounded half up, colours weighted
 * by alpha.
 */
#pragma once

#include "blockavg.h"

/* Blocks side by side in one plane. */
typedef struct {
  const CfVideo *video;
  const CfPlaneFormat *info;
  const uint8_t *source; /* their first row, where the sample of number 0 lies or would lie */
  ptrdiff_t stride;      /* bytes */
  int height;            /* rows of samples, 1 or more */
  int count;             /* blocks */
  const int *edges;      /* count + 1 numbers of samples, channels apart, where blocks start */
  const double *inverse_widths; /* 1 / pixels across the block, for each channel of each block */
  bool weighted;                /* colours by alpha, where the plane has it */
} CfBlockRow;

/* Scratch of one thread. */
typedef struct {
  void *columns;              /* 4 bytes for each sample up to the last edge */
  double *results, *weighted; /* one for each channel of each block */
} CfBlockScratch;

/* Writes the raw samples of each block, `mode` as in CfBlockavgParams. */
void cf_block_row_measure(const CfBlockRow *row, int mode, const CfBlockScratch *scratch,
                          uint16_t *values);

/* Bytes beyond the last block's end that cf_block_fill may write. */
#define CF_BLOCK_FILL_SLACK 32

/* Fills a line of samples with the value of each block; `line` is the place of sample 0. */
void cf_block_fill(uint8_t *line, const uint16_t *values, const int *edges, int blocks,
                   int channels, int sample_bytes);
