/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "reception.h"

#include <gst/app/app.h>

#include "padded-frames.h"
#include "source.h"
#include "times.h"

/* Timestamps further from the clock than this are not used. */
#define MAX_CLOCK_DIFFERENCE (5 * GST_SECOND)

struct _RelayReception {
  RelayReceptionSetup setup;
  GstElement *sink; /* no reference: its pipeline owns this */
  RelayArrivals *arrivals;
  GMutex lock;
  gint64 last_time; /* with `lock` */
  gboolean closed;  /* with `lock` */
  /* Streaming thread: */
  GstClockTimeDiff shift; /* from the pipeline's running time to the output's, without base times */
  GstCaps *caps;
};

static void free_reception(gpointer data)
{
  RelayReception *reception = data;

  relay_arrivals_free(reception->arrivals);
  gst_clear_caps(&reception->caps);
  g_mutex_clear(&reception->lock);
  g_free(reception);
}

/* The running time of a frame in its own pipeline, or GST_CLOCK_TIME_NONE. */
static GstClockTime own_time(GstSample *sample)
{
  return gst_segment_to_running_time(gst_sample_get_segment(sample), GST_FORMAT_TIME,
                                     GST_BUFFER_PTS(gst_sample_get_buffer(sample)));
}

/* The frame's PTS in the output's pipeline: its own time if that is plausible, else now. */
static GstClockTime output_pts(RelayReception *reception, GstClockTime own, GstClockTime now)
{
  const GstClockTimeDiff bases = GST_CLOCK_DIFF(gst_element_get_base_time(reception->setup.output),
                                                gst_element_get_base_time(reception->sink));
  GstClockTimeDiff shifted, off;

  if (!GST_CLOCK_TIME_IS_VALID(own))
    return now;
  shifted = (GstClockTimeDiff)own + bases + reception->shift;
  off = GST_CLOCK_DIFF(now, shifted);
  if (ABS(off) <= (GstClockTimeDiff)MAX_CLOCK_DIFFERENCE)
    return MAX(shifted, 0);
  reception->shift -= off;
  return now;
}

/* When the frame was captured, or arrived; at most now. */
static GstClockTime capture_time(RelayReception *reception, GstClockTime own, GstClockTime pts,
                                 GstClockTime now)
{
  gint64 arrival;
  GstClockTime age;

  if (!relay_source_tells_no_time(reception->setup.from))
    return MIN(pts, now);
  arrival = relay_arrivals_find(reception->arrivals, own);
  if (arrival == 0)
    return now;
  age = (g_get_monotonic_time() - arrival) * GST_USECOND;
  return now > age ? now - age : 0;
}

static void note_format(RelayReception *reception, GstCaps *caps)
{
  GstVideoInfo info;

  if (reception->caps && gst_caps_is_equal(reception->caps, caps))
    return;
  gst_caps_replace(&reception->caps, caps);
  if (gst_video_info_from_caps(&info, caps))
    relay_stats_format(reception->setup.stats, &info);
}

/* A sample of the same frame with another PTS. `sample` is transfer full, so that the buffer
 * usually has one owner and its metadata need not be copied. */
static GstSample *retime(GstSample *sample, GstClockTime pts)
{
  GstBuffer *buffer = gst_buffer_ref(gst_sample_get_buffer(sample));
  GstCaps *caps = gst_caps_ref(gst_sample_get_caps(sample));
  GstSample *retimed;

  gst_sample_unref(sample);
  buffer = gst_buffer_make_writable(buffer);
  GST_BUFFER_PTS(buffer) = pts;
  GST_BUFFER_DTS(buffer) = GST_CLOCK_TIME_NONE;
  retimed = gst_sample_new(buffer, caps, NULL, NULL);
  gst_buffer_unref(buffer);
  gst_caps_unref(caps);
  return retimed;
}

/* Records the time of a frame. FALSE if the reception is closed. */
static gboolean note_time(RelayReception *reception)
{
  gboolean open;

  g_mutex_lock(&reception->lock);
  open = !reception->closed;
  if (open)
    reception->last_time = g_get_monotonic_time();
  g_mutex_unlock(&reception->lock);
  return open;
}

static GstFlowReturn take_frame(GstAppSink *sink, gpointer data)
{
  RelayReception *reception = data;
  RelayStats *stats = reception->setup.stats;
  GstSample *sample = gst_app_sink_pull_sample(sink);
  GstClockTime own, pts, now;

  if (!sample)
    return GST_FLOW_EOS;
  if (!note_time(reception)) {
    gst_sample_unref(sample);
    return GST_FLOW_EOS;
  }
  own = own_time(sample);
  now = relay_now(reception->setup.output);
  pts = output_pts(reception, own, now);
  note_format(reception, gst_sample_get_caps(sample));
  relay_stats_received(stats, pts, capture_time(reception, own, pts, now));
  relay_stats_dropped(stats, relay_slot_put(reception->setup.slot, retime(sample, pts)));
  return GST_FLOW_OK;
}

RelayReception *relay_reception_new(const RelayReceptionSetup *setup, GstElement *pipeline)
{
  RelayReception *reception = g_new0(RelayReception, 1);
  GstElement *sink = gst_element_factory_make("appsink", NULL);
  GstAppSinkCallbacks callbacks = {.new_sample = take_frame};
  GstCaps *caps = gst_caps_from_string(setup->caps);
  GstPad *pad = gst_element_get_static_pad(sink, "sink");

  reception->setup = *setup;
  reception->sink = sink;
  reception->arrivals = relay_arrivals_new();
  g_mutex_init(&reception->lock);
  g_object_set_data_full(G_OBJECT(pipeline), "reception", reception, free_reception);
  g_object_set(sink, "caps", caps, "sync", relay_source_is_file(setup->from), "enable-last-sample",
               FALSE, "wait-on-eos", FALSE, "max-buffers", 1, "qos", FALSE, NULL);
  gst_app_sink_set_callbacks(GST_APP_SINK(sink), &callbacks, reception, NULL);
  relay_take_padded_frames(pad);
  gst_bin_add(GST_BIN(pipeline), sink);
  gst_object_unref(pad);
  gst_caps_unref(caps);
  return reception;
}

GstPad *relay_reception_get_pad(RelayReception *reception)
{
  return gst_element_get_static_pad(reception->sink, "sink");
}

RelayArrivals *relay_reception_get_arrivals(RelayReception *reception)
{
  return reception->arrivals;
}

gint64 relay_reception_last_time(RelayReception *reception)
{
  gint64 time;

  g_mutex_lock(&reception->lock);
  time = reception->last_time;
  g_mutex_unlock(&reception->lock);
  return time;
}

void relay_reception_close(RelayReception *reception)
{
  g_mutex_lock(&reception->lock);
  reception->closed = TRUE;
  g_mutex_unlock(&reception->lock);
}
