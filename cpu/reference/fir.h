/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The definition of plan/fir.h computed literally: scalar, double precision, one plane at a time.
 */
#pragma once

#include "plan/fir.h"

/* Belongs to one caller at a time. */
typedef struct {
  CfVideo video;
  CfFirPlan plan;  /* empty until the owner fills it */
  double *samples; /* one plane, row by row, interleaved: what is to be filtered */
  double *rows;    /* the same after the row filter */
} CfReferenceFir;

/* NULL without memory for the largest plane; freed by cf_reference_fir_close. */
CfReferenceFir *cf_reference_fir_open(const CfVideo *video, CfStatus *status);

/* Says which taps filter sample (x, y) of plane `p`; they are valid until the next call. */
typedef struct {
  void (*at)(void *context, int p, int x, int y, CfTaps *row, CfTaps *column);

  /* How much each sample of a plane counts, row by row; the sums are divided by what their weights
   * add up to, and samples around which nothing counts are copied. Called before a plane; NULL, or
   * a result of NULL: all count alike. */
  const float *(*weights)(void *context, int p);
  void *context;
} CfReferenceTaps;

/* Filters each sample with taps of its own; the plan still tells what happens to the channels. The
 * sum runs over both directions at once. Samples whose taps hand them on are copied. */
void cf_reference_fir_gather(CfReferenceFir *fir, const CfJob *job, const CfReferenceTaps *taps);

/* The run, algorithm and close of engines whose state is a CfReferenceFir. */
bool cf_reference_fir_run(void *state, const CfJob *job, CfStatus *status);
const char *cf_reference_fir_algorithm(const void *state);
void cf_reference_fir_close(void *state);
