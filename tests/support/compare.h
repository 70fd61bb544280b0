/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Measures the difference between two pictures. Padding channels are ignored.
 */
#pragma once

#include "picture.h"

/* One sample that differs. */
typedef struct {
  int plane, x, y, channel; /* x, y in pixels of the plane */
  CfRole role;
  int got, want;             /* code values */
  int got_alpha, want_alpha; /* of that pixel; -1 in formats without alpha */
  double difference;         /* as in CfDifference.largest */
} CfOffender;

typedef struct {
  /* Largest absolute difference of code values, by role. In formats with alpha, colours are
   * compared both as stored, |c1 - c2|, and premultiplied, |c1 a1 - c2 a2| / max (chroma relative
   * to its centre); the smaller difference counts. */
  double largest[CF_ROLE_COUNT];
  double worst;     /* the largest of `largest` */
  long samples;     /* number of samples compared */
  long differing;   /* number of samples whose stored values differ */
  double psnr;      /* dB of these differences relative to the largest code; INFINITY without any */
  bool low_bits;    /* `got` has a bit set below a code value */
  CfOffender first; /* the first sample, in memory order, beyond the tolerance; plane = -1 if there
                       is none */
} CfDifference;

/* Compares pictures of the same format and size. */
CfDifference cf_picture_compare(const CfTestPicture *got, const CfTestPicture *want,
                                double tolerance);

/* As above with a tolerance of 0, but all stored values count, whatever their alpha. */
CfDifference cf_picture_compare_exact(const CfTestPicture *got, const CfTestPicture *want);

/* "luma", "alpha", ... */
const char *cf_role_name(CfRole role);
