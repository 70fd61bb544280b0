/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "stage.h"

#include <gst/app/app.h>

#include "apps/common/elements.h"
#include "apps/common/error.h"
#include "apps/common/filter.h"
#include "apps/common/properties.h"
#include "events.h"
#include "output.h"
#include "repeat.h"
#include "times.h"

struct _RelayStage {
  RelayStageSetup setup;
  GstElement *pipeline;
  GstElement *filter;  /* owned by the pipeline, as are all elements here */
  RelayRepeat *repeat; /* NULL without --repeat */
  guint bus_watch;
  gboolean takes_cuda, gives_cuda; /* the filter does, in CUDA memory */
  GstClockTime next_pts;           /* lower bound for the PTS of the next frame */
  gint in_cuda;                    /* frames in the filter are in CUDA memory; atomic */
};

/* Makes PTS increase, also from one source to the next. `sample` is transfer full. */
static GstSample *keep_order(RelayStage *stage, GstSample *sample)
{
  const GstClockTime pts = GST_BUFFER_PTS(gst_sample_get_buffer(sample));
  GstSample *later;
  GstBuffer *buffer;

  if (pts >= stage->next_pts) {
    stage->next_pts = pts + 1;
    return sample;
  }
  buffer = gst_buffer_copy(gst_sample_get_buffer(sample));
  GST_BUFFER_PTS(buffer) = stage->next_pts++;
  relay_stats_renamed(stage->setup.stats, pts, GST_BUFFER_PTS(buffer), TRUE);
  later = gst_sample_new(buffer, gst_sample_get_caps(sample), NULL, NULL);
  gst_buffer_unref(buffer);
  gst_sample_unref(sample);
  return later;
}

/* The appsrc's need-data, in the thread that filters. */
static void feed(GstAppSrc *source, guint unused, gpointer data)
{
  RelayStage *stage = data;
  GstSample *sample;

  if (relay_slot_take(stage->setup.slot, 0, &sample) != RELAY_TAKE_FRAME) {
    gst_app_src_end_of_stream(source);
    return;
  }
  sample = keep_order(stage, sample);
  gst_app_src_push_sample(source, sample);
  gst_sample_unref(sample);
}

static GstPadProbeReturn enter_filter(GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
  RelayStage *stage = data;
  const GstBuffer *buffer = GST_PAD_PROBE_INFO_BUFFER(info);

  relay_stats_entered(stage->setup.stats, relay_running_time(pad, buffer),
                      relay_now(stage->pipeline));
  return GST_PAD_PROBE_OK;
}

static GstPadProbeReturn watch_filter_caps(GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
  RelayStage *stage = data;
  GstEvent *event = GST_PAD_PROBE_INFO_EVENT(info);
  GstCaps *caps;

  if (GST_EVENT_TYPE(event) == GST_EVENT_CAPS) {
    gst_event_parse_caps(event, &caps);
    g_atomic_int_set(&stage->in_cuda, gst_caps_features_contains(gst_caps_get_features(caps, 0),
                                                                 "memory:CUDAMemory"));
  }
  return GST_PAD_PROBE_OK;
}

static GstPadProbeReturn leave_filter(GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
  RelayStage *stage = data;

  relay_stats_filtered(stage->setup.stats, relay_running_time(pad, GST_PAD_PROBE_INFO_BUFFER(info)),
                       relay_now(stage->pipeline));
  return GST_PAD_PROBE_OK;
}

static GstPadProbeReturn leave_stage(GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
  RelayStage *stage = data;

  relay_stats_sent(stage->setup.stats, relay_running_time(pad, GST_PAD_PROBE_INFO_BUFFER(info)),
                   relay_now(stage->pipeline));
  return GST_PAD_PROBE_OK;
}

static void probe(GstElement *element, const gchar *name, GstPadProbeType type,
                  GstPadProbeCallback callback, RelayStage *stage)
{
  GstPad *pad = gst_element_get_static_pad(element, name);

  gst_pad_add_probe(pad, type, callback, stage, NULL);
  gst_object_unref(pad);
}

/* Appends an element to the chain that ends with `*last`. */
static gboolean append(RelayStage *stage, GstElement **last, GstElement *element, GError **error)
{
  if (!element)
    return FALSE;
  gst_bin_add(GST_BIN(stage->pipeline), element);
  if (*last && !gst_element_link(*last, element)) {
    g_set_error(error, APP_ERROR, APP_ERROR_USAGE,
                "%s and %s have no format in common: the filter must take and give raw video.",
                GST_OBJECT_NAME(*last), GST_OBJECT_NAME(element));
    return FALSE;
  }
  *last = element;
  return TRUE;
}

static GstElement *make_source(RelayStage *stage, GError **error)
{
  GstElement *source = app_element_make("appsrc", "newest", NULL, error);
  GstAppSrcCallbacks callbacks = {.need_data = feed};

  if (!source)
    return NULL;
  g_object_set(source, "is-live", TRUE, "format", GST_FORMAT_TIME, "max-buffers", (guint64)1, NULL);
  gst_app_src_set_callbacks(GST_APP_SRC(source), &callbacks, stage, NULL);
  return source;
}

static gboolean count_element(GstElement *element, gpointer count)
{
  ++*(guint *)count;
  return FALSE;
}

/* Whether to upload frames before the filter, so that they cross the bus once: if a GPU encoder
 * follows, or the filter has several elements. */
static gboolean wants_upload(const RelayStage *stage, const RelayOutput *output)
{
  guint elements = 0;

  app_filter_foreach(stage->filter, count_element, &elements);
  return stage->takes_cuda && stage->setup.hardware->decodes && app_element_exists("cudaupload") &&
         (output->in_cuda || elements > 1);
}

static gboolean append_repeat(RelayStage *stage, GstElement **last, GError **error)
{
  const RelayRepeatSetup setup = {stage->setup.stats, stage->pipeline};
  GstElement *sink, *source;

  stage->repeat = relay_repeat_new(&setup, &sink, &source, error);
  if (!stage->repeat || !append(stage, last, sink, error))
    return FALSE;
  *last = NULL;
  return append(stage, last, source, error);
}

/* A queue for one frame lets the filter work while the previous frame is encoded. */
static GstElement *make_queue(GError **error)
{
  GstElement *queue = app_element_make("queue", NULL, NULL, error);

  if (queue)
    g_object_set(queue, "max-size-buffers", 1, "max-size-bytes", 0, "max-size-time", (guint64)0,
                 NULL);
  return queue;
}

static gboolean has_cuda(GstElement *element, const gchar *name)
{
  GstPad *pad = gst_element_get_static_pad(element, name);
  const gboolean has = relay_hardware_pad_has_cuda(pad);

  gst_object_unref(pad);
  return has;
}

/* Whether the user wants this element on the CPU: frames must then not come in CUDA memory, where
 * they are always filtered by CUDA. */
static gboolean is_for_cpu(GstElement *element, gpointer unused)
{
  g_autofree gchar *backend = app_property_get(element, "backend");

  return g_strcmp0(backend, "cpu") == 0 || g_strcmp0(backend, "reference") == 0;
}

static gboolean make_filter(RelayStage *stage, GError **error)
{
  stage->filter = app_filter_new(stage->setup.options->filter, error);
  if (!stage->filter)
    return FALSE;
  gst_object_set_name(GST_OBJECT(stage->filter), "filter");
  stage->takes_cuda = stage->setup.hardware->decodes && has_cuda(stage->filter, "sink") &&
                      !app_filter_foreach(stage->filter, is_for_cpu, NULL);
  stage->gives_cuda = stage->takes_cuda && has_cuda(stage->filter, "src");
  return TRUE;
}

static gboolean build(RelayStage *stage, RelayOutput *output, GError **error)
{
  GstElement *last = NULL;

  if (!append(stage, &last, make_source(stage, error), error) ||
      !append(stage, &last, app_element_make("videoconvert", NULL, NULL, error), error) ||
      (wants_upload(stage, output) &&
       !append(stage, &last, app_element_make("cudaupload", NULL, NULL, error), error)))
    return FALSE;
  return append(stage, &last, stage->filter, error) &&
         (!stage->setup.options->repeat || append_repeat(stage, &last, error)) &&
         append(stage, &last, make_queue(error), error) && append(stage, &last, output->bin, error);
}

static gboolean make(RelayStage *stage, GError **error)
{
  RelayOutput output = {0};
  gboolean good;

  if (!make_filter(stage, error))
    return FALSE;
  gst_object_ref_sink(stage->filter);
  good = relay_output_build(&output, stage->setup.options, stage->setup.hardware, stage->gives_cuda,
                            error);
  if (good) {
    gst_object_ref_sink(output.bin);
    good = build(stage, &output, error);
    if (good) {
      probe(stage->filter, "sink", GST_PAD_PROBE_TYPE_BUFFER, enter_filter, stage);
      probe(stage->filter, "sink", GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM, watch_filter_caps, stage);
      probe(stage->filter, "src", GST_PAD_PROBE_TYPE_BUFFER, leave_filter, stage);
      gst_pad_add_probe(output.measure, GST_PAD_PROBE_TYPE_BUFFER, leave_stage, stage, NULL);
    }
    gst_object_unref(output.measure);
    gst_object_unref(output.bin);
  }
  gst_object_unref(stage->filter);
  if (!good)
    stage->filter = NULL;
  return good;
}

/* The text of an error, with the part of the pipeline that it came from. */
static gchar *describe_error(const RelayStage *stage, GstMessage *message)
{
  g_autofree gchar *text = relay_event_describe(message);
  GstObject *source = GST_MESSAGE_SRC(message);
  const gboolean filter = source == GST_OBJECT(stage->filter) ||
                          gst_object_has_as_ancestor(source, GST_OBJECT(stage->filter));

  return filter ? g_strdup_printf("%s: %s", GST_OBJECT_NAME(source), text)
                : g_strdup_printf("%s: %s", stage->setup.options->to->shown, text);
}

static gboolean is_closed_window(const RelayStage *stage, GstMessage *message)
{
  g_autoptr(GError) error = NULL;

  if (stage->setup.options->to->scheme != RELAY_WINDOW)
    return FALSE;
  gst_message_parse_error(message, &error, NULL);
  return g_error_matches(error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_NOT_FOUND);
}

static gboolean receive_message(GstBus *bus, GstMessage *message, gpointer data)
{
  RelayStage *stage = data;
  g_autofree gchar *text = NULL;

  switch (GST_MESSAGE_TYPE(message)) {
  case GST_MESSAGE_ERROR:
    text = is_closed_window(stage, message) ? NULL : describe_error(stage, message);
    stage->bus_watch = 0;
    stage->setup.ended(text, stage->setup.data);
    return G_SOURCE_REMOVE;
  case GST_MESSAGE_EOS:
    stage->bus_watch = 0;
    stage->setup.ended(NULL, stage->setup.data);
    return G_SOURCE_REMOVE;
  case GST_MESSAGE_WARNING:
    text = describe_error(stage, message);
    relay_event_warning(stage->setup.options, text);
    break;
  case GST_MESSAGE_LATENCY:
    gst_bin_recalculate_latency(GST_BIN(stage->pipeline));
    break;
  default:
    break;
  }
  return G_SOURCE_CONTINUE;
}

RelayStage *relay_stage_new(const RelayStageSetup *setup, GError **error)
{
  RelayStage *stage = g_new0(RelayStage, 1);
  GstClock *clock = gst_system_clock_obtain();
  GstBus *bus;

  stage->setup = *setup;
  stage->pipeline = gst_object_ref_sink(gst_pipeline_new("relay"));
  gst_pipeline_use_clock(GST_PIPELINE(stage->pipeline), clock);
  gst_object_unref(clock);
  if (!make(stage, error)) {
    relay_stage_free(stage);
    return NULL;
  }
  relay_contexts_join(setup->contexts, stage->pipeline);
  bus = gst_element_get_bus(stage->pipeline);
  stage->bus_watch = gst_bus_add_watch(bus, receive_message, stage);
  gst_object_unref(bus);
  return stage;
}

gboolean relay_stage_start(RelayStage *stage)
{
  return gst_element_set_state(stage->pipeline, GST_STATE_PLAYING) != GST_STATE_CHANGE_FAILURE;
}

void relay_stage_free(RelayStage *stage)
{
  relay_slot_abort(stage->setup.slot);
  if (stage->repeat)
    relay_repeat_stop(stage->repeat);
  g_clear_handle_id(&stage->bus_watch, g_source_remove);
  gst_element_set_state(stage->pipeline, GST_STATE_NULL);
  relay_contexts_leave(stage->setup.contexts, stage->pipeline);
  gst_object_unref(stage->pipeline);
  g_clear_pointer(&stage->repeat, relay_repeat_free);
  g_free(stage);
}

GstElement *relay_stage_pipeline(RelayStage *stage)
{
  return stage->pipeline;
}

GstElement *relay_stage_filter(RelayStage *stage)
{
  return stage->filter;
}

const gchar *relay_stage_caps(const RelayStage *stage)
{
  return stage->takes_cuda ? "video/x-raw(memory:CUDAMemory); video/x-raw" : "video/x-raw";
}

static gboolean add_time(GstElement *element, gpointer sum)
{
  GstStructure *stats = NULL;
  guint64 time;

  if (!g_object_class_find_property(G_OBJECT_GET_CLASS(element), "active-backend"))
    return FALSE;
  g_object_get(element, "stats", &stats, NULL);
  if (stats && gst_structure_get_uint64(stats, "last-time", &time))
    *(GstClockTime *)sum += time;
  if (stats)
    gst_structure_free(stats);
  return FALSE;
}

GstClockTime relay_stage_gpu_time(RelayStage *stage)
{
  GstClockTime sum = 0;

  if (!g_atomic_int_get(&stage->in_cuda))
    return GST_CLOCK_TIME_NONE;
  app_filter_foreach(stage->filter, add_time, &sum);
  return sum > 0 ? sum : GST_CLOCK_TIME_NONE;
}

static gboolean add_backend(GstElement *element, gpointer data)
{
  GString *text = data;
  g_autofree gchar *backend = NULL;

  if (!g_object_class_find_property(G_OBJECT_GET_CLASS(element), "active-backend"))
    return FALSE;
  g_object_get(element, "active-backend", &backend, NULL);
  if (backend && *backend && !strstr(text->str, backend))
    g_string_append_printf(text, "%s%s", text->len > 0 ? "+" : "", backend);
  return FALSE;
}

gchar *relay_stage_backend(RelayStage *stage)
{
  GString *text = g_string_new(NULL);

  app_filter_foreach(stage->filter, add_backend, text);
  if (text->len == 0)
    g_string_append_c(text, '-');
  return g_string_free(text, FALSE);
}
