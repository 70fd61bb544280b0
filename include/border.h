/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What cudagaussblur and cudasepconv see outside the picture.
 */
#pragma once

#include "params.h"

typedef enum {
  CF_BORDER_REPLICATE,   /* aaa|abcd|ddd */
  CF_BORDER_REFLECT,     /* cba|abcd|dcb */
  CF_BORDER_REFLECT_101, /* dcb|abcd|cba */
  CF_BORDER_WRAP,        /* bcd|abcd|abc */
  CF_BORDER_CONSTANT,    /* a colour that the effect chooses */
} CfBorder;

extern const CfChoice cf_border_choices[];

/* The index in 0..size-1 that position `i` reads; `i` may be any integer, so a kernel may be larger
 * than the picture. -1 where the border is CF_BORDER_CONSTANT and `i` is outside the picture. */
int cf_border_index(CfBorder border, long i, int size);
