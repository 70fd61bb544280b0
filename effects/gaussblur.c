/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "gaussblur.h"

static const CfParam params[] = {
    {"sigma", "Sigma",
     "Standard deviation of the blur in luma pixels (0 = off, negative sharpens as much)",
     CF_PARAM_DOUBLE, offsetof(CfGaussblurParams, sigma), -250.0, 250.0, 2.0, NULL, NULL},
    {"sigma-vertical", "Vertical sigma",
     "Standard deviation of the blur along columns (-1 = as sigma, else 0 or more)",
     CF_PARAM_DOUBLE, offsetof(CfGaussblurParams, sigma_vertical), -1.0, 250.0, -1.0, NULL, NULL},
    {"border", "Border", "What the filter sees outside the picture (constant is opaque black)",
     CF_PARAM_ENUM, offsetof(CfGaussblurParams, border), CF_BORDER_REPLICATE, CF_BORDER_CONSTANT,
     CF_BORDER_REPLICATE, "GstCudaFiltersBorder", cf_border_choices},
    {0},
};

static bool check(const CfVideo *video, const void *values, CfStatus *status)
{
  const CfGaussblurParams *blur = values;

  (void)video;
  if (blur->sigma_vertical == -1.0 || blur->sigma_vertical >= 0.0)
    return true;
  return cf_fail(status, CF_ERROR_INVALID,
                 "sigma-vertical is %g, allowed is -1 (as sigma) or 0 to 250",
                 blur->sigma_vertical);
}

static bool is_identity(const void *values)
{
  const CfGaussblurParams *blur = values;

  return blur->sigma == 0.0 && blur->sigma_vertical <= 0.0;
}

static const CfEngine *const engines[] = {
    &cf_gaussblur_reference,
    &cf_gaussblur_cpu,
#ifdef CF_HAVE_CUDA
    &cf_gaussblur_cuda,
#endif
    NULL,
};

const CfEffect cf_gaussblur = {
    .name = "gaussblur",
    .params_size = sizeof(CfGaussblurParams),
    .params = params,
    .check = check,
    .is_identity = is_identity,
    .engines = engines,
};
