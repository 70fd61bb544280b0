/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What engines and elements ask of regions: where they are, how large, and how much of a picture
 * they cover. Pure functions, callable from any thread. coverage_frame.h tells how much they cover
 * each sample of a frame.
 *
 * A luma pixel is covered by its most covering region: 1 inside, and with a feather of f pixels
 * 1 - d / f at a distance of d pixels between the pixel's centre and the region; the feather of an
 * ellipse is 1 at least, so that its edge has no steps. With `outside` it
 * is covered as much as the least covering complement of a region: 1 in no region, 1 - d / f at a
 * depth of d. A chroma sample is as covered as the most covered luma pixel that it belongs to.
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

/* Pixels over which the coverage of these regions fades. */
double cf_coverage_feather(const CfRegions *regions);

CfCoverageRule cf_coverage_rule(const CfRegions *regions);

/* Makes the shape of a region; false if it is empty. Coordinates are cut at 2^29 pixels; an ellipse
 * with such coordinates covers no less for that, and counts as empty with `outside`. */
bool cf_shape_make(CfShape *shape, const CfVideo *video, const CfRegions *regions,
                   const CfRegion *region);

/* In this and what follows, `region` is one of `regions`. The luma pixels that it may cover; with
 * `outside`, those that it may leave uncovered. May be empty. */
CfRect cf_region_bounds(const CfVideo *video, const CfRegions *regions, const CfRegion *region);

/* The luma pixels that all of them may cover: nothing outside is. May be empty. */
CfRect cf_coverage_bounds(const CfVideo *video, const CfRegions *regions);

/* The samples of `plane` that luma pixels of `luma` belong to. */
CfRect cf_plane_rect(const CfVideo *video, int plane, CfRect luma);

/* The shorter side of a region, or of what it is a part of, in pixels; of fields in pixels of the
 * frame. */
int cf_region_side(const CfRegions *regions, const CfRegion *region);

/* Whether a region holds the whole picture, with its corners. */
bool cf_region_is_picture(const CfVideo *video, const CfRegions *regions, const CfRegion *region);

/* Pixels of a row from x0 to x1. */
typedef struct {
  double x0, x1;
} CfSpan;

/* The share 0..1 of a picture's luma pixels that are covered, partly covered ones by as much as
 * they are. Exact for up to 256 rectangles without feather; else to about 0.01, or 0.03 where
 * feathers meet. Takes the time of some hundred rows of regions, however large they are. `scratch`
 * is room for a span of each region. */
double cf_coverage_share(const CfVideo *video, const CfRegions *regions, CfSpan *scratch);

/* Reads "x,y,w,h;x,y,w,h" (an empty text is no region) into at most `capacity` regions; returns
 * their number, -1 if the text is anything else, with the reason. */
int cf_regions_parse(const char *text, CfRegion *regions, int capacity, CfStatus *status);
