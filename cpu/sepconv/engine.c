/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cpu/fir/engine.h"

static bool update(void *state, const void *params, CfStatus *status)
{
  CfCpuFir *fir = state;

  return cf_fir_plan_sepconv(cf_cpu_fir_next_plan(fir), cf_cpu_fir_video(fir), params, status) &&
         cf_cpu_fir_commit(fir, status);
}

static void *open_state(const CfVideo *video, const void *params, const CfOpenOptions *options,
                        CfStatus *status)
{
  CfCpuFir *fir = cf_cpu_fir_open(video, options, status);

  if (fir && !update(fir, params, status)) {
    cf_cpu_fir_close(fir);
    return NULL;
  }
  return fir;
}

const CfEngine cf_sepconv_cpu = {
    .name = "cpu",
    .open = open_state,
    .update = update,
    .run = cf_cpu_fir_run,
    .algorithm = cf_cpu_fir_algorithm,
    .close = cf_cpu_fir_close,
};
