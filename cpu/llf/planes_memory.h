/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What the fast and the sampled filter keep in memory: planes of all levels, and rows per thread.
 */
#pragma once

#include <stdatomic.h>

#include "cpu/llf/planes.h"

/* Rows of the picture that a thread keeps, at y modulo RING; a row of level 1 reads five. */
#define RING 8

/* A row of the picture. `pair` and `fraction` are CfLlfPositions, with margins of two pixels. */
typedef struct {
  int y; /* -1: empty */
  float *code, *intensity, *fraction;
  uint16_t *pair;
} PictureRow;

/* Rows of weights that a thread keeps per level, at y modulo WEIGHTS; a pair of rows reads two. */
#define WEIGHTS 2

typedef struct {
  int y;
  float *row;
} WeightRow;

/* The scratch of one thread. */
typedef struct {
  PictureRow ring[RING]; /* the last rows of the picture */
  float *fraction[2];    /* positions in the tables of weights, of a pair of rows */
  uint16_t *pair[2];     /* likewise */
  float *sum[2], *difference[2], *scratch;           /* pairs of rows; one row */
  WeightRow weight[CF_LLF_WEIGHTED_LEVELS][WEIGHTS]; /* the last rows of weights */
} Worker;

struct CfLlfPlanes {
  int threads, groups;  /* groups: 1, or more than one */
  CfLlfPyramid pyramid; /* at full depth */
  size_t row;           /* samples of a row of the picture, both margins included */
  void *memory;
  atomic_int *sides; /* per border between two tasks: how many of these have ended */

  /* Per level. The picture, [0], has `difference` only, and that only where there may be several
   * groups. */
  int16_t *component[CF_LLF_MAX_IMAGES];
  float *gaussian[CF_LLF_MAX_IMAGES];
  float *difference[CF_LLF_MAX_IMAGES];   /* D_l or E_l of plan/llf_plan.h */
  size_t stride[CF_LLF_MAX_IMAGES];       /* pixels */
  float *moments[CF_LLF_WEIGHTED_LEVELS]; /* of level l: a row for two rows of the level */

  Worker worker[]; /* one per thread */
};
