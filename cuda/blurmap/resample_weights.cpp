/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The weights from texels to the samples of a level, as matrices in the order in which the lanes of
 * a warp hold their elements.
 */
#include "cuda/blurmap/frame_types.cuh"
#include "cuda/common/half2.cuh"
#include "cuda/common/int_math.cuh"

extern "C" {
#include "plan/gaussian.h"
}

#include <math.h>
#include <stdlib.h>
#include <string.h>

namespace cf::blurmap
{

/* Gaussians of texels are cut off at this many of their sigmas. */
#define CUT 4.0

namespace
{

constexpr int kMostSamples = kTileColumns, kMostTexels = 64;

/* weights[sample][texel of the window], fp16. */
typedef uint16_t WeightTable[kMostSamples][kMostTexels];

/* The texels with weights other than 0; the texel of sample 0 is number 0. */
typedef struct {
  int first, last;
} Reach;

/* The distance, in samples, up to which texels have weights. `*rest`: sigma of the Gaussian that
 * downsampling leaves to do. */
double reach_of(double sigma, int log, double *rest)
{
  *rest = sqrt(sigma * sigma - mip_variance12(log) / 12.0);
  return log == 0 ? cf_gaussian_radius(sigma) : CUT * *rest;
}

void texels_of(double sigma, int log, int sample, Reach *texels)
{
  double rest;
  const double reach = reach_of(sigma, log, &rest), size = 1 << log;
  const double centre = sample - (size - 1) / 2;

  texels->first = (int)ceil((centre - reach) / size - 1e-9);
  texels->last = (int)floor((centre + reach) / size + 1e-9);
}

/* Sets the weights of a sample in a window that starts at texel `window`. Rounding errors are
 * carried to the next weight, so that the fp16 weights add up to 1. */
void set_sample_weights(double sigma, int log, int sample, int window, uint16_t weight[kMostTexels])
{
  double rest, sum = 0.0, carry = 0.0, exact[kMostTexels];
  const double size = 1 << log;
  Reach texels;

  texels_of(sigma, log, sample, &texels);
  reach_of(sigma, log, &rest);
  for (int j = texels.first; j <= texels.last; j++) {
    const double away = sample - (size - 1) / 2 - size * j;

    exact[j - texels.first] = away == 0.0 ? 1.0 : exp(-0.5 * away * away / (rest * rest));
    sum += exact[j - texels.first];
  }
  for (int j = texels.first; j <= texels.last; j++) {
    const double value = exact[j - texels.first] / sum + carry;

    weight[j - window] = half_bits(value);
    carry = value - half_value(weight[j - window]);
  }
}

void set_weights(double sigma, int log, int from, int samples, int window, WeightTable weights)
{
  const int size = 1 << log;

  memset(weights, 0, sizeof(WeightTable));
  for (int i = 0; i < samples; i++) {
    if (i < size)
      set_sample_weights(sigma, log, from + i, window, weights[i]);
    else
      memcpy(weights[i] + 1, weights[i - size], (kMostTexels - 1) * sizeof weights[i][0]);
  }
}

Reach reach_of_samples(double sigma, int log, int samples)
{
  Reach first, last;

  texels_of(sigma, log, 0, &first);
  texels_of(sigma, log, (1 << log) > samples ? (1 << log) - 1 : samples - 1, &last);
  return Reach{first.first, last.last};
}

/* LevelWeights.variants_* + 1: positions of `samples` samples in a texel. */
int variants_of(int log, int samples)
{
  return (1 << log) > samples ? (1 << log) / samples : 1;
}

uint32_t pair_of(const uint16_t *weight)
{
  return weight[0] | (uint32_t)weight[1] << 16;
}

/* The left matrix of 16 samples (rows) by 16 texels. */
void lay_out_down(const WeightTable weights, int block, uint4 *to)
{
  for (int lane = 0; lane < 32; lane++) {
    const int g = lane / 4, k = 16 * block + lane % 4 * 2;

    to[lane] = make_uint4(pair_of(weights[g] + k), pair_of(weights[g + 8] + k),
                          pair_of(weights[g] + k + 8), pair_of(weights[g + 8] + k + 8));
  }
}

/* Two right matrices of 16 texels by 8 samples (columns). */
void lay_out_across(const WeightTable weights, int block, int half, uint4 *to)
{
  for (int lane = 0; lane < 32; lane++) {
    const uint16_t *left = weights[16 * half + lane / 4];
    const uint16_t *right = weights[16 * half + 8 + lane / 4];
    const int k = 16 * block + lane % 4 * 2;

    to[lane] = make_uint4(pair_of(left + k), pair_of(left + k + 8), pair_of(right + k),
                          pair_of(right + k + 8));
  }
}

bool make_room(WeightList *list, size_t count, CfStatus *status)
{
  if (list->count + count <= list->room)
    return true;
  const size_t room = 2 * (list->count + count);
  uint4 *larger = (uint4 *)realloc(list->data, room * sizeof *larger);

  if (!larger)
    return cf_fail(status, CF_ERROR_NO_MEMORY, "no memory for the weights of a blur map");
  list->data = larger;
  list->room = room;
  return true;
}

/* The number of blocks of 16 texels, from texel `first` of the window on; at least 2. */
int blocks_from(int first, Reach reach)
{
  const int blocks = (reach.last + CF_MIP_REACH - first) / 16 + 1;

  return blocks < 2 ? 2 : blocks;
}

} // namespace

bool add_weights_down(WeightList *list, double sigma, int log, LevelWeights *level,
                      CfStatus *status)
{
  const int variants = variants_of(log, kStripRows), window = log ? 32 : 48;
  const Reach reach = reach_of_samples(sigma, log, kStripRows);
  WeightTable samples;

  level->blocks_down = reach.last - reach.first < 32 ? 2 : 3;
  level->first_row = (short)smaller(reach.first + CF_MIP_REACH, window - 16 * level->blocks_down);
  level->variants_down = (unsigned short)(variants - 1);
  level->down = (unsigned)list->count;
  if (!make_room(list, (size_t)variants * (size_t)level->blocks_down * 32, status))
    return false;
  for (int v = 0; v < variants; v++) {
    set_weights(sigma, log, v * kStripRows, kStripRows, level->first_row - CF_MIP_REACH, samples);
    for (int block = 0; block < level->blocks_down; block++, list->count += 32)
      lay_out_down(samples, block, list->data + list->count);
  }
  return true;
}

bool add_weights_across(WeightList *list, double sigma, int log, LevelWeights *level,
                        CfStatus *status)
{
  const int variants = variants_of(log, kTileColumns);
  const int window = log == 0 ? 64 : log == 1 ? 48 : 32;
  const Reach reach = reach_of_samples(sigma, log, kTileColumns);
  WeightTable samples;

  /* ldmatrix reads rows from multiples of 8 texels on. */
  level->first_column = (short)((reach.first + CF_MIP_REACH) / 8 * 8);
  if (level->first_column + 16 * blocks_from(level->first_column, reach) > window)
    level->first_column = 0;
  level->blocks_across = (short)blocks_from(level->first_column, reach);
  level->variants_across = (unsigned short)(variants - 1);
  level->across = (unsigned)list->count;
  if (!make_room(list, (size_t)variants * (size_t)level->blocks_across * 64, status))
    return false;
  for (int v = 0; v < variants; v++) {
    set_weights(sigma, log, v * kTileColumns, kTileColumns, level->first_column - CF_MIP_REACH,
                samples);
    for (int block = 0; block < level->blocks_across; block++) {
      for (int half = 0; half < 2; half++, list->count += 32)
        lay_out_across(samples, block, half, list->data + list->count);
    }
  }
  return true;
}

} // namespace cf::blurmap
