/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The packets of a file's video, read without decoding them: where chunks start, and which chunks
 * make a part.
 */
#pragma once

#include "media.h"

typedef struct {
  GArray *keyframes; /* of GstClockTime, PTS */
  GArray *starts;    /* of chunks, likewise */
  guint packets;
  GChecksum *checksum; /* of times and sizes: which file it is */
} Index;

/* What a part has. */
typedef struct {
  gboolean empty;          /* there are more parts than chunks */
  GstClockTime start, end; /* PTS from and up to; NONE: from the beginning, to the end */
  GstClockTime feed;       /* the keyframe from which on packets are decoded; NONE: the first */
} PartRange;

/* Reads the file. NULL with an error, among them that its packets have no times. */
Index *index_read(const Media *media, GstClockTime chunk, GError **error);
void index_free(Index *index);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Index, index_free)

/* Part `part` (from 1) of `parts`. The filters need to have seen `overlap` before their first
 * frame. */
PartRange index_part(const Index *index, guint part, guint parts, GstClockTime overlap);
