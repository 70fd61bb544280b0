/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Mapping a frame so that an engine opened for `info` can trust it.
 */
#pragma once

#include <gst/video/video.h>

#include "status.h"

/* Maps `buffer` with `flags` (and GST_MAP_CUDA for device pointers), without a reference: the
 * caller keeps the buffer. Refuses frames of another format or of fewer pixels than `info`, and
 * planes that do not lie within their memory, which gst_video_frame_map alone lets through. */
gboolean gst_cuda_filters_frame_map(GstVideoFrame *frame, const GstVideoInfo *info,
                                    GstBuffer *buffer, GstMapFlags flags, CfStatus *status);
