/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What docs/reference/definitions.md says is covered by regions, once more and in real numbers:
 * sample by sample, knowing nothing of plan/coverage.c.
 */
#pragma once

#include <stdbool.h>

#include "image.h"

/* A region, expanded; luma pixels, anywhere. */
typedef struct {
  double x, y, width, height;
} FuzzArea;

typedef struct {
  FuzzArea area[32];
  int count;
  bool ellipse, outside;
  double feather;
} FuzzAreas;

/* What rounding may make of a coverage, in 256ths. */
typedef struct {
  int least, most;
} FuzzCover;

/* Of the sample x, y of `plane`, by area `index`, or by all if it is negative. */
FuzzCover fuzz_cover(const CfVideo *video, const FuzzAreas *areas, int index, int plane, int x,
                     int y);

/* Whether `owner` may be the area whose strength the sample gets: the one that covers it most, of
 * these the one with the longest shorter side, of these the first. `field`: of one field. */
bool fuzz_may_own(const CfVideo *video, const FuzzAreas *areas, bool field, int owner, int plane,
                  int x, int y);

/* The shorter side; of fields in pixels of the frame. */
double fuzz_side(const FuzzArea *area, bool field);
