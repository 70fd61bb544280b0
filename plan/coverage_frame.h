/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The regions of one frame, prepared for the CPU engines: set once, then asked row by row by the
 * threads that filter the frame. coverage.h defines coverage.
 */
#pragma once

#include "plan/coverage.h"

/* The most samples that one call of cf_coverage_row returns */
#define CF_COVERAGE_SAMPLES 1024

typedef struct {
  CfRect bounds; /* cf_region_bounds; where these are empty, `shape` is not set */
  CfShape shape;
} CfFrameRegion;

/* All zero at first, cf_coverage_clear() at the end. One caller sets it before a frame; rows of
 * that frame may then be asked for by any threads. */
typedef struct {
  CfVideo video;
  CfCoverageRule rule;
  CfRect bounds;         /* cf_coverage_bounds, luma pixels */
  int count;             /* of regions */
  CfFrameRegion *region; /* in the order of CfRegions */

  /* The picture is divided into cells of luma pixels, in row-major order. listed[first[cell]] to
   * listed[first[cell + 1] - 1] are the indices, ascending, of the regions whose bounds touch the
   * cell, except those that some other region outranks everywhere in the cell. */
  int *first, *listed;
  float *farthest; /* per cell: some region is at most this far, in half pixels, from every pixel of
                      the cell */
  size_t bytes;    /* allocated at `region`, for all four arrays */
} CfCoverage;

/* Prepares a frame. Allocates where it has more regions, or larger ones, than any before:
 * CF_ERROR_NO_MEMORY. */
bool cf_coverage_set(CfCoverage *coverage, const CfVideo *video, const CfRegions *regions,
                     CfStatus *status);

/* Frees the memory; all is zero again. */
void cf_coverage_clear(CfCoverage *coverage);

/* The end of a run of samples of row `y` of `plane`, from x0 on and before `end`, at most
 * CF_COVERAGE_SAMPLES long, that is either close to regions throughout (`close`), or far from all
 * and then not covered. */
int cf_coverage_stretch(const CfCoverage *frame, int plane, int y, int x0, int end, bool *close);

/* Coverage in 256ths of the samples x0..x0 + count - 1, at most CF_COVERAGE_SAMPLES and all in the
 * picture, of row `y` of `plane`. `owner`, unless NULL, gets for each covered sample the index of
 * its region: the one that covers the sample most, of equals the one with the longest shorter side,
 * of these the first. With `outside` owners are meaningless. False if no sample is covered. */
bool cf_coverage_row(const CfCoverage *frame, int plane, int y, int x0, int count,
                     uint16_t *coverage, int *owner);
