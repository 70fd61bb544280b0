/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * For kernels of blur maps: where the samples of a tile lie among the levels.
 */
#pragma once

#include "cuda/blurmap/fp32_types.cuh"

namespace
{

constexpr int kRows =
    kMapTile * kMapTile / kMapThreads; /* samples of a thread, one below another */
constexpr int kMaskWords = CF_BLUR_LEVELS / 32;

/* ---- the map ---- */

template <typename Sample>
__device__ inline int code_at(const CfMapJob &job, const CfMapPlane &plane, int x, int y,
                              int channel)
{
  const Sample *row = (const Sample *)(plane.source + (ptrdiff_t)y * plane.source_stride);

  return (int)row[(size_t)x * plane.channels + channel] >> job.shift;
}

template <typename Sample>
__device__ inline float picture_map(const CfMapJob &job, const CfMapPlane &plane, int x, int y)
{
  const int x1 = min((x + 1) << plane.shift_x, job.luma_width), x0 = x << plane.shift_x;
  const int y1 = min((y + 1) << plane.shift_y, job.luma_height), y0 = y << plane.shift_y;
  const float share = 1.0f / (float)((x1 - x0) * (y1 - y0));
  float m = job.mixer.offset;

  for (int i = 0; i < job.mixer.terms; i++) {
    int sum = 0;
    for (int v = y0; v < y1; v++) {
      for (int u = x0; u < x1; u++)
        sum += code_at<Sample>(job, job.of_mixer[i], u, v, job.mixer.term[i].channel);
    }
    m += job.mixer.term[i].weight * (float)sum * share;
  }
  return fminf(fmaxf(m, 0.0f), 1.0f);
}

__device__ inline float region_map(const CfMapJob &job, const CfMapPlane &plane,
                                   const CfTileShapes &shapes, int x, int y)
{
  const CfCovered covered =
      cf_sample_coverage(job.list, shapes, x, y, plane.shift_x, plane.shift_y);

  if (covered.coverage <= 0)
    return 0.0f;
  const int side = cf_shape_at(job.list, covered.owner).side;
  return fminf(fminf(job.relative * (float)side, 250.0f) / job.largest, 1.0f);
}

template <typename Sample>
__device__ inline float map_at(const CfMapJob &job, const CfMapPlane &plane,
                               const CfTileShapes &shapes, int x, int y)
{
  switch (job.mode) {
  case CF_MAP_FILE:
    return cf_map_bilinear(&plane.shape, job.values, x, y);
  case CF_MAP_RADIAL:
  case CF_MAP_LINEAR:
    return cf_map_analytic(&plane.shape, x, y);
  case CF_MAP_NONE:
    return region_map(job, plane, shapes, x, y);
  default:
    return picture_map<Sample>(job, plane, x, y);
  }
}

/* As cf_blur_positions. */
__device__ inline float position_of(const CfMapTable *table, float m)
{
  const float scaled = m * CF_BLUR_TABLE;
  const int entry = (int)scaled;
  const float left = __ldg(&table->position[entry]), right = __ldg(&table->position[entry + 1]);

  return left + (scaled - (float)entry) * (right - left);
}

/* The samples of a thread. */
struct Spot {
  int x0, y0; /* of the tile */
  int x, y;

  __device__ Spot(const CfMapPlane &plane, int tile)
  {
    x0 = tile % plane.tiles_x * kMapTile;
    y0 = plane.first + tile / plane.tiles_x * kMapTile;
    x = x0 + (int)threadIdx.x % kMapTile;
    y = y0 + (int)threadIdx.x / kMapTile * kRows;
  }
};

__device__ inline const CfMapPlane &plane_of_block(const CfMapJob &job)
{
  int p = 0;

  while (p + 1 < job.planes && (int)blockIdx.x >= job.plane[p + 1].first_tile)
    p++;
  return job.plane[p];
}

/* A thread's samples among the levels. */
struct Places {
  float m[kRows], position[kRows]; /* -1 outside the plane */
};

template <typename Sample>
__device__ inline void find_places(const CfMapJob &job, const CfMapPlane &plane, const Spot &spot,
                                   CfTileShapes *shapes, Places *places)
{
  if (job.mode == CF_MAP_NONE)
    cf_find_shapes(job.list,
                   {spot.x0 << plane.shift_x, spot.y0 << plane.shift_y,
                    (spot.x0 + kMapTile) << plane.shift_x, (spot.y0 + kMapTile) << plane.shift_y},
                   shapes);
#pragma unroll
  for (int i = 0; i < kRows; i++) {
    places->m[i] = places->position[i] = -1.0f;
    if (spot.x < plane.width && spot.y + i < plane.end) {
      places->m[i] = map_at<Sample>(job, plane, *shapes, spot.x, spot.y + i);
      places->position[i] = position_of(plane.table, places->m[i]);
    }
  }
}

__device__ inline bool is_direct(const CfMapPlane &plane, int level)
{
  return plane.direct[level / 32] >> level % 32 & 1;
}

} // namespace
