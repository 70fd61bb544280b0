/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The local Laplacian filter of engine=fast, sine series and all (plan/llf_plan.h), in double
 * precision, without the weights that hold a noise floor.
 */
#pragma once

#include "plan/llf_plan.h"

/* Filters width x height intensities, 0..1, in place; `params` have alpha >= 1 or noise_floor = 0,
 * and strength, protect and color_mode do not matter. False where memory ran out. */
bool cf_series_llf_run(double *intensity, int width, int height, const CfLlfParams *params,
                       int threads);
