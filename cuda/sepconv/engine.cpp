/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The engine of cudasepconv: the separable filter of cuda/fir/ by given taps.
 */
#include "cuda/fir/engine.cuh"

namespace cf::sepconv
{
namespace
{

bool plan(CfFirPlan *plan, const CfVideo *video, const void *params, CfStatus *status)
{
  return cf_fir_plan_sepconv(plan, video, (const CfSepconvParams *)params, status);
}

void *open(const CfVideo *video, const void *params, const CfOpenOptions *options, CfStatus *status)
{
  return cf_fir_open(video, params, options, plan, status);
}

} // namespace
} // namespace cf::sepconv

extern "C" const CfEngine cf_sepconv_cuda = {
    "cuda", /* name */
    true,   /* device_memory */
    false,  /* in_place */
    cf::sepconv::open,
    cf_fir_update,
    cf_fir_run,
    cf_fir_algorithm,
    cf_fir_close,
    false, /* regions */
    cf_fir_halo,
    cf_fir_run_packed,
};
