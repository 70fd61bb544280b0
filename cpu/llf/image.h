/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * One image to filter, as the algorithms see it: rows of code values, wherever they come from and
 * go to.
 */
#pragma once

#include "plan/llf_plan.h"

typedef struct {
  const void *context; /* for the calls below, which come from several threads at once */

  /* Reads row `y` of code values into `code`, one a pixel, not rounded where they are computed from
   * other components. */
  void (*load)(const void *context, int y, float *code);

  /* Takes what the filter adds to the intensity of pixels, for `rows` (1 or 2) rows from the even
   * row `y`, together with their code values as loaded. */
  void (*store)(const void *context, int y, int rows, float *const code[2],
                float *const difference[2]);
} CfLlfImage;
