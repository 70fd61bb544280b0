/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ndi-sink.h"

#include <gst/app/app.h>
#include <gst/video/video.h>

#include "apps/common/elements.h"
#include "apps/common/error.h"
#include "ndi-source.h"
#include "ndi.h"
#include "padded-frames.h"

typedef struct {
  const RelayNdi *ndi;
  void *instance;
  GstVideoFrame sending; /* being read by the runtime until the next send; no buffer: none */
  GstCaps *reference;
} Sink;

static void free_sink(gpointer data)
{
  Sink *sink = data;

  sink->ndi->send_destroy(sink->instance);
  if (sink->sending.buffer)
    gst_video_frame_unmap(&sink->sending);
  gst_caps_unref(sink->reference);
  g_free(sink);
}

static uint32_t find_fourcc(GstVideoFormat format)
{
  switch (format) {
  case GST_VIDEO_FORMAT_UYVY:
    return RELAY_NDI_FOURCC('U', 'Y', 'V', 'Y');
  case GST_VIDEO_FORMAT_BGRA:
    return RELAY_NDI_FOURCC('B', 'G', 'R', 'A');
  case GST_VIDEO_FORMAT_BGRx:
    return RELAY_NDI_FOURCC('B', 'G', 'R', 'X');
  case GST_VIDEO_FORMAT_RGBA:
    return RELAY_NDI_FOURCC('R', 'G', 'B', 'A');
  case GST_VIDEO_FORMAT_RGBx:
    return RELAY_NDI_FOURCC('R', 'G', 'B', 'X');
  case GST_VIDEO_FORMAT_NV12:
    return RELAY_NDI_FOURCC('N', 'V', '1', '2');
  case GST_VIDEO_FORMAT_I420:
    return RELAY_NDI_FOURCC('I', '4', '2', '0');
  default:
    return RELAY_NDI_FOURCC('Y', 'V', '1', '2');
  }
}

/* Whether the planes follow each other as NDI expects, which is told the address and the stride of
 * the first plane only. */
static gboolean is_contiguous(const GstVideoFrame *frame)
{
  const gint stride = GST_VIDEO_FRAME_PLANE_STRIDE(frame, 0);
  const guint planes = GST_VIDEO_FRAME_N_PLANES(frame);
  const guint8 *expected = GST_VIDEO_FRAME_PLANE_DATA(frame, 0);

  if (stride <= 0)
    return FALSE;
  expected += (gsize)stride * GST_VIDEO_FRAME_HEIGHT(frame);
  for (guint plane = 1; plane < planes; plane++) {
    const gint wanted = planes == 2 ? stride : stride / 2;

    if (GST_VIDEO_FRAME_PLANE_STRIDE(frame, plane) != wanted ||
        (const guint8 *)GST_VIDEO_FRAME_PLANE_DATA(frame, plane) != expected)
      return FALSE;
    expected += (gsize)wanted * ((GST_VIDEO_FRAME_HEIGHT(frame) + 1) / 2);
  }
  return TRUE;
}

/* Maps `buffer`, or a copy with contiguous planes. */
static gboolean map_contiguous(GstVideoFrame *frame, GstVideoInfo *info, GstBuffer *buffer)
{
  const gint width = GST_VIDEO_INFO_WIDTH(info), height = GST_VIDEO_INFO_HEIGHT(info);
  GstVideoFrame copy;
  GstVideoInfo tight = *info;
  GstBuffer *memory;
  gsize end;

  if (!gst_video_frame_map(frame, info, buffer, GST_MAP_READ))
    return FALSE;
  if (is_contiguous(frame))
    return TRUE;
  tight.stride[0] = GST_VIDEO_INFO_N_PLANES(info) > 1 ? GST_ROUND_UP_4(width)
                                                      : GST_VIDEO_INFO_PLANE_STRIDE(info, 0);
  end = (gsize)tight.stride[0] * height;
  for (guint plane = 1; plane < GST_VIDEO_INFO_N_PLANES(info); plane++) {
    tight.stride[plane] =
        GST_VIDEO_INFO_N_PLANES(info) == 2 ? tight.stride[0] : tight.stride[0] / 2;
    tight.offset[plane] = end;
    end += (gsize)tight.stride[plane] * ((height + 1) / 2);
  }
  tight.size = end;
  memory = gst_buffer_new_allocate(NULL, tight.size, NULL);
  if (!memory || !gst_video_frame_map(&copy, &tight, memory, GST_MAP_READWRITE)) {
    gst_clear_buffer(&memory);
    gst_video_frame_unmap(frame);
    return FALSE;
  }
  gst_buffer_unref(memory);
  gst_video_frame_copy(&copy, frame);
  gst_video_frame_unmap(frame);
  *frame = copy;
  return TRUE;
}

static int64_t find_timecode(const Sink *sink, GstBuffer *buffer)
{
  const GstReferenceTimestampMeta *meta =
      gst_buffer_get_reference_timestamp_meta(buffer, sink->reference);

  return meta ? (int64_t)(meta->timestamp / 100) : RELAY_NDI_NO_TIMECODE;
}

static void send_frame(Sink *sink, const GstVideoFrame *frame, int64_t timecode)
{
  const GstVideoInfo *info = &frame->info;
  const RelayNdiVideo video = {
      .width = GST_VIDEO_INFO_WIDTH(info),
      .height = GST_VIDEO_INFO_HEIGHT(info),
      .fourcc = find_fourcc(GST_VIDEO_INFO_FORMAT(info)),
      .rate_numerator = GST_VIDEO_INFO_FPS_N(info) > 0 ? GST_VIDEO_INFO_FPS_N(info) : 30,
      .rate_denominator = GST_VIDEO_INFO_FPS_N(info) > 0 ? GST_VIDEO_INFO_FPS_D(info) : 1,
      .picture_aspect_ratio = (float)GST_VIDEO_INFO_WIDTH(info) * GST_VIDEO_INFO_PAR_N(info) /
                              GST_VIDEO_INFO_HEIGHT(info) / GST_VIDEO_INFO_PAR_D(info),
      .frame_format = RELAY_NDI_PROGRESSIVE,
      .timecode = timecode,
      .data = GST_VIDEO_FRAME_PLANE_DATA(frame, 0),
      .stride = GST_VIDEO_FRAME_PLANE_STRIDE(frame, 0)};

  sink->ndi->send_send_video_async_v2(sink->instance, &video);
}

static GstFlowReturn take_frame(GstAppSink *element, gpointer data)
{
  Sink *sink = data;
  GstSample *sample = gst_app_sink_pull_sample(element);
  GstVideoFrame frame;
  GstVideoInfo info;
  int64_t timecode;

  if (!sample)
    return GST_FLOW_EOS;
  timecode = find_timecode(sink, gst_sample_get_buffer(sample));
  if (!gst_video_info_from_caps(&info, gst_sample_get_caps(sample)) ||
      !map_contiguous(&frame, &info, gst_sample_get_buffer(sample))) {
    gst_sample_unref(sample);
    GST_ELEMENT_ERROR(element, RESOURCE, WRITE, ("A frame could not be mapped for NDI."), (NULL));
    return GST_FLOW_ERROR;
  }
  gst_sample_unref(sample);
  send_frame(sink, &frame, timecode);
  /* The runtime has finished with the previous frame. */
  if (sink->sending.buffer)
    gst_video_frame_unmap(&sink->sending);
  sink->sending = frame;
  return GST_FLOW_OK;
}

static GstElement *make_own(const RelayUri *uri, GError **error)
{
  const RelayNdi *ndi = relay_ndi_load(error);
  const RelayNdiSenderSettings settings = {.name = uri->place};
  GstElement *element = ndi ? app_element_make("appsink", NULL, "for ndi:", error) : NULL;
  GstAppSinkCallbacks callbacks = {.new_sample = take_frame};
  void *instance;
  Sink *sink;
  GstPad *pad;

  if (!element)
    return NULL;
  instance = ndi->send_create(&settings);
  if (!instance) {
    gst_object_unref(gst_object_ref_sink(element));
    g_set_error(error, APP_ERROR, APP_ERROR_FAILED,
                "The NDI runtime could not create the sender \"%s\". Another program on this "
                "machine may have the "
                "name.",
                uri->place);
    return NULL;
  }
  sink = g_new0(Sink, 1);
  sink->ndi = ndi;
  sink->instance = instance;
  sink->reference = gst_caps_from_string(RELAY_NDI_TIMECODE);
  g_object_set(element, "sync", FALSE, "async", FALSE, "max-buffers", 1, "enable-last-sample",
               FALSE, NULL);
  gst_app_sink_set_callbacks(GST_APP_SINK(element), &callbacks, sink, free_sink);
  pad = gst_element_get_static_pad(element, "sink");
  relay_take_padded_frames(pad);
  gst_object_unref(pad);
  return element;
}

GstElement *relay_ndi_sink_new(const RelayUri *uri, GError **error)
{
  GstElement *element;

  if (!app_element_exists("ndisink"))
    return make_own(uri, error);
  element = app_element_make("ndisink", NULL, NULL, error);
  g_object_set(element, "ndi-name", uri->place, "sync", FALSE, NULL);
  return element;
}
