/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * An appsink that takes frames as they lie in memory.
 */
#pragma once

#include <gst/gst.h>

/* Tells upstream that the element with this sink pad reads GstVideoMeta: decoders and others that
 * can leave their frames padded would copy them else. The pad is borrowed. */
void relay_take_padded_frames(GstPad *pad);
