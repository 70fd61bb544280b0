/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "plan/map.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct CfMap {
  atomic_int references;
  int width, height;
  bool constant; /* all values are alike */
  uint16_t *values;
};

/* The slope of a jump: distances that differ at all from map_inner saturate. */
#define JUMP 1e30

/* ---- Images ---- */

static bool all_alike(const uint16_t *values, size_t count)
{
  for (size_t i = 1; i < count; i++) {
    if (values[i] != values[0])
      return false;
  }
  return true;
}

CfMap *cf_map_take(int width, int height, uint16_t *values, CfStatus *status)
{
  CfMap *map = malloc(sizeof *map);

  if (!map) {
    free(values);
    cf_fail(status, CF_ERROR_NO_MEMORY, "no memory for a blur map of %dx%d", width, height);
    return NULL;
  }
  atomic_init(&map->references, 1);
  map->width = width;
  map->height = height;
  map->constant = all_alike(values, (size_t)width * (size_t)height);
  map->values = values;
  return map;
}

CfMap *cf_map_new(int width, int height, const uint16_t *values, CfStatus *status)
{
  const size_t bytes = (size_t)width * (size_t)height * sizeof *values;
  uint16_t *copy = malloc(bytes);

  if (!copy) {
    cf_fail(status, CF_ERROR_NO_MEMORY, "no memory for a blur map of %dx%d", width, height);
    return NULL;
  }
  memcpy(copy, values, bytes);
  return cf_map_take(width, height, copy, status);
}

CfMap *cf_map_ref(const CfMap *map)
{
  CfMap *counted = (CfMap *)map;

  if (counted)
    atomic_fetch_add_explicit(&counted->references, 1, memory_order_relaxed);
  return counted;
}

void cf_map_unref(const CfMap *map)
{
  CfMap *counted = (CfMap *)map;

  if (counted && atomic_fetch_sub_explicit(&counted->references, 1, memory_order_acq_rel) == 1) {
    free(counted->values);
    free(counted);
  }
}

int cf_map_width(const CfMap *map)
{
  return map->width;
}

int cf_map_height(const CfMap *map)
{
  return map->height;
}

const uint16_t *cf_map_values(const CfMap *map)
{
  return map->values;
}

/* ---- Positions ---- */

static void place_file(CfMapShape *shape, const CfVideo *video, const CfGaussblurParams *params,
                       int step_x, int step_y)
{
  if (params->map_mode != CF_MAP_FILE || !params->map)
    return;
  const double per_x = (double)params->map->width / video->width;
  const double per_y = (double)params->map->height / video->height;

  shape->map_width = params->map->width;
  shape->map_height = params->map->height;
  shape->scale_x = (float)(step_x * per_x);
  shape->offset_x = (float)(0.5 * step_x * per_x - 0.5);
  shape->scale_y = (float)(step_y * per_y);
  shape->offset_y = (float)(0.5 * step_y * per_y - 0.5);
}

CfMapShape cf_map_shape(const CfVideo *video, const CfGaussblurParams *params, int p)
{
  const CfPlaneFormat *plane = &cf_format_info(video->format)->plane[p];
  const int step_x = 1 << plane->subsampling_x, step_y = 1 << plane->subsampling_y;
  const double width = video->width, height = video->height, row = video->field ? 2.0 : 1.0;
  const double angle = params->map_angle * (acos(-1.0) / 180.0);
  const double span = params->map_outer - params->map_inner;
  CfMapShape shape = {
      .mode = params->map_mode,
      .invert = params->map_invert ? 1.0f : 0.0f,
      .step_x = (float)(step_x / width),
      .start_x = (float)((0.5 * step_x) / width - params->map_x),
      .step_y = (float)(row * step_y / width),
      .start_y = (float)(row * (0.5 * step_y - params->map_y * height) / width),
      .normal_x = (float)-sin(angle),
      .normal_y = (float)cos(angle),
      .inner = (float)params->map_inner,
      .slope = (float)(span > 0.0 ? fmin(1.0 / span, JUMP) : JUMP),
  };

  place_file(&shape, video, params, step_x, step_y);
  return shape;
}

/* ---- Sigmas ---- */

CfMapSigmas cf_map_sigmas(const CfVideo *video, const CfGaussblurParams *params, int p)
{
  const CfPlaneFormat *plane = &cf_format_info(video->format)->plane[p];
  const double sigma = fabs(params->sigma);
  const double vertical = params->sigma_vertical < 0.0 ? sigma : params->sigma_vertical;
  const bool mapped = params->map_mode != CF_MAP_NONE;

  return (CfMapSigmas){
      .horizontal = {ldexp(mapped ? params->sigma_min : sigma, -plane->subsampling_x),
                     ldexp(sigma, -plane->subsampling_x)},
      .vertical = {ldexp(mapped ? params->sigma_min : vertical, -plane->subsampling_y),
                   ldexp(vertical, -plane->subsampling_y)},
  };
}

/* ---- Pictures as maps ---- */

static void add_role(CfMapMixer *mixer, const CfVideo *video, CfRole role, double share)
{
  const int i = mixer->terms++;
  double offset, scale;

  cf_code_range(video, role, &offset, &scale);
  cf_find_role(cf_format_info(video->format), role, &mixer->term[i].plane, &mixer->term[i].channel);
  mixer->term[i].weight = (float)(share / scale);
  mixer->offset -= (float)(share * offset / scale);
}

CfMapMixer cf_map_mixer(const CfVideo *video, const CfGaussblurParams *params)
{
  const CfFormatInfo *info = cf_format_info(video->format);
  CfMapMixer mixer = {0};

  if (params->map_mode == CF_MAP_ALPHA) {
    if (info->alpha)
      add_role(&mixer, video, CF_ROLE_ALPHA, 1.0);
    else
      mixer.offset = 1.0f;
  } else if (info->rgb) {
    add_role(&mixer, video, CF_ROLE_RED, video->luma_red);
    add_role(&mixer, video, CF_ROLE_GREEN, 1.0 - video->luma_red - video->luma_blue);
    add_role(&mixer, video, CF_ROLE_BLUE, video->luma_blue);
  } else {
    add_role(&mixer, video, CF_ROLE_LUMA, 1.0);
  }
  if (params->map_invert) {
    for (int i = 0; i < mixer.terms; i++)
      mixer.term[i].weight = -mixer.term[i].weight;
    mixer.offset = 1.0f - mixer.offset;
  }
  return mixer;
}

bool cf_map_is_constant(const CfVideo *video, const CfGaussblurParams *params, double *m)
{
  double value = 1.0;

  if (params->map_mode == CF_MAP_FILE) {
    if (!params->map->constant)
      return false;
    value = params->map->values[0] / (double)CF_MAP_ONE;
  } else if (params->map_mode == CF_MAP_ALPHA) {
    if (cf_format_info(video->format)->alpha)
      return false;
  } else if (params->map_mode != CF_MAP_NONE) {
    return false;
  }
  *m = params->map_invert ? 1.0 - value : value;
  return true;
}
