/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The fast and the sampled filter, row by row: the steps that planes.c shares out among threads.
 * Each call works with the scratch of the calling thread.
 */
#pragma once

#include "cpu/llf/planes_memory.h"

/* The image and the group that are being filtered. */
typedef struct {
  CfLlfPlanes *planes;
  const CfLlfTables *tables;
  const CfLlfPyramid *pyramid;
  const CfLlfWeights *weights;
  const CfLlfImage *image;
  const CfLlfGroup *group;
  bool first_group, last_group;
} Run;

/* The calling thread's scratch, without rows of the picture or of weights. Once per task: rows that
 * the thread kept may be those of another image. */
Worker *cf_llf_start_worker(const Run *run);

/* ---- Down: the pyramids ---- */

/* Computes rows from..to - 1 of level 1, from the picture. */
void cf_llf_analyse_rows(const Run *run, Worker *worker, int from, int to);

/* Computes row `y` of `level` >= 2, from the level below. */
void cf_llf_reduce_row(const Run *run, Worker *worker, int level, int y);

/* ---- Up: the collapse ---- */

/* Sets row `y` of the differences of the top level. */
void cf_llf_start_difference(const Run *run, int y);

/* Adds the group's sums to the differences of rows 2 pair and 2 pair + 1 of `level` and, with the
 * last group, completes these rows; those of level 0 are stored. */
void cf_llf_finish_pair(const Run *run, Worker *worker, int level, int pair);
