/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The definition of plan/fir.h, computed literally: scalar, in double precision, one plane at a
 * time.
 */
#pragma once

#include "plan/fir.h"

/* Used by one caller at a time. */
typedef struct {
  CfVideo video;   /* that it was opened for */
  CfFirPlan plan;  /* empty until the owner fills it */
  double *samples; /* of one plane, row by row, channels interleaved: what the sums run over */
  double *rows;    /* the same, filtered along rows */
} CfReferenceFir;

/* NULL when out of memory, with CF_ERROR_NO_MEMORY. Closed by cf_reference_fir_close. */
CfReferenceFir *cf_reference_fir_open(const CfVideo *video, CfStatus *status);

/* A callback for the taps of sample (x, y) of plane `p`; the taps are valid until the next call. */
typedef struct {
  void (*at)(void *context, int p, int x, int y, CfTaps *row, CfTaps *column);

  /* A weight for each sample of plane `p`, row by row. Sums are divided by the sum of their
   * weights; samples all of whose weights are 0 are copied. Called before each plane. NULL, or a
   * result of NULL: all weights are 1. */
  const float *(*weights)(void *context, int p);
  void *context;
} CfReferenceTaps;

/* Filters each sample with taps of its own, in one sum over both directions; the plan gives the
 * channels. Samples whose taps are the identity are copied. */
void cf_reference_fir_gather(CfReferenceFir *fir, const CfJob *job, const CfReferenceTaps *taps);

/* CfEngine's run, algorithm and close, for engines whose state is a CfReferenceFir. */
bool cf_reference_fir_run(void *state, const CfJob *job, CfStatus *status);
const char *cf_reference_fir_algorithm(const void *state);
void cf_reference_fir_close(void *state);
