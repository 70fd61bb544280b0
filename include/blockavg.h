/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Block average (mosaic). Every block becomes the mean of its samples (exact, rounded half up), or
 * their minimum or maximum, channel by channel; the mean of colours beside an alpha channel is
 * weighted by alpha. Blocks are cut at the picture's edges; plan/mosaic.h defines the grids they
 * form. With CF_BLOCKAVG_FILL there are no blocks: one colour replaces every pixel.
 */
#pragma once

#include "engine.h"

typedef enum {
  CF_BLOCKAVG_AVERAGE,
  CF_BLOCKAVG_MIN,
  CF_BLOCKAVG_MAX,
  CF_BLOCKAVG_FILL, /* replaces pixels, alpha included, by fill_color */
} CfBlockavgMode;

typedef enum { CF_BLOCKAVG_FRAME, CF_BLOCKAVG_REGION } CfBlockavgAnchor;

/* Without regions, or with regions that exclude (CfRegions.outside), the whole picture takes the
 * place of the region in what follows. */
typedef struct {
  int block_width;     /* 1..4096 luma pixels */
  int block_height;    /* 1..4096 luma pixels */
  int mode;            /* CfBlockavgMode */
  int anchor;          /* CfBlockavgAnchor: where the grid of blocks starts */
  int blocks_across;   /* 0 = off; 1..256: square blocks, of which at most this many fit across the
                          shorter side of the region, instead of block_width and block_height; -1 =
                          automatic: CfEffect.settle replaces it, engines treat it as 0 */
  uint32_t fill_color; /* 0xAARRGGBB, for CF_BLOCKAVG_FILL; cf_color_code() converts it */
} CfBlockavgParams;

extern const CfEngine cf_blockavg_reference, cf_blockavg_cpu, cf_blockavg_cuda;
extern const CfEffect cf_blockavg;
