/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "measure.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "filter.h"

#define WARM_UP_MS     300.0
#define MEASURED_MS    2000.0 /* what the default number of runs should take */
#define WARM_SHARE     0.3    /* of both, where other work has just run */
#define WARM_DEVICE_MS 30.0   /* the same of a device, which slows down later than processors do */
#define FEWEST_RUNS    3
#define MOST_HOST_RUNS 400
#define DEVICE_RUNS    160
#define HELD_RUNS      8
#define MARKS_A_RUN    3 /* before the engine, between engine and copy, after the copy */

typedef struct {
  const CfWork *work;
  const CfMemory *memory; /* NULL where the engine works in host memory */
  CfFilter *filter;
  int runs;
  double *engine_ms, *copy_ms; /* of each run */
  double cpu_ms;               /* least of a run on the host */
} Bench;

static double clock_ms(clockid_t clock)
{
  struct timespec now;

  clock_gettime(clock, &now);
  return 1e3 * (double)now.tv_sec + 1e-6 * (double)now.tv_nsec;
}

double cf_now_ms(void)
{
  return clock_ms(CLOCK_MONOTONIC);
}

static int ascending(const void *a, const void *b)
{
  const double x = *(const double *)a, y = *(const double *)b;

  return (x > y) - (x < y);
}

/* Sorts the times. */
static double median(double *times, int count)
{
  qsort(times, (size_t)count, sizeof *times, ascending);
  return count % 2 ? times[count / 2] : 0.5 * (times[count / 2 - 1] + times[count / 2]);
}

/* ---- Runs ---- */

static bool run_engine(const Bench *bench, int number, CfStatus *status)
{
  const CfJob job = cf_work_job(bench->work, number);

  return cf_filter_run(bench->filter, &job, status);
}

static void copy_on_host(const CfPicture *to, const CfPicture *from, int plane, size_t row_bytes,
                         int rows)
{
  if (to->stride[plane] == from->stride[plane] && (size_t)to->stride[plane] == row_bytes) {
    memcpy(to->data[plane], from->data[plane], row_bytes * (size_t)rows);
    return;
  }
  for (int y = 0; y < rows; y++)
    memcpy(to->data[plane] + y * to->stride[plane], from->data[plane] + y * from->stride[plane],
           row_bytes);
}

static bool run_copy(const Bench *bench, int number, CfStatus *status)
{
  const CfFrames *frames = bench->work->frames;
  const CfFrame *frame = &frames->frame[(number + CF_BENCH_FRAMES / 2) % CF_BENCH_FRAMES];
  const CfFrame *other = &frames->frame[(number + CF_BENCH_FRAMES / 2 + 1) % CF_BENCH_FRAMES];
  const CfVideo *video = &frames->video;
  const CfPicture *to = frames->converts ? &other->source->planes : &frame->destination->planes;
  const CfPicture *from = &frame->source->planes;

  if (bench->memory) {
    to = frames->converts ? &other->device_source.planes : &frame->device_destination.planes;
    from = &frame->device_source.planes;
  }

  for (int p = 0; p < cf_format_info(video->format)->planes; p++) {
    const size_t row_bytes = cf_row_bytes(video, p);
    const int rows = cf_plane_height(video, p);

    if (!bench->memory)
      copy_on_host(to, from, p, row_bytes, rows);
    else if (!bench->memory->copy(to->data[p], to->stride[p], from->data[p], from->stride[p],
                                  row_bytes, rows))
      return cf_fail(status, CF_ERROR_FAILED, "the device does not copy a frame");
  }
  return true;
}

/* ---- Measurement ---- */

static bool allocate_times(Bench *bench, int runs, CfStatus *status)
{
  bench->runs = runs;
  bench->engine_ms = malloc((size_t)runs * sizeof *bench->engine_ms);
  bench->copy_ms = malloc((size_t)runs * sizeof *bench->copy_ms);
  return (bench->engine_ms && bench->copy_ms) ||
         cf_fail(status, CF_ERROR_NO_MEMORY, "no memory for %d times", runs);
}

static double share(const Bench *bench)
{
  return bench->work->warm ? WARM_SHARE : 1.0;
}

static int sensible_runs(const Bench *bench, double ms_a_run)
{
  const double runs = MEASURED_MS * share(bench) / ms_a_run;

  return runs < FEWEST_RUNS ? FEWEST_RUNS : runs > MOST_HOST_RUNS ? MOST_HOST_RUNS : (int)runs;
}

static bool measure_host(Bench *bench, CfStatus *status)
{
  const double start = cf_now_ms();
  double elapsed = 0.0;
  int warm = 0;

  for (; elapsed < WARM_UP_MS * share(bench); elapsed = cf_now_ms() - start, warm++) {
    if (!run_engine(bench, warm, status) || !run_copy(bench, warm, status))
      return false;
  }
  if (!allocate_times(bench,
                      bench->work->runs ? bench->work->runs : sensible_runs(bench, elapsed / warm),
                      status))
    return false;
  for (int i = 0; i < bench->runs; i++) {
    const double used = clock_ms(CLOCK_PROCESS_CPUTIME_ID), before = cf_now_ms();
    if (!run_engine(bench, i, status))
      return false;
    const double after = cf_now_ms();
    const double cpu_ms = clock_ms(CLOCK_PROCESS_CPUTIME_ID) - used;
    const double before_copy = cf_now_ms();
    run_copy(bench, i, status);
    bench->engine_ms[i] = after - before;
    bench->copy_ms[i] = cf_now_ms() - before_copy;
    bench->cpu_ms = i ? fmin(bench->cpu_ms, cpu_ms) : cpu_ms;
  }
  return true;
}

static bool enqueue_run(const Bench *bench, int number, CfStatus *status)
{
  const int mark = MARKS_A_RUN * number;
  const bool marked = bench->memory->mark(mark) && run_engine(bench, number, status) &&
                      bench->memory->mark(mark + 1) && run_copy(bench, number, status) &&
                      bench->memory->mark(mark + 2);

  return marked || (status->code == CF_OK &&
                    cf_fail(status, CF_ERROR_FAILED, "the device does not take time marks"));
}

/* Enqueues the runs from `first` on while the stream is held: their times are the device's, however
 * long the host takes to launch them. */
static bool enqueue_held_runs(const Bench *bench, int first, CfStatus *status)
{
  const int end = first + HELD_RUNS < bench->runs ? first + HELD_RUNS : bench->runs;
  bool good = true;

  if (!bench->memory->hold())
    return cf_fail(status, CF_ERROR_FAILED, "the device's stream cannot be held");
  for (int i = first; good && i < end; i++)
    good = enqueue_run(bench, i, status);
  bench->memory->release();
  return good;
}

static bool measure_device(Bench *bench, CfStatus *status)
{
  const CfMemory *memory = bench->memory;
  const double start = cf_now_ms();

  if (!allocate_times(bench, bench->work->runs ? bench->work->runs : DEVICE_RUNS, status))
    return false;
  while (cf_now_ms() - start < (bench->work->warm ? WARM_DEVICE_MS : WARM_UP_MS)) {
    for (int i = 0; i < CF_BENCH_FRAMES; i++) {
      if (!run_engine(bench, i, status) || !run_copy(bench, i, status))
        return false;
    }
    if (!memory->synchronize())
      return cf_fail(status, CF_ERROR_FAILED, "work on the device failed");
  }
  for (int first = 0; first < bench->runs; first += HELD_RUNS) {
    if (!enqueue_held_runs(bench, first, status))
      return false;
  }
  if (!memory->synchronize())
    return cf_fail(status, CF_ERROR_FAILED, "work on the device failed");
  for (int i = 0; i < bench->runs; i++) {
    bench->engine_ms[i] = memory->elapsed_ms(MARKS_A_RUN * i, MARKS_A_RUN * i + 1);
    bench->copy_ms[i] = memory->elapsed_ms(MARKS_A_RUN * i + 1, MARKS_A_RUN * i + 2);
  }
  return true;
}

static bool measure_opened(Bench *bench, CfTimes *times, CfStatus *status)
{
  if (!(bench->memory ? measure_device : measure_host)(bench, status))
    return false;
  snprintf(times->algorithm, sizeof times->algorithm, "%s", cf_filter_algorithm(bench->filter));
  times->runs = bench->runs;
  times->median_ms = median(bench->engine_ms, bench->runs);
  times->min_ms = bench->engine_ms[0];
  times->copy_ms = median(bench->copy_ms, bench->runs);
  times->cpu_ms = bench->cpu_ms;
  return true;
}

bool cf_measure(const CfWork *work, CfTimes *times, CfStatus *status)
{
  Bench bench = {.work = work};

  *status = (CfStatus){CF_OK, ""};
  if (work->engine->device_memory)
    bench.memory = work->frames->memory;
  const CfOpenOptions options = cf_work_options(work);

  bench.filter = cf_filter_open(work->engine, &work->frames->video, work->params, &options, status);
  if (!bench.filter)
    return false;

  const bool measured = measure_opened(&bench, times, status);
  if (bench.memory)
    bench.memory->synchronize();
  cf_filter_close(bench.filter);
  free(bench.engine_ms);
  free(bench.copy_ms);
  return measured;
}
