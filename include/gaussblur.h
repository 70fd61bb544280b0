/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Gaussian blur: the normalised sampled Gaussian, cut at ceil(4 sigma), in both directions; with a
 * blur map each sample has a sigma of its own (a gather).
 */
#pragma once

#include "border.h"
#include "engine.h"

#define CF_LARGEST_SIGMA 250.0 /* luma pixels */

typedef enum {
  CF_MAP_NONE,   /* the same sigma everywhere */
  CF_MAP_FILE,   /* `map`, stretched over the frame, bilinear */
  CF_MAP_RADIAL, /* 0 up to map_inner from the centre, 1 from map_outer on */
  CF_MAP_LINEAR, /* 0 up to map_inner from a line through the centre, 1 from map_outer on */
  CF_MAP_LUMA,   /* the frame's luma, black 0 and white 1 */
  CF_MAP_ALPHA,  /* the frame's alpha, opaque 1 */
} CfMapMode;

/* A gray image of values 0..65535 for 0..1; immutable, counted references. */
typedef struct CfMap CfMap;

typedef struct {
  double sigma; /* 0..CF_LARGEST_SIGMA luma pixels, 0 leaves rows as they are; or so many below 0:
                   sharpens with the taps 2 delta - g of its magnitude */
  double sigma_vertical; /* of columns: -1 = as sigma, its sign included, else
                            0..CF_LARGEST_SIGMA; sharpens too where sigma is negative */
  int border;            /* CfBorder; constant is opaque black */

  /* A map value m in 0..1 blurs rows with sigma_min + m (sigma - sigma_min), and columns with
   * sigma_min + m (sigma_vertical - sigma_min), as a gather: each sample by its own m. Neither
   * sigma may be negative then. */
  int map_mode;     /* CfMapMode */
  double sigma_min; /* 0..CF_LARGEST_SIGMA luma pixels; without a map it means nothing */

  /* Where CF_MAP_RADIAL and _LINEAR lie in the picture. All distances are fractions of the
   * picture's width, along rows and columns alike: circles are circles. Where map_inner is not
   * below map_outer, m jumps from 0 to 1 at map_inner. */
  double map_x;     /* 0..1: the centre, or a point of the line, as a fraction of the width */
  double map_y;     /* 0..1: the same as a fraction of the height */
  double map_inner; /* 0..1: the distance up to which m is 0 */
  double map_outer; /* 0..1: the distance from which on m is 1 */
  double map_angle; /* -360..360 degrees clockwise: CF_MAP_LINEAR's line; 0 is horizontal */
  bool map_invert;  /* 1 - m in the place of m, in all modes */

  /* With a map: a gather counts each sample around by its own m, so that what the map leaves sharp
   * does not bleed into what it blurs. What lies outside a constant border counts nothing, and
   * where nothing counts samples stay. sigma_min has to be 0 then. */
  bool map_isolate;

  double sigma_relative; /* 0 = off, else 0..1: with regions, the sigma of both directions as a
                            fraction of each region's shorter side (CfRegions), at most
                            CF_LARGEST_SIGMA; in the place of sigma, and without a map; -1: what
                            CfEffect.settle makes of it, and off for engines. Nothing else below 0
                            is allowed */
  const CfMap *map; /* for CF_MAP_FILE, where it may not be NULL; borrowed for the call, engines
                       keep references */
} CfGaussblurParams;

extern const CfEngine cf_gaussblur_reference, cf_gaussblur_cpu, cf_gaussblur_cuda;
extern const CfEffect cf_gaussblur;
