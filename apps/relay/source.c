/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "source.h"

#include <arpa/inet.h>
#include <gst/video/video.h>

#include "apps/common/elements.h"
#include "apps/common/error.h"
#include "decode.h"
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

/* Adds an element to `pipeline`, which owns it. */
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
  g_set_error(error, APP_ERROR, APP_ERROR_FAILED, "%s has no video output.",
              GST_OBJECT_NAME(element));
  return FALSE;
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
  return relay_decode_add(pipeline, source, video, NULL, error) != NULL;
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
  /* The end of a connection ends the stream: input.c replaces the whole source then. */
  if (g_object_class_find_property(G_OBJECT_GET_CLASS(source), "auto-reconnect"))
    g_object_set(source, "auto-reconnect", FALSE, NULL);
  return relay_decode_add(pipeline, source, video, arrivals, error) != NULL;
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

static gboolean is_group(const gchar *host)
{
  struct in_addr four;
  struct in6_addr six;

  return (inet_pton(AF_INET, host, &four) == 1 && IN_MULTICAST(ntohl(four.s_addr))) ||
         (inet_pton(AF_INET6, host, &six) == 1 && IN6_IS_ADDR_MULTICAST(&six));
}

static gboolean build_rtp(GstBin *pipeline, GstPad *video, const RelayUri *uri, guint latency,
                          RelayArrivals *arrivals, GError **error)
{
  GstElement *source = add(pipeline, "udpsrc", "for rtp:", error);
  GstElement *jitter = source ? add(pipeline, "rtpjitterbuffer", "for rtp:", error) : NULL;
  g_autoptr(GstCaps) caps = rtp_caps(uri);

  if (!jitter)
    return FALSE;
  /* Of two that receive at one address, one would get nothing; of a group both get all. */
  g_object_set(source, "reuse", is_group(uri->host), NULL);
  g_object_set(source, "address", *uri->host ? uri->host : "0.0.0.0", "port", (gint)uri->port,
               "caps", caps, "buffer-size", 4 << 20, NULL);
  g_object_set(jitter, "latency", latency, NULL);
  if (!relay_source_tells_no_time(uri))
    arrivals = NULL;
  return gst_element_link(source, jitter) &&
         relay_decode_add(pipeline, jitter, video, arrivals, error);
}

static gboolean select_video(GstElement *source, guint number, GstCaps *caps, gpointer unused)
{
  const gchar *media = gst_structure_get_string(gst_caps_get_structure(caps, 0), "media");

  return g_strcmp0(media, "video") == 0;
}

static void take_rtsp_pad(GstElement *source, GstPad *pad, GstElement *decoder)
{
  g_autoptr(GstPad) sink = gst_element_get_static_pad(decoder, "sink");

  if (!gst_pad_is_linked(sink) && relay_decode_pad_is(pad, "application/x-rtp"))
    gst_pad_link(pad, sink);
}

static gboolean build_rtsp(GstBin *pipeline, GstPad *video, const RelayUri *uri, guint latency,
                           GError **error)
{
  GstElement *source = add(pipeline, "rtspsrc", "for rtsp:", error);
  GstElement *decoder = source ? relay_decode_add(pipeline, NULL, video, NULL, error) : NULL;

  if (!decoder)
    return FALSE;
  g_object_set(source, "location", uri->text, "latency", latency, NULL);
  g_signal_connect(source, "select-stream", G_CALLBACK(select_video), NULL);
  g_signal_connect_object(source, "pad-added", G_CALLBACK(take_rtsp_pad), decoder, 0);
  return TRUE;
}

/* Caps of `media` with format, size and rate from the options of `uri`. */
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
                "\"%s\": shared memory does not tell its format, so the address must: write "
                "shm:PATH?format=NV12&width=640&height=480.",
                uri->text);
    return FALSE;
  }
  if (gst_video_format_from_string(format) == GST_VIDEO_FORMAT_UNKNOWN) {
    g_set_error(error, APP_ERROR, APP_ERROR_USAGE,
                "\"%s\": \"%s\" is not a video format. GStreamer has NV12, I420, RGBA, UYVY and "
                "others.",
                uri->text, format);
    return FALSE;
  }
  return TRUE;
}

/* Refuses frames that are smaller or larger than their caps need. */
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
  /* shmsrc of GStreamer 1.22 logs a critical if it cannot connect. */
  if (!relay_socket_is_alive(uri->place)) {
    g_set_error(error, APP_ERROR, APP_ERROR_FAILED, "no program writes to \"%s\"", uri->place);
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
  return gst_element_link(source, filter) && relay_decode_add(pipeline, filter, video, NULL, error);
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
