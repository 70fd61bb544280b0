/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Block average of regions in one launch: the plan, which travels with the launch, and how regions
 * are cut into units. A footprint is the blocks that a region may cover. A unit is some whole
 * blocks of a footprint in one plane, for one CTA; an item is a thread's part of a unit: a column
 * of 16 bytes in some rows of a row of blocks.
 *
 * Lists change with every frame where a detector makes them, and the GPU idles meanwhile. So the
 * host only finds out how many units the largest region has, which all others get too; each CTA
 * works out its own unit, and ends at once where a region has fewer.
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

constexpr int kMostRegions = 256; /* of a launch */

/* Luma pixels, also beside the picture. */
struct alignas(8) Box {
  short x0, y0, x1, y1;
};

/* What regions of a list have in common. */
struct FootprintRule {
  int picture_width, picture_height;
  int reach;          /* of the feather */
  int mask_x, mask_y; /* clear the lowest bits where any plane is subsampled */
  int width, height;  /* of blocks in luma pixels; 0: blocks_across tells */
  int blocks_across;
  bool single;   /* blocks of one grid, the picture's */
  bool anchored; /* grids start where regions do */
  bool field;    /* as in CfRegions */
};

/* All in luma pixels. */
struct Footprint {
  int x, y;          /* where its first block starts */
  int width, height; /* of a block */
  int columns, rows; /* of blocks; 0 outside the picture */
};

/* The blocks of a unit. */
struct UnitShape {
  int across, down;
};

/* What the CTAs of a launch know of its list. */
struct UnitPlan {
  FootprintRule rule;
  int boxes;
  int units[2];            /* most of a region in the first plane, and in each other */
  UnitShape cut[2];        /* in these planes, where all blocks have one size */
  int unit_items;          /* of a unit: aimed at */
  bool exact_offsets;      /* as many CTAs as each region has units; else units for each */
  bool overlaps;           /* any two may share blocks, */
  bool needs_grid_barrier; /* and it is not clear whose blocks these are */
};

/* The list of regions, which travels with the launch. */
struct BoxList {
  Box box[kMostRegions];
  uint16_t start[kMostRegions]; /* the first unit of each, with exact_offsets */
};

struct RegionPlan : UnitPlan {
  BoxList list;
  int items; /* most of a unit */
  int ctas;
};

/* Prepares for a list in a format of 1, 2 or 4 channels a plane, whose rows start at multiples of
 * 16 bytes. False where blocks are large, or the list is too long. */
bool make_region_plan(RegionPlan *list, const CfVideo *video, const CfBlockavgParams *params,
                      const CfRegions *regions);

/* Counts the units of each region, which takes longer, but leaves no CTAs without work.
 * False if there are too many. */
bool count_units(RegionPlan *list, const CfVideo *video);

/* Both may be negative, and are below 2^16; rounds down. */
CF_SHARED int floor_quotient(int a, int b)
{
#ifdef __CUDA_ARCH__
  return __float2int_rd(((float)a + 0.5f) * __fdividef(1.0f, (float)b));
#else
  return a >= 0 ? a / b : -1 - (-1 - a) / b;
#endif
}

CF_SHARED int quotient_up(int a, int b)
{
  return floor_quotient(a + b - 1, b);
}

CF_SHARED int box_side(const FootprintRule *rule, const Box *box)
{
  return smaller(box->x1 - box->x0, (box->y1 - box->y0) << (rule->field ? 1 : 0));
}

/* The blocks are those of all planes: chroma samples may belong to one before those of their luma
 * pixels. */
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

/* Most columns of 16 bytes that so many luma pixels may touch, from one on that starts at a column
 * if `aligned`. `bytes` of a pixel. */
CF_SHARED int columns_touched(int pixels, int bytes, int shift_x, bool aligned)
{
  return (((pixels + (1 << shift_x) - 1) >> shift_x) * bytes + (aligned ? 15 : 31 - bytes)) >> 4;
}

/* Rows of items that a block has. */
CF_SHARED int item_rows_of(int height, int shift_y, int channels)
{
  const int shift = shift_y + (channels == 4 ? 3 : 2);

  return (height + (1 << shift) - 1) >> shift;
}

CF_SHARED bool is_column_aligned(const Footprint *footprint, int bytes, int shift_x)
{
  return ((footprint->x | footprint->width) & ((16 / bytes << shift_x) - 1)) == 0;
}

/* `items` is what a unit may have, unless one block has more. */
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

/* Units side by side. */
CF_SHARED int units_across(const Footprint *footprint, const UnitShape *cut)
{
  return footprint->columns <= cut->across ? 1 : quotient_up(footprint->columns, cut->across);
}

CF_SHARED int units_of(const Footprint *footprint, const UnitShape *cut)
{
  return footprint->rows == 0
             ? 0
             : units_across(footprint, cut) * quotient_up(footprint->rows, cut->down);
}

} // namespace cf::blockavg
