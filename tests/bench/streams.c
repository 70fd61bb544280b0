/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "streams.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "filter.h"
#ifdef CF_HAVE_CUDA
#include "device.h"
#endif

#define WARM_UP_MS  200.0
#define MEASURED_MS 500.0

/* Frames of a stream that may be under way on a device. */
#define UNDER_WAY 4

typedef struct {
  const CfWork *work;
  atomic_int phase; /* Phase */
} Common;

enum { WARMING, MEASURING, DONE };

typedef struct {
  Common *common;
  int number;
  pthread_t thread;
  CfFilter *filter;
  void *stream;
  CfTestPicture *destination; /* in host memory, and of device memory the model */
  CfMirror device_destination;
  long frames; /* while measuring */
  CfStatus status;
} Stream;

static bool synchronize(const Stream *stream, CfStatus *status)
{
#ifdef CF_HAVE_CUDA
  if (stream->stream)
    return cf_stream_synchronize(stream->stream, status);
#endif
  return true;
}

static bool run(Stream *stream)
{
  const bool device = stream->common->work->engine->device_memory;
  CfStatus *status = &stream->status;

#ifdef CF_HAVE_CUDA
  if (device && !cf_device_use_primary(0, status))
    return false;
#endif
  for (int i = stream->number;; i++) {
    CfJob job = cf_work_job(stream->common->work, i);
    const int phase = atomic_load(&stream->common->phase);

    if (phase == DONE)
      return synchronize(stream, status);
    job.destination = device ? stream->device_destination.planes : stream->destination->planes;
    job.stream = stream->stream;
    if (!cf_filter_run(stream->filter, &job, status) ||
        (i % UNDER_WAY == 0 && !synchronize(stream, status)))
      return false;
    stream->frames += phase == MEASURING;
  }
}

static void *run_thread(void *opaque)
{
  run(opaque);
  return NULL;
}

static bool open_stream(Stream *stream, Common *common, int number, CfStatus *status)
{
  const CfWork *work = common->work;
  const bool device = work->engine->device_memory;
  const CfMemory *memory = work->frames->memory;
  const CfOpenOptions options = {.threads = work->threads,
                                 .device = device ? memory->device() : NULL};

  *stream = (Stream){.common = common, .number = number};
  stream->filter =
      cf_filter_open(work->engine, &work->frames->video, work->params, &options, status);
  stream->destination = cf_picture_new(&work->frames->video, CF_LAYOUT_ALIGNED);
#ifdef CF_HAVE_CUDA
  if (stream->filter && device) {
    stream->stream = cf_stream_create(status);
    if (!stream->stream ||
        !cf_mirror_init(&stream->device_destination, memory, stream->destination))
      return cf_fail(status, CF_ERROR_NO_MEMORY, "no memory for stream %d", number + 1);
  }
#endif
  return stream->filter;
}

static void close_stream(Stream *stream, bool device)
{
  cf_filter_close(stream->filter);
  if (device && stream->stream)
    cf_mirror_free(&stream->device_destination);
#ifdef CF_HAVE_CUDA
  cf_stream_destroy(stream->stream);
#endif
  cf_picture_free(stream->destination);
}

static void sleep_ms(double milliseconds)
{
  const double end = cf_now_ms() + milliseconds;

  while (cf_now_ms() < end)
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

/* Starts all, waits, and adds up what they made. */
static bool run_all(Stream *streams, int count, Common *common, CfRate *rate, CfStatus *status)
{
  long frames = 0;
  int started = 0;

  while (started < count &&
         pthread_create(&streams[started].thread, NULL, run_thread, &streams[started]) == 0)
    started++;
  sleep_ms(WARM_UP_MS);
  const double start = cf_now_ms();
  atomic_store(&common->phase, MEASURING);
  sleep_ms(MEASURED_MS);
  atomic_store(&common->phase, DONE);
  for (int i = 0; i < started; i++) {
    pthread_join(streams[i].thread, NULL);
    frames += streams[i].frames;
    if (streams[i].status.code != CF_OK)
      *status = streams[i].status;
  }
  rate->frames_per_second = 1e3 * (double)frames / (cf_now_ms() - start);
  if (started < count)
    return cf_fail(status, CF_ERROR_FAILED, "only %d threads can be started", started);
  return status->code == CF_OK;
}

bool cf_measure_streams(const CfWork *work, int count, CfRate *rate, CfStatus *status)
{
  Stream *streams = calloc((size_t)count, sizeof *streams);
  Common common = {.work = work};
  bool good = streams;
  int opened = 0;

  *status = (CfStatus){CF_OK, ""};
  for (; good && opened < count; opened++)
    good = open_stream(&streams[opened], &common, opened, status);
  good = good && run_all(streams, count, &common, rate, status);
  if (good)
    snprintf(rate->algorithm, sizeof rate->algorithm, "%s", cf_filter_algorithm(streams[0].filter));
  for (int i = 0; i < opened; i++)
    close_stream(&streams[i], work->engine->device_memory);
  free(streams);
  return good;
}
