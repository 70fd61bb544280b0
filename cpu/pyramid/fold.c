/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Columns of pictures that are small compared with sigma. Where the border mirrors or wraps, the
 * coarse taps would read many copies of the picture outside of it. Each sample of a copy repeats a
 * fine row inside the picture or lies between two; so only rows inside are computed, and each
 * coarse row gets taps of its own for these.
 */
#include "cpu/pyramid/layout.h"

#include <math.h>
#include <string.h>

/* Copies are interpolated between fine rows, which is accurate enough for Gaussians this wide. */
#define LEAST_DECIMATION2 4
#define LEAST_ROWS        8 /* in fine rows */
/* Up to this many copies of the picture, one below the other, are read as they are. */
#define MOST_PICTURES 2.0

bool cf_cpu_pyramid_folds(const CfCpuPyramid *pyramid)
{
  const CfPyramidAxis *y = &pyramid->y;

  return pyramid->may_fold && y->factors.decimation2 >= LEAST_DECIMATION2 &&
         y->size >= LEAST_ROWS * y->factors.decimation && pyramid->border != CF_BORDER_REPLICATE &&
         pyramid->border != CF_BORDER_CONSTANT &&
         (double)y->fine_count * y->factors.decimation > MOST_PICTURES * y->size;
}

/* The position inside the picture that `row`, which may lie between rows, repeats. */
static double folded(CfBorder border, double row, int size)
{
  const double first = border == CF_BORDER_REFLECT_101 ? 0.0 : -0.5; /* of the seam, or the
                                                                        mirror */
  const double length = size - 1 - 2.0 * first;
  const double period = border == CF_BORDER_WRAP ? length : 2.0 * length;
  const double from = row - first - period * floor((row - first) / period);

  return first + (from > length ? period - from : from);
}

/* The position of a picture's row among fine rows. */
static double place_of(const CfPyramidAxis *axis, double row)
{
  return (row - 0.5 * (axis->factors.decimation - 1)) / axis->factors.decimation;
}

/* Distributes a tap to the four rows around `place`, by cubic interpolation (Catmull-Rom). */
static void add_tap(float *tap, double place, double share)
{
  const int i = (int)floor(place);
  const double t = place - i, u = 1.0 - t;

  tap[i - 1] -= (float)(share * 0.5 * t * u * u);
  tap[i] += (float)(share * (1.0 + t * t * (1.5 * t - 2.5)));
  tap[i + 1] += (float)(share * (1.0 + u * u * (1.5 * u - 2.5)));
  tap[i + 2] -= (float)(share * 0.5 * t * t * u);
}

void cf_cpu_pyramid_fold(CfCpuPyramid *pyramid, CfArena *arena)
{
  CfPyramidAxis *y = &pyramid->y;
  const int step = y->factors.decimation;

  y->stored_first = (int)floor(place_of(y, -0.5)) - 1;
  y->stored_count = (int)floor(place_of(y, y->size - 0.5)) + 3 - y->stored_first;
  pyramid->y_folded = cf_arena_take(arena, (size_t)y->coarse_count * sizeof *pyramid->y_folded);
  for (int j = 0; j < y->coarse_count; j++) {
    const int first = y->factors.decimation2 * (y->coarse_first + j) + y->coarse_taps_first;
    float *tap = cf_arena_take(arena, (size_t)y->stored_count * sizeof *tap);

    if (!tap)
      continue;
    memset(tap, 0, (size_t)y->stored_count * sizeof *tap);
    for (int t = 0; t < y->coarse_taps_count; t++) {
      const double row = step * (first + t) + 0.5 * (step - 1);
      add_tap(tap, place_of(y, folded(pyramid->border, row, y->size)) - y->stored_first,
              y->coarse_taps[t]);
    }
    pyramid->y_folded[j] = (CfLineTaps){.count = y->stored_count, .tap = tap};
  }
}
