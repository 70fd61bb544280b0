/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Tone mapping by the definition in plan/tonemap_plan.h, pixel by pixel in double precision.
 */
#include "plan/tonemap_plan.h"

#include <math.h>
#include <stdlib.h>

#include "cpu/common/parallel.h"
#include "cpu/common/samples.h"
#include "cpu/reference/llf_series.h"

typedef struct {
  CfVideo video, destination;
  CfTonemapParams params;
  CfTonemapCodes from, to;
  const CfTonemapPrimaries *primaries; /* of the source */
  CfTonemapCurve curve;
  CfTonemapMemory memory; /* of previous frames, where the peak is measured */
  int threads;
  double *plane;  /* v / STOPS, 0..1, rounded to codes of 16 bits */
  double *base;   /* the filtered plane, likewise */
  double *signal; /* R'G'B' of the result */
} State;

/* ---- Samples ---- */

/* Finds the plane of a role, and the role's channel. */
static CfSamples find_plane(const CfVideo *video, const CfPicture *picture, CfRole role, int *p,
                            int *channel)
{
  cf_find_role(cf_format_info(video->format), role, p, channel);
  return cf_samples_of(video, picture, *p);
}

/* The code of the sample that luma pixel (x, y) belongs to. */
static double load(const CfVideo *video, const CfPicture *picture, CfRole role, int x, int y)
{
  int p, channel;
  const CfSamples plane = find_plane(video, picture, role, &p, &channel);
  const CfPlaneFormat *info = &plane.format->plane[p];

  return cf_sample_load(&plane, x >> info->subsampling_x, y >> info->subsampling_y, channel);
}

/* Stores a sample; `x` and `y` count samples of its plane. */
static void store(const State *state, const CfPicture *picture, CfRole role, int x, int y,
                  double code)
{
  int p, channel;
  const CfSamples plane = find_plane(&state->destination, picture, role, &p, &channel);

  cf_sample_store(&plane, x, y, channel, code + cf_tonemap_rounding(&state->params, x, y));
}

/* ---- Light ---- */

static double weigh(const double weight[3], const double color[3])
{
  return weight[0] * color[0] + weight[1] * color[1] + weight[2] * color[2];
}

/* The linear light of a pixel, in nits. */
static void light_of(const State *state, const CfPicture *picture, int x, int y, double light[3])
{
  const CfTonemapCodes *from = &state->from;
  const double luma =
      (load(&state->video, picture, CF_ROLE_LUMA, x, y) - from->luma_offset) / from->luma_scale;
  const double blue =
      (load(&state->video, picture, CF_ROLE_CHROMA_BLUE, x, y) - from->chroma_centre) /
      from->chroma_scale;
  const double red =
      (load(&state->video, picture, CF_ROLE_CHROMA_RED, x, y) - from->chroma_centre) /
      from->chroma_scale;
  const double signal[3] = {luma + from->red_from * red,
                            luma - from->green_from_blue * blue - from->green_from_red * red,
                            luma + from->blue_from * blue};
  double luminance;

  if (state->video.transfer == CF_TRANSFER_PQ) {
    for (int c = 0; c < 3; c++)
      light[c] = cf_pq_eotf(signal[c]);
    return;
  }
  for (int c = 0; c < 3; c++)
    light[c] = cf_hlg_inverse_oetf(signal[c]);
  luminance = weigh(state->primaries->luminance, light);
  for (int c = 0; c < 3 && luminance > 0.0; c++)
    light[c] *= CF_TONEMAP_HLG_PEAK * pow(luminance, CF_TONEMAP_HLG_GAMMA - 1.0);
}

static double rounded_plane(double share)
{
  return floor(65535.0 * fmin(fmax(share, 0.0), 1.0) + 0.5) / 65535.0;
}

static void analyse(const State *state, const CfPicture *source)
{
  const int width = state->video.width;

  for (int y = 0; y < state->video.height; y++) {
    for (int x = 0; x < width; x++) {
      double light[3];

      light_of(state, source, x, y, light);
      state->plane[(size_t)y * (size_t)width + (size_t)x] = rounded_plane(
          cf_tonemap_log(weigh(state->primaries->luminance, light)) / CF_TONEMAP_STOPS);
    }
  }
}

/* The R'G'B' of a pixel of the result. */
static void finish_pixel(const State *state, const double light[3], double plane, double base,
                         double signal[3])
{
  const double v = plane * CF_TONEMAP_STOPS, b = base * CF_TONEMAP_STOPS;
  const double own = cf_tonemap_gain(&state->curve, v);
  const double local =
      cf_tonemap_local(&state->params, v - b, cf_tonemap_gain(&state->curve, b) - own,
                       cf_tonemap_room(&state->curve, v));
  const double gain = exp2(own + local);
  const double saturation = state->params.saturation * cf_tonemap_saturation(&state->curve, v);
  double color[3], share[3], luminance, most, norm, scale, over = 1.0;

  for (int c = 0; c < 3; c++)
    color[c] = gain * weigh(state->primaries->to_709[c], light);
  luminance = weigh(cf_tonemap_primaries[CF_PRIMARIES_709].luminance, color);
  most = fmax(fmax(color[0], color[1]), color[2]);
  norm = luminance + CF_TONEMAP_BRIGHTEST * (most - luminance);
  scale = norm > 0.0 ? cf_tonemap_roll_off(&state->curve, norm) / norm : 1.0;

  const double grey = scale * luminance;
  for (int c = 0; c < 3; c++) {
    color[c] = saturation * scale * (color[c] - luminance);
    over = fmax(over, -color[c] / fmax(grey, 1e-9));
  }
  for (int c = 0; c < 3; c++)
    color[c] = fmax(grey + color[c] / over, 0.0);
  most = fmax(fmax(color[0], color[1]), fmax(color[2], 1.0));
  const double pale = cf_tonemap_paling(most, fmin(fmin(color[0], color[1]), color[2]), grey);
  for (int c = 0; c < 3; c++)
    color[c] /= most;
  cf_tonemap_shares(color, pale, share);
  for (int c = 0; c < 3; c++)
    signal[c] = pow(color[c] + share[c] * (1.0 - color[c]), 1.0 / CF_TONEMAP_GAMMA);
}

typedef struct {
  const State *state;
  const CfPicture *source;
} FinishContext;

static void finish_rows(void *context, int first, int end)
{
  const FinishContext *finish = context;
  const State *state = finish->state;
  const int width = state->video.width;

  for (int y = first; y < end; y++) {
    for (int x = 0; x < width; x++) {
      const size_t at = (size_t)y * (size_t)width + (size_t)x;
      double light[3];

      light_of(state, finish->source, x, y, light);
      finish_pixel(state, light, state->plane[at], state->base[at], &state->signal[3 * at]);
    }
  }
}

/* ---- Result ---- */

static const double *signal_at(const State *state, int x, int y)
{
  return &state->signal[3 * ((size_t)y * (size_t)state->video.width + (size_t)x)];
}

static void store_rgb(const State *state, const CfPicture *to)
{
  static const CfRole roles[3] = {CF_ROLE_RED, CF_ROLE_GREEN, CF_ROLE_BLUE};
  const double most = cf_max_code(cf_format_info(state->destination.format));

  for (int y = 0; y < state->video.height; y++) {
    for (int x = 0; x < state->video.width; x++) {
      for (int c = 0; c < 3; c++)
        store(state, to, roles[c], x, y, most * signal_at(state, x, y)[c]);
      store(state, to, CF_ROLE_ALPHA, x, y, most);
    }
  }
}

static void store_luma(const State *state, const CfPicture *to)
{
  for (int y = 0; y < state->video.height; y++)
    for (int x = 0; x < state->video.width; x++)
      store(state, to, CF_ROLE_LUMA, x, y,
            state->to.luma_offset +
                state->to.luma_scale * weigh(state->to.weight, signal_at(state, x, y)));
}

/* Stores the chroma of a block of 2x2 pixels: the mean over those in the picture. */
static void store_chroma(const State *state, const CfPicture *to, int x, int y)
{
  const CfTonemapCodes *codes = &state->to;
  double blue = 0.0, red = 0.0;
  int count = 0;

  for (int row = 2 * y; row < 2 * y + 2 && row < state->video.height; row++) {
    for (int column = 2 * x; column < 2 * x + 2 && column < state->video.width; column++) {
      const double *signal = signal_at(state, column, row);
      const double luma = weigh(codes->weight, signal);

      blue += (signal[2] - luma) / codes->blue_from;
      red += (signal[0] - luma) / codes->red_from;
      count++;
    }
  }
  store(state, to, CF_ROLE_CHROMA_BLUE, x, y,
        codes->chroma_centre + codes->chroma_scale * blue / count);
  store(state, to, CF_ROLE_CHROMA_RED, x, y,
        codes->chroma_centre + codes->chroma_scale * red / count);
}

static void store_picture(const State *state, const CfPicture *to)
{
  if (cf_format_info(state->destination.format)->rgb) {
    store_rgb(state, to);
    return;
  }
  store_luma(state, to);
  for (int y = 0; y < (state->video.height + 1) / 2; y++)
    for (int x = 0; x < (state->video.width + 1) / 2; x++)
      store_chroma(state, to, x, y);
}

/* ---- The engine ---- */

static void close_state(void *opaque)
{
  State *state = opaque;

  free(state->plane);
  free(state->base);
  free(state->signal);
  free(state);
}

static bool update(void *opaque, const void *params, CfStatus *status)
{
  State *state = opaque;

  state->params = *(const CfTonemapParams *)params;
  if (!cf_tonemap_is_dynamic(&state->params))
    state->memory.started = false;
  state->curve =
      cf_tonemap_curve(&state->params, cf_tonemap_peak(&state->params, state->video.transfer));
  return true;
}

static void *open_state(const CfVideo *video, const void *params, const CfOpenOptions *options,
                        CfStatus *status)
{
  const size_t pixels = (size_t)video->width * (size_t)video->height;
  State *state = calloc(1, sizeof *state);

  if (state) {
    *state = (State){.video = *video,
                     .destination = *options->destination,
                     .from = cf_tonemap_codes(video),
                     .primaries = &cf_tonemap_primaries[video->primaries],
                     .to = cf_tonemap_codes(options->destination),
                     .threads = cf_thread_count(options->threads),
                     .plane = malloc(pixels * sizeof(double)),
                     .base = malloc(pixels * sizeof(double)),
                     .signal = malloc(3 * pixels * sizeof(double))};
    if (state->plane && state->base && state->signal && update(state, params, status))
      return state;
    close_state(state);
  }
  cf_fail(status, CF_ERROR_NO_MEMORY,
          "out of memory for the reference tone mapping of %dx%d pixels", video->width,
          video->height);
  return NULL;
}

static void follow_peak(State *state, const CfJob *job)
{
  const size_t pixels = (size_t)state->video.width * (size_t)state->video.height;
  uint32_t histogram[CF_TONEMAP_BINS] = {0};

  if (!cf_tonemap_is_dynamic(&state->params))
    return;
  for (size_t i = 0; i < pixels; i++)
    histogram[(int)(65535.0 * state->plane[i] + 0.5) / CF_TONEMAP_CODES_OF_BIN]++;
  if (job->fresh)
    state->memory.started = false;
  state->curve = cf_tonemap_curve(&state->params,
                                  cf_tonemap_next_peak(&state->memory, &state->params, histogram,
                                                       (uint32_t)pixels, job->seconds));
}

static bool run(void *opaque, const CfJob *job, CfStatus *status)
{
  State *state = opaque;
  const CfLlfParams filter = cf_tonemap_filter(&state->params);
  const size_t pixels = (size_t)state->video.width * (size_t)state->video.height;

  analyse(state, &job->source);
  follow_peak(state, job);
  for (size_t i = 0; i < pixels; i++)
    state->base[i] = state->plane[i];
  if (!cf_series_llf_run(state->base, state->video.width, state->video.height, state->video.field,
                         &filter, state->threads))
    return cf_fail(status, CF_ERROR_NO_MEMORY,
                   "out of memory for the reference tone mapping of %dx%d pixels",
                   state->video.width, state->video.height);
  for (size_t i = 0; i < pixels; i++)
    state->base[i] = rounded_plane(state->base[i]);
  cf_parallel_for(state->threads, state->video.height, 1, finish_rows,
                  &(FinishContext){state, &job->source});
  store_picture(state, &job->destination);
  return true;
}

static const char *algorithm(const void *state)
{
  return "series-double";
}

const CfEngine cf_tonemap_reference = {
    .name = "reference",
    .open = open_state,
    .update = update,
    .run = run,
    .algorithm = algorithm,
    .close = close_state,
};
