/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "mp4-result.h"

#include "boxes.h"

#include "apps/common/error.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MOST_CHAPTERS 255

/* The boxes that contain a place, the outermost first. */
typedef struct {
  gsize at[8];
  guint count;
} Ancestors;

static GByteArray *begin_box(const gchar *type)
{
  GByteArray *box = g_byte_array_new();

  box_append_u32(box, 0);
  g_byte_array_append(box, (const guint8 *)type, 4);
  return box;
}

static void end_box(GByteArray *box)
{
  GST_WRITE_UINT32_BE(box->data, box->len);
}

/* Replaces `removed` bytes at `at` by `added` (freed), and corrects the sizes of the boxes around.
 */
static void replace(GByteArray *file, gsize at, gsize removed, GByteArray *added,
                    const Ancestors *ancestors)
{
  const gsize tail = file->len - at - removed;
  const guint old = file->len;

  if (added->len > removed)
    g_byte_array_set_size(file, old + added->len - removed);
  memmove(file->data + at + added->len, file->data + at + removed, tail);
  g_byte_array_set_size(file, (guint)(at + added->len + tail));
  memcpy(file->data + at, added->data, added->len);
  for (guint i = 0; i < ancestors->count; i++) {
    guint8 *size = file->data + ancestors->at[i];

    GST_WRITE_UINT32_BE(size, box_u32(size) + added->len - (guint32)removed);
  }
  g_byte_array_unref(added);
}

static Box movie(const GByteArray *file)
{
  return (Box){0, 8, box_u32(file->data)};
}

static gboolean find_track(const GByteArray *file, guint index, Box *trak)
{
  const Box moov = movie(file);
  gsize at = moov.inside;

  for (guint i = 0; i <= index; i++) {
    if (!box_next(file->data, &at, moov.end, "trak", trak))
      return FALSE;
  }
  return TRUE;
}

/* Time scale and duration from the header box at `path`; FALSE: there is none. */
static gboolean read_clock(const GByteArray *file, const Box *parent, const gchar *path,
                           guint64 *scale, guint64 *duration)
{
  Box header;

  return box_find_path(file->data, parent, path, &header) &&
         box_read_clock(file->data, &header, scale, duration);
}

/* An edit list with one edit: the track from `lead` on. */
static GByteArray *make_edits(guint64 lead, guint64 media_scale, guint64 duration,
                              guint64 movie_scale)
{
  const guint64 start = gst_util_uint64_scale_round(lead, media_scale, GST_SECOND);
  GByteArray *edits = begin_box("edts"), *list = begin_box("elst");

  box_append_u32(list, 1 << 24);
  box_append_u32(list, 1);
  box_append_u64(list, gst_util_uint64_scale_ceil(duration > start ? duration - start : 0,
                                                  movie_scale, media_scale));
  box_append_u64(list, start);
  box_append_u32(list, 0x10000);
  end_box(list);
  g_byte_array_append(edits, list->data, list->len);
  end_box(edits);
  g_byte_array_unref(list);
  return edits;
}

static void set_lead(GByteArray *file, guint index, guint64 lead)
{
  const Box moov = movie(file);
  guint64 movie_scale, media_scale, ignored, duration;
  Box trak, header, old;

  if (!find_track(file, index, &trak) || !box_find(file->data, &trak, "tkhd", &header) ||
      !read_clock(file, &moov, "mvhd", &movie_scale, &ignored) ||
      !read_clock(file, &trak, "mdia/mdhd", &media_scale, &duration))
    return;
  if (!box_find(file->data, &trak, "edts", &old))
    old = (Box){header.end, header.end, header.end};
  replace(file, old.at, old.end - old.at, make_edits(lead, media_scale, duration, movie_scale),
          &(Ancestors){{0, trak.at}, 2});
}

/* Gives the last packet of a stream without durations that of the packet before. The muxer leaves
 * it at 0, and players skip it then. */
static void end_last_packet(GByteArray *file, guint index)
{
  const Box moov = movie(file);
  guint64 movie_scale, media_scale, ignored, duration, longer;
  Box trak, header, times, list;
  guint count;
  guint8 *last;

  if (!find_track(file, index, &trak) || !box_find_path(file->data, &trak, "mdia/hdlr", &header) ||
      header.end - header.inside < 12 || memcmp(file->data + header.inside + 8, "soun", 4) != 0 ||
      !box_find_path(file->data, &trak, "mdia/mdhd", &header) ||
      !box_find_path(file->data, &trak, "mdia/minf/stbl/stts", &times) ||
      !read_clock(file, &moov, "mvhd", &movie_scale, &ignored) ||
      !box_read_clock(file->data, &header, &media_scale, &duration))
    return;
  count = box_u32(file->data + times.inside + 4);
  last = file->data + times.inside + 8 + 8 * (gsize)(count - 1);
  if (count < 2 || last + 8 > file->data + times.end || box_u32(last) != 1 ||
      box_u32(last + 4) != 0)
    return;
  memcpy(last + 4, last - 4, 4);
  longer = box_u32(last + 4);
  box_write_duration(file->data, &header, duration + longer);
  if (!box_find_path(file->data, &trak, "edts/elst", &list) || list.end - list.inside < 20)
    return;
  longer = gst_util_uint64_scale_ceil(longer, movie_scale, media_scale);
  last = file->data + list.end - (file->data[list.inside] == 1 ? 20 : 12);
  if (file->data[list.inside] == 1)
    GST_WRITE_UINT64_BE(last, box_u64(last) + longer);
  else
    GST_WRITE_UINT32_BE(last, box_u32(last) + (guint32)longer);
}

static void append_chapter(GByteArray *list, const GstTocEntry *entry)
{
  GstTagList *tags = gst_toc_entry_get_tags(entry);
  g_autofree gchar *title = NULL;
  gint64 start = 0;
  gsize length;

  gst_toc_entry_get_start_stop_times(entry, &start, NULL);
  if (tags)
    gst_tag_list_get_string(tags, GST_TAG_TITLE, &title);
  length = title ? strlen(title) : 0;
  if (length > 255)
    length = (gsize)(g_utf8_find_prev_char(title, title + 253) - title);
  box_append_u64(list, (guint64)MAX(start, 0) / 100);
  g_byte_array_append(list, &(guint8){(guint8)length}, 1);
  g_byte_array_append(list, (const guint8 *)title, (guint)length);
}

/* The chapters of the first edition, which is the one that players show. */
static GList *chapters_of(const GstToc *toc)
{
  GList *entries = gst_toc_get_entries(toc);

  if (entries && gst_toc_entry_is_alternative(entries->data))
    entries = gst_toc_entry_get_sub_entries(entries->data);
  return entries;
}

/* Appends the box `added` (freed) to the movie. */
static void add_to_movie(GByteArray *file, GByteArray *added)
{
  replace(file, movie(file).end, 0, added, &(Ancestors){{0}, 1});
}

/* Adds the box `added` (freed) to the user's data. */
static void add_to_user_data(GByteArray *file, GByteArray *added)
{
  const Box moov = movie(file);
  Box user;

  if (box_find(file->data, &moov, "udta", &user)) {
    replace(file, user.inside, 0, added, &(Ancestors){{0, user.at}, 2});
  } else {
    GByteArray *new_user = begin_box("udta");

    g_byte_array_append(new_user, added->data, added->len);
    end_box(new_user);
    g_byte_array_unref(added);
    add_to_movie(file, new_user);
  }
}

static void add_origin(GByteArray *file, const Mp4Origin *origin)
{
  const Box moov = movie(file);
  Box header;

  if (origin->created > 0 && box_find(file->data, &moov, "mvhd", &header)) {
    guint8 *inside = file->data + header.inside;

    if (inside[0] == 1)
      GST_WRITE_UINT64_BE(inside + 4, origin->created);
    else if (origin->created <= G_MAXUINT32)
      GST_WRITE_UINT32_BE(inside + 4, (guint32)origin->created);
  }
  if (origin->place)
    add_to_user_data(file, g_byte_array_ref(origin->place));
  if (origin->keys)
    add_to_movie(file, g_byte_array_ref(origin->keys));
}

static void add_chapters(GByteArray *file, const GstToc *toc)
{
  GByteArray *list = begin_box("chpl");
  GList *chapters = chapters_of(toc);
  const guint count = MIN(g_list_length(chapters), MOST_CHAPTERS);

  box_append_u32(list, 1 << 24);
  box_append_u32(list, 0);
  g_byte_array_append(list, &(guint8){(guint8)count}, 1);
  for (guint i = 0; i < count; i++, chapters = chapters->next)
    append_chapter(list, chapters->data);
  end_box(list);
  add_to_user_data(file, list);
}

static GByteArray *mastering_box(const GstVideoMasteringDisplayInfo *info)
{
  /* The box has green, blue, red. */
  static const guint order[] = {1, 2, 0};
  GByteArray *box = begin_box("mdcv");

  for (guint i = 0; i < 3; i++) {
    box_append_u16(box, info->display_primaries[order[i]].x);
    box_append_u16(box, info->display_primaries[order[i]].y);
  }
  box_append_u16(box, info->white_point.x);
  box_append_u16(box, info->white_point.y);
  box_append_u32(box, info->max_display_mastering_luminance);
  box_append_u32(box, info->min_display_mastering_luminance);
  end_box(box);
  return box;
}

static GByteArray *light_box(const GstVideoContentLightLevel *light)
{
  GByteArray *box = begin_box("clli");

  box_append_u16(box, light->max_content_light_level);
  box_append_u16(box, light->max_frame_average_light_level);
  end_box(box);
  return box;
}

/* Appends the box `added` to the sample entry of the video, unless the muxer has written one. */
static void add_to_video(GByteArray *file, GByteArray *added)
{
  const gsize fixed = 78; /* of a visual sample entry, before its boxes */
  Box trak, mdia, minf, stbl, stsd, entry, same;
  gsize at;

  if (find_track(file, 0, &trak) && box_find(file->data, &trak, "mdia", &mdia) &&
      box_find(file->data, &mdia, "minf", &minf) && box_find(file->data, &minf, "stbl", &stbl) &&
      box_find(file->data, &stbl, "stsd", &stsd)) {
    at = stsd.inside + 8;
    if (box_next(file->data, &at, stsd.end, NULL, &entry) && entry.end - entry.inside >= fixed) {
      const Box boxes = {entry.at, entry.inside + fixed, entry.end};
      g_autofree gchar *type = g_strndup((const gchar *)added->data + 4, 4);

      if (!box_find(file->data, &boxes, type, &same)) {
        replace(file, entry.end, 0, added,
                &(Ancestors){{0, trak.at, mdia.at, minf.at, stbl.at, stsd.at, entry.at}, 7});
        return;
      }
    }
  }
  g_byte_array_unref(added);
}

/* Sets the display matrix for a turn clockwise and then, maybe, a flip, as in
 * GST_TAG_IMAGE_ORIENTATION: "rotate-90", "flip-rotate-90". */
static void set_orientation(GByteArray *file, const gchar *orientation)
{
  static const gint8 turns[2][4][4] = {
      {{1, 0, 0, 1}, {0, 1, -1, 0}, {-1, 0, 0, -1}, {0, -1, 1, 0}},
      {{-1, 0, 0, 1}, {0, -1, -1, 0}, {1, 0, 0, -1}, {0, 1, 1, 0}},
  };
  const gboolean flips = g_str_has_prefix(orientation, "flip-");
  const gint8 *turn = turns[flips][atoi(strrchr(orientation, '-') + 1) / 90 % 4];
  Box trak, header;
  guint8 *matrix;
  guint32 width, height;

  if (!find_track(file, 0, &trak) || !box_find(file->data, &trak, "tkhd", &header) ||
      header.end - header.inside < 84)
    return;
  matrix = file->data + header.end - 44; /* nine numbers, then width and height */
  width = box_u32(matrix + 36);
  height = box_u32(matrix + 40);
  for (guint i = 0; i < 4; i++)
    GST_WRITE_UINT32_BE(matrix + 12 * (i / 2) + 4 * (i % 2), (guint32)turn[i] << 16);
  /* back to where no place of the picture is negative */
  for (guint i = 0; i < 2; i++)
    GST_WRITE_UINT32_BE(matrix + 24 + 4 * i,
                        (turn[i] < 0 ? width : 0) + (turn[2 + i] < 0 ? height : 0));
}

static void switch_off(GByteArray *file, guint index)
{
  Box trak, header;

  if (find_track(file, index, &trak) && box_find(file->data, &trak, "tkhd", &header))
    file->data[header.inside + 3] &= 0xfe;
}

static gboolean write_tail(const gchar *path, guint64 offset, const GByteArray *tail)
{
  FILE *file = g_fopen(path, "r+b");
  gboolean good;

  if (!file)
    return FALSE;
  good = fseeko(file, (off_t)offset, SEEK_SET) == 0 &&
         fwrite(tail->data, 1, tail->len, file) == tail->len && fflush(file) == 0 &&
         ftruncate(fileno(file), (off_t)(offset + tail->len)) == 0;
  return fclose(file) == 0 && good;
}

gboolean mp4_result_complete(const gchar *path, const Mp4Additions *additions, GError **error)
{
  guint64 offset;
  GByteArray *tail = box_read_moov(path, TRUE, &offset);
  gboolean good;

  if (!tail) {
    g_set_error(error, APP_ERROR, APP_ERROR_FAILED, "\"%s\" was not written as an MP4 file.", path);
    return FALSE;
  }
  for (guint i = 0; i < additions->leads->len; i++) {
    const guint64 lead = g_array_index(additions->leads, guint64, i);

    end_last_packet(tail, i);
    if (g_array_index(additions->flags, TrackFlags, i).is_off)
      switch_off(tail, i);
    if (lead > 0)
      set_lead(tail, i, lead);
  }
  if (additions->toc)
    add_chapters(tail, additions->toc);
  if (additions->mastering)
    add_to_video(tail, mastering_box(additions->mastering));
  if (additions->light)
    add_to_video(tail, light_box(additions->light));
  if (additions->origin)
    add_origin(tail, additions->origin);
  if (additions->orientation)
    set_orientation(tail, additions->orientation);
  good = write_tail(path, offset, tail);
  if (!good)
    g_set_error(error, APP_ERROR, APP_ERROR_FAILED, "Cannot write \"%s\": %s.", path,
                g_strerror(errno));
  g_byte_array_unref(tail);
  return good;
}
