/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Which part of a frame an effect may change, as privacy masks need it: the union of the regions,
 * or everything but that union.
 */
#pragma once

#include <stdbool.h>

typedef enum { CF_REGION_RECTANGLE, CF_REGION_ELLIPSE } CfRegionShape;

/* Luma pixels x..x + width - 1, y..y + height - 1. A region may lie partly or wholly outside the
 * picture, at any coordinates: engines add them in 64 bits. A region with a side of 0 or less is
 * empty and covers nothing. */
typedef struct {
  int x, y;
  int width, height;
} CfRegion;

typedef struct {
  const CfRegion *region; /* borrowed for the call; already expanded by the margin that a user asked
                             for, not clipped to the picture */

  /* NULL, or `count` rectangles, borrowed likewise: the object that each region is a part of, as
   * one row of a segmented object is. Where blocks start, how large they are and which sigma a
   * region gets then follow from the object's top left corner and sides instead of the region's
   * own. */
  const CfRegion *whole;
  int count;      /* >= 0; 0 regions cover nothing, or with `outside` everything */
  int shape;      /* CfRegionShape of all regions */
  double feather; /* 0..256 luma pixels over which the coverage fades outwards from a fully covered
                     region; ellipses take at least 1 */
  bool outside;   /* regions exclude: what lies in no region is covered */
} CfRegions;
