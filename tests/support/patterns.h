/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The content of test pictures.
 */
#pragma once

#include "picture.h"

typedef enum {
  CF_PATTERN_NOISE,              /* any code value */
  CF_PATTERN_IMPULSES,           /* the largest code on black: corners, middle, a few elsewhere */
  CF_PATTERN_CHECKER,            /* one sample black, one white */
  CF_PATTERN_VERTICAL_STRIPES,   /* columns alternate: the Nyquist frequency of rows */
  CF_PATTERN_HORIZONTAL_STRIPES, /* rows alternate */
  CF_PATTERN_RAMPS,              /* black to white: across, down or diagonally by channel */
  CF_PATTERN_EXTREMES,           /* black or white at random */
  CF_PATTERN_DOTS,               /* one white sample in 64, on black */
  CF_PATTERN_BARS,               /* black and white bars of random width, along both axes */
  CF_PATTERN_CONSTANT,           /* one random code value per channel */
  CF_PATTERN_PHOTO,              /* smooth areas, edges, texture and a little noise */
  CF_PATTERN_COUNT
} CfPattern;

typedef enum {
  CF_ALPHA_RANDOM,      /* any code value, with 0 and the largest more frequent */
  CF_ALPHA_OPAQUE,      /* the largest code value */
  CF_ALPHA_TRANSPARENT, /* 0 */
  CF_ALPHA_COUNT
} CfAlphaFill;

/* "noise", "impulses", ... */
const char *cf_pattern_name(CfPattern pattern);

/* "random", "opaque", "transparent" */
const char *cf_alpha_fill_name(CfAlphaFill alpha);

/* Fills all samples; equal arguments give equal samples in any layout. Padding channels get noise.
 * `alpha` matters only in formats with alpha. */
void cf_picture_fill(CfTestPicture *picture, CfPattern pattern, CfAlphaFill alpha, uint64_t seed);

/* Sets all samples with `role` to `code`. */
void cf_picture_set_role(CfTestPicture *picture, CfRole role, int code);
