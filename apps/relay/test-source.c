/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "test-source.h"

#include <stdio.h>
#include <gst/video/video.h>

#include "apps/common/elements.h"
#include "apps/common/error.h"
#include "apps/common/properties.h"

#define MAX_SIZES 64

typedef struct {
  gint width, height;
} Size;

typedef struct {
  GstElement *filter; /* not a reference: the filter owns this struct */
  Size sizes[MAX_SIZES];
  guint count;
  guint every;  /* frames of each size */
  guint frames; /* given so far */
  gint fps;
  const gchar *format; /* interned */
} SizeSequence;

static gboolean read_sizes(SizeSequence *sequence, const gchar *text, GError **error)
{
  g_auto(GStrv) words = g_strsplit(text, ",", -1);

  for (gchar **word = words; *word; word++) {
    Size size;
    gchar rest;

    if (sequence->count == MAX_SIZES ||
        sscanf(*word, "%5dx%5d%c", &size.width, &size.height, &rest) != 2 || size.width < 1 ||
        size.height < 1 || size.width > 32768 || size.height > 32768) {
      g_set_error(
          error, APP_ERROR, APP_ERROR_USAGE,
          "test: does not take sizes=%s. Allowed are up to %d of 1x1 to 32768x32768, such as "
          "1x1,17x300,1920x1080.",
          text, MAX_SIZES);
      return FALSE;
    }
    sequence->sizes[sequence->count++] = size;
  }
  return TRUE;
}

static void show_size(const SizeSequence *sequence, Size size)
{
  GstCaps *caps = gst_caps_new_simple(
      "video/x-raw", "format", G_TYPE_STRING, sequence->format, "width", G_TYPE_INT, size.width,
      "height", G_TYPE_INT, size.height, "framerate", GST_TYPE_FRACTION, sequence->fps, 1, NULL);

  g_object_set(sequence->filter, "caps", caps, NULL);
  gst_caps_unref(caps);
}

static GstPadProbeReturn count_frame(GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
  SizeSequence *sequence = data;

  if (++sequence->frames % sequence->every == 0)
    show_size(sequence, sequence->sizes[sequence->frames / sequence->every % sequence->count]);
  return GST_PAD_PROBE_OK;
}

static gboolean read_turns(SizeSequence *sequence, const RelayUri *uri, GError **error)
{
  const gchar *sizes = relay_uri_get(uri, "sizes"), *format = relay_uri_get(uri, "format");

  sequence->every = relay_uri_get_integer(uri, "every", 30);
  sequence->fps = relay_uri_get_integer(uri, "fps", 30);
  if (format && gst_video_format_from_string(format) == GST_VIDEO_FORMAT_UNKNOWN) {
    g_set_error(error, APP_ERROR, APP_ERROR_USAGE,
                "test: does not take format=%s. GStreamer has NV12, "
                "I420, RGBA, UYVY and others.",
                format);
    return FALSE;
  }
  sequence->format = g_intern_string(format ? format : "I420");
  if (sizes)
    return read_sizes(sequence, sizes, error);
  sequence->sizes[sequence->count++] =
      (Size){relay_uri_get_integer(uri, "width", 640), relay_uri_get_integer(uri, "height", 360)};
  return TRUE;
}

GstElement *relay_test_source_new(GstBin *pipeline, const RelayUri *uri, GError **error)
{
  const gchar *pattern = relay_uri_get(uri, "pattern");
  GstElement *source = app_element_make("videotestsrc", NULL, "for test:", error), *filter;
  g_autofree SizeSequence *sequence = g_new0(SizeSequence, 1);

  if (!source)
    return NULL;
  gst_bin_add(pipeline, source);
  if (!read_turns(sequence, uri, error) ||
      !app_property_set(source, "pattern", pattern ? pattern : "ball", error))
    return NULL;
  g_object_set(source, "is-live", TRUE, "num-buffers", relay_uri_get_integer(uri, "frames", -1),
               NULL);
  filter = app_element_make("capsfilter", NULL, NULL, error);
  if (!filter)
    return NULL;
  gst_bin_add(pipeline, filter);
  sequence->filter = filter;
  show_size(sequence, sequence->sizes[0]);
  if (sequence->count > 1) {
    g_autoptr(GstPad) pad = gst_element_get_static_pad(filter, "src");

    gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_BUFFER, count_frame, sequence, g_free);
    g_steal_pointer(&sequence);
  }
  if (gst_element_link(source, filter))
    return filter;
  g_set_error(error, APP_ERROR, APP_ERROR_USAGE,
              "test: cannot make frames with these options; gst-inspect-1.0 videotestsrc lists its "
              "formats.");
  return NULL;
}
