/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Which sigma each sample gets: by a blur map (plan/map.h), or with sigma-relative by the region
 * that the sample belongs to.
 */
#pragma once

#include "plan/coverage.h"
#include "plan/map.h"

/* All zero is the field of no params. Belongs to one caller. */
typedef struct {
  CfVideo video;
  CfGaussblurParams params; /* `map` is a reference of ours */
} CfBlurField;

/* Takes params over, the map with a reference. */
void cf_blur_field_set(CfBlurField *field, const CfVideo *video, const CfGaussblurParams *params);

void cf_blur_field_clear(CfBlurField *field);

/* Whether the job's samples may differ in sigma; else all have `*uniform`: the params without map
 * and sigma-relative that blur them alike. */
bool cf_blur_field_varies(const CfBlurField *field, const CfRegions *regions,
                          CfGaussblurParams *uniform);

/* Whether sigma-relative holds: each region has a sigma of its own. */
bool cf_blur_field_is_relative(const CfBlurField *field, const CfRegions *regions);

/* Then: that of a region with such a cf_region_side, in luma pixels. */
double cf_blur_field_side_sigma(const CfBlurField *field, int side);

/* And the largest of all regions; `*alike` if all have it. */
double cf_blur_field_largest_sigma(const CfBlurField *field, const CfRegions *regions, bool *alike);

/* What m = 0 and m = 1 stand for in plane `p`. */
CfMapSigmas cf_blur_field_sigmas(const CfBlurField *field, const CfRegions *regions, int p);

/* Whether the job's field is made by a map of which samples count by their own values. */
bool cf_blur_field_isolates(const CfBlurField *field, const CfRegions *regions);

/* Whether rows depend on nothing but the params: not on the picture, not on regions. */
bool cf_blur_field_is_still(const CfBlurField *field);
