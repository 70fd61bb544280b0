/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The inner loops of the fast and sampled local Laplacian filter, one build of them for each
 * instruction set.
 *
 * Both engines write the remapped image as a sum over components c: r_g(i) is a linear part plus
 * sum of weight_c(g) basis_c(i). A component plane is the pyramid of basis_c(I). Its samples lie
 * component innermost, [y][x][c], so that one vector holds a pixel's components: a look-up in the
 * tables of basis_c and weight_c is one load, and no tap of the pyramid crosses lanes.
 *
 * Planes are 16-bit fixed point, CF_LLF_ONE times the basis: 100 dB, at half the memory traffic.
 */
#pragma once

#include "plan/llf_plan.h"

#define CF_LLF_ONE 32767.0f

/* Samples before and after a row that pair, fraction and intensity rows repeat by mirroring, and
 * samples that other rows may be written or read beyond their width. */
#define CF_LLF_MARGIN 16

/* Where a row's pixels are in a table: at the entry that begins with float 2 pair[x], or, with
 * `fraction`, so far on the way to the next entry. Pairs need no arithmetic to be addressed.
 * Readable from -2 to width + 1. */
typedef struct {
  const uint16_t *pair;
  const float *fraction;
} CfLlfPositions;

/* What is known of the pixels: an entry, or an entry and a fraction. */
typedef enum { CF_LLF_DIRECT, CF_LLF_BETWEEN } CfLlfLookup;

/* The sample of 0 .. size - 1 that sample i, at most `size` outside, mirrors; edges are doubled. */
static inline int cf_llf_mirrored(int i, int size)
{
  return i < 0 ? -i - 1 : i >= size ? 2 * size - 1 - i : i;
}

/* A curve as straight lines between entries: d is at entry d * steps + zero. */
typedef struct {
  float value, step; /* step: to the next entry's value */
} CfLlfCurveEntry;

typedef struct {
  const CfLlfCurveEntry *entry;
  float steps, zero;
} CfLlfCurve;

typedef struct {
  int components; /* in a pixel of a plane, and in an entry of a table: 8 or 16 */

  /* One row of level 1 from the positions of five rows of the picture. `basis` is a table of
   * [entries][components] in whole fixed point units. */
  void (*analyse[2])(const float *basis, const CfLlfPositions fine[5], int coarse_width,
                     int16_t *coarse); /* [CfLlfLookup] */

  /* One row of level l + 1 from five of level l >= 1. */
  void (*reduce)(const int16_t *const fine[5], int fine_width, int16_t *coarse);

  /* Two rows of sums over the components of weight_c(g) L_l[basis_c](x), where L_l is `self` less
   * the expansion of the three rows `coarse` (the one above, at and below the pair); looked up
   * CF_LLF_BETWEEN entries. Rows are rounded up to a multiple of two samples. */
  void (*combine)(const float *weight, const CfLlfPositions at[2], const int16_t *const self[2],
                  const int16_t *const coarse[3], int width, float *const sum[2]);

  /* The same at level 0, where `self` is looked up in `basis`, or, if that is NULL, left out
   * because the pixels' own terms cancel. */
  void (*combine_picture[2])(const float *weight, const float *basis, const CfLlfPositions at[2],
                             const int16_t *const coarse[3], int width,
                             float *const sum[2]); /* [CfLlfLookup] */

  /* Where codes are, which are whole and have entries. */
  void (*locate_codes)(const float *code, int width, uint16_t *pair);

  /* Where values are, of entries at 0..1 the last of which has the number `last`; others are taken
   * to the nearest. */
  void (*locate)(const float *value, int width, float last, uint16_t *pair, float *fraction);

  /* One row of a reduced image from five rows; `scratch` has room for a row and margins. */
  void (*reduce_image)(const float *const fine[5], int fine_width, float *scratch, float *coarse);

  /* Adds the expansion of three rows to two rows; rows are rounded up to a multiple of two. */
  void (*add_expanded)(const float *const coarse[3], int width, float *scratch, float *const to[2]);

  /* Two rows less the expansion of three. */
  void (*laplacian)(const float *const coarse[3], int width, float *scratch,
                    const float *const own[2], float *const to[2]);

  /* Of the blocks of CfLlfWeights two rows of samples, which are half of their height: the mean
   * across of what the values are off by from 1/2 and, behind all of these, of its square. */
  void (*moments)(const float *const fine[2], int width, float *scratch, float *moments);

  /* A row of weights, of `blocks` blocks, from two rows of moments of each of the row above, the
   * row itself and the one below. */
  void (*weights)(const float *const moments[3][2], int blocks, float slope, float offset,
                  float share, float *scratch, float *weight);

  /* A row of cells, two rows of samples, times the weights between two rows of blocks: `part` of
   * the second. Rows are rounded up to a multiple of CF_LLF_WEIGHT_BLOCK. */
  void (*multiply_weights)(const float *const weight[2], float part, int width, float *scratch,
                           float *const to[2]);

  /* cf_llf_protected (intensity, ceiling, added) in place of `added`. `ceiling` may be NULL for the
   * intensity. Rows may be read and written to a multiple of CF_LLF_MARGIN. */
  void (*ease)(const float *intensity, const float *ceiling, int count, float *added);

  /* cf_llf_shoulder (follow, unit, room) in place of `follow` above 0; as `ease`. */
  void (*ease_follow)(const float *unit, const float *room, int count, float *follow);

  /* The sums over `count` pixels, a multiple of CF_LLF_MARGIN, of curve (pixel - g), weighted by
   * `reduced` into sum[0] and by `expanded` into sum[1]. */
  void (*gather)(const CfLlfCurve *curve, const float *pixel, int count, float g,
                 const float *reduced, const float *expanded, float sum[2]);

  /* The same for the difference vectors of colours, which keep their direction while the curve
   * takes their length; sum[0..2] weighted by `reduced`, sum[3..5] by `expanded`. */
  void (*gather_color)(const CfLlfCurve *curve, const float *const pixel[3], int count,
                       const float g[3], const float *reduced, const float *expanded, float sum[6]);
} CfLlfKernels;

/* The fastest kernels for up to `components` components on this machine, those for 16 where it is
 * more than 8. */
const CfLlfKernels *cf_llf_kernels(int components);
