/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "padded-frames.h"

#include <gst/video/video.h>

static GstPadProbeReturn offer_video_meta(GstPad *pad, GstPadProbeInfo *info, gpointer unused)
{
  GstQuery *query = GST_PAD_PROBE_INFO_QUERY(info);

  if (GST_QUERY_TYPE(query) != GST_QUERY_ALLOCATION)
    return GST_PAD_PROBE_OK;
  gst_query_add_allocation_meta(query, GST_VIDEO_META_API_TYPE, NULL);
  return GST_PAD_PROBE_HANDLED;
}

void relay_take_padded_frames(GstPad *pad)
{
  gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_QUERY_DOWNSTREAM, offer_video_meta, NULL, NULL);
}
