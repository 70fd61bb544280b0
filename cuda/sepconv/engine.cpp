/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cuda/fir/engine.cuh"

namespace
{

bool plan(CfFirPlan *plan, const CfVideo *video, const void *params, CfStatus *status)
{
  return cf_fir_plan_sepconv(plan, video, (const CfSepconvParams *)params, status);
}

void *open_state(const CfVideo *video, const void *params, const CfOpenOptions *options,
                 CfStatus *status)
{
  return cf_fir_open(video, params, options, plan, status);
}

} // namespace

extern "C" const CfEngine cf_sepconv_cuda = {
    "cuda",           true,         false, open_state,  cf_fir_update, cf_fir_run,
    cf_fir_algorithm, cf_fir_close, false, cf_fir_halo,
};
