/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The regions of one frame as the CPU engines ask for them: set once, handed down to all that work
 * row by row. What is covered, and how much, is defined in coverage.h.
 */
#pragma once

#include "plan/coverage.h"

/* Most samples that a call of cf_coverage_row tells of. */
#define CF_COVERAGE_SAMPLES 1024

typedef struct {
  CfRect bounds; /* of cf_region_bounds; where they are empty, `shape` is not set */
  CfShape shape;
} CfFrameRegion;

/* All zero at first. Belongs to one caller, who sets it before a frame; the frame's rows may then
 * be asked for from any threads. */
typedef struct {
  CfVideo video;
  CfCoverageRule rule;
  CfRect bounds;         /* luma pixels: cf_coverage_bounds */
  int count;             /* of regions */
  CfFrameRegion *region; /* in the order of CfRegions */

  /* Cells of luma pixels, row by row of them: listed[first[cell]] to listed[first[cell + 1]] are
   * the indices, ascending, of the regions whose bounds touch the cell, but for those that another
   * covers all of it more than. */
  int *first, *listed;
  float *farthest; /* of each cell: half pixels from all of it to some region, at most */
  size_t bytes;    /* allocated at `region` for all four */
} CfCoverage;

/* Allocates where a frame has more regions, or larger ones, than any before. CF_ERROR_NO_MEMORY. */
bool cf_coverage_set(CfCoverage *coverage, const CfVideo *video, const CfRegions *regions,
                     CfStatus *status);

/* Frees what set has allocated; all is zero again. */
void cf_coverage_clear(CfCoverage *coverage);

/* The end of a stretch of samples of row `y` of `plane` from x0 on, at most CF_COVERAGE_SAMPLES of
 * them and none from `end` on: all close to regions, or none (`close`), which are not covered. */
int cf_coverage_stretch(const CfCoverage *frame, int plane, int y, int x0, int end, bool *close);

/* Coverage in 256ths of the samples x0..x0 + count - 1, at most CF_COVERAGE_SAMPLES, in row `y` of
 * `plane`, which lie in the picture. `owner`, unless NULL, gets the index of the region each
 * covered one belongs to: the one that covers it most, of these the one with the longest shorter
 * side, of these the first; it means nothing with `outside`. False if none is covered. */
bool cf_coverage_row(const CfCoverage *frame, int plane, int y, int x0, int count,
                     uint16_t *coverage, int *owner);
