/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * ndi: as a source.
 */
#pragma once

#include <gst/gst.h>

#include "uri.h"

/* The name of the timecode that an NDI frame came with, as the reference of a
 * GstReferenceTimestampMeta on its buffer, in ns. */
#define RELAY_NDI_TIMECODE "timestamp/x-ndi-timecode"

/* Puts a receiver into `pipeline` and links it to the pad `video`, now or when it has one:
 * GStreamer's own elements for NDI where they are installed, else an appsrc that the NDI runtime
 * feeds. Frames with alpha keep it. */
gboolean relay_ndi_source_build(GstBin *pipeline, GstPad *video, const RelayUri *uri,
                                GError **error);
