/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * For kernels of blur maps: where the samples of a tile lie among the levels.
 */
#pragma once

#include "cuda/blurmap/map_types.cuh"

namespace cf::blurmap
{

constexpr int kRows =
    kFp32Tile * kFp32Tile / kFp32Threads; /* samples of a thread, one below another */
constexpr int kMaskWords = CF_BLUR_LEVELS / 32;

/* ---- the map ---- */

template <typename Sample>
__device__ inline int code_at(const MapJob &job, const MapPlane &plane, int x, int y, int channel)
{
  const Sample *row = (const Sample *)(plane.source + (ptrdiff_t)y * plane.source_stride);

  return (int)row[(size_t)x * plane.channels + channel] >> job.shift;
}

template <typename Sample>
__device__ inline float picture_map(const MapJob &job, const MapPlane &plane, int x, int y)
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

__device__ inline float region_map(const MapJob &job, const MapPlane &plane,
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
__device__ inline float map_at(const MapJob &job, const MapPlane &plane, const CfTileShapes &shapes,
                               int x, int y)
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
__device__ inline float lod_of(const LevelTable *table, float m)
{
  const float scaled = m * CF_BLUR_TABLE;
  const int entry = (int)scaled;
  const float left = __ldg(&table->lod[entry]), right = __ldg(&table->lod[entry + 1]);

  return left + (scaled - (float)entry) * (right - left);
}

/* The samples of a thread. */
struct ThreadSamples {
  int x0, y0; /* of the tile */
  int x, y;

  __device__ ThreadSamples(const MapPlane &plane, int tile)
  {
    x0 = tile % plane.tiles_x * kFp32Tile;
    y0 = plane.first + tile / plane.tiles_x * kFp32Tile;
    x = x0 + (int)threadIdx.x % kFp32Tile;
    y = y0 + (int)threadIdx.x / kFp32Tile * kRows;
  }
};

__device__ inline const MapPlane &plane_of_block(const MapJob &job)
{
  int p = 0;

  while (p + 1 < job.planes && (int)blockIdx.x >= job.plane[p + 1].first_tile)
    p++;
  return job.plane[p];
}

/* A thread's samples among the levels. */
struct Lods {
  float m[kRows], lod[kRows]; /* -1 outside the plane */
};

template <typename Sample>
__device__ inline void look_up_lods(const MapJob &job, const MapPlane &plane,
                                    const ThreadSamples &samples, CfTileShapes *shapes, Lods *lods)
{
  if (job.mode == CF_MAP_NONE)
    cf_find_shapes(job.list,
                   {samples.x0 << plane.shift_x, samples.y0 << plane.shift_y,
                    (samples.x0 + kFp32Tile) << plane.shift_x,
                    (samples.y0 + kFp32Tile) << plane.shift_y},
                   shapes);
#pragma unroll
  for (int i = 0; i < kRows; i++) {
    lods->m[i] = lods->lod[i] = -1.0f;
    if (samples.x < plane.width && samples.y + i < plane.end) {
      lods->m[i] = map_at<Sample>(job, plane, *shapes, samples.x, samples.y + i);
      lods->lod[i] = lod_of(plane.table, lods->m[i]);
    }
  }
}

__device__ inline bool is_per_sample(const MapPlane &plane, int level)
{
  return plane.per_sample[level / 32] >> level % 32 & 1;
}

} // namespace cf::blurmap
