/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Block average of regions in one launch: the plan of a launch, which is part of the kernel's
 * parameters, and the division of regions into units. A *footprint* is the blocks that a region
 * may cover. A *unit* is some whole blocks of a footprint in one plane: the work of a CTA. An
 * *item* is a thread's part of a unit: a column of 16 bytes, in some rows of one row of blocks.
 *
 * If a detector makes the list, it changes with every frame, and the GPU is idle while the host
 * plans. So the host only computes how many units the largest region may have, and launches as many
 * CTAs for every region. Each CTA finds its own unit, and ends at once if there is none.
 */
#pragma once

#include <stdint.h>

#include "cuda/blockavg/tuning.h"
#include "cuda/common/int_math.cuh"

extern "C" {
#include "blockavg.h"
#include "plan/coverage.h"
#include "plan/mosaic.h"
#include "regions.h"
}

namespace cf::blockavg
{

constexpr int kMostRegions = 1024; /* of a launch */

/* A longer list is in device memory, a shorter one is a parameter of the kernel. */
constexpr int kInlineRegions = 256;

/* A rectangle of luma pixels, which may lie outside the picture. */
struct alignas(8) Box {
  short x0, y0, x1, y1;
};

/* The parameters of a list from which footprints follow. */
struct FootprintRule {
  int picture_width, picture_height;
  int reach;          /* of the feather, luma pixels beyond the box */
  int mask_x, mask_y; /* round coordinates down to multiples of the largest subsampling */
  int width, height;  /* of blocks in luma pixels; 0: by blocks_across */
  int blocks_across;
  bool single;   /* all blocks are of one grid, the picture's */
  bool anchored; /* each region's grid starts at its box */
  bool field;    /* CfVideo.field */
};

/* All in luma pixels. */
struct Footprint {
  int x, y;          /* start of the first block */
  int width, height; /* of a block */
  int columns, rows; /* blocks; rows is 0 if the region is outside the picture */
};

/* The largest units of a footprint, in blocks. */
struct UnitShape {
  int across, down;
};

/* The kernel's view of a plan. */
struct UnitPlan {
  FootprintRule rule;
  int boxes;
  int units[2];            /* most units of a region: in plane 0, and in each other plane */
  UnitShape cut[2];        /* the same for all regions if all blocks have one size */
  int unit_items;          /* items that a unit should not exceed */
  bool exact_offsets;      /* each region has as many CTAs as units; else units[] for each */
  bool overlaps;           /* two regions may have blocks in common */
  bool needs_grid_barrier; /* and both may have to read, and write, parts of these blocks */
};

/* The list of regions. */
template <int Capacity> struct BoxList {
  Box box[Capacity];
  uint16_t start[Capacity]; /* with exact_offsets, the first unit of each region */
};

struct RegionPlan : UnitPlan {
  BoxList<kMostRegions> list;
  int items; /* most items of a unit */
  int ctas;
};

/* Plans a list for a format of 1, 2 or 4 channels in each plane, whose rows are aligned to 16
 * bytes. False if blocks are too large or the list is too long. */
bool make_region_plan(RegionPlan *list, const CfVideo *video, const CfBlockavgParams *params,
                      const CfRegions *regions);

/* Changes a plan to exact_offsets, which takes longer but launches no CTAs without a unit. False if
 * there are too many units. */
bool count_units(RegionPlan *list, const CfVideo *video);

/* a / b rounded down; b > 0, and both are below 2^16 in magnitude. */
CF_SHARED int floor_quotient(int a, int b)
{
#ifdef __CUDA_ARCH__
  return __float2int_rd(((float)a + 0.5f) * __fdividef(1.0f, (float)b));
#else
  return a >= 0 ? a / b : -1 - (-1 - a) / b;
#endif
}

/* a / b rounded up, with the same limits. */
CF_SHARED int quotient_up(int a, int b)
{
  return floor_quotient(a + b - 1, b);
}

/* The shorter side of a region, in pixels of the frame. */
CF_SHARED int box_side(const FootprintRule *rule, const Box *box)
{
  return smaller(box->x1 - box->x0, (box->y1 - box->y0) << (rule->field ? 1 : 0));
}

/* The footprint has the blocks of all planes: a chroma sample may belong to a block before those of
 * its luma pixels. */
CF_SHARED Footprint footprint_of(const FootprintRule *rule, const Box *box)
{
  const int x0 = larger(box->x0 - rule->reach, 0) & rule->mask_x;
  const int y0 = larger(box->y0 - rule->reach, 0) & rule->mask_y;
  const int x1 = smaller(box->x1 + rule->reach, rule->picture_width);
  const int y1 = smaller(box->y1 + rule->reach, rule->picture_height);
  const int grid_x = rule->anchored ? box->x0 : 0, grid_y = rule->anchored ? box->y0 : 0;
  const int size =
      rule->width > 0 ? 0 : cf_mosaic_block_size(box_side(rule, box), rule->blocks_across);
  const int width = rule->width > 0 ? rule->width : size;
  const int height = rule->width > 0 ? rule->height : size;
  const int column = floor_quotient(x0 - grid_x, width);
  const int row = floor_quotient(y0 - grid_y, height);
  Footprint footprint;

  footprint.x = grid_x + column * width;
  footprint.y = grid_y + row * height;
  footprint.width = width;
  footprint.height = height;
  footprint.columns = floor_quotient(x1 - 1 - grid_x, width) + 1 - column;
  footprint.rows = x0 < x1 && y0 < y1 ? floor_quotient(y1 - 1 - grid_y, height) + 1 - row : 0;
  return footprint;
}

/* The most columns of 16 bytes that `pixels` luma pixels may touch; with `aligned` the first starts
 * at a column. `bytes`: of a pixel of the plane. */
CF_SHARED int columns_touched(int pixels, int bytes, int shift_x, bool aligned)
{
  return (((pixels + (1 << shift_x) - 1) >> shift_x) * bytes + (aligned ? 15 : 31 - bytes)) >> 4;
}

/* Items of a block along a column: rows of the plane over kItemRows. */
CF_SHARED int item_rows_of(int height, int shift_y, int channels)
{
  const int shift = shift_y + (channels == 4 ? 3 : 2);

  return (height + (1 << shift) - 1) >> shift;
}

CF_SHARED bool is_column_aligned(const Footprint *footprint, int bytes, int shift_x)
{
  return ((footprint->x | footprint->width) & ((16 / bytes << shift_x) - 1)) == 0;
}

/* The shape of units with at most `items` items, unless a single block has more. `groups` is
 * item_rows_of(). Units are about equally large. */
CF_SHARED UnitShape unit_shape_of(const Footprint *footprint, int items, int groups, int bytes,
                                  int shift_x, bool aligned)
{
  const int most_columns = larger(floor_quotient(items, groups), 1);
  const int most_bytes = 16 * most_columns + (aligned ? 0 : bytes - 16);
  const int most_across = floor_quotient(most_bytes / bytes << shift_x, footprint->width);
  const int limit = larger(smaller(smaller(most_across, footprint->columns), items), 1);
  const int columns = columns_touched(limit * footprint->width, bytes, shift_x, aligned);
  const int most_down = larger(floor_quotient(items, larger(columns * groups, limit)), 1);
  const int parts = quotient_up(footprint->columns, limit);
  const int down_parts = quotient_up(footprint->rows, most_down);

  return {quotient_up(footprint->columns, larger(parts, 1)),
          quotient_up(footprint->rows, larger(down_parts, 1))};
}

/* Units of a footprint side by side. */
CF_SHARED int units_across(const Footprint *footprint, const UnitShape *cut)
{
  return footprint->columns <= cut->across ? 1 : quotient_up(footprint->columns, cut->across);
}

/* Units of a footprint. */
CF_SHARED int units_of(const Footprint *footprint, const UnitShape *cut)
{
  return footprint->rows == 0
             ? 0
             : units_across(footprint, cut) * quotient_up(footprint->rows, cut->down);
}

} // namespace cf::blockavg
