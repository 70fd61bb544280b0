/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "timeline.h"

/* The time at which PTS 0 of the stream is played, which may be negative. For Matroska without the
 * segment: its times need none, and the demuxer starts with one that it corrects later. */
static gint64 zero_of(const Media *media, const MediaStream *stream, const GstSegment *segment)
{
  if (stream->track && stream->track->plain)
    return (gint64)stream->track->delay - (gint64)stream->track->lead;
  if (media->mkv || segment->format != GST_FORMAT_TIME)
    return 0;
  return (gint64)segment->base - (gint64)segment->start;
}

static gint64 first_time(const Media *media, const MediaStream *stream)
{
  return (gint64)stream->first + zero_of(media, stream, &stream->segment);
}

GstClockTime timeline_lead(const Media *media, const MediaStream *stream)
{
  return stream != media->video && GST_CLOCK_TIME_IS_VALID(stream->first)
             ? (GstClockTime)MAX(-first_time(media, stream), 0)
             : 0;
}

static GstClockTimeDiff shift_for(const Media *media, gboolean with_leads)
{
  gint64 earliest = G_MAXINT64;

  for (guint i = 0; i < media->streams->len; i++) {
    const MediaStream *stream = g_ptr_array_index(media->streams, i);

    if (GST_CLOCK_TIME_IS_VALID(stream->first) &&
        (stream->kind == MEDIA_VIDEO || stream->kind == MEDIA_AUDIO))
      earliest = MIN(earliest, first_time(media, stream));
  }
  if (earliest == G_MAXINT64 || (with_leads ? earliest < 0 : earliest > 0))
    return 0;
  return -earliest;
}

typedef struct {
  const Media *media;
  const MediaStream *stream;
  gboolean with_leads;
} Move;

/* Sets the range to play: of the video, frames outside it are dropped; of other streams, nothing
 * is. */
static void set_range(const Move *move, GstSegment *segment, gint64 zero)
{
  const Mp4Track *track = move->stream->track;

  if (move->stream != move->media->video) {
    segment->start = zero < 0 ? (guint64)-zero : 0;
    segment->stop = GST_CLOCK_TIME_NONE;
  } else if (track && track->plain) {
    segment->start = track->lead;
    segment->stop = track->played > 0 ? track->lead + track->played : GST_CLOCK_TIME_NONE;
  } else if (move->media->mkv) {
    segment->start = 0;
  }
}

static GstPadProbeReturn move_segment(GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
  const Move *move = data;
  GstEvent *event = GST_PAD_PROBE_INFO_EVENT(info);
  GstSegment segment;
  gint64 zero;

  if (GST_EVENT_TYPE(event) != GST_EVENT_SEGMENT)
    return GST_PAD_PROBE_OK;
  gst_event_copy_segment(event, &segment);
  if (segment.format != GST_FORMAT_TIME)
    return GST_PAD_PROBE_OK;
  zero = zero_of(move->media, move->stream, &segment) + shift_for(move->media, move->with_leads);
  if (move->with_leads)
    zero += (gint64)timeline_lead(move->media, move->stream);
  set_range(move, &segment, zero);
  segment.base = (guint64)MAX(zero + (gint64)segment.start, 0);
  segment.time = segment.position = segment.start;
  GST_PAD_PROBE_INFO_DATA(info) = gst_event_new_segment(&segment);
  gst_event_set_seqnum(GST_PAD_PROBE_INFO_EVENT(info), gst_event_get_seqnum(event));
  gst_event_unref(event);
  return GST_PAD_PROBE_OK;
}

static void attach_to(GstElement *parsebin, GstPad *pad, gpointer data)
{
  const Move *whole = data;

  for (guint i = 0; i < whole->media->streams->len; i++) {
    const MediaStream *stream = g_ptr_array_index(whole->media->streams, i);

    if (g_str_equal(stream->pad, GST_OBJECT_NAME(pad))) {
      Move *move = g_memdup2(whole, sizeof(*whole));

      move->stream = stream;
      gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM, move_segment, move, g_free);
    }
  }
}

static void free_move(gpointer data, GClosure *closure)
{
  g_free(data);
}

void timeline_attach(const Media *media, GstElement *parsebin, gboolean with_leads)
{
  Move *move = g_new0(Move, 1);

  move->media = media;
  move->with_leads = with_leads;
  g_signal_connect_data(parsebin, "pad-added", G_CALLBACK(attach_to), move, free_move, 0);
}

static GstPadProbeReturn watch_packet(GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
  TimelineEnd *end = data;
  const GstBuffer *packet = GST_PAD_PROBE_INFO_BUFFER(info);
  g_autoptr(GstEvent) event = gst_pad_get_sticky_event(pad, GST_EVENT_SEGMENT, 0);
  const GstSegment *segment;
  GstClockTime time = GST_CLOCK_TIME_NONE;

  if (event) {
    gst_event_parse_segment(event, &segment);
    time = gst_segment_to_running_time(segment, GST_FORMAT_TIME, GST_BUFFER_PTS(packet));
  }
  if (!GST_CLOCK_TIME_IS_VALID(time))
    return GST_PAD_PROBE_OK;
  if (GST_BUFFER_DURATION_IS_VALID(packet))
    time += GST_BUFFER_DURATION(packet);
  g_mutex_lock(&end->lock);
  end->time = MAX(end->time, time);
  g_mutex_unlock(&end->lock);
  return GST_PAD_PROBE_OK;
}

static gboolean watch_pad(GstElement *muxer, GstPad *pad, gpointer data)
{
  gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_BUFFER, watch_packet, data, NULL);
  return TRUE;
}

void timeline_watch_end(TimelineEnd *end, GstElement *muxer)
{
  gst_element_foreach_sink_pad(muxer, watch_pad, end);
}
