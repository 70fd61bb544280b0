/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The taps between prefilter and spline of plan/pyramid.h, chosen so that all three together are as
 * close to the Gaussian as they can be.
 */
#pragma once

#include "plan/pyramid.h"

/* Fills axis->low, of which first and count are set, as all of prefilter and spline are; D > 1.
 * Prefilter and spline leave about this `variance` to it, in samples of the fine grid. On
 * CF_ERROR_NO_MEMORY nothing changes. */
bool cf_pyramid_fit_low(CfPyramidAxis *axis, double sigma, double variance, CfStatus *status);
