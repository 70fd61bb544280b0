/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Gaussian blur: the normalised sampled Gaussian, cut at ceil(4 sigma), in both directions; with a
 * blur map each sample has a sigma of its own (a gather).
 */
#pragma once

#include "border.h"
#include "engine.h"

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
  double sigma;          /* -250..250 luma pixels; negative sharpens with the taps 2 delta - g */
  double sigma_vertical; /* -1 = as sigma, else 0..250; sharpens too where sigma is negative */
  int border;            /* CfBorder; constant is opaque black */

  /* A map value m blurs with sigma_min + m (sigma - sigma_min). */
  int map_mode;     /* CfMapMode */
  double sigma_min; /* 0..250 */
  double map_x;     /* 0..1, the centre as a fraction of the width */
  double map_y;     /* 0..1, of the height */
  double map_inner; /* 0..1, fractions of the width */
  double map_outer;
  double map_angle;      /* degrees, of the line of CF_MAP_LINEAR; 0 is horizontal */
  bool map_invert;       /* 1 - m */
  double sigma_relative; /* 0 = off, else 0..1: with regions, sigma as a fraction of each one's
                            shorter side */
  const CfMap *map;      /* for CF_MAP_FILE; borrowed for the call, engines keep references */
} CfGaussblurParams;

extern const CfEngine cf_gaussblur_reference, cf_gaussblur_cpu, cf_gaussblur_cuda;
extern const CfEffect cf_gaussblur;
