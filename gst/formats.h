/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * GStreamer's video formats in the words of the engines, and back.
 */
#pragma once

#include <gst/video/video.h>

#include "image.h"

/* False where `format` is none of ours. */
gboolean gst_cuda_filters_format_from_gst(GstVideoFormat format, CfFormat *result);

/* The engines' description of what `info` says: geometry, range, luma weights, transfer. Height is
 * that of the whole frame. False where the format is none of ours. */
gboolean gst_cuda_filters_video_from_info(const GstVideoInfo *info, CfVideo *video);

/* `video/x-raw` with all formats; transfer full. */
GstCaps *gst_cuda_filters_system_caps(void);
