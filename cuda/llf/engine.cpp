/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The CUDA engine of cudallf: which images of a picture are filtered, their parameters and scratch
 * memory, and the launches of a frame; those on tensor cores are in mma_schedule.cpp.
 */
#include "cuda/llf/plane.h"
#include "cuda/llf/types.cuh"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

namespace cf::llf
{
namespace
{

/* The most sampled intensities of a batch, which is filtered as one component image. */
constexpr int kBatchSamples = 64;

/* The largest value of a curve in 16-bit integers, with headroom for rounding. */
constexpr double kMaxStoredValue = 32000.0;

/* Pixels.free_room: without `protect`, so much that nothing is limited; with it, just above 0,
 * since kernels divide by the room. */
constexpr float kAmpleRoom = 1000.0f, kLeastRoom = 1e-8f;

constexpr double kTwoPi = 6.28318530717958647692;

/* An image to filter: one component of a picture, or its luminance with the colours that follow. */
struct Image {
  Pixels pixels;                  /* without the frame's pointers, which pixels_of() adds */
  int plane[3], channel[3];       /* where the picture has pixels.channel */
  int extra_plane, extra_channel; /* where it has pixels.extra; plane -1: nowhere */
  CfLlfPyramid shape;
  CfLlfWeights weights;
  const ExactTables *tables; /* one of State.tables */
};

struct State {
  CfVideo video;
  CfDevice *device;
  Gpu gpu;
  bool tensor_cores;   /* the loaded code has matrix instructions */
  bool fp16_sums_pass; /* their precision is enough, however many bits a code has */
  bool has_carveouts;  /* a frame with these parameters has set its kernels' carveouts */

  CfLlfParams params;
  Series series;
  Curve curve;
  int intensity_levels;
  char algorithm[64];

  Image luminance;    /* color_mode = luminance */
  Image component[3]; /* the other modes */
  int components;
  ExactTables tables[2]; /* for luma's size, and for chroma's where it differs */
};

/* ---- The images of a format ---- */

Pixels describe_pixels(const CfVideo &video, int width, int height)
{
  const CfFormatInfo *const format = cf_format_info(video.format);
  Pixels pixels = {};

  pixels.width = width;
  pixels.height = height;
  pixels.max_code = (float)cf_max_code(format);
  pixels.chroma_centre = (float)cf_chroma_centre(&video);
  pixels.shift = format->shift;
  pixels.wide = cf_sample_bytes(format) == 2;
  pixels.colour = Colour::SINGLE;
  return pixels;
}

void add_channel(Image *image, const CfVideo &video, int index, const CfLlfComponent &component)
{
  image->plane[index] = component.plane;
  image->channel[index] = component.channel;
  image->pixels.step[index] = cf_format_info(video.format)->plane[component.plane].channels;
}

/* Sets the conversion between codes and intensities to that of a component. */
void set_code_range(Image *image, const CfLlfComponent &component)
{
  image->pixels.weight[0] = (float)(1.0 / component.scale);
  image->pixels.bias = (float)(-component.offset / component.scale);
  image->pixels.offset = (float)component.offset;
  image->pixels.scale = (float)component.scale;
}

/* Makes this image the one that copies alpha or padding, if the format has any. */
void add_extra(Image *image, const CfVideo &video)
{
  const CfFormatInfo *const format = cf_format_info(video.format);

  image->extra_plane = -1;
  for (int channel = 0; channel < format->plane[0].channels; channel++) {
    const CfRole role = format->plane[0].role[channel];

    if (role != CF_ROLE_ALPHA && role != CF_ROLE_PADDING)
      continue;
    image->extra_plane = 0;
    image->extra_channel = channel;
    image->pixels.extra_step = format->plane[0].channels;
  }
}

void describe_components(State *state, const CfLlfComponent *component)
{
  for (int c = 0; c < state->components; c++) {
    Image *const image = &state->component[c];

    image->pixels = describe_pixels(state->video, component[c].width, component[c].height);
    add_channel(image, state->video, 0, component[c]);
    set_code_range(image, component[c]);
    image->extra_plane = -1;
  }
  add_extra(&state->component[0], state->video);
}

void describe_luminance(State *state, const CfLlfComponent *component)
{
  const CfFormatInfo *const format = cf_format_info(state->video.format);
  Image *const image = &state->luminance;

  image->pixels = describe_pixels(state->video, state->video.width, state->video.height);
  for (int c = 0; c < state->components; c++)
    add_channel(image, state->video, c, component[c]);
  set_code_range(image, component[0]);
  add_extra(image, state->video);
  if (format->rgb) {
    double weight[3];

    cf_llf_luma_weights(&state->video, weight);
    for (int c = 0; c < 3; c++)
      image->pixels.weight[c] = (float)(weight[c] / component[c].scale);
    image->pixels.colour = Colour::RGB;
  } else if (state->components == 3) {
    const CfPlaneFormat *const chroma = &format->plane[component[1].plane];
    const CfLlfColours colours = cf_llf_colours(&state->video);
    const double scale = component[1].scale;

    image->pixels.red_of_red = (float)(colours.red_of_red / scale);
    image->pixels.blue_of_blue = (float)(colours.blue_of_blue / scale);
    image->pixels.green_of_blue = (float)(colours.green_of_blue / scale);
    image->pixels.green_of_red = (float)(colours.green_of_red / scale);
    image->pixels.most_chroma = (float)(CF_LLF_MAX_CHROMA * scale);
    image->pixels.chroma_unit = (float)(1.0 / scale);
    image->pixels.subsampling_x = chroma->subsampling_x;
    image->pixels.subsampling_y = chroma->subsampling_y;
    image->pixels.colour = Colour::CHROMA;
  }
}

Channel channel_of(const State *state, const CfJob *job, int plane, int channel)
{
  const size_t offset =
      (size_t)channel * (size_t)cf_sample_bytes(cf_format_info(state->video.format));

  return Channel{job->source.data[plane] + offset, job->destination.data[plane] + offset,
                 job->source.stride[plane], job->destination.stride[plane]};
}

Pixels pixels_of(const State *state, const Image &image, const CfJob *job)
{
  Pixels pixels = image.pixels;

  pixels.most_of_room = state->params.protect ? (float)CF_LLF_MOST_OF_ROOM : 0.0f;
  pixels.free_room = state->params.protect ? kLeastRoom : kAmpleRoom;
  pixels.strength = (float)state->params.strength;
  for (int c = 0; c < (pixels.colour == Colour::SINGLE ? 1 : 3); c++)
    pixels.channel[c] = channel_of(state, job, image.plane[c], image.channel[c]);
  if (image.extra_plane >= 0)
    pixels.extra = channel_of(state, job, image.extra_plane, image.extra_channel);
  return pixels;
}

/* ---- Parameters ---- */

bool is_identity(const CfLlfParams &params)
{
  return (params.alpha == 1.0 && params.beta == 1.0) || params.strength == 0.0;
}

Series series_of(const CfLlfParams &params)
{
  const CfLlfSeries fitted = cf_llf_series(&params);
  Series series = {};

  series.turn = (float)(fitted.base / kTwoPi);
  series.linear = (float)fitted.linear;
  for (int n = 0; n < fitted.harmonics; n++)
    series.b[n] = (float)fitted.b[n];
  return series;
}

Curve curve_of(const CfLlfParams &params)
{
  const bool blends = params.alpha < 1.0 && params.noise_floor > 0.0;
  Curve curve = {};

  curve.sigma = (float)params.sigma;
  curve.alpha = (float)params.alpha;
  curve.beta = (float)params.beta;
  curve.detail_gain = (float)(log2(params.sigma) * (1.0 - params.alpha));
  curve.tone_offset = (float)(params.sigma * (1.0 - params.beta));
  curve.noise_slope = blends ? (float)(-1.0 / params.noise_floor) : 0.0f;
  curve.noise_offset = blends ? 2.0f : 0.0f;
  return curve;
}

void shape_image(Image *image, bool field, const CfLlfParams &params)
{
  image->shape = cf_llf_pyramid(image->pixels.width, image->pixels.height, field, &params);
  image->weights = cf_llf_weights(&params, &image->shape);
}

void take_params(State *state, const CfLlfParams &params)
{
  state->params = params;
  state->has_carveouts = false;
  state->series = series_of(params);
  state->curve = curve_of(params);
  state->intensity_levels = cf_llf_intensity_levels(&params);
  shape_image(&state->luminance, state->video.field, params);
  for (int c = 0; c < state->components; c++)
    shape_image(&state->component[c], state->video.field, params);

  if (is_identity(params))
    snprintf(state->algorithm, sizeof state->algorithm, "copy");
  else if (params.method == CF_LLF_FAST)
    snprintf(state->algorithm, sizeof state->algorithm, "sine-%d", params.harmonics);
  else if (params.method == CF_LLF_SAMPLED)
    snprintf(state->algorithm, sizeof state->algorithm, "sampled-%d", state->intensity_levels);
  else
    snprintf(state->algorithm, sizeof state->algorithm, "exact");
}

/* ---- Scratch memory ---- */

int samples_in_batch(const State *state, int first)
{
  const int left = state->intensity_levels - first;
  return left < kBatchSamples ? left : kBatchSamples;
}

/* More than 10 bits would show the errors of fp16 sums. */
bool uses_tensor_cores(const State *state, const Image &image)
{
  return state->tensor_cores && cf_llf_plan_override.tensor_cores != 0 &&
         state->params.method == CF_LLF_FAST &&
         (cf_format_info(state->video.format)->bits <= 10 || state->fp16_sums_pass) &&
         image.shape.images >= kMmaMinImages &&
         mma_serves(state->gpu, image.pixels, state->params.harmonics);
}

/* 16-byte groups of components per pixel. */
int groups_of(const State *state, const Image &image)
{
  const int harmonic_groups = (state->params.harmonics + 3) / 4;

  if (state->params.method == CF_LLF_SAMPLED)
    return (samples_in_batch(state, 0) + 7) / 8;
  return uses_tensor_cores(state, image) ? kMmaGroups : harmonic_groups;
}

/* Bytes of a level's coefficients in the layout of tiled_fp16.cuh. */
size_t tiled_bytes(const Level &level)
{
  return (size_t)((level.width + 63) / 64 * 64) * (size_t)((level.height + 31) / 32 * 32) *
         sizeof(__half);
}

/* Lays out the pyramid in `scratch` and returns the bytes that it needs; `scratch` may be NULL.
 * `mma`: with the memory that only tensor cores need. */
size_t place_pyramid(const Image &image, int groups, bool mma, void *scratch, Pyramid *pyramid)
{
  const CfLlfPyramid &shape = image.shape;
  size_t bytes = 0;
  auto allocate = [&](size_t size) {
    uint8_t *const memory = (uint8_t *)scratch + bytes;
    bytes += (size + 255) / 256 * 256;
    return memory;
  };

  *pyramid = Pyramid{};
  pyramid->images = shape.images;
  pyramid->groups = groups;
  pyramid->weighted = image.weights.levels;
  pyramid->last_share = (float)shape.last_share;
  if (mma)
    pyramid->coarse_inputs_ready = (unsigned *)allocate(sizeof(unsigned));
  /* At odd sizes the samples beyond the border are others than those of levels 1 and 2. */
  pyramid->builds_moments =
      mma && pyramid->weighted > 0 && (shape.width[0] | shape.height[0]) % 2 == 0;
  for (int i = 0; i < shape.images; i++) {
    Level *const level = &pyramid->level[i];
    const size_t size = (size_t)shape.width[i] * (size_t)shape.height[i];

    level->width = shape.width[i];
    level->height = shape.height[i];
    if (mma && i < 2)
      pyramid->tiled[i] = (__half *)allocate(tiled_bytes(*level));
    if (i < pyramid->weighted) {
      CellWeights *const weights = &pyramid->weights[i];

      *weights = cell_weights(level->width, level->height);
      weights->plane = (__half *)allocate(weights->index(0, 2 * weights->down) * sizeof(__half));
      pyramid->moments[i] =
          (float2 *)allocate((size_t)weights->across * (size_t)weights->down * sizeof(float2));
    }
    if (i == 0)
      continue;
    level->groups = (uint4 *)allocate(size * (size_t)groups * sizeof(uint4));
    level->gauss = (float *)allocate(size * sizeof(float));
    level->collapsed = (float *)allocate(size * sizeof(float));
  }
  return bytes;
}

/* Replaces the algorithm's name by the launch plan of the first image, if tensor cores filter it.
 */
void describe_tensor_plan(State *state)
{
  const bool luminance = state->params.color_mode == CF_LLF_LUMINANCE;
  const Image &image = luminance ? state->luminance : state->component[0];

  Pyramid pyramid;

  if (is_identity(state->params) || !uses_tensor_cores(state, image))
    return;
  place_pyramid(image, kMmaGroups, true, nullptr, &pyramid);
  describe_plan(state->gpu, image.pixels, pyramid, state->params.harmonics, state->algorithm);
}

size_t scratch_bytes(const State *state, const Image &image)
{
  Pyramid pyramid;

  if (state->params.method == CF_LLF_EXACT)
    return exact_scratch_bytes(image.shape, state->params.color_mode == CF_LLF_RGB ? 3 : 1);

  const bool mma = uses_tensor_cores(state, image);
  const size_t base = (size_t)image.shape.width[0] * (size_t)image.shape.height[0] * sizeof(float);
  return place_pyramid(image, groups_of(state, image), mma, nullptr, &pyramid) + (mma ? 0 : base);
}

/* ---- The launches of one image ---- */

/* Filters with one batch of components, without tensor cores. */
template <typename Components>
bool run_batch(Queue *queue, const Image &image, const Pixels &pixels, const Components &components,
               const Batch &batch, const Pyramid &pyramid)
{
  const int top = pyramid.images - 1;
  const float top_gain = pyramid.weighted == top ? 0.0f : -components.linear;

  if (!build_level_1(queue, pixels, components, pyramid, top_gain))
    return false;
  for (int fine = 1; fine < top; fine++) {
    if (!reduce_level(queue, components, pyramid, fine, top_gain))
      return false;
  }
  if (batch.first && pyramid.weighted > 0 &&
      (!make_moments(queue, pixels, pyramid, false) ||
       !make_weights(queue, image.weights, pyramid, false)))
    return false;
  for (int fine = top - 1; fine >= 1; fine--) {
    if (!collapse_level(queue, components, batch, pyramid, fine))
      return false;
  }
  return write_output(queue, pixels, components, batch, pyramid);
}

bool run_fast(const State *state, Queue *queue, const Image &image, const Pixels &pixels,
              void *scratch)
{
  Pyramid pyramid;
  const size_t bytes = place_pyramid(image, groups_of(state, image), false, scratch, &pyramid);
  float *const base = (float *)((uint8_t *)scratch + bytes);

  return run_batch(queue, image, pixels, state->series, Batch{true, true, base}, pyramid);
}

bool run_tensor(const State *state, Queue *queue, const Image &image, const Pixels &pixels,
                void *scratch)
{
  Pyramid pyramid;

  place_pyramid(image, groups_of(state, image), true, scratch, &pyramid);
  return mma_run(queue, pixels, state->series, image.weights, pyramid);
}

bool run_sampled(const State *state, Queue *queue, const Image &image, const Pixels &pixels,
                 void *scratch)
{
  Pyramid pyramid;
  const size_t bytes = place_pyramid(image, groups_of(state, image), false, scratch, &pyramid);
  float *const base = (float *)((uint8_t *)scratch + bytes);
  /* The slope 1 + `linear` makes the rest of the curve as large at sigma as at 1, and nowhere
   * larger than `max_rest`. */
  const CfLlfParams &params = state->params;
  const double linear = (params.beta - 1.0) * (1.0 - params.sigma) / (1.0 + params.sigma);
  const double max_rest = params.sigma * (1.0 + fabs(linear));
  const float units = (float)(kMaxStoredValue / max_rest);

  for (int first = 0; first < state->intensity_levels; first += kBatchSamples) {
    const Samples samples = {
        first,       samples_in_batch(state, first), state->intensity_levels, (float)linear, units,
        state->curve};
    const Batch batch = {first == 0, first + kBatchSamples >= state->intensity_levels, base};

    if (!run_batch(queue, image, pixels, samples, batch, pyramid))
      return false;
  }
  return true;
}

bool run_image(const State *state, Queue *queue, const Image &image, const CfJob *job,
               void *scratch)
{
  const Pixels pixels = pixels_of(state, image, job);

  switch (state->params.method) {
  case CF_LLF_FAST:
    return uses_tensor_cores(state, image) ? run_tensor(state, queue, image, pixels, scratch)
                                           : run_fast(state, queue, image, pixels, scratch);
  case CF_LLF_SAMPLED:
    return run_sampled(state, queue, image, pixels, scratch);
  default:
    return exact_run(queue, *image.tables, image.shape, &pixels, 1, state->curve, scratch);
  }
}

/* color_mode = rgb: the three components as colour vectors. */
bool run_rgb(const State *state, Queue *queue, const CfJob *job, void *scratch)
{
  const Image &first = state->component[0];
  Pixels pixels[3];

  for (int c = 0; c < 3; c++)
    pixels[c] = pixels_of(state, state->component[c], job);
  return exact_run(queue, *first.tables, first.shape, pixels, 3, state->curve, scratch);
}

/* ---- The frame ---- */

/* The images to filter; for color_mode = rgb the first of three, which have the same shape. */
struct Images {
  const Image *image;
  int count;
};

Images images_of(const State *state)
{
  if (state->params.color_mode == CF_LLF_LUMINANCE)
    return Images{&state->luminance, 1};
  return Images{state->component, state->params.color_mode == CF_LLF_RGB ? 1 : state->components};
}

bool run_images(const State *state, Queue *queue, const Images &images, const CfJob *job,
                void *scratch)
{
  if (state->params.color_mode == CF_LLF_RGB)
    return run_rgb(state, queue, job, scratch);
  for (int i = 0; i < images.count; i++) {
    if (images.image[i].shape.images > 1 && !run_image(state, queue, images.image[i], job, scratch))
      return false;
  }
  return true;
}

bool run(void *opaque, const CfJob *job, CfStatus *status)
{
  State *const state = (State *)opaque;
  const Images images = images_of(state);
  Queue queue = {(cudaStream_t)job->stream, state->gpu, false, !state->has_carveouts, status};
  size_t bytes = 0;
  bool copies = is_identity(state->params);

  if (!cf_refuse_capture(job->stream, status))
    return false;
  for (int i = 0; i < images.count && !copies; i++) {
    const size_t needed =
        images.image[i].shape.images > 1 ? scratch_bytes(state, images.image[i]) : 0;
    bytes = needed > bytes ? needed : bytes;
  }
  /* Images whose pyramid has a single image do not change: the picture is copied first, and the
   * other images overwrite their samples. */
  for (int i = 0; i < images.count; i++)
    copies |= images.image[i].shape.images == 1;
  if (copies && !cf_copy_picture(CF_COPY_ON_DEVICE, &state->video, &job->destination, &job->source,
                                 job->stream, status))
    return false;
  return bytes == 0 ||
         cf_with_scratch(state->device, bytes, job->stream, status, [&](uint8_t *scratch) {
           state->has_carveouts = run_images(state, &queue, images, job, scratch);
           return state->has_carveouts;
         });
}

/* ---- Opening and closing ---- */

void close(void *opaque)
{
  State *const state = (State *)opaque;

  if (!state)
    return;
  exact_close(&state->tables[0]);
  exact_close(&state->tables[1]);
  free(state);
}

/* The tables of engine=exact, for luma's size and for chroma's if it differs. Every engine has
 * them, since an update may choose engine=exact and must not allocate. */
bool open_tables(State *state, CfStatus *status)
{
  const Pixels &luma = state->luminance.pixels;

  if (!exact_open(luma.width, luma.height, &state->tables[0], status))
    return false;
  state->luminance.tables = &state->tables[0];
  for (int c = 0; c < state->components; c++) {
    const Pixels &pixels = state->component[c].pixels;
    const bool same = pixels.width == luma.width && pixels.height == luma.height;
    ExactTables *const tables = &state->tables[same ? 0 : 1];

    state->component[c].tables = tables;
    if (!same && !tables->memory && !exact_open(pixels.width, pixels.height, tables, status))
      return false;
  }
  return true;
}

void *open(const CfVideo *video, const void *params, const CfOpenOptions *options, CfStatus *status)
{
  const CfDeviceInfo *const info = cf_device_info(options->device);
  CfLlfComponent component[3];
  State *const state = (State *)cf_zeroed(sizeof *state, status);

  if (!state)
    return nullptr;
  state->video = *video;
  state->device = options->device;
  state->tensor_cores = options->device->code >= 80;
  state->gpu = Gpu{info->multiprocessors, info->shared_per_block, options->device->code >= 90, 1};
  state->components = cf_llf_components(video, component);
  describe_components(state, component);
  describe_luminance(state, component);
  take_params(state, *(const CfLlfParams *)params);
  if (!open_tables(state, status) || (state->tensor_cores && !mma_open(&state->gpu, status))) {
    close(state);
    return nullptr;
  }
  describe_tensor_plan(state);
  return state;
}

bool update(void *opaque, const void *params, CfStatus *)
{
  take_params((State *)opaque, *(const CfLlfParams *)params);
  describe_tensor_plan((State *)opaque);
  return true;
}

const char *algorithm(const void *opaque)
{
  return ((const State *)opaque)->algorithm;
}

} // namespace

void allow_fp16_sums(void *state)
{
  ((State *)state)->fp16_sums_pass = true;
}

} // namespace cf::llf

extern "C" const CfEngine cf_llf_cuda = {
    "cuda", /* name */
    true,   /* device_memory */
    false,  /* in_place */
    cf::llf::open, cf::llf::update, cf::llf::run, cf::llf::algorithm, cf::llf::close,
};
