/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * test:, GStreamer's moving test picture, which can change its size as it runs.
 */
#pragma once

#include <gst/gst.h>

#include "uri.h"

/* Adds its elements to `pipeline`, and returns the last of them. Options of `uri`: pattern, format,
 * width, height, fps; frames (then it ends); sizes=WxH,WxH,... in turn, each for `every` frames. */
GstElement *relay_test_source_new(GstBin *pipeline, const RelayUri *uri, GError **error);
