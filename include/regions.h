/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Which part of a frame an effect may change, for privacy masks: the union of the regions, or all
 * but that union.
 */
#pragma once

#include <stdbool.h>

typedef enum { CF_REGION_RECTANGLE, CF_REGION_ELLIPSE } CfRegionShape;

/* Luma pixels x..x + width - 1, y..y + height - 1; may lie partly or wholly outside the picture, at
 * any coordinate: engines add them in 64 bits. Empty ones (a side of 0 or less) cover nothing. */
typedef struct {
  int x, y;
  int width, height;
} CfRegion;

typedef struct {
  const CfRegion *region; /* borrowed for the call; already expanded, not clipped */

  /* NULL, or for each region what it is a part of (a row of a segmented object): that rectangle's
   * top left and sides, instead of the region's own, say where its blocks start and how large they
   * are, or its sigma. Borrowed like the regions. */
  const CfRegion *whole;
  int count;      /* >= 0; with 0 regions nothing (outside: everything) is covered */
  int shape;      /* CfRegionShape, of all */
  double feather; /* 0..256 luma pixels, outwards from what is fully covered; of ellipses below 1
                     as 1 */
  bool outside;   /* covers what lies in no region */

  /* The picture is one field of interlaced video, and rows, here and in `region`, are those of the
   * field: heights are doubled where sides are compared or blocks and sigmas follow from them. */
  bool field;
} CfRegions;
