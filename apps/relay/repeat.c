/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "repeat.h"

#include <gst/app/app.h>

#include "apps/common/elements.h"
#include "slot.h"
#include "times.h"

/* For caps without a frame rate, in us. */
#define DEFAULT_PERIOD (G_USEC_PER_SEC / 30)

struct _RelayRepeat {
  RelayRepeatSetup setup;
  RelaySlot *slot; /* from the filter to the output */
  /* Output's thread: */
  GstSample *last; /* the frame to repeat */
  gint64 due;      /* when to repeat it, in monotonic us */
  gint64 period;   /* in us */
  GstClockTime last_pts;
};

static GstFlowReturn take_filtered(GstAppSink *sink, gpointer data)
{
  RelayRepeat *repeat = data;
  GstSample *sample = gst_app_sink_pull_sample(sink);

  if (!sample)
    return GST_FLOW_EOS;
  relay_slot_put(repeat->slot, sample);
  return GST_FLOW_OK;
}

static void end(GstAppSink *sink, gpointer data)
{
  relay_slot_end(((RelayRepeat *)data)->slot);
}

static gint64 find_period(GstSample *sample)
{
  const GstStructure *structure = gst_caps_get_structure(gst_sample_get_caps(sample), 0);
  gint numerator, denominator;

  if (!gst_structure_get_fraction(structure, "framerate", &numerator, &denominator) ||
      numerator <= 0)
    return DEFAULT_PERIOD;
  return gst_util_uint64_scale(G_USEC_PER_SEC, denominator, numerator);
}

/* Sends `repeat->last` with the current time as PTS: a repeated frame may have been sent with a
 * later PTS than that of a new frame, which took long to filter. */
static void push(RelayRepeat *repeat, GstAppSrc *source, gboolean fresh)
{
  GstBuffer *original = gst_sample_get_buffer(repeat->last);
  GstBuffer *buffer = gst_buffer_copy(original);
  GstSample *sample;

  GST_BUFFER_PTS(buffer) = MAX(relay_now(repeat->setup.pipeline), repeat->last_pts + 1);
  repeat->last_pts = GST_BUFFER_PTS(buffer);
  relay_stats_renamed(repeat->setup.stats, GST_BUFFER_PTS(original), GST_BUFFER_PTS(buffer), fresh);
  sample = gst_sample_new(buffer, gst_sample_get_caps(repeat->last), NULL, NULL);
  gst_app_src_push_sample(source, sample);
  gst_sample_unref(sample);
  gst_buffer_unref(buffer);
}

/* The appsrc's need-data, in the output's streaming thread. */
static void feed(GstAppSrc *source, guint unused, gpointer data)
{
  RelayRepeat *repeat = data;
  GstSample *sample;

  switch (relay_slot_take(repeat->slot, repeat->last ? repeat->due : 0, &sample)) {
  case RELAY_TAKE_END:
    gst_app_src_end_of_stream(source);
    return;
  case RELAY_TAKE_TIMEOUT:
    push(repeat, source, FALSE);
    repeat->due = MAX(repeat->due + repeat->period, g_get_monotonic_time());
    return;
  case RELAY_TAKE_FRAME:
    g_clear_pointer(&repeat->last, gst_sample_unref);
    repeat->last = sample;
    repeat->period = find_period(sample);
    /* A frame that is up to half a period late is waited for. */
    repeat->due = g_get_monotonic_time() + repeat->period * 3 / 2;
    push(repeat, source, TRUE);
    return;
  }
}

RelayRepeat *relay_repeat_new(const RelayRepeatSetup *setup, GstElement **sink, GstElement **source,
                              GError **error)
{
  GstAppSinkCallbacks taking = {.eos = end, .new_sample = take_filtered};
  GstAppSrcCallbacks feeding = {.need_data = feed};
  RelayRepeat *repeat;

  *sink = app_element_make("appsink", "filtered", NULL, error);
  *source = *sink ? app_element_make("appsrc", "repeated", NULL, error) : NULL;
  if (!*source)
    return NULL;
  repeat = g_new0(RelayRepeat, 1);
  repeat->setup = *setup;
  repeat->slot = relay_slot_new(1, TRUE);
  g_object_set(*sink, "sync", FALSE, "async", FALSE, "max-buffers", 1, "enable-last-sample", FALSE,
               NULL);
  g_object_set(*source, "is-live", TRUE, "format", GST_FORMAT_TIME, "max-buffers", (guint64)1,
               NULL);
  gst_app_sink_set_callbacks(GST_APP_SINK(*sink), &taking, repeat, NULL);
  gst_app_src_set_callbacks(GST_APP_SRC(*source), &feeding, repeat, NULL);
  return repeat;
}

void relay_repeat_stop(RelayRepeat *repeat)
{
  relay_slot_abort(repeat->slot);
}

void relay_repeat_free(RelayRepeat *repeat)
{
  if (repeat->last)
    gst_sample_unref(repeat->last);
  relay_slot_free(repeat->slot);
  g_free(repeat);
}
