/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A source that is live joins a pipeline that was not: what the element made of the frames before
 * must not make the new ones late. On fake-gpu.
 */
#include <gst/check/gstcheck.h>

#include "elements.h"

#define CAPS        "video/x-raw, format=NV12, width=64, height=36, framerate=25/1"
#define LIVE_FRAMES 40

/* A frame that is held until the next one comes is later than that. */
#define MAX_LATENESS (30 * GST_MSECOND)

/* Adds a live source to the selector and makes it the one that is shown. */
static void add_live_source(GstElement *pipeline)
{
  GstElement *source = gst_parse_bin_from_description(
      "videotestsrc is-live=true num-buffers=" G_STRINGIFY(LIVE_FRAMES) " ! " CAPS, TRUE, NULL);
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

static void play_to_the_end(GstElement *pipeline)
{
  GstBus *bus = gst_element_get_bus(pipeline);
  gboolean ended = FALSE;

  while (!ended) {
    GstMessage *message = gst_bus_timed_pop(bus, 20 * GST_SECOND);

    fail_unless(message != NULL, "the pipeline does not end");
    fail_if(GST_MESSAGE_TYPE(message) == GST_MESSAGE_ERROR);
    if (GST_MESSAGE_TYPE(message) == GST_MESSAGE_LATENCY)
      gst_bin_recalculate_latency(GST_BIN(pipeline));
    ended = GST_MESSAGE_TYPE(message) == GST_MESSAGE_EOS;
    gst_message_unref(message);
  }
  gst_object_unref(bus);
}

GST_START_TEST(a_live_source_joins)
{
  gchar *launch = g_strdup_printf(
      "videotestsrc num-buffers=10 ! " CAPS " ! input-selector name=selector ! %s backend=cuda %s "
      "! fakesink name=sink sync=true qos=false max-lateness=%" G_GUINT64_FORMAT,
      element_cases[__i__].name, element_cases[__i__].working, MAX_LATENESS);
  GstElement *pipeline = gst_parse_launch(launch, NULL), *sink;
  GstStructure *stats;
  guint64 rendered = 0, dropped = 0;

  fail_unless(pipeline != NULL, "%s", launch);
  fail_unless(gst_element_set_state(pipeline, GST_STATE_PLAYING) != GST_STATE_CHANGE_FAILURE);
  fail_unless(gst_element_get_state(pipeline, NULL, NULL, 20 * GST_SECOND) ==
              GST_STATE_CHANGE_SUCCESS);
  add_live_source(pipeline);
  play_to_the_end(pipeline);
  sink = gst_bin_get_by_name(GST_BIN(pipeline), "sink");
  g_object_get(sink, "stats", &stats, NULL);
  fail_unless(gst_structure_get_uint64(stats, "rendered", &rendered) &&
              gst_structure_get_uint64(stats, "dropped", &dropped));
  /* A few, because a busy machine is late by itself. */
  fail_unless(rendered >= LIVE_FRAMES / 2 && dropped <= LIVE_FRAMES / 4,
              "%" G_GUINT64_FORMAT " frames shown, %" G_GUINT64_FORMAT " too late", rendered,
              dropped);
  gst_structure_free(stats);
  gst_object_unref(sink);
  gst_element_set_state(pipeline, GST_STATE_NULL);
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
