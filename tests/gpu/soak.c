/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Runs elements in CUDA memory for long, or starts and stops them often, and prints what memory the
 * device and this process have in use, one JSON object a line.
 *
 *   soak --frames N ELEMENTS   after 100 frames, in the middle, and before the last frame
 *   soak --cycles N ELEMENTS   stopped, after some starts and after N more
 *
 * ELEMENTS is a piece of pipeline, such as "cudagaussblur sigma=3 ! cudablockavg". The device's
 * memory is that of the first GPU with all its processes: leave it alone meanwhile. Caps, settings
 * and regions that change: soak-changes.c.
 */
#include <gst/gst.h>
#include <stdio.h>
#include <string.h>

#include "usage.h"

#define FORMAT           "format=NV12,width=1280,height=720,framerate=25/1"
#define ON_DEVICE        "video/x-raw(memory:CUDAMemory)," FORMAT
#define FIRST_SAMPLE     100
#define WARM_UP_CYCLES   5
#define FRAMES_PER_CYCLE 10

typedef struct {
  guint64 frames, total;
  gint64 started; /* us */
  gboolean failed;
} Soak;

/* Prints what is in use now; false where that cannot be found out. */
static gboolean print_memory(const char *counted, guint64 count, gint64 since)
{
  const double seconds = (double)(g_get_monotonic_time() - since) / G_USEC_PER_SEC;
  const int device = device_mib();
  const double host = host_mib();

  if (device < 0 || host < 0.0) {
    fprintf(stderr, "soak: nvidia-smi or /proc/self/statm cannot be read\n");
    return FALSE;
  }
  printf("{\"%s\": %" G_GUINT64_FORMAT ", \"device_mib\": %d, \"host_mib\": %.2f, \"fps\": %.1f}\n",
         counted, count, device, host, (double)count / seconds);
  fflush(stdout);
  return TRUE;
}

static GstElement *make_pipeline(const char *elements, guint64 frames)
{
  gchar *text =
      g_strdup_printf("videotestsrc pattern=gradient num-buffers=%" G_GUINT64_FORMAT
                      " ! video/x-raw," FORMAT " ! cudaupload ! " ON_DEVICE " ! %s ! " ON_DEVICE
                      " ! cudadownload ! video/x-raw," FORMAT " ! fakesink name=sink sync=false",
                      frames, elements);
  GError *error = NULL;
  GstElement *pipeline = gst_parse_launch_full(text, NULL, GST_PARSE_FLAG_FATAL_ERRORS, &error);

  if (!pipeline) {
    fprintf(stderr, "soak: %s\n", error->message);
    g_error_free(error);
  }
  g_free(text);
  return pipeline;
}

/* Plays to the end and stops; false after an error, which is printed. */
static gboolean play(GstElement *pipeline)
{
  GstBus *bus = gst_element_get_bus(pipeline);
  GstMessage *message = NULL;
  gboolean good;

  gst_element_set_state(pipeline, GST_STATE_PLAYING);
  message =
      gst_bus_timed_pop_filtered(bus, GST_CLOCK_TIME_NONE, GST_MESSAGE_EOS | GST_MESSAGE_ERROR);
  good = GST_MESSAGE_TYPE(message) == GST_MESSAGE_EOS;
  if (!good) {
    GError *error = NULL;

    gst_message_parse_error(message, &error, NULL);
    fprintf(stderr, "soak: %s: %s\n", GST_MESSAGE_SRC_NAME(message), error->message);
    g_error_free(error);
  }
  gst_message_unref(message);
  gst_element_set_state(pipeline, GST_STATE_NULL);
  gst_object_unref(bus);
  return good;
}

static GstPadProbeReturn count_frame(GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
  Soak *soak = data;

  (void)pad, (void)info;
  soak->frames++;
  if ((soak->frames == FIRST_SAMPLE || soak->frames == soak->total / 2 ||
       soak->frames == soak->total - 1) &&
      !print_memory("frames", soak->frames, soak->started))
    soak->failed = TRUE;
  return GST_PAD_PROBE_OK;
}

static gboolean run_frames(const char *elements, guint64 frames)
{
  Soak soak = {.total = frames, .started = g_get_monotonic_time()};
  GstElement *pipeline = make_pipeline(elements, frames);
  GstElement *sink;
  GstPad *pad;
  gboolean good;

  if (!pipeline)
    return FALSE;
  sink = gst_bin_get_by_name(GST_BIN(pipeline), "sink");
  pad = gst_element_get_static_pad(sink, "sink");
  gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_BUFFER, count_frame, &soak, NULL);
  gst_object_unref(pad);
  gst_object_unref(sink);
  good = play(pipeline);
  gst_object_unref(pipeline);
  if (good && soak.frames != frames) {
    fprintf(stderr, "soak: %" G_GUINT64_FORMAT " of %" G_GUINT64_FORMAT " frames came out\n",
            soak.frames, frames);
    good = FALSE;
  }
  return good && !soak.failed;
}

static gboolean run_cycles(const char *elements, guint64 cycles)
{
  const gint64 started = g_get_monotonic_time();
  GstElement *pipeline = make_pipeline(elements, FRAMES_PER_CYCLE);
  gboolean good = pipeline != NULL;

  for (guint64 i = 0; good && i < WARM_UP_CYCLES; i++)
    good = play(pipeline);
  good = good && print_memory("cycles", WARM_UP_CYCLES, started);
  for (guint64 i = 0; good && i < cycles; i++)
    good = play(pipeline);
  good = good && print_memory("cycles", WARM_UP_CYCLES + cycles, started);
  g_clear_object(&pipeline);
  return good;
}

int main(int argc, char **argv)
{
  guint64 count;

  gst_init(&argc, &argv);
  if (argc != 4 || !g_ascii_string_to_unsigned(argv[2], 10, 1, G_MAXINT32, &count, NULL)) {
    fprintf(stderr, "usage: %s --frames|--cycles NUMBER ELEMENTS\n", argv[0]);
    return 2;
  }
  if (strcmp(argv[1], "--frames") == 0 && count > 2 * FIRST_SAMPLE)
    return run_frames(argv[3], count) ? 0 : 1;
  if (strcmp(argv[1], "--cycles") == 0)
    return run_cycles(argv[3], count) ? 0 : 1;
  fprintf(stderr, "soak: it must be --cycles, or --frames with more than %d\n", 2 * FIRST_SAMPLE);
  return 2;
}
