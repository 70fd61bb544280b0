/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What a frame costs of energy, where the machine counts it: a GPU by NVML, whose counter is of the
 * whole card, a CPU by Linux's powercap, of the whole package.
 */
#pragma once

#include "measure.h"

/* Runs the engine back to back for a second or two. 0 in `millijoules` where nothing counts. */
bool cf_measure_energy(const CfWork *work, double *millijoules, CfStatus *status);
