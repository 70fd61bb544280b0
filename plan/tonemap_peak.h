/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The peak that dynamic=true follows: measured in each frame's plane, smoothed in time, anew after
 * a cut. Compiled into the CPU engine and the CUDA kernels alike.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#ifdef __CUDACC__
#define CF_SHARED __host__ __device__ static inline
#else
#define CF_SHARED static inline
#endif

#define CF_TONEMAP_BINS     1024 /* of the plane's histogram: a bin has 64 codes */
#define CF_TONEMAP_CUT_BINS 32   /* that frames are compared by: a bin has 32 of the others */

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

/* The share of a frame's samples in each of the bins that frames are compared by. */
CF_SHARED float cf_tonemap_cut_share(const uint32_t *histogram, uint32_t samples, int bin)
{
  const int width = CF_TONEMAP_BINS / CF_TONEMAP_CUT_BINS;
  uint32_t count = 0;

  for (int i = 0; i < width; i++)
    count += histogram[bin * width + i];
  return (float)count / (float)samples;
}

/* Takes a frame's peak over: `measured` stops, of which `memory` is the start if it is not started,
 * or if `changed`, the sum of the differences of shares, tells of a cut. */
CF_SHARED void cf_tonemap_follow(CfTonemapMemory *memory, float measured, float changed,
                                 CfTonemapPace pace)
{
  const float step = measured - memory->peak;

  if (!memory->started || 0.5f * changed > CF_TONEMAP_CUT)
    memory->peak = measured;
  else
    memory->peak += (step > 0.0f ? pace.rise : pace.fall) * step;
  memory->started = true;
}
