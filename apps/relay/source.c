/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "source.h"

#include <gst/video/video.h>

#include "apps/common/elements.h"
#include "apps/common/error.h"
#include "apps/common/properties.h"
#include "ndi-source.h"
#include "socket.h"
#include "test-source.h"

gboolean relay_source_is_file(const RelayUri *uri)
{
  return uri->scheme == RELAY_FILE;
}

gboolean relay_source_tells_no_time(const RelayUri *uri)
{
  return uri->scheme == RELAY_SRT || g_strcmp0(relay_uri_get(uri, "encoding"), "MP2T") == 0;
}

/* Makes an element in `pipeline`; the pipeline owns it. */
static GstElement *add(GstBin *pipeline, const gchar *factory, const gchar *purpose, GError **error)
{
  GstElement *element = app_element_make(factory, NULL, purpose, error);

  if (element)
    gst_bin_add(pipeline, element);
  return element;
}

static gboolean link_to_video(GstElement *element, GstPad *video, GError **error)
{
  g_autoptr(GstPad) pad = gst_element_get_static_pad(element, "src");

  if (gst_pad_link(pad, video) == GST_PAD_LINK_OK)
    return TRUE;
  g_set_error(error, APP_ERROR, APP_ERROR_FAILED, "%s gives no video.", GST_OBJECT_NAME(element));
  return FALSE;
}

static gboolean is_video(GstPad *pad, const gchar *prefix)
{
  g_autoptr(GstCaps) caps = gst_pad_get_current_caps(pad);
  const GstStructure *structure;

  if (!caps)
    caps = gst_pad_query_caps(pad, NULL);
  if (gst_caps_is_any(caps) || gst_caps_is_empty(caps))
    return FALSE;
  structure = gst_caps_get_structure(caps, 0);
  return g_str_has_prefix(gst_structure_get_name(structure), prefix);
}

static void take_decoded_pad(GstElement *decoder, GstPad *pad, GstPad *video)
{
  if (!gst_pad_is_linked(video) && is_video(pad, "video/x-raw"))
    gst_pad_link(pad, video);
}

static void complain_without_video(GstElement *decoder, GstPad *video)
{
  if (!gst_pad_is_linked(video))
    GST_ELEMENT_ERROR(decoder, STREAM, WRONG_TYPE,
                      ("There is no video in it that can be decoded here."), (NULL));
}

/* decodebin goes on with what this says TRUE to. */
static gboolean go_on_with(GstElement *decoder, GstPad *pad, GstCaps *caps, gpointer unused)
{
  const gchar *name = gst_structure_get_name(gst_caps_get_structure(caps, 0));

  return !g_str_has_prefix(name, "audio/") && !g_str_has_prefix(name, "text/") &&
         !g_str_has_prefix(name, "subpicture/");
}

/* A decoder that works on several frames at a time would hold them back. */
static void prepare_element(GstBin *decoder, GstBin *owner, GstElement *element, gpointer unused)
{
  if (g_object_class_find_property(G_OBJECT_GET_CLASS(element), "thread-type"))
    app_property_set(element, "thread-type", "slice", NULL);
}

static void watch_arrivals(GstBin *decoder, GstBin *owner, GstElement *element, gpointer arrivals)
{
  GstElementFactory *factory = gst_element_get_factory(element);
  const GstElementFactoryListType parsers =
      GST_ELEMENT_FACTORY_TYPE_PARSER | GST_ELEMENT_FACTORY_TYPE_MEDIA_VIDEO;
  GstPad *pad = gst_element_get_static_pad(element, "sink");

  if (pad && factory && gst_element_factory_list_is_type(factory, parsers))
    relay_arrivals_watch(arrivals, pad);
  g_clear_pointer(&pad, gst_object_unref);
}

/* `previous` ! decodebin ! `video`. */
static GstElement *add_decoder(GstBin *pipeline, GstElement *previous, GstPad *video,
                               GError **error)
{
  GstElement *decoder = add(pipeline, "decodebin", NULL, error);

  if (!decoder)
    return NULL;
  g_signal_connect(decoder, "autoplug-continue", G_CALLBACK(go_on_with), NULL);
  g_signal_connect(decoder, "deep-element-added", G_CALLBACK(prepare_element), NULL);
  g_signal_connect_object(decoder, "pad-added", G_CALLBACK(take_decoded_pad), video, 0);
  g_signal_connect_object(decoder, "no-more-pads", G_CALLBACK(complain_without_video), video, 0);
  if (previous && !gst_element_link(previous, decoder)) {
    g_set_error(error, APP_ERROR, APP_ERROR_FAILED, "%s does not go into a decoder.",
                GST_OBJECT_NAME(previous));
    return NULL;
  }
  return decoder;
}

static gboolean add_watched_decoder(GstBin *pipeline, GstElement *previous, GstPad *video,
                                    RelayArrivals *arrivals, GError **error)
{
  GstElement *decoder = add_decoder(pipeline, previous, video, error);

  if (!decoder)
    return FALSE;
  g_signal_connect(decoder, "deep-element-added", G_CALLBACK(watch_arrivals), arrivals);
  return TRUE;
}

static gboolean build_file(GstBin *pipeline, GstPad *video, const RelayUri *uri, GError **error)
{
  GstElement *source = add(pipeline, "filesrc", NULL, error);

  if (!source)
    return FALSE;
  if (!g_file_test(uri->place, G_FILE_TEST_IS_REGULAR)) {
    g_set_error(error, APP_ERROR, APP_ERROR_USAGE, "There is no file \"%s\".", uri->place);
    return FALSE;
  }
  g_object_set(source, "location", uri->place, NULL);
  return add_decoder(pipeline, source, video, error) != NULL;
}

static gboolean build_srt(GstBin *pipeline, GstPad *video, const RelayUri *uri, guint latency,
                          RelayArrivals *arrivals, GError **error)
{
  GstElement *source = add(pipeline, "srtsrc", "for srt:", error);

  if (!source)
    return FALSE;
  g_object_set(source, "uri", uri->text, NULL);
  if (!relay_uri_get(uri, "latency"))
    g_object_set(source, "latency", (gint)latency, NULL);
  /* The end of a connection is the end of its stream: the whole source is made anew then. */
  if (g_object_class_find_property(G_OBJECT_GET_CLASS(source), "auto-reconnect"))
    g_object_set(source, "auto-reconnect", FALSE, NULL);
  return add_watched_decoder(pipeline, source, video, arrivals, error);
}

static GstCaps *rtp_caps(const RelayUri *uri)
{
  const gchar *encoding = relay_uri_get(uri, "encoding");
  const gint payload = g_strcmp0(encoding, "MP2T") == 0   ? 33
                       : g_strcmp0(encoding, "JPEG") == 0 ? 26
                                                          : 96;

  return gst_caps_new_simple("application/x-rtp", "media", G_TYPE_STRING, "video", "clock-rate",
                             G_TYPE_INT, 90000, "encoding-name", G_TYPE_STRING,
                             encoding ? encoding : "H264", "payload", G_TYPE_INT,
                             relay_uri_get_integer(uri, "payload", payload), NULL);
}

static gboolean build_rtp(GstBin *pipeline, GstPad *video, const RelayUri *uri, guint latency,
                          RelayArrivals *arrivals, GError **error)
{
  GstElement *source = add(pipeline, "udpsrc", "for rtp:", error);
  GstElement *jitter = source ? add(pipeline, "rtpjitterbuffer", "for rtp:", error) : NULL;
  g_autoptr(GstCaps) caps = rtp_caps(uri);

  if (!jitter)
    return FALSE;
  g_object_set(source, "address", *uri->host ? uri->host : "0.0.0.0", "port", (gint)uri->port,
               "caps", caps, "buffer-size", 4 << 20, NULL);
  g_object_set(jitter, "latency", latency, NULL);
  if (!gst_element_link(source, jitter))
    return FALSE;
  return relay_source_tells_no_time(uri)
             ? add_watched_decoder(pipeline, jitter, video, arrivals, error)
             : add_decoder(pipeline, jitter, video, error) != NULL;
}

static gboolean select_video(GstElement *source, guint number, GstCaps *caps, gpointer unused)
{
  const gchar *media = gst_structure_get_string(gst_caps_get_structure(caps, 0), "media");

  return g_strcmp0(media, "video") == 0;
}

static void take_rtsp_pad(GstElement *source, GstPad *pad, GstElement *decoder)
{
  g_autoptr(GstPad) sink = gst_element_get_static_pad(decoder, "sink");

  if (!gst_pad_is_linked(sink) && is_video(pad, "application/x-rtp"))
    gst_pad_link(pad, sink);
}

static gboolean build_rtsp(GstBin *pipeline, GstPad *video, const RelayUri *uri, guint latency,
                           GError **error)
{
  GstElement *source = add(pipeline, "rtspsrc", "for rtsp:", error);
  GstElement *decoder = source ? add_decoder(pipeline, NULL, video, error) : NULL;

  if (!decoder)
    return FALSE;
  g_object_set(source, "location", uri->text, "latency", latency, NULL);
  g_signal_connect(source, "select-stream", G_CALLBACK(select_video), NULL);
  g_signal_connect_object(source, "pad-added", G_CALLBACK(take_rtsp_pad), decoder, 0);
  return TRUE;
}

/* Caps of raw video with what the options of `uri` say. */
static GstCaps *picture_caps(const RelayUri *uri, const gchar *media)
{
  GstCaps *caps = gst_caps_new_empty_simple(media);
  const gchar *format = relay_uri_get(uri, "format");

  if (format && g_str_equal(media, "video/x-raw"))
    gst_caps_set_simple(caps, "format", G_TYPE_STRING, format, NULL);
  if (relay_uri_get(uri, "width"))
    gst_caps_set_simple(caps, "width", G_TYPE_INT, relay_uri_get_integer(uri, "width", 0), NULL);
  if (relay_uri_get(uri, "height"))
    gst_caps_set_simple(caps, "height", G_TYPE_INT, relay_uri_get_integer(uri, "height", 0), NULL);
  if (relay_uri_get(uri, "fps"))
    gst_caps_set_simple(caps, "framerate", GST_TYPE_FRACTION, relay_uri_get_integer(uri, "fps", 0),
                        1, NULL);
  return caps;
}

static gboolean check_picture(const RelayUri *uri, GError **error)
{
  const gchar *format = relay_uri_get(uri, "format");

  if (!format || !relay_uri_get(uri, "width") || !relay_uri_get(uri, "height")) {
    g_set_error(error, APP_ERROR, APP_ERROR_USAGE,
                "\"%s\": shared memory does not say what is in it; write "
                "shm:PATH?format=NV12&width=640&height=480.",
                uri->text);
    return FALSE;
  }
  if (gst_video_format_from_string(format) == GST_VIDEO_FORMAT_UNKNOWN) {
    g_set_error(error, APP_ERROR, APP_ERROR_USAGE,
                "\"%s\": \"%s\" is no format of video. GStreamer has NV12, I420, RGBA, UYVY and "
                "others.",
                uri->text, format);
    return FALSE;
  }
  return TRUE;
}

/* A frame of another size than its caps say would be read beyond its end. */
static GstPadProbeReturn check_size(GstPad *pad, GstPadProbeInfo *info, gpointer expected)
{
  const gsize size = gst_buffer_get_size(GST_PAD_PROBE_INFO_BUFFER(info));

  if (size == GPOINTER_TO_SIZE(expected))
    return GST_PAD_PROBE_OK;
  GST_ELEMENT_ERROR(GST_PAD_PARENT(pad), STREAM, FORMAT,
                    ("Frames have %" G_GSIZE_FORMAT " bytes, where the format, width and height "
                     "of the address need %" G_GSIZE_FORMAT ".",
                     size, GPOINTER_TO_SIZE(expected)),
                    (NULL));
  return GST_PAD_PROBE_DROP;
}

static gboolean build_shm(GstBin *pipeline, GstPad *video, const RelayUri *uri, GError **error)
{
  GstElement *source, *filter;
  g_autoptr(GstCaps) caps = NULL;
  g_autoptr(GstPad) pad = NULL;
  GstVideoInfo info;

  if (!check_picture(uri, error))
    return FALSE;
  /* shmsrc of GStreamer 1.22 complains of itself (CRITICAL) where it cannot connect. */
  if (!relay_socket_is_alive(uri->place)) {
    g_set_error(error, APP_ERROR, APP_ERROR_FAILED, "nobody writes to \"%s\"", uri->place);
    return FALSE;
  }
  source = add(pipeline, "shmsrc", "for shm:", error);
  filter = source ? add(pipeline, "capsfilter", NULL, error) : NULL;
  if (!filter)
    return FALSE;
  gst_video_info_set_format(&info, gst_video_format_from_string(relay_uri_get(uri, "format")),
                            relay_uri_get_integer(uri, "width", 0),
                            relay_uri_get_integer(uri, "height", 0));
  info.fps_n = relay_uri_get_integer(uri, "fps", 30);
  info.fps_d = 1;
  caps = gst_video_info_to_caps(&info);
  g_object_set(source, "socket-path", uri->place, "is-live", TRUE, "do-timestamp", TRUE, NULL);
  g_object_set(filter, "caps", caps, NULL);
  pad = gst_element_get_static_pad(source, "src");
  gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_BUFFER, check_size, GSIZE_TO_POINTER(info.size), NULL);
  return gst_element_link(source, filter) && link_to_video(filter, video, error);
}

static gboolean build_v4l2(GstBin *pipeline, GstPad *video, const RelayUri *uri, GError **error)
{
  const gchar *format = relay_uri_get(uri, "format");
  const gboolean jpeg = format && (g_str_equal(format, "MJPG") || g_str_equal(format, "JPEG"));
  GstElement *source = add(pipeline, "v4l2src", "for v4l2:", error);
  GstElement *filter = source ? add(pipeline, "capsfilter", NULL, error) : NULL;
  g_autoptr(GstCaps) caps = NULL;

  if (!filter)
    return FALSE;
  g_object_set(source, "device", uri->place, NULL);
  if (g_hash_table_size(uri->options) > 0) {
    caps = picture_caps(uri, jpeg ? "image/jpeg" : "video/x-raw");
    g_object_set(filter, "caps", caps, NULL);
  }
  return gst_element_link(source, filter) && add_decoder(pipeline, filter, video, error);
}

gboolean relay_source_build(GstBin *pipeline, GstPad *video, const RelayUri *uri, guint latency,
                            RelayArrivals *arrivals, GError **error)
{
  GstElement *source;

  switch (uri->scheme) {
  case RELAY_FILE:
    return build_file(pipeline, video, uri, error);
  case RELAY_SRT:
    return build_srt(pipeline, video, uri, latency, arrivals, error);
  case RELAY_RTP:
    return build_rtp(pipeline, video, uri, latency, arrivals, error);
  case RELAY_RTSP:
    return build_rtsp(pipeline, video, uri, latency, error);
  case RELAY_SHM:
    return build_shm(pipeline, video, uri, error);
  case RELAY_V4L2:
    return build_v4l2(pipeline, video, uri, error);
  case RELAY_NDI:
    return relay_ndi_source_build(pipeline, video, uri, error);
  case RELAY_TEST:
    source = relay_test_source_new(pipeline, uri, error);
    break;
  default:
    g_return_val_if_reached(FALSE);
  }
  return source && link_to_video(source, video, error);
}
