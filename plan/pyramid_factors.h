/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Which D of plan/pyramid.h keeps a blur accurate. All backends ask here, and choose how to divide
 * it into D1 and D2.
 */
#pragma once

#include <stdbool.h>

/* Of a blur of one sigma, in samples of the plane: the largest power of two up to `most` at which
 * results are within a tenth of a code of 8 bits, a quarter of finer ones, but for colours where
 * next to nothing is visible (docs/reference/accuracy.md). Where alpha weighs colours
 * (`weighted`) these are quotients, which show more of what the pyramid lacks; above D = 8 less
 * costs next to nothing. */
int cf_pyramid_factor(double sigma, int bits, bool weighted, int most);

/* The same of a level of a blur map, which is blended with others. */
int cf_pyramid_level_factor(double sigma, int most);
