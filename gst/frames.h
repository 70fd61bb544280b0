/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Mapping a frame so that an engine opened for `info` can trust it, and the layout of its planes.
 */
#pragma once

#include <gst/video/video.h>

#include "status.h"

/* Maps `buffer` with `flags` (and GST_MAP_CUDA for device pointers), without a reference: the
 * caller keeps the buffer. A crop meta is heeded: the planes start where the picture does. Refuses
 * frames of another format or of fewer pixels than `info`, crop rectangles of another size or
 * between chroma samples, and planes that do not lie within their memory, which gst_video_frame_map
 * alone lets through. */
gboolean gst_cuda_filters_frame_map(GstVideoFrame *frame, const GstVideoInfo *info,
                                    GstBuffer *buffer, GstMapFlags flags, CfStatus *status);

/* Whether the planes of `buffer` lie as `info` alone says, so that a reader needs no meta. */
gboolean gst_cuda_filters_frame_is_plain(GstBuffer *buffer, const GstVideoInfo *info);

/* Copies the picture that `source` shows to `destination`, both in system memory. */
gboolean gst_cuda_filters_frame_copy(GstBuffer *destination, GstBuffer *source,
                                     const GstVideoInfo *info, CfStatus *status);
