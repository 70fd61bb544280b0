/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "input.h"

#include "apps/common/error.h"
#include "events.h"
#include "reception.h"
#include "source.h"

/* Wait before the next attempt: starts at the minimum and doubles up to the maximum. */
#define MIN_WAIT_MS 100
#define MAX_WAIT_MS 8000

#define WATCH_MS 100

/* Limit on the wait for a lost source to close, if it listens: SRT keeps the port for up to 5 s of
 * silence of a peer that has died. */
#define MAX_CLOSING (6 * G_USEC_PER_SEC)

struct _RelayInput {
  RelayInputSetup setup;
  GstElement *pipeline;      /* NULL while waiting for the next attempt */
  RelayReception *reception; /* of the pipeline, which owns it */
  GList *closing;            /* of Closing */
  gint64 closing_end;        /* monotonic time of the limit on the last of these */
  guint bus_watch, retry, watch;
  guint wait;         /* ms before the next attempt */
  guint connected;    /* number of pipelines that have delivered frames */
  gboolean announced; /* this pipeline has delivered frames, and that was reported */
  gboolean lost;      /* the loss was reported, and no frame has come since */
  gchar *last_reason;
};

static void make_or_wait(RelayInput *input);

/* A pipeline that is stopped in a thread of its own, since some sources wait for their peer then.
 */
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

/* Frees pipelines that have stopped, or, with `all`, waits for all. */
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
  Closing *closing;

  g_clear_handle_id(&input->bus_watch, g_source_remove);
  if (!input->pipeline)
    return;
  relay_reception_close(input->reception);
  input->reception = NULL;
  closing = g_new0(Closing, 1);
  closing->contexts = input->setup.contexts;
  closing->pipeline = g_steal_pointer(&input->pipeline);
  closing->thread = g_thread_new("close", close_pipeline, closing);
  input->closing = g_list_prepend(input->closing, closing);
  input->closing_end = g_get_monotonic_time() + MAX_CLOSING;
  join_closed(input, FALSE);
}

static gboolean has_worked(const RelayInput *input)
{
  return input->reception && relay_reception_last_time(input->reception) > 0;
}

static gboolean retry(gpointer data)
{
  RelayInput *input = data;
  const gboolean listens =
      g_strcmp0(relay_uri_get(input->setup.options->from, "mode"), "listener") == 0;

  join_closed(input, FALSE);
  if (input->closing && listens && g_get_monotonic_time() < input->closing_end)
    return G_SOURCE_CONTINUE;
  input->retry = 0;
  make_or_wait(input);
  return G_SOURCE_REMOVE;
}

/* Reports a reason once while it stays the same. */
static void report_lost(RelayInput *input, const gchar *reason)
{
  if (!input->lost || g_strcmp0(reason, input->last_reason) != 0)
    relay_event_lost(input->setup.options, reason, input->wait);
  g_free(input->last_reason);
  input->last_reason = g_strdup(reason);
  input->lost = TRUE;
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

/* Closes the pipeline, which has failed or ended, and schedules the next attempt or ends the input.
 */
static void close_lost_source(RelayInput *input, const gchar *reason, gboolean failed)
{
  const RelayOptions *options = input->setup.options;
  const gboolean worked = has_worked(input);
  const gboolean finite =
      relay_source_is_file(options->from) || relay_uri_get(options->from, "frames");
  const gboolean loops = relay_uri_get_integer(options->from, "loop", 0) && worked && !failed;

  if (worked && !input->announced)
    announce(input);
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
  input->wait = worked || input->wait == 0 ? MIN_WAIT_MS : MIN(2 * input->wait, MAX_WAIT_MS);
  report_lost(input, reason);
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
    close_lost_source(input, reason, TRUE);
    return G_SOURCE_REMOVE;
  case GST_MESSAGE_EOS:
    input->bus_watch = 0;
    close_lost_source(input, "the stream has ended", FALSE);
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
  const RelayReceptionSetup setup = {options->from, input->setup.stats, input->setup.slot,
                                     input->setup.output, input->setup.caps};
  GstPad *pad;
  gboolean good;

  input->pipeline = gst_object_ref_sink(gst_pipeline_new("source"));
  input->reception = relay_reception_new(&setup, input->pipeline);
  pad = relay_reception_get_pad(input->reception);
  good = relay_source_build(GST_BIN(input->pipeline), pad, options->from, options->latency,
                            relay_reception_get_arrivals(input->reception), error);
  gst_object_unref(pad);
  return good;
}

/* Creates the pipeline. An error other than APP_ERROR_FAILED cannot be mended by trying again. */
static gboolean make_pipeline(RelayInput *input, GError **error)
{
  GstClock *clock;
  GstBus *bus;

  input->announced = FALSE;
  if (!build(input, error)) {
    g_clear_pointer(&input->pipeline, gst_object_unref);
    input->reception = NULL;
    return FALSE;
  }
  clock = gst_system_clock_obtain();
  gst_pipeline_use_clock(GST_PIPELINE(input->pipeline), clock);
  gst_object_unref(clock);
  relay_contexts_join(input->setup.contexts, input->pipeline);
  bus = gst_element_get_bus(input->pipeline);
  input->bus_watch = gst_bus_add_watch(bus, receive_message, input);
  gst_object_unref(bus);
  return TRUE;
}

/* Failures are reported on the bus. */
static void play(RelayInput *input)
{
  gst_element_set_state(input->pipeline, GST_STATE_PLAYING);
}

static void make_or_wait(RelayInput *input)
{
  g_autoptr(GError) error = NULL;

  if (make_pipeline(input, &error))
    play(input);
  else
    close_lost_source(input, error->message, TRUE);
}

/* Checks, every WATCH_MS, for what has no bus message: the first frame, and silence. */
static gboolean watch(gpointer data)
{
  RelayInput *input = data;
  const gint64 timeout = GST_TIME_AS_USECONDS(input->setup.options->timeout);

  if (!has_worked(input))
    return G_SOURCE_CONTINUE;
  if (!input->announced)
    announce(input);
  if (g_get_monotonic_time() - relay_reception_last_time(input->reception) > timeout) {
    g_autofree gchar *reason =
        g_strdup_printf("no frame for %g s", timeout / (gdouble)G_USEC_PER_SEC);

    close_lost_source(input, reason, TRUE);
    return input->watch != 0;
  }
  return G_SOURCE_CONTINUE;
}

RelayInput *relay_input_new(const RelayInputSetup *setup, GError **error)
{
  RelayInput *input = g_new0(RelayInput, 1);
  g_autoptr(GError) problem = NULL;

  input->setup = *setup;
  if (make_pipeline(input, &problem) || g_error_matches(problem, APP_ERROR, APP_ERROR_FAILED))
    return input;
  g_propagate_error(error, g_steal_pointer(&problem));
  relay_input_free(input);
  return NULL;
}

void relay_input_start(RelayInput *input)
{
  input->watch = g_timeout_add(WATCH_MS, watch, input);
  if (input->pipeline)
    play(input);
  else
    make_or_wait(input);
}

void relay_input_free(RelayInput *input)
{
  g_clear_handle_id(&input->watch, g_source_remove);
  g_clear_handle_id(&input->retry, g_source_remove);
  unmake(input);
  join_closed(input, TRUE);
  g_free(input->last_reason);
  g_free(input);
}
