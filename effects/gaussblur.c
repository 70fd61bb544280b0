/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "gaussblur.h"

#include <math.h>

#include "plan/coverage.h"

/* Smaller standard deviations hide nothing. */
#define LEAST_SIGMA 1.0

/* Sigma as a fraction of the shorter side of a face's region: the default, at which the face is not
 * recognised even after an attacker's own filters, and the least at which it is not. */
#define SAFE_SIGMA  0.2
#define LEAST_SHARE 0.15

static const CfChoice map_modes[] = {
    {CF_MAP_NONE, "none", "The same sigma everywhere"},
    {CF_MAP_FILE, "file", "The grey image at map-location, stretched over the frame"},
    {CF_MAP_RADIAL, "radial", "Distance from a point: sharp near it, blurred far from it"},
    {CF_MAP_LINEAR, "linear", "Distance from a line (tilt-shift)"},
    {CF_MAP_LUMA, "luma", "The frame's own luma: black 0, white 1"},
    {CF_MAP_ALPHA, "alpha", "The frame's own alpha: transparent 0, opaque 1"},
    {0, NULL, NULL},
};

#define FIELD(name) offsetof(CfGaussblurParams, name)

static const CfParam params[] = {
    {"sigma", "Sigma",
     "Standard deviation of the blur in luma pixels (0 = off, negative = sharpens by the same "
     "amount)",
     CF_PARAM_DOUBLE, FIELD(sigma), -CF_LARGEST_SIGMA, CF_LARGEST_SIGMA, 2.0, NULL, NULL,
     .group = "Blur", .soft_minimum = -5.0, .soft_maximum = 60.0, .scale = CF_SCALE_SQUARE},
    {"sigma-vertical", "Vertical sigma",
     "Standard deviation of the blur along columns, in luma pixels (-1 = same as sigma)",
     CF_PARAM_DOUBLE, FIELD(sigma_vertical), -1.0, CF_LARGEST_SIGMA, -1.0, NULL, NULL,
     .soft_minimum = -1.0, .soft_maximum = 60.0, .scale = CF_SCALE_SQUARE},
    {"border", "Border", "How the picture continues beyond its edges (constant = opaque black)",
     CF_PARAM_ENUM, FIELD(border), CF_BORDER_REPLICATE, CF_BORDER_CONSTANT, CF_BORDER_REPLICATE,
     "GstCudaFiltersBorder", cf_border_choices},
    {"map-mode", "Map mode", "Source of the blur map, by which sigma varies over the frame",
     CF_PARAM_ENUM, FIELD(map_mode), CF_MAP_NONE, CF_MAP_ALPHA, CF_MAP_NONE,
     "GstCudaFiltersMapMode", map_modes, .group = "Map"},
    {"sigma-min", "Smallest sigma",
     "Sigma in luma pixels where the map is 0; where the map is 1, sigma applies", CF_PARAM_DOUBLE,
     FIELD(sigma_min), 0.0, CF_LARGEST_SIGMA, 0.0, NULL, NULL, .soft_minimum = 0.0,
     .soft_maximum = 30.0, .scale = CF_SCALE_SQUARE},
    {"map-x", "Map centre x",
     "Centre of the radial map, or a point on the line of the linear one, as a fraction of the "
     "width",
     CF_PARAM_DOUBLE, FIELD(map_x), 0.0, 1.0, 0.5, NULL, NULL},
    {"map-y", "Map centre y",
     "Centre of the radial map, or a point on the line of the linear one, as a fraction of the "
     "height",
     CF_PARAM_DOUBLE, FIELD(map_y), 0.0, 1.0, 0.5, NULL, NULL},
    {"map-inner", "Map inner distance",
     "Distance up to which the map is 0, as a fraction of the width", CF_PARAM_DOUBLE,
     FIELD(map_inner), 0.0, 1.0, 0.0, NULL, NULL},
    {"map-outer", "Map outer distance",
     "Distance beyond which the map is 1, as a fraction of the width", CF_PARAM_DOUBLE,
     FIELD(map_outer), 0.0, 1.0, 0.333, NULL, NULL},
    {"map-angle", "Map angle",
     "Angle of the line of the linear map, clockwise from horizontal, in degrees", CF_PARAM_DOUBLE,
     FIELD(map_angle), -360.0, 360.0, 0.0, NULL, NULL, .soft_minimum = -90.0, .soft_maximum = 90.0},
    {"map-invert", "Invert map", "Invert the map: blur where it is 0 instead of where it is 1",
     CF_PARAM_BOOL, FIELD(map_invert), 0.0, 1.0, 0.0, NULL, NULL},
    {"map-isolate", "Isolate",
     "Keep what the map leaves sharp from bleeding into what it blurs: samples are weighted by "
     "their own map value",
     CF_PARAM_BOOL, FIELD(map_isolate), 0.0, 1.0, 0.0, NULL, NULL},
    {"sigma-relative", "Relative sigma",
     "Sigma as a fraction of the shorter side of each region (0 = off; -1 = 0.2 with "
     "roi-mode=inside where neither sigma nor a map was set, else 0)",
     CF_PARAM_DOUBLE, FIELD(sigma_relative), -1.0, 1.0, -1.0, NULL, NULL, .group = "Regions",
     .soft_minimum = -1.0, .soft_maximum = 0.5},
    {0},
};

/* With a map, sigma is its scale and is not automatic. */
static void settle(void *values, uint64_t set, bool masks)
{
  CfGaussblurParams *blur = values;
  const bool chosen = set >> (cf_params_find(params, "sigma") - params) & 1;

  if (blur->sigma_relative == -1.0)
    blur->sigma_relative = masks && !chosen && blur->map_mode == CF_MAP_NONE ? SAFE_SIGMA : 0.0;
}

static bool check_map(const CfGaussblurParams *blur, CfStatus *status)
{
  if (blur->map_mode == CF_MAP_NONE)
    return true;
  if (blur->map_mode == CF_MAP_FILE && !blur->map)
    return cf_fail(status, CF_ERROR_INVALID,
                   "map-mode is file, but map-location is not set: set it to a PNG, PGM or PPM");
  if (blur->sigma < 0.0)
    return cf_fail(status, CF_ERROR_INVALID,
                   "sigma is %g, allowed with a blur map is 0 to %g: maps do not sharpen",
                   blur->sigma, CF_LARGEST_SIGMA);
  if (blur->map_isolate && blur->sigma_min > 0.0)
    return cf_fail(
        status, CF_ERROR_INVALID,
        "sigma-min is %g, allowed with map-isolate is 0: what is kept from bleeding has to "
        "stay sharp",
        blur->sigma_min);
  if (blur->sigma_relative > 0.0)
    return cf_fail(status, CF_ERROR_INVALID,
                   "sigma-relative is %g, allowed with a blur map is 0: set either map-mode or "
                   "sigma-relative",
                   blur->sigma_relative);
  return true;
}

static bool check(const CfVideo *video, const void *values, CfStatus *status)
{
  const CfGaussblurParams *blur = values;

  if (blur->sigma_vertical != -1.0 && blur->sigma_vertical < 0.0)
    return cf_fail(status, CF_ERROR_INVALID,
                   "sigma-vertical is %g, allowed is -1 (as sigma) or 0 to %g",
                   blur->sigma_vertical, CF_LARGEST_SIGMA);
  if (blur->sigma_relative != -1.0 && blur->sigma_relative < 0.0)
    return cf_fail(status, CF_ERROR_INVALID,
                   "sigma-relative is %g, allowed is -1 (automatic) or 0 to 1",
                   blur->sigma_relative);
  return check_map(blur, status);
}

static bool is_identity(const void *values)
{
  const CfGaussblurParams *blur = values;
  const bool blurs_at_0 = blur->map_mode != CF_MAP_NONE && blur->sigma_min > 0.0;

  return blur->sigma == 0.0 && blur->sigma_vertical <= 0.0 && blur->sigma_relative <= 0.0 &&
         !blurs_at_0;
}

static bool has_no_map(const void *values)
{
  return ((const CfGaussblurParams *)values)->map_mode == CF_MAP_NONE;
}

static bool has_no_linear_map(const void *values)
{
  return ((const CfGaussblurParams *)values)->map_mode != CF_MAP_LINEAR;
}

static bool has_no_drawn_map(const void *values)
{
  return ((const CfGaussblurParams *)values)->map_mode != CF_MAP_RADIAL &&
         has_no_linear_map(values);
}

static bool leaves_file_unused(const void *values)
{
  const CfGaussblurParams *blur = values;

  return blur->map && blur->map_mode != CF_MAP_FILE;
}

static bool has_crossed_distances(const void *values)
{
  const CfGaussblurParams *blur = values;

  return !has_no_drawn_map(blur) && blur->map_inner > blur->map_outer;
}

#define NO_DRAWN_MAP " has no effect: it is for map-mode=radial and linear"
#define CROSSED                                                                                    \
  "map-inner is larger than map-outer: the map jumps from 0 to 1 at map-inner, and map-outer has " \
  "no effect"

static const CfRemark remarks[] = {
    {"map-location", leaves_file_unused, "map-location has no effect: it is for map-mode=file"},
    {"sigma-min", has_no_map, "sigma-min has no effect: it is for a map-mode other than none"},
    {"map-invert", has_no_map, "map-invert has no effect: it is for a map-mode other than none"},
    {"map-isolate", has_no_map, "map-isolate has no effect: it is for a map-mode other than none"},
    {"map-x", has_no_drawn_map, "map-x" NO_DRAWN_MAP},
    {"map-y", has_no_drawn_map, "map-y" NO_DRAWN_MAP},
    {"map-inner", has_no_drawn_map, "map-inner" NO_DRAWN_MAP},
    {"map-inner", has_crossed_distances, CROSSED},
    {"map-outer", has_no_drawn_map, "map-outer" NO_DRAWN_MAP},
    {"map-outer", has_crossed_distances, CROSSED},
    {"map-angle", has_no_linear_map, "map-angle has no effect: it is for map-mode=linear"},
    {0},
};

/* Whether sigma-relative blurs every covered region enough. With `outside` the sigma of the rest
 * follows the largest region. */
static bool relative_hides(const CfVideo *video, const CfGaussblurParams *blur,
                           const CfRegions *regions, CfStatus *why)
{
  int weakest = -1;

  for (int i = 0; i < regions->count; i++) {
    const int side = cf_region_side(video, regions, &regions->region[i]);

    if (weakest < 0 || (regions->outside ? side > weakest : side < weakest))
      weakest = side;
  }
  if (blur->sigma_relative * weakest >= LEAST_SIGMA)
    return true;
  return cf_fail(
      why, CF_ERROR_INVALID,
      "sigma-relative is %g, which blurs a region of %d pixels with a sigma of %.2g, and "
      "a sigma below %g hides nothing: set sigma-relative=%g",
      blur->sigma_relative, weakest, blur->sigma_relative * weakest, LEAST_SIGMA, SAFE_SIGMA);
}

/* The smaller sigma of both directions. With a map the larger one of sigma and sigma-min: what the
 * map leaves sharp is meant to be. */
static double weakest_sigma(const CfGaussblurParams *blur)
{
  const double down = blur->sigma_vertical < 0.0 ? blur->sigma : blur->sigma_vertical;

  return blur->map_mode != CF_MAP_NONE ? fmax(blur->sigma, blur->sigma_min)
                                       : fmin(blur->sigma, down);
}

static bool hides_faces(const CfVideo *video, const CfGaussblurParams *blur,
                        const CfRegions *regions, CfStatus *why)
{
  const double sigma = weakest_sigma(blur);

  for (int i = 0; regions && !regions->outside && i < regions->count; i++) {
    const int side = cf_region_side(video, regions, &regions->region[i]);

    if (cf_region_is_picture(video, regions, &regions->region[i]))
      continue;
    if (blur->sigma_relative > 0.0 && blur->sigma_relative < LEAST_SHARE)
      return cf_fail(why, CF_ERROR_INVALID,
                     "sigma-relative is %g, and a face can be recognised below %g: set "
                     "sigma-relative=%g",
                     blur->sigma_relative, LEAST_SHARE, SAFE_SIGMA);
    if (blur->sigma_relative <= 0.0 && sigma < LEAST_SHARE * side)
      return cf_fail(
          why, CF_ERROR_INVALID,
          "a sigma of %g is less than %g of the shorter side of a region (%d pixels), so a "
          "face can be recognised: set sigma-relative=%g",
          sigma, LEAST_SHARE, side, SAFE_SIGMA);
  }
  return true;
}

static bool hides(const CfVideo *video, const void *values, const CfRegions *regions, CfStatus *why)
{
  const CfGaussblurParams *blur = values;
  const bool mapped = blur->map_mode != CF_MAP_NONE;

  if (blur->sigma_relative > 0.0)
    return !regions || regions->count == 0 ||
           (relative_hides(video, blur, regions, why) && hides_faces(video, blur, regions, why));
  if (blur->sigma >= LEAST_SIGMA || blur->sigma_vertical >= LEAST_SIGMA ||
      (mapped && blur->sigma_min >= LEAST_SIGMA))
    return hides_faces(video, blur, regions, why);
  return cf_fail(
      why, CF_ERROR_INVALID,
      "sigma is %g, and a sigma below %g hides nothing: set sigma-relative=%g, or sigma to "
      "a fifth of the shorter side of the regions",
      blur->sigma, LEAST_SIGMA, SAFE_SIGMA);
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
    .settle = settle,
    .automatic = "sigma-relative",
    .hides = hides,
    .is_identity = is_identity,
    .remarks = remarks,
    .engines = engines,
};
