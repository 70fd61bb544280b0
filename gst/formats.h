/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Conversion between GStreamer's description of video and the engines'.
 */
#pragma once

#include <gst/video/video.h>

#include "image.h"

/* False where the engines do not have `format`. */
gboolean gst_cuda_filters_format_from_gst(GstVideoFormat format, CfFormat *result);

/* `info` as the engines' CfVideo: format, size of the whole frame, range, luma weights, transfer
 * and primaries. False where the engines do not have the format. */
gboolean gst_cuda_filters_video_from_info(const GstVideoInfo *info, CfVideo *video);

/* `video/x-raw` with all formats; transfer full. */
GstCaps *gst_cuda_filters_system_caps(void);
