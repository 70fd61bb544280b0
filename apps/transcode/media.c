/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "media.h"

#include "boxes.h"
#include "subtitles.h"

#include "apps/common/elements.h"
#include "apps/common/error.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <gst/pbutils/pbutils.h>
#include <unistd.h>

/* Limit on the wait for the first packet of every stream. */
#define TIMEOUT (10 * GST_SECOND)

/* Within this time a transport stream tells all its programs (ETSI TS 101 154 wants 100 ms). */
#define LOOK (2 * GST_SECOND)

typedef struct {
  Media *media;
  GMutex lock;
  GCond changed;
  GstElement *pipeline;
  guint demuxers;  /* that may still find streams */
  gboolean is_far; /* LOOK has been read of a stream */
} Reader;

typedef struct {
  Reader *reader;
  MediaStream *stream;
} Watch;

static void free_stream(gpointer data)
{
  MediaStream *stream = data;

  g_free(stream->pad);
  gst_clear_caps(&stream->caps);
  g_clear_pointer(&stream->tags, gst_tag_list_unref);
  g_free(stream);
}

void media_free(Media *media)
{
  g_free(media->path);
  g_ptr_array_unref(media->streams);
  if (media->toc)
    gst_toc_unref(media->toc);
  g_clear_pointer(&media->mp4, mp4_source_free);
  g_clear_pointer(&media->mkv, mkv_source_free);
  programs_clear(&media->programs);
  g_free(media);
}

static MediaKind kind_of(const GstCaps *caps)
{
  const gchar *name = gst_structure_get_name(gst_caps_get_structure(caps, 0));

  /* Motion JPEG has caps of images. */
  if (g_str_has_prefix(name, "video/") || g_str_has_prefix(name, "image/"))
    return MEDIA_VIDEO;
  if (g_str_has_prefix(name, "audio/"))
    return MEDIA_AUDIO;
  if (g_str_has_prefix(name, "text/") || g_str_has_prefix(name, "subpicture/") ||
      g_str_has_prefix(name, "subtitle/") || g_str_has_prefix(name, "application/x-ss") ||
      g_str_has_prefix(name, "application/x-ass") || g_str_has_prefix(name, "closedcaption/") ||
      g_str_has_prefix(name, "application/x-subtitle"))
    return MEDIA_TEXT;
  return MEDIA_OTHER;
}

static void take_caps(MediaStream *stream, GstCaps *caps)
{
  gst_caps_replace(&stream->caps, caps);
  stream->kind = kind_of(caps);
}

static void take_tags(Media *media, MediaStream *stream, const GstTagList *tags)
{
  if (gst_tag_list_get_scope(tags) == GST_TAG_SCOPE_STREAM) {
    GstTagList *merged = gst_tag_list_merge(stream->tags, tags, GST_TAG_MERGE_REPLACE);

    g_clear_pointer(&stream->tags, gst_tag_list_unref);
    stream->tags = merged;
  }
  media->has_cover |= gst_tag_list_get_tag_size(tags, GST_TAG_IMAGE) > 0;
  media->attachments = MAX(media->attachments, gst_tag_list_get_tag_size(tags, GST_TAG_ATTACHMENT));
}

static void take_track(const Media *media, MediaStream *stream, const gchar *id)
{
  const MkvTrack *mkv = media->mkv ? mkv_source_track(media->mkv, id) : NULL;

  if (media->mp4)
    stream->track = mp4_source_track(media->mp4, id);
  if (stream->track) {
    stream->flags = stream->track->track.flags;
    stream->place =
        (guint)(stream->track - (const Mp4Track *)(const void *)media->mp4->tracks->data);
  }
  if (mkv) {
    stream->name = mkv->name;
    stream->flags = mkv->track.flags;
    stream->place = (guint)(mkv - (const MkvTrack *)(const void *)media->mkv->tracks->data);
  }
}

static void take_event(Watch *watch, GstEvent *event)
{
  Media *media = watch->reader->media;
  MediaStream *stream = watch->stream;
  GstCaps *caps;
  GstTagList *tags;
  const gchar *id;

  switch (GST_EVENT_TYPE(event)) {
  case GST_EVENT_STREAM_START:
    gst_event_parse_stream_start(event, &id);
    take_track(media, stream, id);
    break;
  case GST_EVENT_CAPS:
    gst_event_parse_caps(event, &caps);
    take_caps(stream, caps);
    break;
  case GST_EVENT_TAG:
    gst_event_parse_tag(event, &tags);
    take_tags(media, stream, tags);
    break;
  case GST_EVENT_TOC:
    if (!media->toc)
      gst_event_parse_toc(event, &media->toc, NULL);
    break;
  case GST_EVENT_SEGMENT:
    if (stream->segment.format == GST_FORMAT_UNDEFINED)
      gst_event_copy_segment(event, &stream->segment);
    break;
  default:
    break;
  }
}

static GstPadProbeReturn watch_stream(GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
  Watch *watch = data;

  g_mutex_lock(&watch->reader->lock);
  if (GST_PAD_PROBE_INFO_TYPE(info) & GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM) {
    take_event(watch, GST_PAD_PROBE_INFO_EVENT(info));
  } else {
    const GstClockTime time = GST_BUFFER_PTS(GST_PAD_PROBE_INFO_BUFFER(info));

    if (!GST_CLOCK_TIME_IS_VALID(watch->stream->first))
      watch->stream->first = time;
    else if (GST_CLOCK_TIME_IS_VALID(time) && time > watch->stream->first + LOOK)
      watch->reader->is_far = TRUE;
    g_cond_signal(&watch->reader->changed);
  }
  g_mutex_unlock(&watch->reader->lock);
  return GST_PAD_PROBE_OK;
}

static gboolean take_sticky_event(GstPad *pad, GstEvent **event, gpointer data)
{
  take_event(data, *event);
  return TRUE;
}

static void add_stream(GstElement *parsebin, GstPad *pad, gpointer data)
{
  Reader *reader = data;
  GstElement *sink = gst_element_factory_make("fakesink", NULL);
  g_autoptr(GstPad) sinkpad = gst_element_get_static_pad(sink, "sink");
  Watch *watch = g_new(Watch, 1);
  g_autoptr(GstCaps) caps = gst_pad_get_current_caps(pad);

  watch->reader = reader;
  watch->stream = g_new0(MediaStream, 1);
  watch->stream->pad = gst_pad_get_name(pad);
  watch->stream->first = GST_CLOCK_TIME_NONE;
  watch->stream->segment.format = GST_FORMAT_UNDEFINED;
  if (!caps)
    caps = gst_pad_query_caps(pad, NULL);
  if (caps && !gst_caps_is_any(caps) && !gst_caps_is_empty(caps))
    take_caps(watch->stream, caps);
  g_object_set(sink, "async", FALSE, "sync", FALSE, NULL);
  gst_bin_add(GST_BIN(reader->pipeline), sink);
  gst_element_sync_state_with_parent(sink);
  g_mutex_lock(&reader->lock);
  g_ptr_array_add(reader->media->streams, watch->stream);
  gst_pad_sticky_events_foreach(pad, take_sticky_event, watch);
  g_mutex_unlock(&reader->lock);
  gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM | GST_PAD_PROBE_TYPE_BUFFER,
                    watch_stream, watch, g_free);
  gst_pad_link(pad, sinkpad);
}

static void end_demuxer(GstElement *demuxer, gpointer data)
{
  Reader *reader = data;

  g_mutex_lock(&reader->lock);
  reader->demuxers--;
  g_cond_signal(&reader->changed);
  g_mutex_unlock(&reader->lock);
}

/* Some demuxers, such as that of FLV, find streams after packets of others. */
static void watch_demuxer(GstBin *parsebin, GstBin *owner, GstElement *element, gpointer data)
{
  Reader *reader = data;

  if (!gst_element_factory_list_is_type(gst_element_get_factory(element),
                                        GST_ELEMENT_FACTORY_TYPE_DEMUXER))
    return;
  g_mutex_lock(&reader->lock);
  reader->demuxers++;
  g_mutex_unlock(&reader->lock);
  g_signal_connect(element, "no-more-pads", G_CALLBACK(end_demuxer), reader);
}

/* Whether all programs and streams are found, and streams have had their first packet, except
 * subtitles, whose first may come at any time. */
static gboolean knows_all(const Reader *reader)
{
  for (guint i = 0; i < reader->media->streams->len; i++) {
    const MediaStream *stream = g_ptr_array_index(reader->media->streams, i);

    if ((stream->kind == MEDIA_VIDEO || stream->kind == MEDIA_AUDIO) &&
        !GST_CLOCK_TIME_IS_VALID(stream->first))
      return FALSE;
  }
  return reader->media->streams->len > 0 && reader->demuxers == 0 &&
         (reader->is_far || programs_complete(&reader->media->programs));
}

/* parsebin exposes first what needs no parser. */
static gint compare_places(gconstpointer a, gconstpointer b)
{
  const MediaStream *first = *(MediaStream *const *)a, *second = *(MediaStream *const *)b;

  return first->place < second->place ? -1 : first->place > second->place;
}

static void set_bus_error(GError **error, const gchar *path, GstMessage *message)
{
  g_autoptr(GError) cause = NULL;

  gst_message_parse_error(message, &cause, NULL);
  g_set_error(error, APP_ERROR, APP_ERROR_FAILED, "Cannot read \"%s\": %s", path, cause->message);
}

/* Called from the demuxer's thread, which posts what it reads of programs before their streams. */
static GstBusSyncReply take_program(GstBus *bus, GstMessage *message, gpointer data)
{
  Reader *reader = data;

  g_mutex_lock(&reader->lock);
  programs_take(&reader->media->programs, message);
  g_mutex_unlock(&reader->lock);
  return GST_BUS_PASS;
}

/* Reads until all streams are known, or the bus has an error, the end, or a missing plugin. */
static gboolean read_beginning(Reader *reader, GError **error)
{
  g_autoptr(GstBus) bus = gst_element_get_bus(reader->pipeline);
  const gint64 end = g_get_monotonic_time() + TIMEOUT / GST_USECOND;
  gboolean known = FALSE, failed = FALSE;

  gst_bus_set_sync_handler(bus, take_program, reader, NULL);
  gst_element_set_state(reader->pipeline, GST_STATE_PLAYING);
  while (!known && g_get_monotonic_time() < end) {
    GstMessage *message =
        gst_bus_pop_filtered(bus, GST_MESSAGE_ERROR | GST_MESSAGE_EOS | GST_MESSAGE_ELEMENT);
    const GstMessageType type = message ? GST_MESSAGE_TYPE(message) : 0;

    g_mutex_lock(&reader->lock);
    if (!message)
      g_cond_wait_until(&reader->changed, &reader->lock, g_get_monotonic_time() + 20000);
    known = knows_all(reader) || type == GST_MESSAGE_EOS;
    /* A truncated file can be read up to its error. */
    failed = type == GST_MESSAGE_ERROR && reader->media->streams->len == 0;
    if (failed)
      set_bus_error(error, reader->media->path, message);
    known = known || type == GST_MESSAGE_ERROR;
    g_mutex_unlock(&reader->lock);
    if (message)
      gst_message_unref(message);
  }
  return !failed;
}

void media_prepare(const Media *media, GstElement *filesrc, GstElement *parsebin)
{
  g_object_set(filesrc, "location", media->path, NULL);
  if (media->mp4)
    mp4_source_hide_edits(media->mp4, filesrc);
  if (media->keeps_ssa)
    subtitles_keep_ssa(parsebin);
  programs_choose(parsebin, media->program);
}

static gboolean read_streams(Media *media, GError **error)
{
  Reader reader = {.media = media};
  GstElement *source = app_element_make("filesrc", "source", NULL, error);
  GstElement *parsebin = app_element_make("parsebin", "in", "to read files", error);
  gint64 duration;
  gboolean good;

  if (!source || !parsebin)
    return FALSE;
  g_mutex_init(&reader.lock);
  g_cond_init(&reader.changed);
  reader.pipeline = gst_pipeline_new(NULL);
  gst_bin_add_many(GST_BIN(reader.pipeline), source, parsebin, NULL);
  gst_element_link(source, parsebin);
  media_prepare(media, source, parsebin);
  g_signal_connect(parsebin, "deep-element-added", G_CALLBACK(watch_demuxer), &reader);
  g_signal_connect(parsebin, "pad-added", G_CALLBACK(add_stream), &reader);
  good = read_beginning(&reader, error);
  if (gst_element_query_duration(reader.pipeline, GST_FORMAT_TIME, &duration) && duration > 0)
    media->duration = duration;
  if (media->mp4 && media->mp4->duration > 0)
    media->duration = media->mp4->duration;
  gst_element_set_state(reader.pipeline, GST_STATE_NULL);
  gst_object_unref(reader.pipeline);
  g_ptr_array_sort(media->streams, compare_places);
  g_mutex_clear(&reader.lock);
  g_cond_clear(&reader.changed);
  return good;
}

/* The first video stream; an image stream, which may be a cover, only if there is no other. */
static const MediaStream *find_video(const Media *media)
{
  const MediaStream *images = NULL;

  for (guint i = 0; i < media->streams->len; i++) {
    const MediaStream *stream = g_ptr_array_index(media->streams, i);
    const GstStructure *caps = gst_caps_get_structure(stream->caps, 0);

    if (stream->kind != MEDIA_VIDEO)
      continue;
    if (g_str_has_prefix(gst_structure_get_name(caps), "video/"))
      return stream;
    images = images ? images : stream;
  }
  return images;
}

static void look_at_container(Media *media)
{
  guint8 head[8] = {0};
  FILE *file = g_fopen(media->path, "rb");

  if (file && fread(head, 1, sizeof(head), file) == sizeof(head)) {
    if (memcmp(head, "\x1a\x45\xdf\xa3", 4) == 0)
      media->mkv = mkv_source_read(media->path);
    /* "ftyp", or the first box of an old QuickTime file. */
    if (g_ascii_isalpha(head[4]) && g_ascii_isalpha(head[7]))
      media->mp4 = mp4_source_read(media->path);
  }
  if (file)
    fclose(file);
  if (media->mkv)
    media->missing = media->mkv->missing;
  else if (media->mp4)
    media->missing = box_missing_bytes(media->path);
  if (media->mp4 && media->mp4->toc)
    media->toc = gst_toc_ref(media->mp4->toc);
}

static gboolean has_few_tracks(const Media *media, GError **error)
{
  if ((!media->mkv || media->mkv->tracks->len <= MOST_TRACKS) &&
      (!media->mp4 || media->mp4->tracks->len <= MOST_TRACKS))
    return TRUE;
  g_set_error(error, APP_ERROR, APP_ERROR_FAILED,
              "Cannot read \"%s\": it has more than %d tracks, which no film has.", media->path,
              MOST_TRACKS);
  return FALSE;
}

/* The demuxer takes the first program that it finds, if none is chosen. */
static gboolean check_program(Media *media, GError **error)
{
  const Programs *programs = &media->programs;
  g_autofree gchar *all = programs_describe(programs);

  if (media->program == 0 && programs->found->len > 1)
    media->program = g_array_index(programs->found, guint, 0);
  if (media->program == 0 || programs_have(programs, media->program))
    return TRUE;
  g_clear_error(error);
  if (programs->found->len > 0)
    g_set_error(error, APP_ERROR, APP_ERROR_USAGE, "\"%s\" has no program %u, only %s.",
                media->path, media->program, all);
  else
    g_set_error(error, APP_ERROR, APP_ERROR_USAGE,
                "\"%s\" has no program %u: only MPEG transport streams have programs.", media->path,
                media->program);
  return FALSE;
}

static void set_no_video(const Media *media, GError **error)
{
  g_autofree gchar *all = programs_describe(&media->programs);

  if (media->program > 0)
    g_set_error(error, APP_ERROR, APP_ERROR_FAILED,
                "There is no video in program %u of \"%s\". Choose one of %s with --program.",
                media->program, media->path, all);
  else
    g_set_error(error, APP_ERROR, APP_ERROR_FAILED, "There is no video in \"%s\".", media->path);
}

Media *media_open(const gchar *path, gboolean keeps_ssa, guint program, GError **error)
{
  g_autoptr(Media) media = g_new0(Media, 1);
  GStatBuf status;
  gboolean is_read;

  media->path = g_strdup(path);
  media->keeps_ssa = keeps_ssa;
  media->program = program;
  programs_init(&media->programs);
  media->streams = g_ptr_array_new_with_free_func(free_stream);
  media->duration = GST_CLOCK_TIME_NONE;
  if (g_stat(path, &status) != 0 || g_access(path, R_OK) != 0) {
    g_set_error(error, APP_ERROR, APP_ERROR_FAILED, "Cannot read \"%s\": %s.", path,
                g_strerror(errno));
    return NULL;
  }
  if (!S_ISREG(status.st_mode)) {
    g_set_error(error, APP_ERROR, APP_ERROR_USAGE, "\"%s\" is not a file.", path);
    return NULL;
  }
  look_at_container(media);
  if (!has_few_tracks(media, error))
    return NULL;
  is_read = read_streams(media, error);
  if (!check_program(media, error) || !is_read)
    return NULL;
  if (media->streams->len == 0) {
    g_set_error(error, APP_ERROR, APP_ERROR_FAILED, "Cannot read \"%s\": no stream is found in it.",
                path);
    return NULL;
  }
  media->video = find_video(media);
  if (!media->video) {
    set_no_video(media, error);
    return NULL;
  }
  if (g_str_has_suffix(gst_structure_get_name(gst_caps_get_structure(media->video->caps, 0)),
                       "gif")) {
    g_set_error(
        error, APP_ERROR, APP_ERROR_FAILED,
        "Cannot read \"%s\": GStreamer repeats GIF pictures without an end. Make a video of "
        "it first: ffmpeg -i IN.gif -pix_fmt yuv420p OUT.mkv",
        path);
    return NULL;
  }
  if (!gst_caps_is_fixed(media->video->caps)) {
    g_set_error(error, APP_ERROR, APP_ERROR_FAILED,
                "Cannot read \"%s\": no picture can be decoded in it.", path);
    return NULL;
  }
  return g_steal_pointer(&media);
}

gchar *media_describe(const Media *media, guint index)
{
  static const gchar *const kinds[] = {"video", "audio", "subtitle", "other"};
  const MediaStream *stream = g_ptr_array_index(media->streams, index);
  g_autofree gchar *codec = gst_pb_utils_get_codec_description(stream->caps);
  gchar *language = NULL, *text;

  if (stream->tags)
    gst_tag_list_get_string(stream->tags, GST_TAG_LANGUAGE_CODE, &language);
  if (g_strcmp0(language, "und") == 0)
    g_clear_pointer(&language, g_free);
  text = g_strdup_printf("%s stream %u (%s%s%s)", kinds[stream->kind], index + 1, codec,
                         language ? ", " : "", language ? language : "");
  g_free(language);
  return text;
}

gchar *media_describe_damage(const Media *media)
{
  if (media->missing > 0)
    return g_strdup_printf("\"%s\" is broken: %" G_GUINT64_FORMAT " bytes are missing at its end.",
                           media->path, media->missing);
  if (media->mkv && media->mkv->damage > 0)
    return g_strdup_printf("\"%s\" is broken at its byte %" G_GUINT64_FORMAT ".", media->path,
                           media->mkv->damage);
  return NULL;
}
