/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The exact local Laplacian filter: every coefficient gathers its own remapped neighbourhood.
 */
#pragma once

#include "cpu/llf/image.h"

/* Belongs to one caller at a time; runs work on the pool's threads. */
typedef struct CfLlfExact CfLlfExact;

/* Prepares for images of exactly `width` x `height` pixels with up to `channels`, 1 or 3. NULL
 * where memory ran out. */
CfLlfExact *cf_llf_exact_open(int width, int height, int channels, int threads);

/* Takes over the remapping curve, and whether it is one of colour vectors (CF_LLF_RGB). */
void cf_llf_exact_update(CfLlfExact *exact, const CfLlfParams *params);

/* Filters an image, or the three of colour vectors, to pyramid->images >= 2 levels; intensity =
 * (code - offset) / scale for each. */
void cf_llf_exact_run(CfLlfExact *exact, const CfLlfPyramid *pyramid, double offset, double scale,
                      const CfLlfImage *image);

/* NULL is allowed. */
void cf_llf_exact_close(CfLlfExact *exact);
