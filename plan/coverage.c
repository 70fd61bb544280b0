/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "plan/coverage.h"

#include <stdlib.h>
#include <string.h>

#include "plan/int_math.h"

/* Luma pixels, farther than any feather reaches. */
#define FAR_AWAY 1024

/* Clamped to this, distances in half pixels fit in 31 bits, and sums of their squares in 63. */
#define LARGEST_COORDINATE (1 << 29)

static int clamp(int64_t value, int64_t least, int64_t most)
{
  return (int)(value < least ? least : value > most ? most : value);
}

double cf_coverage_feather(const CfRegions *regions)
{
  return regions->shape == CF_REGION_ELLIPSE && regions->feather < 1.0 ? 1.0 : regions->feather;
}

CfCoverageRule cf_coverage_rule(const CfRegions *regions)
{
  const double feather = cf_coverage_feather(regions);
  const CfCoverageRule rule = {.ellipse = regions->shape == CF_REGION_ELLIPSE,
                               .outside = regions->outside,
                               .step = (float)(feather * 2.0 / CF_COVERED),
                               .reach = regions->outside ? 0 : (int)(feather + 0.999)};
  return rule;
}

/* Clamps a coordinate; false if that changed it. */
static bool cut_coordinate(int64_t value, int *taken)
{
  *taken = clamp(value, -LARGEST_COORDINATE, LARGEST_COORDINATE);
  return *taken == value;
}

/* The rectangle of a region with clamped coordinates; false if it is empty. Since pictures are
 * small beside the limits, an ellipse with clamped coordinates contains the whole picture: it may
 * cover what the true ellipse covers, but with `outside` it must not uncover more. */
static bool cut(const CfRegions *regions, const CfRegion *region, CfRect *rect)
{
  bool exact = cut_coordinate(region->x, &rect->x0);

  exact &= cut_coordinate(region->y, &rect->y0);
  exact &= cut_coordinate((int64_t)region->x + region->width, &rect->x1);
  exact &= cut_coordinate((int64_t)region->y + region->height, &rect->y1);
  if (!exact && regions->outside && regions->shape == CF_REGION_ELLIPSE)
    return false;
  return !cf_rect_is_empty(*rect);
}

static const CfRegion *whole_of(const CfRegions *regions, const CfRegion *region)
{
  return regions->whole ? &regions->whole[region - regions->region] : region;
}

static float square(int length)
{
  return (float)((int64_t)length * length);
}

bool cf_shape_make(CfShape *shape, const CfVideo *video, const CfRegions *regions,
                   const CfRegion *region)
{
  CfRect rect;

  if (!cut(regions, region, &rect))
    return false;

  const int width = rect.x1 - rect.x0, height = rect.y1 - rect.y0;
  shape->x0 = clamp(rect.x0, -FAR_AWAY, video->width + FAR_AWAY);
  shape->y0 = clamp(rect.y0, -FAR_AWAY, video->height + FAR_AWAY);
  shape->x1 = clamp(rect.x1, -FAR_AWAY, video->width + FAR_AWAY);
  shape->y1 = clamp(rect.y1, -FAR_AWAY, video->height + FAR_AWAY);
  shape->centre_x = rect.x0 + rect.x1;
  shape->centre_y = rect.y0 + rect.y1;
  shape->square_x = square(width);
  shape->square_y = square(height);
  shape->smaller_axis = width < height ? width : height;
  shape->x = clamp(whole_of(regions, region)->x, -LARGEST_COORDINATE, LARGEST_COORDINATE);
  shape->y = clamp(whole_of(regions, region)->y, -LARGEST_COORDINATE, LARGEST_COORDINATE);
  shape->side = cf_region_side(regions, region);
  return true;
}

CfRect cf_region_bounds(const CfVideo *video, const CfRegions *regions, const CfRegion *region)
{
  const int reach = cf_coverage_rule(regions).reach;
  CfRect rect;

  if (!cut(regions, region, &rect))
    return (CfRect){0};
  return (CfRect){clamp(rect.x0 - reach, 0, video->width), clamp(rect.y0 - reach, 0, video->height),
                  clamp(rect.x1 + reach, 0, video->width),
                  clamp(rect.y1 + reach, 0, video->height)};
}

CfRect cf_coverage_bounds(const CfVideo *video, const CfRegions *regions)
{
  CfRect all = {video->width, video->height, 0, 0};

  if (regions->outside)
    return (CfRect){0, 0, video->width, video->height};
  for (int i = 0; i < regions->count; i++) {
    const CfRect one = cf_region_bounds(video, regions, &regions->region[i]);

    if (cf_rect_is_empty(one))
      continue;
    all.x0 = cf_min(one.x0, all.x0);
    all.y0 = cf_min(one.y0, all.y0);
    all.x1 = cf_max(one.x1, all.x1);
    all.y1 = cf_max(one.y1, all.y1);
  }
  return cf_rect_is_empty(all) ? (CfRect){0} : all;
}

CfRect cf_plane_rect(const CfVideo *video, int plane, CfRect luma)
{
  const CfPlaneFormat *info = &cf_format_info(video->format)->plane[plane];
  const int round_x = (1 << info->subsampling_x) - 1, round_y = (1 << info->subsampling_y) - 1;

  return (CfRect){luma.x0 >> info->subsampling_x, luma.y0 >> info->subsampling_y,
                  (luma.x1 + round_x) >> info->subsampling_x,
                  (luma.y1 + round_y) >> info->subsampling_y};
}

int cf_region_side(const CfRegions *regions, const CfRegion *region)
{
  const CfRegion *whole = whole_of(regions, region);
  const int64_t height = (int64_t)whole->height * (regions->field ? 2 : 1);

  return clamp(whole->width < height ? whole->width : height, 0, LARGEST_COORDINATE);
}

bool cf_region_is_picture(const CfVideo *video, const CfRegions *regions, const CfRegion *region)
{
  return regions->shape == CF_REGION_RECTANGLE && region->x <= 0 && region->y <= 0 &&
         (int64_t)region->x + region->width >= video->width &&
         (int64_t)region->y + region->height >= video->height;
}

/* ---- Regions from text ---- */

static bool read_number(const char **cursor, int least, int *number)
{
  char *end;
  const long value = strtol(*cursor, &end, 10);

  if (end == *cursor || value < least || value > LARGEST_COORDINATE)
    return false;
  *number = (int)value;
  *cursor = end + strspn(end, " ");
  return true;
}

static bool read_comma(const char **cursor)
{
  if (**cursor != ',')
    return false;
  ++*cursor;
  return true;
}

static bool read_region(const char **cursor, CfRegion *region)
{
  return read_number(cursor, -LARGEST_COORDINATE, &region->x) && read_comma(cursor) &&
         read_number(cursor, -LARGEST_COORDINATE, &region->y) && read_comma(cursor) &&
         read_number(cursor, 1, &region->width) && read_comma(cursor) &&
         read_number(cursor, 1, &region->height);
}

int cf_regions_parse(const char *text, CfRegion *regions, int capacity, CfStatus *status)
{
  const char *cursor = text + strspn(text, " ");
  int count = 0;

  while (*cursor) {
    const char *start = cursor;

    if (count == capacity) {
      cf_fail(status, CF_ERROR_INVALID, "regions: more than %d", capacity);
      return -1;
    }
    if (!read_region(&cursor, &regions[count]) || (*cursor && *cursor != ';')) {
      cf_fail(status, CF_ERROR_INVALID,
              "regions: \"%.40s\" is not understood; allowed are regions x,y,w,h in pixels, such "
              "as \"10,20,64,48;300,200,80,80\", with w and h of 1 or more and no number beyond %d",
              start, LARGEST_COORDINATE);
      return -1;
    }
    count++;
    cursor += *cursor == ';';
    cursor += strspn(cursor, " ");
  }
  return count;
}
