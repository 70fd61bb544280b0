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

typedef struct {
  CfBlurLevels levels;
  CfMapSigmas sigmas; /* that they are of */
  CfMapTable table;   /* of the host, but for the places of coarse samples */
  int copy;           /* the level that is no blur, or -1 */
  cf::pyramid::Fp32Plane pyramid[CF_BLUR_LEVELS]; /* of the large ones */
} CfMapPlaneState;

struct CfCudaBlurMap {
  CfVideo video;
  CfDevice *device;
  bool wide;
  bool ready;  /* the planes, for `border` */
  bool placed; /* the tables on the device, for this band */
  int first_row, rows;
  int planes, border;
  CfFirPlan plan;
  CfCells *cells;           /* on tensor cores, or NULL */
  bool in_cells;            /* these levels are made there */
  cf::pyramid::Fp32Job job; /* but for its planes */
  CfMapTable *tables;       /* of the device */
  uint4 *tiles;             /* of the device: the levels of each tile */
  bool classified;          /* they hold for the next picture too */
  uint16_t *values;         /* of the device: the file's */
  size_t values_bytes;
  CfMapPlaneState plane[CF_MAX_PLANES];
};

/* Of a plane. */
struct CfMapRows {
  int first, end;
};

CfMapRows cf_map_plane_rows(const CfCudaBlurMap *blur, const CfJob *job, int p);

inline int cf_map_tiles_along(int samples)
{
  return (samples + kMapTile - 1) / kMapTile;
}

/* --- cuda/blurmap/fp32_levels.cu --- */

/* Describes all levels for tiles and pyramids. */
bool cf_map_describe_levels(CfCudaBlurMap *blur, CfStatus *status);

/* Memory: what one group needs at a time, then the coarse samples of all levels of all planes. */
struct CfMapMemory {
  size_t columns, rows; /* bytes of the largest group, and of the largest chunk of its levels */
  size_t coarse;
};

/* Places the pyramids for the rows of a job. */
CfMapMemory cf_map_place_pyramids(CfCudaBlurMap *blur, const CfJob *job);

/* Enqueues making them in `scratch`. */
bool cf_map_make_pyramids(CfCudaBlurMap *blur, const CfMapMemory *memory, uint8_t *scratch,
                          void *stream, CfStatus *status);
