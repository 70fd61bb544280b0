/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * An index of the packets of a file's video, made without decoding: where chunks start, and which
 * chunks each part has.
 */
#pragma once

#include "media.h"

typedef struct {
  GArray *keyframes; /* GstClockTime: PTS */
  GArray *starts;    /* GstClockTime: PTS at which chunks start */
  guint packets;
  GChecksum *checksum; /* of times and sizes of packets; identifies the file */
} Index;

/* The range of a part. */
typedef struct {
  gboolean empty;          /* there are more parts than chunks */
  GstClockTime start, end; /* start <= PTS < end; NONE: from the beginning, to the end */
  GstClockTime feed;       /* the keyframe at which decoding starts; NONE: the first */
} PartRange;

/* Reads the file. NULL with an error, also if keyframes have no times. */
Index *index_read(const Media *media, GstClockTime chunk, GError **error);
void index_free(Index *index);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Index, index_free)

/* The range of part `part` (from 1) of `parts`. Filters with memory need to see frames from
 * `overlap` before the part's start. */
PartRange index_part(const Index *index, guint part, guint parts, GstClockTime overlap);
