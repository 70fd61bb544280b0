/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ndi-source.h"

#include <gst/app/app.h>
#include <gst/video/video.h>

#include "apps/common/elements.h"
#include "apps/common/error.h"
#include "ndi.h"

/* Limit on a wait for a frame, and so on the time to stop. */
#define WAIT_MS 50

/* A receiver, with a reference by the source and by each of its frames that is still in use. */
typedef struct {
  gatomicrefcount references;
  const RelayNdi *ndi;
  void *instance;
} Receiver;

typedef struct {
  Receiver *receiver;
  GstPad *pad; /* of the appsrc, which owns this; no reference */
  gboolean connected;
  GstVideoInfo info; /* of the last frame */
  GstCaps *reference;
} Source;

typedef struct {
  Receiver *receiver;
  RelayNdiVideo video;
} Frame;

static Receiver *hold(Receiver *receiver)
{
  g_atomic_ref_count_inc(&receiver->references);
  return receiver;
}

static void let_go(Receiver *receiver)
{
  if (!g_atomic_ref_count_dec(&receiver->references))
    return;
  receiver->ndi->recv_destroy(receiver->instance);
  g_free(receiver);
}

static void free_frame(gpointer data)
{
  Frame *frame = data;

  frame->receiver->ndi->recv_free_video_v2(frame->receiver->instance, &frame->video);
  let_go(frame->receiver);
  g_free(frame);
}

static void free_source(gpointer data)
{
  Source *source = data;

  let_go(source->receiver);
  gst_caps_unref(source->reference);
  g_free(source);
}

static GstVideoFormat find_format(uint32_t fourcc)
{
  switch (fourcc) {
  case RELAY_NDI_FOURCC('U', 'Y', 'V', 'Y'):
    return GST_VIDEO_FORMAT_UYVY;
  case RELAY_NDI_FOURCC('B', 'G', 'R', 'A'):
    return GST_VIDEO_FORMAT_BGRA;
  case RELAY_NDI_FOURCC('B', 'G', 'R', 'X'):
    return GST_VIDEO_FORMAT_BGRx;
  case RELAY_NDI_FOURCC('R', 'G', 'B', 'A'):
    return GST_VIDEO_FORMAT_RGBA;
  case RELAY_NDI_FOURCC('R', 'G', 'B', 'X'):
    return GST_VIDEO_FORMAT_RGBx;
  default:
    return GST_VIDEO_FORMAT_UNKNOWN;
  }
}

static gboolean describe(GstVideoInfo *info, const RelayNdiVideo *video)
{
  const GstVideoFormat format = find_format(video->fourcc);

  if (format == GST_VIDEO_FORMAT_UNKNOWN ||
      !gst_video_info_set_format(info, format, video->width, video->height))
    return FALSE;
  info->fps_n = MAX(video->rate_numerator, 0);
  info->fps_d = MAX(video->rate_denominator, 1);
  if (video->picture_aspect_ratio > 0)
    gst_util_double_to_fraction(video->picture_aspect_ratio * video->height / video->width,
                                &info->par_n, &info->par_d);
  return TRUE;
}

/* A buffer on the runtime's memory, which is given back when the buffer is freed. */
static GstBuffer *wrap(Source *source, const RelayNdiVideo *video, const GstVideoInfo *info)
{
  const gsize size = (gsize)video->stride * video->height;
  gsize offsets[GST_VIDEO_MAX_PLANES] = {0};
  gint strides[GST_VIDEO_MAX_PLANES] = {video->stride};
  Frame *frame = g_new(Frame, 1);
  GstBuffer *buffer;

  *frame = (Frame){hold(source->receiver), *video};
  buffer = gst_buffer_new_wrapped_full(GST_MEMORY_FLAG_READONLY, video->data, size, 0, size, frame,
                                       free_frame);
  gst_buffer_add_video_meta_full(buffer, GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_INFO_FORMAT(info),
                                 video->width, video->height, 1, offsets, strides);
  if (video->timecode != RELAY_NDI_NO_TIMECODE && video->timecode >= 0)
    gst_buffer_add_reference_timestamp_meta(buffer, source->reference, video->timecode * 100,
                                            GST_CLOCK_TIME_NONE);
  return buffer;
}

static void push(GstAppSrc *element, Source *source, const RelayNdiVideo *video)
{
  GstVideoInfo info;
  GstBuffer *buffer;

  if (!describe(&info, video)) {
    source->receiver->ndi->recv_free_video_v2(source->receiver->instance, video);
    GST_ELEMENT_ERROR(element, STREAM, FORMAT,
                      ("The NDI source sends a video format that is not supported."),
                      ("FourCC %#x", video->fourcc));
    return;
  }
  if (!gst_video_info_is_equal(&info, &source->info)) {
    GstCaps *caps = gst_video_info_to_caps(&info);

    gst_app_src_set_caps(element, caps);
    gst_caps_unref(caps);
    source->info = info;
  }
  buffer = wrap(source, video, &info);
  gst_app_src_push_buffer(element, buffer);
}

/* The appsrc's need-data, in its streaming thread. Ends when the pad is flushing. */
static void receive(GstAppSrc *element, guint unused, gpointer data)
{
  Source *source = data;
  const RelayNdi *ndi = source->receiver->ndi;
  void *instance = source->receiver->instance;

  while (!GST_PAD_IS_FLUSHING(source->pad)) {
    RelayNdiVideo video = {0};
    const int got = ndi->recv_capture_v3(instance, &video, NULL, NULL, WAIT_MS);

    if (got == RELAY_NDI_FRAME_VIDEO) {
      source->connected = TRUE;
      push(element, source, &video);
      return;
    }
    if (got == RELAY_NDI_FRAME_ERROR ||
        (source->connected && ndi->recv_get_no_connections(instance) == 0)) {
      GST_ELEMENT_ERROR(element, RESOURCE, READ, ("The NDI source is gone."), (NULL));
      gst_app_src_end_of_stream(element);
      return;
    }
  }
}

static Receiver *make_receiver(const RelayNdi *ndi, const RelayUri *uri, GError **error)
{
  const gboolean rgb = g_strcmp0(relay_uri_get(uri, "color"), "rgb") == 0;
  g_autofree gchar *url = uri->host ? g_strdup_printf("%s:%u", uri->host, uri->port) : NULL;
  const RelayNdiReceiverSettings settings = {.source = {uri->host ? NULL : uri->place, url},
                                             .color_format = rgb ? RELAY_NDI_COLOR_RGBX_RGBA
                                                                 : RELAY_NDI_COLOR_UYVY_BGRA,
                                             .bandwidth = RELAY_NDI_BANDWIDTH_HIGHEST,
                                             .receiver_name = g_get_prgname()};
  void *instance = ndi->recv_create_v3(&settings);
  Receiver *receiver;

  if (!instance) {
    g_set_error(error, APP_ERROR, APP_ERROR_FAILED, "The NDI runtime could not create a receiver.");
    return NULL;
  }
  receiver = g_new0(Receiver, 1);
  receiver->ndi = ndi;
  receiver->instance = instance;
  g_atomic_ref_count_init(&receiver->references);
  return receiver;
}

static gboolean build_own(GstBin *pipeline, GstPad *video, const RelayUri *uri, GError **error)
{
  const RelayNdi *ndi = relay_ndi_load(error);
  GstElement *element = ndi ? app_element_make("appsrc", NULL, "for ndi:", error) : NULL;
  GstAppSrcCallbacks callbacks = {.need_data = receive};
  Receiver *receiver;
  Source *source;

  if (!element)
    return FALSE;
  gst_bin_add(pipeline, element);
  receiver = make_receiver(ndi, uri, error);
  if (!receiver)
    return FALSE;
  source = g_new0(Source, 1);
  source->receiver = receiver;
  source->reference = gst_caps_from_string(RELAY_NDI_TIMECODE);
  source->pad = gst_element_get_static_pad(element, "src");
  gst_object_unref(source->pad);
  gst_video_info_init(&source->info);
  g_object_set(element, "is-live", TRUE, "do-timestamp", TRUE, "format", GST_FORMAT_TIME, NULL);
  gst_app_src_set_callbacks(GST_APP_SRC(element), &callbacks, source, free_source);
  return gst_pad_link(source->pad, video) == GST_PAD_LINK_OK;
}

static void take_pad(GstElement *demuxer, GstPad *pad, GstPad *video)
{
  if (g_str_equal(GST_PAD_NAME(pad), "video") && !gst_pad_is_linked(video))
    gst_pad_link(pad, video);
}

/* ndisrc ! ndisrcdemux of gst-plugins-rs. */
static gboolean build_from_elements(GstBin *pipeline, GstPad *video, const RelayUri *uri,
                                    GError **error)
{
  GstElement *source = app_element_make("ndisrc", NULL, NULL, error);
  GstElement *demuxer = app_element_make("ndisrcdemux", NULL, NULL, error);
  g_autofree gchar *url = uri->host ? g_strdup_printf("%s:%u", uri->host, uri->port) : NULL;

  gst_bin_add_many(pipeline, source, demuxer, NULL);
  g_object_set(source, uri->host ? "url-address" : "ndi-name", url ? url : uri->place, NULL);
  if (g_strcmp0(relay_uri_get(uri, "color"), "rgb") == 0)
    gst_util_set_object_arg(G_OBJECT(source), "color-format", "rgbx-rgba");
  g_signal_connect_object(demuxer, "pad-added", G_CALLBACK(take_pad), video, 0);
  return gst_element_link(source, demuxer);
}

gboolean relay_ndi_source_build(GstBin *pipeline, GstPad *video, const RelayUri *uri,
                                GError **error)
{
  if (app_element_exists("ndisrc") && app_element_exists("ndisrcdemux"))
    return build_from_elements(pipeline, video, uri, error);
  return build_own(pipeline, video, uri, error);
}
