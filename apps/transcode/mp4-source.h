/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What GStreamer's demuxer does not tell of MP4 and QuickTime files: which part of a track is to be
 * played, and chapters.
 *
 * GStreamer 1.22 to 1.28 leave out packets that lie before the part that is played, and as many at
 * the end. So it reads these files without their edit lists, which are applied here.
 */
#pragma once

#include <gst/gst.h>

/* A track. Times in ns. */
typedef struct {
  guint id;
  gchar handler[5];     /* its kind of media: "vide", "soun", "tmcd" */
  guint64 length;       /* of its media; 0: not known */
  guint64 lead;         /* of it, this much is not played at the beginning */
  guint64 delay;        /* it is played from here on */
  guint64 played;       /* this much of it */
  gboolean plain;       /* the above says it all, and the list is hidden from GStreamer */
  gboolean is_off;      /* players do not choose it by themselves */
  gboolean is_chapters; /* titles of chapters, not subtitles */
} Mp4Track;

typedef struct {
  GArray *tracks;   /* of Mp4Track */
  GArray *patches;  /* private */
  guint64 duration; /* ns */
  GstToc *toc;      /* NULL: no chapters */
} Mp4Source;

/* NULL: `path` has no box "moov". */
Mp4Source *mp4_source_read(const gchar *path);
void mp4_source_free(Mp4Source *source);

/* The track of a stream with this id, as qtdemux makes them; NULL: unknown. */
const Mp4Track *mp4_source_track(const Mp4Source *source, const gchar *stream_id);

/* `filesrc` hides plain edit lists from now on. `source` stays while it runs. */
void mp4_source_hide_edits(const Mp4Source *source, GstElement *filesrc);
