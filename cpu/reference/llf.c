/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The definition of the local Laplacian filter, in double precision. Always the exact filter,
 * whatever method the parameters choose.
 */
#include <math.h>
#include <stdlib.h>

#include "cpu/common/parallel.h"
#include "cpu/common/samples.h"
#include "cpu/reference/llf_math.h"

typedef struct {
  CfVideo video;
  CfLlfParams params;
  int threads;
  int components;
  CfLlfComponent component[3];

  /* One filter for luma or RGB vectors, or one per component with CF_LLF_SEPARATE; 0 after an
   * update, until a job needs them. */
  int filters;
  CfExactLlf filter[3];
} State;

static void close_filters(State *state)
{
  for (int i = 0; i < 3; i++)
    cf_exact_llf_free(&state->filter[i]);
  state->filters = 0;
}

static bool open_filters(State *state, CfStatus *status)
{
  const CfLlfParams *params = &state->params;
  const int filters = params->color_mode == CF_LLF_SEPARATE ? state->components : 1;

  for (int i = 0; i < filters; i++) {
    if (!cf_exact_llf_open(&state->filter[i], state->component[i].width, state->component[i].height,
                           state->video.field, params, params->color_mode == CF_LLF_RGB ? 3 : 1)) {
      close_filters(state);
      return cf_fail(status, CF_ERROR_NO_MEMORY,
                     "out of memory for the reference local Laplacian filter of %dx%d pixels",
                     state->video.width, state->video.height);
    }
  }
  state->filters = filters;
  return true;
}

/* ---- Samples ---- */

static double load_code(const State *state, const CfPicture *picture, int component, int x, int y)
{
  const CfLlfComponent *from = &state->component[component];
  const CfSamples plane = cf_samples_of(&state->video, picture, from->plane);

  return cf_sample_load(&plane, x, y, from->channel);
}

static void store_code(const State *state, const CfPicture *picture, int component, int x, int y,
                       double code)
{
  const CfLlfComponent *to = &state->component[component];
  const CfSamples plane = cf_samples_of(&state->video, picture, to->plane);

  cf_sample_store(&plane, x, y, to->channel, code + 0.5);
}

static double load_intensity(const State *state, const CfPicture *picture, int component, int x,
                             int y)
{
  const CfLlfComponent *from = &state->component[component];

  return (load_code(state, picture, component, x, y) - from->offset) / from->scale;
}

static void store_intensity(const State *state, const CfPicture *picture, int component, int x,
                            int y, double intensity)
{
  const CfLlfComponent *to = &state->component[component];

  store_code(state, picture, component, x, y, intensity * to->scale + to->offset);
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

/* Index of a pixel's first channel in `intensity` and `output[0]`. */
static size_t index_of(const CfExactLlf *filter, int x, int y)
{
  return ((size_t)y * (size_t)filter->pyramid.width[0] + (size_t)x) * (size_t)filter->channels;
}

/* The filter's output for an intensity, with `protect` applied. */
static double eased(const State *state, double intensity, double ceiling, double output)
{
  if (!state->params.protect)
    return output;
  return intensity + cf_llf_protected(intensity, ceiling, output - intensity);
}

/* Mixes the input with the result by `strength`. */
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

/* Luma at chroma sample (x, y): the mean of its pixels, before and after the filter. */
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

/* Stores both chroma samples at (x, y), which follow luma. */
static void store_chroma(const State *state, const CfJob *job, int x, int y)
{
  const CfLlfComponent *chroma = &state->component[1];
  const double centre = cf_chroma_centre(&state->video);
  double code[2], from_grey[2], clamped[2], luma, filtered, follow, most;

  chroma_luma(state, x, y, &luma, &filtered);
  most = CF_LLF_MAX_CHROMA * chroma->scale * (luma + CF_LLF_GAIN_EPSILON);
  for (int c = 0; c < 2; c++) {
    code[c] = load_code(state, &job->source, 1 + c, x, y);
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
    store_code(state, &job->destination, 1 + c, x, y,
               mixed(state, code[c], code[c] + follow * clamped[c]));
}

/* The largest of red, green and blue of a pixel whose colours follow luma, else its intensity. */
static double ceiling_of(const State *state, const CfJob *job, int x, int y, double intensity)
{
  const CfPlaneFormat *plane =
      &cf_format_info(state->video.format)->plane[state->component[1].plane];
  const CfLlfColours colours = cf_llf_colours(&state->video);
  double chroma[2];

  if (state->params.color_mode != CF_LLF_LUMINANCE || state->components == 1)
    return intensity;
  for (int c = 0; c < 2; c++)
    chroma[c] = load_intensity(state, &job->source, 1 + c, x >> plane->subsampling_x,
                               y >> plane->subsampling_y) -
                0.5;
  return intensity + cf_llf_colour_above(&colours, chroma[0], chroma[1]);
}

/* Filters components `first`, `first` + 1, ..., one per channel of the filter. */
static void filter_components(State *state, const CfJob *job, int first, CfExactLlf *filter)
{
  const int width = filter->pyramid.width[0], height = filter->pyramid.height[0];

  for (int y = 0; y < height; y++)
    for (int x = 0; x < width; x++)
      for (int c = 0; c < filter->channels; c++)
        filter->intensity[index_of(filter, x, y) + (size_t)c] =
            clamp_intensity(load_intensity(state, &job->source, first + c, x, y));
  cf_exact_llf_run(filter, &state->params, state->threads);
  for (int y = 0; y < height; y++) {
    for (int x = 0; x < width; x++) {
      for (int c = 0; c < filter->channels; c++) {
        const size_t at = index_of(filter, x, y) + (size_t)c;
        const double intensity = filter->intensity[at], *output = &filter->output[0][at];
        const double before = load_intensity(state, &job->source, first + c, x, y);

        filter->output[0][at] =
            eased(state, intensity, ceiling_of(state, job, x, y, intensity), *output);
        store_intensity(state, &job->destination, first + c, x, y,
                        mixed(state, before, *output + before - intensity));
      }
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

/* ---- The engine ---- */

static bool run(void *opaque, const CfJob *job, CfStatus *status)
{
  State *state = opaque;
  const CfFormatInfo *format = cf_format_info(state->video.format);
  const bool luminance = state->params.color_mode == CF_LLF_LUMINANCE;

  if (state->filters == 0 && !open_filters(state, status))
    return false;
  if (format->alpha) {
    const CfSamples from = cf_samples_of(&state->video, &job->source, 0);
    const CfSamples to = cf_samples_of(&state->video, &job->destination, 0);

    cf_samples_copy(&from, &to);
  }
  if (luminance && format->rgb) {
    filter_rgb_luminance(state, job);
    return true;
  }
  for (int i = 0; i < state->filters; i++)
    filter_components(state, job, i, &state->filter[i]);
  for (int y = 0; luminance && state->components == 3 && y < state->component[1].height; y++)
    for (int x = 0; x < state->component[1].width; x++)
      store_chroma(state, job, x, y);
  return true;
}

static bool update(void *opaque, const void *params, CfStatus *status)
{
  State *state = opaque;

  close_filters(state);
  state->params = *(const CfLlfParams *)params;
  return true;
}

static void *open_state(const CfVideo *video, const void *params, const CfOpenOptions *options,
                        CfStatus *status)
{
  State *state = cf_zeroed(sizeof *state, status);

  if (!state)
    return NULL;
  state->video = *video;
  state->threads = cf_thread_count(options->threads);
  state->components = cf_llf_components(video, state->component);
  state->params = *(const CfLlfParams *)params;
  return state;
}

static const char *algorithm(const void *state)
{
  return "exact-double";
}

static void close_state(void *opaque)
{
  close_filters(opaque);
  free(opaque);
}

const CfEngine cf_llf_reference = {
    .name = "reference",
    .open = open_state,
    .update = update,
    .run = run,
    .algorithm = algorithm,
    .close = close_state,
};
