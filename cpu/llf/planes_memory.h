/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What the fast and the sampled filter keep in memory: planes of all levels, and rows a thread.
 */
#pragma once

#include <stdatomic.h>

#include "cpu/llf/planes.h"

/* Rows of the picture that a thread keeps: five for a reduced row, slot = y modulo this. */
#define RING 8

/* A row of the picture; positions have margins. */
typedef struct {
  int y;
  float *code, *intensity, *fraction;
  uint16_t *pair;
} PictureRow;

/* Rows of weights that a thread keeps of a level: two for a pair of rows, slot = y modulo this. */
#define WEIGHTS 2

typedef struct {
  int y;
  float *row;
} WeightRow;

/* What a thread works with. */
typedef struct {
  PictureRow ring[RING];
  float *fraction[2];
  uint16_t *pair[2];
  float *sum[2], *difference[2], *scratch;
  WeightRow weight[CF_LLF_WEIGHTED_LEVELS][WEIGHTS];
} Worker;

struct CfLlfPlanes {
  int threads, groups;
  CfLlfPyramid pyramid; /* at full depth */
  size_t row;           /* samples of a row of the picture with both margins */
  void *memory;
  atomic_int *sides; /* of each border between two tasks */

  /* By level; [0] exists for `difference` alone, and only where there are several groups. */
  int16_t *component[CF_LLF_MAX_IMAGES];
  float *gaussian[CF_LLF_MAX_IMAGES];
  float *difference[CF_LLF_MAX_IMAGES];   /* D_l of plan/llf_plan.h */
  size_t stride[CF_LLF_MAX_IMAGES];       /* pixels */
  float *moments[CF_LLF_WEIGHTED_LEVELS]; /* of level l, a row for two of its own */

  Worker worker[]; /* one for each thread */
};
