/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Finds the video in a stream of any kind, and decodes it.
 */
#pragma once

#include <gst/gst.h>

#include "arrivals.h"

/* Adds a decodebin to `pipeline`, after `previous` (NULL: the caller links it). Links its video to
 * the pad `video`, decoded on the GPU if relay_hardware_probe() found that to work. Other streams
 * are not decoded. `arrivals`, if not NULL, watches encoded frames, and outlives the pipeline's
 * elements. */
GstElement *relay_decode_add(GstBin *pipeline, GstElement *previous, GstPad *video,
                             RelayArrivals *arrivals, GError **error);

/* TRUE if the media type of the pad's caps begins with `media`. */
gboolean relay_decode_pad_is(GstPad *pad, const gchar *media);
