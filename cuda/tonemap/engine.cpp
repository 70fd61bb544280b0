/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The CUDA engine of cudatonemap: its own kernels before and after the local Laplacian filter of
 * cuda/llf/.
 */
#include "cuda/llf/plane.h"
#include "cuda/tonemap/types.cuh"

#include <stdlib.h>

namespace cf::tonemap
{
namespace
{

struct State {
  CfVideo video, destination;
  CfDevice *device;
  CfTonemapParams params;
  Source source;  /* without pointers and strides */
  Destination to; /* without pointers and strides */
  Tones tones;
  void *filter;        /* state of cf_llf_cuda */
  Tables *tables;      /* device memory */
  Peak *peak;          /* device memory, behind `tables` */
  bool tones_are_made; /* of a set peak: the tables are those of `params` */
  bool restarts_peak;  /* the next measured peak starts afresh */
};

/* --- the kernels' parameters that do not depend on a frame --- */

const CfPlaneFormat *chroma_of(const CfVideo &video)
{
  return &cf_format_info(video.format)->plane[1];
}

void describe_source(State *state)
{
  const CfFormatInfo *const format = cf_format_info(state->video.format);
  const CfTonemapCodes codes = cf_tonemap_codes(&state->video);
  const double unit = 1 << format->shift, chroma = 1.0 / (codes.chroma_scale * unit);
  Source *const source = &state->source;

  source->width = state->video.width;
  source->height = state->video.height;
  source->pairs = chroma_of(state->video)->channels == 2;
  source->halved = chroma_of(state->video)->subsampling_x;
  source->halved_rows = chroma_of(state->video)->subsampling_y;
  source->hlg = state->video.transfer == CF_TRANSFER_HLG;
  source->significant = (0xffffu << format->shift & 0xffffu) * 0x10001u;
  source->whole_bits = kWholeBits;
  source->luma_offset = (float)(kWhole + codes.luma_offset * unit);
  source->luma_gain = (float)(1.0 / (codes.luma_scale * unit));
  source->chroma_centre = (float)(kWhole + codes.chroma_centre * unit);
  source->red_from = (float)(codes.red_from * chroma);
  source->blue_from = (float)(codes.blue_from * chroma);
  source->green_from_blue = (float)(codes.green_from_blue * chroma);
  source->green_from_red = (float)(codes.green_from_red * chroma);
}

Kind kind_of(const CfFormatInfo *format)
{
  return format->rgb ? Kind::kRgb : format->bits > 8 ? Kind::kYuv16 : Kind::kYuv8;
}

void describe_destination(State *state)
{
  const CfFormatInfo *const format = cf_format_info(state->destination.format);
  const CfTonemapCodes codes = cf_tonemap_codes(&state->destination);
  Destination *const to = &state->to;

  to->kind = kind_of(format);
  to->pairs = !format->rgb && chroma_of(state->destination)->channels == 2;
  to->reversed = format->plane[0].role[0] == CF_ROLE_BLUE;
  to->shift = format->shift;
  to->luma_scale = (float)codes.luma_scale;
  to->chroma_scale = (float)codes.chroma_scale;
  to->most = (float)cf_max_code(format);
  to->weight_red = (float)codes.weight[0];
  to->weight_blue = (float)codes.weight[2];
  to->blue_gain = (float)(1.0 / codes.blue_from);
  to->red_gain = (float)(1.0 / codes.red_from);
}

void set_rounding(State *state)
{
  const CfTonemapCodes codes = cf_tonemap_codes(&state->destination);

  for (int y = 0; y < 8; y++) {
    for (int x = 0; x < 8; x++) {
      const double rounding = cf_tonemap_rounding(&state->params, x, y);

      state->to.luma_offset[y][x] = (float)(codes.luma_offset + rounding);
      state->to.chroma_offset[y][x] = (float)(codes.chroma_centre + rounding);
    }
  }
}

void set_tones(State *state)
{
  const CfTonemapParams &params = state->params;
  const CfTonemapPrimaries &primaries = cf_tonemap_primaries[state->video.primaries];
  const double *const weights = cf_tonemap_primaries[CF_PRIMARIES_709].luminance;
  const bool floors = params.detail > 1.0 && params.noise_floor > 0.0;
  Tones *const tones = &state->tones;

  for (int from = 0; from < 2; from++) {
    const int column = 2 * from;
    double luminance = 0.0;

    for (int c = 0; c < 3; c++)
      luminance += weights[c] * primaries.to_709[c][column];
    tones->luminance_709[from] = (float)luminance;
    for (int c = 0; c < 3; c++)
      tones->to_709[c][from] = (float)(primaries.to_709[c][column] - luminance);
  }
  tones->red_luminance = (float)primaries.luminance[0];
  tones->blue_luminance = (float)primaries.luminance[2];
  tones->detail = (float)(params.detail - 1.0);
  tones->per_noise_floor = floors ? (float)(1.0 / params.noise_floor) : 0.0f;
}

/* --- a frame --- */

Source source_of(const State *state, const CfPicture &picture)
{
  const CfFormatInfo *const format = cf_format_info(state->video.format);
  const int red = format->planes - 1; /* the plane of red */
  Source source = state->source;

  source.luma = picture.data[0];
  source.luma_stride = picture.stride[0];
  source.blue = picture.data[1];
  source.blue_stride = picture.stride[1];
  source.red = picture.data[red];
  source.red_stride = picture.stride[red];
  source.words = true;
  for (int p = 0; p < format->planes; p++)
    source.words &= cf_is_vector_aligned(picture.data[p], picture.stride[p]);
  return source;
}

Destination destination_of(const State *state, const CfPicture &picture)
{
  Destination to = state->to;

  to.words = true;
  for (int p = 0; p < cf_format_info(state->destination.format)->planes; p++) {
    to.plane[p] = picture.data[p];
    to.stride[p] = picture.stride[p];
    to.words &= cf_is_vector_aligned(picture.data[p], picture.stride[p]);
  }
  return to;
}

/* Makes the tables of tones: of a measured peak for each frame, else if `params` have changed. */
bool prepare_tones(State *state, const Queue &queue, const CfJob *job)
{
  const CfTonemapParams &params = state->params;

  if (cf_tonemap_is_dynamic(&params)) {
    const uint32_t samples = (uint32_t)state->video.width * (uint32_t)state->video.height;

    if (!follow_peak(queue, params, samples, job->seconds, job->fresh || state->restarts_peak,
                     state->peak))
      return false;
    state->restarts_peak = false;
    return make_tones(queue, params, 0.0, state->peak, state->tables);
  }
  if (!state->tones_are_made)
    state->tones_are_made = make_tones(
        queue, params, cf_tonemap_peak(&params, state->video.transfer), state->peak, state->tables);
  return state->tones_are_made;
}

CfPicture picture_of(const Plane &plane)
{
  CfPicture picture = {};

  picture.data[0] = plane.data;
  picture.stride[0] = plane.stride;
  return picture;
}

bool run_kernels(State *state, const Queue &queue, const CfJob *job, const Plane &plane,
                 const Plane &base)
{
  const Source source = source_of(state, job->source);
  CfJob filter = {};

  filter.source = picture_of(plane);
  filter.destination = picture_of(base);
  filter.stream = job->stream;
  return analyse(queue, source, state->tones, state->tables, plane,
                 cf_tonemap_is_dynamic(&state->params) ? state->peak : nullptr) &&
         prepare_tones(state, queue, job) &&
         cf_llf_cuda.run(state->filter, &filter, queue.status) &&
         finish(queue, source, state->tones, state->tables, state->peak, plane, base,
                destination_of(state, job->destination));
}

bool run(void *opaque, const CfJob *job, CfStatus *status)
{
  State *const state = (State *)opaque;
  const Queue queue = {(cudaStream_t)job->stream, state->device->info.multiprocessors,
                       state->device->code >= 90, status};
  const size_t stride = scratch_bytes((size_t)state->video.width * sizeof(uint16_t));
  const size_t bytes = stride * (size_t)state->video.height;

  if (!cf_refuse_capture(job->stream, status))
    return false;
  return cf_with_scratch(state->device, 2 * bytes, job->stream, status, [&](uint8_t *memory) {
    return run_kernels(state, queue, job, Plane{memory, (ptrdiff_t)stride},
                       Plane{memory + bytes, (ptrdiff_t)stride});
  });
}

/* --- parameters --- */

bool update(void *opaque, const void *params, CfStatus *status)
{
  State *const state = (State *)opaque;
  const CfTonemapParams *const next = (const CfTonemapParams *)params;
  const CfLlfParams filter = cf_tonemap_filter(next);

  if (!cf_llf_cuda.update(state->filter, &filter, status))
    return false;
  state->params = *next;
  state->restarts_peak |= !cf_tonemap_is_dynamic(next);
  state->tones_are_made = false;
  set_rounding(state);
  set_tones(state);
  return true;
}

/* --- opening and closing --- */

void close(void *opaque)
{
  State *const state = (State *)opaque;

  if (state->filter)
    cf_llf_cuda.close(state->filter);
  cf_device_free(state->tables);
  free(state);
}

/* Allocates tables and peak; sets the table of light, and clears the peak. */
bool open_tables(State *state, CfStatus *status)
{
  const size_t bytes = sizeof *state->tables + sizeof *state->peak;
  float light[CF_TONEMAP_LIGHT_ENTRIES];
  uint8_t *const host = (uint8_t *)cf_zeroed(bytes, status);

  if (!host)
    return false;
  Tables *const tables = (Tables *)host;

  cf_tonemap_light_table(state->video.transfer, light);
  for (int i = 0; i < kLightLines; i++) {
    const double slope = ((double)light[2 * i + 2] - light[2 * i]) * kLightLines;

    tables->light[i] = Line{(float)(light[2 * i] - slope * i / kLightLines), (float)slope};
  }
  state->tables = (Tables *)cf_device_alloc(bytes, status);
  state->peak = (Peak *)(state->tables + 1);
  const bool good =
      state->tables && cf_cuda_ok(cudaMemcpy(state->tables, host, bytes, cudaMemcpyHostToDevice),
                                  "uploading tone mapping's tables", status);
  free(host);
  return good;
}

bool open_filter(State *state, const CfOpenOptions *options, CfStatus *status)
{
  const CfVideo plane = cf_tonemap_plane(&state->video);
  const CfLlfParams filter = cf_tonemap_filter(&state->params);
  CfOpenOptions own = {};

  own.device = options->device;
  state->filter = cf_llf_cuda.open(&plane, &filter, &own, status);
  if (state->filter)
    llf::allow_fp16_sums(state->filter);
  return state->filter;
}

void *open(const CfVideo *video, const void *params, const CfOpenOptions *options, CfStatus *status)
{
  State *const state = (State *)cf_zeroed(sizeof *state, status);

  if (!state)
    return nullptr;
  state->video = *video;
  state->destination = *options->destination;
  state->device = options->device;
  state->params = *(const CfTonemapParams *)params;
  describe_source(state);
  describe_destination(state);
  if (!open_tables(state, status) || !open_filter(state, options, status) ||
      !update(state, params, status)) {
    close(state);
    return nullptr;
  }
  return state;
}

const char *algorithm(const void *opaque)
{
  return cf_llf_cuda.algorithm(((const State *)opaque)->filter);
}

} // namespace
} // namespace cf::tonemap

extern "C" const CfEngine cf_tonemap_cuda = {
    "cuda", /* name */
    true,   /* device_memory */
    false,  /* in_place */
    cf::tonemap::open,
    cf::tonemap::update,
    cf::tonemap::run,
    cf::tonemap::algorithm,
    cf::tonemap::close,
};
