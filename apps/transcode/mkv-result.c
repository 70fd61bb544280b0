/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "mkv-result.h"

#include "ebml.h"

#include "apps/common/error.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <string.h>

#define LARGEST_BLOCK (1u << 28)

/* A file that is being corrected. */
typedef struct {
  FILE *file;
  const GstVideoMasteringDisplayInfo *mastering;
  const GArray *flags;
  GstClockTime end;
  guint tracks; /* that have been met */
} Correction;

/* Removes the quotes and backslashes that GStreamer wrote, and fills the rest with zeros, which end
 * a text in EBML. */
static void unescape(guint8 *text, gsize size)
{
  gsize to = 0;

  while (size > 0 && text[size - 1] == 0)
    size--;
  if (size < 2 || text[0] != '"' || text[size - 1] != '"')
    return;
  for (gsize from = 1; from < size - 1; from++) {
    guint octal;

    if (text[from] != '\\') {
      text[to++] = text[from];
    } else if (from + 3 < size && sscanf((const char *)text + from + 1, "%3o", &octal) == 1 &&
               g_ascii_isdigit(text[from + 1])) {
      text[to++] = (guint8)octal;
      from += 3;
    } else {
      text[to++] = text[++from];
    }
  }
  memset(text + to, 0, size - to);
}

/* Turns an element of `length` bytes into a Void element. */
static void make_void(guint8 *element, gsize length)
{
  if (length < 2 || length > 129)
    return;
  memset(element, 0, length);
  element[0] = ID_VOID;
  element[1] = (guint8)(0x80 | (length - 2));
}

/* In the place of an element of `length` bytes. Numbers may have zeros before them. */
static void put_flags(guint8 *element, gsize length, const TrackFlags *flags)
{
  static const guint8 forced[] = {ID_FLAG_FORCED >> 8, ID_FLAG_FORCED & 0xff, 0x81};
  const gsize digits = length <= 14 ? length - 6 : 2;

  make_void(element, length);
  if (length < 7 || length > 129)
    return;
  memset(element, 0, 6 + digits);
  element[0] = ID_FLAG_DEFAULT;
  element[1] = (guint8)(0x80 | digits);
  element[1 + digits] = !flags->is_off;
  memcpy(element + 2 + digits, forced, sizeof(forced));
  element[5 + digits] = flags->is_forced ? 1 : 0;
  make_void(element + 6 + digits, length - 6 - digits);
}

static gboolean is_name_of_muxer(const guint8 *text, gsize size)
{
  static const gchar *const names[] = {"Video", "Audio", "Subtitle"};

  while (size > 0 && text[size - 1] == 0)
    size--;
  for (gsize i = 0; i < G_N_ELEMENTS(names); i++) {
    if (size == strlen(names[i]) && memcmp(text, names[i], size) == 0)
      return TRUE;
  }
  return FALSE;
}

static void write_real(guint8 *place, gsize size, gdouble value)
{
  if (size == 4)
    GST_WRITE_FLOAT_BE(place, (gfloat)value);
  else if (size == 8)
    GST_WRITE_DOUBLE_BE(place, value);
}

/* In milliseconds, the unit of GStreamer's files. */
static void raise_duration(guint8 *place, gsize size, GstClockTime end)
{
  const gdouble duration = (gdouble)end / GST_MSECOND;

  if (size == 8 && GST_READ_DOUBLE_BE(place) < duration)
    GST_WRITE_DOUBLE_BE(place, duration);
}

static gboolean holds_others(guint64 id)
{
  return id == ID_TRACK || id == ID_VIDEO || id == ID_COLOUR || id == ID_MASTERING ||
         id == ID_TAG || id == ID_SIMPLE_TAG;
}

static const TrackFlags *flags_of(const Correction *correction)
{
  static const TrackFlags none = {0};

  return correction->tracks > 0 && correction->tracks <= correction->flags->len
             ? &g_array_index(correction->flags, TrackFlags, correction->tracks - 1)
             : &none;
}

/* Corrects the elements in `size` bytes. Flags take the place of a track's name, which is a tag as
 * well. */
static void correct(Correction *correction, guint8 *data, gsize size)
{
  const GstVideoMasteringDisplayInfo *mastering = correction->mastering;
  guint64 id, inside;
  guint head;

  for (; (head = ebml_head(data, size, &id, &inside)) > 0 && inside <= size - head;
       data += head + inside, size -= head + inside) {
    guint8 *content = data + head;

    if (id == ID_TRACK)
      correction->tracks++;
    if (holds_others(id))
      correct(correction, content, inside);
    else if (id == ID_DURATION)
      raise_duration(content, inside, correction->end);
    else if (id == ID_TAG_STRING)
      unescape(content, inside);
    else if (id == ID_TRACK_NAME &&
             (is_name_of_muxer(content, inside) || flags_of(correction)->is_off ||
              flags_of(correction)->is_forced))
      put_flags(data, head + inside, flags_of(correction));
    else if (id == ID_LUMINANCE_MAX && mastering)
      write_real(content, inside, mastering->max_display_mastering_luminance / 10000.0);
    else if (id == ID_LUMINANCE_MIN && mastering)
      write_real(content, inside, mastering->min_display_mastering_luminance / 10000.0);
  }
}

/* Reads `size` bytes at `at`, corrects them and writes them back. */
static gboolean correct_block(Correction *correction, guint64 at, guint64 size)
{
  g_autofree guint8 *block = size <= LARGEST_BLOCK ? g_malloc((gsize)size) : NULL;

  if (!block || fseeko(correction->file, (off_t)at, SEEK_SET) != 0 ||
      fread(block, 1, (gsize)size, correction->file) != size)
    return FALSE;
  correct(correction, block, (gsize)size);
  return fseeko(correction->file, (off_t)at, SEEK_SET) == 0 &&
         fwrite(block, 1, (gsize)size, correction->file) == size;
}

/* Walks through the elements at the top level and in the segment. */
static gboolean correct_file(Correction *correction)
{
  guint64 at = 0, id, inside;
  guint8 head[16];

  for (;;) {
    gsize read;
    guint length;

    if (fseeko(correction->file, (off_t)at, SEEK_SET) != 0)
      return FALSE;
    read = fread(head, 1, sizeof(head), correction->file);
    length = ebml_head(head, read, &id, &inside);
    if (length == 0)
      return read == 0;
    at += length;
    if (id == ID_SEGMENT)
      continue;
    if ((id == ID_INFO || id == ID_TRACKS || id == ID_TAGS) &&
        !correct_block(correction, at, inside))
      return FALSE;
    at += inside;
  }
}

gboolean mkv_result_correct(const gchar *path, const GstVideoMasteringDisplayInfo *mastering,
                            const GArray *flags, GstClockTime end, GError **error)
{
  Correction correction = {g_fopen(path, "r+b"), mastering, flags, end, 0};
  gboolean good = correction.file != NULL && correct_file(&correction);

  if (correction.file)
    good = fclose(correction.file) == 0 && good;
  if (!good)
    g_set_error(error, APP_ERROR, APP_ERROR_FAILED, "Cannot write \"%s\": %s.", path,
                errno ? g_strerror(errno) : "it is no Matroska file");
  return good;
}
