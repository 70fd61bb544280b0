/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What the readers of a blur map's file formats share.
 */
#pragma once

#include <stdio.h>

#include "plan/map.h"

typedef struct {
  const char *path;
  FILE *file;
  int width, height;
  uint16_t *values; /* row by row, 0..CF_MAP_ONE; owned by the reader, NULL before the size is
                       known */
  CfStatus *status;
} CfMapReader;

/* Fails with CF_ERROR_INVALID and "the blur map PATH `reason`; allowed is ...". */
bool cf_map_refuse(const CfMapReader *reader, const char *reason);

/* Sets the size and allocates the values. CF_ERROR_INVALID for sizes that are not allowed,
 * CF_ERROR_NO_MEMORY. */
bool cf_map_allocate(CfMapReader *reader, unsigned long width, unsigned long height);

/* Read the whole file from its start, and fill `values`. */
bool cf_map_read_pnm(CfMapReader *reader);
bool cf_map_read_png(CfMapReader *reader);

/* Luma by BT.709, whose primaries are those of sRGB; of a grey colour that grey. */
static inline uint16_t cf_map_luma(const uint16_t rgb[3])
{
  return (uint16_t)((13933u * rgb[0] + 46871u * rgb[1] + 4732u * rgb[2] + 32768u) >> 16);
}
