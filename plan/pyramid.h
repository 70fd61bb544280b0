/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A Gaussian of large sigma along one axis, at a cost that does not grow with sigma: prefilter and
 * keep one sample in D1, filter the few that are left and keep one in D2 of them, then interpolate
 * with the cubic B-spline. The parts are Gaussian or nearly so; their variances add up to about
 * that of the whole,
 *
 *   sigma^2 = prefilter + D1^2 low + D^2 / 3,    D = D1 D2,
 *
 * the last being the variance of the cubic B-spline with knots D apart. What the others leave to
 * it, `low` is fitted to (pyramid_low.h). With v(x) folded by the border outside 0..size-1 and all
 * indices any integers:
 *
 *   fine(i)   = sum over t of prefilter[t] * v(D1 i + prefilter_first + t)
 *   coarse(j) = sum over t of low[t] * fine(D2 j + low_first + t)
 *   result(x) = sum over k of spline[4 p + k] * coarse(x div D + spline_first[p] + k),  p = x mod D
 *
 * The centre of fine(i) is at D1 i + (D1 - 1) / 2, of coarse(j) at D j + (D - 1) / 2. With D = 1
 * the three are the plain Gaussian: prefilter and spline are a single 1.
 *
 * Farthest from the sampled Gaussian for black and white samples in the worst order, one axis, in
 * 255ths: at sigma = 2 D and a prefilter of sigma 0.8 D1 cut at 4 sigma 0.05, at 3 D and more 0.01;
 * with 0.7 D1 cut at 3.2 sigma 0.17, 0.16.
 *
 * The prefilter called boxes is the mean of D1 samples, three times over, and of two that lie D1 /
 * 2 apart. Its 3.5 D1 - 2 taps are bytes over 2 D1^3, and what it would fold onto low frequencies
 * it suppresses entirely. The same distance is 0.08 at sigma = 2 D, 0.02 at 3 D and 0.01 at 4 D.
 */
#pragma once

#include "border.h"

#define CF_PYRAMID_LARGEST_FACTOR 128 /* D */

/* What a backend chooses: powers of two, D1 * D2 <= CF_PYRAMID_LARGEST_FACTOR. */
typedef struct {
  int decimation;         /* D1 */
  int thinning;           /* D2 */
  double prefilter_sigma; /* in D1, of D1 > 1: 0.7 to 1 */
  double prefilter_reach; /* where it is cut, in its sigmas: 3.2 to 5 */
  bool boxes;             /* another prefilter, of D1 >= 4, see below */
} CfPyramidFactors;

/* All zero is an empty axis, ready for cf_pyramid_axis. */
typedef struct {
  CfPyramidFactors factors;
  int factor; /* D */
  int size;
  int prefilter_first, prefilter_count; /* count is even, but for D1 = 1 */
  int low_first, low_count;             /* count is odd where D2 = 1, else even */
  int spline_count;                     /* 4; 1 where D = 1: then spline[4 p] is 1 */
  int *spline_first;                    /* of each phase p = 0..D-1 */
  double *prefilter, *low;              /* each adds up to 1, symmetric */
  double *spline;                       /* 4 of each phase, adding up to 1 */

  int coarse_first, coarse_count; /* what results 0..size-1 read */
  int fine_first, fine_count;     /* what these read */

  /* The fine samples worth computing: those before and after equal the first and the last of these
   * where the border is replicate or constant. All of the above with other borders. */
  int made_first, made_count;

  double *storage; /* all arrays */
} CfPyramidAxis;

/* Whether a Gaussian of this sigma can be made with these factors at all: the variance left to
 * `low` is at least 0.25. Accuracy wants sigma >= 2 D or more. */
bool cf_pyramid_fits(double sigma, const CfPyramidFactors *factors);

/* Replaces `axis` by the plan for a line of `size` samples; sigma >= 0 in samples of this plane.
 * CF_ERROR_INVALID where it does not fit, CF_ERROR_NO_MEMORY; the axis then stays as it was. */
bool cf_pyramid_axis(CfPyramidAxis *axis, double sigma, int size, CfBorder border,
                     const CfPyramidFactors *factors, CfStatus *status);

/* How far from a result the farthest sample lies that it reads, or -1 with the border wrap, where
 * that may be any. Reflections are never farther away than what they reflect. */
int cf_pyramid_halo(const CfPyramidAxis *axis, CfBorder border);

/* Frees the memory and leaves the axis empty. */
void cf_pyramid_axis_free(CfPyramidAxis *axis);
