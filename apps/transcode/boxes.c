/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "boxes.h"

#include <glib/gstdio.h>
#include <string.h>

/* Beyond the size for the longest films. */
#define LARGEST_MOOV (1u << 28)

guint32 box_u32(const guint8 *data)
{
  return (guint32)data[0] << 24 | (guint32)data[1] << 16 | (guint32)data[2] << 8 | data[3];
}

guint64 box_u64(const guint8 *data)
{
  return (guint64)box_u32(data) << 32 | box_u32(data + 4);
}

void box_append_u16(GByteArray *bytes, guint16 value)
{
  const guint8 data[] = {value >> 8, value & 0xff};

  g_byte_array_append(bytes, data, sizeof(data));
}

void box_append_u32(GByteArray *bytes, guint32 value)
{
  box_append_u16(bytes, value >> 16);
  box_append_u16(bytes, value & 0xffff);
}

void box_append_u64(GByteArray *bytes, guint64 value)
{
  box_append_u32(bytes, value >> 32);
  box_append_u32(bytes, value & 0xffffffff);
}

gboolean box_next(const guint8 *data, gsize *at, gsize end, const gchar *type, Box *box)
{
  while (*at + 8 <= end) {
    guint64 size = box_u32(data + *at);
    gsize head = 8;

    if (size == 1 && *at + 16 <= end) {
      size = box_u64(data + *at + 8);
      head = 16;
    } else if (size == 0) {
      size = end - *at;
    }
    if (size < head || size > end - *at)
      return FALSE;
    *box = (Box){*at, *at + head, *at + size};
    *at = box->end;
    if (!type || memcmp(data + box->at + 4, type, 4) == 0)
      return TRUE;
  }
  return FALSE;
}

gboolean box_find(const guint8 *data, const Box *parent, const gchar *type, Box *box)
{
  gsize at = parent->inside;

  return box_next(data, &at, parent->end, type, box);
}

gboolean box_find_path(const guint8 *data, const Box *parent, const gchar *path, Box *box)
{
  g_auto(GStrv) types = g_strsplit(path, "/", -1);
  Box inner = *parent;

  for (gchar **type = types; *type; type++) {
    if (!box_find(data, &inner, *type, box))
      return FALSE;
    inner = *box;
  }
  return TRUE;
}

gboolean box_read_clock(const guint8 *data, const Box *header, guint64 *scale, guint64 *duration)
{
  const guint8 *inside = data + header->inside;
  const gsize size = header->end - header->inside;
  const gboolean wide = size > 0 && inside[0] == 1;

  if (size < (wide ? 32 : 20))
    return FALSE;
  *scale = box_u32(inside + (wide ? 20 : 12));
  *duration = wide ? box_u64(inside + 24) : box_u32(inside + 16);
  return *scale > 0;
}

void box_write_duration(guint8 *data, const Box *header, guint64 duration)
{
  guint8 *inside = data + header->inside;
  const gboolean wide = inside[0] == 1;

  for (guint i = 0; i < (wide ? 8 : 4); i++)
    inside[wide ? 31 - i : 19 - i] = (guint8)(duration >> 8 * i);
}

static GByteArray *read_bytes(FILE *file, guint64 size)
{
  GByteArray *bytes;

  if (size > LARGEST_MOOV)
    return NULL;
  bytes = g_byte_array_new();
  g_byte_array_set_size(bytes, (guint)size);
  if (fread(bytes->data, 1, (gsize)size, file) == size)
    return bytes;
  g_byte_array_unref(bytes);
  return NULL;
}

/* The box of a file at `*at`, which is moved behind it. */
static gboolean next_in_file(FILE *file, guint64 *at, guint64 length, gchar type[4], guint64 *start,
                             guint64 *size)
{
  guint8 head[16];

  if (*at + 8 > length || fseeko(file, (off_t)*at, SEEK_SET) != 0 || fread(head, 1, 8, file) != 8)
    return FALSE;
  *size = box_u32(head);
  if (*size == 1 && fread(head + 8, 1, 8, file) == 8)
    *size = box_u64(head + 8);
  if (*size == 0)
    *size = length - *at;
  memcpy(type, head + 4, 4);
  *start = *at;
  *at += *size;
  return *size >= 8 && *at > *start;
}

static guint64 length_of(FILE *file)
{
  return fseeko(file, 0, SEEK_END) == 0 ? (guint64)ftello(file) : 0;
}

guint64 box_missing_bytes(const gchar *path)
{
  FILE *file = g_fopen(path, "rb");
  guint64 at = 0, start, size, length;
  gchar type[4];

  if (!file)
    return 0;
  length = length_of(file);
  while (next_in_file(file, &at, length, type, &start, &size))
    continue;
  fclose(file);
  return at > length ? at - length : 0;
}

GByteArray *box_read_moov(const gchar *path, gboolean to_end, guint64 *offset)
{
  FILE *file = g_fopen(path, "rb");
  GByteArray *moov = NULL;
  guint64 at = 0, size, length;
  gchar type[4];

  if (!file)
    return NULL;
  length = length_of(file);
  while (!moov && next_in_file(file, &at, length, type, offset, &size)) {
    if (memcmp(type, "moov", 4) != 0)
      continue;
    if (size <= length - *offset && fseeko(file, (off_t)*offset, SEEK_SET) == 0)
      moov = read_bytes(file, to_end ? length - *offset : size);
    break;
  }
  fclose(file);
  return moov;
}
