/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cpu/llf/planes_rows.h"

#include <string.h>

#include "cpu/common/parallel.h"
#include "cpu/llf/pixel_io.h"
#include "plan/int_math.h"

/* ---- Rows of the planes ---- */

static float *gaussian_row(const Run *run, int level, int y)
{
  return run->planes->gaussian[level] + (size_t)y * run->planes->stride[level];
}

static float *difference_row(const Run *run, int level, int y)
{
  return run->planes->difference[level] + (size_t)y * run->planes->stride[level];
}

/* Moments of rows 2 y and 2 y + 1 of `level`, from which its weights are computed. */
static float *moments_row(const Run *run, int level, int y)
{
  return run->planes->moments[level] + (size_t)y * run->planes->stride[level + 1];
}

static int16_t *component_row(const Run *run, int level, int y)
{
  return run->planes->component[level] +
         (size_t)y * run->planes->stride[level] * (size_t)run->group->kernels->components;
}

/* Row `y` of the picture; loaded, unless the thread's ring still has it. */
static const PictureRow *picture_row(const Run *run, Worker *worker, int y)
{
  const CfLlfTables *tables = run->tables;
  const CfLlfKernels *kernels = run->group->kernels;
  const int width = run->pyramid->width[0];
  const float gain = (float)(1.0 / tables->scale), bias = (float)(-tables->offset / tables->scale);
  PictureRow *row = &worker->ring[y % RING];

  if (row->y == y)
    return row;
  row->y = y;
  run->image->load(run->image->context, y, row->code);
  cf_llf_intensities(row->code, gain, bias, width, row->intensity);
  if (tables->lookup == CF_LLF_DIRECT)
    kernels->locate_codes(row->code, width, row->pair);
  else
    kernels->locate(row->intensity, width, (float)(tables->entries - 1), row->pair, row->fraction);
  for (int i = 1; i <= 2; i++) {
    const int before = cf_llf_mirrored(-i, width), after = cf_llf_mirrored(width - 1 + i, width);
    row->pair[-i] = row->pair[before];
    row->fraction[-i] = row->fraction[before];
    row->pair[width - 1 + i] = row->pair[after];
    row->fraction[width - 1 + i] = row->fraction[after];
  }
  return row;
}

static CfLlfPositions positions(const PictureRow *row)
{
  return (CfLlfPositions){row->pair, row->fraction};
}

Worker *cf_llf_start_worker(const Run *run)
{
  Worker *worker = &run->planes->worker[cf_thread_index()];

  for (int i = 0; i < RING; i++)
    worker->ring[i].y = -1;
  for (int i = 0; i < CF_LLF_WEIGHTED_LEVELS * WEIGHTS; i++)
    worker->weight[i / WEIGHTS][i % WEIGHTS].y = -1;
  return worker;
}

/* ---- Down: the pyramids ---- */

/* Computes row `y` of Gaussian level `fine` + 1, and of the moments of level `fine`, from five
 * rows. */
static void reduce_image(const Run *run, Worker *worker, int fine, int y,
                         const float *const from[5])
{
  const CfLlfKernels *kernels = run->group->kernels;
  const int width = run->pyramid->width[fine];

  kernels->reduce_image(from, width, worker->scratch, gaussian_row(run, fine + 1, y));
  if (fine < run->weights->levels)
    kernels->moments(from + 2, width, worker->scratch, moments_row(run, fine, y));
}

void cf_llf_analyse_rows(const Run *run, Worker *worker, int from, int to)
{
  const CfLlfKernels *kernels = run->group->kernels;
  const int height = run->pyramid->height[0];

  for (int y = from; y < to; y++) {
    CfLlfPositions at[5];
    const float *intensity[5];

    for (int i = 0; i < 5; i++) {
      const PictureRow *row = picture_row(run, worker, cf_llf_mirrored(2 * y + i - 2, height));
      at[i] = positions(row);
      intensity[i] = row->intensity;
    }
    kernels->analyse[run->tables->lookup](run->group->basis, at, run->pyramid->width[1],
                                          component_row(run, 1, y));
    if (run->first_group)
      reduce_image(run, worker, 0, y, intensity);
  }
}

void cf_llf_reduce_row(const Run *run, Worker *worker, int level, int y)
{
  const CfLlfKernels *kernels = run->group->kernels;
  const int fine_width = run->pyramid->width[level - 1];
  const int fine_height = run->pyramid->height[level - 1];
  const int16_t *components[5];
  const float *gaussian[5];

  for (int i = 0; i < 5; i++) {
    const int row = cf_llf_mirrored(2 * y + i - 2, fine_height);
    components[i] = component_row(run, level - 1, row);
    gaussian[i] = gaussian_row(run, level - 1, row);
  }
  kernels->reduce(components, fine_width, component_row(run, level, y));
  if (run->first_group)
    reduce_image(run, worker, level - 1, y, gaussian);
}

/* ---- Weights ---- */

static int clamped(int i, int last)
{
  return i < 0 ? 0 : i < last ? i : last;
}

static void add_row(int width, float factor, const float *restrict from, float *restrict to)
{
  for (int x = 0; x < width; x++)
    to[x] += factor * from[x];
}

/* Computes the input's Laplacian coefficients in rows 2 pair and 2 pair + 1 of `level`. */
static void laplacian_pair(const Run *run, Worker *worker, int level, int pair,
                           float *const laplacian[2])
{
  const int height = run->pyramid->height[level], coarse_height = run->pyramid->height[level + 1];
  const float *own[2], *coarse[3];

  for (int row = 0; row < 2; row++) {
    const int y = 2 * pair + row < height ? 2 * pair + row : height - 1;

    own[row] = level > 0 ? gaussian_row(run, level, y) : picture_row(run, worker, y)->intensity;
  }
  for (int i = 0; i < 3; i++)
    coarse[i] = gaussian_row(run, level + 1, cf_llf_mirrored(pair + i - 1, coarse_height));
  run->group->kernels->laplacian(coarse, run->pyramid->width[level], worker->scratch, own,
                                 laplacian);
}

/* Row `y` of the weights of `level`, one per block; computed, unless the thread still has it. */
static const float *weight_row(const Run *run, Worker *worker, int level, int y)
{
  const CfLlfWeights *weights = run->weights;
  const int blocks = cf_llf_weight_blocks(run->pyramid->height[level]);
  const int last = run->pyramid->height[level + 1] - 1;
  WeightRow *row = &worker->weight[level][y % WEIGHTS];
  const float *moments[3][2];

  if (row->y == y)
    return row->row;
  for (int i = 0; i < 3; i++)
    for (int k = 0; k < 2; k++)
      moments[i][k] =
          moments_row(run, level, clamped(2 * clamped(y + i - 1, blocks - 1) + k, last));
  run->group->kernels->weights(moments, cf_llf_weight_blocks(run->pyramid->width[level]),
                               (float)weights->slope, (float)weights->offset,
                               (float)weights->share[level], worker->scratch, row->row);
  row->y = y;
  return row->row;
}

/* Adds the linear part to the coefficients of rows 2 pair and 2 pair + 1 of `level`, and multiplies
 * both by the weights. */
static void weigh_pair(const Run *run, Worker *worker, int level, int pair,
                       float *const difference[2])
{
  /* Cells have half the height of blocks: the upper cell of a block lies between this block and the
   * one above, the lower cell between it and the one below. */
  const float part = pair % 2 == 0 ? 0.75f : 0.25f;
  const int width = run->pyramid->width[level];
  const int last = cf_llf_weight_blocks(run->pyramid->height[level]) - 1;
  const float linear = (float)run->tables->linear;
  const float *weight[2];

  if (linear != 0.0f) {
    laplacian_pair(run, worker, level, pair, worker->sum);
    for (int row = 0; row < 2; row++)
      add_row(width, linear, worker->sum[row], difference[row]);
  }
  for (int i = 0; i < 2; i++)
    weight[i] = weight_row(run, worker, level, clamped((pair + 1) / 2 - 1 + i, last));
  run->group->kernels->multiply_weights(weight, part, width, worker->scratch, difference);
}

/* The Gaussian terms of plan/llf_plan.h: completes row `y` of the first level without weights, and
 * of a last level that is filtered by a share. */
static void add_gaussian_terms(const Run *run, int level, int y, float *difference)
{
  const CfLlfPyramid *pyramid = run->pyramid;
  const int top = pyramid->images - 1;
  const bool shared = level == top - 1 && level >= run->weights->levels;
  const float linear = (float)run->tables->linear;
  const float share = shared ? (float)pyramid->last_share : 1.0f;
  float gaussian = (share - 1.0f) * linear;

  if (level > 0 && level == run->weights->levels)
    gaussian += linear;
  if (share < 1.0f)
    for (int x = 0; x < pyramid->width[level]; x++)
      difference[x] *= share;
  if (gaussian != 0.0f)
    add_row(pyramid->width[level], gaussian, gaussian_row(run, level, y), difference);
}

void cf_llf_start_difference(const Run *run, int y)
{
  const int top = run->pyramid->images - 1;
  float *difference = difference_row(run, top, y);

  memset(difference, 0, (size_t)run->pyramid->width[top] * sizeof *difference);
  if (run->weights->levels < top)
    add_row(run->pyramid->width[top], (float)-run->tables->linear, gaussian_row(run, top, y),
            difference);
}

/* ---- Up: the collapse ---- */

/* The positions of row `y` of `level` >= 1 in the tables of weights, in the worker's buffer `row`.
 */
static CfLlfPositions level_positions(const Run *run, Worker *worker, int level, int y, int row)
{
  const int width = run->pyramid->width[level];
  const float last = (float)(run->tables->nodes - 1);
  uint16_t *pair = worker->pair[row];
  float *fraction = worker->fraction[row];

  run->group->kernels->locate(gaussian_row(run, level, y), width, last, pair, fraction);
  pair[width] = pair[width - 1];
  fraction[width] = fraction[width - 1];
  return (CfLlfPositions){pair, fraction};
}

/* Computes the group's weighted sums in rows 2 pair and 2 pair + 1. */
static void combine_pair(const Run *run, Worker *worker, int level, int pair, float *const sum[2])
{
  const CfLlfKernels *kernels = run->group->kernels;
  const int coarse_height = run->pyramid->height[level + 1];
  CfLlfPositions at[2];
  const int16_t *self[2], *coarse[3];

  for (int i = 0; i < 3; i++)
    coarse[i] = component_row(run, level + 1, cf_llf_mirrored(pair + i - 1, coarse_height));
  for (int row = 0; row < 2; row++) {
    /* Where there is no second row, the first takes its place; its sums are not used. */
    const int y = 2 * pair + (2 * pair + row < run->pyramid->height[level] ? row : 0);

    if (level == 0) {
      at[row] = positions(picture_row(run, worker, y));
    } else {
      at[row] = level_positions(run, worker, level, y, row);
      self[row] = component_row(run, level, y);
    }
  }
  if (level == 0)
    kernels->combine_picture[run->tables->lookup](
        run->group->picture_weight, run->tables->keeps_own_terms ? run->group->basis : NULL, at,
        coarse, run->pyramid->width[0], sum);
  else
    kernels->combine(run->group->weight, at, self, coarse, run->pyramid->width[level], sum);
}

static void store_pair(const Run *run, Worker *worker, int pair, float *const difference[2])
{
  const int rows = 2 * pair + 1 < run->pyramid->height[0] ? 2 : 1;
  float *code[2] = {NULL, NULL};

  for (int row = 0; row < rows; row++) {
    const PictureRow *picture = picture_row(run, worker, 2 * pair + row);
    code[row] = picture->code;
    if (run->tables->linear != 0.0 && run->weights->levels == 0)
      add_row(run->pyramid->width[0], (float)run->tables->linear, picture->intensity,
              difference[row]);
  }
  run->image->store(run->image->context, 2 * pair, rows, code, difference);
}

void cf_llf_finish_pair(const Run *run, Worker *worker, int level, int pair)
{
  const int width = run->pyramid->width[level], coarse_height = run->pyramid->height[level + 1];
  float *difference[2], *const *sum = run->first_group ? difference : worker->sum;
  const float *coarse[3];

  for (int row = 0; row < 2; row++) {
    const bool inside = 2 * pair + row < run->pyramid->height[level];
    difference[row] = run->planes->difference[level] && inside
                          ? difference_row(run, level, 2 * pair + row)
                          : worker->difference[row];
  }
  combine_pair(run, worker, level, pair, sum);
  for (int row = 0; row < 2 && !run->first_group; row++)
    add_row(width, 1.0f, sum[row], difference[row]);
  if (!run->last_group)
    return;
  if (level < run->weights->levels)
    weigh_pair(run, worker, level, pair, difference);
  for (int i = 0; i < 3; i++)
    coarse[i] = difference_row(run, level + 1, cf_llf_mirrored(pair + i - 1, coarse_height));
  run->group->kernels->add_expanded(coarse, width, worker->scratch, difference);
  if (level == 0)
    store_pair(run, worker, pair, difference);
  for (int row = 0; row < 2 && level > 0; row++) {
    if (2 * pair + row < run->pyramid->height[level])
      add_gaussian_terms(run, level, 2 * pair + row, difference[row]);
  }
}
