/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Caps on the two sides of a tone mapping: HDR comes in and SDR goes out, and what is SDR passes as
 * it is.
 */
#pragma once

#include <gst/video/video.h>

#include "status.h"

/* The caps of the other pad for any caps of the pad of that direction; transfer full. Of fixed caps
 * that come in, the answer is exact; of others, it is what may come of them. */
GstCaps *gst_cuda_filters_tonemap_other_caps(GstPadDirection direction, const GstCaps *caps);

/* GStreamer takes HDR whose matrix is unknown for SDR; it is BT.2100's, as are primaries. `info` is
 * that of the fixed `caps`. False for HDR whose colours are not known, with the reason. */
gboolean gst_cuda_filters_tonemap_complete_info(const GstCaps *caps, GstVideoInfo *info,
                                                CfStatus *status);

/* The peak that fixed caps of HDR tell of, in nits: content light level, else that of the mastering
 * display; 0 where they tell nothing. */
gdouble gst_cuda_filters_tonemap_peak(const GstCaps *caps);
