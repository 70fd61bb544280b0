/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * How far two pictures are apart. Padding channels do not count.
 */
#pragma once

#include "picture.h"

/* One sample where they differ. */
typedef struct {
  int plane, x, y, channel; /* x, y in the plane's own pixels */
  CfRole role;
  int got, want;             /* code values */
  int got_alpha, want_alpha; /* of that pixel; -1 in formats without alpha */
  double difference;         /* as in CfDifference.largest */
} CfOffender;

typedef struct {
  /* Largest absolute difference of code values by role. In formats with alpha the colours are
   * compared as stored, |c1 - c2|, and premultiplied, |c1 a1 - c2 a2| / max, with chroma taken from
   * its centre; the lesser counts. */
  double largest[CF_ROLE_COUNT];
  double worst;     /* of `largest` */
  long samples;     /* compared */
  long differing;   /* of them, with any difference of the stored values */
  double psnr;      /* dB of the differences as above against the largest code; INFINITY if none */
  bool low_bits;    /* some bit of `got` below the code value is set */
  CfOffender first; /* in memory order, beyond the tolerance; plane = -1 if there is none */
} CfDifference;

/* Compares pictures of the same format and size. */
CfDifference cf_picture_compare(const CfTestPicture *got, const CfTestPicture *want,
                                double tolerance);

/* As above, but all stored values count as they are, alpha or not; a tolerance of 0. */
CfDifference cf_picture_compare_exact(const CfTestPicture *got, const CfTestPicture *want);

/* "luma", "alpha", ... */
const char *cf_role_name(CfRole role);
