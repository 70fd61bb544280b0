/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The field of sigmas: which sigma each sample of a frame is blurred with. It comes from a blur map
 * (plan/map.h), or with sigma-relative from the region that a sample belongs to.
 */
#pragma once

#include "plan/coverage.h"
#include "plan/map.h"

/* All zero: a field without params. Used by one caller at a time; ends with cf_blur_field_clear().
 */
typedef struct {
  CfVideo video;            /* format and size of the pictures */
  CfGaussblurParams params; /* `map` is a reference that the field owns, NULL unless map_mode is
                               CF_MAP_FILE */
} CfBlurField;

/* Takes over new params, with a reference to the map of CF_MAP_FILE. */
void cf_blur_field_set(CfBlurField *field, const CfVideo *video, const CfGaussblurParams *params);

/* Drops the reference to the map. */
void cf_blur_field_clear(CfBlurField *field);

/* Whether samples of a job with these regions (NULL: none) may differ in sigma. If not, `uniform`
 * gets params without map and sigma-relative that blur all samples alike. */
bool cf_blur_field_varies(const CfBlurField *field, const CfRegions *regions,
                          CfGaussblurParams *uniform);

/* Whether sigma-relative applies to a job with these regions: each has a sigma of its own. */
bool cf_blur_field_is_relative(const CfBlurField *field, const CfRegions *regions);

/* The sigma, in luma pixels, of a region whose shorter side is `side` (cf_region_side), where
 * sigma-relative applies. */
double cf_blur_field_side_sigma(const CfBlurField *field, int side);

/* The largest such sigma of all regions; `alike` says whether all regions have it. */
double cf_blur_field_largest_sigma(const CfBlurField *field, const CfRegions *regions, bool *alike);

/* The sigmas of plane `p` at m = 0 and m = 1. */
CfMapSigmas cf_blur_field_sigmas(const CfBlurField *field, const CfRegions *regions, int p);

/* Whether the job's field is a map with map_isolate, which weights samples by their map values. */
bool cf_blur_field_isolates(const CfBlurField *field, const CfRegions *regions);

/* Whether the map depends on the params only, not on the picture: file, radial and linear. */
bool cf_blur_field_is_still(const CfBlurField *field);
