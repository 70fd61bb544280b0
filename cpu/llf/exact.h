/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The exact local Laplacian filter: every coefficient gathers its own remapped neighbourhood.
 */
#pragma once

#include "cpu/llf/image.h"

/* Used by one caller at a time; runs use the pool's threads. */
typedef struct CfLlfExact CfLlfExact;

/* Prepares for images of exactly `width` x `height` pixels, and for up to `channels` (1 or 3)
 * channels. NULL when out of memory. */
CfLlfExact *cf_llf_exact_open(int width, int height, int channels, int threads);

/* Takes over the remapping curve, and whether it applies to colour vectors (CF_LLF_RGB). */
void cf_llf_exact_update(CfLlfExact *exact, const CfLlfParams *params);

/* Filters one image, or the three images of colour vectors, with a pyramid of at least two images.
 * intensity = (code - offset) / scale for each. */
void cf_llf_exact_run(CfLlfExact *exact, const CfLlfPyramid *pyramid, double offset, double scale,
                      const CfLlfImage *image);

/* NULL is allowed. */
void cf_llf_exact_close(CfLlfExact *exact);
