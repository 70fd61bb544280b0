/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "plan/coverage.h"

#include <stdlib.h>
#include <string.h>

/* Farther than any feather reaches. */
#define FAR_AWAY 1024

/* Distances in half pixels stay within 31 bits, sums of their squares within 63. */
#define LARGEST_COORDINATE (1 << 29)

static int clamp(int64_t value, int64_t least, int64_t most)
{
  return (int)(value < least ? least : value > most ? most : value);
}

CfCoverageRule cf_coverage_rule(const CfRegions *regions)
{
  const CfCoverageRule rule = {.ellipse = regions->shape == CF_REGION_ELLIPSE,
                               .outside = regions->outside,
                               .step = (float)(regions->feather * 2.0 / CF_COVERED),
                               .reach = regions->outside ? 0 : (int)(regions->feather + 0.999)};
  return rule;
}

/* Moves a coordinate to the nearest that is taken; false if it had to move. */
static bool cut_coordinate(int64_t value, int *taken)
{
  *taken = clamp(value, -LARGEST_COORDINATE, LARGEST_COORDINATE);
  return *taken == value;
}

/* A region whose coordinates have been cut; false if it is empty. In a picture, which is small
 * beside them, an ellipse with cut coordinates holds the whole one: it may cover what that does,
 * but must not leave open what lies outside that. */
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
    all.x0 = one.x0 < all.x0 ? one.x0 : all.x0;
    all.y0 = one.y0 < all.y0 ? one.y0 : all.y0;
    all.x1 = one.x1 > all.x1 ? one.x1 : all.x1;
    all.y1 = one.y1 > all.y1 ? one.y1 : all.y1;
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

/* ---- Lines ---- */

/* Luma pixels x0..x1-1 of row y, the first of them at index 0. */
typedef struct {
  const CfVideo *video;
  const CfRegions *regions;
  CfCoverageRule rule;
  int x0, x1, y;
  uint16_t *coverage;
  int *owner; /* or NULL */
} Line;

/* Whether region `a` goes before `b` where they cover equally. */
static bool is_preferred(const CfRegions *regions, int a, int b)
{
  const int side_a = cf_region_side(regions, &regions->region[a]);
  const int side_b = cf_region_side(regions, &regions->region[b]);

  return side_a > side_b || (side_a == side_b && a < b);
}

static void claim(const Line *line, int i, int coverage, int region)
{
  if (coverage < line->coverage[i])
    return;
  if (line->owner && coverage > 0 &&
      (coverage > line->coverage[i] || is_preferred(line->regions, region, line->owner[i])))
    line->owner[i] = region;
  line->coverage[i] = (uint16_t)coverage;
}

/* Full rows of rectangles are most of what there is. */
static void claim_run(const Line *line, int x0, int x1, int region)
{
  if (line->owner) {
    for (int x = x0; x < x1; x++)
      claim(line, x - line->x0, CF_COVERED, region);
  } else {
    for (int x = x0; x < x1; x++)
      line->coverage[x - line->x0] = CF_COVERED;
  }
}

/* Most regions of a long list are in few rows. */
static bool is_in_row(const Line *line, const CfRegion *region)
{
  const int64_t top = region->y, bottom = top + region->height;

  return line->y >= top - line->rule.reach && line->y < bottom + line->rule.reach;
}

/* A region that may cover pixels x0..x1-1 of the line. */
typedef struct {
  CfShape shape;
  int region, x0, x1;
} Candidate;

static bool find_candidate(const Line *line, int region, Candidate *candidate)
{
  const CfRegion *one = &line->regions->region[region];
  const CfRect bounds = cf_region_bounds(line->video, line->regions, one);

  candidate->region = region;
  candidate->x0 = bounds.x0 > line->x0 ? bounds.x0 : line->x0;
  candidate->x1 = bounds.x1 < line->x1 ? bounds.x1 : line->x1;
  return candidate->x0 < candidate->x1 && line->y >= bounds.y0 && line->y < bounds.y1 &&
         cf_shape_make(&candidate->shape, line->video, line->regions, one);
}

/* Pixels x0..x1-1, which the region may cover. */
static void cover(const Line *line, const Candidate *candidate, int x0, int x1)
{
  const CfShape *shape = &candidate->shape;
  const int region = candidate->region;
  const bool full = !line->rule.ellipse && line->y >= shape->y0 && line->y < shape->y1;
  const int inner0 = full ? clamp(shape->x0, x0, x1) : x1;
  const int inner1 = full ? clamp(shape->x1, x0, x1) : x1;

  for (int x = x0; x < inner0; x++)
    claim(line, x - line->x0, cf_shape_coverage(&line->rule, shape, x, line->y), region);
  claim_run(line, inner0, inner1, region);
  for (int x = inner1; x < x1; x++)
    claim(line, x - line->x0, cf_shape_coverage(&line->rule, shape, x, line->y), region);
}

/* Wide feathers overlap many times over. A few pixels are mostly covered by one region that is
 * nearest, and others are too far away to cover any of them as much. */

#define SPAN  32 /* pixels */
#define BATCH 64 /* regions that are compared at a time */

/* Half pixels: more than rounding makes of any distance. */
#define MARGIN 4.0f

/* Of pixels x0..x1-1 from the rectangle around a shape, half pixels: no more than any of them. */
static float least_distance(const CfShape *shape, int x0, int x1, int y)
{
  const int left = 2 * (shape->x0 - x1) + 1, right = 2 * (x0 - shape->x1) + 1;
  const int top = 2 * (shape->y0 - y) - 1, bottom = 2 * (y - shape->y1) + 1;
  const int across = left > right ? left : right, down = top > bottom ? top : bottom;
  const float aside = across > 0 ? (float)across : 0.0f, away = down > 0 ? (float)down : 0.0f;

  return sqrtf(aside * aside + away * away);
}

/* The distance beyond which a region changes nothing in pixels x0..x1-1. */
static float farthest_rival(const Line *line, int x0, int x1)
{
  int least = CF_COVERED;

  for (int x = x0; x < x1; x++) {
    const int coverage = line->coverage[x - line->x0];
    least = coverage < least ? coverage : least;
  }
  /* Regions that cover equally may be preferred. */
  return line->rule.step * (256.5f - (float)least - (line->owner ? 0.0f : 1.0f)) + MARGIN;
}

static void cover_span(const Line *line, const Candidate *candidates, int count, int x0, int x1)
{
  float distance[BATCH], farthest;
  int nearest = 0;

  for (int i = 0; i < count; i++) {
    const Candidate *one = &candidates[i];

    distance[i] =
        one->x0 < x1 && one->x1 > x0 ? least_distance(&one->shape, x0, x1, line->y) : INFINITY;
    nearest = distance[i] < distance[nearest] ? i : nearest;
  }
  farthest = farthest_rival(line, x0, x1);
  for (int k = 0, i = nearest; k <= count; i = k++) {
    const Candidate *one = &candidates[i];

    if ((k > 0 && i == nearest) || distance[i] > farthest)
      continue;
    cover(line, one, one->x0 > x0 ? one->x0 : x0, one->x1 < x1 ? one->x1 : x1);
    farthest = farthest_rival(line, x0, x1);
  }
}

static void cover_batch(const Line *line, const Candidate *candidates, int count)
{
  if (count == 1 || line->rule.step == 0.0f) {
    for (int i = 0; i < count; i++)
      cover(line, &candidates[i], candidates[i].x0, candidates[i].x1);
    return;
  }
  for (int x = line->x0; x < line->x1; x += SPAN)
    cover_span(line, candidates, count, x, x + SPAN < line->x1 ? x + SPAN : line->x1);
}

static bool cover_all(const Line *line)
{
  Candidate candidates[BATCH];
  bool any = false;
  int count = 0;

  for (int i = 0; i < line->regions->count; i++) {
    count +=
        is_in_row(line, &line->regions->region[i]) && find_candidate(line, i, &candidates[count]);
    if (count == BATCH || (count > 0 && i + 1 == line->regions->count)) {
      cover_batch(line, candidates, count);
      any = true;
      count = 0;
    }
  }
  return any;
}

static void uncover(const Line *line, int region)
{
  const CfRegion *one = &line->regions->region[region];
  const CfRect bounds = cf_region_bounds(line->video, line->regions, one);
  CfShape shape;

  if (line->y < bounds.y0 || line->y >= bounds.y1 ||
      !cf_shape_make(&shape, line->video, line->regions, one))
    return;
  for (int x = bounds.x0 > line->x0 ? bounds.x0 : line->x0; x < bounds.x1 && x < line->x1; x++) {
    const int coverage = cf_shape_coverage(&line->rule, &shape, x, line->y);
    uint16_t *least = &line->coverage[x - line->x0];

    *least = (uint16_t)(coverage < *least ? coverage : *least);
  }
}

static bool luma_line(const Line *line)
{
  const int count = line->x1 - line->x0;

  if (line->regions->outside) {
    for (int i = 0; i < count; i++)
      line->coverage[i] = CF_COVERED;
    for (int i = 0; i < line->regions->count; i++) {
      if (is_in_row(line, &line->regions->region[i]))
        uncover(line, i);
    }
    if (line->owner)
      memset(line->owner, 0, (size_t)count * sizeof *line->owner);
    return true;
  }
  memset(line->coverage, 0, (size_t)count * sizeof *line->coverage);
  return cover_all(line);
}

/* Joins luma pixels to the samples of a plane with half the columns, or as many. */
static void join(const CfRegions *regions, const Line *line, int count, int subsampling,
                 uint16_t *coverage, int *owner)
{
  const int luma_count = line->x1 - line->x0;

  for (int i = 0; i < luma_count; i++) {
    const int sample = i >> subsampling;

    if (sample >= count || line->coverage[i] < coverage[sample])
      continue;
    if (owner && !regions->outside && line->coverage[i] > 0 &&
        (line->coverage[i] > coverage[sample] ||
         is_preferred(regions, line->owner[i], owner[sample])))
      owner[sample] = line->owner[i];
    coverage[sample] = line->coverage[i];
  }
}

bool cf_coverage_line(const CfVideo *video, const CfRegions *regions, int plane, int y, int x0,
                      int count, uint16_t *coverage, int *owner)
{
  const CfPlaneFormat *info = &cf_format_info(video->format)->plane[plane];
  const int sx = info->subsampling_x, sy = info->subsampling_y;
  uint16_t luma_coverage[2 * CF_COVERAGE_SAMPLES];
  int luma_owner[2 * CF_COVERAGE_SAMPLES];
  Line line = {.video = video,
               .regions = regions,
               .rule = cf_coverage_rule(regions),
               .x0 = x0 << sx,
               .x1 = (x0 + count) << sx < video->width ? (x0 + count) << sx : video->width,
               .coverage = luma_coverage,
               .owner = owner ? luma_owner : NULL};
  bool any = false;

  if (sx == 0 && sy == 0) {
    line.y = y;
    line.coverage = coverage;
    line.owner = owner;
    return luma_line(&line);
  }
  memset(coverage, 0, (size_t)count * sizeof *coverage);
  for (line.y = y << sy; line.y < (y + 1) << sy && line.y < video->height; line.y++) {
    if (luma_line(&line)) {
      join(regions, &line, count, sx, coverage, owner);
      any = true;
    }
  }
  return any;
}

/* ---- Text ---- */

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
