/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The blurs among which a map blends. Between two neighbours, sigma along each axis grows by at
 * most 2^(1/4), below 1 by at most 0.05, so that the blend of both differs from the Gaussian
 * between them by less than 1.8 codes of 8 bits for black and white samples in the worst order, and
 * 0.4 for an edge.
 */
#pragma once

#include "plan/map.h"

#define CF_BLUR_LEVELS 128 /* at most: axes may run through all sigmas in opposite directions */

typedef struct {
  double horizontal, vertical; /* sigma in samples of the plane */
} CfBlurLevel;

#define CF_BLUR_TABLE 4096

typedef struct {
  int count;
  CfBlurLevel level[CF_BLUR_LEVELS]; /* level[0] is that of m = 0, the last that of m = 1 */

  /* Which level m stands for; 2.25 is a quarter of the way from level 2 to 3. Linear between the
   * entries for m = i / CF_BLUR_TABLE. */
  float position[CF_BLUR_TABLE + 2];
} CfBlurLevels;

void cf_blur_levels(CfBlurLevels *levels, const CfMapSigmas *sigmas);

/* Replaces values m by positions among the levels. */
void cf_blur_positions(const CfBlurLevels *levels, int count, float *m);
