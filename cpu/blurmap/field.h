/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The blur field (plan/blur_field.h) row by row.
 */
#pragma once

#include "plan/blur_field.h"

/* The values m of row `y` of plane `p`; a sample that no region covers may have any. */
void cf_blur_field_row(const CfBlurField *field, const CfJob *job, int p, int y, float *m);
