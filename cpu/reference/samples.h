/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Code values of a plane in memory.
 */
#pragma once

#include "image.h"

/* The code value of sample `index` of a row, channels counted apart. */
static inline int cf_reference_load(const CfFormatInfo *format, const uint8_t *row, ptrdiff_t index)
{
  if (format->bits > 8)
    return (row[2 * index] | row[2 * index + 1] << 8) >> format->shift;
  return row[index];
}

/* The reverse, of a code value in range. */
static inline void cf_reference_store(const CfFormatInfo *format, uint8_t *row, ptrdiff_t index,
                                      int code)
{
  const int raw = code << format->shift;

  if (format->bits > 8) {
    row[2 * index] = (uint8_t)raw;
    row[2 * index + 1] = (uint8_t)(raw >> 8);
  } else {
    row[index] = (uint8_t)raw;
  }
}
