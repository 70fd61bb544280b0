/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * One image to be filtered, as the algorithms see it: rows of code values, wherever they come from
 * and go to. Both calls come from several threads at once.
 */
#pragma once

#include "plan/llf_plan.h"

typedef struct {
  const void *context; /* for both calls */

  /* Loads row `y` as code values, one per pixel; not rounded where they are computed from several
   * components. */
  void (*load)(const void *context, int y, float *code);

  /* Stores `rows` (1 or 2) rows from the even row `y` on. `difference` is the filter's change, in
   * intensities, which the call may overwrite; `code` has the code values as loaded. */
  void (*store)(const void *context, int y, int rows, float *const code[2],
                float *const difference[2]);
} CfLlfImage;
