/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The tables with which the same kernels compute the fast and the sampled local Laplacian filter.
 *
 * fast: the basis is sin (w_n i) and cos (w_n i), the weights are b_n cos (w_n g) and -b_n sin (w_n
 * g). sampled: the basis is the curve around each sampled intensity, the weights interpolate
 * linearly between the two samples around g. Both leave out the linear part, (1 + linear) (i - g).
 */
#pragma once

#include "cpu/llf/simd.h"

#define CF_LLF_MAX_GROUPS (CF_LLF_MAX_INTENSITY_LEVELS / 16)

/* Up to 8 or 16 components that are filtered together. */
typedef struct {
  const CfLlfKernels *kernels;
  const float *basis;          /* at the picture's entries, integers in fixed point units */
  const float *picture_weight; /* at the picture's entries */
  const float *weight;         /* at the nodes */
} CfLlfGroup;

/* The tables for one kind of component: luma, or chroma, or red, green and blue. */
typedef struct {
  double offset, scale; /* intensity = (code - offset) / scale, clamped to 0..1 */
  CfLlfLookup lookup;   /* CF_LLF_DIRECT: the picture's entries are codes; CF_LLF_BETWEEN: equal
                           steps of intensity */
  int entries;          /* of the tables for the picture */
  int nodes;            /* of the tables of weights for other levels: equal steps of intensity,
                           0..1 */
  double linear;
  bool keeps_own_terms; /* a picture's pixel counts its own basis; else it counts as 0, since the
                           terms cancel */
  int groups;
  CfLlfGroup group[CF_LLF_MAX_GROUPS];
  float *memory; /* of all tables, owned by the caller */
} CfLlfTables;

/* The number of groups for `params` (fast or sampled). */
int cf_llf_tables_groups(const CfLlfParams *params);

/* The floats of memory that the tables need. `codes` is the number of code values, 0 where codes
 * are no integers or too many for a table. */
size_t cf_llf_tables_size(const CfLlfParams *params, int codes);

/* Fills the tables; `memory`, `offset` and `scale` have been set. */
void cf_llf_tables_fill(CfLlfTables *tables, const CfLlfParams *params, int codes);
