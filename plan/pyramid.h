/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A Gaussian of large sigma along one axis, at a cost that does not grow with sigma: a prefilter
 * keeps one sample in D1, coarse taps filter these and keep one in D2 of them, and a cubic B-spline
 * interpolates. Each stage is Gaussian or nearly so, and their variances add up to about
 *
 *   sigma^2 = prefilter + D1^2 coarse_taps + D^2 / 3,    D = D1 D2,
 *
 * where D^2 / 3 is the variance of the cubic B-spline with knots D apart. The coarse taps are
 * fitted so that all three stages together are closest to the Gaussian (pyramid_low.h). With v(x)
 * continued by the border outside 0..size-1, and any integers as indices:
 *
 *   fine(i)   = sum over t of prefilter[t] * v(D1 i + prefilter_first + t)
 *   coarse(j) = sum over t of coarse_taps[t] * fine(D2 j + coarse_taps_first + t)
 *   result(x) = sum over k of spline[4 p + k] * coarse(x div D + spline_first[p] + k),  p = x mod D
 *
 * The centre of fine(i) is at D1 i + (D1 - 1) / 2, of coarse(j) at D j + (D - 1) / 2. With D = 1
 * the coarse taps are the plain Gaussian, prefilter and spline a single 1.
 *
 * The largest difference from the sampled Gaussian, for black and white samples in the worst order
 * along one axis, in codes of 8 bits: with a prefilter of sigma 0.8 D1 cut at 4 sigma 0.05 at sigma
 * = 2 D, and 0.01 from 3 D on; with 0.7 D1 cut at 3.2 sigma 0.17 and 0.16.
 *
 * The prefilter called `boxes` convolves three means of D1 samples and one of two samples D1 / 2
 * apart. Its 3.5 D1 - 2 taps are bytes over 2 D1^3, and it has zeros at all frequencies that
 * decimation would alias to 0. Its largest difference is 0.08 at sigma = 2 D, 0.02 at 3 D and 0.01
 * at 4 D.
 */
#pragma once

#include "border.h"

#define CF_PYRAMID_LARGEST_FACTOR 128 /* of D */

/* A backend's choice: powers of two, D1 * D2 <= CF_PYRAMID_LARGEST_FACTOR. */
typedef struct {
  int decimation;         /* D1, of the prefilter */
  int decimation2;        /* D2, of the coarse taps */
  double prefilter_sigma; /* in units of D1, for D1 > 1: 0.7 to 1 */
  double prefilter_reach; /* where the prefilter is cut, in its sigmas: 3.2 to 5 */
  bool boxes;             /* the prefilter `boxes` instead, for D1 >= 4 */
} CfPyramidFactors;

/* The plan of one axis. All zero: empty, ready for cf_pyramid_axis(); cf_pyramid_axis_free() at the
 * end. */
typedef struct {
  CfPyramidFactors factors;
  int factor;                               /* D */
  int size;                                 /* samples of the line */
  int prefilter_first, prefilter_count;     /* count is even, except for D1 = 1 */
  int coarse_taps_first, coarse_taps_count; /* count is odd where D2 = 1, else even */
  int spline_count;                         /* 4; 1 where D = 1: then spline[4 p] is 1 */
  int *spline_first;                        /* per phase p = 0..D-1 */
  double *prefilter, *coarse_taps;          /* symmetric, each with a sum of 1 */
  double *spline;                           /* 4 weights per phase, with a sum of 1 */

  int coarse_first, coarse_count; /* coarse samples that results 0..size-1 read */
  int fine_first, fine_count;     /* fine samples that these read */

  /* Fine samples that have to be computed: with the borders replicate and constant, all before them
   * equal the first, and all after them the last. With other borders, all fine samples above. */
  int stored_first, stored_count;

  double *storage; /* holds all arrays */
} CfPyramidAxis;

/* Whether a Gaussian of this sigma can be made with these factors: whether the variance left for
 * the coarse taps is at least 0.25. For accuracy sigma should be 2 D or more. */
bool cf_pyramid_fits(double sigma, const CfPyramidFactors *factors);

/* Replaces `axis` by the plan for a line of `size` samples; sigma >= 0, in samples of the plane.
 * CF_ERROR_INVALID where cf_pyramid_fits() is false, or CF_ERROR_NO_MEMORY; `axis` then stays as it
 * was. */
bool cf_pyramid_axis(CfPyramidAxis *axis, double sigma, int size, CfBorder border,
                     const CfPyramidFactors *factors, CfStatus *status);

/* How far a result's farthest source sample lies from the result, in samples; -1 with the border
 * wrap, where that is unbounded. Reflected samples are never farther away than what they stand for.
 */
int cf_pyramid_halo(const CfPyramidAxis *axis, CfBorder border);

/* Frees the memory and leaves the axis empty. */
void cf_pyramid_axis_free(CfPyramidAxis *axis);
