/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What a blur map on the CPU has prepared, and how it makes one tile. Sizes are in samples of the
 * plane, rows of floats in interleaved samples.
 */
#pragma once

#include "cpu/blurmap/engine.h"
#include "cpu/common/memory.h"
#include "cpu/fir/line_ops.h"
#include "cpu/pyramid/engine.h"
#include "plan/blurmap_levels.h"

/* A multiple of what cf_cpu_pyramid_tile wants. */
#define CF_BLUR_TILE_WIDTH  64
#define CF_BLUR_TILE_HEIGHT CF_PYRAMID_TILE_HEIGHT

/* One level of one plane. */
typedef struct {
  CfCpuPyramid *pyramid; /* opened once; used where `large` */
  bool large;            /* read from the pyramid, else filtered in the tile */
  bool owner;            /* its fine samples serve all levels with the same factors */
  CfPyramidFactors x, y;

  /* In the tile. */
  int radius_x, radius_y;
  CfLineTaps row, column;
} CfBlurMapLevel;

typedef struct {
  int p, width, height, channels, bytes;
  CfBlurLevels levels;
  CfBlurMapLevel level[CF_BLUR_LEVELS];
  int radius_x, radius_y; /* the largest of levels filtered in tiles */
  CfLineFormat straight, weighted;
  uint8_t border_pixel[8];

  float *position; /* of each sample among the levels, row by row */
  bool placed;     /* they hold for the next picture too */
  CfBuffer tables; /* taps and formats */
} CfBlurPlane;

struct CfCpuBlurMap {
  CfVideo video;
  int threads;
  CfFirPlan plan;
  CfMapSigmas sigmas[CF_MAX_PLANES]; /* that the levels are of */
  int border;
  bool ready;
  CfBlurPlane plane[CF_MAX_PLANES];
  CfBuffer scratch;      /* of all threads */
  size_t scratch_stride; /* bytes a thread */
};

/* The level whose fine samples level `i` uses: of those with its factors one that has the largest
 * sigmas along both axes; itself where there is none. */
int cf_cpu_blurmap_owner(const CfBlurPlane *plane, int i);

/* Makes levels, tables and scratch ready for this field; allocates where it needs more than any
 * before. */
bool cf_cpu_blurmap_prepare(CfCpuBlurMap *blur, const CfBlurField *field, const CfRegions *regions,
                            CfStatus *status);

/* What a tile needs while it is made; belongs to a thread. */
typedef struct {
  float *source; /* the tile and what the largest small level reaches around it */
  size_t source_stride;
  float *columns;  /* filtered along columns, one row */
  float *level;    /* one level of the tile */
  float *position; /* of its samples among the levels */
  float *blend;    /* the sum of all */
  size_t stride;   /* of the three */
  const void **lines;
} CfBlurScratch;
CfBlurScratch cf_cpu_blurmap_take_scratch(const CfBlurPlane *plane, CfArena *arena);

/* Which levels samples blend. */
typedef struct {
  bool used[CF_BLUR_LEVELS];
} CfBlurUsed;

/* Adds the levels that samples in `rect` lie at or between. */
void cf_cpu_blurmap_note_used(const CfBlurPlane *plane, CfRect rect, CfBlurUsed *used);

/* Makes the samples of a tile, at most CF_BLUR_TILE_WIDTH x CF_BLUR_TILE_HEIGHT, once all levels
 * are made that they use. Callable from any threads. */
void cf_cpu_blurmap_tile(const CfCpuBlurMap *blur, const CfBlurPlane *plane,
                         const CfLineFormat *format, const CfJob *job, CfRect tile);
