/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Finds the video in a stream of whatever kind, and decodes it.
 */
#pragma once

#include <gst/gst.h>

#include "arrivals.h"

/* Adds a decodebin behind `previous` (NULL: the caller links it) to `pipeline`. Its video goes to
 * the pad `video`, decoded on the GPU if relay_hardware_probe() has found that to work. Other
 * streams stay undecoded. `arrivals`, if not NULL, gets to know encoded frames, and outlives the
 * pipeline's elements. */
GstElement *relay_decode_add(GstBin *pipeline, GstElement *previous, GstPad *video,
                             RelayArrivals *arrivals, GError **error);

/* TRUE if `caps` of `pad` have that media type, or one that begins so. */
gboolean relay_decode_pad_is(GstPad *pad, const gchar *media);
