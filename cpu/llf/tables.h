/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The tables that make the fast and the sampled local Laplacian filter out of the same kernels.
 *
 * fast: the basis is sin (w_n i) and cos (w_n i), the weights b_n cos (w_n g) and -b_n sin (w_n g).
 * sampled: the basis is the curve about each sampled intensity, the weights interpolate linearly
 * between the two samples around g. In both, the basis leaves out (1 + linear) (i - g).
 */
#pragma once

#include "cpu/llf/simd.h"

#define CF_LLF_MAX_GROUPS (CF_LLF_MAX_INTENSITY_LEVELS / 16)

/* Up to 8 or 16 components that are filtered in one go. */
typedef struct {
  const CfLlfKernels *kernels;
  const float *basis;          /* at the picture's entries, in whole fixed point units */
  const float *picture_weight; /* at the picture's entries */
  const float *weight;         /* at the nodes */
} CfLlfGroup;

/* For one kind of component: all codes of luma, or of chroma, or of red, green and blue. */
typedef struct {
  double offset, scale; /* intensity = (code - offset) / scale, clamped to 0..1 */
  CfLlfLookup lookup;   /* DIRECT: the picture's entries are codes; BETWEEN: equal steps of 0..1 */
  int entries;          /* of the picture's tables */
  int nodes;            /* of the weights at other levels: equal steps of intensity, 0..1 */
  double linear;
  bool keeps_own_terms; /* of the picture's pixels, which else count as 0 */
  int groups;
  CfLlfGroup group[CF_LLF_MAX_GROUPS];
  float *memory; /* of all tables: the caller's */
} CfLlfTables;

/* The groups that `params` (fast or sampled) need. */
int cf_llf_tables_groups(const CfLlfParams *params);

/* The floats of memory that the tables need for `params` with `codes` code values, or with codes =
 * 0 where codes are not whole numbers or too many for a table. */
size_t cf_llf_tables_size(const CfLlfParams *params, int codes);

/* Fills the tables, whose `memory`, `offset` and `scale` are set. */
void cf_llf_tables_fill(CfLlfTables *tables, const CfLlfParams *params, int codes);
