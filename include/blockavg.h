/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Block average (mosaic): every block takes its exact mean, rounded half up, its minimum or its
 * maximum, channel by channel; the mean of colours is weighted by alpha. Blocks are cut at the
 * picture's edges. plan/mosaic.h says where they lie. Or one colour takes the place of all there
 * is.
 */
#pragma once

#include "engine.h"

typedef enum {
  CF_BLOCKAVG_AVERAGE,
  CF_BLOCKAVG_MIN,
  CF_BLOCKAVG_MAX,
  CF_BLOCKAVG_FILL, /* fill_color, alpha included; there are no blocks */
} CfBlockavgMode;

typedef enum { CF_BLOCKAVG_FRAME, CF_BLOCKAVG_REGION } CfBlockavgAnchor;

/* Without regions, and with those that are left out (`outside`), the picture is the region. */
typedef struct {
  int block_width;   /* 1..4096 luma pixels */
  int block_height;  /* 1..4096 luma pixels */
  int mode;          /* CfBlockavgMode */
  int anchor;        /* CfBlockavgAnchor: where the first block starts */
  int blocks_across; /* 0 = off, else 1..256: square blocks, at most so many of which fit across the
                        shorter side of the region (CfRegions), in the place of width and height;
                        -1: what CfEffect.settle makes of it, and off for engines */
  uint32_t fill_color; /* 0xAARRGGBB, mode = fill; cf_color_code */
} CfBlockavgParams;

extern const CfEngine cf_blockavg_reference, cf_blockavg_cpu, cf_blockavg_cuda;
extern const CfEffect cf_blockavg;
