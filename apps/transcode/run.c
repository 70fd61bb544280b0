/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "run.h"

#include "chunks.h"
#include "decoding.h"
#include "mp4-result.h"
#include "output.h"
#include "subtitles.h"
#include "timeline.h"

#include "apps/common/error.h"
#include "apps/common/signals.h"
#include "apps/common/terminal.h"

#include <gst/video/video.h>

G_DEFINE_QUARK(transcode - error - quark, transcode_error)

#define TICK_MS 100

/* One run of a pipeline. */
typedef struct {
  const Recipe *recipe;
  const Options *options;
  GstElement *pipeline;
  GMainLoop *loop;
  Chunks chunks;
  Decoding decoding;
  Progress progress;
  gboolean said_backends;
  GError *error; /* why it stopped early */
} Run;

/* Only the first reason counts: the rest follows from it. */
static void stop(Run *run, GError *reason)
{
  if (run->error)
    g_error_free(reason);
  else
    run->error = reason;
  g_main_loop_quit(run->loop);
}

static void interrupt(gpointer data)
{
  stop(data, g_error_new(TRANSCODE_ERROR, TRANSCODE_ERROR_INTERRUPTED,
                         "Interrupted. Nothing is left of the file that was being written."));
}

/* From the decoder's thread. */
static void report_break(GstClockTime time, gpointer data)
{
  Run *run = data;

  if (!run->options->keep_going)
    gst_element_post_message(run->pipeline,
                             gst_message_new_application(
                                 GST_OBJECT(run->pipeline),
                                 gst_structure_new("broken", "time", G_TYPE_UINT64, time, NULL)));
}

static GError *broken_error(Run *run, GstClockTime time, const gchar *cause)
{
  GstClockTime position;
  const guint frames = chunks_progress(&run->chunks, &position);
  g_autofree gchar *where = progress_time(GST_CLOCK_TIME_IS_VALID(time) ? time : position);

  return g_error_new(TRANSCODE_ERROR, TRANSCODE_ERROR_BROKEN,
                     "\"%s\" is broken at %s: %s (%u frames had been filtered). --keep-going "
                     "filters what can be decoded.",
                     run->recipe->media->path, where, cause, frames);
}

static gboolean is_from(const GstMessage *message, GstElement *pipeline, const gchar *name)
{
  g_autoptr(GstElement) element = gst_bin_get_by_name(GST_BIN(pipeline), name);

  return element && (GST_MESSAGE_SRC(message) == GST_OBJECT(element) ||
                     gst_object_has_as_ancestor(GST_MESSAGE_SRC(message), GST_OBJECT(element)));
}

static GError *error_of(Run *run, GstMessage *message)
{
  g_autoptr(GError) cause = NULL;

  gst_message_parse_error(message, &cause, NULL);
  if (is_from(message, run->pipeline, RECIPE_SINK))
    return g_error_new(APP_ERROR, APP_ERROR_FAILED,
                       "Cannot write \"%s\": %s Nothing is left of it.", run->options->output,
                       g_error_matches(cause, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_NO_SPACE_LEFT)
                           ? "the disk is full."
                           : cause->message);
  if (is_from(message, run->pipeline, RECIPE_IN) || is_from(message, run->pipeline, RECIPE_FILE) ||
      is_from(message, run->pipeline, RECIPE_DECODER))
    return broken_error(run, GST_CLOCK_TIME_NONE, cause->message);
  return g_error_new(APP_ERROR, APP_ERROR_FAILED, "%s: %s", GST_MESSAGE_SRC_NAME(message),
                     cause->message);
}

static gboolean end_pad(GstElement *element, GstPad *pad, gpointer data)
{
  g_autoptr(GstPad) peer = gst_pad_get_peer(pad);

  if (peer)
    gst_pad_send_event(peer, gst_event_new_eos());
  return TRUE;
}

/* The file cannot be read on: what has been read is all there is. */
static void end_streams(Run *run)
{
  g_autoptr(GstElement) in = gst_bin_get_by_name(GST_BIN(run->pipeline), RECIPE_IN);

  gst_element_foreach_src_pad(in, end_pad, NULL);
}

static gboolean take_message(GstBus *bus, GstMessage *message, gpointer data)
{
  Run *run = data;
  GstClockTime time = GST_CLOCK_TIME_NONE;

  switch (GST_MESSAGE_TYPE(message)) {
  case GST_MESSAGE_EOS:
    g_main_loop_quit(run->loop);
    break;
  case GST_MESSAGE_ERROR: {
    GError *error = error_of(run, message);

    if (run->options->keep_going &&
        g_error_matches(error, TRANSCODE_ERROR, TRANSCODE_ERROR_BROKEN)) {
      g_error_free(error);
      end_streams(run);
    } else {
      stop(run, error);
    }
    break;
  }
  case GST_MESSAGE_APPLICATION:
    gst_structure_get_uint64(gst_message_get_structure(message), "time", &time);
    stop(run, broken_error(run, time, "a frame cannot be decoded"));
    break;
  default:
    break;
  }
  return G_SOURCE_CONTINUE;
}

static gboolean tick(gpointer data)
{
  Run *run = data;
  const GstClockTime duration = run->recipe->media->duration;
  GstClockTime position;
  const guint frames = chunks_progress(&run->chunks, &position);
  gdouble share = -1;

  if (frames > 0 && !run->said_backends) {
    run->said_backends = TRUE;
    progress_backends(&run->progress, run->pipeline);
  }
  if (GST_CLOCK_TIME_IS_VALID(duration) && GST_CLOCK_TIME_IS_VALID(position))
    share = (gdouble)position / (gdouble)duration;
  progress_show(&run->progress, share, frames, output_size(run->options->output));
  return G_SOURCE_CONTINUE;
}

static gboolean attach(Run *run, GError **error)
{
  g_autoptr(GstElement) file = gst_bin_get_by_name(GST_BIN(run->pipeline), RECIPE_FILE);
  g_autoptr(GstElement) in = gst_bin_get_by_name(GST_BIN(run->pipeline), RECIPE_IN);
  g_autoptr(GstElement) decoder = gst_bin_get_by_name(GST_BIN(run->pipeline), RECIPE_DECODER);
  g_autoptr(GstElement) frames = gst_bin_get_by_name(GST_BIN(run->pipeline), RECIPE_FRAMES);
  g_autoptr(GstElement) encoder = gst_bin_get_by_name(GST_BIN(run->pipeline), RECIPE_ENCODER);

  if (run->recipe->media->mp4)
    mp4_source_hide_edits(run->recipe->media->mp4, file);
  timeline_attach(run->recipe->media, in, run->recipe->container->is_quicktime);
  subtitles_attach(run->recipe->media, in);
  run->chunks.length = (GstClockTime)(run->options->chunk * GST_SECOND);
  run->chunks.start = run->chunks.end = GST_CLOCK_TIME_NONE;
  chunks_attach(&run->chunks, decoder, frames, encoder);
  run->decoding.on_break = report_break;
  run->decoding.data = run;
  decoding_attach(&run->decoding, run->recipe->media->video, decoder);
  return TRUE;
}

/* What the muxer cannot know from the streams. */
static void tell_muxer(const Recipe *recipe, GstElement *pipeline)
{
  g_autoptr(GstElement) muxer = gst_bin_get_by_name(GST_BIN(pipeline), RECIPE_MUX);

  if (recipe->media->toc && GST_IS_TOC_SETTER(muxer))
    gst_toc_setter_set_toc(GST_TOC_SETTER(muxer), recipe->media->toc);
  if (recipe->container->is_quicktime) {
    g_autoptr(GstPad) pad = gst_element_get_static_pad(muxer, "video_0");

    g_object_set(pad, "trak-timescale", recipe_time_scale(recipe), NULL);
  }
}

static gboolean play(Run *run)
{
  g_autoptr(GstBus) bus = gst_element_get_bus(run->pipeline);
  AppSignals signals;
  guint ticks;

  app_signals_install(&signals, interrupt, run);
  gst_bus_add_watch(bus, take_message, run);
  ticks = g_timeout_add(TICK_MS, tick, run);
  if (gst_element_set_state(run->pipeline, GST_STATE_PLAYING) != GST_STATE_CHANGE_FAILURE ||
      gst_bus_have_pending(bus))
    g_main_loop_run(run->loop);
  else
    stop(run, g_error_new(APP_ERROR, APP_ERROR_FAILED, "The pipeline does not start."));
  tick(run);
  chunks_stop(&run->chunks);
  gst_element_set_state(run->pipeline, GST_STATE_NULL);
  g_source_remove(ticks);
  gst_bus_remove_watch(bus);
  app_signals_remove(&signals);
  return run->error == NULL;
}

static GstElement *build(const GPtrArray *words, GError **error)
{
  g_autoptr(GPtrArray) ended = g_ptr_array_new();
  g_autoptr(GError) cause = NULL;
  GstElement *pipeline;

  for (guint i = 0; i < words->len; i++)
    g_ptr_array_add(ended, g_ptr_array_index(words, i));
  g_ptr_array_add(ended, NULL);
  pipeline = gst_parse_launchv((const gchar **)ended->pdata, &cause);
  if (!cause)
    return pipeline;
  g_set_error(error, APP_ERROR, APP_ERROR_FAILED, "The pipeline cannot be made: %s",
              cause->message);
  if (pipeline)
    gst_object_unref(pipeline);
  return NULL;
}

/* A tail that cannot be decoded shows only at the end. */
static gboolean is_whole(Run *run)
{
  GstClockTime first;

  if (decoding_result(&run->decoding, &first) == 0 || run->options->keep_going)
    return TRUE;
  stop(run, broken_error(run, first, "a frame cannot be decoded"));
  return FALSE;
}

/* What the muxer does not write. */
static gboolean complete(const Recipe *recipe, const Options *options, GError **error)
{
  g_autofree gchar *unfinished = output_unfinished(options->output);
  g_autoptr(GArray) leads = g_array_new(FALSE, FALSE, sizeof(guint64));
  GstVideoMasteringDisplayInfo mastering;
  GstVideoContentLightLevel light;
  Mp4Additions additions = {.leads = leads, .toc = recipe->media->toc};
  const MediaStream *video = recipe->media->video;
  GstClockTime lead = 0;

  if (!recipe->container->is_quicktime)
    return TRUE;
  g_array_append_val(leads, lead);
  for (guint i = 0; i < recipe->media->streams->len; i++) {
    const MediaStream *stream = g_ptr_array_index(recipe->media->streams, i);

    if (stream != video && recipe_keeps(recipe, stream)) {
      lead = timeline_lead(recipe->media, stream);
      g_array_append_val(leads, lead);
    }
  }
  if (gst_video_mastering_display_info_from_caps(&mastering, video->caps))
    additions.mastering = &mastering;
  if (gst_video_content_light_level_from_caps(&light, video->caps))
    additions.light = &light;
  return mp4_result_complete(unfinished, &additions, error);
}

static gboolean finish(Run *run, GError **error)
{
  GstClockTime position, first_broken;
  const guint frames = chunks_progress(&run->chunks, &position);
  const guint broken = decoding_result(&run->decoding, &first_broken);

  if (frames == 0) {
    g_set_error(error, TRANSCODE_ERROR, TRANSCODE_ERROR_BROKEN,
                "No frame of \"%s\" could be decoded.", run->recipe->media->path);
    return FALSE;
  }
  if (!complete(run->recipe, run->options, error))
    return FALSE;
  if (!output_commit(run->options->output, error))
    return FALSE;
  progress_end(&run->progress, run->options->output, frames, output_size(run->options->output),
               broken, first_broken);
  return TRUE;
}

gboolean run_whole(const Recipe *recipe, const Options *options, GError **error)
{
  g_autofree gchar *unfinished = output_unfinished(options->output);
  g_autoptr(GPtrArray) words = recipe_whole(recipe, unfinished);
  Run run = {.recipe = recipe, .options = options};
  gboolean good;

  run.pipeline = build(words, error);
  if (!run.pipeline)
    return FALSE;
  run.loop = g_main_loop_new(NULL, FALSE);
  attach(&run, error);
  tell_muxer(recipe, run.pipeline);
  progress_begin(&run.progress, recipe, options);
  good = play(&run) && is_whole(&run);
  if (good)
    good = finish(&run, error);
  else
    g_propagate_error(error, g_steal_pointer(&run.error));
  app_status_end();
  if (!good)
    output_discard(options->output);
  gst_object_unref(run.pipeline);
  chunks_clear(&run.chunks);
  decoding_clear(&run.decoding);
  g_main_loop_unref(run.loop);
  return good;
}
