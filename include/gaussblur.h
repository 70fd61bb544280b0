/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Gaussian blur: the normalised sampled Gaussian, cut at ceil(4 sigma), along rows and columns.
 * With a blur map or relative to regions, each sample has a sigma of its own (a gather).
 */
#pragma once

#include "border.h"
#include "engine.h"

#define CF_LARGEST_SIGMA 250.0 /* luma pixels */

typedef enum {
  CF_MAP_NONE,   /* the same sigma everywhere */
  CF_MAP_FILE,   /* `map`, stretched over the frame, interpolated bilinearly */
  CF_MAP_RADIAL, /* 0 up to the distance map_inner from the centre, 1 from map_outer on */
  CF_MAP_LINEAR, /* 0 up to the distance map_inner from a line, 1 from map_outer on */
  CF_MAP_LUMA,   /* the frame's luma, black 0 and white 1 */
  CF_MAP_ALPHA,  /* the frame's alpha, opaque 1 */
} CfMapMode;

/* A grey image of values 0..65535 for 0..1. Immutable, reference counted: plan/map.h. */
typedef struct CfMap CfMap;

typedef struct {
  double sigma; /* along rows, 0..CF_LARGEST_SIGMA luma pixels; 0: rows stay. Negative, down to
                   -CF_LARGEST_SIGMA: sharpens, with the taps 2 delta - g, g being the Gaussian of
                   |sigma| */
  double sigma_vertical; /* along columns: -1 = as sigma, its sign included, else
                            0..CF_LARGEST_SIGMA; sharpens too where sigma is negative */
  int border;            /* CfBorder; constant is opaque black */

  /* With a map, a sample whose map value is m in 0..1 is blurred along rows with sigma_min + m
   * (sigma - sigma_min), and along columns with sigma_min + m (sigma_vertical - sigma_min). sigma
   * may not be negative then. */
  int map_mode;     /* CfMapMode */
  double sigma_min; /* 0..CF_LARGEST_SIGMA luma pixels; ignored without a map */

  /* Geometry of CF_MAP_RADIAL and CF_MAP_LINEAR. Distances along both axes are fractions of the
   * picture's width, so circles are circles. Where map_inner is not below map_outer, m jumps from 0
   * to 1 at map_inner. */
  double map_x;     /* 0..1: the centre, or a point on the line, as a fraction of the width */
  double map_y;     /* 0..1: the same, as a fraction of the height */
  double map_inner; /* 0..1: the distance up to which m is 0 */
  double map_outer; /* 0..1: the distance from which on m is 1 */
  double map_angle; /* -360..360: the line of CF_MAP_LINEAR, in degrees clockwise from horizontal */
  bool map_invert;  /* 1 - m instead of m, in all modes */

  /* With a map: every neighbour is weighted by its own map value, so that what the map leaves sharp
   * does not bleed into what it blurs. Samples of a constant border have no weight; where all
   * weights are 0, samples stay. Needs sigma_min = 0. */
  bool map_isolate;

  double sigma_relative; /* With regions, sigma of both directions as a fraction of each region's
                            shorter side (CfRegions), at most CF_LARGEST_SIGMA; replaces sigma, not
                            allowed with a map. 0 = off, else up to 1; -1 = automatic:
                            CfEffect.settle replaces it, engines treat it as 0. Other negative
                            values are refused */
  const CfMap *map; /* for CF_MAP_FILE, where it must not be NULL; borrowed for the call: engines
                       take references of their own */
} CfGaussblurParams;

extern const CfEngine cf_gaussblur_reference, cf_gaussblur_cpu, cf_gaussblur_cuda;
extern const CfEffect cf_gaussblur;
