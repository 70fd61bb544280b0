/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "mkv-result.h"

#include "apps/common/error.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <string.h>

/* Elements of EBML (RFC 8794) and Matroska (RFC 9559). */
#define ID_SEGMENT       0x18538067
#define ID_TRACKS        0x1654ae6b
#define ID_TRACK         0xae
#define ID_TRACK_NAME    0x536e
#define ID_VIDEO         0xe0
#define ID_COLOUR        0x55b0
#define ID_MASTERING     0x55d0
#define ID_LUMINANCE_MAX 0x55d9
#define ID_LUMINANCE_MIN 0x55da
#define ID_TAGS          0x1254c367
#define ID_TAG           0x7373
#define ID_SIMPLE_TAG    0x67c8
#define ID_TAG_STRING    0x4487
#define VOID             0xec

#define LARGEST_BLOCK (1u << 28)

/* A file that is being corrected. */
typedef struct {
  FILE *file;
  const GstVideoMasteringDisplayInfo *mastering;
} Correction;

/* Reads an EBML number of up to 8 bytes: with its length marker, as in identifiers, or without, as
 * in sizes. Returns its length; 0: it is not valid. */
static guint read_number(const guint8 *data, gsize size, gboolean with_marker, guint64 *number)
{
  guint length = 1;

  if (size == 0 || data[0] == 0)
    return 0;
  while (!(data[0] & (0x80 >> (length - 1))))
    length++;
  if (length > size)
    return 0;
  *number = with_marker ? data[0] : data[0] & (0x7f >> (length - 1));
  for (guint i = 1; i < length; i++)
    *number = *number << 8 | data[i];
  return length;
}

/* Reads id and size of an element; returns the length of both; 0: they are not valid. */
static guint read_head(const guint8 *data, gsize size, guint64 *id, guint64 *inside)
{
  const guint first = read_number(data, size, TRUE, id);
  const guint second = first ? read_number(data + first, size - first, FALSE, inside) : 0;

  return second ? first + second : 0;
}

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
  element[0] = VOID;
  element[1] = (guint8)(0x80 | (length - 2));
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

static gboolean holds_others(guint64 id)
{
  return id == ID_TRACK || id == ID_VIDEO || id == ID_COLOUR || id == ID_MASTERING ||
         id == ID_TAG || id == ID_SIMPLE_TAG;
}

/* Corrects the elements in `size` bytes. */
static void correct(const Correction *correction, guint8 *data, gsize size)
{
  const GstVideoMasteringDisplayInfo *mastering = correction->mastering;
  guint64 id, inside;
  guint head;

  for (; (head = read_head(data, size, &id, &inside)) > 0 && inside <= size - head;
       data += head + inside, size -= head + inside) {
    guint8 *content = data + head;

    if (holds_others(id))
      correct(correction, content, inside);
    else if (id == ID_TAG_STRING)
      unescape(content, inside);
    else if (id == ID_TRACK_NAME && is_name_of_muxer(content, inside))
      make_void(data, head + inside);
    else if (id == ID_LUMINANCE_MAX && mastering)
      write_real(content, inside, mastering->max_display_mastering_luminance / 10000.0);
    else if (id == ID_LUMINANCE_MIN && mastering)
      write_real(content, inside, mastering->min_display_mastering_luminance / 10000.0);
  }
}

/* Reads `size` bytes at `at`, corrects them and writes them back. */
static gboolean correct_block(const Correction *correction, guint64 at, guint64 size)
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
static gboolean correct_file(const Correction *correction)
{
  guint64 at = 0, id, inside;
  guint8 head[16];

  for (;;) {
    gsize read;
    guint length;

    if (fseeko(correction->file, (off_t)at, SEEK_SET) != 0)
      return FALSE;
    read = fread(head, 1, sizeof(head), correction->file);
    length = read_head(head, read, &id, &inside);
    if (length == 0)
      return read == 0;
    at += length;
    if (id == ID_SEGMENT)
      continue;
    if ((id == ID_TRACKS || id == ID_TAGS) && !correct_block(correction, at, inside))
      return FALSE;
    at += inside;
  }
}

gboolean mkv_result_correct(const gchar *path, const GstVideoMasteringDisplayInfo *mastering,
                            GError **error)
{
  Correction correction = {g_fopen(path, "r+b"), mastering};
  gboolean good = correction.file != NULL && correct_file(&correction);

  if (correction.file)
    good = fclose(correction.file) == 0 && good;
  if (!good)
    g_set_error(error, APP_ERROR, APP_ERROR_FAILED, "Cannot write \"%s\": %s.", path,
                errno ? g_strerror(errno) : "it is no Matroska file");
  return good;
}

guint64 mkv_missing_bytes(const gchar *path)
{
  FILE *file = g_fopen(path, "rb");
  guint64 at = 0, id = 0, inside = 0, length, missing = 0;
  guint8 head[16];
  guint used;

  if (!file)
    return 0;
  length = fseeko(file, 0, SEEK_END) == 0 ? (guint64)ftello(file) : 0;
  while (id != ID_SEGMENT && fseeko(file, (off_t)at, SEEK_SET) == 0 &&
         (used = read_head(head, fread(head, 1, sizeof(head), file), &id, &inside)) > 0)
    at += used + (id == ID_SEGMENT ? 0 : inside);
  /* A size of all ones means unknown. */
  if (id == ID_SEGMENT && inside < ((guint64)1 << 56) - 1 && at + inside > length)
    missing = at + inside - length;
  fclose(file);
  return missing;
}
