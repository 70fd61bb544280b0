/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "plan/coverage_frame.h"

#include <stdlib.h>
#include <string.h>

#include "plan/int_math.h"

/* ---- A frame ---- */

#define CELL_COLUMNS 64
#define CELL_ROWS    16

/* Half pixels: more than rounding makes of any distance. */
#define MARGIN 4.0f

static int cell_columns(const CfVideo *video)
{
  return (video->width + CELL_COLUMNS - 1) / CELL_COLUMNS;
}

static int cell_count(const CfVideo *video)
{
  return cell_columns(video) * ((video->height + CELL_ROWS - 1) / CELL_ROWS);
}

/* The columns and rows of cells that a region touches. */
static CfRect touched_cells(CfRect bounds)
{
  if (cf_rect_is_empty(bounds))
    return (CfRect){0};
  return (CfRect){bounds.x0 / CELL_COLUMNS, bounds.y0 / CELL_ROWS,
                  (bounds.x1 - 1) / CELL_COLUMNS + 1, (bounds.y1 - 1) / CELL_ROWS + 1};
}

/* Of pixels in a rectangle from the rectangle around a shape, half pixels: no more than any. */
static float least_distance(const CfShape *shape, CfRect pixels)
{
  const int left = 2 * (shape->x0 - pixels.x1) + 1, right = 2 * (pixels.x0 - shape->x1) + 1;
  const int top = 2 * (shape->y0 - pixels.y1) + 1, bottom = 2 * (pixels.y0 - shape->y1) + 1;
  const int across = cf_max(left, right), down = cf_max(top, bottom);
  const float aside = across > 0 ? (float)across : 0.0f, away = down > 0 ? (float)down : 0.0f;

  return sqrtf(aside * aside + away * away);
}

/* Half pixels within which single precision knows distances to less than MARGIN. */
#define LARGEST_DISTANCE (1 << 20)

/* Of pixels in a rectangle from a shape, half pixels: no less than any. An ellipse holds the circle
 * of its smaller axis. */
static float most_distance(const CfCoverageRule *rule, const CfShape *shape, CfRect pixels)
{
  const int half_x = rule->ellipse ? 0 : shape->x1 - shape->x0;
  const int half_y = rule->ellipse ? 0 : shape->y1 - shape->y0;
  const int centre_x = rule->ellipse ? shape->centre_x : shape->x0 + shape->x1;
  const int centre_y = rule->ellipse ? shape->centre_y : shape->y0 + shape->y1;
  const int left = centre_x - 2 * pixels.x0, right = 2 * pixels.x1 - centre_x;
  const int top = centre_y - 2 * pixels.y0, bottom = 2 * pixels.y1 - centre_y;
  const int across = cf_max(left, right) - half_x;
  const int down = cf_max(top, bottom) - half_y;
  const float aside = across > 0 ? (float)across : 0.0f, away = down > 0 ? (float)down : 0.0f;
  const float radius = rule->ellipse ? (float)shape->smaller_axis : 0.0f;

  if (across > LARGEST_DISTANCE || down > LARGEST_DISTANCE)
    return INFINITY;
  return fmaxf(sqrtf(aside * aside + away * away) - radius, 0.0f);
}

static bool reserve(CfCoverage *coverage, int regions, int cells, size_t listed, CfStatus *status)
{
  const size_t bytes = (size_t)regions * sizeof *coverage->region +
                       (size_t)cells * sizeof *coverage->farthest +
                       ((size_t)cells + 1 + listed) * sizeof *coverage->first;

  if (bytes > coverage->bytes) {
    cf_coverage_clear(coverage);
    coverage->region = malloc(bytes);
    if (!coverage->region)
      return cf_fail(status, CF_ERROR_NO_MEMORY, "no memory for the %zu bytes of %d regions", bytes,
                     regions);
    coverage->bytes = bytes;
  }
  coverage->farthest = (float *)(void *)(coverage->region + regions);
  coverage->first = (int *)(void *)(coverage->farthest + cells);
  coverage->listed = coverage->first + cells + 1;
  return true;
}

typedef void (*VisitCell)(CfCoverage *coverage, int region, int cell, CfRect pixels);

/* Calls `visit` for each cell that region `i` touches, with the cell's pixels. */
static void visit_cells(CfCoverage *coverage, int i, VisitCell visit)
{
  const CfVideo *video = &coverage->video;
  const CfRect cells = touched_cells(coverage->region[i].bounds);

  for (int row = cells.y0; row < cells.y1; row++) {
    for (int column = cells.x0; column < cells.x1; column++) {
      const int x = column * CELL_COLUMNS, y = row * CELL_ROWS;
      const CfRect pixels = {x, y, cf_clamp(x + CELL_COLUMNS, 0, video->width),
                             cf_clamp(y + CELL_ROWS, 0, video->height)};

      visit(coverage, i, row * cell_columns(video) + column, pixels);
    }
  }
}

static void measure_cell(CfCoverage *coverage, int region, int cell, CfRect pixels)
{
  const float most = most_distance(&coverage->rule, &coverage->region[region].shape, pixels);

  coverage->farthest[cell] = most < coverage->farthest[cell] ? most : coverage->farthest[cell];
}

/* Whether a region may cover some of the cell as much as any other does. */
static bool is_rival(const CfCoverage *coverage, int region, int cell, CfRect pixels)
{
  return coverage->rule.outside || least_distance(&coverage->region[region].shape, pixels) <=
                                       coverage->farthest[cell] + coverage->rule.step + MARGIN;
}

static void count_rival(CfCoverage *coverage, int region, int cell, CfRect pixels)
{
  coverage->first[cell] += is_rival(coverage, region, cell, pixels);
}

static void list_rival(CfCoverage *coverage, int region, int cell, CfRect pixels)
{
  if (is_rival(coverage, region, cell, pixels))
    coverage->listed[--coverage->first[cell]] = region;
}

/* Counts, sums up, and fills from the end of each cell's list on. */
static void list_cells(CfCoverage *coverage)
{
  const int cells = cell_count(&coverage->video);

  memset(coverage->first, 0, (size_t)(cells + 1) * sizeof *coverage->first);
  for (int cell = 0; cell < cells; cell++)
    coverage->farthest[cell] = INFINITY;
  for (int i = 0; i < coverage->count; i++)
    visit_cells(coverage, i, measure_cell);
  for (int i = 0; i < coverage->count; i++)
    visit_cells(coverage, i, count_rival);
  for (int cell = 0; cell < cells; cell++)
    coverage->first[cell + 1] += coverage->first[cell];
  for (int i = coverage->count - 1; i >= 0; i--)
    visit_cells(coverage, i, list_rival);
}

bool cf_coverage_set(CfCoverage *coverage, const CfVideo *video, const CfRegions *regions,
                     CfStatus *status)
{
  size_t listed = 0;

  for (int i = 0; i < regions->count; i++) {
    const CfRect cells = touched_cells(cf_region_bounds(video, regions, &regions->region[i]));

    listed += (size_t)(cells.x1 - cells.x0) * (size_t)(cells.y1 - cells.y0);
  }
  if (!reserve(coverage, regions->count, cell_count(video), listed, status))
    return false;
  coverage->video = *video;
  coverage->rule = cf_coverage_rule(regions);
  coverage->bounds = cf_coverage_bounds(video, regions);
  coverage->count = regions->count;
  for (int i = 0; i < regions->count; i++) {
    CfFrameRegion *region = &coverage->region[i];

    region->bounds = cf_region_bounds(video, regions, &regions->region[i]);
    if (!cf_rect_is_empty(region->bounds))
      cf_shape_make(&region->shape, video, regions, &regions->region[i]);
  }
  list_cells(coverage);
  return true;
}

void cf_coverage_clear(CfCoverage *coverage)
{
  free(coverage->region);
  *coverage = (CfCoverage){0};
}

/* ---- Rows ---- */

/* Luma pixels x0..x1-1 of row y, the first of them at index 0. */
typedef struct {
  const CfCoverage *frame;
  CfCoverageRule rule;
  int x0, x1, y;
  uint16_t *coverage;
  int *owner; /* or NULL */
} Line;

/* Whether region `a` goes before `b` where they cover equally. */
static bool is_preferred(const CfCoverage *frame, int a, int b)
{
  const int side_a = frame->region[a].shape.side, side_b = frame->region[b].shape.side;

  return side_a > side_b || (side_a == side_b && a < b);
}

static void claim(const Line *line, int i, int coverage, int region)
{
  if (coverage < line->coverage[i])
    return;
  if (line->owner && coverage > 0 &&
      (coverage > line->coverage[i] || is_preferred(line->frame, region, line->owner[i])))
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

/* A region that may cover pixels x0..x1-1 of the line. */
typedef struct {
  const CfShape *shape;
  int region, x0, x1;
} Candidate;

static bool find_candidate(const Line *line, int region, Candidate *candidate)
{
  const CfFrameRegion *one = &line->frame->region[region];

  candidate->shape = &one->shape;
  candidate->region = region;
  candidate->x0 = cf_max(one->bounds.x0, line->x0);
  candidate->x1 = cf_min(one->bounds.x1, line->x1);
  return candidate->x0 < candidate->x1 && line->y >= one->bounds.y0 && line->y < one->bounds.y1;
}

/* As cf_faded, of a step that is not 0. */
static inline uint16_t fade(float distance, float step)
{
  const float left = 256.5f - distance / step, positive = left > 0.0f ? left : 0.0f;

  return (uint16_t)(int)(positive < 256.0f ? positive : 256.0f);
}

/* Half pixels beyond which every feather has ended; squares of as many are exact in floats. */
#define ANY_FEATHER 4096

/* As cf_rectangle_coverage, of a row's pixels from x0 on; not with `outside`. */
static void fade_rectangle(const CfCoverageRule *rule, const CfShape *shape, int x0, int y,
                           int count, uint16_t *restrict coverage)
{
  const int above = 2 * (shape->y0 - y) - 1, below = 2 * (y - shape->y1) + 1;
  const int away = cf_clamp(cf_max(above, below), 0, ANY_FEATHER);

  for (int i = 0; i < count; i++) {
    const int left = 2 * (shape->x0 - x0 - i) - 1, right = 2 * (x0 + i - shape->x1) + 1;
    const int aside = cf_clamp(cf_max(left, right), 0, ANY_FEATHER);

    coverage[i] = fade(sqrtf((float)(aside * aside + away * away)), rule->step);
  }
}

/* As cf_ellipse_coverage, likewise, within 2^14 pixels of its centre. */
static void fade_ellipse(const CfCoverageRule *rule, const CfShape *shape, int x0, int y, int count,
                         uint16_t *restrict coverage)
{
  const int down = 2 * y + 1 - shape->centre_y;
  const float square_y = cf_square(down) / shape->square_y;

  for (int i = 0; i < count; i++) {
    const int across = 2 * (x0 + i) + 1 - shape->centre_x;
    const float square = (float)(across * across) / shape->square_x + square_y;
    const float length = sqrtf((float)(across * across + down * down));
    const uint16_t faded = fade(fabsf(length / sqrtf(square) - length), rule->step);

    coverage[i] = square < 1.00001f ? CF_COVERED : faded;
  }
}

/* Pixels x0..x1-1, which the region may cover, in vectors where the numbers are small enough. */
static void cover_part(const Line *line, const Candidate *candidate, int x0, int x1)
{
  const CfCoverageRule *rule = &line->rule;
  const CfShape *shape = candidate->shape;
  const int across = 2 * x0 - shape->centre_x, down = 2 * line->y - shape->centre_y;
  uint16_t coverage[CELL_COLUMNS];

  if (!rule->ellipse)
    fade_rectangle(rule, shape, x0, line->y, x1 - x0, coverage);
  else if (abs(across) < 32000 && abs(down) < 32000)
    fade_ellipse(rule, shape, x0, line->y, x1 - x0, coverage);
  else
    for (int x = x0; x < x1; x++)
      coverage[x - x0] = (uint16_t)cf_ellipse_coverage(rule, shape, x, line->y);
  if (line->owner) {
    for (int x = x0; x < x1; x++)
      claim(line, x - line->x0, coverage[x - x0], candidate->region);
  } else {
    uint16_t *most = line->coverage + (x0 - line->x0);

    for (int i = 0; i < x1 - x0; i++)
      most[i] = coverage[i] > most[i] ? coverage[i] : most[i];
  }
}

static void cover(const Line *line, const Candidate *candidate, int x0, int x1)
{
  const CfShape *shape = candidate->shape;
  const bool full = !line->rule.ellipse && line->y >= shape->y0 && line->y < shape->y1;
  const int inner0 = full ? cf_clamp(shape->x0, x0, x1) : x1;
  const int inner1 = full ? cf_clamp(shape->x1, x0, x1) : x1;

  if (line->rule.step > 0.0f) {
    cover_part(line, candidate, x0, inner0);
    cover_part(line, candidate, inner1, x1);
  }
  claim_run(line, inner0, inner1, candidate->region);
}

/* Wide feathers overlap many times over. A few pixels are mostly covered by one region that is
 * nearest, and others are too far away to cover any of them as much. */

#define SPAN  32 /* pixels */
#define BATCH 64 /* regions that are compared at a time */

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

  const CfRect span = {x0, line->y, x1, line->y + 1};

  for (int i = 0; i < count; i++) {
    const Candidate *one = &candidates[i];

    distance[i] = one->x0 < x1 && one->x1 > x0 ? least_distance(one->shape, span) : INFINITY;
    nearest = distance[i] < distance[nearest] ? i : nearest;
  }
  farthest = farthest_rival(line, x0, x1);
  for (int k = 0, i = nearest; k <= count; i = k++) {
    const Candidate *one = &candidates[i];

    if ((k > 0 && i == nearest) || distance[i] > farthest)
      continue;
    cover(line, one, cf_max(one->x0, x0), cf_min(one->x1, x1));
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
    cover_span(line, candidates, count, x, cf_min(x + SPAN, line->x1));
}

/* The indices of the regions listed for the line's cell; their number is the result. */
static int find_listed(const Line *line, const int **listed)
{
  const int column = line->x0 / CELL_COLUMNS, row = line->y / CELL_ROWS;
  const int *first = &line->frame->first[row * cell_columns(&line->frame->video) + column];

  *listed = &line->frame->listed[first[0]];
  return first[1] - first[0];
}

static bool cover_all(const Line *line)
{
  Candidate candidates[BATCH];
  const int *listed;
  const int regions = find_listed(line, &listed);
  bool any = false;
  int count = 0;

  for (int i = 0; i < regions; i++) {
    count += find_candidate(line, listed[i], &candidates[count]);
    if (count == BATCH || (count > 0 && i + 1 == regions)) {
      cover_batch(line, candidates, count);
      any = true;
      count = 0;
    }
  }
  return any;
}

static void uncover(const Line *line, int region)
{
  Candidate candidate;

  if (!find_candidate(line, region, &candidate))
    return;
  for (int x = candidate.x0; x < candidate.x1; x++) {
    const int coverage = cf_shape_coverage(&line->rule, candidate.shape, x, line->y);
    uint16_t *least = &line->coverage[x - line->x0];

    *least = (uint16_t)(coverage < *least ? coverage : *least);
  }
}

static bool uncover_all(const Line *line)
{
  const int *listed;
  const int regions = find_listed(line, &listed);

  for (int i = 0; i < line->x1 - line->x0; i++)
    line->coverage[i] = CF_COVERED;
  for (int i = 0; i < regions; i++)
    uncover(line, listed[i]);
  return true;
}

/* All of a line, one cell after the other. */
static bool luma_line(const Line *line)
{
  const size_t count = (size_t)(line->x1 - line->x0);
  bool any = false;

  memset(line->coverage, 0, count * sizeof *line->coverage);
  if (line->rule.outside && line->owner)
    memset(line->owner, 0, count * sizeof *line->owner);
  for (int x0 = line->x0, x1; x0 < line->x1; x0 = x1) {
    Line part = *line;

    x1 = cf_clamp((x0 / CELL_COLUMNS + 1) * CELL_COLUMNS, x0, line->x1);
    part.x0 = x0;
    part.x1 = x1;
    part.coverage = line->coverage + (x0 - line->x0);
    part.owner = line->owner ? line->owner + (x0 - line->x0) : NULL;
    any |= line->rule.outside ? uncover_all(&part) : cover_all(&part);
  }
  return any;
}

/* Joins luma pixels to the samples of a plane with half the columns, or as many. */
static void join(const Line *line, int count, int subsampling, uint16_t *coverage, int *owner)
{
  const int luma_count = line->x1 - line->x0;

  for (int i = 0; i < luma_count; i++) {
    const int sample = i >> subsampling;

    if (sample >= count || line->coverage[i] < coverage[sample])
      continue;
    if (owner && !line->rule.outside && line->coverage[i] > 0 &&
        (line->coverage[i] > coverage[sample] ||
         is_preferred(line->frame, line->owner[i], owner[sample])))
      owner[sample] = line->owner[i];
    coverage[sample] = line->coverage[i];
  }
}

int cf_coverage_stretch(const CfCoverage *frame, int plane, int y, int x0, int end, bool *close)
{
  const CfPlaneFormat *info = &cf_format_info(frame->video.format)->plane[plane];
  const int sx = info->subsampling_x, row = (y << info->subsampling_y) / CELL_ROWS;
  const int *first = &frame->first[row * cell_columns(&frame->video)];
  const int limit = cf_min(end, x0 + CF_COVERAGE_SAMPLES);
  int cell = (x0 << sx) / CELL_COLUMNS, x;

  *close = frame->rule.outside || first[cell] < first[cell + 1];
  do {
    cell++;
    x = cell * CELL_COLUMNS >> sx;
  } while (x < limit && (frame->rule.outside || first[cell] < first[cell + 1]) == *close);
  return cf_min(x, limit);
}

bool cf_coverage_row(const CfCoverage *frame, int plane, int y, int x0, int count,
                     uint16_t *coverage, int *owner)
{
  const CfVideo *video = &frame->video;
  const CfPlaneFormat *info = &cf_format_info(video->format)->plane[plane];
  const int sx = info->subsampling_x, sy = info->subsampling_y;
  uint16_t luma_coverage[2 * CF_COVERAGE_SAMPLES];
  int luma_owner[2 * CF_COVERAGE_SAMPLES];
  Line line = {.frame = frame,
               .rule = frame->rule,
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
      join(&line, count, sx, coverage, owner);
      any = true;
    }
  }
  return any;
}
