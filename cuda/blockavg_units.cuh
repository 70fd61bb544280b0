/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Block average of rectangles: what the host prepares for the kernel. An area is a rectangle of
 * blocks of one grid, which are measured for one region, or for all that have the picture's grid. A
 * unit is some whole blocks of an area in one plane, for one CUDA block.
 */
#pragma once

#include <stdint.h>

extern "C" {
#include "blockavg.h"
#include "regions.h"
}

constexpr int kMostPatches = 256, kMostAreas = 512, kMostCovers = 1024, kMostUnits = 1792;

/* A thread's part of a unit, an item, is a column of 16 bytes in so many rows of a row of blocks.
 * More rows need fewer registers for all, fewer are sooner done. */
template <int Channels> constexpr int kItemRows = Channels == 4 ? 8 : 4;

constexpr int kUnitItems = 256;  /* what units aim at */
constexpr int kMostItems = 576;  /* of a unit with one block */
constexpr int kUnitBlocks = 255; /* most blocks of a unit */

/* Samples. */
struct CfCover {
  short x0, y0, x1, y1;
};

struct alignas(16) CfUnit {
  short x, y;                       /* luma pixel where its first block starts */
  short width, height;              /* of a block in luma pixels */
  uint8_t blocks, rows;             /* of blocks: side by side, and of those */
  uint8_t plane, covers;            /* how many rectangles are to be written */
  short first_cover;                /* the first of these */
  short column0, columns;           /* of 16 bytes */
  short groups;                     /* of items in a row of blocks */
  uint32_t per_width;               /* 2^32 over a block's width, rounded up; 0: 1 */
  uint32_t per_columns, per_groups; /* likewise */
};

static_assert(sizeof(CfUnit) == 32, "two loads");

struct CfUnitTable {
  int units, covers;
  int items;   /* most of a unit */
  int waiting; /* units from the first on, which write when all of them have read */
  CfUnit unit[kMostUnits +
              kMostCovers * sizeof(CfCover) / sizeof(CfUnit)]; /* followed by the covers */
};

/* Prepares for rectangles without feather, in a format of 1, 2 or 4 channels a plane, whose rows
 * start at multiples of 16 bytes. False where blocks are large, or the list is too long; the limit
 * is higher if it `stays` for many jobs. */
bool cf_unit_table_make(CfUnitTable *table, const CfVideo *video, const CfBlockavgParams *params,
                        const CfRegions *regions, bool stays);
