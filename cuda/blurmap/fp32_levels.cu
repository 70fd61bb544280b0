/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The levels of a blur map where they are not made on tensor cores: small ones are filtered in
 * tiles, large ones come from pyramids.
 */
#include "cuda/blurmap/state.cuh"

extern "C" {
#include "plan/gaussian.h"
#include "plan/pyramid_factors.h"
}

#include <string.h>

namespace cf::blurmap
{

namespace
{

/* ---- levels ---- */

int lay_out_gaussian(double sigma, float tap[kInTileTaps])
{
  double exact[2 * kInTileRadius + 1];
  const int radius = cf_gaussian_radius(sigma), rounded = round_up(radius, 4);

  cf_gaussian_taps(sigma, radius, exact);
  for (int i = 0; i <= 2 * radius; i++)
    tap[rounded - radius + i] = (float)exact[i];
  return rounded;
}

LevelKind kind_of(const double sigma[2], const CfPyramidFactors factors[2])
{
  if (factors[0].decimation > 1 || factors[1].decimation > 1)
    return kFromPyramid;
  return cf_gaussian_radius(sigma[0]) <= kPerSampleRadius &&
                 cf_gaussian_radius(sigma[1]) <= kPerSampleRadius
             ? kPerSample
             : kInTile;
}

bool describe_level(CfCudaBlurMap *blur, int p, int i, CfStatus *status)
{
  PlaneState *plane = &blur->plane[p];
  Fp32Level *level = &plane->table.level[i];
  const double sigma[2] = {plane->levels.level[i].horizontal, plane->levels.level[i].vertical};
  const CfPyramidFactors factors[2] = {cf_pyramid_level_factors(sigma[0], &pyramid::kFp32Limits),
                                       cf_pyramid_level_factors(sigma[1], &pyramid::kFp32Limits)};

  memset(level, 0, sizeof *level);
  level->sigma_x = (float)sigma[0];
  level->sigma_y = (float)sigma[1];
  level->kind = kind_of(sigma, factors);
  if (level->kind != kFromPyramid) {
    level->radius_x = lay_out_gaussian(sigma[0], level->tap_x);
    level->radius_y = lay_out_gaussian(sigma[1], level->tap_y);
    return true;
  }
  blur->pyramids.planes = 0;
  if (!pyramid::fp32_describe(&blur->pyramids, &blur->video, p, &blur->channels, sigma, factors,
                              status))
    return false;
  plane->pyramid[i] = blur->pyramids.plane[0];
  level->log_x = pyramid::factor_log2(factors[0].decimation);
  level->log_y = pyramid::factor_log2(factors[1].decimation);
  return true;
}

/* ---- the pyramids of large levels ---- */

/* Levels whose columns are decimated alike follow each other. */
struct Group {
  int first, end;
  int fine_first, fine_end; /* rows for all of them */
};

bool next_group(const PlaneState *plane, int from, Group *group)
{
  int i = from;

  while (i < plane->levels.count && plane->table.level[i].kind != kFromPyramid)
    i++;
  if (i == plane->levels.count)
    return false;
  *group = {i, i, plane->pyramid[i].fine_first, plane->pyramid[i].fine_end};
  while (i < plane->levels.count && plane->table.level[i].kind == kFromPyramid &&
         plane->pyramid[i].y.factor == plane->pyramid[group->first].y.factor) {
    const pyramid::Fp32Plane *pyramid = &plane->pyramid[i++];

    if (pyramid->fine_first < group->fine_first)
      group->fine_first = pyramid->fine_first;
    if (pyramid->fine_end > group->fine_end)
      group->fine_end = pyramid->fine_end;
  }
  group->end = i;
  return true;
}

/* All levels of a group as one, as far as their columns go. */
pyramid::Fp32Plane whole_group(const PlaneState *plane, const Group *group)
{
  pyramid::Fp32Plane whole = plane->pyramid[group->first];

  for (int i = group->first; i < group->end; i++) {
    const pyramid::Fp32Plane *level = &plane->pyramid[i];

    whole.x.factor = larger(whole.x.factor, level->x.factor);
    whole.x.taps_count = larger(whole.x.taps_count, level->x.taps_count);
    whole.y.taps_count = larger(whole.y.taps_count, level->y.taps_count);
    whole.need_bits.x |= level->need_bits.x;
    whole.need_bits.y |= level->need_bits.y;
    whole.need_bits.z |= level->need_bits.z;
    whole.need_bits.w |= level->need_bits.w;
  }

  whole.fine_first = group->fine_first;
  whole.fine_end = group->fine_end;
  whole.decimated_y_rows = group->fine_end - group->fine_first;
  return whole;
}

int chunk_end(const Group *group, int first)
{
  return first + CF_MAX_PLANES < group->end ? first + CF_MAX_PLANES : group->end;
}

void count_group(const CfCudaBlurMap *blur, PlaneState *plane, const Group *group,
                 PyramidMemory *memory)
{
  const pyramid::Fp32Plane whole = whole_group(plane, group);
  const size_t columns = pyramid::fp32_decimated_y_bytes(&whole, blur->wide);

  if (columns > memory->columns)
    memory->columns = columns;
  for (int first = group->first; first < group->end; first = chunk_end(group, first)) {
    size_t rows = 0;

    for (int i = first; i < chunk_end(group, first); i++) {
      plane->table.level[i].coarse = memory->coarse / sizeof(float);
      memory->coarse += pyramid::fp32_coarse_bytes(&plane->pyramid[i]);
      rows += pyramid::fp32_coarse_x_bytes(&plane->pyramid[i]);
    }
    if (rows > memory->rows)
      memory->rows = rows;
  }
}

void place_level(Fp32Level *level, const pyramid::Fp32Plane *pyramid)
{
  level->first_x = pyramid->x.coarse_first;
  level->first_y = pyramid->coarse_first;
  level->width = pyramid->x.coarse_end - pyramid->x.coarse_first;
  level->height = pyramid->coarse_end - pyramid->coarse_first;
}

/* With the border wrap, samples have their share in tiles at the other side too. */
void place_need(const CfCudaBlurMap *blur, pyramid::Fp32Plane *pyramid, int level, int first_tile)
{
  const unsigned bit = 1u << level % 32;

  pyramid->need = blur->border == CF_BORDER_WRAP ? nullptr : blur->tile_levels + first_tile;
  pyramid->need_x = fp32_tiles_along(pyramid->width);
  pyramid->need_y = fp32_tiles_along(pyramid->end - pyramid->first);
  pyramid->need_bits = {level / 32 == 0 ? bit : 0, level / 32 == 1 ? bit : 0,
                        level / 32 == 2 ? bit : 0, level / 32 == 3 ? bit : 0};
}

bool make_columns(CfCudaBlurMap *blur, const PlaneState *plane, const Group *group, void *columns,
                  void *stream, CfStatus *status)
{
  pyramid::Fp32Job *job = &blur->pyramids;

  job->planes = 1;
  job->plane[0] = whole_group(plane, group);
  job->plane[0].decimated_y = columns;
  const pyramid::Fp32LaunchPlan plan = pyramid::fp32_plan_launches(job, blur->wide, blur->device);
  return pyramid::fp32_decimate_vertical(job, plan, stream, status);
}

/* Parts small enough to leave some out, and not many more of them than keep the device busy. */
void divide_work(pyramid::Fp32Plane *pyramid, const CfDevice *device)
{
  const int enough = kPartsOfSm * device->info.multiprocessors;
  const int columns = pyramid->x.coarse_end - pyramid->x.coarse_first;
  const int fine = pyramid->fine_end - pyramid->fine_first;
  const int segment = round_up(larger(kLeastSegment, pyramid->x.taps_count), 4);
  const int eights = (pyramid->coarse_end - pyramid->coarse_first) / pyramid::kCoarseFilterRows;

  if (segment < pyramid->segment)
    pyramid->segment = segment;
  pyramid->horizontal_rows =
      clamp(columns / pyramid->segment * fine * pyramid->channels / enough, 1, 16);
  pyramid->coarse_filter_eights =
      clamp(columns / pyramid::kCoarseFilterColumns * eights * pyramid->channels / enough, 1, 8);
}

bool make_chunk(CfCudaBlurMap *blur, const PlaneState *plane, const Group *group, int first,
                int end, void *columns, uint8_t *rows, float *coarse, void *stream,
                CfStatus *status)
{
  pyramid::Fp32Job *job = &blur->pyramids;
  const size_t sample = blur->wide ? sizeof(float) : sizeof(uint16_t);

  job->planes = end - first;
  for (int i = first; i < end; i++) {
    pyramid::Fp32Plane *pyramid = &job->plane[i - first];

    *pyramid = plane->pyramid[i];
    pyramid->decimated_y = (uint8_t *)columns + (size_t)(pyramid->fine_first - group->fine_first) *
                                                    (size_t)pyramid->decimated_y_pitch * sample;
    pyramid->decimated_y_rows = group->fine_end - group->fine_first;
    pyramid->coarse_x = (float *)rows;
    rows += pyramid::fp32_coarse_x_bytes(pyramid);
    pyramid->coarse = coarse + plane->table.level[i].coarse;
    divide_work(pyramid, blur->device);
  }
  const pyramid::Fp32LaunchPlan plan = pyramid::fp32_plan_launches(job, blur->wide, blur->device);
  return pyramid::fp32_decimate_horizontal(job, plan, stream, status) &&
         pyramid::fp32_coarse_filter(job, plan, stream, status);
}

} // namespace

bool fp32_describe_levels(CfCudaBlurMap *blur, CfStatus *status)
{
  static_assert(kFp32Tile == pyramid::kMapTileSize && kMostPyramidFactor == pyramid::kFp32MaxFactor,
                "tiles");
  for (int p = 0; p < blur->planes; p++) {
    const int levels = blur->plane[p].levels.count;

    if (levels > kPerSampleBit)
      return cf_fail(status, CF_ERROR_INVALID, "a blur map of %d levels is too much", levels);
    for (int i = 0; i < levels; i++) {
      if (!describe_level(blur, p, i, status))
        return false;
      const int kind = blur->plane[p].table.level[i].kind;
      blur->frame_plan.per_sample = blur->frame_plan.per_sample || kind == kPerSample;
      blur->frame_plan.pyramids = blur->frame_plan.pyramids || kind == kFromPyramid;
    }
  }
  return true;
}

PyramidMemory fp32_place_pyramids(CfCudaBlurMap *blur, const CfJob *job)
{
  PyramidMemory memory = {};
  int tiles = 0;

  for (int p = 0; p < blur->planes; p++) {
    PlaneState *plane = &blur->plane[p];
    const CfPlaneRows rows = cf_job_plane_rows(&blur->video, p, job);
    const CfPlaneRows all = {0, cf_plane_height(&blur->video, p)};
    Group group;

    for (int i = 0; i < plane->levels.count; i++) {
      if (plane->table.level[i].kind != kFromPyramid)
        continue;
      pyramid::fp32_place_rows(&plane->pyramid[i], rows, all);
      pyramid::fp32_place_picture(&plane->pyramid[i], p, job, blur->wide);
      place_need(blur, &plane->pyramid[i], i, tiles);
      place_level(&plane->table.level[i], &plane->pyramid[i]);
    }
    for (int next = 0; next_group(plane, next, &group); next = group.end)
      count_group(blur, plane, &group, &memory);
    tiles +=
        fp32_tiles_along(cf_plane_width(&blur->video, p)) * fp32_tiles_along(rows.end - rows.first);
  }
  return memory;
}

bool fp32_make_pyramids(CfCudaBlurMap *blur, const PyramidMemory *memory, uint8_t *scratch,
                        void *stream, CfStatus *status)
{
  uint8_t *columns = scratch, *rows = scratch + memory->columns;
  float *coarse = (float *)(rows + memory->rows);

  for (int p = 0; p < blur->planes; p++) {
    const PlaneState *plane = &blur->plane[p];
    Group group;

    for (int next = 0; next_group(plane, next, &group); next = group.end) {
      if (!make_columns(blur, plane, &group, columns, stream, status))
        return false;
      for (int first = group.first; first < group.end; first = chunk_end(&group, first)) {
        if (!make_chunk(blur, plane, &group, first, chunk_end(&group, first), columns, rows, coarse,
                        stream, status))
          return false;
      }
    }
  }
  return true;
}

} // namespace cf::blurmap
