/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * How much of a picture is covered by regions, from their outlines instead of pixels: the length
 * that they cover of a few rows in each band of rows in which no region begins or ends. Feathers
 * are the mean of a few such outlines, each grown to where the coverage has some height.
 */
#include "plan/coverage.h"

#include <math.h>
#include <stdlib.h>

#include "plan/int_math.h"

/* Rows per band times outlines per feather: this many divided by the number of regions, but at most
 * MOST_SAMPLES, and 1 where neither edges nor feathers need more. */
#define SAMPLES       256
#define MOST_SAMPLES  64
#define MOST_OUTLINES 4

/* Outlines in the order in which they begin. The first `active` are those that cross the band, from
 * left to right along its last row; those from `next` on begin below it. */
typedef struct {
  CfOutline *outline;
  int count, active, next;
  bool ellipse;
  double radius;        /* of the corners of rectangles */
  double width, height; /* of the picture */
} Sweep;

static int compare_tops(const void *a, const void *b)
{
  const double top = ((const CfOutline *)a)->y0, other = ((const CfOutline *)b)->y0;

  return (top > other) - (top < other);
}

/* Starts with regions that are grown on each side, with `outside` shrunk, by `margin`. */
static Sweep start(const CfVideo *video, const CfRegions *regions, double margin,
                   CfOutline *scratch)
{
  const double grown = regions->outside ? -margin : margin;
  Sweep sweep = {.outline = scratch,
                 .ellipse = regions->shape == CF_REGION_ELLIPSE,
                 .radius = fmax(grown, 0.0),
                 .width = video->width,
                 .height = video->height};

  for (int i = 0; i < regions->count; i++) {
    const CfRegion *region = &regions->region[i];
    const CfOutline outline = {.x0 = region->x - grown,
                               .y0 = region->y - grown,
                               .x1 = (double)region->x + region->width + grown,
                               .y1 = (double)region->y + region->height + grown};

    if (!cf_rect_is_empty(cf_region_bounds(video, regions, region)))
      scratch[sweep.count++] = outline;
  }
  if (sweep.count > 1)
    qsort(scratch, (size_t)sweep.count, sizeof *scratch, compare_tops);
  return sweep;
}

/* Finds the outlines that cross the band from `y` on. Returns where it ends: the next height at
 * which a region begins or ends. */
static double enter_band(Sweep *sweep, double y)
{
  double end = sweep->height;
  int kept = 0;

  for (int i = 0; i < sweep->active; i++) {
    if (sweep->outline[i].y1 > y)
      sweep->outline[kept++] = sweep->outline[i];
  }
  for (; sweep->next < sweep->count && sweep->outline[sweep->next].y0 <= y; sweep->next++) {
    if (sweep->outline[sweep->next].y1 > y)
      sweep->outline[kept++] = sweep->outline[sweep->next];
  }
  sweep->active = kept;
  for (int i = 0; i < kept; i++)
    end = fmin(end, sweep->outline[i].y1);
  return sweep->next < sweep->count ? fmin(end, sweep->outline[sweep->next].y0) : end;
}

/* Sets what the outline covers of the row at height `y`, which it crosses. */
static void cross(const Sweep *sweep, CfOutline *outline, double y)
{
  const double centre = 0.5 * (outline->x0 + outline->x1);
  double half = 0.5 * (outline->x1 - outline->x0);

  if (sweep->ellipse) {
    const double down = 0.5 * (outline->y1 - outline->y0);
    const double height = (y - 0.5 * (outline->y0 + outline->y1)) / down;

    half *= sqrt(fmax(1.0 - height * height, 0.0));
  } else if (sweep->radius > 0.0) {
    const double r = sweep->radius;
    const double into = fmax(r - fmin(y - outline->y0, outline->y1 - y), 0.0);

    half -= r - sqrt(fmax(r * r - into * into, 0.0));
  }
  outline->left = fmax(centre - half, 0.0);
  outline->right = fmin(centre + half, sweep->width);
}

/* The length that all outlines cover of the row at height `y`. From row to row their order hardly
 * changes. */
static double length_at(Sweep *sweep, double y)
{
  double length = 0.0, end = 0.0;

  for (int i = 0; i < sweep->active; i++) {
    CfOutline outline = sweep->outline[i];
    int at = i;

    cross(sweep, &outline, y);
    for (; at > 0 && sweep->outline[at - 1].left > outline.left; at--)
      sweep->outline[at] = sweep->outline[at - 1];
    sweep->outline[at] = outline;
  }
  for (int i = 0; i < sweep->active; i++) {
    const CfOutline *outline = &sweep->outline[i];

    length += fmax(outline->right - fmax(outline->left, end), 0.0);
    end = fmax(end, outline->right);
  }
  return length;
}

/* The area of all outlines, from `rows` rows of each band. */
static double area_of(Sweep *sweep, int rows)
{
  double area = 0.0;

  for (double y = 0.0, next; y < sweep->height; y = next) {
    next = enter_band(sweep, y);
    for (int row = 0; row < rows; row++)
      area += length_at(sweep, y + (next - y) * (row + 0.5) / rows) * (next - y) / rows;
  }
  return area;
}

double cf_coverage_share(const CfVideo *video, const CfRegions *regions, CfOutline *scratch)
{
  const double feather = cf_coverage_feather(regions);
  const int most = cf_clamp(SAMPLES / cf_max(regions->count, 1), 1, MOST_SAMPLES);
  const int samples = feather > 0.0 ? most : 1;
  const int outlines = feather > 1.0 ? cf_min(samples, MOST_OUTLINES) : 1;
  const double pixels = (double)video->width * video->height;
  double area = 0.0;

  for (int i = 0; i < outlines; i++) {
    Sweep sweep = start(video, regions, feather * (i + 0.5) / outlines, scratch);

    area += area_of(&sweep, samples / outlines) / outlines;
  }
  return regions->outside ? 1.0 - area / pixels : area / pixels;
}
