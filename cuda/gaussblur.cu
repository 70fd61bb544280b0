/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fir_engine.cuh"

namespace
{

bool plan(CfFirPlan *plan, const CfVideo *video, const void *params, CfStatus *status)
{
  return cf_fir_plan_gaussblur(plan, video, (const CfGaussblurParams *)params, status);
}

void *open_state(const CfVideo *video, const void *params, const CfOpenOptions *options,
                 CfStatus *status)
{
  return cf_fir_open(video, params, options, plan, status);
}

} // namespace

extern "C" const CfEngine cf_gaussblur_cuda = {
    "cuda", true, false, open_state, cf_fir_update, cf_fir_run, cf_fir_algorithm, cf_fir_close,
};
