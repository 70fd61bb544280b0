/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The fast and the sampled local Laplacian filter: pyramids of component planes, group by group.
 */
#pragma once

#include "cpu/llf/image.h"
#include "cpu/llf/tables.h"

/* Scratch: holds no parameters. Belongs to one caller at a time; runs work on the pool's threads.
 */
typedef struct CfLlfPlanes CfLlfPlanes;

/* Scratch for images of up to `width` x `height` pixels; `groups` is how many the tables may have:
 * 1, or more. NULL where memory ran out. */
CfLlfPlanes *cf_llf_planes_open(int width, int height, int groups, int threads);

/* Filters one image, of the first size of `pyramid`, which has two or more, by tables that are
 * filled. */
void cf_llf_planes_run(CfLlfPlanes *planes, const CfLlfTables *tables, const CfLlfPyramid *pyramid,
                       const CfLlfWeights *weights, const CfLlfImage *image);

/* NULL is allowed. */
void cf_llf_planes_close(CfLlfPlanes *planes);
