/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Times engines beside a copy of the same frames.
 */
#pragma once

#include "engine.h"
#include "memory.h"
#include "patterns.h"

/* Frames that take turns, so that none is measured in the cache that it just warmed. */
#define CF_BENCH_FRAMES 8

/* Largest number of runs of engines in device memory. */
#define CF_BENCH_MAX_DEVICE_RUNS 500

/* One frame in front of an engine and one behind it. */
typedef struct {
  CfTestPicture *source, *destination;
  CfMirror device_source, device_destination; /* where `memory` is not NULL */
} CfFrame;

/* What engines are measured on, made once for any number of them. */
typedef struct {
  CfVideo video, destination; /* the same, but for an effect that makes other pictures */
  bool converts;              /* there is such a destination */
  CfAlphaFill alpha;
  const CfMemory *memory; /* NULL: engines in host memory only */
  CfFrame frame[CF_BENCH_FRAMES];
} CfFrames;

/* `destination` is NULL where it is as `video`. NULL where the device has no room for them. */
CfFrames *cf_frames_new(const CfVideo *video, const CfVideo *destination, CfAlphaFill alpha,
                        const CfMemory *memory, CfStatus *status);

/* NULL is allowed. */
void cf_frames_free(CfFrames *frames);

typedef struct {
  const CfEngine *engine;
  const CfFrames *frames; /* in device memory too, if the engine works there */
  const void *params;     /* checked */
  int threads;            /* as in CfOpenOptions */
  int runs;               /* 0 = chosen from the time of one */
  bool warm;              /* other work has just run: less time will do */

  /* NULL, or what of the frames is filtered; then in place where the engine can. */
  const CfRegions *regions;
} CfWork;

/* How a filter for `work` is opened. */
CfOpenOptions cf_work_options(const CfWork *work);

/* What the engine gets of frame `number` of an endless series. */
CfJob cf_work_job(const CfWork *work, int number);

typedef struct {
  char algorithm[64];
  int runs;
  double median_ms, min_ms;
  double copy_ms; /* median: one thread's memcpy, or the device's own copy */
  double cpu_ms;  /* least processor time of a run, all threads together; 0 on a device */
} CfTimes;

/* Warms up and measures: engine and copy take turns, each on the frame that was used longest ago.
 * What is copied is a source, over another one where the destination is another picture.
 * Host work is timed by the clock, device work by marks on its stream around every run. */
bool cf_measure(const CfWork *work, CfTimes *times, CfStatus *status);

/* Filters one picture of host memory, through device memory if the engine works there. */
bool cf_filter_once(const CfEngine *engine, const void *params, const CfTestPicture *source,
                    CfTestPicture *destination, CfStatus *status);

/* Milliseconds of a clock that only runs forward. */
double cf_now_ms(void);
