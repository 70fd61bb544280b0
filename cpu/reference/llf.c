/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The local Laplacian filter as it is defined, in double precision: always the exact filter,
 * whatever engine the parameters ask for.
 */
#include <math.h>
#include <stdlib.h>

#include "cpu/common/parallel.h"
#include "cpu/reference/llf_math.h"
#include "cpu/reference/samples.h"

typedef struct {
  CfVideo video;
  CfLlfParams params;
  int threads;
  int components;
  CfLlfComponent component[3];
  CfExactLlf filter[3]; /* one for luma or RGB vectors, one a component where they are separate */
  int filters;
} State;

static void close_state(void *opaque)
{
  State *state = opaque;

  for (int i = 0; i < 3; i++)
    cf_exact_llf_free(&state->filter[i]);
  free(state);
}

/* Makes the filters that `params` need and then takes them over. */
static bool set_params(State *state, const CfLlfParams *params, CfStatus *status)
{
  const bool separate = params->color_mode == CF_LLF_SEPARATE;
  const int channels = params->color_mode == CF_LLF_RGB ? 3 : 1;
  const int filters = separate ? state->components : 1;
  CfExactLlf filter[3] = {{.channels = 0}};
  bool good = true;

  for (int i = 0; i < filters; i++)
    good = good && cf_exact_llf_open(&filter[i], state->component[i].width,
                                     state->component[i].height, params, channels);
  for (int i = 0; i < 3; i++) {
    if (good)
      cf_exact_llf_free(&state->filter[i]);
    else
      cf_exact_llf_free(&filter[i]);
  }
  if (!good)
    return cf_fail(status, CF_ERROR_NO_MEMORY,
                   "out of memory for the reference local Laplacian filter of %dx%d pixels",
                   state->video.width, state->video.height);
  for (int i = 0; i < filters; i++)
    state->filter[i] = filter[i];
  state->filters = filters;
  state->params = *params;
  return true;
}

static void *open_state(const CfVideo *video, const void *params, const CfOpenOptions *options,
                        CfStatus *status)
{
  State *state = calloc(1, sizeof *state);

  if (!state) {
    cf_fail(status, CF_ERROR_NO_MEMORY, "out of memory");
    return NULL;
  }
  state->video = *video;
  state->threads = cf_thread_count(options->threads);
  state->components = cf_llf_components(video, state->component);
  if (!set_params(state, params, status)) {
    close_state(state);
    return NULL;
  }
  return state;
}

static bool update(void *opaque, const void *params, CfStatus *status)
{
  State *state = opaque;
  const CfLlfParams *next = params;

  if (next->levels != state->params.levels || next->reach != state->params.reach ||
      next->color_mode != state->params.color_mode)
    return set_params(state, next, status);
  state->params = *next;
  return true;
}

static const char *algorithm(const void *state)
{
  (void)state;
  return "exact-double";
}

static uint8_t *row_of(const CfPicture *picture, const CfLlfComponent *component, int y)
{
  return picture->data[component->plane] + y * picture->stride[component->plane];
}

/* The number of a component's sample in its row. */
static ptrdiff_t sample_of(const CfFormatInfo *format, const CfLlfComponent *component, int x)
{
  return (ptrdiff_t)x * format->plane[component->plane].channels + component->channel;
}

static double load_code(const State *state, const CfPicture *picture,
                        const CfLlfComponent *component, int x, int y)
{
  const CfFormatInfo *format = cf_format_info(state->video.format);

  return cf_reference_load(format, row_of(picture, component, y), sample_of(format, component, x));
}

static void store_code(const State *state, const CfPicture *picture,
                       const CfLlfComponent *component, int x, int y, double code)
{
  const CfFormatInfo *format = cf_format_info(state->video.format);

  cf_reference_store(format, row_of(picture, component, y), sample_of(format, component, x),
                     (int)floor(fmin(fmax(code, 0.0), cf_max_code(format)) + 0.5));
}

static double load_intensity(const State *state, const CfPicture *picture, int component, int x,
                             int y)
{
  const CfLlfComponent *from = &state->component[component];

  return (load_code(state, picture, from, x, y) - from->offset) / from->scale;
}

static void store_intensity(const State *state, const CfPicture *picture, int component, int x,
                            int y, double intensity)
{
  const CfLlfComponent *to = &state->component[component];

  store_code(state, picture, to, x, y, intensity * to->scale + to->offset);
}

static double clamp_intensity(double intensity)
{
  return fmin(fmax(intensity, 0.0), 1.0);
}

static double rgb_luma(const State *state, const CfPicture *picture, int x, int y)
{
  double weight[3], sum = 0.0;

  cf_llf_luma_weights(&state->video, weight);
  for (int c = 0; c < 3; c++)
    sum += weight[c] * load_intensity(state, picture, c, x, y);
  return sum;
}

/* Where the channels of a pixel begin in `intensity` and `output[0]`. */
static size_t index_of(const CfExactLlf *filter, int x, int y)
{
  return ((size_t)y * (size_t)filter->pyramid.width[0] + (size_t)x) * (size_t)filter->channels;
}

/* What the filter made of an intensity, eased off. */
static double eased(const State *state, double intensity, double ceiling, double output)
{
  if (!state->params.protect)
    return output;
  return intensity + cf_llf_protected(intensity, ceiling, output - intensity);
}

static void ease_all(const State *state, CfExactLlf *filter)
{
  const size_t samples = (size_t)filter->pyramid.width[0] * (size_t)filter->pyramid.height[0] *
                         (size_t)filter->channels;

  for (size_t i = 0; i < samples; i++)
    filter->output[0][i] =
        eased(state, filter->intensity[i], filter->intensity[i], filter->output[0][i]);
}

/* Between what was and the result. */
static double mixed(const State *state, double before, double result)
{
  return before + state->params.strength * (result - before);
}

static void store_rgb_luminance(const State *state, const CfJob *job)
{
  const CfExactLlf *filter = &state->filter[0];

  for (int y = 0; y < state->video.height; y++) {
    for (int x = 0; x < state->video.width; x++) {
      const double before = filter->intensity[index_of(filter, x, y)];
      double color[3], after, follow;

      for (int c = 0; c < 3; c++)
        color[c] = load_intensity(state, &job->source, c, x, y);
      after = eased(state, before, fmax(color[0], fmax(color[1], color[2])),
                    filter->output[0][index_of(filter, x, y)]);
      follow = cf_llf_follow(before, after);
      for (int c = 0; c < 3; c++)
        store_intensity(
            state, &job->destination, c, x, y,
            mixed(state, color[c], color[c] + after - before + follow * (color[c] - before)));
    }
  }
}

/* Luma at (x, y) of the chroma planes: the mean of its pixels before and after the filter. */
static void chroma_luma(const State *state, int x, int y, double *before, double *after)
{
  const CfPlaneFormat *plane =
      &cf_format_info(state->video.format)->plane[state->component[1].plane];
  const CfExactLlf *filter = &state->filter[0];
  int pixels = 0;

  *before = *after = 0.0;
  for (int row = y << plane->subsampling_y;
       row < (y + 1) << plane->subsampling_y && row < state->video.height; row++) {
    for (int column = x << plane->subsampling_x;
         column < (x + 1) << plane->subsampling_x && column < state->video.width; column++) {
      *before += filter->intensity[index_of(filter, column, row)];
      *after += filter->output[0][index_of(filter, column, row)];
      pixels++;
    }
  }
  *before /= pixels;
  *after /= pixels;
}

/* Scales both chroma samples at (x, y) of their planes as their luma. */
static void store_chroma(const State *state, const CfJob *job, int x, int y)
{
  const CfLlfComponent *chroma = &state->component[1];
  const double centre = cf_chroma_centre(&state->video);
  double code[2], from_grey[2], clamped[2], luma, filtered, follow, most;

  chroma_luma(state, x, y, &luma, &filtered);
  most = CF_LLF_MAX_CHROMA * chroma->scale * (luma + CF_LLF_GAIN_EPSILON);
  for (int c = 0; c < 2; c++) {
    code[c] = load_code(state, &job->source, chroma + c, x, y);
    from_grey[c] = code[c] - centre;
    clamped[c] = fmin(fmax(from_grey[c], -most), most);
  }
  follow = cf_llf_follow(luma, filtered);
  if (state->params.protect && follow > 0.0) {
    const double farthest = fmax(fabs(from_grey[0]), fabs(from_grey[1])) / chroma->scale;

    follow = cf_llf_shoulder(follow, fmax(fabs(clamped[0]), fabs(clamped[1])) / chroma->scale,
                             CF_LLF_MOST_OF_ROOM * fmax(0.5 - farthest, 0.0));
  }
  for (int c = 0; c < 2; c++)
    store_code(state, &job->destination, chroma + c, x, y,
               mixed(state, code[c], code[c] + follow * clamped[c]));
}

static void filter_plane(State *state, const CfJob *job, int component, CfExactLlf *filter)
{
  const CfLlfComponent *plane = &state->component[component];

  for (int y = 0; y < plane->height; y++)
    for (int x = 0; x < plane->width; x++)
      filter->intensity[index_of(filter, x, y)] =
          clamp_intensity(load_intensity(state, &job->source, component, x, y));
  cf_exact_llf_run(filter, &state->params, state->threads);
  ease_all(state, filter);
  for (int y = 0; y < plane->height; y++) {
    for (int x = 0; x < plane->width; x++) {
      const double before = load_intensity(state, &job->source, component, x, y);
      const double beyond = before - filter->intensity[index_of(filter, x, y)];
      const double filtered = filter->output[0][index_of(filter, x, y)];

      store_intensity(state, &job->destination, component, x, y,
                      mixed(state, before, filtered + beyond));
    }
  }
}

static void filter_rgb_luminance(State *state, const CfJob *job)
{
  CfExactLlf *filter = &state->filter[0];

  for (int y = 0; y < state->video.height; y++)
    for (int x = 0; x < state->video.width; x++)
      filter->intensity[index_of(filter, x, y)] =
          clamp_intensity(rgb_luma(state, &job->source, x, y));
  cf_exact_llf_run(filter, &state->params, state->threads);
  store_rgb_luminance(state, job);
}

static void filter_rgb_vectors(State *state, const CfJob *job)
{
  CfExactLlf *filter = &state->filter[0];

  for (int y = 0; y < state->video.height; y++)
    for (int x = 0; x < state->video.width; x++)
      for (int c = 0; c < 3; c++)
        filter->intensity[index_of(filter, x, y) + (size_t)c] =
            load_intensity(state, &job->source, c, x, y);
  cf_exact_llf_run(filter, &state->params, state->threads);
  ease_all(state, filter);
  for (int y = 0; y < state->video.height; y++)
    for (int x = 0; x < state->video.width; x++)
      for (int c = 0; c < 3; c++)
        store_intensity(state, &job->destination, c, x, y,
                        mixed(state, filter->intensity[index_of(filter, x, y) + (size_t)c],
                              filter->output[0][index_of(filter, x, y) + (size_t)c]));
}

static void copy_alpha(const State *state, const CfJob *job)
{
  const CfPlaneFormat *plane = &cf_format_info(state->video.format)->plane[0];
  const int channel = cf_alpha_channel(plane);

  for (int y = 0; channel >= 0 && y < state->video.height; y++) {
    for (int x = 0; x < state->video.width; x++) {
      const ptrdiff_t at = (ptrdiff_t)x * plane->channels + channel;
      job->destination.data[0][y * job->destination.stride[0] + at] =
          job->source.data[0][y * job->source.stride[0] + at];
    }
  }
}

static bool run(void *opaque, const CfJob *job, CfStatus *status)
{
  State *state = opaque;
  const bool rgb = cf_format_info(state->video.format)->rgb;

  (void)status;
  if (state->params.color_mode == CF_LLF_RGB) {
    filter_rgb_vectors(state, job);
  } else if (state->params.color_mode == CF_LLF_SEPARATE) {
    for (int i = 0; i < state->components; i++)
      filter_plane(state, job, i, &state->filter[i]);
  } else if (rgb) {
    filter_rgb_luminance(state, job);
  } else {
    filter_plane(state, job, 0, &state->filter[0]);
    for (int y = 0; state->components == 3 && y < state->component[1].height; y++)
      for (int x = 0; x < state->component[1].width; x++)
        store_chroma(state, job, x, y);
  }
  copy_alpha(state, job);
  return true;
}

const CfEngine cf_llf_reference = {
    .name = "reference",
    .open = open_state,
    .update = update,
    .run = run,
    .algorithm = algorithm,
    .close = close_state,
};
