/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The levels of a blur map: uniform blurs between which a sample's blur is interpolated. From one
 * level to the next, sigma along each axis grows by a factor of at most 2^(1/4), below 1 by at most
 * 0.05, so that a blend of both differs from the Gaussian between them by less than 1.8 codes of 8
 * bits for black and white samples in the worst order, and by 0.4 for an edge.
 */
#pragma once

#include "plan/map.h"

#define CF_BLUR_LEVELS 128 /* the most: axes may run through all sigmas in opposite directions */

typedef struct {
  double horizontal, vertical; /* sigma in samples of the plane */
} CfBlurLevel;

#define CF_BLUR_TABLE 4096

typedef struct {
  int count;                         /* levels in use, 1..CF_BLUR_LEVELS */
  CfBlurLevel level[CF_BLUR_LEVELS]; /* level[0] is that of m = 0, the last that of m = 1 */

  /* The position of a map value m among the levels: 2.25 is a quarter of the way from level 2 to
   * level 3. position[i] is that of m = i / CF_BLUR_TABLE; linear between entries. The last entry
   * is repeated, so that m = 1 may read a neighbour. */
  float position[CF_BLUR_TABLE + 2];
} CfBlurLevels;

/* Chooses the levels for these sigmas, and fills the table of positions. */
void cf_blur_levels(CfBlurLevels *levels, const CfMapSigmas *sigmas);

/* Replaces `count` map values m, 0..1, by their positions among the levels. */
void cf_blur_positions(const CfBlurLevels *levels, int count, float *m);
