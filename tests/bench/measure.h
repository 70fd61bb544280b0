/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Times one engine beside a copy of the same frames.
 */
#pragma once

#include "engine.h"
#include "patterns.h"

typedef struct {
  const CfEngine *engine;
  const CfVideo *video;
  const CfVideo *destination; /* NULL: as `video` */
  const void *params;         /* checked */
  CfAlphaFill alpha;          /* of the frames */
  int threads;                /* as in CfOpenOptions */
  int runs;                   /* 0 = chosen from the time of one */
} CfWork;

typedef struct {
  char algorithm[64];
  int runs;
  double median_ms, min_ms;
  double copy_ms; /* median: one thread's memcpy, or the device's own copy */
} CfTimes;

/* Frames that take turns, so that none is measured in the cache that it just warmed. */
#define CF_BENCH_FRAMES 8

/* Largest number of runs of engines in device memory. */
#define CF_BENCH_MAX_DEVICE_RUNS 500

/* Warms up and measures: engine and copy take turns, each on the frame that was used longest ago.
 * What is copied is a source. Host work is timed by the clock, device work by marks on its stream
 * around every run. */
bool cf_measure(const CfWork *work, CfTimes *times, CfStatus *status);
