/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Puts filtered samples into a picture where regions cover it.
 */
#pragma once

#include "plan/coverage_frame.h"

/* Where filtered samples come from. */
typedef struct {
  /* Samples x0 .. x0 + count - 1, at most CF_COVERAGE_SAMPLES, of row `y` of plane `p`, as they lie
   * in memory; those whose coverage is 0 may be anything. Called by several threads at once; valid
   * until the thread's next call. */
  const uint8_t *(*row)(void *context, int p, int y, int x0, int count, const uint16_t *coverage,
                        const int *owner);
  void *context;
  bool wants_owner; /* else `owner`, as of cf_coverage_row, is NULL */
} CfFiltered;

/* Makes `destination` the source where nothing is covered, the filtered samples where all is, and a
 * mix in between (plan/coverage_rule.h). All are pictures of coverage->video; source and
 * destination may be the same: then only covered samples are written. Filtered samples are asked
 * for within coverage->bounds only. `threads` is 1 or more. */
void cf_blend(const CfCoverage *coverage, const CfPicture *source, const CfFiltered *filtered,
              const CfPicture *destination, int threads);

/* The same for engines that filter whole areas: all within coverage->bounds lies in `filtered`. */
void cf_blend_picture(const CfCoverage *coverage, const CfPicture *source,
                      const CfPicture *filtered, const CfPicture *destination, int threads);
