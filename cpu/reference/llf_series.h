/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The local Laplacian filter by its sine series (plan/llf_plan.h, CF_LLF_FAST), in double
 * precision, without the weights at the noise floor.
 */
#pragma once

#include "plan/llf_plan.h"

/* Filters width x height intensities, 0..1, in place; `field` as CfVideo.field. `params` have alpha
 * >= 1 or noise_floor = 0; strength, protect and color_mode are ignored. False when out of memory.
 */
bool cf_series_llf_run(double *intensity, int width, int height, bool field,
                       const CfLlfParams *params, int threads);
