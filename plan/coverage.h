/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Where regions lie, how large they are and how much of a picture they cover. Pure functions,
 * callable from any thread. coverage_frame.h computes how much they cover each sample of a frame.
 *
 * A luma pixel is covered as much as by its most covering region: by 1 inside, and with a feather
 * of f pixels by 1 - d / f at a distance of d pixels between the pixel's centre and the region.
 * Ellipses have a feather of at least 1, so that their edges are not jagged. With `outside` a pixel
 * is covered as much as by the least covering complement of a region: by 1 in no region, by 1 - d /
 * f at a depth of d inside one. A chroma sample is covered as much as its most covered luma pixel.
 * coverage_rule.h has the arithmetic.
 */
#pragma once

#include "plan/coverage_rule.h"
#include "image.h"
#include "regions.h"
#include "status.h"

/* Samples x0 <= x < x1, y0 <= y < y1. */
typedef struct {
  int x0, y0, x1, y1;
} CfRect;

static inline bool cf_rect_is_empty(CfRect rect)
{
  return rect.x0 >= rect.x1 || rect.y0 >= rect.y1;
}

/* The feather of these regions in luma pixels: at least 1 for ellipses. */
double cf_coverage_feather(const CfRegions *regions);

/* The constants of coverage_rule.h for these regions. */
CfCoverageRule cf_coverage_rule(const CfRegions *regions);

/* Makes the shape of a region; false if the region is empty. Coordinates are clamped to 2^29 pixels
 * either way; an ellipse with clamped coordinates covers no less than without, and with `outside`
 * counts as empty. */
bool cf_shape_make(CfShape *shape, const CfVideo *video, const CfRegions *regions,
                   const CfRegion *region);

/* Luma pixels that a region may cover, or with `outside` leave uncovered; may be empty. Here and
 * below, `region` is an element of `regions`. */
CfRect cf_region_bounds(const CfVideo *video, const CfRegions *regions, const CfRegion *region);

/* Luma pixels that all regions together may cover: none outside are covered. May be empty. */
CfRect cf_coverage_bounds(const CfVideo *video, const CfRegions *regions);

/* The samples of `plane` that the luma pixels `luma` belong to. */
CfRect cf_plane_rect(const CfVideo *video, int plane, CfRect luma);

/* The shorter side, in luma pixels, of a picture, and of a region or its CfRegions.whole; of
 * fields, in pixels of the frame. */
int cf_picture_side(const CfVideo *video);
int cf_region_side(const CfVideo *video, const CfRegions *regions, const CfRegion *region);

/* Whether the region is a rectangle that contains the whole picture. */
bool cf_region_is_picture(const CfVideo *video, const CfRegions *regions, const CfRegion *region);

/* Scratch memory of cf_coverage_share() for a region. */
typedef struct {
  double x0, y0, x1, y1; /* with a part of its feather, luma pixels */
  double left, right;    /* of a row */
} CfOutline;

/* The share 0..1 of a picture's luma pixels that are covered, partly covered ones by their
 * coverage. Exact for rectangles without feather; else to about 0.01, for ellipses and crowds 0.03,
 * and more for ellipses that are narrower than their feather. Costs as many rows of regions as
 * there are heights at which one begins or ends, and some times as many with edges that are not
 * straight, however large they are. `scratch` has room for all regions. */
double cf_coverage_share(const CfVideo *video, const CfRegions *regions, CfOutline *scratch);

/* Reads "x,y,w,h;x,y,w,h" (an empty text has no region) into at most `capacity` regions. Returns
 * their number, or -1 with CF_ERROR_INVALID and the reason. */
int cf_regions_parse(const char *text, CfRegion *regions, int capacity, CfStatus *status);
