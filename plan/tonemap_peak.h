/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The peak that dynamic=true follows: measured in each frame's plane, smoothed in time, anew after
 * a cut. Compiled into the CPU engine and the CUDA kernels alike.
 */
#pragma once

#include "plan/tonemap_curve.h"

#define CF_TONEMAP_BINS         1024 /* of the plane's histogram */
#define CF_TONEMAP_CODES_OF_BIN (65536 / CF_TONEMAP_BINS)
#define CF_TONEMAP_CUT_BINS     32 /* that frames are compared by: each has 32 of the others */

#define CF_TONEMAP_BRIGHTER 10000 /* one sample of so many may be brighter than the peak */
#define CF_TONEMAP_CUT      0.4f  /* share of samples that change bins in a cut */
#define CF_TONEMAP_RISE     0.25  /* seconds in which a step of the peak is followed to 1 - 1/e */
#define CF_TONEMAP_FALL     1.5

/* What is known of the frames before; zeroed at first. */
typedef struct {
  bool started;
  float peak; /* in stops above black */
  float share[CF_TONEMAP_CUT_BINS];
} CfTonemapMemory;

/* How far a frame goes towards its own peak: 1 - exp (-seconds / RISE), and of FALL. */
typedef struct {
  float rise, fall;
} CfTonemapPace;

/* The bin that everything but one sample in BRIGHTER is in or below. */
CF_SHARED int cf_tonemap_brightest_bin(const uint32_t *histogram, uint32_t samples)
{
  uint64_t above = 0;
  int bin = CF_TONEMAP_BINS - 1;

  for (; bin > 0; bin--) {
    above += histogram[bin];
    if (above * CF_TONEMAP_BRIGHTER > samples)
      break;
  }
  return bin;
}

/* Takes over a frame of so many samples, of which the coarse bins have `counts`. Its own peak is
 * the upper edge of its brightest bin, and white at least; `memory` starts with it, also after a
 * cut, and else goes towards it. */
CF_SHARED void cf_tonemap_follow(CfTonemapMemory *memory, const CfTonemapParams *params,
                                 int brightest, const uint32_t counts[CF_TONEMAP_CUT_BINS],
                                 uint32_t samples, CfTonemapPace pace)
{
  const double white = cf_tonemap_log(cf_tonemap_white(params));
  const double edge = (brightest + 1.0) / CF_TONEMAP_BINS * CF_TONEMAP_STOPS;
  const float measured = (float)fmax(edge, white), step = measured - memory->peak;
  float changed = 0.0f;

  for (int i = 0; i < CF_TONEMAP_CUT_BINS; i++) {
    const float share = (float)counts[i] / (float)samples;

    changed += fabsf(share - memory->share[i]);
    memory->share[i] = share;
  }
  if (!memory->started || 0.5f * changed > CF_TONEMAP_CUT)
    memory->peak = measured;
  else
    memory->peak += (step > 0.0f ? pace.rise : pace.fall) * step;
  memory->started = true;
}
