/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Block average of regions in one launch: what travels with it, and how regions are cut into units.
 * A patch is what a region has of the picture, the blocks that it may cover. A unit is some whole
 * blocks of a patch in one plane, for one CUDA block.
 *
 * Lists change with every frame where a detector makes them, and the GPU waits meanwhile. So the
 * host only finds out how many units the largest region has, which all others get too, and each
 * CUDA block works out its own; it ends at once where a region has less.
 */
#pragma once

#include <stdint.h>

extern "C" {
#include "blockavg.h"
#include "plan/coverage.h"
#include "plan/mosaic.h"
#include "regions.h"
}

constexpr int kMostRegions = 256;

/* A thread's part of a unit, an item, is a column of 16 bytes in so many rows of a row of blocks.
 * More rows need fewer registers for all, fewer are sooner done. */
template <int Channels> constexpr int kItemRows = Channels == 4 ? 8 : 4; /* cf_groups_of */

constexpr int kUnitItems = 256; /* most of a unit, and most blocks of one, */
constexpr int kMostItems = 768; /* but where a single block has more items */

constexpr int kSoftRows = 1024; /* most of a unit whose samples are looked at one by one */

/* Luma pixels, also beside the picture. */
struct alignas(8) CfBox {
  short x0, y0, x1, y1;
};

/* What regions of a list have in common. */
struct CfPatchRule {
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
struct CfPatch {
  int x, y;          /* where its first block starts */
  int width, height; /* of a block */
  int columns, rows; /* of blocks; 0 outside the picture */
};

/* The blocks of a unit. */
struct CfCut {
  int across, down;
};

/* What a launch is made of. */
struct CfPatchList {
  CfPatchRule rule;
  int boxes;
  int units[2];          /* most of a region in the first plane, and in each other */
  CfCut cut[2];          /* in these planes, where all blocks have one size */
  int unit_items, items; /* of a unit: aimed at, and most */
  int unit_rows;         /* most of a unit in samples, where all blocks have one size */
  int blocks;            /* CUDA blocks: so many units for each region, or as many as each has */
  bool counted;          /* the latter */
  bool has_pixels;       /* blocks of 1x1 */
  bool meets;            /* any two may share blocks, */
  bool waits;            /* and it is not clear whose blocks these are */
  CfBox box[kMostRegions];
  uint16_t start[kMostRegions]; /* the first unit of each, where they were counted */
};

/* Prepares for a list in a format of 1, 2 or 4 channels a plane, whose rows start at multiples of
 * 16 bytes. If it `stays` for many jobs, preparing may take longer than it saves for one. False
 * where blocks are large, or the list is too long. */
bool cf_patch_list_make(CfPatchList *list, const CfVideo *video, const CfBlockavgParams *params,
                        const CfRegions *regions, bool stays);

/* Counts the units of each region, which takes longer, but leaves no CUDA blocks without work.
 * False if there are too many. */
bool cf_patch_list_count(CfPatchList *list, const CfVideo *video);

/* Both may be negative, and are below 2^16; rounds down. */
CF_SHARED int cf_floor_quotient(int a, int b)
{
#ifdef __CUDA_ARCH__
  return __float2int_rd(((float)a + 0.5f) * __fdividef(1.0f, (float)b));
#else
  return a >= 0 ? a / b : -1 - (-1 - a) / b;
#endif
}

CF_SHARED int cf_quotient_up(int a, int b)
{
  return cf_floor_quotient(a + b - 1, b);
}

CF_SHARED int cf_lesser(int a, int b)
{
  return a < b ? a : b;
}

CF_SHARED int cf_greater(int a, int b)
{
  return a > b ? a : b;
}

CF_SHARED int cf_box_side(const CfPatchRule *rule, const CfBox *box)
{
  return cf_lesser(box->x1 - box->x0, (box->y1 - box->y0) << (rule->field ? 1 : 0));
}

/* The blocks are those of all planes: chroma samples may belong to one before those of their luma
 * pixels. */
CF_SHARED CfPatch cf_patch_of(const CfPatchRule *rule, const CfBox *box)
{
  const int x0 = cf_greater(box->x0 - rule->reach, 0) & rule->mask_x;
  const int y0 = cf_greater(box->y0 - rule->reach, 0) & rule->mask_y;
  const int x1 = cf_lesser(box->x1 + rule->reach, rule->picture_width);
  const int y1 = cf_lesser(box->y1 + rule->reach, rule->picture_height);
  const int grid_x = rule->anchored ? box->x0 : 0, grid_y = rule->anchored ? box->y0 : 0;
  const int size =
      rule->width > 0 ? 0 : cf_mosaic_block_size(cf_box_side(rule, box), rule->blocks_across);
  const int width = rule->width > 0 ? rule->width : size;
  const int height = rule->width > 0 ? rule->height : size;
  const int column = cf_floor_quotient(x0 - grid_x, width);
  const int row = cf_floor_quotient(y0 - grid_y, height);
  CfPatch patch;

  patch.x = grid_x + column * width;
  patch.y = grid_y + row * height;
  patch.width = width;
  patch.height = height;
  patch.columns = cf_floor_quotient(x1 - 1 - grid_x, width) + 1 - column;
  patch.rows = x0 < x1 && y0 < y1 ? cf_floor_quotient(y1 - 1 - grid_y, height) + 1 - row : 0;
  return patch;
}

/* Most columns of 16 bytes that so many luma pixels may touch, from one on that starts at a column
 * if `aligned`. `bytes` of a pixel. */
CF_SHARED int cf_columns_of(int pixels, int bytes, int shift_x, bool aligned)
{
  return (((pixels + (1 << shift_x) - 1) >> shift_x) * bytes + (aligned ? 15 : 31 - bytes)) >> 4;
}

/* Rows of items that a block has. */
CF_SHARED int cf_groups_of(int height, int shift_y, int channels)
{
  const int shift = shift_y + (channels == 4 ? 3 : 2);

  return (height + (1 << shift) - 1) >> shift;
}

CF_SHARED bool cf_is_aligned(const CfPatch *patch, int bytes, int shift_x)
{
  return ((patch->x | patch->width) & ((16 / bytes << shift_x) - 1)) == 0;
}

/* `items` is what a unit may have, unless one block has more. */
CF_SHARED CfCut cf_cut_patch(const CfPatch *patch, int items, int groups, int bytes, int shift_x,
                             bool aligned)
{
  const int most_columns = cf_greater(cf_floor_quotient(items, groups), 1);
  const int most_bytes = 16 * most_columns + (aligned ? 0 : bytes - 16);
  const int most_across = cf_floor_quotient(most_bytes / bytes << shift_x, patch->width);
  const int limit = cf_greater(cf_lesser(cf_lesser(most_across, patch->columns), items), 1);
  const int columns = cf_columns_of(limit * patch->width, bytes, shift_x, aligned);
  const int most_down =
      cf_greater(cf_floor_quotient(items, cf_greater(columns * groups, limit)), 1);
  const int parts = cf_quotient_up(patch->columns, limit);
  const int down_parts = cf_quotient_up(patch->rows, most_down);

  return {cf_quotient_up(patch->columns, cf_greater(parts, 1)),
          cf_quotient_up(patch->rows, cf_greater(down_parts, 1))};
}

/* Units side by side. */
CF_SHARED int cf_parts_of(const CfPatch *patch, const CfCut *cut)
{
  return patch->columns <= cut->across ? 1 : cf_quotient_up(patch->columns, cut->across);
}

CF_SHARED int cf_units_of(const CfPatch *patch, const CfCut *cut)
{
  return patch->rows == 0 ? 0 : cf_parts_of(patch, cut) * cf_quotient_up(patch->rows, cut->down);
}
