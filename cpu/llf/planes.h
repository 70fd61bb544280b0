/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The fast and the sampled local Laplacian filter: pyramids of component planes, group by group.
 */
#pragma once

#include "cpu/llf/image.h"
#include "cpu/llf/tables.h"

/* Scratch; holds no parameters. Used by one caller at a time; runs use the pool's threads. */
typedef struct CfLlfPlanes CfLlfPlanes;

/* Scratch for images of up to `width` x `height` pixels, and for tables with one group or, if
 * `groups` > 1, with any number. NULL when out of memory. */
CfLlfPlanes *cf_llf_planes_open(int width, int height, int groups, int threads);

/* Filters one image of the size of pyramid->width[0] x height[0]; the pyramid has at least two
 * images, and the tables are filled. */
void cf_llf_planes_run(CfLlfPlanes *planes, const CfLlfTables *tables, const CfLlfPyramid *pyramid,
                       const CfLlfWeights *weights, const CfLlfImage *image);

/* NULL is allowed. */
void cf_llf_planes_close(CfLlfPlanes *planes);
