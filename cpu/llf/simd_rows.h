/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Inner loops over rows with one value per pixel: part of simd.c.
 */
#pragma once

#include "cpu/llf/simd.h"
#include "cpu/llf/simd_vectors.h"

/* ---- Pixels ---- */

static void locate_codes(const float *restrict code, int width, uint16_t *restrict pair)
{
  for (int x = 0; x < width; x++)
    pair[x] = (uint16_t)((int)code[x] * (COMPONENTS / 2));
}

static void locate(const float *restrict value, int width, float last, uint16_t *restrict pair,
                   float *restrict fraction)
{
  for (int x = 0; x < width; x++) {
    const float position = value[x] * last;
    const float inside = position < 0.0f ? 0.0f : position > last ? last : position;
    /* The last entry is reached from the one before, so that no entry after it is read. */
    const int entry = (int)(inside < last - 1.0f ? inside : last - 1.0f);
    pair[x] = (uint16_t)(entry * (COMPONENTS / 2));
    fraction[x] = inside - (float)entry;
  }
}

/* value * room / (room^4 + (value * unit)^4)^(1/4) */
INLINE Vector shoulder(Vector value, Vector unit, Vector room)
{
  const Vector limited = value * unit, squared = limited * limited, room_squared = room * room;
  /* Avoids 0 / 0; far too small to matter for a code. */
  const Vector sum = room_squared * room_squared + (squared * squared + 1e-30f);
  const Vector root = rough_reciprocal_root(sum);

  return value * room * root * rough_reciprocal_root(root);
}

INLINE Vector larger(Vector a, Vector b)
{
  return choose(a > b, a, b);
}

static void ease(const float *intensity, const float *ceiling, int count, float *added)
{
  const float most = (float)CF_LLF_MOST_OF_ROOM, epsilon = (float)CF_LLF_GAIN_EPSILON;
  const Vector zero = {0};

  for (int x = 0; x < count; x += LANES) {
    const Vector here = load(intensity + x), change = load(added + x);
    const Integers rises = change > zero;
    Vector eased;

    if (ceiling) {
      const Vector top = load(ceiling + x), up = larger(1.0f - top, zero) * (here + epsilon);
      eased = shoulder(change, choose(rises, top + epsilon, zero + 1.0f),
                       most * choose(rises, up, here));
    } else {
      eased = shoulder(change, zero + 1.0f, most * choose(rises, 1.0f - here, here));
    }
    memcpy(added + x, &eased, sizeof eased);
  }
}

static void ease_follow(const float *unit, const float *room, int count, float *follow)
{
  const Vector zero = {0};

  for (int x = 0; x < count; x += LANES) {
    const Vector value = load(follow + x);
    const Vector eased =
        choose(value > zero, shoulder(value, load(unit + x), load(room + x)), value);

    memcpy(follow + x, &eased, sizeof eased);
  }
}

/* ---- The operators of the pyramid ---- */

static void reduce_image(const float *const fine[5], int fine_width, float *scratch,
                         float *restrict coarse)
{
  const float *restrict a = fine[0], *restrict b = fine[1], *restrict c = fine[2];
  const float *restrict d = fine[3], *restrict e = fine[4];
  const int coarse_width = (fine_width + 1) / 2;
  float *restrict column = scratch + CF_LLF_MARGIN;

  for (int x = 0; x < fine_width; x++)
    column[x] = (float)CF_LLF_TAP_CENTRE * c[x] + (float)CF_LLF_TAP_SIDE * (b[x] + d[x]) +
                (float)CF_LLF_TAP_EDGE * (a[x] + e[x]);
  for (int x = 1; x <= 2; x++) {
    column[-x] = column[cf_llf_mirrored(-x, fine_width)];
    column[fine_width - 1 + x] = column[cf_llf_mirrored(fine_width - 1 + x, fine_width)];
  }
  for (int x = 0; x < coarse_width; x++)
    coarse[x] = (float)CF_LLF_TAP_CENTRE * column[2 * x] +
                (float)CF_LLF_TAP_SIDE * (column[2 * x - 1] + column[2 * x + 1]) +
                (float)CF_LLF_TAP_EDGE * (column[2 * x - 2] + column[2 * x + 2]);
}

/* How a row is combined with the expansion. */
typedef enum { ADD, SUBTRACT } Operation;

INLINE float operate(Operation operation, float value, float expanded)
{
  return operation == ADD ? value + expanded : value - expanded;
}

/* `from` is read by SUBTRACT only; ADD adds to `to`. */
INLINE void operate_row(Operation operation, const float *restrict column, int width,
                        const float *restrict from, float *restrict to)
{
  const float centre = (float)(2.0 * CF_LLF_TAP_CENTRE), edge = (float)(2.0 * CF_LLF_TAP_EDGE);
  const float side = (float)(2.0 * CF_LLF_TAP_SIDE);

  for (int x = 0; x < (width + 1) / 2; x++) {
    const float even = operation == SUBTRACT ? from[2 * x] : to[2 * x];
    const float odd = operation == SUBTRACT ? from[2 * x + 1] : to[2 * x + 1];

    to[2 * x] =
        operate(operation, even, centre * column[x] + edge * (column[x - 1] + column[x + 1]));
    to[2 * x + 1] = operate(operation, odd, side * (column[x] + column[x + 1]));
  }
}

INLINE void operate_expanded(Operation operation, const float *const coarse[3], int width,
                             float *restrict scratch, const float *const from[2],
                             float *const to[2])
{
  const float *restrict above = coarse[0], *restrict here = coarse[1], *restrict below = coarse[2];
  const int coarse_width = (width + 1) / 2;
  float *restrict column = scratch + CF_LLF_MARGIN;

  for (int row = 0; row < 2; row++) {
    if (row == 0) {
      for (int x = 0; x < coarse_width; x++)
        column[x] = (float)(2.0 * CF_LLF_TAP_CENTRE) * here[x] +
                    (float)(2.0 * CF_LLF_TAP_EDGE) * (above[x] + below[x]);
    } else {
      for (int x = 0; x < coarse_width; x++)
        column[x] = (float)(2.0 * CF_LLF_TAP_SIDE) * (here[x] + below[x]);
    }
    column[-1] = column[0];
    column[coarse_width] = column[coarse_width - 1];
    operate_row(operation, column, width, from ? from[row] : NULL, to[row]);
  }
}

static void add_expanded(const float *const coarse[3], int width, float *scratch,
                         float *const to[2])
{
  operate_expanded(ADD, coarse, width, scratch, NULL, to);
}

static void laplacian(const float *const coarse[3], int width, float *scratch,
                      const float *const own[2], float *const to[2])
{
  operate_expanded(SUBTRACT, coarse, width, scratch, own, to);
}

/* ---- Weights ---- */

/* Means of pairs of cells along a row; the last cell is repeated. */
INLINE void block_means(float *restrict cell, int cells, int blocks, float *restrict mean)
{
  cell[cells] = cell[cells - 1];
  for (int x = 0; x < blocks; x++)
    mean[x] = 0.5f * (cell[2 * x] + cell[2 * x + 1]);
}

static void moments(const float *const fine[2], int width, float *scratch, float *result)
{
  const float *restrict above = fine[0], *restrict below = fine[1];
  const int cells = (width + 1) / 2, blocks = cf_llf_weight_blocks(width);
  float *restrict cell = scratch + CF_LLF_MARGIN, *restrict square = cell + 2 * blocks + 2;

  for (int x = 0; x < width / 2; x++) {
    const float a = above[2 * x] - 0.5f, b = above[2 * x + 1] - 0.5f;
    const float c = below[2 * x] - 0.5f, d = below[2 * x + 1] - 0.5f;

    cell[x] = 0.25f * (a + b + c + d);
    square[x] = 0.25f * (a * a + b * b + c * c + d * d);
  }
  if (width % 2 > 0) {
    const float a = above[width - 1] - 0.5f, c = below[width - 1] - 0.5f;

    cell[cells - 1] = 0.5f * (a + c);
    square[cells - 1] = 0.5f * (a * a + c * c);
  }
  block_means(cell, cells, blocks, result);
  block_means(square, cells, blocks, result + blocks);
}

/* Smooths moments vertically: over the rows of blocks above, at and below, each given as two rows
 * of cells. */
INLINE Vector smooth_down(const float *const rows[3][2], int x)
{
  return 0.4375f * (load(rows[1][0] + x) + load(rows[1][1] + x)) +
         0.03125f * (load(rows[0][0] + x) + load(rows[0][1] + x) +
                     (load(rows[2][0] + x) + load(rows[2][1] + x)));
}

INLINE Vector smooth_across(const float *column)
{
  return 0.0625f * (load(column - 1) + load(column + 1)) + 0.875f * load(column);
}

static void weights(const float *const moments[3][2], int blocks, float slope, float offset,
                    float share, float *scratch, float *weight)
{
  const float dark = (float)(CF_LLF_WEIGHT_DARK * CF_LLF_WEIGHT_DARK);
  const Vector zero = {0}, one = zero + 1.0f;
  float *column[2] = {scratch + CF_LLF_MARGIN, scratch + blocks + 3 * CF_LLF_MARGIN};

  for (int i = 0; i < 2; i++) {
    for (int x = 0; x < blocks; x += LANES) {
      const Vector result = smooth_down(moments, i * blocks + x);

      memcpy(column[i] + x, &result, sizeof result);
    }
    column[i][-1] = column[i][0];
    column[i][blocks] = column[i][blocks - 1];
  }
  for (int x = 0; x < blocks; x += LANES) {
    const Vector mean = smooth_across(column[0] + x), square = smooth_across(column[1] + x);
    const Vector root = square_root(larger(square - mean * mean, zero) + dark);
    const Vector low = larger(root * slope + offset, zero), in = choose(low < one, low, one);
    const Vector result = share * in * in * (3.0f - 2.0f * in);

    memcpy(weight + x, &result, sizeof result);
  }
}

static void multiply_weights(const float *const weight[2], float part, int width, float *scratch,
                             float *const to[2])
{
  const float *restrict first = weight[0], *restrict second = weight[1];
  const int blocks = cf_llf_weight_blocks(width);
  float *restrict column = scratch + CF_LLF_MARGIN;

  for (int x = 0; x < blocks; x++)
    column[x] = first[x] + part * (second[x] - first[x]);
  column[-1] = column[0];
  column[blocks] = column[blocks - 1];
  for (int row = 0; row < 2; row++) {
    float *restrict sample = to[row];

    for (int x = 0; x < blocks; x++) {
      const float left = column[x] + 0.25f * (column[x - 1] - column[x]);
      const float right = column[x] + 0.25f * (column[x + 1] - column[x]);

      sample[4 * x] *= left;
      sample[4 * x + 1] *= left;
      sample[4 * x + 2] *= right;
      sample[4 * x + 3] *= right;
    }
  }
}
