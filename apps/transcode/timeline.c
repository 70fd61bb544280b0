/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "timeline.h"

/* How long before its segment a stream's first packet lies. */
static GstClockTime lead_of(const MediaStream *stream)
{
  return stream->segment.format == GST_FORMAT_TIME && GST_CLOCK_TIME_IS_VALID(stream->first) &&
                 stream->first < stream->segment.start
             ? stream->segment.start - stream->first
             : 0;
}

static GstClockTime longest_lead(const Media *media)
{
  GstClockTime longest = 0;

  for (guint i = 0; i < media->streams->len; i++) {
    const MediaStream *stream = g_ptr_array_index(media->streams, i);

    if (stream != media->video)
      longest = MAX(longest, lead_of(stream));
  }
  return longest;
}

typedef struct {
  const Media *media;
  const MediaStream *stream;
} Move;

/* Frames of the video before its segment are to be decoded, but not to be seen: those go. */
static GstPadProbeReturn move_segment(GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
  const Move *move = data;
  const GstSegment *old;
  GstSegment moved;
  GstEvent *event = GST_PAD_PROBE_INFO_EVENT(info);

  if (GST_EVENT_TYPE(event) != GST_EVENT_SEGMENT)
    return GST_PAD_PROBE_OK;
  gst_event_parse_segment(event, &old);
  if (old->format != GST_FORMAT_TIME)
    return GST_PAD_PROBE_OK;
  moved = *old;
  moved.base += longest_lead(move->media);
  if (move->stream != move->media->video) {
    const GstClockTime lead = lead_of(move->stream);

    moved.start -= lead;
    moved.base -= lead;
    moved.time = moved.time > lead ? moved.time - lead : 0;
    moved.position = moved.start;
    moved.stop = GST_CLOCK_TIME_NONE;
  }
  GST_PAD_PROBE_INFO_DATA(info) = gst_event_new_segment(&moved);
  gst_event_set_seqnum(GST_PAD_PROBE_INFO_EVENT(info), gst_event_get_seqnum(event));
  gst_event_unref(event);
  return GST_PAD_PROBE_OK;
}

static void attach_to(GstElement *parsebin, GstPad *pad, gpointer data)
{
  const Media *media = data;

  for (guint i = 0; i < media->streams->len; i++) {
    const MediaStream *stream = g_ptr_array_index(media->streams, i);
    Move *move;

    if (!g_str_equal(stream->pad, GST_OBJECT_NAME(pad)))
      continue;
    move = g_new(Move, 1);
    *move = (Move){media, stream};
    gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM, move_segment, move, g_free);
  }
}

void timeline_attach(const Media *media, GstElement *parsebin)
{
  g_signal_connect(parsebin, "pad-added", G_CALLBACK(attach_to), (gpointer)media);
}
