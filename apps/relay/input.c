/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "input.h"

#include <gst/app/app.h>

#include "apps/common/error.h"
#include "events.h"
#include "source.h"

/* How long to wait before a source is made anew: doubled each time, from and up to. */
#define FIRST_WAIT_MS   100
#define LONGEST_WAIT_MS 8000

#define WATCH_MS 100

/* A source whose times are further from the clock than this is taken to tell none. */
#define PLAUSIBLE (5 * GST_SECOND)

struct _RelayInput {
  RelayInputSetup setup;
  GstElement *pipeline; /* NULL while waiting to make one */
  GstElement *sink;     /* of the pipeline, which owns it */
  GList *closing;       /* of Closing */
  guint bus_watch, retry, watch;
  guint wait;      /* ms, before the next one is made */
  guint connected; /* how often frames have begun to come */
  gboolean lost;   /* the source has been lost, and said so, since it last gave a frame */
  gchar *last_reason;
  /* Of the pipeline there is now; written by its streaming thread. */
  RelayArrivals *arrivals;
  gint frames;            /* atomic */
  gint64 last_time;       /* of the last frame, monotonic; with `frames` */
  gint announced;         /* frames > 0 has been noticed by the main loop */
  GstClockTimeDiff shift; /* from its running time to the output's */
  GstClockTime last_pts;
  GstCaps *last_caps;
};

static void make_or_wait(RelayInput *input);

static GstClockTime output_now(const RelayInput *input)
{
  GstClock *clock = gst_element_get_clock(input->setup.output);
  const GstClockTime base = gst_element_get_base_time(input->setup.output);
  const GstClockTime now = gst_clock_get_time(clock);

  gst_object_unref(clock);
  return now > base ? now - base : 0;
}

/* The running time of a frame in its own pipeline; GST_CLOCK_TIME_NONE where it has none. */
static GstClockTime own_time(GstSample *sample)
{
  return gst_segment_to_running_time(gst_sample_get_segment(sample), GST_FORMAT_TIME,
                                     GST_BUFFER_PTS(gst_sample_get_buffer(sample)));
}

/* A time for the frame that the output understands: its own as far as that is plausible, else now;
 * always later than the one before. */
static GstClockTime output_pts(RelayInput *input, GstClockTime own, GstClockTime now)
{
  GstClockTime pts = now;

  if (GST_CLOCK_TIME_IS_VALID(own)) {
    const GstClockTimeDiff bases = GST_CLOCK_DIFF(gst_element_get_base_time(input->setup.output),
                                                  gst_element_get_base_time(input->pipeline));
    const GstClockTimeDiff shifted = (GstClockTimeDiff)own + bases + input->shift;
    const GstClockTimeDiff off = GST_CLOCK_DIFF(now, shifted);

    if (ABS(off) <= (GstClockTimeDiff)PLAUSIBLE)
      pts = MAX(shifted, 0);
    else
      input->shift -= off;
  }
  if (input->last_pts != GST_CLOCK_TIME_NONE && pts <= input->last_pts)
    pts = input->last_pts + 1;
  input->last_pts = pts;
  return pts;
}

/* When the frame was captured, or came: never in the future. */
static GstClockTime capture_time(const RelayInput *input, GstClockTime own, GstClockTime pts,
                                 GstClockTime now)
{
  gint64 arrival;
  GstClockTime age;

  if (!relay_source_tells_no_time(input->setup.options->from))
    return MIN(pts, now);
  arrival = relay_arrivals_find(input->arrivals, own);
  if (arrival == 0)
    return now;
  age = (g_get_monotonic_time() - arrival) * GST_USECOND;
  return now > age ? now - age : 0;
}

static void note_format(RelayInput *input, GstCaps *caps)
{
  GstVideoInfo info;

  if (input->last_caps && gst_caps_is_equal(input->last_caps, caps))
    return;
  gst_caps_replace(&input->last_caps, caps);
  if (gst_video_info_from_caps(&info, caps))
    relay_stats_format(input->setup.stats, &info);
}

static GstFlowReturn take_frame(GstAppSink *sink, gpointer data)
{
  RelayInput *input = data;
  GstSample *sample = gst_app_sink_pull_sample(sink);
  GstBuffer *buffer;
  GstCaps *caps;
  GstClockTime own, pts, now;

  if (!sample)
    return GST_FLOW_EOS;
  own = own_time(sample);
  now = output_now(input);
  pts = output_pts(input, own, now);
  relay_stats_received(input->setup.stats, pts, capture_time(input, own, pts, now));
  buffer = gst_buffer_ref(gst_sample_get_buffer(sample));
  caps = gst_caps_ref(gst_sample_get_caps(sample));
  /* Without the sample nobody else holds the frame, and it is not copied. */
  gst_sample_unref(sample);
  buffer = gst_buffer_make_writable(buffer);
  GST_BUFFER_PTS(buffer) = pts;
  GST_BUFFER_DTS(buffer) = GST_CLOCK_TIME_NONE;
  note_format(input, caps);
  sample = gst_sample_new(buffer, caps, NULL, NULL);
  gst_buffer_unref(buffer);
  gst_caps_unref(caps);
  relay_stats_dropped(input->setup.stats, relay_slot_put(input->setup.slot, sample));
  input->last_time = g_get_monotonic_time();
  g_atomic_int_inc(&input->frames);
  return GST_FLOW_OK;
}

/* Decoders and others that can leave their frames as they are, if the receiver reads
 * GstVideoMeta, would copy them else. */
static GstPadProbeReturn offer_video_meta(GstPad *pad, GstPadProbeInfo *info, gpointer unused)
{
  GstQuery *query = GST_PAD_PROBE_INFO_QUERY(info);

  if (GST_QUERY_TYPE(query) != GST_QUERY_ALLOCATION)
    return GST_PAD_PROBE_OK;
  gst_query_add_allocation_meta(query, GST_VIDEO_META_API_TYPE, NULL);
  return GST_PAD_PROBE_HANDLED;
}

static GstElement *make_sink(RelayInput *input)
{
  GstElement *sink = gst_element_factory_make("appsink", NULL);
  GstAppSinkCallbacks callbacks = {.new_sample = take_frame};
  GstCaps *caps = gst_caps_from_string(input->setup.caps);
  GstPad *pad = gst_element_get_static_pad(sink, "sink");

  g_object_set(sink, "caps", caps, "sync", relay_source_is_file(input->setup.options->from),
               "enable-last-sample", FALSE, "wait-on-eos", FALSE, "max-buffers", 1, "qos", FALSE,
               NULL);
  gst_app_sink_set_callbacks(GST_APP_SINK(sink), &callbacks, input, NULL);
  gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_QUERY_DOWNSTREAM, offer_video_meta, NULL, NULL);
  gst_object_unref(pad);
  gst_caps_unref(caps);
  return sink;
}

/* A pipeline that is stopped aside: some sources wait for their peer meanwhile. */
typedef struct {
  RelayContexts *contexts;
  GstElement *pipeline;
  GThread *thread;
  gint done; /* atomic */
} Closing;

static gpointer close_pipeline(gpointer data)
{
  Closing *closing = data;

  gst_element_set_state(closing->pipeline, GST_STATE_NULL);
  relay_contexts_leave(closing->contexts, closing->pipeline);
  gst_object_unref(closing->pipeline);
  g_atomic_int_set(&closing->done, TRUE);
  return NULL;
}

/* Frees what has been stopped, or (`all`) waits for the rest, too. */
static void join_closed(RelayInput *input, gboolean all)
{
  for (GList *at = input->closing, *next; at; at = next) {
    Closing *closing = at->data;

    next = at->next;
    if (!all && !g_atomic_int_get(&closing->done))
      continue;
    g_thread_join(closing->thread);
    g_free(closing);
    input->closing = g_list_delete_link(input->closing, at);
  }
}

static void unmake(RelayInput *input)
{
  GstAppSinkCallbacks none = {0};
  Closing *closing;

  g_clear_handle_id(&input->bus_watch, g_source_remove);
  if (!input->pipeline)
    return;
  gst_app_sink_set_callbacks(GST_APP_SINK(input->sink), &none, NULL, NULL);
  closing = g_new0(Closing, 1);
  closing->contexts = input->setup.contexts;
  closing->pipeline = g_steal_pointer(&input->pipeline);
  closing->thread = g_thread_new("close", close_pipeline, closing);
  input->closing = g_list_prepend(input->closing, closing);
  join_closed(input, FALSE);
  gst_clear_caps(&input->last_caps);
}

static gboolean retry(gpointer data)
{
  RelayInput *input = data;

  input->retry = 0;
  make_or_wait(input);
  return G_SOURCE_REMOVE;
}

/* The same reason, again and again, is said once. */
static void say_lost(RelayInput *input, const gchar *reason)
{
  if (!input->lost || g_strcmp0(reason, input->last_reason) != 0)
    relay_event_lost(input->setup.options, reason, input->wait);
  g_free(input->last_reason);
  input->last_reason = g_strdup(reason);
  input->lost = TRUE;
}

/* The pipeline is of no use any more. */
static void lose(RelayInput *input, const gchar *reason, gboolean failed)
{
  const RelayOptions *options = input->setup.options;
  const gboolean worked = g_atomic_int_get(&input->frames) > 0;
  const gboolean finite =
      relay_source_is_file(options->from) || relay_uri_get(options->from, "frames");
  const gboolean loops = relay_uri_get_integer(options->from, "loop", 0) && worked && !failed;

  unmake(input);
  if (options->once || (finite && !loops)) {
    g_clear_handle_id(&input->watch, g_source_remove);
    input->setup.ended(reason, failed, input->setup.data);
    return;
  }
  if (loops) {
    make_or_wait(input);
    return;
  }
  input->wait = worked || input->wait == 0 ? FIRST_WAIT_MS : MIN(2 * input->wait, LONGEST_WAIT_MS);
  say_lost(input, reason);
  input->retry = g_timeout_add(input->wait, retry, input);
}

static gboolean receive_message(GstBus *bus, GstMessage *message, gpointer data)
{
  RelayInput *input = data;
  g_autofree gchar *reason = NULL;

  switch (GST_MESSAGE_TYPE(message)) {
  case GST_MESSAGE_ERROR:
    reason = relay_event_describe(message);
    input->bus_watch = 0;
    lose(input, reason, TRUE);
    return G_SOURCE_REMOVE;
  case GST_MESSAGE_EOS:
    input->bus_watch = 0;
    lose(input, "the stream has ended", FALSE);
    return G_SOURCE_REMOVE;
  case GST_MESSAGE_LATENCY:
    gst_bin_recalculate_latency(GST_BIN(input->pipeline));
    break;
  default:
    break;
  }
  return G_SOURCE_CONTINUE;
}

static gboolean build(RelayInput *input, GError **error)
{
  const RelayOptions *options = input->setup.options;
  GstElement *sink = make_sink(input);
  GstPad *pad = gst_element_get_static_pad(sink, "sink");
  gboolean good;

  input->pipeline = gst_pipeline_new("source");
  gst_object_ref_sink(input->pipeline);
  input->sink = sink;
  gst_bin_add(GST_BIN(input->pipeline), sink);
  good = relay_source_build(GST_BIN(input->pipeline), pad, options->from, options->latency,
                            input->arrivals, error);
  gst_object_unref(pad);
  return good;
}

/* An error other than APP_ERROR_FAILED cannot be helped by trying again. */
static gboolean make(RelayInput *input, GError **error)
{
  GstClock *clock = gst_system_clock_obtain();
  GstBus *bus;

  g_atomic_int_set(&input->frames, 0);
  input->announced = FALSE;
  input->shift = 0;
  if (!build(input, error)) {
    gst_object_unref(clock);
    g_clear_pointer(&input->pipeline, gst_object_unref);
    return FALSE;
  }
  gst_pipeline_use_clock(GST_PIPELINE(input->pipeline), clock);
  gst_object_unref(clock);
  relay_contexts_join(input->setup.contexts, input->pipeline);
  bus = gst_element_get_bus(input->pipeline);
  input->bus_watch = gst_bus_add_watch(bus, receive_message, input);
  gst_object_unref(bus);
  /* What fails here is on the bus. */
  gst_element_set_state(input->pipeline, GST_STATE_PLAYING);
  return TRUE;
}

static void make_or_wait(RelayInput *input)
{
  g_autoptr(GError) error = NULL;

  if (!make(input, &error))
    lose(input, error->message, TRUE);
}

static void announce(RelayInput *input)
{
  input->announced = TRUE;
  if (input->connected++ > 0)
    relay_stats_reconnected(input->setup.stats);
  input->wait = 0;
  input->lost = FALSE;
  relay_event_connected(input->setup.options, input->pipeline);
}

/* Looks after what has no message: the first frame, and silence. */
static gboolean watch(gpointer data)
{
  RelayInput *input = data;
  const gint64 timeout = GST_TIME_AS_USECONDS(input->setup.options->timeout);

  if (!input->pipeline || g_atomic_int_get(&input->frames) == 0)
    return G_SOURCE_CONTINUE;
  if (!input->announced)
    announce(input);
  if (g_get_monotonic_time() - input->last_time > timeout) {
    g_autofree gchar *reason =
        g_strdup_printf("no frame for %g s", timeout / (gdouble)G_USEC_PER_SEC);

    lose(input, reason, TRUE);
    return input->watch != 0;
  }
  return G_SOURCE_CONTINUE;
}

RelayInput *relay_input_new(const RelayInputSetup *setup, GError **error)
{
  RelayInput *input = g_new0(RelayInput, 1);
  g_autoptr(GError) problem = NULL;

  input->setup = *setup;
  input->arrivals = relay_arrivals_new();
  input->last_pts = GST_CLOCK_TIME_NONE;
  input->watch = g_timeout_add(WATCH_MS, watch, input);
  if (make(input, &problem))
    return input;
  if (g_error_matches(problem, APP_ERROR, APP_ERROR_FAILED)) {
    lose(input, problem->message, TRUE);
    return input;
  }
  g_propagate_error(error, g_steal_pointer(&problem));
  relay_input_free(input);
  return NULL;
}

void relay_input_free(RelayInput *input)
{
  g_clear_handle_id(&input->watch, g_source_remove);
  g_clear_handle_id(&input->retry, g_source_remove);
  unmake(input);
  join_closed(input, TRUE);
  relay_arrivals_free(input->arrivals);
  g_free(input->last_reason);
  g_free(input);
}
