/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Whether pictures with alpha are opaque: then weights change nothing, and faster loops do.
 */
#pragma once

#include "image.h"

/* Whether alpha, channel 0 or 3 of these pixels of 4 bytes, is 255 in all of them. */
bool cf_pixels_are_opaque(const uint8_t *from, int alpha, int pixels);

/* The same of a whole plane that has alpha. */
bool cf_plane_is_opaque(const CfVideo *video, int p, const CfPicture *picture);
