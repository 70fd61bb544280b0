/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Jobs on packed 4:2:2 pictures, for engines that filter planes: the rows that the engine may read
 * are unpacked into scratch memory, filtered there, in place if the engine can, and packed again.
 */
#include "filter.h"

#include <fenv.h>
#include <stdlib.h>

#include "cpu/common/memory.h"
#include "cpu/common/packed.h"
#include "cpu/common/parallel.h"
#ifdef CF_HAVE_CUDA
#include "cuda/common/packed.h"
#include "device.h"
#endif

struct CfFilter {
  const CfEngine *engine;
  void *state;
  CfVideo video; /* of source and destination */
  bool packed;
  CfVideo planar; /* the same in planes, for which the engine was opened */
  int threads;
  CfDevice *device;
  CfBuffer memory; /* scratch for planes in host memory */
};

/* ---- Arithmetic ---- */

/* Engines, and the threads that they start, compute by C's defaults, also on lanes of vectors that
 * nobody uses. A host that wants other rounding, or a signal where arithmetic fails, gets its own
 * environment back from fesetenv(). */
static void take_default_environment(fenv_t *of_host)
{
  fegetenv(of_host);
  fesetenv(FE_DFL_ENV);
}

/* ---- Planes ---- */

/* Rows in host memory start on cache lines; on the device at multiples of 256 bytes, for fast
 * copies and kernels. */
static size_t row_alignment(const CfFilter *filter)
{
  return filter->engine->device_memory ? 256 : CF_ALIGNMENT;
}

/* Lays out the planes of `rows` in `memory`; returns the number of bytes. The pointers in
 * `picture`, which may be NULL, are those of row 0, as in jobs on bands. */
static size_t lay_out(const CfFilter *filter, CfPlaneRows rows, uint8_t *memory, CfPicture *picture)
{
  const size_t alignment = row_alignment(filter);
  size_t used = 0;

  for (int p = 0; p < cf_format_info(filter->planar.format)->planes; p++) {
    const size_t row = cf_row_bytes(&filter->planar, p);
    const size_t stride = (row + alignment - 1) / alignment * alignment;

    if (picture) {
      picture->data[p] =
          (uint8_t *)((uintptr_t)memory + used - stride * (uintptr_t)(unsigned)rows.first);
      picture->stride[p] = (ptrdiff_t)stride;
    }
    used += stride * (size_t)(rows.end - rows.first);
  }
  return used;
}

static uint8_t *take_memory(CfFilter *filter, size_t bytes, void *stream, CfStatus *status)
{
#ifdef CF_HAVE_CUDA
  if (filter->engine->device_memory)
    return cf_scratch_take(filter->device, bytes, stream, status);
#endif
  return cf_buffer_reserve(&filter->memory, bytes, "planes", status) ? filter->memory.base : NULL;
}

static bool give_memory(CfFilter *filter, uint8_t *memory, void *stream, CfStatus *status)
{
#ifdef CF_HAVE_CUDA
  if (filter->engine->device_memory)
    return cf_scratch_give(filter->device, memory, stream, status);
#endif
  return true;
}

static bool unpack(const CfFilter *filter, const CfJob *job, const CfPicture *planes,
                   CfPlaneRows rows, CfStatus *status)
{
#ifdef CF_HAVE_CUDA
  if (filter->engine->device_memory)
    return cf_cuda_unpack(&filter->video, &job->source, planes, rows, job->stream, status);
#endif
  cf_cpu_unpack(&filter->video, &job->source, planes, rows, filter->threads);
  return true;
}

static bool pack(const CfFilter *filter, const CfJob *job, const CfPicture *planes,
                 CfPlaneRows rows, CfStatus *status)
{
#ifdef CF_HAVE_CUDA
  if (filter->engine->device_memory)
    return cf_cuda_pack(&filter->video, planes, &job->source, &job->destination, rows, job->stream,
                        status);
#endif
  cf_cpu_pack(&filter->video, planes, &job->source, &job->destination, rows, filter->threads);
  return true;
}

/* ---- Jobs ---- */

static bool run_on_planes(CfFilter *filter, const CfJob *job, CfStatus *status)
{
  const CfPlaneRows made = cf_job_plane_rows(&filter->planar, 0, job);
  const CfPlaneRows read = cf_job_readable_rows(&filter->planar, 0, job, cf_filter_halo(filter));
  const bool in_place = filter->engine->in_place;
  const size_t source_bytes = lay_out(filter, read, NULL, NULL);
  const size_t bytes = source_bytes + (in_place ? 0 : lay_out(filter, made, NULL, NULL));
  uint8_t *memory = take_memory(filter, bytes, job->stream, status);
  CfJob planar = *job;
  bool good;

  if (!memory)
    return false;
  lay_out(filter, read, memory, &planar.source);
  if (in_place)
    planar.destination = planar.source;
  else
    lay_out(filter, made, memory + source_bytes, &planar.destination);
  good = unpack(filter, job, &planar.source, read, status) &&
         filter->engine->run(filter->state, &planar, status) &&
         pack(filter, job, &planar.destination, made, status);
  return give_memory(filter, memory, job->stream, good ? status : NULL) && good;
}

static bool run(CfFilter *filter, const CfJob *job, CfStatus *status)
{
  const CfEngine *const engine = filter->engine;
  bool done = false;

  if (!filter->packed)
    return engine->run(filter->state, job, status);
  if (engine->run_packed && !engine->run_packed(filter->state, &filter->video, job, &done, status))
    return false;
  return done || run_on_planes(filter, job, status);
}

bool cf_filter_run(CfFilter *filter, const CfJob *job, CfStatus *status)
{
  fenv_t of_host;
  bool good;

  take_default_environment(&of_host);
  good = run(filter, job, status);
  fesetenv(&of_host);
  return good;
}

int cf_filter_halo(const CfFilter *filter)
{
  return filter->engine->halo ? filter->engine->halo(filter->state) : -1;
}

const char *cf_filter_algorithm(const CfFilter *filter)
{
  return filter->engine->algorithm(filter->state);
}

/* ---- Lifecycle ---- */

CfFilter *cf_filter_open(const CfEngine *engine, const CfVideo *video, const void *params,
                         const CfOpenOptions *options, CfStatus *status)
{
  const bool packed = cf_format_info(video->format)->packed;
  CfFilter *filter = cf_zeroed(sizeof *filter, status);
  fenv_t of_host;

  if (!filter)
    return NULL;
  *filter = (CfFilter){.engine = engine,
                       .video = *video,
                       .packed = packed,
                       .planar = cf_planar_video(video),
                       .threads = cf_thread_count(options->threads),
                       .device = options->device};
  take_default_environment(&of_host);
  filter->state = engine->open(&filter->planar, params, options, status);
  fesetenv(&of_host);
  if (!filter->state) {
    cf_filter_close(filter);
    return NULL;
  }
  return filter;
}

bool cf_filter_update(CfFilter *filter, const void *params, CfStatus *status)
{
  fenv_t of_host;
  bool good;

  take_default_environment(&of_host);
  good = filter->engine->update(filter->state, params, status);
  fesetenv(&of_host);
  return good;
}

void cf_filter_close(CfFilter *filter)
{
  if (!filter)
    return;
  if (filter->state)
    filter->engine->close(filter->state);
  free(filter->memory.base);
  free(filter);
}
