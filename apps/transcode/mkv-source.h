/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What GStreamer's demuxer does not tell of Matroska and WebM files: what is broken in them, and
 * the names and flags of tracks.
 */
#pragma once

#include "track.h"

typedef struct {
  Track track;
  gchar *name; /* NULL: none */
} MkvTrack;

typedef struct {
  guint64 missing; /* bytes that the file lacks at its end; 0: none */
  guint64 damage;  /* of one that lacks none, where its structure is broken; 0: nowhere */
  GArray *tracks;  /* of MkvTrack, MOST_TRACKS + 1 at most */
} MkvSource;

MkvSource *mkv_source_read(const gchar *path);
void mkv_source_free(MkvSource *source);

/* The track of a stream with this id, as matroskademux makes them; NULL: unknown. */
const MkvTrack *mkv_source_track(const MkvSource *source, const gchar *stream_id);
