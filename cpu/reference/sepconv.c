/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cpu/reference/fir.h"

static bool update(void *state, const void *params, CfStatus *status)
{
  CfReferenceFir *fir = state;

  return cf_fir_plan_sepconv(&fir->plan, &fir->video, params, status);
}

static void *open_state(const CfVideo *video, const void *params, const CfOpenOptions *options,
                        CfStatus *status)
{
  CfReferenceFir *fir = cf_reference_fir_open(video, status);

  if (fir && !update(fir, params, status)) {
    cf_reference_fir_close(fir);
    return NULL;
  }
  return fir;
}

const CfEngine cf_sepconv_reference = {
    .name = "reference",
    .open = open_state,
    .update = update,
    .run = cf_reference_fir_run,
    .algorithm = cf_reference_fir_algorithm,
    .close = cf_reference_fir_close,
};
