/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * How much of a picture is covered by regions, from their outlines instead of pixels: the length
 * that they cover of a few rows in each band of rows in which no region begins or ends.
 */
#include "plan/coverage.h"

#include <math.h>

/* Rows per band for ellipses: this many divided by the number of regions, but at most
 * MOST_ELLIPSE_ROWS. */
#define ELLIPSE_ROWS      256
#define MOST_ELLIPSE_ROWS 64

/* With more regions than this the picture is cut into as many bands, wherever regions begin. */
#define MOST_REGIONS 256

/* The region grown by half its feather: the linear ramp has the area of half its width. */
typedef struct {
  double x0, y0, x1, y1;
} Outline;

static Outline outline_of(const CfRegions *regions, const CfRegion *region)
{
  const double feather = cf_coverage_feather(regions);
  const double grown = regions->outside ? -0.5 * feather : 0.5 * feather;

  return (Outline){region->x - grown, region->y - grown, (double)region->x + region->width + grown,
                   (double)region->y + region->height + grown};
}

static bool counts(const CfVideo *video, const CfRegions *regions, const CfRegion *region)
{
  return !cf_rect_is_empty(cf_region_bounds(video, regions, region));
}

/* The span that an outline covers of the row at height `y`; false if it covers none. */
static bool span_at(const Outline *outline, bool ellipse, double y, double width, CfSpan *span)
{
  double x0 = outline->x0, x1 = outline->x1;

  if (y <= outline->y0 || y >= outline->y1)
    return false;
  if (ellipse) {
    const double across = 0.5 * (x1 - x0), down = 0.5 * (outline->y1 - outline->y0);
    const double height = (y - 0.5 * (outline->y0 + outline->y1)) / down;
    const double half = across * sqrt(fmax(1.0 - height * height, 0.0));

    x0 = 0.5 * (outline->x0 + outline->x1) - half;
    x1 = x0 + 2.0 * half;
  }
  span->x0 = fmax(x0, 0.0);
  span->x1 = fmin(x1, width);
  return span->x0 < span->x1;
}

/* The length of the union of all spans of the row at height `y`; `spans` has room for one per
 * region. */
static double length_at(const CfVideo *video, const CfRegions *regions, double y, CfSpan *spans)
{
  double length = 0.0, end = 0.0;
  int count = 0;

  for (int i = 0; i < regions->count; i++) {
    const Outline outline = outline_of(regions, &regions->region[i]);
    CfSpan span;
    int at = count;

    if (!span_at(&outline, regions->shape == CF_REGION_ELLIPSE, y, video->width, &span) ||
        !counts(video, regions, &regions->region[i]))
      continue;
    for (; at > 0 && spans[at - 1].x0 > span.x0; at--)
      spans[at] = spans[at - 1];
    spans[at] = span;
    count++;
  }
  for (int i = 0; i < count; i++) {
    length += fmax(spans[i].x1 - fmax(spans[i].x0, end), 0.0);
    end = fmax(end, spans[i].x1);
  }
  return length;
}

/* The next height after `y` at which a region begins or ends. */
static double next_edge(const CfVideo *video, const CfRegions *regions, double y)
{
  double next = video->height;

  if (regions->count > MOST_REGIONS)
    return fmin(next, y + (double)video->height / MOST_REGIONS);
  for (int i = 0; i < regions->count; i++) {
    const Outline outline = outline_of(regions, &regions->region[i]);

    if (outline.y0 > y && outline.y0 < next)
      next = outline.y0;
    if (outline.y1 > y && outline.y1 < next)
      next = outline.y1;
  }
  return next;
}

double cf_coverage_share(const CfVideo *video, const CfRegions *regions, CfSpan *scratch)
{
  const double wanted = regions->count ? ELLIPSE_ROWS / regions->count : 1;
  const int rows =
      regions->shape == CF_REGION_ELLIPSE ? (int)fmin(fmax(wanted, 1.0), MOST_ELLIPSE_ROWS) : 1;
  const double pixels = (double)video->width * video->height;
  double area = 0.0;

  for (double y = 0.0, next; y < video->height; y = next) {
    next = next_edge(video, regions, y);
    for (int row = 0; row < rows; row++)
      area += length_at(video, regions, y + (next - y) * (row + 0.5) / rows, scratch) * (next - y) /
              rows;
  }
  return regions->outside ? 1.0 - area / pixels : area / pixels;
}
