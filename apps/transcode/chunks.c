/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "chunks.h"

gboolean chunks_start_at(GstClockTime keyframe, GstClockTime last, GstClockTime length)
{
  return GST_CLOCK_TIME_IS_VALID(keyframe) &&
         (!GST_CLOCK_TIME_IS_VALID(last) || keyframe >= last + length);
}

static GstPadProbeReturn note_keyframe(GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
  Chunks *chunks = data;
  GstBuffer *packet = GST_PAD_PROBE_INFO_BUFFER(info);
  const GstClockTime time = GST_BUFFER_PTS(packet);

  if (GST_BUFFER_FLAG_IS_SET(packet, GST_BUFFER_FLAG_DELTA_UNIT) ||
      (GST_CLOCK_TIME_IS_VALID(chunks->start) && time < chunks->start))
    return GST_PAD_PROBE_OK;
  g_mutex_lock(&chunks->lock);
  if (chunks_start_at(time, chunks->last, chunks->length)) {
    /* The first chunk needs no restart. */
    if (GST_CLOCK_TIME_IS_VALID(chunks->last))
      g_queue_push_tail(&chunks->starts, g_memdup2(&time, sizeof(time)));
    chunks->last = time;
  }
  g_mutex_unlock(&chunks->lock);
  return GST_PAD_PROBE_OK;
}

/* TRUE if a chunk starts with the frame of this time; removes it from the queue. */
static gboolean takes_start(Chunks *chunks, GstClockTime time)
{
  gboolean starts = FALSE;

  g_mutex_lock(&chunks->lock);
  while (!g_queue_is_empty(&chunks->starts) &&
         *(GstClockTime *)g_queue_peek_head(&chunks->starts) <= time) {
    g_free(g_queue_pop_head(&chunks->starts));
    starts = TRUE;
  }
  g_mutex_unlock(&chunks->lock);
  return starts;
}

/* Whether the caps of `event` are those that the parser has already: on getting them again it would
 * insert the encoder's headers into the stream. */
static gboolean is_known(GstPad *pad, GstEvent *event)
{
  g_autoptr(GstPad) peer = gst_pad_get_peer(pad);
  g_autoptr(GstCaps) known = peer ? gst_pad_get_current_caps(peer) : NULL;
  GstCaps *caps;

  gst_event_parse_caps(event, &caps);
  return known && gst_caps_is_equal(known, caps);
}

/* Hides a restart of the encoder from downstream: its EOS, and the caps that it repeats. */
static GstPadProbeReturn hide_restart(GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
  const Chunks *chunks = data;
  GstEvent *event = GST_PAD_PROBE_INFO_EVENT(info);

  switch (GST_EVENT_TYPE(event)) {
  case GST_EVENT_EOS:
    return chunks->draining ? GST_PAD_PROBE_DROP : GST_PAD_PROBE_OK;
  case GST_EVENT_CAPS:
    return is_known(pad, event) ? GST_PAD_PROBE_DROP : GST_PAD_PROBE_OK;
  default:
    return GST_PAD_PROBE_OK;
  }
}

/* A starting encoder sends an allocation query, whose answer would wait behind data that the muxer
 * cannot write yet. Nobody offers memory for coded video, so the query is dropped. */
static GstPadProbeReturn refuse_allocation(GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
  return GST_QUERY_TYPE(GST_PAD_PROBE_INFO_QUERY(info)) == GST_QUERY_ALLOCATION ? GST_PAD_PROBE_DROP
                                                                                : GST_PAD_PROBE_OK;
}

static void probe(GstElement *element, const gchar *pad_name, GstPadProbeType type,
                  GstPadProbeCallback callback, Chunks *chunks)
{
  g_autoptr(GstPad) pad = gst_element_get_static_pad(element, pad_name);

  gst_pad_add_probe(pad, type, callback, chunks, NULL);
}

static void watch_encoder(Chunks *chunks)
{
  probe(chunks->encoder, "src", GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM, hide_restart, chunks);
  probe(chunks->encoder, "src", GST_PAD_PROBE_TYPE_QUERY_DOWNSTREAM, refuse_allocation, chunks);
}

/* Replaces the encoder by a new one: some keep state that READY does not clear. */
static void replace_encoder(Chunks *chunks, GstPad *source)
{
  g_autoptr(GstElement) bin = GST_ELEMENT(gst_element_get_parent(chunks->encoder));
  g_autoptr(GstPad) old_source = gst_element_get_static_pad(chunks->encoder, "src");
  g_autoptr(GstPad) target = gst_pad_get_peer(old_source);
  GstElement *encoder = gst_parse_launchv((const gchar **)chunks->words, NULL);
  g_autofree gchar *name = gst_element_get_name(chunks->encoder);
  g_autoptr(GstPad) new_sink = gst_element_get_static_pad(encoder, "sink");
  g_autoptr(GstPad) new_source = gst_element_get_static_pad(encoder, "src");

  gst_element_set_state(chunks->encoder, GST_STATE_NULL);
  gst_bin_remove(GST_BIN(bin), chunks->encoder);
  gst_object_unref(chunks->encoder);
  gst_object_set_name(GST_OBJECT(encoder), name);
  gst_bin_add(GST_BIN(bin), encoder);
  chunks->encoder = gst_object_ref(encoder);
  watch_encoder(chunks);
  gst_pad_link(new_source, target);
  gst_element_sync_state_with_parent(encoder);
  gst_pad_link(source, new_sink);
}

/* Drains the encoder, and replaces it. The new one gets the sticky events of the stream when it is
 * linked. */
static void restart(Chunks *chunks, GstPad *source)
{
  g_autoptr(GstPad) sink = gst_element_get_static_pad(chunks->encoder, "sink");

  g_mutex_lock(&chunks->lock);
  if (!chunks->stopping) {
    chunks->draining = TRUE;
    gst_pad_send_event(sink, gst_event_new_eos());
    chunks->draining = FALSE;
    replace_encoder(chunks, source);
  }
  g_mutex_unlock(&chunks->lock);
}

static GstPadProbeReturn pass_frame(GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
  Chunks *chunks = data;
  const GstClockTime time = GST_BUFFER_PTS(GST_PAD_PROBE_INFO_BUFFER(info));
  const gboolean starts = takes_start(chunks, time);

  if (GST_CLOCK_TIME_IS_VALID(chunks->end) && GST_CLOCK_TIME_IS_VALID(time) &&
      time >= chunks->end) {
    if (!chunks->ended) {
      g_autoptr(GstPad) sink = gst_element_get_static_pad(chunks->encoder, "sink");

      chunks->ended = TRUE;
      gst_pad_send_event(sink, gst_event_new_eos());
    }
    return GST_PAD_PROBE_DROP;
  }
  if (GST_CLOCK_TIME_IS_VALID(chunks->start) && time < chunks->start)
    return GST_PAD_PROBE_DROP;
  if (starts && g_atomic_int_get(&chunks->frames) > 0)
    restart(chunks, pad);
  g_atomic_int_inc(&chunks->frames);
  g_mutex_lock(&chunks->lock);
  chunks->position = time;
  g_mutex_unlock(&chunks->lock);
  return GST_PAD_PROBE_OK;
}

void chunks_attach(Chunks *chunks, GstElement *decoder, GstElement *frames, GstElement *encoder,
                   gchar **words)
{
  g_mutex_init(&chunks->lock);
  g_queue_init(&chunks->starts);
  chunks->last = GST_CLOCK_TIME_NONE;
  chunks->position = GST_CLOCK_TIME_NONE;
  chunks->encoder = gst_object_ref(encoder);
  chunks->words = words;
  probe(decoder, "sink", GST_PAD_PROBE_TYPE_BUFFER, note_keyframe, chunks);
  probe(frames, "src", GST_PAD_PROBE_TYPE_BUFFER, pass_frame, chunks);
  watch_encoder(chunks);
}

void chunks_stop(Chunks *chunks)
{
  g_mutex_lock(&chunks->lock);
  chunks->stopping = TRUE;
  g_mutex_unlock(&chunks->lock);
}

void chunks_clear(Chunks *chunks)
{
  g_queue_clear_full(&chunks->starts, g_free);
  g_clear_object(&chunks->encoder);
  g_mutex_clear(&chunks->lock);
}

guint chunks_progress(Chunks *chunks, GstClockTime *position)
{
  g_mutex_lock(&chunks->lock);
  *position = chunks->position;
  g_mutex_unlock(&chunks->lock);
  return g_atomic_int_get(&chunks->frames);
}
