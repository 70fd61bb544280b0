/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Whether a picture with alpha is opaque: weighting by alpha then changes nothing, and faster loops
 * suffice.
 */
#pragma once

#include "image.h"

/* Whether alpha, channel 0 or 3 of 8-bit pixels of four channels, is 255 in all `pixels` pixels. */
bool cf_pixels_are_opaque(const uint8_t *from, int alpha, int pixels);

/* The same for all of plane `p`, which has alpha. */
bool cf_plane_is_opaque(const CfVideo *video, int p, const CfPicture *picture);
