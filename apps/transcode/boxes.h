/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Boxes of MP4 and QuickTime files in memory (ISO/IEC 14496-12).
 */
#pragma once

#include <glib.h>

/* A box within a block of bytes. */
typedef struct {
  gsize at;     /* offset of its size field */
  gsize inside; /* offset of its content */
  gsize end;    /* offset behind it */
} Box;

guint32 box_u32(const guint8 *data);
guint64 box_u64(const guint8 *data);
void box_append_u16(GByteArray *bytes, guint16 value);
void box_append_u32(GByteArray *bytes, guint32 value);
void box_append_u64(GByteArray *bytes, guint64 value);

/* The next box of `type` (NULL: any) in `*at` to `end`; moves `*at` behind it. FALSE: there is
 * none, or the data is not a valid box. */
gboolean box_next(const guint8 *data, gsize *at, gsize end, const gchar *type, Box *box);

/* The first box of `type` in `parent`. */
gboolean box_find(const guint8 *data, const Box *parent, const gchar *type, Box *box);

/* The first box at `path`, types joined by slashes, such as "mdia/minf". */
gboolean box_find_path(const guint8 *data, const Box *parent, const gchar *path, Box *box);

/* Time scale and duration of a box "mvhd" or "mdhd"; FALSE: it is too short. */
gboolean box_read_clock(const guint8 *data, const Box *header, guint64 *scale, guint64 *duration);
/* Sets the duration of a box "mvhd" or "mdhd". */
void box_write_duration(guint8 *data, const Box *header, guint64 duration);

/* The number of bytes that are missing from the last box of the file at `path`, if it was cut off.
 */
guint64 box_missing_bytes(const gchar *path);

/* The box "moov" of the file `path`, and its offset there; with `to_end` also all that follows it.
 * NULL: there is none. Caller frees. */
GByteArray *box_read_moov(const gchar *path, gboolean to_end, guint64 *offset);
