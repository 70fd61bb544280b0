/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "naive.h"

#include <math.h>

/* Ellipses beyond it are too large to tell their edge from a line. */
#define LARGE 1e6

/* `doubt`: what single precision may make of the distance, in pixels. */
static FuzzCover fade(const FuzzAreas *areas, double distance, double doubt)
{
  const double feather = fmax(areas->feather, areas->ellipse ? 1.0 : 0.0);
  const double least = feather > 0.0 ? fmax(0.0, 1.0 - (distance + doubt) / feather) : 0.0;
  const double most =
      feather > 0.0 ? fmin(fmax(0.0, 1.0 - (distance - doubt) / feather), 1.0) : 0.0;

  return (FuzzCover){(int)floor(256.0 * least + 0.4995), (int)floor(256.0 * most + 0.5005)};
}

/* Negative inside. */
static double rectangle_distance(const FuzzArea *area, double x, double y)
{
  const double across = fmax(area->x - x, x - (area->x + area->width));
  const double down = fmax(area->y - y, y - (area->y + area->height));

  return across > 0.0 && down > 0.0 ? hypot(across, down) : fmax(across, down);
}

/* Along the line from the centre, negative inside. */
static double ellipse_distance(const FuzzArea *area, double x, double y)
{
  const double a = 0.5 * area->width, b = 0.5 * area->height;
  const double across = x - area->x - a, down = y - area->y - b;
  const double radius = hypot(across / a, down / b);

  return radius == 0.0 ? -fmin(a, b) : hypot(across, down) * (1.0 - 1.0 / radius);
}

static FuzzCover cover_pixel(const FuzzAreas *areas, const FuzzArea *area, int x, int y)
{
  const double distance = areas->ellipse ? ellipse_distance(area, x + 0.5, y + 0.5)
                                         : rectangle_distance(area, x + 0.5, y + 0.5);
  const double inwards = areas->outside ? -distance : distance;
  const double size = area->width + area->height;
  const double doubt = areas->ellipse ? 1e-4 * size : 0.0;

  if (areas->ellipse && (size > LARGE || fabs(area->x) > LARGE || fabs(area->y) > LARGE))
    return (FuzzCover){0, 256};
  if (fabs(inwards) <= doubt)
    return (FuzzCover){fade(areas, fabs(inwards), 0.0).least, 256};
  return inwards < 0.0 ? (FuzzCover){256, 256} : fade(areas, inwards, 4e-3 * doubt);
}

/* Inside it is the most that an area covers, outside the least that lies beyond an area. */
static FuzzCover cover_luma(const FuzzAreas *areas, int index, int x, int y)
{
  const int from = index < 0 ? 0 : index, to = index < 0 ? areas->count : index + 1;
  const int start = areas->outside ? 256 : 0;
  FuzzCover all = {start, start};

  for (int i = from; i < to; i++) {
    const FuzzCover one = cover_pixel(areas, &areas->area[i], x, y);

    if (areas->outside) {
      all.least = one.least < all.least ? one.least : all.least;
      all.most = one.most < all.most ? one.most : all.most;
    } else {
      all.least = one.least > all.least ? one.least : all.least;
      all.most = one.most > all.most ? one.most : all.most;
    }
  }
  return all;
}

FuzzCover fuzz_cover(const CfVideo *video, const FuzzAreas *areas, int index, int plane, int x,
                     int y)
{
  const CfPlaneFormat *info = &cf_format_info(video->format)->plane[plane];
  const int columns = 1 << info->subsampling_x, rows = 1 << info->subsampling_y;
  FuzzCover sample = {0, 0};

  for (int j = y * rows; j < (y + 1) * rows && j < video->height; j++) {
    for (int i = x * columns; i < (x + 1) * columns && i < video->width; i++) {
      const FuzzCover pixel = cover_luma(areas, index, i, j);

      sample.least = pixel.least > sample.least ? pixel.least : sample.least;
      sample.most = pixel.most > sample.most ? pixel.most : sample.most;
    }
  }
  return sample;
}

double fuzz_side(const FuzzArea *area, bool field)
{
  return fmin(area->width, field ? 2.0 * area->height : area->height);
}

bool fuzz_may_own(const CfVideo *video, const FuzzAreas *areas, bool field, int owner, int plane,
                  int x, int y)
{
  const FuzzCover own = fuzz_cover(video, areas, owner, plane, x, y);
  const double side = fuzz_side(&areas->area[owner], field);

  if (own.most == 0)
    return false;
  for (int other = 0; other < areas->count; other++) {
    const FuzzCover one = fuzz_cover(video, areas, other, plane, x, y);
    const double its = fuzz_side(&areas->area[other], field);
    const bool alike = its == side || fmin(its, side) > LARGE;
    const bool goes_before = alike ? its == side && other < owner : its > side;

    if (one.least > own.most || (other != owner && goes_before && one.least >= own.most))
      return false;
  }
  return true;
}
