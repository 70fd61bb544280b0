/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A source that is live joins a pipeline that was not: what the element made of the frames before
 * must not make the new ones late. On fake-gpu.
 */
#include <gst/check/gstcheck.h>

#include "elements.h"

#define CAPS "video/x-raw, format=NV12, width=64, height=36, framerate=5/1"

/* A frame that is held until the next one comes is later than that. Frames are rare, so that
 * threads that wait for a processor are not. */
#define MAX_LATENESS (150 * GST_MSECOND)

/* So many frames in a row come on time, within a time that a busy machine, which is late by itself,
 * has for them. */
#define ON_TIME  5
#define PATIENCE (60 * G_TIME_SPAN_SECOND)

/* Adds a live source to the selector and makes it the one that is shown. */
static void add_live_source(GstElement *pipeline)
{
  GstElement *source =
      gst_parse_bin_from_description("videotestsrc is-live=true ! " CAPS " ! identity", TRUE, NULL);
  GstElement *selector = gst_bin_get_by_name(GST_BIN(pipeline), "selector");
  GstPad *from = gst_element_get_static_pad(source, "src");
  GstPad *to = gst_element_request_pad_simple(selector, "sink_%u");

  gst_bin_add(GST_BIN(pipeline), source);
  fail_unless_equals_int(gst_pad_link(from, to), GST_PAD_LINK_OK);
  g_object_set(selector, "active-pad", to, NULL);
  fail_unless(gst_element_sync_state_with_parent(source));
  gst_object_unref(to);
  gst_object_unref(from);
  gst_object_unref(selector);
}

/* Does what an application does with messages. */
static void handle_messages(GstElement *pipeline)
{
  GstBus *bus = gst_element_get_bus(pipeline);
  GstMessage *message;

  while ((message = gst_bus_pop(bus))) {
    fail_if(GST_MESSAGE_TYPE(message) == GST_MESSAGE_ERROR);
    if (GST_MESSAGE_TYPE(message) == GST_MESSAGE_LATENCY)
      gst_bin_recalculate_latency(GST_BIN(pipeline));
    gst_message_unref(message);
  }
  gst_object_unref(bus);
}

/* Counts frames in a row that come on time to the sink, which shows them later: the pipeline has
 * latency. */
static GstPadProbeReturn note_frame(GstPad *pad, GstPadProbeInfo *info, gpointer on_time)
{
  GstElement *sink = gst_pad_get_parent_element(pad);
  const GstClockTime now = gst_element_get_current_running_time(sink);

  if (now <= GST_BUFFER_PTS(GST_PAD_PROBE_INFO_BUFFER(info)) + MAX_LATENESS)
    g_atomic_int_inc((gint *)on_time);
  else
    g_atomic_int_set((gint *)on_time, 0);
  gst_object_unref(sink);
  return GST_PAD_PROBE_OK;
}

static void wait_for_frames_on_time(GstElement *pipeline, gint *on_time)
{
  const gint64 end = g_get_monotonic_time() + PATIENCE;

  for (g_atomic_int_set(on_time, 0); g_atomic_int_get(on_time) < ON_TIME; g_usleep(5000)) {
    handle_messages(pipeline);
    fail_unless(g_get_monotonic_time() < end, "frames come too late");
  }
}

GST_START_TEST(a_live_source_joins)
{
  gchar *launch =
      g_strdup_printf("videotestsrc num-buffers=10 ! " CAPS " ! input-selector name=selector ! "
                      "%s backend=cuda %s ! fakesink name=sink sync=true",
                      element_cases[__i__].name, element_cases[__i__].working);
  GstElement *pipeline = gst_parse_launch(launch, NULL), *sink;
  GstPad *pad;
  gint on_time = 0;

  fail_unless(pipeline != NULL, "%s", launch);
  sink = gst_bin_get_by_name(GST_BIN(pipeline), "sink");
  pad = gst_element_get_static_pad(sink, "sink");
  gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_BUFFER, note_frame, &on_time, NULL);
  fail_unless(gst_element_set_state(pipeline, GST_STATE_PLAYING) != GST_STATE_CHANGE_FAILURE);
  fail_unless(gst_element_get_state(pipeline, NULL, NULL, 20 * GST_SECOND) ==
              GST_STATE_CHANGE_SUCCESS);
  add_live_source(pipeline);
  wait_for_frames_on_time(pipeline, &on_time);
  gst_element_set_state(pipeline, GST_STATE_NULL);
  gst_object_unref(pad);
  gst_object_unref(sink);
  gst_object_unref(pipeline);
  g_free(launch);
}
GST_END_TEST;

static void add_tests(TCase *tests)
{
  tcase_add_loop_test(tests, a_live_source_joins, 0, N_ELEMENTS);
}

int main(int argc, char **argv)
{
  return run_tests(argc, argv, "device-live", add_tests);
}
