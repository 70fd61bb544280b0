/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "decoding.h"

#include "pictures.h"

static gint compare_times(gconstpointer a, gconstpointer b, gpointer data)
{
  const GstClockTime *first = a, *second = b;

  return *first < *second ? -1 : *first > *second;
}

static GstPadProbeReturn take_packet(GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
  Decoding *decoding = data;
  const GstClockTime time = GST_BUFFER_PTS(GST_PAD_PROBE_INFO_BUFFER(info));

  if (!GST_CLOCK_TIME_IS_VALID(time))
    return GST_PAD_PROBE_OK;
  g_mutex_lock(&decoding->lock);
  /* Frames outside the segment are not shown. */
  if (time >= decoding->segment.start && time < decoding->segment.stop)
    g_queue_insert_sorted(&decoding->waiting, g_memdup2(&time, sizeof(time)), compare_times, NULL);
  g_mutex_unlock(&decoding->lock);
  return GST_PAD_PROBE_OK;
}

static GstPadProbeReturn take_segment(GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
  Decoding *decoding = data;

  if (GST_EVENT_TYPE(GST_PAD_PROBE_INFO_EVENT(info)) == GST_EVENT_SEGMENT) {
    g_mutex_lock(&decoding->lock);
    gst_event_copy_segment(GST_PAD_PROBE_INFO_EVENT(info), &decoding->segment);
    g_mutex_unlock(&decoding->lock);
  }
  return GST_PAD_PROBE_OK;
}

static gboolean counts(const Decoding *decoding, GstClockTime time)
{
  return (!GST_CLOCK_TIME_IS_VALID(decoding->start) || time >= decoding->start) &&
         (!GST_CLOCK_TIME_IS_VALID(decoding->end) || time < decoding->end);
}

/* With the lock held. */
static gboolean is_first_break(Decoding *decoding, GstClockTime time)
{
  if (!counts(decoding, time) || decoding->broken++ > 0)
    return FALSE;
  decoding->first_broken = time;
  return TRUE;
}

/* Frames come in the order of their PTS, so packets with an earlier PTS that still wait are missing
 * frames. Not before the first frame: leading frames that need an earlier keyframe are never
 * decoded. */
static GstPadProbeReturn take_frame(GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
  Decoding *decoding = data;
  const GstBuffer *frame = GST_PAD_PROBE_INFO_BUFFER(info);
  const GstClockTime time = GST_BUFFER_PTS(frame);
  gboolean breaks = FALSE;
  GstClockTime *head;

  g_mutex_lock(&decoding->lock);
  while (GST_CLOCK_TIME_IS_VALID(time) && (head = g_queue_peek_head(&decoding->waiting)) &&
         *head <= time) {
    if (*head < time && decoding->frames > 0 && decoding->counts_missing)
      breaks |= is_first_break(decoding, *head);
    g_free(g_queue_pop_head(&decoding->waiting));
  }
  if (GST_BUFFER_FLAG_IS_SET(frame, GST_BUFFER_FLAG_CORRUPTED))
    breaks |= is_first_break(decoding, time);
  decoding->frames++;
  g_mutex_unlock(&decoding->lock);
  if (breaks)
    decoding->on_break(decoding->first_broken, decoding->data);
  return GST_PAD_PROBE_OK;
}

void decoding_attach(Decoding *decoding, const MediaStream *video, GstElement *decoder)
{
  const GstStructure *caps = gst_caps_get_structure(video->caps, 0);
  g_autoptr(GstPad) sink = gst_element_get_static_pad(decoder, "sink");
  g_autoptr(GstPad) source = gst_element_get_static_pad(decoder, "src");

  g_mutex_init(&decoding->lock);
  g_queue_init(&decoding->waiting);
  gst_segment_init(&decoding->segment, GST_FORMAT_TIME);
  decoding->first_broken = GST_CLOCK_TIME_NONE;
  /* Not for interlaced video, in which a packet may be a field, nor for VP8, which has packets
   * without a shown frame. */
  decoding->counts_missing =
      !pictures_of(video->caps).interlaced && !gst_structure_has_name(caps, "video/x-vp8");
  gst_pad_add_probe(sink, GST_PAD_PROBE_TYPE_BUFFER, take_packet, decoding, NULL);
  gst_pad_add_probe(sink, GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM, take_segment, decoding, NULL);
  gst_pad_add_probe(source, GST_PAD_PROBE_TYPE_BUFFER, take_frame, decoding, NULL);
}

guint decoding_result(Decoding *decoding, GstClockTime *first_broken)
{
  guint broken;

  g_mutex_lock(&decoding->lock);
  for (const GList *at = decoding->waiting.head; at && decoding->counts_missing; at = at->next)
    is_first_break(decoding, *(GstClockTime *)at->data);
  g_queue_clear_full(&decoding->waiting, g_free);
  broken = decoding->broken;
  *first_broken = decoding->first_broken;
  g_mutex_unlock(&decoding->lock);
  return broken;
}

void decoding_clear(Decoding *decoding)
{
  g_queue_clear_full(&decoding->waiting, g_free);
  g_mutex_clear(&decoding->lock);
}
