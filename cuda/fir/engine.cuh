/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Separable filters by taps, for the engines of cudagaussblur and cudasepconv. These differ only in
 * how params become a plan.
 */
#pragma once

#include "cuda/common/context.cuh"

extern "C" {
#include "plan/fir.h"
}

typedef bool (*CfFirPlanner)(CfFirPlan *plan, const CfVideo *video, const void *params,
                             CfStatus *status);

/* The calls of CfEngine (engine.h). `planner` makes the plan of checked params; it is called by
 * cf_fir_open() and cf_fir_update(). */
void *cf_fir_open(const CfVideo *video, const void *params, const CfOpenOptions *options,
                  CfFirPlanner planner, CfStatus *status);
bool cf_fir_update(void *state, const void *params, CfStatus *status);
bool cf_fir_run(void *state, const CfJob *job, CfStatus *status);
bool cf_fir_run_packed(void *state, const CfVideo *video, const CfJob *job, bool *done,
                       CfStatus *status);
int cf_fir_halo(const void *state);
const char *cf_fir_algorithm(const void *state);
void cf_fir_close(void *state);
