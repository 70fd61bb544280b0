/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Prepares a frame: the shapes of its regions, and the regions listed for each cell.
 */
#include "plan/coverage_frame.h"

#include <stdlib.h>
#include <string.h>

#include "plan/coverage_cells.h"

static int cell_count(const CfVideo *video)
{
  return cf_cell_columns(video) * cf_divide_up(video->height, CF_CELL_ROWS);
}

/* The columns and rows of cells that `bounds` touches. */
static CfRect touched_cells(CfRect bounds)
{
  if (cf_rect_is_empty(bounds))
    return (CfRect){0};
  return (CfRect){bounds.x0 / CF_CELL_COLUMNS, bounds.y0 / CF_CELL_ROWS,
                  (bounds.x1 - 1) / CF_CELL_COLUMNS + 1, (bounds.y1 - 1) / CF_CELL_ROWS + 1};
}

/* Half pixels up to which distances in single precision are off by less than CF_CELL_MARGIN. */
#define LARGEST_DISTANCE (1 << 20)

/* An upper bound of the distance between a shape and any pixel of a rectangle, in half pixels. An
 * ellipse contains the circle around its smaller axis. */
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
      const int x = column * CF_CELL_COLUMNS, y = row * CF_CELL_ROWS;
      const CfRect pixels = {x, y, cf_clamp(x + CF_CELL_COLUMNS, 0, video->width),
                             cf_clamp(y + CF_CELL_ROWS, 0, video->height)};

      visit(coverage, i, row * cf_cell_columns(video) + column, pixels);
    }
  }
}

static void measure_cell(CfCoverage *coverage, int region, int cell, CfRect pixels)
{
  const float most = most_distance(&coverage->rule, &coverage->region[region].shape, pixels);

  coverage->farthest[cell] = most < coverage->farthest[cell] ? most : coverage->farthest[cell];
}

/* Whether the region, which touches the cell, may cover some pixel of it at least as much as every
 * other region. With `outside` nothing fades beyond regions, so that all that touch it may. */
static bool is_rival(const CfCoverage *coverage, int region, int cell, CfRect pixels)
{
  return cf_least_distance(&coverage->region[region].shape, pixels) <=
         coverage->farthest[cell] + coverage->rule.step + CF_CELL_MARGIN;
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

/* A counting sort: counts the regions of each cell, adds the counts up to the end of each cell's
 * list, and fills the lists from their ends, in descending order. */
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
