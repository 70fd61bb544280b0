/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The local Laplacian filter on the CPU: which images of a picture are filtered, by which
 * algorithm, and how the colours follow.
 */
#include "llf.h"
#include "plan/int_math.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cpu/common/memory.h"
#include "cpu/common/parallel.h"
#include "cpu/llf/exact.h"
#include "cpu/llf/pixel_io.h"
#include "cpu/llf/planes.h"

/* Tables [0] are for luma, or red, green and blue; tables [1] for chroma. */
enum { TABLES = 2 };

typedef struct {
  CfVideo video;
  CfLlfParams params;
  int threads;
  int components;
  CfLlfComponent component[3];
  CfLlfSamples samples[3];
  char name[24];

  /* For the methods fast and sampled. */
  CfLlfTables tables[TABLES];
  CfBuffer table_memory;
  CfLlfPlanes *planes;
  int groups; /* the number of groups that `planes` was opened for: 1, or more */

  CfLlfExact *exact[TABLES]; /* for the method exact */
} State;

/* The context of CfLlfImage: one component of the picture that is being filtered. */
typedef struct {
  const State *state;
  const CfJob *job;
  int component;
} Image;

/* ---- Samples ---- */

/* Codes of samples x..x + count - 1 in row `y` of a component. */
static void load_samples(const Image *image, int component, int y, int x, int count, float *code)
{
  const int plane = image->state->component[component].plane;

  cf_llf_load(&image->state->samples[component], cf_row(&image->job->source, plane, y), x, count,
              code);
}

/* Stores samples x..x + count - 1 in row `y` of a component: codes plus `scale` times the
 * differences. The first component also copies the channels that no component has, such as alpha.
 */
static void store_samples(const Image *image, int component, int y, int x, int count,
                          const float *code, double scale, const float *difference)
{
  const int plane = image->state->component[component].plane;
  uint8_t *to = cf_row(&image->job->destination, plane, y);

  cf_llf_store(&image->state->samples[component],
               component == 0 ? cf_row(&image->job->source, plane, y) : to, to, x, count, code,
               (float)scale, difference);
}

/* ---- One component as an image ---- */

static void load_component(const void *context, int y, float *code)
{
  const Image *image = context;

  load_samples(image, image->component, y, 0, image->state->component[image->component].width,
               code);
}

/* Intensities of `count` samples of a component, clamped to 0..1. */
static void intensities(const State *state, int component, const float *code, int count,
                        float *before)
{
  const CfLlfComponent *range = &state->component[component];

  cf_llf_intensities(code, (float)(1.0 / range->scale), (float)(-range->offset / range->scale),
                     count, before);
}

/* With `protect`, reduces the filter's change in place (cf_llf_protected). */
static void ease(const State *state, const float *before, const float *ceiling, int count,
                 float *difference)
{
  if (state->params.protect)
    cf_llf_kernels(16)->ease(before, ceiling, count, difference);
}

static void store_component_row(const Image *image, int y, const float *code, float *difference)
{
  const State *state = image->state;
  const CfLlfComponent *component = &state->component[image->component];
  float before[CF_LLF_PIECE];

  for (int x = 0; x < component->width; x += CF_LLF_PIECE) {
    const int count = cf_min(component->width - x, CF_LLF_PIECE);

    intensities(state, image->component, code + x, count, before);
    ease(state, before, NULL, count, difference + x);
    store_samples(image, image->component, y, x, count, code + x,
                  state->params.strength * component->scale, difference + x);
  }
}

static void store_component(const void *context, int y, int rows, float *const code[2],
                            float *const difference[2])
{
  const Image *image = context;

  for (int row = 0; row < rows; row++)
    store_component_row(image, y + row, code[row], difference[row]);
}

/* ---- Luminance ---- */

/* Chroma samples x..x + count - 1 of row `y`, and by how much the largest colour exceeds luma
 * there. `halved`: two columns of luma share one. */
typedef struct {
  CfLlfChroma range;
  bool halved;
  int x, y, count;
  float code[2][CF_LLF_PIECE], above[CF_LLF_PIECE];
} ChromaPiece;

/* Of the luma columns x..x + columns - 1; x is even. */
static void load_chroma(const Image *image, int x, int y, int columns, ChromaPiece *piece)
{
  const State *state = image->state;
  const int halved = state->component[1].width < state->video.width;

  piece->range =
      (CfLlfChroma){(float)cf_chroma_centre(&state->video), (float)state->component[1].scale};
  piece->halved = halved;
  piece->x = x >> halved;
  piece->y = y;
  piece->count = (columns + halved) >> halved;
  for (int i = 0; i < 2; i++)
    load_samples(image, 1 + i, y, piece->x, piece->count, piece->code[i]);
  if (state->params.protect)
    cf_llf_chroma_above(cf_llf_colours(&state->video), &piece->range, piece->code[0],
                        piece->code[1], piece->count, piece->above);
}

/* Stores luma samples x..x + count - 1 of row `y`, and sets their intensities before the filter. */
static void store_luma_piece(const Image *image, int x, int y, int count, const ChromaPiece *chroma,
                             const float *code, float *difference, float *before)
{
  const State *state = image->state;
  float ceiling[CF_LLF_PIECE];

  intensities(state, 0, code, count, before);
  if (state->params.protect)
    cf_llf_chroma_ceiling(chroma->above, chroma->halved, before, count, ceiling);
  ease(state, before, ceiling, count, difference);
  store_samples(image, 0, y, x, count, code, state->params.strength * state->component[0].scale,
                difference);
}

/* `mean`: the luma of the chroma samples before the filter. */
static void store_chroma_piece(const Image *image, const ChromaPiece *chroma, const float *mean,
                               float *follow)
{
  const State *state = image->state;
  float unit[CF_LLF_PIECE], room[CF_LLF_PIECE], difference[CF_LLF_PIECE];

  if (state->params.protect) {
    cf_llf_chroma_room(&chroma->range, mean, chroma->code[0], chroma->code[1], chroma->count, unit,
                       room);
    cf_llf_kernels(16)->ease_follow(unit, room, chroma->count, follow);
  }
  for (int i = 0; i < 2; i++) {
    cf_llf_follow_chroma(&chroma->range, follow, mean, chroma->code[i], chroma->count, difference);
    store_samples(image, 1 + i, chroma->y, chroma->x, chroma->count, chroma->code[i],
                  state->params.strength, difference);
  }
}

/* Stores `rows` luma rows from `y` on, and row `chroma_y` of the chroma planes, which they share.
 */
static void store_yuv_rows(const Image *image, int y, int chroma_y, int rows, float *const code[2],
                           float *const difference[2])
{
  const State *state = image->state;
  float before[2][CF_LLF_PIECE], follow[CF_LLF_PIECE], mean[CF_LLF_PIECE];
  ChromaPiece chroma;

  for (int x = 0; x < state->video.width; x += CF_LLF_PIECE) {
    const int columns = cf_min(state->video.width - x, CF_LLF_PIECE);
    CfLlfLuma luma;

    load_chroma(image, x, chroma_y, columns, &chroma);
    for (int row = 0; row < rows; row++)
      store_luma_piece(image, x, y + row, columns, &chroma, code[row] + x, difference[row] + x,
                       before[row]);
    for (int row = 0; row < 2; row++) {
      const int from = row < rows ? row : 0;

      luma.before[row] = before[from];
      luma.added[row] = difference[from] + x;
    }
    cf_llf_follow_luma(&luma, chroma.halved, columns, chroma.count, follow, mean);
    store_chroma_piece(image, &chroma, mean, follow);
  }
}

static void store_luma_and_chroma(const void *context, int y, int rows, float *const code[2],
                                  float *const difference[2])
{
  const Image *image = context;
  const State *state = image->state;

  if (state->components == 1) {
    store_component(context, y, rows, code, difference);
    return;
  }
  if (state->component[1].height < state->video.height) {
    store_yuv_rows(image, y, y / 2, rows, code, difference);
    return;
  }
  for (int row = 0; row < rows; row++)
    store_yuv_rows(image, y + row, y + row, 1, &code[row], &difference[row]);
}

static void load_rgb_luma(const void *context, int y, float *code)
{
  const Image *image = context;
  const State *state = image->state;
  double weight[3];
  float color[3][CF_LLF_PIECE];

  cf_llf_luma_weights(&state->video, weight);
  for (int x = 0; x < state->video.width; x += CF_LLF_PIECE) {
    const int count = cf_min(state->video.width - x, CF_LLF_PIECE);

    for (int c = 0; c < 3; c++)
      load_samples(image, c, y, x, count, color[c]);
    for (int i = 0; i < count; i++)
      code[x + i] = (float)weight[0] * color[0][i] + (float)weight[1] * color[1][i] +
                    (float)weight[2] * color[2][i];
  }
}

static void store_rgb_row(const Image *image, int y, const float *code, float *difference)
{
  const State *state = image->state;
  const float scale = (float)state->component[0].scale;
  float before[CF_LLF_PIECE], follow[CF_LLF_PIECE], mean[CF_LLF_PIECE], ceiling[CF_LLF_PIECE];
  float red[CF_LLF_PIECE], green[CF_LLF_PIECE], blue[CF_LLF_PIECE], change[CF_LLF_PIECE];
  float *const color[3] = {red, green, blue};

  for (int x = 0; x < state->video.width; x += CF_LLF_PIECE) {
    const int count = cf_min(state->video.width - x, CF_LLF_PIECE);
    float *const added = difference + x;

    for (int c = 0; c < 3; c++)
      load_samples(image, c, y, x, count, color[c]);
    intensities(state, 0, code + x, count, before);
    cf_llf_ceiling((const float *const[3]){red, green, blue}, scale, count, ceiling);
    ease(state, before, ceiling, count, added);
    cf_llf_follow_luma(&(CfLlfLuma){{before, before}, {added, added}}, false, count, count, follow,
                       mean);
    for (int c = 0; c < 3; c++) {
      cf_llf_follow_color(follow, before, added, color[c], scale, count, change);
      store_samples(image, c, y, x, count, color[c], state->params.strength * scale, change);
    }
  }
}

static void store_rgb_luma(const void *context, int y, int rows, float *const code[2],
                           float *const difference[2])
{
  const Image *image = context;

  for (int row = 0; row < rows; row++)
    store_rgb_row(image, y + row, code[row], difference[row]);
}

/* ---- Parameters ---- */

static bool is_rgb(const State *state)
{
  return cf_format_info(state->video.format)->rgb;
}

/* The number of code values, where the tables are indexed by code; 0 where these are too many, or
 * luma is computed from RGB. */
static int table_codes(const State *state, const CfLlfParams *params)
{
  const CfFormatInfo *format = cf_format_info(state->video.format);

  if (format->bits > 10 || (format->rgb && params->color_mode == CF_LLF_LUMINANCE))
    return 0;
  return cf_max_code(format) + 1;
}

/* Whether chroma is filtered as images of its own, which need tables of their own. */
static bool filters_chroma(const State *state, const CfLlfParams *params)
{
  return params->color_mode == CF_LLF_SEPARATE && !is_rgb(state) && state->components > 1;
}

static bool no_memory(const State *state, CfStatus *status)
{
  return cf_fail(status, CF_ERROR_NO_MEMORY,
                 "out of memory for the local Laplacian filter of %dx%d pixels", state->video.width,
                 state->video.height);
}

/* Makes sure of scratch for this many groups. Scratch holds no parameters, so more than needed is
 * no harm. */
static bool grow_planes(State *state, int groups)
{
  CfLlfPlanes *planes;

  if (state->planes && (groups == 1 || state->groups > 1))
    return true;
  planes = cf_llf_planes_open(state->video.width, state->video.height, groups, state->threads);
  if (!planes)
    return false;
  cf_llf_planes_close(state->planes);
  state->planes = planes;
  state->groups = groups;
  return true;
}

static bool set_tables(State *state, const CfLlfParams *params, CfStatus *status)
{
  const int codes = table_codes(state, params);
  const int used = filters_chroma(state, params) ? TABLES : 1;
  const size_t size = cf_llf_tables_size(params, codes);

  if (!grow_planes(state, cf_llf_tables_groups(params)))
    return no_memory(state, status);
  if (!cf_buffer_reserve(&state->table_memory, (size_t)used * size * sizeof(float),
                         "the tables of the local Laplacian filter", status))
    return false;
  for (int i = 0; i < used; i++) {
    CfLlfTables *tables = &state->tables[i];

    tables->memory = (float *)state->table_memory.base + (size_t)i * size;
    tables->offset = state->component[i].offset;
    tables->scale = state->component[i].scale;
    cf_llf_tables_fill(tables, params, codes);
  }
  return true;
}

static bool set_exact(State *state, const CfLlfParams *params, CfStatus *status)
{
  const int used = filters_chroma(state, params) ? TABLES : 1;

  for (int i = 0; i < used; i++) {
    const CfLlfComponent *size = &state->component[i];

    if (!state->exact[i])
      state->exact[i] =
          cf_llf_exact_open(size->width, size->height, is_rgb(state) ? 3 : 1, state->threads);
    if (!state->exact[i])
      return no_memory(state, status);
  }
  for (int i = 0; i < used; i++)
    cf_llf_exact_update(state->exact[i], params);
  return true;
}

static void set_name(State *state)
{
  switch (state->params.method) {
  case CF_LLF_FAST:
    snprintf(state->name, sizeof state->name, "sine-%d", state->params.harmonics);
    break;
  case CF_LLF_SAMPLED:
    snprintf(state->name, sizeof state->name, "sampled-%d",
             cf_llf_intensity_levels(&state->params));
    break;
  default:
    snprintf(state->name, sizeof state->name, "exact");
    break;
  }
}

static bool update(void *opaque, const void *params, CfStatus *status)
{
  State *state = opaque;
  const CfLlfParams *next = params;
  const bool good = next->method == CF_LLF_EXACT ? set_exact(state, next, status)
                                                 : set_tables(state, next, status);

  if (!good)
    return false;
  state->params = *next;
  set_name(state);
  return true;
}

static void close_state(void *opaque)
{
  State *state = opaque;

  cf_llf_planes_close(state->planes);
  for (int i = 0; i < TABLES; i++)
    cf_llf_exact_close(state->exact[i]);
  free(state->table_memory.base);
  free(state);
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
  for (int i = 0; i < state->components; i++)
    state->samples[i] = cf_llf_samples(video, &state->component[i]);
  if (!update(state, params, status)) {
    close_state(state);
    return NULL;
  }
  return state;
}

static const char *algorithm(const void *opaque)
{
  const State *state = opaque;

  return state->name;
}

/* ---- A picture ---- */

/* Copies rows of a component's plane. */
static void copy_rows(void *context, int first, int end)
{
  const Image *image = context;
  const int plane = image->state->component[image->component].plane;

  for (int y = first; y < end; y++)
    memcpy(cf_row(&image->job->destination, plane, y), cf_row(&image->job->source, plane, y),
           cf_row_bytes(&image->state->video, plane));
}

/* Filters one image, or three as colour vectors. `count` is the number of components that the image
 * stands for; all of them are copied where there is nothing to filter. */
static void filter_images(const State *state, Image *context, const CfLlfImage *image, int count)
{
  const CfLlfComponent *size = &state->component[context->component];
  const CfLlfPyramid pyramid =
      cf_llf_pyramid(size->width, size->height, state->video.field, &state->params);
  const CfLlfWeights weights = cf_llf_weights(&state->params, &pyramid);
  const int tables = context->component > 0 && !is_rgb(state) ? 1 : 0;

  if (pyramid.images == 1) {
    for (int i = 0; i < count; i++)
      cf_parallel_evenly(state->threads, size[i].height, copy_rows, &context[i]);
  } else if (state->params.method == CF_LLF_EXACT) {
    cf_llf_exact_run(state->exact[tables], &pyramid, size->offset, size->scale, image);
  } else {
    cf_llf_planes_run(state->planes, &state->tables[tables], &pyramid, &weights, image);
  }
}

static bool run(void *opaque, const CfJob *job, CfStatus *status)
{
  State *state = opaque;
  const bool luminance = state->params.color_mode == CF_LLF_LUMINANCE;
  Image context[3];
  CfLlfImage image[3];

  for (int i = 0; i < state->components; i++) {
    context[i] = (Image){state, job, i};
    image[i] = (CfLlfImage){&context[i], load_component, store_component};
  }
  if (luminance) {
    image[0].load = is_rgb(state) ? load_rgb_luma : load_component;
    image[0].store = is_rgb(state) ? store_rgb_luma : store_luma_and_chroma;
  }
  if (state->params.color_mode != CF_LLF_SEPARATE) {
    filter_images(state, context, image, state->components);
    return true;
  }
  for (int i = 0; i < state->components; i++)
    filter_images(state, &context[i], &image[i], 1);
  return true;
}

const CfEngine cf_llf_cpu = {
    .name = "cpu",
    .open = open_state,
    .update = update,
    .run = run,
    .algorithm = algorithm,
    .close = close_state,
};
