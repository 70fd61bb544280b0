/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The cells of coverage_frame.h: blocks of luma pixels for which the regions are listed that may
 * determine the coverage there.
 */
#pragma once

#include "plan/coverage_frame.h"
#include "plan/int_math.h"

#define CF_CELL_COLUMNS 64
#define CF_CELL_ROWS    16

/* Half pixels: more than any distance is off by rounding. */
#define CF_CELL_MARGIN 4.0f

/* The number of cells in a row of them. */
static inline int cf_cell_columns(const CfVideo *video)
{
  return cf_divide_up(video->width, CF_CELL_COLUMNS);
}

/* A lower bound of the distance between a shape and any pixel of a rectangle, in half pixels: the
 * distance of the rectangle around the shape. */
static inline float cf_least_distance(const CfShape *shape, CfRect pixels)
{
  const int left = 2 * (shape->x0 - pixels.x1) + 1, right = 2 * (pixels.x0 - shape->x1) + 1;
  const int top = 2 * (shape->y0 - pixels.y1) + 1, bottom = 2 * (pixels.y0 - shape->y1) + 1;
  const int across = cf_max(left, right), down = cf_max(top, bottom);
  const float aside = across > 0 ? (float)across : 0.0f, away = down > 0 ? (float)down : 0.0f;

  return sqrtf(aside * aside + away * away);
}
