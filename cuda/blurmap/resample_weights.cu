/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The matrices that lead from cells to the samples of a level, in the order in which the threads of
 * a warp hold them.
 */
#include "cuda/blurmap/mip_types.cuh"
#include "cuda/common/half2.cuh"
#include "cuda/common/ptx_async.cuh"
#include "cuda/common/ptx_mma.cuh"
#include "cuda/common/pdl.cuh"

extern "C" {
#include "plan/gaussian.h"
}

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Where Gaussians between cells are cut, in their sigmas. */
#define CUT 4.0

namespace
{

constexpr int kMostSamples = kCellColumns, kMostCells = 64;

/* What each of up to 32 samples takes of cells 0.. of a window. */
typedef uint16_t Weights[kMostSamples][kMostCells];

typedef struct {
  int first, last; /* cells that samples take something of, from that of the first sample on */
} Reach;

/* Of what halving does: 3/4 the first time, then 5/4 in units that double each time. */
double variance_of(int log)
{
  const double size = 1 << log;

  return log == 0 ? 0.0 : 0.75 + 5.0 / 12 * (size * size - 4);
}

/* How far from a sample cells count. */
double reach_of(double sigma, int log, double *rest)
{
  *rest = sqrt(sigma * sigma - variance_of(log));
  return log == 0 ? cf_gaussian_radius(sigma) : CUT * *rest;
}

void cells_of(double sigma, int log, int sample, Reach *cells)
{
  double rest;
  const double reach = reach_of(sigma, log, &rest), size = 1 << log;
  const double centre = sample - (size - 1) / 2;

  cells->first = (int)ceil((centre - reach) / size - 1e-9);
  cells->last = (int)floor((centre + reach) / size + 1e-9);
}

/* Rounding errors are carried on, so that the halves add up to 1. */
void weigh_sample(double sigma, int log, int sample, int window, uint16_t weight[kMostCells])
{
  double rest, sum = 0.0, carry = 0.0, exact[kMostCells];
  const double size = 1 << log;
  Reach cells;

  cells_of(sigma, log, sample, &cells);
  reach_of(sigma, log, &rest);
  for (int j = cells.first; j <= cells.last; j++) {
    const double away = sample - (size - 1) / 2 - size * j;

    exact[j - cells.first] = away == 0.0 ? 1.0 : exp(-0.5 * away * away / (rest * rest));
    sum += exact[j - cells.first];
  }
  for (int j = cells.first; j <= cells.last; j++) {
    const double value = exact[j - cells.first] / sum + carry;

    weight[j - window] = cf::half_bits(value);
    carry = value - cf::half_value(weight[j - window]);
  }
}

void weigh(double sigma, int log, int from, int samples, int window, Weights weights)
{
  const int size = 1 << log;

  memset(weights, 0, sizeof(Weights));
  for (int i = 0; i < samples; i++) {
    if (i < size)
      weigh_sample(sigma, log, from + i, window, weights[i]);
    else
      memcpy(weights[i] + 1, weights[i - size], (kMostCells - 1) * sizeof weights[i][0]);
  }
}

Reach whole_reach(double sigma, int log, int samples)
{
  Reach first, last;

  cells_of(sigma, log, 0, &first);
  cells_of(sigma, log, (1 << log) > samples ? (1 << log) - 1 : samples - 1, &last);
  return Reach{first.first, last.last};
}

/* How many different sets of samples a cell holds. */
int variants_of(int log, int samples)
{
  return (1 << log) > samples ? (1 << log) / samples : 1;
}

uint32_t pair_of(const uint16_t *weight)
{
  return weight[0] | (uint32_t)weight[1] << 16;
}

/* A left side: rows are samples. */
void lay_out_down(const Weights weights, int block, uint4 *to)
{
  for (int lane = 0; lane < 32; lane++) {
    const int g = lane / 4, k = 16 * block + lane % 4 * 2;

    to[lane] = make_uint4(pair_of(weights[g] + k), pair_of(weights[g + 8] + k),
                          pair_of(weights[g] + k + 8), pair_of(weights[g + 8] + k + 8));
  }
}

/* Two right sides: columns are samples. */
void lay_out_across(const Weights weights, int block, int half, uint4 *to)
{
  for (int lane = 0; lane < 32; lane++) {
    const uint16_t *left = weights[16 * half + lane / 4];
    const uint16_t *right = weights[16 * half + 8 + lane / 4];
    const int k = 16 * block + lane % 4 * 2;

    to[lane] = make_uint4(pair_of(left + k), pair_of(left + k + 8), pair_of(right + k),
                          pair_of(right + k + 8));
  }
}

/* What 8 samples take of 8 cells at a time, which is the same for the next 8 samples 8 cells on. As
 * part of a left side, columns are cells, of a right side, rows. */
uint32_t band_of(const Weights weights, int lane, int band)
{
  return pair_of(weights[lane / 4] + lane % 4 * 2 + 8 * band);
}

/* Left sides of 16 samples: by 16 cells, in the end by 8. */
void lay_out_bands_down(const Weights weights, int bands, uint4 *to)
{
  for (int lane = 0; lane < 32; lane++) {
    uint32_t band[4 + 2] = {}; /* from the one before the first on */

    for (int i = 0; i < bands; i++)
      band[1 + i] = band_of(weights, lane, i);
    for (int i = 0; i <= bands; i += 2)
      to[16 * i + lane] = i < bands ? make_uint4(band[1 + i], band[i], band[2 + i], band[1 + i])
                                    : make_uint4(0, band[i], 0, 0);
  }
}

void lay_out_bands_across(const Weights weights, int bands, uint4 *to)
{
  for (int lane = 0; lane < 32; lane++) {
    uint32_t band[4] = {};

    for (int i = 0; i < bands; i++)
      band[i] = band_of(weights, lane, i);
    to[lane] = make_uint4(band[0], band[1], band[2], band[3]);
  }
}

bool make_room(CfCellMatrices *matrices, size_t count, CfStatus *status)
{
  if (matrices->count + count <= matrices->room)
    return true;
  const size_t room = 2 * (matrices->count + count);
  uint4 *larger = (uint4 *)realloc(matrices->data, room * sizeof *larger);

  if (!larger)
    return cf_fail(status, CF_ERROR_NO_MEMORY, "no memory for the matrices of a blur map");
  matrices->data = larger;
  matrices->room = room;
  return true;
}

int smaller(int a, int b)
{
  return a < b ? a : b;
}

/* Blocks of 16 cells from cell `first` of the window on. */
int blocks_from(int first, Reach reach)
{
  const int blocks = (reach.last + kCellReach - first) / 16 + 1;

  return blocks < 2 ? 2 : blocks;
}

} // namespace

bool cf_cell_add_down(CfCellMatrices *matrices, double sigma, int log, CfCellLevel *level,
                      CfStatus *status)
{
  const int variants = variants_of(log, kCellStrip), window = log ? 32 : 48;
  const Reach reach = whole_reach(sigma, log, kCellStrip);
  Weights weights;

  level->bands = 0;
  level->blocks_down = reach.last - reach.first < 32 ? 2 : 3;
  level->first_row = (short)smaller(reach.first + kCellReach, window - 16 * level->blocks_down);
  level->variants_down = (unsigned short)(variants - 1);
  level->down = (unsigned)matrices->count;
  if (!make_room(matrices, (size_t)variants * (size_t)level->blocks_down * 32, status))
    return false;
  for (int v = 0; v < variants; v++) {
    weigh(sigma, log, v * kCellStrip, kCellStrip, level->first_row - kCellReach, weights);
    for (int block = 0; block < level->blocks_down; block++, matrices->count += 32)
      lay_out_down(weights, block, matrices->data + matrices->count);
  }
  return true;
}

bool cf_cell_add_across(CfCellMatrices *matrices, double sigma, int log, CfCellLevel *level,
                        CfStatus *status)
{
  const int variants = variants_of(log, kCellColumns);
  const int window = log == 0 ? 64 : log == 1 ? 48 : 32;
  const Reach reach = whole_reach(sigma, log, kCellColumns);
  Weights weights;

  /* Rows of cells can be read from multiples of 8 on. */
  level->first_column = (short)((reach.first + kCellReach) / 8 * 8);
  if (level->first_column + 16 * blocks_from(level->first_column, reach) > window)
    level->first_column = 0;
  level->blocks_across = (short)blocks_from(level->first_column, reach);
  level->variants_across = (unsigned short)(variants - 1);
  level->across = (unsigned)matrices->count;
  if (!make_room(matrices, (size_t)variants * (size_t)level->blocks_across * 64, status))
    return false;
  for (int v = 0; v < variants; v++) {
    weigh(sigma, log, v * kCellColumns, kCellColumns, level->first_column - kCellReach, weights);
    for (int block = 0; block < level->blocks_across; block++) {
      for (int half = 0; half < 2; half++, matrices->count += 32)
        lay_out_across(weights, block, half, matrices->data + matrices->count);
    }
  }
  return true;
}

bool cf_cell_add_bands(CfCellMatrices *matrices, const CfBlurLevel *blur, CfCellLevel *level,
                       CfStatus *status)
{
  const int largest = cf_gaussian_radius(fmax(blur->vertical, blur->horizontal));
  /* Rows of cells can be read from 4 or 12 before a sample on. */
  const int reach = largest <= 4 ? 4 : kCellReach;
  Weights weights;

  level->bands = (2 * reach + 8) / 8;
  level->first_row = level->first_column = (short)(kCellReach - reach);
  level->variants_down = level->variants_across = 0;
  level->blocks_down = level->blocks_across = 0;
  level->down = (unsigned)matrices->count;
  level->across = level->down + 32 * (unsigned)(level->bands / 2 + 1);
  if (!make_room(matrices, level->across + 32 - matrices->count, status))
    return false;
  weigh(blur->vertical, 0, 0, 8, -reach, weights);
  lay_out_bands_down(weights, level->bands, matrices->data + level->down);
  weigh(blur->horizontal, 0, 0, 8, -reach, weights);
  lay_out_bands_across(weights, level->bands, matrices->data + level->across);
  matrices->count = level->across + 32;
  return true;
}
