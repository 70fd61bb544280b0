/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "run.h"

#include "chunks.h"
#include "decoding.h"
#include "failures.h"
#include "output.h"
#include "subtitles.h"
#include "timeline.h"

#include "apps/common/colours.h"
#include "apps/common/elements.h"
#include "apps/common/error.h"
#include "apps/common/signals.h"
#include "apps/common/terminal.h"

#define TICK_MS 100

/* Some demuxers never end. What one tick takes beyond its time was spent stopped, and not counted.
 */
#define STANDSTILL_TICKS (120 * 1000 / TICK_MS)

/* One run of a pipeline. */
typedef struct {
  const RunPlan *plan;
  const Recipe *recipe;
  const Options *options;
  GstElement *pipeline;
  GMainLoop *loop;
  Chunks chunks;
  Decoding decoding;
  TimelineEnd end;
  Progress *progress;
  gint joined; /* packets of parts sent to the muxer; atomic */
  gboolean backends_reported;
  gboolean gap_reported;
  guint64 moved; /* frames and bytes at the last tick */
  guint still;   /* ticks since they changed */
  GError *error; /* why the run stopped early */
} Run;

/* Stops the run. Only the first reason counts: later ones follow from it. */
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

/* Called from the decoder's thread. */
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

  return failure_broken(run->plan, frames, GST_CLOCK_TIME_IS_VALID(time) ? time : position, cause);
}

static gboolean end_pad(GstElement *element, GstPad *pad, gpointer data)
{
  g_autoptr(GstPad) peer = gst_pad_get_peer(pad);

  if (peer)
    gst_pad_send_event(peer, gst_event_new_eos());
  return TRUE;
}

/* Ends all streams where the file cannot be read further, so that the rest is written. */
static void end_streams(Run *run)
{
  g_autoptr(GstElement) in = gst_bin_get_by_name(GST_BIN(run->pipeline), RECIPE_IN);

  gst_element_foreach_src_pad(in, end_pad, NULL);
}

/* Demuxers of transport streams go on where packets are missing, and warn. */
static void take_warning(Run *run, GstMessage *message)
{
  g_autoptr(GError) warning = NULL;
  GError *error;

  gst_message_parse_warning(message, &warning, NULL);
  if (!g_error_matches(warning, GST_STREAM_ERROR, GST_STREAM_ERROR_DEMUX) ||
      !failure_is_from(message, run->pipeline, RECIPE_IN))
    return;
  error = broken_error(run, GST_CLOCK_TIME_NONE, warning->message);
  if (!run->options->keep_going) {
    stop(run, error);
    return;
  }
  if (!run->gap_reported)
    progress_warn(run->progress, "%s", error->message);
  run->gap_reported = TRUE;
  g_error_free(error);
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
    const guint frames = chunks_progress(&run->chunks, &time);
    GError *error = failure_of(run->plan, run->pipeline, message, frames, time);

    if (run->options->keep_going &&
        g_error_matches(error, TRANSCODE_ERROR, TRANSCODE_ERROR_BROKEN)) {
      g_error_free(error);
      end_streams(run);
    } else {
      stop(run, error);
    }
    break;
  }
  case GST_MESSAGE_WARNING:
    take_warning(run, message);
    break;
  case GST_MESSAGE_APPLICATION:
    if (gst_structure_get_uint64(gst_message_get_structure(message), "time", &time))
      stop(run, broken_error(run, time, "a frame cannot be decoded"));
    else
      stop(run, failure_to_negotiate(run->recipe));
    break;
  default:
    break;
  }
  return G_SOURCE_CONTINUE;
}

static gdouble share_done(const Run *run, GstClockTime position)
{
  const PartRange *range = run->plan->range;
  GstClockTime start = 0, end = run->recipe->media->duration;

  if (range && GST_CLOCK_TIME_IS_VALID(range->start))
    start = range->start;
  if (range && GST_CLOCK_TIME_IS_VALID(range->end))
    end = range->end;
  if (!GST_CLOCK_TIME_IS_VALID(end) || !GST_CLOCK_TIME_IS_VALID(position) || end <= start ||
      position < start)
    return -1;
  return (gdouble)(position - start) / (gdouble)(end - start);
}

static void check_standstill(Run *run, guint64 moved)
{
  run->still = moved == run->moved ? run->still + 1 : 0;
  run->moved = moved;
  if (run->still == STANDSTILL_TICKS)
    stop(run, broken_error(run, GST_CLOCK_TIME_NONE, "nothing has moved for two minutes"));
}

static gboolean tick(gpointer data)
{
  Run *run = data;
  const guint64 bytes = output_size(run->plan->output);
  GstClockTime position = GST_CLOCK_TIME_NONE;
  guint frames;

  if (run->plan->packets > 0) {
    frames = g_atomic_int_get(&run->joined);
    progress_show(run->progress, (gdouble)frames / run->plan->packets, frames, bytes);
    check_standstill(run, frames + bytes);
    return G_SOURCE_CONTINUE;
  }
  frames = chunks_progress(&run->chunks, &position);
  check_standstill(run, frames + bytes);

  if (frames > 0 && !run->backends_reported) {
    run->backends_reported = TRUE;
    progress_backends(run->progress, run->recipe, run->pipeline);
  }
  progress_show(run->progress, share_done(run, position), frames, bytes);
  return G_SOURCE_CONTINUE;
}

static GstElement *element(const Run *run, const gchar *name)
{
  return gst_bin_get_by_name(GST_BIN(run->pipeline), name);
}

/* Skips packets before the part, and those shown before its first keyframe. */
static GstPadProbeReturn skip_packet(GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
  const Run *run = data;
  const GstClockTime time = GST_BUFFER_PTS(GST_PAD_PROBE_INFO_BUFFER(info));

  return GST_CLOCK_TIME_IS_VALID(time) && time < run->plan->range->feed ? GST_PAD_PROBE_DROP
                                                                        : GST_PAD_PROBE_OK;
}

/* mp4mux would make the name of a track the title of the file. */
static GstPadProbeReturn drop_name(GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
  GstEvent *event = GST_PAD_PROBE_INFO_EVENT(info);
  GstTagList *tags;

  if (GST_EVENT_TYPE(event) != GST_EVENT_TAG)
    return GST_PAD_PROBE_OK;
  gst_event_parse_tag(event, &tags);
  if (gst_tag_list_get_scope(tags) != GST_TAG_SCOPE_STREAM)
    return GST_PAD_PROBE_OK;
  tags = gst_tag_list_copy(tags);
  gst_tag_list_remove_tag(tags, GST_TAG_TITLE);
  GST_PAD_PROBE_INFO_DATA(info) = gst_event_new_tag(tags);
  gst_event_unref(event);
  return GST_PAD_PROBE_OK;
}

/* Called after gst_parse_launchv() has tried to link the pad. */
static void take_pad(GstElement *in, GstPad *pad, gpointer data)
{
  const Run *run = data;
  g_autofree gchar *name = gst_pad_get_name(pad);

  if (run->recipe->container->is_quicktime)
    gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM, drop_name, NULL, NULL);
  if (run->plan->packets == 0 && g_str_equal(name, run->recipe->media->video->pad) &&
      !gst_pad_is_linked(pad))
    gst_element_post_message(run->pipeline,
                             gst_message_new_application(GST_OBJECT(run->pipeline),
                                                         gst_structure_new_empty("not-linked")));
}

static void attach_source(Run *run)
{
  const Media *media = run->recipe->media;
  g_autoptr(GstElement) file = element(run, RECIPE_FILE);
  g_autoptr(GstElement) in = element(run, RECIPE_IN);

  if (!in)
    return;
  media_prepare(media, file, in);
  g_signal_connect(in, "pad-added", G_CALLBACK(take_pad), run);
  timeline_attach(media, in, run->recipe->container->is_quicktime);
  subtitles_attach(media, in, run->recipe->container->is_quicktime);
}

static void attach_video(Run *run)
{
  const PartRange *range = run->plan->range;
  g_autoptr(GstElement) decoder = element(run, RECIPE_DECODER);
  g_autoptr(GstElement) frames = element(run, RECIPE_FRAMES);
  g_autoptr(GstElement) encoder = element(run, RECIPE_ENCODER);
  g_autoptr(GstPad) packets = gst_element_get_static_pad(decoder, "sink");
  g_autoptr(GstPad) frames_out = gst_element_get_static_pad(decoder, "src");

  if (range && GST_CLOCK_TIME_IS_VALID(range->feed))
    gst_pad_add_probe(packets, GST_PAD_PROBE_TYPE_BUFFER, skip_packet, run, NULL);
  run->chunks.length = (GstClockTime)(run->options->chunk * GST_SECOND);
  run->chunks.start = run->decoding.start = range ? range->start : GST_CLOCK_TIME_NONE;
  run->chunks.end = run->decoding.end = range ? range->end : GST_CLOCK_TIME_NONE;
  chunks_attach(&run->chunks, decoder, frames, encoder, run->recipe->encoder.words);
  run->decoding.on_break = report_break;
  run->decoding.data = run;
  decoding_attach(&run->decoding, run->recipe->media->video, decoder);
  app_complete_colours(frames_out);
}

/* Drops events that GDP cannot serialize, because they hold objects, before a part is written. */
static GstPadProbeReturn drop_unserializable(GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
  GstEvent *event = GST_PAD_PROBE_INFO_EVENT(info);
  const gchar *id;

  switch (GST_EVENT_TYPE(event)) {
  case GST_EVENT_STREAM_START:
    gst_event_parse_stream_start(event, &id);
    GST_PAD_PROBE_INFO_DATA(info) = gst_event_new_stream_start(id);
    gst_event_unref(event);
    return GST_PAD_PROBE_OK;
  case GST_EVENT_CAPS:
  case GST_EVENT_SEGMENT:
  case GST_EVENT_TAG:
  case GST_EVENT_EOS:
    return GST_PAD_PROBE_OK;
  default:
    return GST_PAD_PROBE_DROP;
  }
}

static GstPadProbeReturn count_joined(GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
  g_atomic_int_inc((gint *)data);
  return GST_PAD_PROBE_OK;
}

static gboolean are_same(const GstCaps *first, const GstCaps *second)
{
  static const gchar *const fields[] = {"codec_data", "width", "height", "profile"};
  const GstStructure *a = gst_caps_get_structure(first, 0), *b = gst_caps_get_structure(second, 0);

  for (guint i = 0; i < G_N_ELEMENTS(fields); i++) {
    const GValue *x = gst_structure_get_value(a, fields[i]);
    const GValue *y = gst_structure_get_value(b, fields[i]);

    if (!x != !y || (x && gst_value_compare(x, y) != GST_VALUE_EQUAL))
      return FALSE;
  }
  return TRUE;
}

/* Each part begins with its caps. Drops them if they match those of the part before, since a muxer
 * accepts no new caps once it has begun. */
static GstPadProbeReturn keep_caps(GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
  g_autoptr(GstCaps) known = gst_pad_get_current_caps(pad);
  GstCaps *caps;

  if (GST_EVENT_TYPE(GST_PAD_PROBE_INFO_EVENT(info)) != GST_EVENT_CAPS || !known)
    return GST_PAD_PROBE_OK;
  gst_event_parse_caps(GST_PAD_PROBE_INFO_EVENT(info), &caps);
  return are_same(known, caps) ? GST_PAD_PROBE_DROP : GST_PAD_PROBE_OK;
}

static void attach_joined(Run *run, GstElement *coded, GstPad *source)
{
  g_autoptr(GstPad) sink = gst_element_get_static_pad(coded, "sink");

  gst_pad_add_probe(source, GST_PAD_PROBE_TYPE_BUFFER, count_joined, &run->joined, NULL);
  gst_pad_add_probe(sink, GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM, keep_caps, NULL, NULL);
}

static void attach(Run *run)
{
  g_autoptr(GstElement) coded = element(run, RECIPE_CODED);
  g_autoptr(GstPad) pad = gst_element_get_static_pad(coded, "src");

  attach_source(run);
  if (run->plan->packets > 0)
    attach_joined(run, coded, pad);
  else
    attach_video(run);
  if (run->plan->range)
    gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM, drop_unserializable, NULL, NULL);
}

/* Sets on the muxer what it cannot know from the streams. */
static void attach_muxer(Run *run)
{
  g_autoptr(GstElement) muxer = element(run, RECIPE_MUX);

  if (muxer)
    timeline_watch_end(&run->end, muxer);
  if (muxer && run->recipe->media->toc && GST_IS_TOC_SETTER(muxer))
    gst_toc_setter_set_toc(GST_TOC_SETTER(muxer), run->recipe->media->toc);
  if (muxer && run->recipe->container->is_quicktime) {
    g_autoptr(GstPad) pad = gst_element_get_static_pad(muxer, "video_0");

    g_object_set(pad, "trak-timescale", recipe_time_scale(run->recipe), NULL);
  }
}

/* Runs the main loop. Signal handlers are installed before the file is created, so that no signal
 * leaves it behind. */
static void play(Run *run)
{
  g_autoptr(GstBus) bus = gst_element_get_bus(run->pipeline);
  GError *problem = NULL;
  AppSignals signals;
  guint ticks;

  app_signals_install(&signals, interrupt, run);
  gst_bus_add_watch(bus, take_message, run);
  ticks = g_timeout_add(TICK_MS, tick, run);
  if (!output_begin(run->plan->output, &problem))
    stop(run, problem);
  else if (gst_element_set_state(run->pipeline, GST_STATE_PLAYING) != GST_STATE_CHANGE_FAILURE ||
           gst_bus_have_pending(bus))
    g_main_loop_run(run->loop);
  else
    stop(run, g_error_new(APP_ERROR, APP_ERROR_FAILED, "The pipeline does not start."));
  tick(run);
  if (run->plan->packets == 0)
    chunks_stop(&run->chunks);
  gst_element_set_state(run->pipeline, GST_STATE_NULL);
  g_source_remove(ticks);
  gst_bus_remove_watch(bus);
  app_signals_remove(&signals);
}

/* The place of a file is no word for gst_parse_launchv(), which takes no name with a new line in it
 * and none that is not UTF-8. */
static gboolean is_place(const GPtrArray *words, guint index)
{
  const gchar *next = index + 1 < words->len ? g_ptr_array_index(words, index + 1) : "";

  return g_str_has_prefix(g_ptr_array_index(words, index), "location=") &&
         (g_str_equal(next, "name=" RECIPE_FILE) || g_str_equal(next, "name=" RECIPE_SINK));
}

static void set_place(GstElement *pipeline, const gchar *name, const gchar *path)
{
  g_autoptr(GstElement) element = gst_bin_get_by_name(GST_BIN(pipeline), name);

  if (element)
    g_object_set(element, "location", path, NULL);
}

static GstElement *build(const RunPlan *plan, GError **error)
{
  g_autoptr(GPtrArray) words = g_ptr_array_new();
  g_autoptr(GError) cause = NULL;
  g_autofree gchar *unfinished = output_unfinished(plan->output);
  GstElement *pipeline;

  for (guint i = 0; i < plan->words->len; i++) {
    if (!is_place(plan->words, i))
      g_ptr_array_add(words, g_ptr_array_index(plan->words, i));
  }
  g_ptr_array_add(words, NULL);
  pipeline = gst_parse_launchv((const gchar **)words->pdata, &cause);
  if (!cause) {
    set_place(pipeline, RECIPE_FILE, plan->recipe->media->path);
    set_place(pipeline, RECIPE_SINK, unfinished);
    return pipeline;
  }
  g_set_error(error, APP_ERROR, APP_ERROR_FAILED, "The pipeline cannot be made: %s",
              cause->message);
  if (pipeline)
    gst_object_unref(pipeline);
  return NULL;
}

/* Fills the result, and fails for a broken source: a tail that cannot be decoded shows only at the
 * end. */
static void check_result(Run *run, RunResult *result)
{
  GstClockTime ignored;

  result->end = run->end.time;
  if (run->plan->packets > 0) {
    result->frames = g_atomic_int_get(&run->joined);
    return;
  }
  result->frames = chunks_progress(&run->chunks, &ignored);
  result->broken = decoding_result(&run->decoding, &result->first_broken);
  if (result->broken > 0 && !run->options->keep_going)
    stop(run, broken_error(run, result->first_broken, "a frame cannot be decoded"));
  else if (result->frames == 0)
    stop(run, g_error_new(TRANSCODE_ERROR, TRANSCODE_ERROR_BROKEN,
                          "No frame of \"%s\" could be decoded.", run->recipe->media->path));
}

gboolean run_pipeline(const RunPlan *plan, Progress *progress, RunResult *result, GError **error)
{
  Run run = {.plan = plan, .recipe = plan->recipe, .options = plan->options, .progress = progress};

  *result = (RunResult){.first_broken = GST_CLOCK_TIME_NONE};
  run.pipeline = build(plan, error);
  if (!run.pipeline)
    return FALSE;
  run.loop = g_main_loop_new(NULL, FALSE);
  g_mutex_init(&run.end.lock);
  attach(&run);
  attach_muxer(&run);
  play(&run);
  if (!run.error)
    check_result(&run, result);
  app_status_end();
  gst_object_unref(run.pipeline);
  if (plan->packets == 0) {
    chunks_clear(&run.chunks);
    decoding_clear(&run.decoding);
  }
  g_main_loop_unref(run.loop);
  g_mutex_clear(&run.end.lock);
  if (!run.error)
    return TRUE;
  output_discard(plan->output);
  g_propagate_error(error, run.error);
  return FALSE;
}
