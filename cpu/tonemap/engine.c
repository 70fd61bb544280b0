/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Tone mapping on the CPU: loops over rows and pairs of rows, in pieces that stay in the
 * first-level cache, before and after the local Laplacian filter of the plane.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "cpu/common/memory.h"
#include "cpu/common/parallel.h"
#include "cpu/llf/pixel_io.h"
#include "cpu/tonemap/pixels.h"
#include "plan/int_math.h"

/* Where the samples of a component lie. */
typedef struct {
  int plane;
  bool halved_x, halved_y;
  CfLlfSamples samples;
} Component;

typedef struct {
  CfVideo video, destination;
  int threads;
  Component from[3]; /* luma, blue chroma, red chroma */
  Component to[3];   /* the same, or red, green, blue */
  CfTonemapSource source;
  CfTonemapTones tones;
  CfTonemapCodes codes; /* of the destination */
  CfTonemapParams params;

  /* A code of the destination is scale * value + offset[row & 7][column & 7], rounded half up. */
  float scale[3], offset[3][8][CF_TONEMAP_PIECE];

  CfTonemapMemory memory; /* of previous frames, where the peak is measured */
  atomic_uint histogram[CF_TONEMAP_BINS];

  void *filter;           /* state of cf_llf_cpu */
  uint16_t *plane, *base; /* rows of `stride` samples */
  int stride;
} State;

/* The context of a loop over rows, or pairs of rows, of a frame. */
typedef struct {
  State *state;
  const CfJob *job;
} Loop;

/* Rows y..y + rows - 1 and columns x..x + count - 1 of a pair of rows. */
typedef struct {
  int x, y, count, rows;
} Piece;

/* ---- Light ---- */

/* The codes of a component for each pixel of row `y`; subsampled samples are repeated. */
static void load(const CfPicture *picture, const Component *component, const Piece *piece, int y,
                 float *code)
{
  const uint8_t *row = cf_row(picture, component->plane, component->halved_y ? y / 2 : y);
  const int half = cf_divide_up(piece->count, 2);
  CfTonemapRow samples;

  if (component->halved_x) {
    cf_llf_load(&component->samples, row, piece->x / 2, half, samples);
    cf_tonemap_double(samples, half, code);
  } else {
    cf_llf_load(&component->samples, row, piece->x, piece->count, code);
  }
}

/* Linear light of row `y` of a piece. */
static void load_light(const Loop *loop, const Piece *piece, int y, CfTonemapRow light[3])
{
  const State *state = loop->state;
  CfTonemapRow code[3];

  for (int c = 0; c < 3; c++)
    load(&loop->job->source, &state->from[c], piece, y, code[c]);
  cf_tonemap_light(&state->source, code[0], code[1], code[2], piece->count, light);
}

/* ---- Analyse ---- */

static void count_row(const uint16_t *plane, int width, unsigned histogram[CF_TONEMAP_BINS])
{
  for (int x = 0; x < width; x++)
    histogram[plane[x] / CF_TONEMAP_CODES_OF_BIN]++;
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
  CfTonemapRow light[3];

  for (int y = first; y < end; y++) {
    uint16_t *plane = state->plane + (size_t)y * (size_t)state->stride;

    for (int x = 0; x < width; x += CF_TONEMAP_PIECE) {
      const Piece piece = {x, y, cf_min(width - x, CF_TONEMAP_PIECE), 1};

      load_light(loop, &piece, y, light);
      cf_tonemap_analyse(&state->source, light, piece.count, plane + x);
    }
    if (dynamic)
      count_row(plane, width, histogram);
  }
  if (dynamic)
    add_histogram(state, histogram);
}

/* ---- Finish ---- */

/* Stores samples of a component; x and y count its own samples. */
static void store(const Loop *loop, int component, int x, int y, int count, const float *value)
{
  const State *state = loop->state;
  const Component *to = &state->to[component];
  uint8_t *row = cf_row(&loop->job->destination, to->plane, y);

  cf_llf_store(&to->samples, row, row, x, count, state->offset[component][y & 7],
               state->scale[component], value);
}

static void store_opaque(const Loop *loop, const Piece *piece, int y, CfTonemapRow signal[3])
{
  memset(cf_row(&loop->job->destination, 0, y) + (ptrdiff_t)4 * piece->x, 255,
         (size_t)4 * (size_t)piece->count);
  for (int c = 0; c < 3; c++)
    store(loop, c, piece->x, y, piece->count, signal[c]);
}

/* Stores the chroma of both rows of a piece. */
static void store_chroma(const Loop *loop, const Piece *piece, CfTonemapRow signal[2][3],
                         CfTonemapRow luma[2])
{
  const CfTonemapCodes *codes = &loop->state->codes;
  const int last = piece->rows - 1, count = cf_divide_up(piece->count, 2);
  const float *const rows[2] = {luma[0], luma[last]};
  CfTonemapRow blue, red;

  cf_tonemap_chroma((const float *const[2]){signal[0][2], signal[last][2]}, rows,
                    1.0 / codes->blue_from, piece->count, blue);
  cf_tonemap_chroma((const float *const[2]){signal[0][0], signal[last][0]}, rows,
                    1.0 / codes->red_from, piece->count, red);
  store(loop, 1, piece->x / 2, piece->y / 2, count, blue);
  store(loop, 2, piece->x / 2, piece->y / 2, count, red);
}

static void finish_piece(const Loop *loop, const Piece *piece)
{
  const State *state = loop->state;
  const bool rgb = cf_format_info(state->destination.format)->rgb;
  CfTonemapRow light[3], signal[2][3], luma[2];

  for (int row = 0; row < piece->rows; row++) {
    const int y = piece->y + row;
    const size_t at = (size_t)y * (size_t)state->stride + (size_t)piece->x;

    load_light(loop, piece, y, light);
    cf_tonemap_finish(&state->tones, light, state->plane + at, state->base + at, piece->count,
                      signal[row]);
    if (rgb) {
      store_opaque(loop, piece, y, signal[row]);
    } else {
      cf_tonemap_luma(&state->codes, signal[row], piece->count, luma[row]);
      store(loop, 0, piece->x, y, piece->count, luma[row]);
    }
  }
  if (!rgb)
    store_chroma(loop, piece, signal, luma);
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

  state->tones.detail = params->detail;
  state->tones.noise_floor = params->noise_floor;
  state->tones.most = curve.most;
  cf_tonemap_tone_table(&curve, params->saturation, state->tones.tone);
}

/* Sets the tones for the peak of the histogram that the loop over rows has counted. */
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
  const int height = state->video.height;
  Loop loop = {state, job};

  cf_parallel_evenly(state->threads, height, analyse_rows, &loop);
  if (cf_tonemap_is_dynamic(&state->params))
    follow_peak(state, job);
  if (!cf_llf_cpu.run(state->filter, &filter, status))
    return false;
  cf_parallel_evenly(state->threads, cf_divide_up(height, 2), finish_pairs, &loop);
  return true;
}

/* ---- Parameters ---- */

/* Sets scales and offsets from values to codes of the destination. */
static void set_codes(State *state)
{
  const CfTonemapCodes *codes = &state->codes;

  for (int c = 0; c < 3; c++) {
    const bool chroma = c > 0 && !cf_format_info(state->destination.format)->rgb;
    const double offset = chroma ? codes->chroma_centre : codes->luma_offset;

    state->scale[c] = (float)(chroma ? codes->chroma_scale : codes->luma_scale);
    for (int y = 0; y < 8; y++) {
      for (int x = 0; x < CF_TONEMAP_PIECE; x++)
        state->offset[c][y][x] = (float)(offset + cf_tonemap_rounding(&state->params, x, y) - 0.5);
    }
  }
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
  set_codes(state);
  set_tones(state, cf_tonemap_peak(next, state->video.transfer));
  return true;
}

/* ---- Life ---- */

static void find_components(const CfVideo *video, Component components[3])
{
  CfLlfComponent found[3];

  cf_llf_components(video, found);
  for (int i = 0; i < 3; i++) {
    const CfPlaneFormat *plane = &cf_format_info(video->format)->plane[found[i].plane];

    components[i].plane = found[i].plane;
    components[i].halved_x = plane->subsampling_x;
    components[i].halved_y = plane->subsampling_y;
    components[i].samples = cf_llf_samples(video, &found[i]);
  }
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
  state->source.transfer = video->transfer;
  state->source.codes = cf_tonemap_codes(video);
  state->source.primaries = state->tones.primaries = &cf_tonemap_primaries[video->primaries];
  state->source.luma_gain = (float)(1.0 / state->source.codes.luma_scale);
  state->source.chroma_gain = (float)(1.0 / state->source.codes.chroma_scale);
  cf_tonemap_light_table(video->transfer, state->source.light);
  find_components(video, state->from);
  state->codes = cf_tonemap_codes(&state->destination);
  find_components(&state->destination, state->to);
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
