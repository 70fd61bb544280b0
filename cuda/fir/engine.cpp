/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Separable filters on the host: describes the planes, chooses the method of each frame, runs it.
 */
#include "cuda/fir/engine.cuh"

#include <stdlib.h>
#include <string.h>

#include "cuda/fir/force.h"
#include "cuda/fir/types.cuh"

extern "C" {
#include "plan/plane_rows.h"
}

namespace cf::fir
{
namespace
{

CfFirForce forced = CF_FIR_CHOOSE; /* for states opened from now on */

typedef struct {
  CfVideo video;
  CfDevice *device; /* the caller's */
  CfFirPlanner planner;
  CfFirPlan plan;
  Picture picture;          /* the filtered planes, without pointers and strides */
  int index[CF_MAX_PLANES]; /* of each filtered plane in the job's pictures */
  bool single, fused, mma;  /* single precision suffices; these kernels support the plan */
  bool vector_aligned;      /* all planes of the last frame were, as kMma needs it */
  CfFirForce force;
  AlphaFeedback feedback;
} State;

/* --- the planes of a plan --- */

/* `weight`: the border colour's alpha, 0 .. 1, by which it is premultiplied. */
ChannelTransform describe_channel(const CfFirChannel *channel, CfRole role, double centre,
                                  double weight)
{
  ChannelTransform transform;

  transform.action = channel->filtered ? kFilter : role == CF_ROLE_PADDING ? kIgnore : kCopy;
  transform.absolute = channel->absolute;
  transform.centre = (float)centre;
  transform.scale = (float)channel->scale;
  transform.bias = (float)channel->bias;
  transform.border = (float)((channel->border - centre) * weight);
  return transform;
}

void describe_plane(const State *state, int p, PlaneWork *work)
{
  const CfFormatInfo *format = cf_format_info(state->video.format);
  const CfPlaneFormat *layout = &format->plane[p];
  const CfFirPlane *plan = &state->plan.plane[p];

  memset(work, 0, sizeof *work);
  work->width = cf_plane_width(&state->video, p);
  work->height = cf_plane_height(&state->video, p);
  work->channels = layout->channels;
  work->border = state->plan.border;
  work->alpha = plan->premultiplied ? cf_alpha_channel(layout) : -1;
  work->shift = format->shift;
  work->max_code = cf_max_code(format);
  work->row_anchor = plan->row.anchor;
  work->column_anchor = plan->column.anchor;
  work->unsharp = plan->unsharp;
  work->amount = plan->amount;
  work->threshold = plan->threshold;
  work->tap_set = p > 0;
  for (int c = 0; c < layout->channels; c++) {
    const bool is_alpha = c == work->alpha, weighted = work->alpha >= 0 && !is_alpha;
    work->transform[c] = describe_channel(
        &plan->channel[c], layout->role[c], is_alpha ? work->max_code : plan->channel[c].centre,
        weighted ? plan->channel[work->alpha].border / (double)work->max_code : 1.0);
  }
}

void describe_picture(State *state)
{
  const CfFormatInfo *format = cf_format_info(state->video.format);
  Picture *picture = &state->picture;

  memset(picture, 0, sizeof *picture);
  picture->sample_bytes = cf_sample_bytes(format);
  state->single = true;
  bool has_unsharp = false;
  for (int p = 0; p < format->planes; p++) {
    if (!state->plan.plane[p].filtered)
      continue;
    state->index[picture->planes] = p;
    picture->plan[picture->planes] = &state->plan.plane[p];
    describe_plane(state, p, &picture->plane[picture->planes++]);
    has_unsharp = has_unsharp || state->plan.plane[p].unsharp;
    state->single = state->single && state->plan.plane[p].float_suffices;
    picture->has_alpha = picture->has_alpha || cf_alpha_channel(&format->plane[p]) >= 0;
    picture->first_colour =
        format->plane[p].channels == 4 &&
        (format->plane[p].role[0] == CF_ROLE_ALPHA || format->plane[p].role[0] == CF_ROLE_PADDING);
  }
  state->fused = state->single && fused_fp32_fits(picture, state->device);
  state->mma = state->fused && !has_unsharp && mma_supports(picture, state->device);
  state->vector_aligned = true;
}

/* --- the method --- */

bool may_use(const State *state, CfFirForce force)
{
  return state->force == CF_FIR_CHOOSE || state->force <= force;
}

/* The fastest method that supports the frame, none faster than the one that tests force. */
Method choose_method(const State *state)
{
  return state->picture.planes == 0                                                ? Method::kNone
         : state->mma && state->vector_aligned && may_use(state, CF_FIR_MMA_ALPHA) ? Method::kMma
         : state->fused && may_use(state, CF_FIR_FUSED_FP32)     ? Method::kFusedFp32
         : state->single && may_use(state, CF_FIR_TWO_PASS_FP32) ? Method::kTwoPassFp32
                                                                 : Method::kTwoPassFp64;
}

/* --- a frame --- */

/* Source rows above and below a result row that it may read; -1: any (wrap). A row that a border
 * mode reflects is never farther away than the row outside that it stands for. */
int plane_halo(const CfFirPlan *plan, int p)
{
  const CfTaps *column = &plan->plane[p].column;
  const int after = column->count - 1 - column->anchor;
  const int reach = column->anchor > after ? column->anchor : after;

  return !plan->plane[p].filtered ? 0 : plan->border == CF_BORDER_WRAP && reach > 0 ? -1 : reach;
}

bool copy_unfiltered_planes(const State *state, const CfJob *job, CfStatus *status)
{
  for (int p = 0; p < cf_format_info(state->video.format)->planes; p++) {
    const CfPlaneRows rows = cf_job_plane_rows(&state->video, p, job);
    const CfPicture *to = &job->destination, *from = &job->source;

    if (!state->plan.plane[p].filtered &&
        !cf_copy_rows(CF_COPY_ON_DEVICE, to->data[p] + rows.first * to->stride[p], to->stride[p],
                      from->data[p] + rows.first * from->stride[p], from->stride[p],
                      cf_row_bytes(&state->video, p), (size_t)(rows.end - rows.first), job->stream,
                      status))
      return false;
  }
  return true;
}

/* Sets the pointers and rows of plane `p`, and whether these allow 16-byte accesses. */
void place_plane(const State *state, PlaneWork *work, int p, const CfJob *job)
{
  const CfPlaneRows rows = cf_job_plane_rows(&state->video, p, job);
  const CfPlaneRows readable =
      cf_job_readable_rows(&state->video, p, job, plane_halo(&state->plan, p));

  work->first = rows.first;
  work->end = rows.end;
  work->readable_first = readable.first;
  work->readable_end = readable.end;
  work->source = job->source.data[p];
  work->source_stride = job->source.stride[p];
  work->destination = job->destination.data[p];
  work->destination_stride = job->destination.stride[p];
  work->vector_aligned = cf_is_vector_aligned(work->source, work->source_stride) &&
                         cf_is_vector_aligned(work->destination, work->destination_stride);
}

void place_picture(State *state, const CfJob *job)
{
  Picture *picture = &state->picture;

  state->vector_aligned = true;
  for (int i = 0; i < picture->planes; i++) {
    place_plane(state, &picture->plane[i], state->index[i], job);
    state->vector_aligned = state->vector_aligned && picture->plane[i].vector_aligned;
  }
}

bool run_frame(State *state, const CfJob *job, CfStatus *status)
{
  const Method method = choose_method(state);

  switch (method) {
  case Method::kNone:
    return true;
  case Method::kMma:
    return mma_run(&state->picture, state->device, &state->feedback, state->force, job->stream,
                   status);
  case Method::kFusedFp32:
    return fused_fp32_run(&state->picture, state->device, job->stream, status);
  default:
    return two_pass_run(&state->picture, state->device, method == Method::kTwoPassFp32, job->stream,
                        status);
  }
}

bool open_feedback(AlphaFeedback *feedback, CfStatus *status)
{
  const size_t bytes = 2 * sizeof *feedback->words;

  feedback->words = (uint32_t *)cf_pinned_alloc(bytes, status);
  if (feedback->words)
    memset(feedback->words, 0, bytes);
  return feedback->words;
}

} // namespace

bool prepare_kernel(const void *kernel, int bytes, CfStatus *status)
{
  return cf_cuda_ok(
             cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes),
             "preparing the separable filter", status) &&
         cf_cuda_ok(cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout,
                                         cudaSharedmemCarveoutMaxShared),
                    "preparing the separable filter", status);
}

} // namespace cf::fir

using namespace cf::fir;

extern "C" void cf_fir_force(CfFirForce force)
{
  forced = force;
}

void *cf_fir_open(const CfVideo *video, const void *params, const CfOpenOptions *options,
                  CfFirPlanner planner, CfStatus *status)
{
  State *state = (State *)cf_zeroed(sizeof *state, status);

  if (!state)
    return nullptr;
  state->video = *video;
  state->device = options->device;
  state->planner = planner;
  state->force = forced;
  if (!open_feedback(&state->feedback, status) || !fused_fp32_prepare(state->device, status) ||
      !mma_prepare(state->device, status) || !cf_fir_update(state, params, status)) {
    cf_fir_close(state);
    return nullptr;
  }
  return state;
}

bool cf_fir_update(void *opaque, const void *params, CfStatus *status)
{
  State *state = (State *)opaque;

  if (!state->planner(&state->plan, &state->video, params, status))
    return false;
  describe_picture(state);
  return true;
}

bool cf_fir_run(void *opaque, const CfJob *job, CfStatus *status)
{
  State *state = (State *)opaque;

  if (!cf_refuse_capture(job->stream, status) || !copy_unfiltered_planes(state, job, status))
    return false;
  place_picture(state, job);
  return run_frame(state, job, status);
}

bool cf_fir_run_packed(void *opaque, const CfVideo *video, const CfJob *job, bool *done,
                       CfStatus *status)
{
  State *state = (State *)opaque;
  Picture picture = state->picture;
  PlaneWork *work = &picture.plane[0];

  *done = false;
  picture.packed = true;
  if (!state->mma || !may_use(state, CF_FIR_MMA_ALPHA) || video->width % 2 != 0 ||
      !mma_supports_packed(&picture, state->device))
    return true;
  place_plane(state, work, 0, job);
  if (!work->vector_aligned)
    return true;
  *done = true;
  work->luma = cf_format_info(video->format)->plane[0].role[0] == CF_ROLE_LUMA ? 0 : 1;
  state->vector_aligned = true;
  return cf_refuse_capture(job->stream, status) &&
         mma_run(&picture, state->device, &state->feedback, state->force, job->stream, status);
}

int cf_fir_halo(const void *opaque)
{
  const State *state = (const State *)opaque;
  int halo[CF_MAX_PLANES];

  for (int p = 0; p < cf_format_info(state->video.format)->planes; p++)
    halo[p] = plane_halo(&state->plan, p);
  return cf_luma_halo(&state->video, halo);
}

const char *cf_fir_algorithm(const void *opaque)
{
  static const char *const names[] = {"copy", "fir-tensor", "fir-float", "fir-two-pass",
                                      "fir-double"};

  return names[(int)choose_method((const State *)opaque)];
}

void cf_fir_close(void *opaque)
{
  State *state = (State *)opaque;

  if (!state)
    return;
  cf_pinned_free(state->feedback.words);
  cf_fir_plan_free(&state->plan);
  free(state);
}
