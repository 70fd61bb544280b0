/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The peak that `dynamic` follows: measured in the plane of each frame, smoothed over time, started
 * anew after a cut. Compiled into the CPU engine and the CUDA kernels alike.
 */
#pragma once

#include "plan/tonemap_curve.h"

#define CF_TONEMAP_BINS         1024 /* of the histogram of the plane's codes */
#define CF_TONEMAP_CODES_OF_BIN (65536 / CF_TONEMAP_BINS)
#define CF_TONEMAP_CUT_BINS                                                                        \
  32 /* coarse bins of CF_TONEMAP_BINS / CF_TONEMAP_CUT_BINS bins, by                              \
        which cuts are found */

#define CF_TONEMAP_BRIGHTER 10000 /* one sample in this many may be brighter than the peak */
#define CF_TONEMAP_CUT                                                                             \
  0.4f /* at a cut, more than this share of the samples changes coarse                             \
          bins */
#define CF_TONEMAP_RISE                                                                            \
  0.25 /* seconds in which 1 - 1/e of a step up is followed; FALL: of a                            \
          step down */
#define CF_TONEMAP_FALL 1.5

/* State from frame to frame; all zero at first. */
typedef struct {
  bool started; /* some frame has been measured */
  float peak;   /* stops above black */
  float share[CF_TONEMAP_CUT_BINS];
} CfTonemapMemory;

/* The share of a step that one frame follows: 1 - exp (-seconds / RISE), and likewise for FALL. */
typedef struct {
  float rise, fall;
} CfTonemapPace;

/* The highest bin such that at most one sample in BRIGHTER lies above it; `counts` are those of the
 * coarse bins, which are searched first. */
CF_SHARED int cf_tonemap_brightest_bin(const uint32_t *histogram, const uint32_t *counts,
                                       uint32_t samples)
{
  const int width = CF_TONEMAP_BINS / CF_TONEMAP_CUT_BINS;
  uint64_t above = 0;
  int coarse = CF_TONEMAP_CUT_BINS - 1;

  for (; coarse > 0 && (above + counts[coarse]) * CF_TONEMAP_BRIGHTER <= samples; coarse--)
    above += counts[coarse];
  for (int bin = width * coarse + width - 1; bin > 0; bin--) {
    above += histogram[bin];
    if (above * CF_TONEMAP_BRIGHTER > samples)
      return bin;
  }
  return 0;
}

/* Updates `memory` with a frame of `samples` samples, whose coarse bins have `counts`. The frame's
 * own peak is the upper edge of its brightest bin, but at least white. On the first frame and after
 * a cut `memory` takes that peak, otherwise it moves towards it at `pace`. */
CF_SHARED void cf_tonemap_follow(CfTonemapMemory *memory, const CfTonemapParams *params,
                                 const uint32_t *histogram,
                                 const uint32_t counts[CF_TONEMAP_CUT_BINS], uint32_t samples,
                                 CfTonemapPace pace)
{
  const int brightest = cf_tonemap_brightest_bin(histogram, counts, samples);
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
