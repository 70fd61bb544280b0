/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Reads from MP4 and QuickTime files what GStreamer's demuxer does not tell: edit lists,
 * chapters, and when and where a film was taken.
 *
 * GStreamer 1.22 to 1.28 drop packets before the part of a track that is played, and as many at its
 * end. So edit lists are hidden from the demuxer, and applied here.
 */
#pragma once

#include <gst/gst.h>

#include "track.h"

/* A track. Times in ns. */
typedef struct {
  Track track;
  gchar handler[5];     /* its kind of media: "vide", "soun", "tmcd" */
  guint64 length;       /* of its media; 0: unknown */
  guint64 lead;         /* part at the beginning of the media that is not played */
  guint64 delay;        /* time in the movie at which it starts to play */
  guint64 played;       /* how long it plays */
  gboolean plain;       /* the above is the whole edit list, which is hidden from GStreamer */
  gboolean is_chapters; /* titles of chapters, not subtitles */
} Mp4Track;

/* When, where and with what a film was taken, as GStreamer does not read it. */
typedef struct {
  guint64 created;   /* as the box "mvhd" has it; 0: unknown */
  GByteArray *place; /* of the user's data: the box "\251xyz" or "loci"; NULL: none */
  GByteArray *keys;  /* the box "meta" of Apple's films; NULL: none */
} Mp4Origin;

typedef struct {
  GArray *tracks;   /* Mp4Track, MOST_TRACKS + 1 at most */
  GArray *patches;  /* private */
  guint64 duration; /* ns */
  GstToc *toc;      /* NULL: no chapters */
  Mp4Origin origin;
} Mp4Source;

/* NULL: `path` has no box "moov". */
Mp4Source *mp4_source_read(const gchar *path);
void mp4_source_free(Mp4Source *source);

/* The track of qtdemux's stream id; NULL: unknown. */
const Mp4Track *mp4_source_track(const Mp4Source *source, const gchar *stream_id);

/* Makes `filesrc` hide plain edit lists from now on. `source` must outlive it. */
void mp4_source_hide_edits(const Mp4Source *source, GstElement *filesrc);
