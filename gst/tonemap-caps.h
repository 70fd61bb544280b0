/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Caps of the two pads of a tone mapping: HDR comes in and SDR goes out; SDR passes unchanged.
 */
#pragma once

#include <gst/video/video.h>

#include "status.h"

/* The caps of the other pad for `caps` of the pad of `direction`; transfer full. Exact for fixed
 * input caps; for others, all that is possible. */
GstCaps *gst_cuda_filters_tonemap_other_caps(GstPadDirection direction, const GstCaps *caps);

/* Sets the colorimetry of `info`, which is that of the fixed `caps`. GStreamer takes HDR with an
 * unknown matrix for SDR; here unknown matrix and primaries are those of BT.2100. False, with the
 * reason, for HDR with a matrix or primaries that are not supported. */
gboolean gst_cuda_filters_tonemap_complete_info(const GstCaps *caps, GstVideoInfo *info,
                                                CfStatus *status);

/* The peak in nits from fixed HDR caps: the maximum content light level, else the maximum luminance
 * of the mastering display, else 0. */
gdouble gst_cuda_filters_tonemap_peak(const GstCaps *caps);
