/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "index.h"

#include "chunks.h"

#include "apps/common/error.h"

/* Some demuxers never end. */
#define STANDSTILL_SECONDS 120

/* State of reading. */
typedef struct {
  Index *index;
  GstClockTime chunk;
  gboolean timeless; /* a keyframe had no time */
  gint packets;      /* that have come; atomic */
} Reader;

static GstPadProbeReturn take_packet(GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
  Reader *reader = data;
  Index *index = reader->index;
  GstBuffer *packet = GST_PAD_PROBE_INFO_BUFFER(info);
  const GstClockTime time = GST_BUFFER_PTS(packet);
  const guint64 facts[] = {GUINT64_TO_LE(time), GUINT64_TO_LE(gst_buffer_get_size(packet))};

  g_checksum_update(index->checksum, (const guchar *)facts, sizeof(facts));
  g_atomic_int_inc(&reader->packets);
  if (GST_BUFFER_FLAG_IS_SET(packet, GST_BUFFER_FLAG_DELTA_UNIT))
    return GST_PAD_PROBE_OK;
  if (!GST_CLOCK_TIME_IS_VALID(time)) {
    reader->timeless = TRUE;
    return GST_PAD_PROBE_OK;
  }
  g_array_append_val(index->keyframes, time);
  if (chunks_start_at(time,
                      index->starts->len > 0
                          ? g_array_index(index->starts, GstClockTime, index->starts->len - 1)
                          : GST_CLOCK_TIME_NONE,
                      reader->chunk))
    g_array_append_val(index->starts, time);
  return GST_PAD_PROBE_OK;
}

/* Links only the pad of the video. */
static void link_video(GstElement *parsebin, GstPad *pad, gpointer data)
{
  GstPad *sink = data;

  if (g_strcmp0(g_object_get_data(G_OBJECT(sink), "of"), GST_OBJECT_NAME(pad)) == 0)
    gst_pad_link(pad, sink);
}

/* Reads to the end, to the first error, or until nothing has come for two minutes: a broken tail is
 * not an error here. */
static void read_all(const Media *media, Reader *reader)
{
  GstElement *pipeline = gst_pipeline_new(NULL);
  GstElement *source = gst_element_factory_make("filesrc", NULL);
  GstElement *parsebin = gst_element_factory_make("parsebin", NULL);
  GstElement *sink = gst_element_factory_make("fakesink", NULL);
  g_autoptr(GstPad) pad = gst_element_get_static_pad(sink, "sink");
  g_autoptr(GstBus) bus = gst_element_get_bus(pipeline);
  GstMessage *message = NULL;
  guint still = 0, seen = 0;

  g_object_set(sink, "sync", FALSE, NULL);
  gst_bin_add_many(GST_BIN(pipeline), source, parsebin, sink, NULL);
  gst_element_link(source, parsebin);
  media_prepare(media, source, parsebin);
  g_object_set_data_full(G_OBJECT(pad), "of", g_strdup(media->video->pad), g_free);
  g_signal_connect(parsebin, "pad-added", G_CALLBACK(link_video), pad);
  gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_BUFFER, take_packet, reader, NULL);
  gst_element_set_state(pipeline, GST_STATE_PLAYING);
  while (!message && still < STANDSTILL_SECONDS) {
    message = gst_bus_timed_pop_filtered(bus, GST_SECOND, GST_MESSAGE_EOS | GST_MESSAGE_ERROR);
    still = (guint)g_atomic_int_get(&reader->packets) == seen ? still + 1 : 0;
    seen = (guint)g_atomic_int_get(&reader->packets);
  }
  if (message)
    gst_message_unref(message);
  gst_element_set_state(pipeline, GST_STATE_NULL);
  gst_object_unref(pipeline);
}

Index *index_read(const Media *media, GstClockTime chunk, GError **error)
{
  g_autoptr(Index) index = g_new0(Index, 1);
  Reader reader = {index, chunk, FALSE, 0};

  index->keyframes = g_array_new(FALSE, FALSE, sizeof(GstClockTime));
  index->starts = g_array_new(FALSE, FALSE, sizeof(GstClockTime));
  index->checksum = g_checksum_new(G_CHECKSUM_SHA256);
  read_all(media, &reader);
  index->packets = (guint)reader.packets;
  if (!reader.timeless && index->starts->len > 0)
    return g_steal_pointer(&index);
  g_set_error(error, APP_ERROR, APP_ERROR_FAILED,
              "\"%s\" cannot be filtered in parts: its keyframes have no times. Filter it as a "
              "whole.",
              media->path);
  return NULL;
}

void index_free(Index *index)
{
  g_array_unref(index->keyframes);
  g_array_unref(index->starts);
  g_checksum_free(index->checksum);
  g_free(index);
}

static GstClockTime feed_for(const Index *index, GstClockTime start, GstClockTime overlap)
{
  const GstClockTime needed = start > overlap ? start - overlap : 0;
  GstClockTime feed = GST_CLOCK_TIME_NONE;

  for (guint i = 0; i < index->keyframes->len; i++) {
    const GstClockTime time = g_array_index(index->keyframes, GstClockTime, i);

    if (time <= needed)
      feed = time;
  }
  return feed;
}

PartRange index_part(const Index *index, guint part, guint parts, GstClockTime overlap)
{
  const guint64 chunks = index->starts->len;
  const guint first = (guint)((part - 1) * chunks / parts), beyond = (guint)(part * chunks / parts);
  PartRange range = {first == beyond, GST_CLOCK_TIME_NONE, GST_CLOCK_TIME_NONE,
                     GST_CLOCK_TIME_NONE};

  if (range.empty)
    return range;
  if (first > 0) {
    range.start = g_array_index(index->starts, GstClockTime, first);
    range.feed = feed_for(index, range.start, overlap);
  }
  if (beyond < chunks)
    range.end = g_array_index(index->starts, GstClockTime, beyond);
  return range;
}
