/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Boxes of MP4 and QuickTime files in memory (ISO/IEC 14496-12).
 */
#pragma once

#include <glib.h>

/* A box within a block of bytes. */
typedef struct {
  gsize at;     /* of its size field */
  gsize inside; /* of its first content */
  gsize end;
} Box;

guint32 box_u32(const guint8 *data);
guint64 box_u64(const guint8 *data);
void box_append_u16(GByteArray *bytes, guint16 value);
void box_append_u32(GByteArray *bytes, guint32 value);
void box_append_u64(GByteArray *bytes, guint64 value);

/* The next box of `type` (NULL: of any) from `*at` on and before `end`; `*at` is moved behind it.
 * FALSE: there is none, or what is there is no box. */
gboolean box_next(const guint8 *data, gsize *at, gsize end, const gchar *type, Box *box);

/* The first box of `type` in `parent`. */
gboolean box_find(const guint8 *data, const Box *parent, const gchar *type, Box *box);

/* The first at the end of `path`, types with slashes, such as "mdia/minf". */
gboolean box_find_path(const guint8 *data, const Box *parent, const gchar *path, Box *box);

/* Time scale and duration of a box "mvhd" or "mdhd"; FALSE: it is too short. */
gboolean box_read_clock(const guint8 *data, const Box *header, guint64 *scale, guint64 *duration);
/* Sets its duration. */
void box_write_duration(guint8 *data, const Box *header, guint64 duration);

/* How many bytes the last box of the file at `path` lacks: it has been cut off. */
guint64 box_missing_bytes(const gchar *path);

/* The box "moov" of the file `path`, and where it lies there (`offset`). The block
 * has nothing before "moov"; with `to_end` all that follows it is there, too. NULL: no such box.
 * Caller frees. */
GByteArray *box_read_moov(const gchar *path, gboolean to_end, guint64 *offset);
