/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What a blur map keeps between pictures, and its pyramids: levels too large to be filtered in a
 * tile, where they are not made on tensor cores.
 */
#pragma once

#include "cuda/blurmap/engine.cuh"
#include "cuda/blurmap/mip_types.cuh"
#include "cuda/blurmap/fp32_types.cuh"
#include "cuda/pyramid/fp32.cuh"

namespace cf::blurmap
{

typedef struct {
  CfBlurLevels levels;
  CfMapSigmas sigmas;                     /* that they are of */
  LevelTable table;                       /* of the host, but for the lods of coarse samples */
  int copy;                               /* the level that is no blur, or -1 */
  CfPyramidPlane pyramid[CF_BLUR_LEVELS]; /* of the large ones */
} PlaneState;

struct CfCudaBlurMap {
  CfVideo video;
  CfDevice *device;
  bool wide;
  bool ready;  /* the planes, for `border` */
  bool placed; /* the tables on the device, for this band */
  int first_row, rows;
  int planes, border;
  CfFirPlan plan;
  MmaState *texels;     /* on tensor cores, or NULL */
  bool in_cells;      /* these levels are made there */
  CfPyramidJob job;   /* but for its planes */
  LevelTable *tables; /* of the device */
  uint4 *tiles;       /* of the device: the levels of each tile */
  bool classified;    /* they hold for the next picture too */
  uint16_t *values;   /* of the device: the file's */
  size_t values_bytes;
  PlaneState plane[CF_MAX_PLANES];
};

/* Of a plane. */
struct RowRange {
  int first, end;
};

RowRange plane_rows(const CfCudaBlurMap *blur, const CfJob *job, int p);

inline int fp32_tiles_along(int samples)
{
  return (samples + kFp32Tile - 1) / kFp32Tile;
}

/* --- cuda/blurmap/fp32_levels.cu --- */

/* Describes all levels for tiles and pyramids. */
bool fp32_describe_levels(CfCudaBlurMap *blur, CfStatus *status);

/* Memory: what one group needs at a time, then the coarse samples of all levels of all planes. */
struct PyramidMemory {
  size_t columns, rows; /* bytes of the largest group, and of the largest chunk of its levels */
  size_t coarse;
};

/* Lods the pyramids for the rows of a job. */
PyramidMemory fp32_place_pyramids(CfCudaBlurMap *blur, const CfJob *job);

/* Enqueues making them in `scratch`. */
bool fp32_make_pyramids(CfCudaBlurMap *blur, const PyramidMemory *memory, uint8_t *scratch,
                          void *stream, CfStatus *status);

} // namespace cf::blurmap
