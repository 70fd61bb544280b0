/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "mkv-source.h"

#include "ebml.h"

#include <glib/gstdio.h>
#include <stdio.h>
#include <string.h>

#define READ_AHEAD     (1u << 18)
#define LARGEST_TRACKS (1u << 24)

/* ebml_head() of the file's bytes at `at`. */
static guint head_at(FILE *file, guint64 at, guint64 *id, guint64 *inside)
{
  guint8 head[16];

  return fseeko(file, (off_t)at, SEEK_SET) == 0
             ? ebml_head(head, fread(head, 1, sizeof(head), file), id, inside)
             : 0;
}

/* The place of the first element of at..end, the content of element `parent`, that is none or does
 * not fit in; 0: all do. Descends into clusters, and into their groups of blocks. */
static guint64 find_damage(FILE *file, guint64 parent, guint64 at, guint64 end)
{
  guint64 id, inside, damage = 0;

  while (at < end && damage == 0) {
    const guint used = head_at(file, at, &id, &inside);
    /* Groups follow the head of a cluster of unknown size as if they were the segment's. */
    const gboolean holds_blocks =
        id == ID_CLUSTER ? parent == ID_SEGMENT : id == ID_BLOCK_GROUP && parent != id;

    if (used == 0 || used > end - at || (inside > end - at - used && inside != EBML_UNKNOWN_SIZE))
      return at;
    at += used;
    if (inside == EBML_UNKNOWN_SIZE)
      continue;
    if (holds_blocks)
      damage = find_damage(file, id, at, at + inside);
    at += inside;
  }
  return damage;
}

static guint64 whole_number(const guint8 *bytes, gsize size)
{
  guint64 number = 0;

  for (gsize i = 0; i < size; i++)
    number = number << 8 | bytes[i];
  return number;
}

static MkvTrack read_track(const guint8 *data, gsize size)
{
  MkvTrack track = {0};
  guint64 id, inside;
  guint head;

  for (; (head = ebml_head(data, size, &id, &inside)) > 0 && inside <= size - head;
       data += head + inside, size -= head + inside) {
    const guint8 *content = data + head;

    if (id == ID_TRACK_UID)
      track.track.id = whole_number(content, inside);
    else if (id == ID_FLAG_DEFAULT)
      track.track.flags.is_off = whole_number(content, inside) == 0;
    else if (id == ID_FLAG_FORCED)
      track.track.flags.is_forced = whole_number(content, inside) != 0;
    else if (id == ID_TRACK_NAME && !track.name)
      track.name = g_strndup((const gchar *)content, inside);
  }
  return track;
}

static void read_tracks(MkvSource *source, FILE *file, guint64 at, guint64 size)
{
  g_autofree guint8 *block = size <= LARGEST_TRACKS ? g_malloc((gsize)size) : NULL;
  const guint8 *data = block;
  guint64 id, inside;
  guint head;

  if (!block || fseeko(file, (off_t)at, SEEK_SET) != 0 || fread(block, 1, size, file) != size)
    return;
  for (; source->tracks->len <= MOST_TRACKS && (head = ebml_head(data, size, &id, &inside)) > 0 &&
         inside <= size - head;
       data += head + inside, size -= head + inside) {
    const MkvTrack track = id == ID_TRACK ? read_track(data + head, inside) : (MkvTrack){0};

    if (id == ID_TRACK)
      g_array_append_val(source->tracks, track);
  }
}

static void find_tracks(MkvSource *source, FILE *file, guint64 at, guint64 end)
{
  guint64 id, inside;
  guint used;

  while (at < end && (used = head_at(file, at, &id, &inside)) > 0 && inside <= end - at - used) {
    if (id == ID_TRACKS) {
      read_tracks(source, file, at + used, inside);
      return;
    }
    at += used + inside;
  }
}

static void free_track(gpointer data)
{
  g_free(((MkvTrack *)data)->name);
}

MkvSource *mkv_source_read(const gchar *path)
{
  MkvSource *source = g_new0(MkvSource, 1);
  FILE *file = g_fopen(path, "rb");
  guint64 at = 0, id = 0, inside = 0, length, end;
  guint used;

  source->tracks = g_array_new(FALSE, TRUE, sizeof(MkvTrack));
  g_array_set_clear_func(source->tracks, free_track);
  if (!file)
    return source;
  setvbuf(file, NULL, _IOFBF, READ_AHEAD);
  length = fseeko(file, 0, SEEK_END) == 0 ? (guint64)ftello(file) : 0;
  while (id != ID_SEGMENT && (used = head_at(file, at, &id, &inside)) > 0)
    at += used + (id == ID_SEGMENT ? 0 : inside);
  if (id == ID_SEGMENT) {
    end = inside == EBML_UNKNOWN_SIZE ? length : at + inside;
    source->missing = end > length ? end - length : 0;
    source->damage = source->missing > 0 ? 0 : find_damage(file, id, at, end);
    find_tracks(source, file, at, MIN(end, length));
  }
  fclose(file);
  return source;
}

void mkv_source_free(MkvSource *source)
{
  g_array_unref(source->tracks);
  g_free(source);
}

const MkvTrack *mkv_source_track(const MkvSource *source, const gchar *stream_id)
{
  return (const MkvTrack *)track_of_stream(source->tracks, stream_id, ':');
}
