/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "failures.h"

#include "apps/common/elements.h"
#include "apps/common/error.h"

G_DEFINE_QUARK(transcode - error - quark, transcode_error)

GError *failure_broken(const RunPlan *plan, guint frames, GstClockTime time, const gchar *cause)
{
  g_autofree gchar *where = progress_time(time);

  return g_error_new(TRANSCODE_ERROR, TRANSCODE_ERROR_BROKEN,
                     "\"%s\" is broken at %s: %s (%u frames had been filtered).%s",
                     plan->recipe->media->path, where, cause, frames,
                     plan->options->keep_going ? "" : " --keep-going filters what can be decoded.");
}

gboolean failure_is_from(const GstMessage *message, GstElement *pipeline, const gchar *name)
{
  g_autoptr(GstElement) element = gst_bin_get_by_name(GST_BIN(pipeline), name);

  return element && (GST_MESSAGE_SRC(message) == GST_OBJECT(element) ||
                     gst_object_has_as_ancestor(GST_MESSAGE_SRC(message), GST_OBJECT(element)));
}

static void get_size(const GstCaps *caps, gint *width, gint *height)
{
  *width = *height = 0;
  if (caps) {
    gst_structure_get_int(gst_caps_get_structure(caps, 0), "width", width);
    gst_structure_get_int(gst_caps_get_structure(caps, 0), "height", height);
  }
}

/* Explains an error of the muxer, which may have refused new caps: it then still has the old ones.
 */
static GError *muxer_error(const Recipe *recipe, GstElement *pipeline, const gchar *cause)
{
  g_autoptr(GstElement) coded = gst_bin_get_by_name(GST_BIN(pipeline), RECIPE_CODED);
  g_autoptr(GstPad) pad = coded ? gst_element_get_static_pad(coded, "src") : NULL;
  g_autoptr(GstPad) peer = pad ? gst_pad_get_peer(pad) : NULL;
  g_autoptr(GstCaps) now = pad ? gst_pad_get_current_caps(pad) : NULL;
  g_autoptr(GstCaps) before = peer ? gst_pad_get_current_caps(peer) : NULL;
  gint width, height, width_before, height_before, across = 1, down = 1;

  get_size(now, &width, &height);
  get_size(before, &width_before, &height_before);
  if (!before || !now || gst_caps_is_equal(before, now))
    return g_error_new(APP_ERROR, APP_ERROR_FAILED, "%s: %s", recipe->container->muxer, cause);
  if (width == width_before && height == height_before)
    return g_error_new(APP_ERROR, APP_ERROR_FAILED,
                       "The video changes its frame rate or colours, which %s cannot hold: put "
                       "\"videorate ! video/x-raw,framerate=25/1\" into the filter.",
                       recipe->container->name);
  gst_structure_get_fraction(gst_caps_get_structure(before, 0), "pixel-aspect-ratio", &across,
                             &down);
  return g_error_new(APP_ERROR, APP_ERROR_FAILED,
                     "The picture changes its size from %dx%d to %dx%d, which %s cannot hold: "
                     "\"videoscale ! video/x-raw,width=%d,height=%d,pixel-aspect-ratio=%d/%d\" at "
                     "the end of --filter keeps one.",
                     width_before, height_before, width, height, recipe->container->name,
                     width_before, height_before, across, down);
}

static GError *encoder_error(const Recipe *recipe, GstElement *pipeline, const gchar *cause)
{
  g_autoptr(GstElement) frames = gst_bin_get_by_name(GST_BIN(pipeline), RECIPE_FRAMES);
  g_autoptr(GstPad) pad = gst_element_get_static_pad(frames, "src");
  g_autoptr(GstCaps) caps = gst_pad_get_current_caps(pad);
  gint width, height;

  get_size(caps, &width, &height);
  if (width % 2 == 0 && height % 2 == 0)
    return g_error_new(APP_ERROR, APP_ERROR_FAILED, "%s: %s", recipe->encoder.words[0], cause);
  return g_error_new(APP_ERROR, APP_ERROR_FAILED,
                     "%s does not take pictures of %dx%d: %s With 4:2:0 most encoders want even "
                     "sizes: \"videocrop right=%d bottom=%d\" in the filter makes one.",
                     recipe->encoder.words[0], width, height, cause, width % 2, height % 2);
}

GError *failure_to_negotiate(const Recipe *recipe)
{
  gint width, height;

  get_size(recipe->media->video->caps, &width, &height);
  return g_error_new(APP_ERROR, APP_ERROR_FAILED,
                     "Filter, %s and %s have no format in common for the pictures of \"%s\" "
                     "(%dx%d). Another kind of file or --encoder may take them.",
                     recipe->encoder.words[0], recipe->container->name, recipe->media->path, width,
                     height);
}

GError *failure_of(const RunPlan *plan, GstElement *pipeline, GstMessage *message, guint frames,
                   GstClockTime position)
{
  const Recipe *recipe = plan->recipe;
  g_autoptr(GError) cause = NULL;
  g_autofree gchar *details = NULL;

  gst_message_parse_error(message, &cause, &details);
  if (details && (strstr(details, "not-linked") || strstr(details, "not-negotiated")))
    return failure_to_negotiate(recipe);
  if (failure_is_from(message, pipeline, RECIPE_SINK))
    return g_error_new(APP_ERROR, APP_ERROR_FAILED,
                       "Cannot write \"%s\": %s Nothing is left of it.", plan->output,
                       g_error_matches(cause, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_NO_SPACE_LEFT)
                           ? "the disk is full."
                           : cause->message);
  if (failure_is_from(message, pipeline, RECIPE_IN) ||
      failure_is_from(message, pipeline, RECIPE_FILE) ||
      failure_is_from(message, pipeline, RECIPE_DECODER))
    return failure_broken(plan, frames, position, cause->message);
  if (failure_is_from(message, pipeline, RECIPE_ENCODER))
    return encoder_error(recipe, pipeline, cause->message);
  if (failure_is_from(message, pipeline, RECIPE_MUX))
    return muxer_error(recipe, pipeline, cause->message);
  return g_error_new(APP_ERROR, APP_ERROR_FAILED, "%s: %s",
                     app_element_name(GST_MESSAGE_SRC(message)), cause->message);
}
