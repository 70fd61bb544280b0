/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "output.h"

#include <gst/video/video.h>
#include <netdb.h>

#include "apps/common/elements.h"
#include "apps/common/error.h"
#include "fit.h"
#include "ndi-sink.h"
#include "socket.h"

/* Arguments and state of building an output. */
typedef struct {
  const RelayOptions *options;
  const RelayUri *uri;
  const RelayHardware *hardware;
  gboolean cuda;
  GstBin *bin;
  GstElement *last; /* last element of the chain so far */
} OutputBuilder;

static GstElement *append(OutputBuilder *builder, GstElement *element, GError **error)
{
  if (!element)
    return NULL;
  gst_bin_add(builder->bin, element);
  if (builder->last && !gst_element_link(builder->last, element)) {
    g_set_error(error, APP_ERROR, APP_ERROR_FAILED, "%s cannot be linked to %s.",
                GST_OBJECT_NAME(builder->last), GST_OBJECT_NAME(element));
    return NULL;
  }
  builder->last = element;
  return element;
}

static GstElement *append_new(OutputBuilder *builder, const gchar *factory, const gchar *purpose,
                              GError **error)
{
  return append(builder, app_element_make(factory, NULL, purpose, error), error);
}

static void measure_at(RelayOutput *output, GstElement *element, const gchar *pad)
{
  output->measure = gst_element_get_static_pad(element, pad);
}

/* The least width and height in the pad template of an encoder. */
static void find_least_size(GstElement *encoder, gint *width, gint *height)
{
  GstPad *pad = gst_element_get_static_pad(encoder, "sink");
  GstCaps *caps = gst_pad_get_pad_template_caps(pad);
  const GstStructure *structure = gst_caps_is_any(caps) ? NULL : gst_caps_get_structure(caps, 0);
  const GValue *widths = structure ? gst_structure_get_value(structure, "width") : NULL;
  const GValue *heights = structure ? gst_structure_get_value(structure, "height") : NULL;

  *width = widths && GST_VALUE_HOLDS_INT_RANGE(widths) ? gst_value_get_int_range_min(widths) : 16;
  *height =
      heights && GST_VALUE_HOLDS_INT_RANGE(heights) ? gst_value_get_int_range_min(heights) : 16;
  gst_caps_unref(caps);
  gst_object_unref(pad);
}

static gboolean takes_i420(GstElement *encoder)
{
  g_autoptr(GstCaps) i420 = gst_caps_from_string("video/x-raw,format=I420");

  return gst_element_factory_can_sink_any_caps(gst_element_get_factory(encoder), i420);
}

/* Appends fit ! encoder ! h264parse, in 8-bit 4:2:0, which every receiver can decode. */
static gboolean append_encoder(OutputBuilder *builder, RelayOutput *output, RelayFitSize size,
                               GError **error)
{
  GstElement *encoder =
      relay_hardware_make_encoder(builder->hardware, builder->options->bitrate, error);
  RelayFit fit = {.size = size, .download = builder->cuda};
  GstElement *parser;

  if (!encoder)
    return FALSE;
  find_least_size(encoder, &fit.width, &fit.height);
  fit.in_cuda = builder->hardware->gpu_encoder && app_element_exists("cudaconvertscale") &&
                size != RELAY_FIT_FIRST;
  if (fit.in_cuda || size == RELAY_FIT_FIRST)
    fit.formats = !fit.in_cuda && takes_i420(encoder) ? "I420" : "NV12";
  else
    fit.formats = "{ I420, NV12 }";
  output->in_cuda = fit.in_cuda;
  if (!append(builder, relay_fit_new(&fit, error), error)) {
    gst_object_unref(gst_object_ref_sink(encoder));
    return FALSE;
  }
  parser = append(builder, encoder, error) ? append_new(builder, "h264parse", NULL, error) : NULL;
  if (!parser)
    return FALSE;
  g_object_set(parser, "config-interval", -1, NULL);
  measure_at(output, parser, "src");
  return TRUE;
}

static gboolean make_srt(OutputBuilder *builder, RelayOutput *output, GError **error)
{
  GstElement *mux, *sink;

  if (!append_encoder(builder, output, RELAY_FIT_EVEN, error))
    return FALSE;
  mux = append_new(builder, "mpegtsmux", "for srt:", error);
  sink = mux ? append_new(builder, "srtsink", "for srt:", error) : NULL;
  if (!sink)
    return FALSE;
  g_object_set(mux, "alignment", 7, NULL);
  g_object_set(sink, "uri", builder->uri->text, "wait-for-connection", FALSE, "sync", FALSE, NULL);
  if (!relay_uri_get(builder->uri, "latency"))
    g_object_set(sink, "latency", builder->options->latency, NULL);
  return TRUE;
}

/* udpsink reports no error for a host name that it cannot resolve. */
static gboolean check_host(const RelayUri *uri, GError **error)
{
  struct addrinfo *addresses = NULL;
  const gint problem = getaddrinfo(uri->host, NULL, NULL, &addresses);

  if (problem == 0) {
    freeaddrinfo(addresses);
    return TRUE;
  }
  g_set_error(error, APP_ERROR, APP_ERROR_FAILED, "%s: the host \"%s\" is not found (%s).",
              uri->shown, uri->host, gai_strerror(problem));
  return FALSE;
}

static gboolean make_rtp(OutputBuilder *builder, RelayOutput *output, GError **error)
{
  GstElement *payloader, *sink;

  if (!check_host(builder->uri, error) || !append_encoder(builder, output, RELAY_FIT_EVEN, error))
    return FALSE;
  payloader = append_new(builder, "rtph264pay", "for rtp:", error);
  sink = payloader ? append_new(builder, "udpsink", "for rtp:", error) : NULL;
  if (!sink)
    return FALSE;
  g_object_set(payloader, "config-interval", -1, "pt",
               relay_uri_get_integer(builder->uri, "payload", 96), "aggregate-mode", 1, NULL);
  g_object_set(sink, "host", builder->uri->host, "port", (gint)builder->uri->port, "sync", FALSE,
               "async", FALSE, NULL);
  return TRUE;
}

static gboolean make_rtsp(OutputBuilder *builder, RelayOutput *output, GError **error)
{
  GstElement *sink;

  if (!append_encoder(builder, output, RELAY_FIT_EVEN, error))
    return FALSE;
  sink = append_new(builder, "rtspclientsink", "for rtsp:", error);
  if (!sink)
    return FALSE;
  g_object_set(sink, "location", builder->uri->text, "latency", (guint)builder->options->latency,
               NULL);
  return TRUE;
}

/* The muxer for the extension of a file. */
static const gchar *find_muxer(const gchar *path, GError **error)
{
  static const gchar *const muxers[][2] = {
      {".mkv", "matroskamux"}, {".mp4", "mp4mux"}, {".mov", "qtmux"}, {".ts", "mpegtsmux"}};

  for (gsize i = 0; i < G_N_ELEMENTS(muxers); i++) {
    if (g_str_has_suffix(path, muxers[i][0]))
      return muxers[i][1];
  }
  g_set_error(
      error, APP_ERROR, APP_ERROR_USAGE,
      "\"%s\": the extension chooses the kind of file; allowed are .mkv, .mp4, .mov and .ts.",
      path);
  return NULL;
}

static gboolean make_file(OutputBuilder *builder, RelayOutput *output, GError **error)
{
  const gchar *muxer = find_muxer(builder->uri->place, error);
  const gboolean changes = g_strcmp0(muxer, "mpegtsmux") == 0;
  GstElement *sink;

  if (!muxer ||
      !append_encoder(builder, output, changes ? RELAY_FIT_EVEN : RELAY_FIT_FIRST, error) ||
      !append_new(builder, muxer, "for file:", error))
    return FALSE;
  sink = append_new(builder, "filesink", NULL, error);
  if (!sink)
    return FALSE;
  g_object_set(sink, "location", builder->uri->place, "async", FALSE, NULL);
  return TRUE;
}

static gboolean check_picture(const RelayUri *uri, GError **error)
{
  const gchar *format = relay_uri_get(uri, "format");

  if (format && gst_video_format_from_string(format) != GST_VIDEO_FORMAT_UNKNOWN &&
      relay_uri_get(uri, "width") && relay_uri_get(uri, "height"))
    return TRUE;
  g_set_error(error, APP_ERROR, APP_ERROR_USAGE,
              "\"%s\": shared memory does not tell its format, so the address must: write "
              "shm:PATH?format=NV12&width=640&height=480, with a format of GStreamer.",
              uri->text);
  return FALSE;
}

/* Keeps upstream from allocating in shmsink's memory: it could use up all of it, and then wait for
 * more forever. shmsink copies frames instead. */
static GstPadProbeReturn refuse_allocation(GstPad *pad, GstPadProbeInfo *info, gpointer unused)
{
  return GST_QUERY_TYPE(GST_PAD_PROBE_INFO_QUERY(info)) == GST_QUERY_ALLOCATION ? GST_PAD_PROBE_DROP
                                                                                : GST_PAD_PROBE_OK;
}

static gboolean make_shm(OutputBuilder *builder, RelayOutput *output, GError **error)
{
  RelayFit fit = {.size = RELAY_FIT_FIXED,
                  .width = relay_uri_get_integer(builder->uri, "width", 0),
                  .height = relay_uri_get_integer(builder->uri, "height", 0),
                  .formats = relay_uri_get(builder->uri, "format"),
                  .download = builder->cuda};
  GstElement *sink;
  GstVideoInfo info;

  if (!check_picture(builder->uri, error) || !relay_socket_clear(builder->uri->place, error) ||
      !append(builder, relay_fit_new(&fit, error), error))
    return FALSE;
  sink = append_new(builder, "shmsink", "for shm:", error);
  if (!sink)
    return FALSE;
  gst_video_info_set_format(&info, gst_video_format_from_string(fit.formats), fit.width,
                            fit.height);
  /* Room for several frames, since readers release them late. */
  g_object_set(sink, "socket-path", builder->uri->place, "shm-size",
               (guint)MIN(8 * info.size + (1 << 20), G_MAXINT), "wait-for-connection", FALSE,
               "sync", FALSE, "async", FALSE, NULL);
  measure_at(output, sink, "sink");
  gst_pad_add_probe(output->measure, GST_PAD_PROBE_TYPE_QUERY_DOWNSTREAM, refuse_allocation, NULL,
                    NULL);
  return TRUE;
}

static gboolean make_v4l2(OutputBuilder *builder, RelayOutput *output, GError **error)
{
  const gboolean fixed =
      relay_uri_get(builder->uri, "width") && relay_uri_get(builder->uri, "height");
  RelayFit fit = {.size = fixed ? RELAY_FIT_FIXED : RELAY_FIT_FIRST,
                  .width = relay_uri_get_integer(builder->uri, "width", 2),
                  .height = relay_uri_get_integer(builder->uri, "height", 2),
                  .formats = relay_uri_get(builder->uri, "format"),
                  .download = builder->cuda};
  GstElement *sink;

  if (!append(builder, relay_fit_new(&fit, error), error))
    return FALSE;
  sink = append_new(builder, "v4l2sink", "for v4l2:", error);
  if (!sink)
    return FALSE;
  g_object_set(sink, "device", builder->uri->place, "sync", FALSE, NULL);
  measure_at(output, sink, "sink");
  return TRUE;
}

/* Ends the chain with `sink` for raw frames; the bin takes ownership. */
static gboolean make_raw(OutputBuilder *builder, RelayOutput *output, GstElement *sink,
                         const gchar *formats, GError **error)
{
  const RelayFit fit = {.formats = formats, .download = builder->cuda};

  if (!sink)
    return FALSE;
  if (!append(builder, relay_fit_new(&fit, error), error)) {
    gst_object_unref(gst_object_ref_sink(sink));
    return FALSE;
  }
  if (!append(builder, sink, error))
    return FALSE;
  measure_at(output, sink, "sink");
  return TRUE;
}

/* dfbvideosink ends the process if it finds no screen; keeps autovideosink from trying it. */
static void leave_out_directfb(void)
{
  GstPluginFeature *feature = gst_registry_lookup_feature(gst_registry_get(), "dfbvideosink");

  if (feature) {
    gst_plugin_feature_set_rank(feature, GST_RANK_NONE);
    gst_object_unref(feature);
  }
}

/* Tries to open the window: autovideosink falls back to fakesink if no other sink opens. */
static gboolean opens_window(GstElement *sink)
{
  const GstElement *chosen;

  gst_element_set_state(sink, GST_STATE_READY);
  chosen = GST_BIN_CHILDREN(sink) ? GST_BIN_CHILDREN(sink)->data : NULL;
  return chosen &&
         !g_str_equal(GST_OBJECT_NAME(gst_element_get_factory((GstElement *)chosen)), "fakesink");
}

static gboolean make_window(OutputBuilder *builder, RelayOutput *output, GError **error)
{
  GstElement *sink = app_element_make("autovideosink", NULL, "for window:", error);

  if (!sink)
    return FALSE;
  leave_out_directfb();
  g_object_set(sink, "sync", FALSE, NULL);
  if (!opens_window(sink)) {
    gst_element_set_state(sink, GST_STATE_NULL);
    gst_object_unref(gst_object_ref_sink(sink));
    g_set_error(error, APP_ERROR, APP_ERROR_FAILED,
                "window: cannot be opened: no desktop answers at DISPLAY (\"%s\") or "
                "WAYLAND_DISPLAY (\"%s\"), or no video sink for it is installed.",
                g_getenv("DISPLAY") ? g_getenv("DISPLAY") : "",
                g_getenv("WAYLAND_DISPLAY") ? g_getenv("WAYLAND_DISPLAY") : "");
    return FALSE;
  }
  return make_raw(builder, output, sink, NULL, error);
}

static gboolean make_test(OutputBuilder *builder, RelayOutput *output, GError **error)
{
  GstElement *sink = app_element_make("fakesink", NULL, NULL, error);

  if (sink)
    g_object_set(sink, "sync", FALSE, "async", FALSE, "enable-last-sample", FALSE, NULL);
  return make_raw(builder, output, sink, NULL, error);
}

static gboolean make(OutputBuilder *builder, RelayOutput *output, GError **error)
{
  switch (builder->uri->scheme) {
  case RELAY_FILE:
    return make_file(builder, output, error);
  case RELAY_NDI:
    return make_raw(builder, output, relay_ndi_sink_new(builder->uri, error),
                    RELAY_NDI_SINK_FORMATS, error);
  case RELAY_RTP:
    return make_rtp(builder, output, error);
  case RELAY_RTSP:
    return make_rtsp(builder, output, error);
  case RELAY_SHM:
    return make_shm(builder, output, error);
  case RELAY_SRT:
    return make_srt(builder, output, error);
  case RELAY_TEST:
    return make_test(builder, output, error);
  case RELAY_V4L2:
    return make_v4l2(builder, output, error);
  case RELAY_WINDOW:
    return make_window(builder, output, error);
  }
  g_return_val_if_reached(FALSE);
}

gboolean relay_output_build(RelayOutput *output, const RelayOptions *options,
                            const RelayHardware *hardware, gboolean cuda, GError **error)
{
  OutputBuilder builder = {.options = options,
                           .uri = options->to,
                           .hardware = hardware,
                           .cuda = cuda,
                           .bin = GST_BIN(gst_bin_new("output"))};
  GstElement *first;
  GstPad *pad;

  *output = (RelayOutput){.bin = GST_ELEMENT(builder.bin)};
  if (!make(&builder, output, error)) {
    gst_clear_object(&output->measure);
    gst_object_unref(gst_object_ref_sink(output->bin));
    return FALSE;
  }
  first = gst_bin_get_by_name(builder.bin, "fit");
  pad = gst_element_get_static_pad(first, "sink");
  gst_element_add_pad(output->bin, gst_ghost_pad_new("sink", pad));
  gst_object_unref(pad);
  gst_object_unref(first);
  return TRUE;
}
