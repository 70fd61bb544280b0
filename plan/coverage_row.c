/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The coverage of a row's samples, from the regions listed for its cells.
 */
#include "plan/coverage_frame.h"

#include <stdlib.h>
#include <string.h>

#include "plan/coverage_cells.h"

/* Luma pixels x0..x1-1 of row y; arrays start at pixel x0. */
typedef struct {
  const CfCoverage *frame;
  CfCoverageRule rule;
  int x0, x1, y;
  uint16_t *coverage;
  int *owner; /* NULL where owners are not asked for */
} Line;

/* Whether region `a` owns a pixel that `a` and `b` cover equally. */
static bool is_preferred(const CfCoverage *frame, int a, int b)
{
  return cf_owns_before(frame->region[a].shape.side, a, frame->region[b].shape.side, b);
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

/* Pixels that the region covers fully, which most covered pixels are. */
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

/* cf_faded() where the step is not 0, without branches. */
static inline uint16_t fade(float distance, float step)
{
  const float left = 256.5f - distance / step;

  return (uint16_t)(int)(left > 0.0f ? left : 0.0f);
}

/* Half pixels, farther than any feather reaches; their squares are exact in single precision. */
#define ANY_FEATHER 4096

/* cf_rectangle_coverage() of `count` pixels of row y from x0 on; not with `outside`. */
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

/* cf_ellipse_coverage() likewise, within 2^14 pixels of the centre. */
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

/* Covers pixels x0..x1-1, of which the region may cover any. Vectorised where distances are small
 * enough for it. */
static void cover_feather(const Line *line, const Candidate *candidate, int x0, int x1)
{
  const CfCoverageRule *rule = &line->rule;
  const CfShape *shape = candidate->shape;
  const int across = 2 * x0 - shape->centre_x, down = 2 * line->y - shape->centre_y;
  uint16_t coverage[CF_CELL_COLUMNS];

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
    cover_feather(line, candidate, x0, inner0);
    cover_feather(line, candidate, inner1, x1);
  }
  claim_run(line, inner0, inner1, candidate->region);
}

/* Wide feathers overlap many times. The few pixels of a span are mostly covered most by the one
 * region that is nearest to them; others are too far away to cover any of them as much. */

#define SPAN  32 /* pixels */
#define BATCH 64 /* regions that are compared at once */

/* The distance, half pixels, beyond which a region changes nothing in pixels x0..x1-1. */
static float farthest_rival(const Line *line, int x0, int x1)
{
  int least = CF_COVERED;

  for (int x = x0; x < x1; x++) {
    const int coverage = line->coverage[x - line->x0];
    least = coverage < least ? coverage : least;
  }
  return line->rule.step * (256.5f - (float)least) + CF_CELL_MARGIN;
}

static void cover_span(const Line *line, const Candidate *candidates, int count, int x0, int x1)
{
  float distance[BATCH], farthest;
  int nearest = 0;

  const CfRect span = {x0, line->y, x1, line->y + 1};

  for (int i = 0; i < count; i++) {
    const Candidate *one = &candidates[i];

    distance[i] = one->x0 < x1 && one->x1 > x0 ? cf_least_distance(one->shape, span) : INFINITY;
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

/* The regions listed for the cell of the line; returns their number. */
static int find_listed(const Line *line, const int **listed)
{
  const int column = line->x0 / CF_CELL_COLUMNS, row = line->y / CF_CELL_ROWS;
  const int *first = &line->frame->first[row * cf_cell_columns(&line->frame->video) + column];

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

/* Covers a line, cell by cell; false if no region comes near it. */
static bool luma_line(const Line *line)
{
  const size_t count = (size_t)(line->x1 - line->x0);
  bool any = false;

  memset(line->coverage, 0, count * sizeof *line->coverage);
  for (int x0 = line->x0, x1; x0 < line->x1; x0 = x1) {
    Line part = *line;

    x1 = cf_clamp((x0 / CF_CELL_COLUMNS + 1) * CF_CELL_COLUMNS, x0, line->x1);
    part.x0 = x0;
    part.x1 = x1;
    part.coverage = line->coverage + (x0 - line->x0);
    part.owner = line->owner ? line->owner + (x0 - line->x0) : NULL;
    any |= line->rule.outside ? uncover_all(&part) : cover_all(&part);
  }
  return any;
}

/* Each sample of the plane takes the coverage, and the owner, of its most covered luma pixel. Adds
 * one luma line. */
static void join(const Line *line, int subsampling, uint16_t *coverage, int *owner)
{
  const int luma_count = line->x1 - line->x0;

  for (int i = 0; i < luma_count; i++) {
    const int sample = i >> subsampling;

    if (line->coverage[i] < coverage[sample])
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
  const int sx = info->subsampling_x, row = (y << info->subsampling_y) / CF_CELL_ROWS;
  const int *first = &frame->first[row * cf_cell_columns(&frame->video)];
  const int limit = cf_min(end, x0 + CF_COVERAGE_SAMPLES);
  int cell = (x0 << sx) / CF_CELL_COLUMNS, x;

  *close = frame->rule.outside || first[cell] < first[cell + 1];
  do {
    cell++;
    x = cell * CF_CELL_COLUMNS >> sx;
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
      join(&line, sx, coverage, owner);
      any = true;
    }
  }
  return any;
}
