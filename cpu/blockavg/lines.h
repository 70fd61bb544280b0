/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The loops of the block average over samples: a row of blocks is reduced to one value per block
 * and channel, and values are expanded to a line of pixels. Means are exact and rounded half up.
 */
#pragma once

#include "blockavg.h"

/* Neighbouring blocks of one row of blocks in one plane. */
typedef struct {
  const CfVideo *video;
  const CfPlaneFormat *info;
  const uint8_t *source; /* row 0 of the blocks, at sample 0 of the plane's row */
  ptrdiff_t stride;      /* bytes */
  int height;            /* rows of samples, >= 1 */
  int count;             /* number of blocks */
  const int *edges;      /* count + 1 indices of samples (pixels times channels) at which blocks
                            start */
  const double *inverse_widths; /* 1 / width in pixels of each block, repeated for each channel */
  bool weighted;                /* colours are weighted by alpha, where the plane has alpha */
} CfBlockRow;

/* Scratch of one thread. */
typedef struct {
  void *columns;              /* 4 bytes per sample up to the last edge */
  double *results, *weighted; /* one per channel and block */
} CfBlockScratch;

/* Writes the raw samples of each block; `mode` is a CfBlockavgMode but CF_BLOCKAVG_FILL. */
void cf_block_row_measure(const CfBlockRow *row, int mode, const CfBlockScratch *scratch,
                          uint16_t *values);

/* Bytes that cf_block_fill may write beyond the end of the last block. */
#define CF_BLOCK_FILL_SLACK 32

/* Fills a line with the value of each block; `line` points to sample 0. */
void cf_block_fill(uint8_t *line, const uint16_t *values, const int *edges, int blocks,
                   int channels, int sample_bytes);
