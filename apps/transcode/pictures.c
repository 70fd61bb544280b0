/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "pictures.h"

#include "codecs.h"

#include <gst/video/video.h>

/* Limit on the time to decode the first picture. */
#define TIMEOUT (10 * GST_SECOND)

Pictures pictures_of(const GstCaps *caps)
{
  const GstStructure *structure = gst_caps_get_structure(caps, 0);
  const gchar *interlace = gst_structure_get_string(structure, "interlace-mode");
  const gchar *chroma = gst_structure_get_string(structure, "chroma-format");
  const gchar *profile = gst_structure_get_string(structure, "profile");
  Pictures pictures = {.depth = 8};

  if (!gst_structure_get_uint(structure, "bit-depth-luma", &pictures.depth) && profile &&
      (g_str_equal(profile, "2") || g_str_equal(profile, "3") || strstr(profile, "10")))
    pictures.depth = 10;
  pictures.chroma = chroma && !g_str_equal(chroma, "4:2:0") && !g_str_equal(chroma, "4:0:0");
  pictures.interlaced = interlace && !g_str_equal(interlace, "progressive");
  gst_structure_get_boolean(structure, "codec-alpha", &pictures.alpha);
  return pictures;
}

/* Caps of the first picture; NULL if none could be decoded. */
static GstCaps *decode_first(const Media *media, const gchar *decoder)
{
  g_autofree gchar *pad = g_strdup_printf("in.%s", media->video->pad);
  const gchar *words[] = {"filesrc", "name=file", "!", "parsebin", "name=in",  pad,
                          "!",       decoder,     "!", "fakesink", "name=end", NULL};
  GstElement *pipeline = gst_parse_launchv(words, NULL);
  g_autoptr(GstElement) file = NULL, in = NULL, end = NULL;
  g_autoptr(GstPad) sink = NULL;
  GstCaps *caps;

  if (!pipeline)
    return NULL;
  file = gst_bin_get_by_name(GST_BIN(pipeline), "file");
  in = gst_bin_get_by_name(GST_BIN(pipeline), "in");
  end = gst_bin_get_by_name(GST_BIN(pipeline), "end");
  sink = gst_element_get_static_pad(end, "sink");
  media_prepare(media, file, in);
  gst_element_set_state(pipeline, GST_STATE_PAUSED);
  gst_element_get_state(pipeline, NULL, NULL, TIMEOUT);
  caps = gst_pad_get_current_caps(sink);
  gst_element_set_state(pipeline, GST_STATE_NULL);
  gst_object_unref(pipeline);
  return caps;
}

Pictures pictures_look(const Media *media, const gchar *decoder)
{
  Pictures pictures = pictures_of(media->video->caps);
  g_autoptr(GstCaps) caps = NULL;
  GstVideoInfo info;

  if (codec_tells_pictures(media->video->caps))
    return pictures;
  caps = decode_first(media, decoder);
  if (!caps || !gst_video_info_from_caps(&info, caps))
    return pictures;
  pictures.depth = GST_VIDEO_INFO_COMP_DEPTH(&info, 0);
  pictures.chroma =
      !GST_VIDEO_INFO_IS_GRAY(&info) &&
      !(GST_VIDEO_FORMAT_INFO_W_SUB(info.finfo, 1) && GST_VIDEO_FORMAT_INFO_H_SUB(info.finfo, 1));
  pictures.alpha = GST_VIDEO_INFO_HAS_ALPHA(&info);
  pictures.interlaced |= GST_VIDEO_INFO_IS_INTERLACED(&info);
  return pictures;
}
