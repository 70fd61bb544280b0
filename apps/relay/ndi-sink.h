/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * ndi: as an output.
 */
#pragma once

#include <gst/gst.h>

#include "uri.h"

/* Formats that it takes, as in caps. */
#define RELAY_NDI_SINK_FORMATS "{ UYVY, BGRA, BGRx, RGBA, RGBx, NV12, I420, YV12 }"

/* A sink (floating) that sends frames under the name of `uri`: GStreamer's own where it is
 * installed, else an appsink that feeds the NDI runtime. A timecode from an ndi: source is sent
 * with its frame. */
GstElement *relay_ndi_sink_new(const RelayUri *uri, GError **error);
