/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The coarse taps of plan/pyramid.h, fitted so that prefilter, coarse taps and spline together are
 * as close to the Gaussian as possible.
 */
#pragma once

#include "plan/pyramid.h"

/* Fills axis->coarse_taps; coarse_taps_first and coarse_taps_count are set, and so are prefilter
 * and spline; D > 1. `variance` is about what prefilter and spline leave for the coarse taps, in
 * samples of the fine grid. Changes nothing on CF_ERROR_NO_MEMORY. */
bool cf_pyramid_fit_low(CfPyramidAxis *axis, double sigma, double variance, CfStatus *status);
