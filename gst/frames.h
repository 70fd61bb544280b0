/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Maps video frames with all checks that engines rely on, and compares layouts of planes.
 */
#pragma once

#include <gst/video/video.h>

#include "status.h"

/* Maps `buffer` with `flags` (GST_MAP_CUDA for device pointers) and without a reference: the caller
 * keeps the buffer. With a crop meta, planes start at the cropped picture. Unlike
 * gst_video_frame_map, fails for frames of another format or with fewer pixels than `info`, for
 * crop rectangles of another size or between chroma samples, and for planes that reach beyond their
 * memory. */
gboolean gst_cuda_filters_frame_map(GstVideoFrame *frame, const GstVideoInfo *info,
                                    GstBuffer *buffer, GstMapFlags flags, CfStatus *status);

/* Whether `buffer` has the layout of `info`, so that it can be read without a video meta. */
gboolean gst_cuda_filters_frame_is_plain(GstBuffer *buffer, const GstVideoInfo *info);

/* Copies the picture of `source`, cropped by its meta, to `destination`; both in system memory. */
gboolean gst_cuda_filters_frame_copy(GstBuffer *destination, GstBuffer *source,
                                     const GstVideoInfo *info, CfStatus *status);
