/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A program with the elements in it: pulls focus, from sharp to blurred and back once in two
 * seconds, with a GstController on cudagaussblur's sigma, and says at the end which backend ran and
 * how long a frame took.
 *
 *   focus-pull                 GStreamer's test picture in a window
 *   focus-pull fakesink        ... without one
 *   focus-pull SINK SOURCE     any source that ends, such as "filesrc location=a.mp4 ! decodebin"
 *
 * To compile: cc focus-pull.c -o focus-pull $(pkg-config --cflags --libs gstreamer-controller-1.0)
 */
#include <gst/controller/controller.h>
#include <gst/gst.h>

#define USAGE                                                                                      \
  "usage: focus-pull [SINK [SOURCE]]\n"                                                            \
  "Pulls focus on a video: SINK and SOURCE are pipelines as gst-launch-1.0 takes them;\n"          \
  "without them, a test picture in a window. SOURCE is one that ends, such as\n"                   \
  "\"filesrc location=a.mp4 ! decodebin\".\n"

#define LARGEST_SIGMA 12.0
#define SECONDS       60

static void pull_focus(GstElement *blur)
{
  GstControlSource *source = gst_interpolation_control_source_new();

  g_object_set(source, "mode", GST_INTERPOLATION_MODE_CUBIC_MONOTONIC, NULL);
  for (guint second = 0; second <= SECONDS; second++)
    gst_timed_value_control_source_set(GST_TIMED_VALUE_CONTROL_SOURCE(source), second * GST_SECOND,
                                       second % 2 ? LARGEST_SIGMA : 0.0);
  gst_object_add_control_binding(
      GST_OBJECT(blur), gst_direct_control_binding_new_absolute(GST_OBJECT(blur), "sigma", source));
  gst_object_unref(source);
}

static void print_statistics(GstElement *blur)
{
  GstStructure *statistics = NULL;
  gchar *text;

  g_object_get(blur, "stats", &statistics, NULL);
  text = gst_structure_to_string(statistics);
  g_print("%s\n", text);
  g_free(text);
  gst_structure_free(statistics);
}

/* Returns when the stream has ended; FALSE if it ended with an error, which is printed. */
static gboolean play(GstElement *pipeline)
{
  GstBus *bus = gst_element_get_bus(pipeline);
  GstMessage *message;
  GError *error = NULL;

  gst_element_set_state(pipeline, GST_STATE_PLAYING);
  message =
      gst_bus_timed_pop_filtered(bus, GST_CLOCK_TIME_NONE, GST_MESSAGE_EOS | GST_MESSAGE_ERROR);
  if (GST_MESSAGE_TYPE(message) == GST_MESSAGE_ERROR) {
    gst_message_parse_error(message, &error, NULL);
    g_printerr("%s\n", error->message);
  }
  gst_message_unref(message);
  gst_object_unref(bus);
  if (!error)
    return TRUE;
  g_error_free(error);
  return FALSE;
}

int main(int argc, char **argv)
{
  const gchar *sink = argc > 1 ? argv[1] : "autovideosink";
  const gchar *source = argc > 2 ? argv[2] : "videotestsrc num-buffers=300";
  GstElement *pipeline, *blur;
  GError *error = NULL;
  gchar *description;
  gboolean good;

  if (argc > 3 || sink[0] == '-') {
    const gboolean asked = g_str_equal(sink, "--help") || g_str_equal(sink, "-h");

    (asked ? g_print : g_printerr)(USAGE);
    return asked ? 0 : 2;
  }
  gst_init(&argc, &argv);
  description = g_strdup_printf("%s ! videoconvert ! cudagaussblur name=blur ! videoconvert ! %s",
                                source, sink);
  pipeline = gst_parse_launch(description, &error);
  g_free(description);
  if (error) {
    g_printerr("%s\n", error->message);
    g_error_free(error);
    return 1;
  }
  blur = gst_bin_get_by_name(GST_BIN(pipeline), "blur");
  pull_focus(blur);
  good = play(pipeline);
  if (good)
    print_statistics(blur);
  gst_element_set_state(pipeline, GST_STATE_NULL);
  gst_object_unref(blur);
  gst_object_unref(pipeline);
  return good ? 0 : 1;
}
