/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Which part of a frame an effect may change, for privacy masks: the union of the regions, or all
 * but that union.
 */
#pragma once

#include <stdbool.h>

typedef enum { CF_REGION_RECTANGLE, CF_REGION_ELLIPSE } CfRegionShape;

/* Luma pixels; may lie partly or wholly outside the picture. Empty ones cover nothing. */
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
  double feather; /* 0..256 luma pixels, outwards from what is fully covered */
  bool outside;   /* covers what lies in no region */
  bool field;     /* of one field: rows count twice where a region's sides are compared */
} CfRegions;
