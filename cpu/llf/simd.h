/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The inner loops of the local Laplacian filter, built once per instruction set.
 *
 * The fast and the sampled filter write the remapped image as a linear part and a sum over
 * components c: r_g(i) = linear part + sum of weight_c(g) basis_c(i). A component plane is the
 * pyramid of basis_c(I). In memory components are innermost, [y][x][c], so that one vector holds
 * the components of a pixel: a look-up in the tables of basis_c and weight_c is one load, and no
 * tap of the pyramid crosses lanes.
 *
 * Planes are 16-bit fixed point, CF_LLF_ONE times the basis: an error of 100 dB below full scale,
 * at half the memory traffic of floats.
 */
#pragma once

#include "plan/llf_plan.h"

#define CF_LLF_ONE 32767.0f

/* Samples beyond either end of a row: pairs, fractions and intensities are mirrored there, and
 * other rows may be read and written there. */
#define CF_LLF_MARGIN 16

/* Positions of a row's pixels in a table: an entry starts at float 2 pair[x] of the table, and
 * fraction[x] is the way to the next entry. Pairs are half offsets, so that 16 bits suffice and no
 * multiplication is needed. Valid from -2 to width + 1. */
typedef struct {
  const uint16_t *pair;
  const float *fraction;
} CfLlfPositions;

/* Whether a pixel's position is an entry (DIRECT), or lies between two entries (BETWEEN). */
typedef enum { CF_LLF_DIRECT, CF_LLF_BETWEEN } CfLlfLookup;

/* The sample of 0..size - 1 that sample i mirrors (half-sample symmetric); i is at most `size`
 * outside. */
static inline int cf_llf_mirrored(int i, int size)
{
  return i < 0 ? -i - 1 : i >= size ? 2 * size - 1 - i : i;
}

/* A curve as straight lines between entries: d is at entry d * steps + zero. */
typedef struct {
  float value, step; /* step: difference to the next entry */
} CfLlfCurveEntry;

typedef struct {
  const CfLlfCurveEntry *entry;
  float steps, zero;
} CfLlfCurve;

typedef struct {
  int components; /* per pixel of a plane and per entry of a table: 8 or 16 */

  /* One row of level 1, from the positions of five rows of the picture. `basis` is a table
   * [entries][components] of integers in fixed point units. Indexed by CfLlfLookup. */
  void (*analyse[2])(const float *basis, const CfLlfPositions fine[5], int coarse_width,
                     int16_t *coarse);

  /* One row of level l + 1, from five rows of level l >= 1. */
  void (*reduce)(const int16_t *const fine[5], int fine_width, int16_t *coarse);

  /* Two rows of the sums over components of weight_c(g) L_l[basis_c](x), where L_l is `self` less
   * the expansion of the three rows `coarse` (above, at and below the pair). Weights are looked up
   * between entries. Rows are rounded up to a multiple of two samples. */
  void (*combine)(const float *weight, const CfLlfPositions at[2], const int16_t *const self[2],
                  const int16_t *const coarse[3], int width, float *const sum[2]);

  /* The same at level 0, where `self` is looked up in `basis`, or, where `basis` is NULL, left out
   * because the pixels' own terms cancel. Indexed by CfLlfLookup. */
  void (*combine_picture[2])(const float *weight, const float *basis, const CfLlfPositions at[2],
                             const int16_t *const coarse[3], int width, float *const sum[2]);

  /* Positions of codes, which are integers and index entries. */
  void (*locate_codes)(const float *code, int width, uint16_t *pair);

  /* Positions of values in a table of equal steps over 0..1, whose last entry has index `last`;
   * values are clamped. */
  void (*locate)(const float *value, int width, float last, uint16_t *pair, float *fraction);

  /* One row of a reduced image from five rows; `scratch` has room for a row with margins. */
  void (*reduce_image)(const float *const fine[5], int fine_width, float *scratch, float *coarse);

  /* Adds the expansion of three rows to two rows, rounded up to a multiple of two samples. */
  void (*add_expanded)(const float *const coarse[3], int width, float *scratch, float *const to[2]);

  /* Two rows less the expansion of three rows. */
  void (*laplacian)(const float *const coarse[3], int width, float *scratch,
                    const float *const own[2], float *const to[2]);

  /* For blocks of CfLlfWeights, over two rows of samples (half a block's height): the mean of value
   * - 1/2 per block, followed by the mean of its square per block. */
  void (*moments)(const float *const fine[2], int width, float *scratch, float *moments);

  /* A row of weights, one per block. `moments` has two rows per row of blocks: of the row above, of
   * the row itself and of the row below. */
  void (*weights)(const float *const moments[3][2], int blocks, float slope, float offset,
                  float share, float *scratch, float *weight);

  /* Multiplies two rows of samples, a row of cells, by weights interpolated between two rows of
   * blocks, of which the second counts by `part`. Rows are rounded up to a multiple of
   * CF_LLF_WEIGHT_BLOCK. */
  void (*multiply_weights)(const float *const weight[2], float part, int width, float *scratch,
                           float *const to[2]);

  /* Replaces `added` by cf_llf_protected (intensity, ceiling, added). NULL as `ceiling` stands for
   * the intensity. Rows may be read and written up to a multiple of CF_LLF_MARGIN. */
  void (*ease)(const float *intensity, const float *ceiling, int count, float *added);

  /* Replaces `follow`, where it is above 0, by cf_llf_shoulder (follow, unit, room); as `ease`. */
  void (*ease_follow)(const float *unit, const float *room, int count, float *follow);

  /* Sums over `count` pixels, a multiple of CF_LLF_MARGIN, of curve (pixel - g): weighted by
   * `reduced` in sum[0], by `expanded` in sum[1]. */
  void (*gather)(const CfLlfCurve *curve, const float *pixel, int count, float g,
                 const float *reduced, const float *expanded, float sum[2]);

  /* The same for colours: the curve applies to the length of the difference vector, which keeps its
   * direction. sum[0..2] is weighted by `reduced`, sum[3..5] by `expanded`. */
  void (*gather_color)(const CfLlfCurve *curve, const float *const pixel[3], int count,
                       const float g[3], const float *reduced, const float *expanded, float sum[6]);
} CfLlfKernels;

/* The fastest kernels of this machine for up to `components` components: for 8, or for 16 where
 * these are more than 8. */
const CfLlfKernels *cf_llf_kernels(int components);
