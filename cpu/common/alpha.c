/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cpu/common/alpha.h"

#include <string.h>

#include "cpu/common/cpu.h"

CF_MULTIVERSION
bool cf_pixels_are_opaque(const uint8_t *from, int alpha, int pixels)
{
  static const uint8_t masks[4][4] = {
      {255, 0, 0, 0}, {0, 255, 0, 0}, {0, 0, 255, 0}, {0, 0, 0, 255}};
  uint32_t mask, all = UINT32_MAX;

  memcpy(&mask, masks[alpha], sizeof mask);
  for (int x = 0; x < pixels; x++) {
    uint32_t pixel;

    memcpy(&pixel, from + 4 * x, sizeof pixel);
    all &= pixel;
  }
  return (all & mask) == mask;
}

bool cf_plane_is_opaque(const CfVideo *video, int p, const CfPicture *picture)
{
  const int alpha = cf_alpha_channel(&cf_format_info(video->format)->plane[p]);
  const int width = cf_plane_width(video, p), height = cf_plane_height(video, p);
  bool opaque = true;

  for (int y = 0; opaque && y < height; y++)
    opaque = cf_pixels_are_opaque(cf_row(picture, p, y), alpha, width);
  return opaque;
}
