/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "plan/blur_field.h"

void cf_blur_field_set(CfBlurField *field, const CfVideo *video, const CfGaussblurParams *params)
{
  const CfMap *map = params->map_mode == CF_MAP_FILE ? cf_map_ref(params->map) : NULL;

  cf_blur_field_clear(field);
  field->video = *video;
  field->params = *params;
  field->params.map = map;
}

void cf_blur_field_clear(CfBlurField *field)
{
  cf_map_unref(field->params.map);
  field->params.map = NULL;
}

/* ---- Regions ---- */

double cf_blur_field_side_sigma(const CfBlurField *field, int side)
{
  return fmin(field->params.sigma_relative * side, CF_LARGEST_SIGMA);
}

bool cf_blur_field_is_relative(const CfBlurField *field, const CfRegions *regions)
{
  return regions && regions->count > 0 && field->params.sigma_relative > 0.0;
}

bool cf_blur_field_isolates(const CfBlurField *field, const CfRegions *regions)
{
  return field->params.map_isolate && field->params.map_mode != CF_MAP_NONE &&
         !cf_blur_field_is_relative(field, regions);
}

double cf_blur_field_largest_sigma(const CfBlurField *field, const CfRegions *regions, bool *alike)
{
  double largest = 0.0, smallest = CF_LARGEST_SIGMA;

  for (int i = 0; i < regions->count; i++) {
    const double sigma = cf_blur_field_side_sigma(
        field, cf_region_side(&field->video, regions, &regions->region[i]));

    largest = fmax(largest, sigma);
    smallest = fmin(smallest, sigma);
  }
  *alike = smallest == largest;
  return largest;
}

/* ---- The whole field ---- */

bool cf_blur_field_varies(const CfBlurField *field, const CfRegions *regions,
                          CfGaussblurParams *uniform)
{
  const CfGaussblurParams *params = &field->params;
  double m;

  *uniform = *params;
  uniform->map_mode = CF_MAP_NONE;
  uniform->map = NULL;
  uniform->sigma_relative = 0.0;
  if (cf_blur_field_is_relative(field, regions)) {
    bool alike;

    uniform->sigma = cf_blur_field_largest_sigma(field, regions, &alike);
    uniform->sigma_vertical = -1.0;
    /* With `outside`, covered samples belong to no region: all get the largest sigma. */
    return !alike && !regions->outside;
  }
  if (params->map_mode == CF_MAP_NONE)
    return false;
  if (!cf_map_is_constant(&field->video, params, &m)) {
    const bool one_sigma =
        params->sigma == params->sigma_min &&
        (params->sigma_vertical == -1.0 || params->sigma_vertical == params->sigma_min);
    return !one_sigma;
  }

  const CfMapSigmas sigmas = cf_map_sigmas(&field->video, params, 0);
  uniform->sigma = sigmas.horizontal[0] + m * (sigmas.horizontal[1] - sigmas.horizontal[0]);
  uniform->sigma_vertical = sigmas.vertical[0] + m * (sigmas.vertical[1] - sigmas.vertical[0]);
  return false;
}

CfMapSigmas cf_blur_field_sigmas(const CfBlurField *field, const CfRegions *regions, int p)
{
  const CfPlaneFormat *plane = &cf_format_info(field->video.format)->plane[p];
  bool alike;

  if (!cf_blur_field_is_relative(field, regions))
    return cf_map_sigmas(&field->video, &field->params, p);

  const double largest = cf_blur_field_largest_sigma(field, regions, &alike);
  return (CfMapSigmas){.horizontal = {0.0, ldexp(largest, -plane->subsampling_x)},
                       .vertical = {0.0, ldexp(largest, -plane->subsampling_y)}};
}

bool cf_blur_field_is_still(const CfBlurField *field)
{
  const int mode = field->params.map_mode;

  return mode == CF_MAP_FILE || mode == CF_MAP_RADIAL || mode == CF_MAP_LINEAR;
}
