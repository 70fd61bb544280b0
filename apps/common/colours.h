/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Colours of video that does not tell all of them.
 */
#pragma once

#include <gst/gst.h>

/* Has all caps that go through `pad` name a matrix: without one, GstVideoInfo ignores the range and
 * the chroma site that they name, and encoders mark full range as limited. The matrix is
 * GStreamer's default for the size; what is named stays. */
void app_complete_colours(GstPad *pad);
