/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cpu/llf/exact.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cpu/common/memory.h"
#include "cpu/common/parallel.h"
#include "cpu/llf/pixel_io.h"
#include "cpu/llf/simd.h"
#include "plan/int_math.h"
#include "plan/llf_axis.h"

/* The least number of entries of the curve per difference of 1; rounded up so that the corner at
 * sigma is an entry. With straight lines between entries the curve is off by 3e-5 where it bends
 * most (alpha 0.25, sigma 0.2, at the noise floor), far less elsewhere. */
#define LEAST_STEPS 4096
#define MOST_STEPS  (LEAST_STEPS + 100)

/* Differences of -1..1 for gray, lengths of 0..sqrt (3) for colours. */
#define ENTRIES (2 * MOST_STEPS + 4)

/* The weights of one axis at one level: row i covers first[i]..first[i] + width - 1, and is padded
 * with weights of 0 to whole vectors. */
typedef struct {
  int width, padded;
  int *first;
  float *reduced, *expanded; /* [outputs][padded] */
} Weights;

typedef struct {
  float *code[2], *difference[3][2], *scratch;
} Worker;

struct CfLlfExact {
  int channels, threads;
  CfLlfCurveEntry entry[ENTRIES]; /* of r(d) - d */
  CfLlfCurve curve;
  Weights across[CF_LLF_MAX_IMAGES], down[CF_LLF_MAX_IMAGES];
  float *intensity[CF_LLF_MAX_IMAGES][3];  /* G_l; [0] is the picture */
  float *difference[CF_LLF_MAX_IMAGES][3]; /* O_l - G_l, l >= 1 */
  size_t stride[CF_LLF_MAX_IMAGES];
  void *memory;
  Worker worker[]; /* one per thread */
};

/* The image that is being filtered. */
typedef struct {
  CfLlfExact *exact;
  const CfLlfKernels *kernels;
  const CfLlfPyramid *pyramid;
  const CfLlfImage *image;
  float gain, bias; /* intensity = code * gain + bias */
} Run;

/* ---- Memory ---- */

/* What lay_out() needs. */
typedef struct {
  CfLlfExact *exact;
  int channels;
  CfLlfPyramid pyramid;
  CfLlfAxis across, down;
} Shape;

static void lay_out_weights(CfArena *arena, Weights *weights, const CfLlfOperator *expanded)
{
  const size_t outputs = (size_t)expanded->outputs;

  weights->width = expanded->width;
  weights->padded = cf_divide_up(expanded->width, CF_LLF_MARGIN) * CF_LLF_MARGIN;
  weights->first = cf_arena_take(arena, outputs * sizeof *weights->first);
  weights->reduced = cf_arena_take(arena, outputs * (size_t)weights->padded * sizeof(float));
  weights->expanded = cf_arena_take(arena, outputs * (size_t)weights->padded * sizeof(float));
}

static void fill_weights(Weights *weights, const CfLlfOperator *reduced,
                         const CfLlfOperator *expanded)
{
  for (int i = 0; i < expanded->outputs; i++) {
    weights->first[i] = expanded->first[i];
    for (int k = 0; k < expanded->width; k++) {
      const size_t at = (size_t)i * (size_t)weights->padded + (size_t)k;
      const int input = expanded->first[i] + k;
      weights->reduced[at] = (float)cf_llf_weight_or_zero(reduced, i, input);
      weights->expanded[at] = (float)*cf_llf_weight(expanded, i, input);
    }
  }
}

static void lay_out(CfArena *arena, void *self)
{
  const Shape *shape = self;
  CfLlfExact *exact = shape->exact;
  const CfLlfPyramid *pyramid = &shape->pyramid;
  const size_t margins = 2 * CF_LLF_MARGIN;
  const size_t row = ((size_t)pyramid->width[0] + margins) * sizeof(float);

  for (int thread = 0; thread < exact->threads; thread++) {
    Worker *worker = &exact->worker[thread];

    for (int i = 0; i < 2; i++)
      worker->code[i] = cf_arena_take(arena, row);
    for (int i = 0; i < 6; i++)
      worker->difference[i / 2][i % 2] = cf_arena_take(arena, row);
    worker->scratch = cf_arena_take(arena, row);
  }
  for (int l = 0; l < pyramid->images; l++) {
    exact->stride[l] = (size_t)pyramid->width[l] + margins;
    for (int c = 0; c < shape->channels; c++) {
      const size_t bytes = exact->stride[l] * (size_t)pyramid->height[l] * sizeof(float);

      exact->intensity[l][c] = cf_arena_take(arena, bytes);
      if (l > 0)
        exact->difference[l][c] = cf_arena_take(arena, bytes);
    }
    if (l + 1 < pyramid->images) {
      lay_out_weights(arena, &exact->across[l], &shape->across.expanded[l]);
      lay_out_weights(arena, &exact->down[l], &shape->down.expanded[l]);
    }
  }
}

CfLlfExact *cf_llf_exact_open(int width, int height, int channels, int threads)
{
  CfLlfExact *exact = calloc(1, sizeof *exact + (size_t)threads * sizeof exact->worker[0]);
  Shape shape = {
      .exact = exact, .channels = channels, .pyramid = cf_llf_full_pyramid(width, height)};
  const CfLlfPyramid *pyramid = &shape.pyramid;

  if (!exact)
    return NULL;
  exact->threads = threads;
  /* Rows are gathered in whole vectors: padding reads valid intensities, and has weights of 0. */
  if (cf_llf_axis_open(&shape.across, pyramid->width, pyramid->images) &&
      cf_llf_axis_open(&shape.down, pyramid->height, pyramid->images))
    exact->memory = cf_laid_out(lay_out, &shape);
  for (int l = 0; exact->memory && l + 1 < pyramid->images; l++) {
    fill_weights(&exact->across[l], &shape.across.reduced[l], &shape.across.expanded[l]);
    fill_weights(&exact->down[l], &shape.down.reduced[l], &shape.down.expanded[l]);
  }
  cf_llf_axis_free(&shape.across);
  cf_llf_axis_free(&shape.down);
  if (exact->memory)
    return exact;
  free(exact);
  return NULL;
}

void cf_llf_exact_close(CfLlfExact *exact)
{
  if (!exact)
    return;
  free(exact->memory);
  free(exact);
}

void cf_llf_exact_update(CfLlfExact *exact, const CfLlfParams *params)
{
  const double steps = ceil(LEAST_STEPS * params->sigma) / params->sigma;

  exact->channels = params->color_mode == CF_LLF_RGB ? 3 : 1;
  exact->curve = (CfLlfCurve){.entry = exact->entry,
                              .steps = (float)steps,
                              .zero = exact->channels == 1 ? (float)ceil(steps) : 0.0f};
  for (int i = 0; i < ENTRIES; i++) {
    const double d = (i - (double)exact->curve.zero) / steps;
    exact->entry[i].value = (float)(cf_llf_remap(params, d) - d);
  }
  for (int i = 0; i + 1 < ENTRIES; i++)
    exact->entry[i].step = exact->entry[i + 1].value - exact->entry[i].value;
}

/* ---- Coefficients ---- */

/* The change that remapping makes to the Laplacian coefficient at (x, y). */
static void coefficient(const Run *run, int level, int x, int y, double total[3])
{
  const CfLlfExact *exact = run->exact;
  const Weights *across = &exact->across[level], *down = &exact->down[level];
  const size_t column = (size_t)x * (size_t)across->padded, row = (size_t)y * (size_t)down->padded;
  const int channels = exact->channels;
  float g[3];

  for (int c = 0; c < channels; c++) {
    g[c] = exact->intensity[level][c][(size_t)y * exact->stride[level] + (size_t)x];
    total[c] = 0.0;
  }
  for (int k = 0; k < down->width; k++) {
    const size_t at = (size_t)(down->first[y] + k) * exact->stride[0] + (size_t)across->first[x];
    const float *pixel[3];
    float sum[6];

    for (int c = 0; c < channels; c++)
      pixel[c] = exact->intensity[0][c] + at;
    if (channels == 1)
      run->kernels->gather(&exact->curve, pixel[0], across->padded, g[0], across->reduced + column,
                           across->expanded + column, sum);
    else
      run->kernels->gather_color(&exact->curve, pixel, across->padded, g, across->reduced + column,
                                 across->expanded + column, sum);
    for (int c = 0; c < channels; c++)
      total[c] += down->reduced[row + (size_t)k] * sum[c] -
                  down->expanded[row + (size_t)k] * sum[channels + c];
  }
}

/* ---- An image ---- */

static float *intensity_row(const Run *run, int level, int channel, int y)
{
  return run->exact->intensity[level][channel] + (size_t)y * run->exact->stride[level];
}

static float *difference_row(const Run *run, int level, int channel, int y)
{
  return run->exact->difference[level][channel] + (size_t)y * run->exact->stride[level];
}

static Worker *this_worker(const Run *run)
{
  return &run->exact->worker[cf_thread_index()];
}

static void load_row(const Run *run, int channel, int y)
{
  float *code = this_worker(run)->code[0];

  run->image[channel].load(run->image[channel].context, y, code);
  cf_llf_intensities(code, run->gain, run->bias, run->pyramid->width[0],
                     intensity_row(run, 0, channel, y));
}

static void reduce_row(const Run *run, int level, int channel, int y)
{
  const float *fine[5];

  for (int i = 0; i < 5; i++)
    fine[i] = intensity_row(run, level - 1, channel,
                            cf_llf_mirrored(2 * y + i - 2, run->pyramid->height[level - 1]));
  run->kernels->reduce_image(fine, run->pyramid->width[level - 1], this_worker(run)->scratch,
                             intensity_row(run, level, channel, y));
}

static void store_pair(const Run *run, int channel, int pair, float *const difference[2])
{
  const CfLlfImage *image = &run->image[channel];
  const int rows = 2 * pair + 1 < run->pyramid->height[0] ? 2 : 1;
  Worker *worker = this_worker(run);

  for (int row = 0; row < rows; row++)
    image->load(image->context, 2 * pair + row, worker->code[row]);
  image->store(image->context, 2 * pair, rows, worker->code, difference);
}

/* Computes rows 2 pair and 2 pair + 1 of the differences of `level`. */
static void finish_pair(const Run *run, int level, int pair)
{
  const CfLlfPyramid *pyramid = run->pyramid;
  const int channels = run->exact->channels;
  const double share = level == pyramid->images - 2 ? pyramid->last_share : 1.0;
  Worker *worker = this_worker(run);
  float *difference[3][2];

  for (int row = 0; row < 2; row++) {
    const int y = 2 * pair + row;
    const bool inside = y < pyramid->height[level];

    for (int c = 0; c < channels; c++)
      difference[c][row] =
          level > 0 && inside ? difference_row(run, level, c, y) : worker->difference[c][row];
    for (int x = 0; inside && x < pyramid->width[level]; x++) {
      double total[3];
      coefficient(run, level, x, y, total);
      for (int c = 0; c < channels; c++)
        difference[c][row][x] = (float)(share * total[c]);
    }
  }
  for (int c = 0; c < channels; c++) {
    const float *coarse[3];

    for (int i = 0; i < 3; i++)
      coarse[i] = difference_row(run, level + 1, c,
                                 cf_llf_mirrored(pair + i - 1, pyramid->height[level + 1]));
    run->kernels->add_expanded(coarse, pyramid->width[level], worker->scratch, difference[c]);
    if (level == 0)
      store_pair(run, c, pair, difference[c]);
  }
}

/* The context of a loop: a level, or a channel. */
typedef struct {
  const Run *run;
  int number;
} LoopContext;

static void load_rows(void *context, int first, int end)
{
  const LoopContext *channel = context;

  for (int y = first; y < end; y++)
    load_row(channel->run, channel->number, y);
}

static void finish_pairs(void *context, int first, int end)
{
  const LoopContext *level = context;

  for (int pair = first; pair < end; pair++)
    finish_pair(level->run, level->number, pair);
}

void cf_llf_exact_run(CfLlfExact *exact, const CfLlfPyramid *pyramid, double offset, double scale,
                      const CfLlfImage *image)
{
  const Run run = {.exact = exact,
                   .kernels = cf_llf_kernels(16),
                   .pyramid = pyramid,
                   .image = image,
                   .gain = (float)(1.0 / scale),
                   .bias = (float)(-offset / scale)};
  const int top = pyramid->images - 1;

  for (int c = 0; c < exact->channels; c++) {
    cf_parallel_evenly(exact->threads, pyramid->height[0], load_rows, &(LoopContext){&run, c});
    for (int level = 1; level <= top; level++)
      for (int y = 0; y < pyramid->height[level]; y++)
        reduce_row(&run, level, c, y);
    for (int y = 0; y < pyramid->height[top]; y++)
      memset(difference_row(&run, top, c, y), 0, (size_t)pyramid->width[top] * sizeof(float));
  }
  for (int level = top - 1; level >= 0; level--)
    cf_parallel_for(exact->threads, pyramid->height[level + 1], 1, finish_pairs,
                    &(LoopContext){&run, level});
}
