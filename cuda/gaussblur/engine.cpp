/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The engine of cudagaussblur, which chooses the blur of a frame. One sigma for the whole picture:
 * by taps while they are few (cuda/fir/), else by a pyramid (cuda/pyramid/). A sigma that varies:
 * by the levels of cuda/blurmap/. With regions, the picture is blurred into scratch memory and
 * blended into the destination (cuda/regions/).
 */
#include "cuda/blurmap/engine.cuh"
#include "cuda/fir/engine.cuh"
#include "cuda/pyramid/engine.cuh"
#include "cuda/regions/blend.cuh"

extern "C" {
#include "plan/strips.h"
}

#include <stdlib.h>

namespace cf::gaussblur
{
namespace
{

struct State {
  CfVideo video;
  CfDevice *device; /* borrowed */
  CfBlurField field;
  bool field_changed; /* since the last successful cf_cuda_blur_map_run() */
  const char *algorithm;

  /* One sigma: if `ready`, `pyramid` (if by_pyramid) or `fir` is set up for `uniform`. */
  CfGaussblurParams uniform;
  bool ready;
  bool by_pyramid;
  void *fir;
  pyramid::Engine *pyramid;

  CfCudaBlurMap *map; /* opened by the first params with which sigma may vary; else NULL */
};

bool plan(CfFirPlan *plan, const CfVideo *video, const void *params, CfStatus *status)
{
  return cf_fir_plan_gaussblur(plan, video, (const CfGaussblurParams *)params, status);
}

/* --- one sigma everywhere --- */

bool is_ready_for(const State *state, const CfGaussblurParams *params)
{
  return state->ready && state->uniform.sigma == params->sigma &&
         state->uniform.sigma_vertical == params->sigma_vertical &&
         state->uniform.border == params->border;
}

bool prepare_uniform(State *state, const CfGaussblurParams *params, CfStatus *status)
{
  if (is_ready_for(state, params))
    return true;

  const bool by_pyramid = pyramid::pays(state->pyramid, params);
  const bool good = by_pyramid ? pyramid::update(state->pyramid, params, status)
                               : cf_fir_update(state->fir, params, status);
  if (!good)
    return false;
  state->by_pyramid = by_pyramid;
  state->uniform = *params;
  state->ready = true;
  return true;
}

bool run_uniform(State *state, const CfJob *job, CfStatus *status)
{
  state->algorithm =
      state->by_pyramid ? pyramid::algorithm(state->pyramid) : cf_fir_algorithm(state->fir);
  return state->by_pyramid ? pyramid::run(state->pyramid, job, status)
                           : cf_fir_run(state->fir, job, status);
}

int uniform_halo(const State *state)
{
  return state->by_pyramid ? pyramid::halo(state->pyramid) : cf_fir_halo(state->fir);
}

/* --- sigma that varies --- */

/* Whether sigma may vary in some job; with sigma_relative that depends on the job's regions. */
bool may_vary(const CfBlurField *field)
{
  CfGaussblurParams uniform;

  return field->params.sigma_relative > 0.0 || cf_blur_field_varies(field, nullptr, &uniform);
}

bool prepare_map(State *state, CfStatus *status)
{
  if (!state->map)
    state->map = cf_cuda_blur_map_open(&state->video, state->device, status);
  return state->map != nullptr;
}

bool run_map(State *state, const CfJob *job, CfStatus *status)
{
  if (!cf_cuda_blur_map_run(state->map, &state->field, state->field_changed, job, status))
    return false;
  state->field_changed = false;
  state->algorithm = cf_cuda_blur_map_algorithm(state->map);
  return true;
}

/* Blurs all rows of the job, without blending by regions. */
bool blur(State *state, const CfJob *job, CfStatus *status)
{
  CfGaussblurParams uniform;

  if (cf_blur_field_varies(&state->field, job->regions, &uniform))
    return run_map(state, job, status);
  return prepare_uniform(state, &uniform, status) && run_uniform(state, job, status);
}

/* --- regions --- */

/* Blurs the rows that the regions touch into `blurred`, between even rows because of 4:2:0. */
bool blur_bounds(State *state, const CfJob *job, CfRect bounds, const CfPicture *blurred,
                 CfStatus *status)
{
  CfJob work = *job;

  if (cf_rect_is_empty(bounds))
    return true;
  work.destination = *blurred;
  work.first_row = bounds.y0 / 2 * 2;
  work.rows = (bounds.y1 + 1) / 2 * 2 - work.first_row;
  if (work.first_row + work.rows > state->video.height)
    work.rows = state->video.height - work.first_row;
  return blur(state, &work, status);
}

bool run_regions(State *state, const CfJob *job, CfStatus *status)
{
  const CfRect bounds = cf_coverage_bounds(&state->video, job->regions);
  const CfVideo *const video = &state->video;
  const size_t bytes = cf_strips_lay_out(video, video->height, nullptr, nullptr);

  return cf_with_scratch(state->device, bytes, job->stream, status, [&](uint8_t *memory) {
    CfPicture blurred = {};

    cf_strips_lay_out(video, video->height, memory, &blurred);
    return blur_bounds(state, job, bounds, &blurred, status) &&
           cf_cuda_blend(state->device, video, job->regions, &job->source, &blurred,
                         &job->destination, job->stream, status);
  });
}

/* --- the engine --- */

bool run(void *opaque, const CfJob *job, CfStatus *status)
{
  State *const state = (State *)opaque;

  if (!cf_refuse_capture(job->stream, status))
    return false;
  return job->regions ? run_regions(state, job, status) : blur(state, job, status);
}

bool run_packed(void *opaque, const CfVideo *video, const CfJob *job, bool *done, CfStatus *status)
{
  State *const state = (State *)opaque;
  CfGaussblurParams uniform;

  *done = false;
  if (job->regions || cf_blur_field_varies(&state->field, nullptr, &uniform))
    return true;
  if (!prepare_uniform(state, &uniform, status))
    return false;
  state->algorithm =
      state->by_pyramid ? pyramid::algorithm(state->pyramid) : cf_fir_algorithm(state->fir);
  return state->by_pyramid ? pyramid::run_packed(state->pyramid, video, job, done, status)
                           : cf_fir_run_packed(state->fir, video, job, done, status);
}

bool update(void *opaque, const void *values, CfStatus *status)
{
  State *const state = (State *)opaque;
  CfBlurField next = {};
  CfGaussblurParams uniform;

  cf_blur_field_set(&next, &state->video, (const CfGaussblurParams *)values);
  const bool is_uniform = !cf_blur_field_varies(&next, nullptr, &uniform);
  if ((may_vary(&next) && !prepare_map(state, status)) ||
      (is_uniform && !prepare_uniform(state, &uniform, status))) {
    cf_blur_field_clear(&next);
    return false;
  }
  cf_blur_field_clear(&state->field);
  state->field = next;
  state->field_changed = true;
  return true;
}

void close(void *opaque)
{
  State *const state = (State *)opaque;

  if (!state)
    return;
  cf_fir_close(state->fir);
  pyramid::close(state->pyramid);
  cf_cuda_blur_map_close(state->map);
  cf_blur_field_clear(&state->field);
  free(state);
}

void *open(const CfVideo *video, const void *params, const CfOpenOptions *options, CfStatus *status)
{
  CfGaussblurParams short_taps = {};
  State *const state = (State *)cf_zeroed(sizeof *state, status);

  if (!state)
    return nullptr;
  short_taps.sigma = 1.0;
  short_taps.sigma_vertical = -1.0;
  state->video = *video;
  state->device = options->device;
  state->algorithm = "none";
  state->fir = cf_fir_open(video, &short_taps, options, plan, status);
  state->pyramid = state->fir ? pyramid::open(video, options->device, status) : nullptr;
  if (!state->pyramid || !update(state, params, status)) {
    close(state);
    return nullptr;
  }
  return state;
}

const char *algorithm(const void *opaque)
{
  return ((const State *)opaque)->algorithm;
}

/* Unknown (-1) where sigma may vary: with sigma_relative it depends on the next job's regions. */
int halo(const void *opaque)
{
  const State *const state = (const State *)opaque;

  return may_vary(&state->field) ? -1 : uniform_halo(state);
}

} // namespace
} // namespace cf::gaussblur

extern "C" const CfEngine cf_gaussblur_cuda = {
    "cuda", /* name */
    true,   /* device_memory */
    false,  /* in_place */
    cf::gaussblur::open,
    cf::gaussblur::update,
    cf::gaussblur::run,
    cf::gaussblur::algorithm,
    cf::gaussblur::close,
    true /* regions */,
    cf::gaussblur::halo,
    cf::gaussblur::run_packed,
    true /* regions_in_place */,
};
