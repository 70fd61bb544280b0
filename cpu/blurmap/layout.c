/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cpu/blurmap/layout.h"

#include <stdlib.h>
#include <string.h>

#include "cpu/common/memory.h"
#include "cpu/fir/line_tables.h"
#include "cpu/pyramid/rows.h"
#include "plan/gaussian.h"
#include "plan/int_math.h"
#include "plan/pyramid_factors.h"

/* ---- Levels ---- */

#define LARGEST_FACTOR 16

static const CfPyramidLimits limits = {.least_decimation = 1,
                                       .most_decimation = 8,
                                       .most = LARGEST_FACTOR,
                                       .prefilter_sigma = 0.7,
                                       .prefilter_reach = 4.0};

static bool same_factors(const CfBlurMapLevel *a, const CfBlurMapLevel *b)
{
  return a->x.decimation == b->x.decimation && a->x.decimation2 == b->x.decimation2 &&
         a->y.decimation == b->y.decimation && a->y.decimation2 == b->y.decimation2;
}

int cf_cpu_blurmap_owner(const CfBlurPlane *plane, int i)
{
  const CfBlurLevel *sigma = plane->levels.level;
  int owner = i;

  for (int j = 0; j < plane->levels.count; j++) {
    if (plane->level[j].large && same_factors(&plane->level[i], &plane->level[j]) &&
        sigma[j].horizontal >= sigma[owner].horizontal &&
        sigma[j].vertical >= sigma[owner].vertical)
      owner = j;
  }
  return owner;
}

static void choose_levels(CfBlurPlane *plane, const CfMapSigmas *sigmas)
{
  cf_blur_levels(&plane->levels, sigmas);
  plane->radius_x = plane->radius_y = 0;
  for (int i = 0; i < plane->levels.count; i++) {
    CfBlurMapLevel *level = &plane->level[i];
    const CfBlurLevel *sigma = &plane->levels.level[i];

    level->x = cf_pyramid_level_factors(sigma->horizontal, &limits);
    level->y = cf_pyramid_level_factors(sigma->vertical, &limits);
    level->large = level->x.decimation > 1 || level->y.decimation > 1;
    level->radius_x = cf_gaussian_radius(sigma->horizontal);
    level->radius_y = cf_gaussian_radius(sigma->vertical);
    if (!level->large) {
      plane->radius_x = cf_max(plane->radius_x, level->radius_x);
      plane->radius_y = cf_max(plane->radius_y, level->radius_y);
    }
  }
}

static bool prepare_pyramid(CfCpuBlurMap *blur, CfBlurPlane *plane, int i, int owner,
                            CfStatus *status)
{
  CfBlurMapLevel *level = &plane->level[i];
  const CfBlurLevel *sigma = &plane->levels.level[i];

  level->owner = owner == i;
  if (!level->pyramid)
    level->pyramid = cf_cpu_pyramid_open(&blur->video, plane->p, blur->threads, status);
  return level->pyramid &&
         cf_cpu_pyramid_update(level->pyramid, &blur->plan, sigma->horizontal, sigma->vertical,
                               &level->x, &level->y,
                               owner == i ? NULL : plane->level[owner].pyramid, status);
}

/* Owners first, since the other levels are laid out to read their fine samples. */
static bool prepare_pyramids(CfCpuBlurMap *blur, CfBlurPlane *plane, CfStatus *status)
{
  for (int pass = 0; pass < 2; pass++) {
    for (int i = 0; i < plane->levels.count; i++) {
      if (!plane->level[i].large)
        continue;
      const int owner = cf_cpu_blurmap_owner(plane, i);

      if ((owner == i) == (pass == 0) && !prepare_pyramid(blur, plane, i, owner, status))
        return false;
    }
  }
  return true;
}

/* ---- Tables ---- */

static CfLineTaps lay_out_gaussian(double sigma, CfArena *arena)
{
  double tap[2 * 16 + 1];
  const int radius = cf_gaussian_radius(sigma);
  const CfTaps taps = {.count = 2 * radius + 1,
                       .anchor = radius,
                       .tap = tap,
                       .sum = 1.0,
                       .magnitude = radius ? 1.0 + 1e-9 : 1.0};

  cf_gaussian_taps(sigma, radius, tap);
  return cf_line_taps(&cf_lines_float, &taps, arena);
}

static void lay_out_tables(const CfCpuBlurMap *blur, CfBlurPlane *plane, CfArena *arena)
{
  const CfFirPlane *plan = &blur->plan.plane[plane->p];
  const size_t samples = CF_BLUR_TILE_WIDTH * (size_t)plane->channels;

  for (int i = 0; i < plane->levels.count; i++) {
    CfBlurMapLevel *level = &plane->level[i];

    if (level->large)
      continue;
    level->row = lay_out_gaussian(plane->levels.level[i].horizontal, arena);
    level->column = lay_out_gaussian(plane->levels.level[i].vertical, arena);
  }
  plane->straight =
      cf_line_format(&blur->video, plane->p, plan, false, &cf_lines_float, samples, arena);
  if (plan->premultiplied)
    plane->weighted =
        cf_line_format(&blur->video, plane->p, plan, true, &cf_lines_float, samples, arena);
}

static bool prepare_tables(const CfCpuBlurMap *blur, CfBlurPlane *plane, CfStatus *status)
{
  CfArena counted = {0}, placed;

  lay_out_tables(blur, plane, &counted);
  if (!cf_buffer_reserve(&plane->tables, counted.used, "blur levels", status))
    return false;
  placed = (CfArena){.base = plane->tables.base};
  lay_out_tables(blur, plane, &placed);
  return true;
}

/* ---- Scratch of a thread ---- */

CfBlurScratch cf_cpu_blurmap_take_scratch(const CfBlurPlane *plane, CfArena *arena)
{
  const int most = cf_max(plane->radius_x, plane->radius_y);
  CfBlurScratch scratch;

  scratch.source_stride =
      (size_t)cf_round_to_granule((CF_BLUR_TILE_WIDTH + 2 * plane->radius_x) * plane->channels) +
      CF_LINE_GRANULE;
  scratch.stride =
      (size_t)(CF_BLUR_TILE_WIDTH + LARGEST_FACTOR) * (size_t)plane->channels + CF_LINE_GRANULE;
  scratch.source = cf_arena_take(arena, (size_t)(CF_BLUR_TILE_HEIGHT + 2 * plane->radius_y) *
                                            scratch.source_stride * sizeof(float));
  scratch.columns = cf_arena_take(arena, scratch.source_stride * sizeof(float));
  scratch.level = cf_arena_take(arena, (CF_BLUR_TILE_HEIGHT * scratch.stride + CF_LINE_GRANULE) *
                                           sizeof(float));
  scratch.blend = cf_arena_take(arena, CF_BLUR_TILE_HEIGHT * scratch.stride * sizeof(float));
  scratch.position = cf_arena_take(arena, CF_BLUR_TILE_HEIGHT * scratch.stride * sizeof(float));
  scratch.lines = cf_arena_take(arena, (size_t)(2 * most + 1) * sizeof *scratch.lines);
  return scratch;
}

static bool prepare_scratch(CfCpuBlurMap *blur, CfStatus *status)
{
  size_t largest = 0;

  for (int p = 0; p < blur->plan.planes; p++) {
    CfArena counted = {0};

    cf_cpu_blurmap_take_scratch(&blur->plane[p], &counted);
    largest = counted.used > largest ? counted.used : largest;
  }
  blur->scratch_stride = largest;
  return cf_buffer_reserve(&blur->scratch, largest * (size_t)blur->threads, "tiles to blur",
                           status);
}

/* ---- Preparing ---- */

static bool is_ready_for(const CfCpuBlurMap *blur, const CfBlurField *field,
                         const CfRegions *regions)
{
  bool ready = blur->ready && blur->border == field->params.border;

  for (int p = 0; ready && p < blur->plan.planes; p++) {
    const CfMapSigmas sigmas = cf_blur_field_sigmas(field, regions, p);
    ready = memcmp(&sigmas, &blur->sigmas[p], sizeof sigmas) == 0;
  }
  return ready;
}

static bool prepare_plane(CfCpuBlurMap *blur, CfBlurPlane *plane, CfStatus *status)
{
  choose_levels(plane, &blur->sigmas[plane->p]);
  cf_border_pixel(&blur->video, &blur->plan.plane[plane->p], plane->border_pixel);
  plane->placed = false;
  return prepare_pyramids(blur, plane, status) && prepare_tables(blur, plane, status);
}

bool cf_cpu_blurmap_prepare(CfCpuBlurMap *blur, const CfBlurField *field, const CfRegions *regions,
                            CfStatus *status)
{
  if (is_ready_for(blur, field, regions))
    return true;
  blur->ready = false;
  blur->border = field->params.border;
  if (!cf_fir_plan_channels(&blur->plan, &blur->video, (CfBorder)blur->border, status))
    return false;
  for (int p = 0; p < blur->plan.planes; p++) {
    blur->sigmas[p] = cf_blur_field_sigmas(field, regions, p);
    if (!prepare_plane(blur, &blur->plane[p], status))
      return false;
  }
  blur->ready = prepare_scratch(blur, status);
  return blur->ready;
}
