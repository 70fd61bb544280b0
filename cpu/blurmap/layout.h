/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What a blur map on the CPU prepares, and the filter of one tile. Sizes are in pixels of the
 * plane; rows of floats hold interleaved samples.
 */
#pragma once

#include "cpu/blurmap/engine.h"
#include "cpu/common/memory.h"
#include "cpu/fir/line_ops.h"
#include "cpu/pyramid/engine.h"
#include "plan/blurmap_levels.h"

/* Multiples of the steps of cf_cpu_pyramid_tile. */
#define CF_BLUR_TILE_WIDTH  64
#define CF_BLUR_TILE_HEIGHT CF_PYRAMID_TILE_HEIGHT

/* One level of one plane. */
typedef struct {
  CfCpuPyramid *pyramid; /* opened once; used if `large` */
  bool large;            /* read from the pyramid; otherwise filtered in the tile */
  bool owner;            /* its fine samples serve all levels with the same factors */
  CfPyramidFactors x, y;

  /* For levels filtered in the tile. A NULL tap: nothing to filter along that axis. */
  int radius_x, radius_y;
  CfLineTaps row, column;
} CfBlurMapLevel;

typedef struct {
  int p, width, height, channels, bytes;
  CfBlurLevels levels;
  CfBlurMapLevel level[CF_BLUR_LEVELS];
  int radius_x, radius_y; /* the largest radii of levels filtered in tiles */
  CfLineFormat straight, weighted;
  uint8_t border_pixel[8];

  float *position; /* of each pixel among the levels, row by row */
  bool placed;     /* positions are valid for the next picture too */
  CfBuffer tables; /* taps and formats */
} CfBlurPlane;

struct CfCpuBlurMap {
  CfVideo video;
  int threads;
  CfFirPlan plan;
  CfMapSigmas sigmas[CF_MAX_PLANES]; /* that the levels were chosen for */
  int border;
  bool ready;
  CfBlurPlane plane[CF_MAX_PLANES];
  CfBuffer scratch;      /* of all threads */
  size_t scratch_stride; /* bytes per thread */
};

/* The level whose fine samples level `i` reads: of the levels with the same factors one with the
 * largest sigmas along both axes, or else `i` itself. */
int cf_cpu_blurmap_owner(const CfBlurPlane *plane, int i);

/* Prepares levels, tables and scratch for this field; allocates where it needs more than any
 * before. */
bool cf_cpu_blurmap_prepare(CfCpuBlurMap *blur, const CfBlurField *field, const CfRegions *regions,
                            CfStatus *status);

/* Scratch of one thread, while it filters a tile. */
typedef struct {
  float *source; /* the tile, with the halo of the largest small level */
  size_t source_stride;
  float *columns;  /* one row, filtered along columns */
  float *level;    /* the tile, filtered by one level */
  float *position; /* of the tile's samples among the levels */
  float *blend;    /* the blend of all levels */
  size_t stride;   /* of `level`, `position` and `blend`, in floats */
  const void **lines;
} CfBlurScratch;

/* Lays out the scratch of a tile of this plane; with an arena that counts, all but the pointers. */
CfBlurScratch cf_cpu_blurmap_take_scratch(const CfBlurPlane *plane, CfArena *arena);

/* Which levels are used by some samples. */
typedef struct {
  bool used[CF_BLUR_LEVELS];
} CfBlurUsed;

/* Marks the levels that pixels in `rect` lie at or between. */
void cf_cpu_blurmap_note_used(const CfBlurPlane *plane, CfRect rect, CfBlurUsed *used);

/* Writes a tile of at most CF_BLUR_TILE_WIDTH x CF_BLUR_TILE_HEIGHT pixels. The pyramids of the
 * levels that it uses have been computed. Callable from any threads. */
void cf_cpu_blurmap_tile(const CfCpuBlurMap *blur, const CfBlurPlane *plane,
                         const CfLineFormat *format, const CfJob *job, CfRect tile);
