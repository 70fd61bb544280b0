/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What a blur map keeps between pictures, and how its levels are made where tensor cores do not:
 * the small ones in tiles, the large ones from pyramids.
 */
#pragma once

#include "cuda/blurmap/engine.cuh"
#include "cuda/blurmap/map_types.cuh"
#include "cuda/blurmap/mma_types.cuh"
#include "cuda/common/int_math.cuh"
#include "cuda/pyramid/fp32.cuh"

extern "C" {
#include "plan/plane_rows.h"
}

namespace cf::blurmap
{

/* How the frames of a field are made; chosen by its sigmas and the picture's format and size. */
struct FramePlan {
  bool mma;        /* on tensor cores (mma_types.cuh), else in fp32 */
  bool per_sample; /* fp32: some tiles have samples that are their own Gaussians */
  bool pyramids;   /* fp32: some levels are read from pyramids */
  bool still;      /* LODs stay from frame to frame: looked up once */
};

struct PlaneState {
  CfBlurLevels levels;
  CfMapSigmas sigmas;                         /* that the levels are of */
  LevelTable table;                           /* on the host */
  int copy;                                   /* the level that is no blur, or -1 */
  pyramid::Fp32Plane pyramid[CF_BLUR_LEVELS]; /* of levels that are read from one */
};

} // namespace cf::blurmap

struct CfCudaBlurMap {
  CfVideo video;
  CfDevice *device;
  bool wide; /* samples of two bytes */
  int planes;

  bool ready; /* what follows holds for these and the sigmas of the planes */
  int border;
  bool isolates;
  cf::blurmap::FramePlan frame_plan;
  CfFirPlan channels; /* what a blur does to each channel; its taps are not used */
  cf::blurmap::PlaneState plane[CF_MAX_PLANES];
  cf::pyramid::Fp32Job pyramids; /* but for its planes */

  cf::blurmap::MmaState *mma; /* or NULL where it does not serve */

  /* With map_isolate where tensor cores do not serve: blurs planes of 16 bits, of this size
   * (isolate.cuh); NULL before. */
  CfCudaBlurMap *plane16[CF_MAX_PLANES];

  bool placed; /* the tables are on the device, for these rows */
  int first_row, rows;
  bool looked_up; /* the LODs of the last frame hold for the next one too */
  bool maps_read; /* and `maps` */

  /* On the device. */
  cf::blurmap::LevelTable *tables;
  uint4 *tile_levels; /* fp32: bits of each tile's levels */
  uint16_t *values;   /* of the map's file */
  size_t values_bytes;
  uint8_t *maps; /* with map_isolate: MapPlane.map of each plane; NULL before */
};

namespace cf::blurmap
{

inline int fp32_tiles_along(int samples)
{
  return div_up(samples, kFp32Tile);
}

/* --- fp32_levels.cu --- */

/* Describes all levels of all planes, for tiles and pyramids, and completes the frame's plan. */
bool fp32_describe_levels(CfCudaBlurMap *blur, CfStatus *status);

/* Bytes of scratch memory, in this order. */
struct PyramidMemory {
  size_t columns, rows; /* of the largest group, and of the largest chunk of a group's levels */
  size_t coarse;        /* the coarse samples of all levels of all planes */
};

/* Places the pyramids for the rows of a job. */
PyramidMemory fp32_place_pyramids(CfCudaBlurMap *blur, const CfJob *job);

/* Enqueues making them in `scratch`. */
bool fp32_make_pyramids(CfCudaBlurMap *blur, const PyramidMemory *memory, uint8_t *scratch,
                        void *stream, CfStatus *status);

} // namespace cf::blurmap
