/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The engine behind cudagaussblur and cudasepconv: which kernels do a picture.
 */
#include "cuda/fir/types.cuh"
#include "cuda/fir/engine.cuh"

#include <stdlib.h>
#include <string.h>

namespace
{

typedef struct {
  CfVideo video;
  CfDevice *device;
  CfFirPlanner planner;
  CfFirPlan plan;
  CfFirPicture picture;       /* the filtered planes but for pointers and strides */
  int index[CF_MAX_PLANES];   /* of those planes in the job's pictures */
  bool single, plain, tensor; /* single precision suffices; these kernels can do it */
  bool unaligned;             /* the last picture was, which is not for the tensor kernels */
  CfFirSightings sightings;
} State;

CfFirTone describe_tone(const CfFirChannel *channel, CfRole role, double centre, double weight)
{
  CfFirTone tone;

  tone.use = channel->filtered         ? CF_FIR_FILTER
             : role == CF_ROLE_PADDING ? CF_FIR_IGNORE
                                       : CF_FIR_COPY;
  tone.absolute = channel->absolute;
  tone.centre = (float)centre;
  tone.scale = (float)channel->scale;
  tone.bias = (float)channel->bias;
  tone.border = (float)((channel->border - centre) * weight);
  return tone;
}

void describe_plane(const State *state, int p, CfFirWork *work)
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
  work->set = p > 0;
  for (int c = 0; c < layout->channels; c++) {
    const bool weighs = c == work->alpha, weighted = work->alpha >= 0 && !weighs;
    work->tone[c] = describe_tone(
        &plan->channel[c], layout->role[c], weighs ? work->max_code : plan->channel[c].centre,
        weighted ? plan->channel[work->alpha].border / (double)work->max_code : 1.0);
  }
}

void choose_kernels(State *state)
{
  const CfFormatInfo *format = cf_format_info(state->video.format);
  CfFirPicture *picture = &state->picture;

  memset(picture, 0, sizeof *picture);
  picture->sample_bytes = cf_sample_bytes(format);
  state->single = true;
  for (int p = 0; p < format->planes; p++) {
    if (!state->plan.plane[p].filtered)
      continue;
    state->index[picture->planes] = p;
    picture->plan[picture->planes] = &state->plan.plane[p];
    describe_plane(state, p, &picture->plane[picture->planes++]);
    state->single = state->single && state->plan.plane[p].float_suffices;
    picture->has_alpha = picture->has_alpha || cf_alpha_channel(&format->plane[p]) >= 0;
    picture->first_colour =
        format->plane[p].channels == 4 &&
        (format->plane[p].role[0] == CF_ROLE_ALPHA || format->plane[p].role[0] == CF_ROLE_PADDING);
  }
  state->plain = state->single && cf_fir_plain_fits(picture, state->device);
  state->tensor = state->plain && cf_fir_tensor_serves(picture, state->device);
}

typedef struct {
  int first, end;
} Rows;

/* The rows of plane `p` in the job's band. */
Rows band_rows(const State *state, int p, const CfJob *job)
{
  const int shift = cf_format_info(state->video.format)->plane[p].subsampling_y;
  const int height = cf_plane_height(&state->video, p);
  const int end = (job->first_row + job->rows + (1 << shift) - 1) >> shift;

  if (job->rows == 0)
    return {0, height};
  return {job->first_row >> shift, end < height ? end : height};
}

/* Rows above and below its own that a row of the plane reads, or -1 for any. Reflections are never
 * farther away than what they reflect. */
int plane_halo(const CfFirPlan *plan, int p)
{
  const CfTaps *column = &plan->plane[p].column;
  const int after = column->count - 1 - column->anchor;
  const int reach = column->anchor > after ? column->anchor : after;

  return !plan->plane[p].filtered ? 0 : plan->border == CF_BORDER_WRAP && reach > 0 ? -1 : reach;
}

bool copy_planes(const State *state, const CfJob *job, CfStatus *status)
{
  for (int p = 0; p < cf_format_info(state->video.format)->planes; p++) {
    const Rows rows = band_rows(state, p, job);
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

/* Sets the planes' pointers and rows, and whether all allow 16-byte accesses. */
void place_picture(State *state, const CfJob *job)
{
  CfFirPicture *picture = &state->picture;

  state->unaligned = false;
  for (int i = 0; i < picture->planes; i++) {
    CfFirWork *work = &picture->plane[i];
    const int p = state->index[i];
    const Rows rows = band_rows(state, p, job);
    const int halo = plane_halo(&state->plan, p);
    const int above = halo < 0 ? 0 : rows.first - halo;
    const int below = halo < 0 ? work->height : rows.end + halo;

    work->first = rows.first;
    work->end = rows.end;
    work->readable_first = above > 0 ? above : 0;
    work->readable_end = below < work->height ? below : work->height;
    work->source = job->source.data[p];
    work->source_stride = job->source.stride[p];
    work->destination = job->destination.data[p];
    work->destination_stride = job->destination.stride[p];
    work->vector = cf_is_vector_aligned(work->source, work->source_stride) &&
                   cf_is_vector_aligned(work->destination, work->destination_stride);
    state->unaligned = state->unaligned || !work->vector;
  }
}

/* Two numbers that the device writes and the host reads without waiting for it. */
bool allocate_sightings(CfFirSightings *sightings, CfStatus *status)
{
  if (!cf_cuda_ok(cudaHostAlloc((void **)&sightings->words, 2 * sizeof *sightings->words,
                                cudaHostAllocMapped),
                  "allocating page-locked memory", status))
    return false;
  memset(sightings->words, 0, 2 * sizeof *sightings->words);
  return true;
}

} // namespace

bool cf_fir_prepare_kernel(const void *kernel, int bytes, CfStatus *status)
{
  return cf_cuda_ok(
             cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes),
             "preparing the separable filter", status) &&
         cf_cuda_ok(cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout,
                                         cudaSharedmemCarveoutMaxShared),
                    "preparing the separable filter", status);
}

void *cf_fir_open(const CfVideo *video, const void *params, const CfOpenOptions *options,
                  CfFirPlanner planner, CfStatus *status)
{
  State *state = (State *)calloc(1, sizeof *state);

  if (!state) {
    cf_fail(status, CF_ERROR_NO_MEMORY, "out of host memory");
    return nullptr;
  }
  state->video = *video;
  state->device = options->device;
  state->planner = planner;
  if (!allocate_sightings(&state->sightings, status) ||
      !cf_fir_plain_prepare(state->device, status) ||
      !cf_fir_tensor_prepare(state->device, status) || !cf_fir_update(state, params, status)) {
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
  choose_kernels(state);
  return true;
}

bool cf_fir_run(void *opaque, const CfJob *job, CfStatus *status)
{
  State *state = (State *)opaque;

  if (!cf_refuse_capture(job->stream, status))
    return false;
  if (!copy_planes(state, job, status))
    return false;
  if (state->picture.planes == 0)
    return true;
  place_picture(state, job);
  if (state->tensor && !state->unaligned)
    return cf_fir_tensor_run(&state->picture, state->device, &state->sightings, job->stream,
                             status);
  if (state->plain)
    return cf_fir_plain_run(&state->picture, state->device, job->stream, status);
  return cf_fir_long_run(&state->picture, state->device, state->single, job->stream, status);
}

int cf_fir_halo(const void *opaque)
{
  const State *state = (const State *)opaque;
  const CfFormatInfo *format = cf_format_info(state->video.format);
  int halo = 0;

  for (int p = 0; p < format->planes; p++) {
    const int rows = plane_halo(&state->plan, p);

    if (rows < 0)
      return -1;
    if (rows << format->plane[p].subsampling_y > halo)
      halo = rows << format->plane[p].subsampling_y;
  }
  return halo;
}

const char *cf_fir_algorithm(const void *opaque)
{
  const State *state = (const State *)opaque;

  if (state->picture.planes == 0)
    return "copy";
  if (state->tensor && !state->unaligned)
    return "fir-tensor";
  return state->plain ? "fir-float" : state->single ? "fir-two-pass" : "fir-double";
}

void cf_fir_close(void *opaque)
{
  State *state = (State *)opaque;

  if (!state)
    return;
  cudaFreeHost(state->sightings.words);
  cf_fir_plan_free(&state->plan);
  free(state);
}
