/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Tone mapping on the CPU: pairs of rows, in pieces that stay in a cache, before and after the
 * local Laplacian filter of the plane.
 */
#include <stdatomic.h>
#include <stdlib.h>

#include "cpu/common/int_math.h"
#include "cpu/common/memory.h"
#include "cpu/common/parallel.h"
#include "cpu/llf/pixel_io.h"
#include "cpu/tonemap/pixels.h"

/* A role's samples in their plane. */
typedef struct {
  int plane;
  bool halved_x, halved_y;
  CfLlfSamples samples;
} Component;

typedef struct {
  CfVideo video, destination;
  int threads;
  Component luma, blue, red; /* of the source */
  CfTonemapSource source;
  CfTonemapTones tones;
  CfTonemapMatrix matrix;
  CfTonemapCode luma_code, chroma_code; /* luma: red, green and blue too */
  float dither[8][CF_TONEMAP_PIECE];    /* of the rows of a plane */
  CfTonemapParams params;

  CfTonemapMemory memory; /* of frames before, where the peak is measured */
  atomic_uint histogram[CF_TONEMAP_BINS];

  void *filter;           /* state of cf_llf_cpu */
  uint16_t *plane, *base; /* rows of `stride` samples */
  int stride;
} State;

/* A frame's loop over rows or pairs of them. */
typedef struct {
  State *state;
  const CfJob *job;
} Loop;

/* A piece of a pair of rows: the rows y .. y + rows - 1, columns x .. x + count - 1. */
typedef struct {
  int x, y, count, rows;
} Piece;

typedef float Row[CF_TONEMAP_PIECE];

/* ---- Light ---- */

static void load(const CfPicture *picture, const Component *component, int x, int y, int count,
                 float *code)
{
  const int row = component->halved_y ? y / 2 : y;

  cf_llf_load(&component->samples,
              picture->data[component->plane] + row * picture->stride[component->plane], x, count,
              code);
}

/* Chroma of each pixel. */
static void load_chroma(const CfPicture *picture, const Component *component, const Piece *piece,
                        int y, float *code)
{
  Row half;

  if (!component->halved_x) {
    load(picture, component, piece->x, y, piece->count, code);
    return;
  }
  load(picture, component, piece->x / 2, y, cf_divide_up(piece->count, 2), half);
  cf_tonemap_double(half, cf_divide_up(piece->count, 2), code);
}

/* Of row y of a piece. */
static void load_light(const Loop *loop, const Piece *piece, int y, float *const light[3])
{
  const State *state = loop->state;
  const CfPicture *picture = &loop->job->source;
  Row luma, blue, red;

  load(picture, &state->luma, piece->x, y, piece->count, luma);
  load_chroma(picture, &state->blue, piece, y, blue);
  load_chroma(picture, &state->red, piece, y, red);
  cf_tonemap_light(&state->source, luma, blue, red, piece->count, light);
}

/* ---- Analyse ---- */

static void count_row(const uint16_t *plane, int width, unsigned histogram[CF_TONEMAP_BINS])
{
  for (int x = 0; x < width; x++)
    histogram[plane[x] / (65536 / CF_TONEMAP_BINS)]++;
}

static void add_histogram(State *state, const unsigned histogram[CF_TONEMAP_BINS])
{
  for (int i = 0; i < CF_TONEMAP_BINS; i++) {
    if (histogram[i])
      atomic_fetch_add_explicit(&state->histogram[i], histogram[i], memory_order_relaxed);
  }
}

static void analyse_rows(void *context, int first, int end)
{
  const Loop *loop = context;
  State *state = loop->state;
  const int width = state->video.width;
  const bool dynamic = cf_tonemap_is_dynamic(&state->params);
  unsigned histogram[CF_TONEMAP_BINS] = {0};
  Row red, green, blue;
  float *const light[3] = {red, green, blue};

  for (int y = first; y < end; y++) {
    uint16_t *plane = state->plane + (size_t)y * (size_t)state->stride;

    for (int x = 0; x < width; x += CF_TONEMAP_PIECE) {
      const Piece piece = {x, y, cf_min(width - x, CF_TONEMAP_PIECE), 1};

      load_light(loop, &piece, y, light);
      cf_tonemap_analyse(light, piece.count, plane + x);
    }
    if (dynamic)
      count_row(plane, width, histogram);
  }
  if (dynamic)
    add_histogram(state, histogram);
}

/* ---- Finish ---- */

static uint8_t *row_of(const CfPicture *picture, int plane, int y)
{
  return picture->data[plane] + y * picture->stride[plane];
}

static void store_rgb(const State *state, const CfPicture *to, const Piece *piece, int y,
                      float *const signal[3])
{
  const bool reversed = state->destination.format == CF_FORMAT_BGRA;

  cf_tonemap_store_opaque(&state->luma_code, signal[reversed ? 2 : 0], signal[1],
                          signal[reversed ? 0 : 2], state->dither[y & 7], piece->count,
                          row_of(to, 0, y) + (ptrdiff_t)4 * piece->x);
}

static void store_luma(const State *state, const CfPicture *to, const Piece *piece, int y,
                       const float *luma)
{
  const int bytes = cf_sample_bytes(cf_format_info(state->destination.format));
  uint8_t *row = row_of(to, 0, y) + (ptrdiff_t)bytes * piece->x;

  (bytes == 2 ? cf_tonemap_store_16 : cf_tonemap_store_8)(&state->luma_code, luma,
                                                          state->dither[y & 7], piece->count, row);
}

/* Of both rows. */
static void store_chroma(const State *state, const CfPicture *to, const Piece *piece,
                         float *const signal[2][3], float *const luma[2])
{
  const CfFormatInfo *format = cf_format_info(state->destination.format);
  const int x = piece->x / 2, y = piece->y / 2, count = cf_divide_up(piece->count, 2);
  const float *dither = state->dither[y & 7];
  Row blue, red;

  cf_tonemap_chroma(&state->matrix, signal, luma, piece->count, blue, red);
  if (format->planes == 3) {
    cf_tonemap_store_8(&state->chroma_code, blue, dither, count, row_of(to, 1, y) + x);
    cf_tonemap_store_8(&state->chroma_code, red, dither, count, row_of(to, 2, y) + x);
  } else if (format->bits == 8) {
    cf_tonemap_store_pair_8(&state->chroma_code, blue, red, dither, count,
                            row_of(to, 1, y) + (ptrdiff_t)2 * x);
  } else {
    cf_tonemap_store_pair_16(&state->chroma_code, blue, red, dither, count,
                             row_of(to, 1, y) + (ptrdiff_t)4 * x);
  }
}

static void finish_piece(const Loop *loop, const Piece *piece)
{
  const State *state = loop->state;
  const CfPicture *to = &loop->job->destination;
  const bool rgb = cf_format_info(state->destination.format)->rgb;
  Row linear[3], encoded[2][3], luma[2];
  float *const light[3] = {linear[0], linear[1], linear[2]};
  const int last = piece->rows - 1;

  for (int row = 0; row < piece->rows; row++) {
    const int y = piece->y + row;
    const size_t at = (size_t)y * (size_t)state->stride + (size_t)piece->x;
    float *const signal[3] = {encoded[row][0], encoded[row][1], encoded[row][2]};

    load_light(loop, piece, y, light);
    cf_tonemap_finish(&state->tones, light, state->plane + at, state->base + at, piece->count,
                      signal);
    if (rgb) {
      store_rgb(state, to, piece, y, signal);
    } else {
      cf_tonemap_luma(&state->matrix, signal, piece->count, luma[row]);
      store_luma(state, to, piece, y, luma[row]);
    }
  }
  if (!rgb) {
    float *const signal[2][3] = {{encoded[0][0], encoded[0][1], encoded[0][2]},
                                 {encoded[last][0], encoded[last][1], encoded[last][2]}};

    store_chroma(state, to, piece, signal, (float *const[2]){luma[0], luma[last]});
  }
}

static void finish_pairs(void *context, int first, int end)
{
  const Loop *loop = context;
  const int width = loop->state->video.width, height = loop->state->video.height;

  for (int pair = first; pair < end; pair++) {
    for (int x = 0; x < width; x += CF_TONEMAP_PIECE) {
      const Piece piece = {x, 2 * pair, cf_min(width - x, CF_TONEMAP_PIECE),
                           cf_min(height - 2 * pair, 2)};

      finish_piece(loop, &piece);
    }
  }
}

/* ---- A frame ---- */

static void set_tones(State *state, double peak)
{
  const CfTonemapParams *params = &state->params;
  const CfTonemapCurve curve = cf_tonemap_curve(params, peak);
  CfTonemapTones *tones = &state->tones;

  tones->detail = (float)(params->detail - 1.0);
  tones->raises = params->detail > 1.0;
  tones->noise_floor = (float)params->noise_floor;
  tones->knee = (float)CF_TONEMAP_KNEE;
  tones->room = (float)(1.0 - CF_TONEMAP_KNEE);
  tones->most = (float)((curve.most - CF_TONEMAP_KNEE) / (1.0 - CF_TONEMAP_KNEE));
  cf_tonemap_tone_table(&curve, params->saturation, tones->tone);
}

/* From what the loop over rows has counted. */
static void follow_peak(State *state, const CfJob *job)
{
  uint32_t histogram[CF_TONEMAP_BINS];

  for (int i = 0; i < CF_TONEMAP_BINS; i++)
    histogram[i] = atomic_exchange_explicit(&state->histogram[i], 0, memory_order_relaxed);
  if (job->fresh)
    state->memory.started = false;
  set_tones(state, cf_tonemap_next_peak(
                       &state->memory, &state->params, histogram,
                       (uint32_t)state->video.width * (uint32_t)state->video.height, job->seconds));
}

static CfPicture picture_of(const State *state, uint16_t *memory)
{
  return (CfPicture){{(uint8_t *)memory}, {(ptrdiff_t)sizeof *memory * state->stride}};
}

static bool run(void *opaque, const CfJob *job, CfStatus *status)
{
  State *state = opaque;
  const CfJob filter = {.source = picture_of(state, state->plane),
                        .destination = picture_of(state, state->base)};
  const int height = state->video.height, pairs = cf_divide_up(height, 2);
  Loop loop = {state, job};

  cf_parallel_for(state->threads, height, cf_even_grain(state->threads, height), analyse_rows,
                  &loop);
  if (cf_tonemap_is_dynamic(&state->params))
    follow_peak(state, job);
  if (!cf_llf_cpu.run(state->filter, &filter, status))
    return false;
  cf_parallel_for(state->threads, pairs, cf_even_grain(state->threads, pairs), finish_pairs, &loop);
  return true;
}

/* ---- Parameters ---- */

static void set_dither(State *state)
{
  for (int y = 0; y < 8; y++)
    for (int x = 0; x < CF_TONEMAP_PIECE; x++)
      state->dither[y][x] =
          state->params.dither ? ((float)cf_tonemap_dither[y][x & 7] + 0.5f) / 64.0f : 0.5f;
}

static bool update(void *opaque, const void *params, CfStatus *status)
{
  State *state = opaque;
  const CfTonemapParams *next = params;
  const CfLlfParams filter = cf_tonemap_filter(next);

  if (!cf_llf_cpu.update(state->filter, &filter, status))
    return false;
  state->params = *next;
  if (!cf_tonemap_is_dynamic(next))
    state->memory.started = false;
  set_dither(state);
  set_tones(state, cf_tonemap_peak(next, state->video.transfer));
  return true;
}

/* ---- Life ---- */

static Component component_of(const CfVideo *video, CfRole role)
{
  const CfFormatInfo *format = cf_format_info(video->format);
  CfLlfComponent components[3];
  const int i = role == CF_ROLE_LUMA ? 0 : role == CF_ROLE_CHROMA_BLUE ? 1 : 2;

  cf_llf_components(video, components);
  return (Component){.plane = components[i].plane,
                     .halved_x = format->plane[components[i].plane].subsampling_x,
                     .halved_y = format->plane[components[i].plane].subsampling_y,
                     .samples = cf_llf_samples(video, &components[i])};
}

static void set_source(State *state)
{
  const CfTonemapCodes codes = cf_tonemap_codes(&state->video);
  CfTonemapSource *source = &state->source;

  source->transfer = state->video.transfer;
  source->luma_offset = (float)codes.luma_offset;
  source->luma_gain = (float)(1.0 / codes.luma_scale);
  source->chroma_centre = (float)codes.chroma_centre;
  source->chroma_gain = (float)(1.0 / codes.chroma_scale);
  source->red_from = (float)codes.red_from;
  source->blue_from = (float)codes.blue_from;
  source->green_from_blue = (float)codes.green_from_blue;
  source->green_from_red = (float)codes.green_from_red;
  cf_tonemap_light_table(source->transfer, source->light);
  state->luma = component_of(&state->video, CF_ROLE_LUMA);
  state->blue = component_of(&state->video, CF_ROLE_CHROMA_BLUE);
  state->red = component_of(&state->video, CF_ROLE_CHROMA_RED);
}

static void set_destination(State *state)
{
  const CfFormatInfo *format = cf_format_info(state->destination.format);
  const CfTonemapCodes codes = cf_tonemap_codes(&state->destination);
  const float most = (float)cf_max_code(format);

  state->luma_code =
      (CfTonemapCode){(float)codes.luma_scale, (float)codes.luma_offset, most, format->shift};
  state->chroma_code =
      (CfTonemapCode){(float)codes.chroma_scale, (float)codes.chroma_centre, most, format->shift};
  for (int c = 0; c < 3; c++)
    state->matrix.weight[c] = (float)codes.weight[c];
  state->matrix.blue_gain = (float)(1.0 / codes.blue_from);
  state->matrix.red_gain = (float)(1.0 / codes.red_from);
}

static void close_state(void *opaque)
{
  State *state = opaque;

  if (state->filter)
    cf_llf_cpu.close(state->filter);
  free(state->plane);
  free(state->base);
  free(state);
}

static void *open_state(const CfVideo *video, const void *params, const CfOpenOptions *options,
                        CfStatus *status)
{
  const CfVideo plane = cf_tonemap_plane(video);
  const CfLlfParams filter = cf_tonemap_filter(params);
  const int samples = CF_ALIGNMENT / (int)sizeof(uint16_t);
  const int stride = cf_divide_up(video->width, samples) * samples;
  const size_t bytes = (size_t)stride * (size_t)video->height * sizeof(uint16_t);
  State *state = calloc(1, sizeof *state);

  if (state) {
    state->video = *video;
    state->destination = *options->destination;
    state->threads = cf_thread_count(options->threads);
    state->stride = stride;
    state->plane = cf_aligned_alloc(bytes);
    state->base = cf_aligned_alloc(bytes);
  }
  if (!state || !state->plane || !state->base) {
    cf_fail(status, CF_ERROR_NO_MEMORY, "out of memory for tone mapping of %dx%d pixels",
            video->width, video->height);
    if (state)
      close_state(state);
    return NULL;
  }
  set_source(state);
  set_destination(state);
  state->filter =
      cf_llf_cpu.open(&plane, &filter, &(CfOpenOptions){.threads = options->threads}, status);
  if (!state->filter || !update(state, params, status)) {
    close_state(state);
    return NULL;
  }
  return state;
}

static const char *algorithm(const void *state)
{
  return cf_llf_cpu.algorithm(((const State *)state)->filter);
}

const CfEngine cf_tonemap_cpu = {
    .name = "cpu",
    .open = open_state,
    .update = update,
    .run = run,
    .algorithm = algorithm,
    .close = close_state,
};
