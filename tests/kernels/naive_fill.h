/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The code value of a colour in a channel, by the formulas of ITU-R BT.601 and BT.709. Shares no
 * code with cf_color_codes.
 */
#pragma once

#include <math.h>

#include "image.h"

static inline int naive_fill_code(const CfVideo *video, uint32_t argb, CfRole role)
{
  const int bits = cf_format_info(video->format)->bits;
  const double r = (argb >> 16 & 255) / 255.0, g = (argb >> 8 & 255) / 255.0;
  const double b = (argb & 255) / 255.0, a = (argb >> 24) / 255.0, most = exp2(bits) - 1.0;
  const double kr = video->luma_red, kb = video->luma_blue;
  const double y = kr * r + kb * b + (1.0 - kr - kb) * g;
  const double pb = (b - y) / (2.0 - 2.0 * kb), pr = (r - y) / (2.0 - 2.0 * kr);
  const bool limited = video->range == CF_RANGE_LIMITED;
  const double unit = exp2(bits - 8), chroma = limited ? 224.0 * unit : most;
  const double code = role == CF_ROLE_LUMA ? (limited ? (16.0 + 219.0 * y) * unit : most * y)
                      : role == CF_ROLE_CHROMA_BLUE ? chroma * pb + 128.0 * unit
                      : role == CF_ROLE_CHROMA_RED  ? chroma * pr + 128.0 * unit
                      : role == CF_ROLE_RED         ? most * r
                      : role == CF_ROLE_GREEN       ? most * g
                      : role == CF_ROLE_BLUE        ? most * b
                                                    : most * a;

  return (int)fmin(fmax(floor(code + 0.5), 0.0), most);
}
