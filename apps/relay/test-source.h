/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * test:, a moving test picture of videotestsrc, which can change its size.
 */
#pragma once

#include <gst/gst.h>

#include "uri.h"

/* Adds its elements to `pipeline`, and returns the last of them. Options of `uri`: pattern, format,
 * width, height, fps; frames, after which it ends; sizes=WxH,WxH,..., each for `every` frames. */
GstElement *relay_test_source_new(GstBin *pipeline, const RelayUri *uri, GError **error);
