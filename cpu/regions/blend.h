/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Blends filtered samples into a picture where regions cover it.
 */
#pragma once

#include "plan/coverage_frame.h"

/* The source of filtered samples. */
typedef struct {
  /* Returns samples x0..x0 + count - 1 (count <= CF_COVERAGE_SAMPLES) of row `y` of plane `p`, as
   * in memory; those whose coverage is 0 may be anything. `owner` is as in cf_coverage_row. Called
   * by several threads at once; the result is valid until the same thread's next call. */
  const uint8_t *(*row)(void *context, int p, int y, int x0, int count, const uint16_t *coverage,
                        const int *owner);
  void *context;
  bool wants_owner; /* if not, `owner` is NULL */
} CfFiltered;

/* Writes to `destination` the source where nothing is covered, the filtered samples where they are
 * covered fully, and a mix in between (plan/coverage_rule.h). All are pictures of coverage->video.
 * Source and destination may be the same: then only covered samples are written. Filtered samples
 * are requested within coverage->bounds only. `threads` >= 1. */
void cf_blend(const CfCoverage *coverage, const CfPicture *source, const CfFiltered *filtered,
              const CfPicture *destination, int threads);

/* The same for engines that filter whole areas: `filtered` holds all samples within
 * coverage->bounds. */
void cf_blend_picture(const CfCoverage *coverage, const CfPicture *source,
                      const CfPicture *filtered, const CfPicture *destination, int threads);
