/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The exact local Laplacian filter: every coefficient gathers its own remapped neighbourhood.
 */
#pragma once

#include "cpu/llf/image.h"

/* Belongs to one caller at a time; runs work on the pool's threads. */
typedef struct CfLlfExact CfLlfExact;

/* Prepares for images of exactly `width` x `height` pixels with 1 or 3 channels; with 3 the filter
 * works on colour vectors. NULL where memory ran out. */
CfLlfExact *cf_llf_exact_open(int width, int height, int channels, int threads);

/* Takes over the remapping curve. */
void cf_llf_exact_update(CfLlfExact *exact, const CfLlfParams *params);

/* Filters `channels` images of one size, of which pyramid->images levels; intensity = (code -
 * offset) / scale for each. */
void cf_llf_exact_run(CfLlfExact *exact, const CfLlfPyramid *pyramid, double offset, double scale,
                      const CfLlfImage *image);

/* NULL is allowed. */
void cf_llf_exact_close(CfLlfExact *exact);
