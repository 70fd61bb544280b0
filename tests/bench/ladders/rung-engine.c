/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "rung-engine.h"

#include <stdlib.h>

#include <cuda_runtime_api.h>

#include "cuda/common/host_transfer.h"
#include "lock.h"
#include "memory.h"

static bool complain(CfStatus *status, int error)
{
  return error == cudaSuccess ||
         cf_fail(status, CF_ERROR_FAILED, "%s", cudaGetErrorString((cudaError_t)error));
}

static CfLadderFrame frame_of(const CfVideo *video, const CfJob *job)
{
  return (CfLadderFrame){.source = job->source.data[0],
                         .source_stride = job->source.stride[0],
                         .destination = job->destination.data[0],
                         .destination_stride = job->destination.stride[0],
                         .width = video->width,
                         .height = video->height,
                         .stream = job->stream};
}

/* ---- Rungs ---- */

typedef struct {
  CfVideo video;
  CfRungParams params;
  void *ladder_state;
} RungState;

static void close_rung(void *opaque)
{
  RungState *state = opaque;

  state->params.ladder->close(state->ladder_state);
  free(state);
}

static void *open_rung(const CfVideo *video, const void *params, const CfOpenOptions *options,
                       CfStatus *status)
{
  RungState *state = calloc(1, sizeof *state);

  if (!state) {
    cf_fail(status, CF_ERROR_NO_MEMORY, "no memory for a rung");
    return NULL;
  }
  state->video = *video;
  state->params = *(const CfRungParams *)params;
  if (complain(status,
               state->params.ladder->open(video->width, video->height, &state->ladder_state)))
    return state;
  close_rung(state);
  return NULL;
}

static bool run_rung(void *opaque, const CfJob *job, CfStatus *status)
{
  const RungState *state = opaque;
  const CfLadderFrame frame = frame_of(&state->video, job);

  return complain(status, state->params.rung->run(state->ladder_state, &frame));
}

static const char *rung_name(const void *state)
{
  return ((const RungState *)state)->params.rung->name;
}

static const CfEngine device_rung = {
    .name = "rung",
    .device_memory = true,
    .open = open_rung,
    .run = run_rung,
    .algorithm = rung_name,
    .close = close_rung,
};
static const CfEngine host_rung = {
    .name = "rung",
    .open = open_rung,
    .run = run_rung,
    .algorithm = rung_name,
    .close = close_rung,
};

const CfEngine *cf_rung_engine(const CfLadder *ladder)
{
  return ladder->host_memory ? &host_rung : &device_rung;
}

/* ---- The production kernel on host memory ---- */

typedef struct {
  CfVideo video;
  const CfEngine *engine;
  void *engine_state, *stream;
  CfHostTransfer *transfer;
  CfLocked locked;
} TransferState;

static void close_transfer(void *opaque)
{
  TransferState *state = opaque;

  cf_host_transfer_close(state->transfer);
  if (state->engine_state)
    state->engine->close(state->engine_state);
  cf_locked_clear(&state->locked);
  free(state);
}

static void *open_transfer(const CfVideo *video, const void *opaque, const CfOpenOptions *options,
                           CfStatus *status)
{
  const CfRungParams *params = opaque;
  const CfMemory *memory = cf_device_memory(status);
  TransferState *state = memory ? calloc(1, sizeof *state) : NULL;
  CfStrips strips;

  if (!state)
    return NULL;
  *state = (TransferState){.video = *video,
                           .engine = cf_effect_engine(cf_effect(params->ladder->effect), "cuda"),
                           .stream = memory->stream()};
  const CfOpenOptions on_device = {.device = memory->device()};
  state->engine_state = state->engine->open(video, params->params, &on_device, status);
  state->transfer = state->engine_state ? cf_host_transfer_open(memory->device(), status) : NULL;
  if (state->transfer &&
      cf_strips_plan(&strips, video, NULL, state->engine->halo(state->engine_state), 0, status) &&
      cf_host_transfer_set(state->transfer, &strips, status))
    return state;
  close_transfer(state);
  return NULL;
}

static bool run_strip(void *opaque, const CfJob *job, CfStatus *status)
{
  const TransferState *state = opaque;

  return state->engine->run(state->engine_state, job, status);
}

static bool run_transfer(void *opaque, const CfJob *job, CfStatus *status)
{
  TransferState *state = opaque;
  const CfLadderFrame frame = frame_of(&state->video, job);
  unsigned ticket;

  return complain(status, cf_lock_frame(&state->locked, &frame)) &&
         cf_host_transfer_send(state->transfer, &job->source, &job->destination, run_strip, state,
                               state->stream, &ticket, status) &&
         cf_host_transfer_wait(state->transfer, ticket, status);
}

static const char *transfer_name(const void *state)
{
  return "host transfer";
}

static const CfEngine transfer = {
    .name = "production",
    .open = open_transfer,
    .run = run_transfer,
    .algorithm = transfer_name,
    .close = close_transfer,
};

const CfEngine *cf_production_engine(const CfLadder *ladder)
{
  return ladder->host_memory ? &transfer : cf_effect_engine(cf_effect(ladder->effect), "cuda");
}
