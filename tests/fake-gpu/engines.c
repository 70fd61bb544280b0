/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The cuda rows of the engine tables: the cpu engines on one thread, which take device memory and
 * launch as the real ones do.
 */
#include <stdlib.h>

#include "blockavg.h"
#include "cpu/common/packed.h"
#include "cuda/common/packed.h"
#include "device.h"
#include "fake-cuda.h"
#include "gaussblur.h"
#include "llf.h"
#include "sepconv.h"
#include "tonemap.h"

#define TABLE_BYTES   256
#define SCRATCH_BYTES 1024

typedef struct {
  const CfEngine *cpu;
  void *state;
  CfDevice *device;
  void *table;
} State;

static void close_state(void *opaque)
{
  State *state = opaque;

  if (state->state)
    state->cpu->close(state->state);
  cf_device_free(state->table);
  free(state);
}

static void *open_state(const CfEngine *cpu, const CfVideo *video, const void *params,
                        const CfOpenOptions *options, CfStatus *status)
{
  const CfOpenOptions one_thread = {.threads = 1, .destination = options->destination};
  State *state = calloc(1, sizeof *state);

  state->cpu = cpu;
  state->device = options->device;
  state->table = cf_device_alloc(TABLE_BYTES, status);
  state->state = state->table ? cpu->open(video, params, &one_thread, status) : NULL;
  if (!state->state) {
    close_state(state);
    return NULL;
  }
  return state;
}

/* What was launched before goes by the old params. */
static bool update(void *opaque, const void *params, CfStatus *status)
{
  State *state = opaque;

  fake_cuda_finish();
  return state->cpu->update(state->state, params, status);
}

typedef struct {
  State *state;
  CfJob job;
} Launch;

static void run_now(void *opaque)
{
  const Launch *launch = opaque;
  CfStatus status = {CF_OK, ""};

  fake_cuda_check_memory(launch->job.source.data[0]);
  fake_cuda_check_memory(launch->job.destination.data[0]);
  if (!launch->state->cpu->run(launch->state->state, &launch->job, &status))
    abort();
}

/* Regions are borrowed for the call only, so that it waits. */
static bool launch_job(State *state, const CfJob *job, CfStatus *status)
{
  Launch *launch = malloc(sizeof *launch);

  *launch = (Launch){state, *job};
  if (fake_cuda_launch(run_now, launch, job->stream) != CUDA_SUCCESS) {
    free(launch);
    return cf_fail(status, CF_ERROR_DEVICE_LOST, "launching a kernel: a CUDA error");
  }
  if (job->regions)
    fake_cuda_finish();
  return true;
}

static bool run(void *opaque, const CfJob *job, CfStatus *status)
{
  State *state = opaque;
  void *scratch = cf_scratch_take(state->device, SCRATCH_BYTES, job->stream, status);
  bool good = scratch && launch_job(state, job, status);

  if (scratch && !cf_scratch_give(state->device, scratch, job->stream, good ? status : NULL))
    good = false;
  return good;
}

/* A copy between packed pictures and planes. */
typedef struct {
  CfVideo video;
  CfPicture source, destination, planes;
  CfPlaneRows rows;
} Packed;

static void unpack_now(void *opaque)
{
  const Packed *packed = opaque;

  fake_cuda_check_memory(packed->source.data[0]);
  cf_cpu_unpack(&packed->video, &packed->source, &packed->planes, packed->rows, 1);
}

static void pack_now(void *opaque)
{
  const Packed *packed = opaque;

  fake_cuda_check_memory(packed->source.data[0]);
  fake_cuda_check_memory(packed->destination.data[0]);
  cf_cpu_pack(&packed->video, &packed->planes, &packed->source, &packed->destination, packed->rows,
              1);
}

static bool launch_packed(void (*work)(void *), const Packed *packed, void *stream,
                          CfStatus *status)
{
  Packed *copy = malloc(sizeof *copy);

  *copy = *packed;
  if (fake_cuda_launch(work, copy, stream) == CUDA_SUCCESS)
    return true;
  free(copy);
  return cf_fail(status, CF_ERROR_DEVICE_LOST, "launching a kernel: a CUDA error");
}

bool cf_cuda_unpack(const CfVideo *video, const CfPicture *packed, const CfPicture *planes,
                    CfPlaneRows rows, void *stream, CfStatus *status)
{
  const Packed work = {*video, *packed, *packed, *planes, rows};

  return launch_packed(unpack_now, &work, stream, status);
}

bool cf_cuda_pack(const CfVideo *video, const CfPicture *planes, const CfPicture *source,
                  const CfPicture *destination, CfPlaneRows rows, void *stream, CfStatus *status)
{
  const Packed work = {*video, *source, *destination, *planes, rows};

  return launch_packed(pack_now, &work, stream, status);
}

static const char *algorithm(const void *opaque)
{
  const State *state = opaque;

  return state->cpu->algorithm(state->state);
}

#define ENGINE(effect, works_in_place, knows_regions)                                              \
  static void *open_##effect(const CfVideo *video, const void *params,                             \
                             const CfOpenOptions *options, CfStatus *status)                       \
  {                                                                                                \
    return open_state(&cf_##effect##_cpu, video, params, options, status);                         \
  }                                                                                                \
                                                                                                   \
  const CfEngine cf_##effect##_cuda = {                                                            \
      .name = "cuda",                                                                              \
      .device_memory = true,                                                                       \
      .in_place = works_in_place,                                                                  \
      .open = open_##effect,                                                                       \
      .update = update,                                                                            \
      .run = run,                                                                                  \
      .algorithm = algorithm,                                                                      \
      .close = close_state,                                                                        \
      .regions = knows_regions,                                                                    \
      .regions_in_place = knows_regions,                                                           \
  };

ENGINE(blockavg, true, true)
ENGINE(gaussblur, false, true)
ENGINE(llf, false, false)
ENGINE(sepconv, false, false)
ENGINE(tonemap, false, false)
