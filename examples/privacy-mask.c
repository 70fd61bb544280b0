/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A program with a detector of its own: it looks at each frame on its way into cudablockavg,
 * attaches the region of what it found, and the mosaic follows it. The detector here is a simple
 * one, of a bright object on black, which is what the moving ball of GStreamer's test picture is.
 * Yours, a neural network perhaps, does the same where find_object() is called.
 *
 *   privacy-mask                 a moving ball behind a mosaic, in a window
 *   privacy-mask fakesink        ... without one
 *   privacy-mask SINK SOURCE     any source of GRAY8 or YUV that ends
 *
 * To compile: cc privacy-mask.c -o privacy-mask $(pkg-config --cflags --libs gstreamer-video-1.0)
 */
#include <gst/gst.h>
#include <gst/video/video.h>

#define USAGE                                                                                      \
  "usage: privacy-mask [SINK [SOURCE]]\n"                                                          \
  "Covers a bright object by a mosaic: SINK and SOURCE are pipelines as gst-launch-1.0 takes\n"    \
  "them; without them, a moving ball in a window. SOURCE is one of GRAY8 or YUV that ends.\n"

#define THRESHOLD 100

/* With these settings a frame of which the detector knows nothing is covered altogether, and an
 * object that it loses for a moment stays covered for a fifth of a second. */
#define MOSAIC                                                                                     \
  "cudablockavg name=mosaic roi-mode=inside roi-types=object roi-expand=0.2 anchor=region "        \
  "blocks-across=6 roi-hold=200000000 roi-missing=cover"

typedef struct {
  gint left, top, right, bottom; /* the last two are beyond it */
} Box;

/* The box around all bright pixels; FALSE if there are none. */
static gboolean find_object(const GstVideoFrame *frame, Box *box)
{
  const gint width = GST_VIDEO_FRAME_WIDTH(frame), height = GST_VIDEO_FRAME_HEIGHT(frame);
  const guint8 *row = GST_VIDEO_FRAME_PLANE_DATA(frame, 0);

  *box = (Box){width, height, 0, 0};
  for (gint y = 0; y < height; y++, row += GST_VIDEO_FRAME_PLANE_STRIDE(frame, 0)) {
    for (gint x = 0; x < width; x++) {
      if (row[x] < THRESHOLD)
        continue;
      box->left = MIN(box->left, x);
      box->top = MIN(box->top, y);
      box->right = MAX(box->right, x + 1);
      box->bottom = MAX(box->bottom, y + 1);
    }
  }
  return box->right > box->left;
}

static GstPadProbeReturn detect(GstPad *pad, GstPadProbeInfo *probe, gpointer user_data)
{
  GstCaps *caps = gst_pad_get_current_caps(pad);
  guint *found = user_data;
  GstVideoFrame frame;
  GstVideoInfo info;
  Box box;

  if (gst_video_info_from_caps(&info, caps) &&
      gst_video_frame_map(&frame, &info, GST_PAD_PROBE_INFO_BUFFER(probe), GST_MAP_READ)) {
    const gboolean seen = find_object(&frame, &box);

    gst_video_frame_unmap(&frame);
    if (seen) {
      GstBuffer *buffer = gst_buffer_make_writable(GST_PAD_PROBE_INFO_BUFFER(probe));

      gst_buffer_add_video_region_of_interest_meta(buffer, "object", (guint)box.left,
                                                   (guint)box.top, (guint)(box.right - box.left),
                                                   (guint)(box.bottom - box.top));
      GST_PAD_PROBE_INFO_DATA(probe) = buffer;
      ++*found;
    }
  }
  gst_caps_unref(caps);
  return GST_PAD_PROBE_OK;
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
  const gchar *sink = argc > 1 ? argv[1] : "videoconvert ! autovideosink";
  const gchar *source = argc > 2 ? argv[2]
                                 : "videotestsrc num-buffers=300 pattern=ball ! "
                                   "video/x-raw,format=I420,width=640,height=480";
  GstElement *pipeline, *mosaic;
  GError *error = NULL;
  gchar *description;
  guint found = 0;
  gboolean good;
  GstPad *pad;

  if (argc > 3 || sink[0] == '-') {
    const gboolean asked = g_str_equal(sink, "--help") || g_str_equal(sink, "-h");

    (asked ? g_print : g_printerr)(USAGE);
    return asked ? 0 : 2;
  }
  gst_init(&argc, &argv);
  description = g_strdup_printf("%s ! " MOSAIC " ! %s", source, sink);
  pipeline = gst_parse_launch(description, &error);
  g_free(description);
  if (error) {
    g_printerr("%s\n", error->message);
    g_error_free(error);
    return 1;
  }
  mosaic = gst_bin_get_by_name(GST_BIN(pipeline), "mosaic");
  pad = gst_element_get_static_pad(mosaic, "sink");
  gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_BUFFER, detect, &found, NULL);
  good = play(pipeline);
  gst_element_set_state(pipeline, GST_STATE_NULL);
  g_print("the object was seen in %u frames\n", found);
  gst_object_unref(pad);
  gst_object_unref(mosaic);
  gst_object_unref(pipeline);
  return good && found > 0 ? 0 : 1;
}
