/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The blur field (plan/blur_field.h) of one frame, row by row.
 */
#pragma once

#include "plan/blur_field.h"
#include "plan/coverage_frame.h"

/* All but `largest` is borrowed. Belongs to one caller; rows may be read from any threads. */
typedef struct {
  const CfBlurField *field;
  const CfJob *job;
  const CfCoverage *coverage; /* of the job's regions; not read without them */
  const uint16_t *values;     /* what the field is instead, 0..CF_MAP_ONE, row by row; or NULL */
  double largest;             /* sigma of the regions where theirs make the field, else 0 */
} CfBlurRows;

CfBlurRows cf_blur_rows(const CfBlurField *field, const CfJob *job, const CfCoverage *coverage);

/* The values m of row `y` of plane `p`; a sample that no region covers may have any. */
void cf_blur_row(const CfBlurRows *rows, int p, int y, float *m);
