/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The blur field (plan/blur_field.h) of one frame, row by row.
 */
#pragma once

#include "plan/blur_field.h"
#include "plan/coverage_frame.h"

/* All pointers are borrowed. Used by one caller; its rows may be read by any threads. */
typedef struct {
  const CfBlurField *field;
  const CfJob *job;
  const CfCoverage *coverage; /* of the job's regions; read only if there are any */
  const uint16_t *values;     /* map values 0..CF_MAP_ONE, row by row, that replace the field; or
                                 NULL */
  double largest;             /* largest sigma of the regions where sigma-relative applies, else
                                 0 */
} CfBlurRows;

/* Prepares the rows of a job's field; `coverage` is set for the job's regions. */
CfBlurRows cf_blur_rows(const CfBlurField *field, const CfJob *job, const CfCoverage *coverage);

/* The map values m of row `y` of plane `p`. Samples in no region get meaningless values where
 * sigma-relative applies. */
void cf_blur_row(const CfBlurRows *rows, int p, int y, float *m);
