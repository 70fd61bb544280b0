/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "colours.h"

#include <gst/video/video.h>

/* NULL: the caps are complete. Caller frees. */
static gchar *complete_colorimetry(const GstCaps *caps)
{
  const gchar *name = gst_structure_get_string(gst_caps_get_structure(caps, 0), "colorimetry");
  GstVideoColorimetry told = {0}, *colours;
  GstVideoInfo info;

  if ((name && !gst_video_colorimetry_from_string(&told, name)) ||
      told.matrix != GST_VIDEO_COLOR_MATRIX_UNKNOWN || !gst_video_info_from_caps(&info, caps) ||
      GST_VIDEO_INFO_IS_RGB(&info))
    return NULL;
  colours = &info.colorimetry;
  if (told.range != GST_VIDEO_COLOR_RANGE_UNKNOWN)
    colours->range = told.range;
  if (told.transfer != GST_VIDEO_TRANSFER_UNKNOWN)
    colours->transfer = told.transfer;
  if (told.primaries != GST_VIDEO_COLOR_PRIMARIES_UNKNOWN)
    colours->primaries = told.primaries;
  return gst_video_colorimetry_to_string(colours);
}

static GstPadProbeReturn complete(GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
  GstEvent *event = GST_PAD_PROBE_INFO_EVENT(info);
  g_autofree gchar *colorimetry = NULL;
  GstCaps *caps;

  if (GST_EVENT_TYPE(event) != GST_EVENT_CAPS)
    return GST_PAD_PROBE_OK;
  gst_event_parse_caps(event, &caps);
  colorimetry = complete_colorimetry(caps);
  if (!colorimetry)
    return GST_PAD_PROBE_OK;
  caps = gst_caps_copy(caps);
  gst_caps_set_simple(caps, "colorimetry", G_TYPE_STRING, colorimetry, NULL);
  GST_PAD_PROBE_INFO_DATA(info) = gst_event_new_caps(caps);
  gst_caps_unref(caps);
  gst_event_unref(event);
  return GST_PAD_PROBE_OK;
}

void app_complete_colours(GstPad *pad)
{
  gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM, complete, NULL, NULL);
}
