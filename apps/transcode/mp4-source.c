/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "mp4-source.h"

#include "boxes.h"

#include <string.h>

/* Bytes that replace those of the file for GStreamer. */
typedef struct {
  guint64 offset;
  guint size;
  guint8 bytes[8];
} Patch;

/* State of reading a file. */
typedef struct {
  Mp4Source *source;
  const guint8 *data; /* from "moov" on */
  guint64 offset;     /* of that in the file */
  guint64 time_scale; /* of the movie */
} Reader;

static guint64 to_ns(guint64 time, guint64 scale)
{
  return scale ? gst_util_uint64_scale(time, GST_SECOND, scale) : 0;
}

static void patch(Reader *reader, gsize at, const void *bytes, guint size)
{
  Patch added = {reader->offset + at, size, {0}};

  memcpy(added.bytes, bytes, size);
  g_array_append_val(reader->source->patches, added);
}

/* Reads an edit list. It is plain if it has empty edits and one edit at normal rate. */
static void read_edits(Reader *reader, const Box *list, guint64 media_scale, Mp4Track *track)
{
  const guint8 *at = reader->data + list->inside;
  const gsize size = list->end - list->inside;
  const gboolean wide = size >= 8 && at[0] == 1;
  const gsize entry = wide ? 20 : 12;
  const guint count = size >= 8 ? box_u32(at + 4) : 0;

  track->plain = count > 0 && count <= (size - 8) / entry;
  at += 8;
  for (guint i = 0; track->plain && i < count; i++, at += entry) {
    const guint64 duration = wide ? box_u64(at) : box_u32(at);
    const gint64 start = wide ? (gint64)box_u64(at + 8) : (gint32)box_u32(at + 4);

    if (start < 0 && i + 1 < count) {
      track->delay += to_ns(duration, reader->time_scale);
    } else if (start >= 0 && i + 1 == count && box_u32(at + entry - 4) == 0x10000) {
      track->lead = to_ns((guint64)start, media_scale);
      track->played = to_ns(duration, reader->time_scale);
    } else {
      track->plain = FALSE;
    }
  }
}

static void read_track(Reader *reader, const Box *trak)
{
  const guint8 *data = reader->data;
  Mp4Track track = {.plain = TRUE};
  guint64 scale, duration;
  Box header, media_header, handler, edits, list;

  if (!box_find(data, trak, "tkhd", &header) || header.end - header.inside < 24 ||
      !box_find_path(data, trak, "mdia/mdhd", &media_header) ||
      !box_read_clock(data, &media_header, &scale, &duration))
    return;
  track.length = to_ns(duration, scale);
  track.track.id = box_u32(data + header.inside + (data[header.inside] == 1 ? 20 : 12));
  track.track.flags.is_off = !(data[header.inside + 3] & 1);
  if (box_find_path(data, trak, "mdia/hdlr", &handler) && handler.end - handler.inside >= 12)
    memcpy(track.handler, data + handler.inside + 8, 4);
  if (box_find(data, trak, "edts", &edits) && box_find(data, &edits, "elst", &list)) {
    read_edits(reader, &list, scale, &track);
    if (track.plain)
      patch(reader, edits.at + 4, "free", 4);
  }
  g_array_append_val(reader->source->tracks, track);
}

/* Marks tracks that other tracks refer to as their chapters. */
static void mark_chapters(Reader *reader, const Box *trak)
{
  Box references;

  if (!box_find_path(reader->data, trak, "tref/chap", &references))
    return;
  for (gsize at = references.inside; at + 4 <= references.end; at += 4) {
    for (guint i = 0; i < reader->source->tracks->len; i++) {
      Mp4Track *track = &g_array_index(reader->source->tracks, Mp4Track, i);

      track->is_chapters |= track->track.id == box_u32(reader->data + at);
    }
  }
}

static void add_chapter(GstToc *toc, guint number, guint64 start, const gchar *title, gsize length)
{
  g_autofree gchar *id = g_strdup_printf("chapter%u", number + 1);
  g_autofree gchar *raw = g_strndup(title, length);
  g_autofree gchar *text = g_utf8_make_valid(raw, -1);
  GstTocEntry *entry = gst_toc_entry_new(GST_TOC_ENTRY_TYPE_CHAPTER, id);

  gst_toc_entry_set_start_stop_times(entry, (gint64)start, -1);
  if (*text)
    gst_toc_entry_set_tags(entry, gst_tag_list_new(GST_TAG_TITLE, text, NULL));
  gst_toc_append_entry(toc, entry);
}

/* Sets the end of each chapter to the start of the next. */
static void end_chapters(GstToc *toc, guint64 duration)
{
  for (GList *at = gst_toc_get_entries(toc); at; at = at->next) {
    gint64 start, next = (gint64)duration;

    gst_toc_entry_get_start_stop_times(at->data, &start, NULL);
    if (at->next)
      gst_toc_entry_get_start_stop_times(at->next->data, &next, NULL);
    gst_toc_entry_set_start_stop_times(at->data, start, MAX(next, start));
  }
}

/* Reads Nero's box "chpl": starts in units of 100 ns, and titles with their length. */
static void read_chapters(Reader *reader, const Box *moov)
{
  const guint8 *data = reader->data;
  Box list;
  gsize at;
  guint count;

  if (!box_find_path(data, moov, "udta/chpl", &list) || list.end - list.inside < 9)
    return;
  at = list.inside + (data[list.inside] == 1 ? 9 : 5);
  count = data[at - 1];
  reader->source->toc = gst_toc_new(GST_TOC_SCOPE_GLOBAL);
  for (guint i = 0; i < count && at + 9 <= list.end; i++) {
    const guint length = data[at + 8];

    if (at + 9 + length > list.end)
      break;
    add_chapter(reader->source->toc, i, box_u64(data + at) * 100, (const gchar *)data + at + 9,
                length);
    at += 9 + length;
  }
  end_chapters(reader->source->toc, reader->source->duration);
}

/* Extends the movie's duration, at which the demuxer ends, by the longest hidden lead and two
 * seconds. By less if a track would become shorter than a fifth of the movie: the demuxer drops
 * such tracks as previews. */
static void extend_duration(Reader *reader, const Box *header, guint64 duration)
{
  const guint8 *inside = reader->data + header->inside;
  const guint64 own = reader->source->duration;
  guint64 longest = 0, most = G_MAXUINT64;
  guint8 bytes[8];

  for (guint i = 0; i < reader->source->tracks->len; i++) {
    const Mp4Track *track = &g_array_index(reader->source->tracks, Mp4Track, i);

    longest = MAX(longest, track->lead);
    if (5 * track->length > own)
      most = MIN(most, 5 * track->length - own);
  }
  duration +=
      gst_util_uint64_scale(MIN(2 * GST_SECOND + longest, most), reader->time_scale, GST_SECOND);
  if (inside[0] == 1) {
    GST_WRITE_UINT64_BE(bytes, duration);
    patch(reader, header->inside + 24, bytes, 8);
  } else if (duration < G_MAXUINT32) {
    GST_WRITE_UINT32_BE(bytes, (guint32)duration);
    patch(reader, header->inside + 16, bytes, 4);
  }
}

static GByteArray *copy_box(Reader *reader, const Box *box)
{
  GByteArray *copy = g_byte_array_new();

  return g_byte_array_append(copy, reader->data + box->at, (guint)(box->end - box->at));
}

static void read_origin(Reader *reader, const Box *moov, const Box *header)
{
  const guint8 *data = reader->data, *inside = data + header->inside;
  Mp4Origin *origin = &reader->source->origin;
  Box box, handler;

  origin->created = inside[0] == 1 ? box_u64(inside + 4) : box_u32(inside + 4);
  if (box_find_path(data, moov, "udta/\251xyz", &box) ||
      box_find_path(data, moov, "udta/loci", &box))
    origin->place = copy_box(reader, &box);
  if (box_find_path(data, moov, "meta/hdlr", &handler) && handler.end - handler.inside >= 12 &&
      memcmp(data + handler.inside + 8, "mdta", 4) == 0 && box_find(data, moov, "meta", &box))
    origin->keys = copy_box(reader, &box);
}

static void read_movie(Reader *reader, const Box *moov)
{
  const guint8 *data = reader->data;
  guint64 duration;
  Box header, trak;
  gsize at = moov->inside;

  if (!box_find(data, moov, "mvhd", &header) ||
      !box_read_clock(data, &header, &reader->time_scale, &duration))
    return;
  reader->source->duration = to_ns(duration, reader->time_scale);
  while (reader->source->tracks->len <= MOST_TRACKS &&
         box_next(data, &at, moov->end, "trak", &trak))
    read_track(reader, &trak);
  at = moov->inside;
  while (box_next(data, &at, moov->end, "trak", &trak))
    mark_chapters(reader, &trak);
  extend_duration(reader, &header, duration);
  read_origin(reader, moov, &header);
  read_chapters(reader, moov);
}

Mp4Source *mp4_source_read(const gchar *path)
{
  Reader reader = {0};
  GByteArray *bytes = box_read_moov(path, FALSE, &reader.offset);
  Box moov;
  gsize at = 0;

  if (!bytes)
    return NULL;
  reader.data = bytes->data;
  reader.source = g_new0(Mp4Source, 1);
  reader.source->tracks = g_array_new(FALSE, TRUE, sizeof(Mp4Track));
  reader.source->patches = g_array_new(FALSE, TRUE, sizeof(Patch));
  if (box_next(bytes->data, &at, bytes->len, "moov", &moov))
    read_movie(&reader, &moov);
  g_byte_array_unref(bytes);
  return reader.source;
}

void mp4_source_free(Mp4Source *source)
{
  g_array_unref(source->tracks);
  g_array_unref(source->patches);
  if (source->toc)
    gst_toc_unref(source->toc);
  g_clear_pointer(&source->origin.place, g_byte_array_unref);
  g_clear_pointer(&source->origin.keys, g_byte_array_unref);
  g_free(source);
}

const Mp4Track *mp4_source_track(const Mp4Source *source, const gchar *stream_id)
{
  return (const Mp4Track *)track_of_stream(source->tracks, stream_id, '/');
}

static GstPadProbeReturn apply_patches(GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
  const Mp4Source *source = data;
  GstBuffer *buffer = GST_PAD_PROBE_INFO_BUFFER(info);
  const guint64 start = GST_BUFFER_OFFSET(buffer), end = start + gst_buffer_get_size(buffer);

  for (guint i = 0; start != GST_BUFFER_OFFSET_NONE && i < source->patches->len; i++) {
    const Patch *patch = &g_array_index(source->patches, Patch, i);
    const guint64 first = MAX(start, patch->offset);
    const guint64 last = MIN(end, patch->offset + patch->size);

    if (first < last)
      gst_buffer_fill(buffer, first - start, patch->bytes + (first - patch->offset), last - first);
  }
  return GST_PAD_PROBE_OK;
}

void mp4_source_hide_edits(const Mp4Source *source, GstElement *filesrc)
{
  GstPad *pad = gst_element_get_static_pad(filesrc, "src");

  gst_pad_add_probe(pad,
                    GST_PAD_PROBE_TYPE_PULL | GST_PAD_PROBE_TYPE_PUSH | GST_PAD_PROBE_TYPE_BUFFER,
                    apply_patches, (gpointer)source, NULL);
  gst_object_unref(pad);
}
