/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The contents of a file: its streams, as GStreamer's parsebin exposes them, its chapters and
 * duration.
 */
#pragma once

#include "mkv-source.h"
#include "mp4-source.h"
#include "programs.h"

#include <gst/gst.h>

typedef enum {
  MEDIA_VIDEO,
  MEDIA_AUDIO,
  MEDIA_TEXT,
  MEDIA_OTHER,
} MediaKind;

/* One stream of the file. */
typedef struct {
  gchar *pad; /* name of parsebin's pad, such as "src_0" */
  MediaKind kind;
  GstCaps *caps;
  GstTagList *tags;      /* of the stream; NULL: none */
  GstSegment segment;    /* the first one */
  GstClockTime first;    /* PTS of its first packet; NONE if none came in time */
  const Mp4Track *track; /* in MP4 files, else NULL */
  guint place;           /* among the tracks of a Matroska or MP4 file; else 0 */
  TrackFlags flags;
  const gchar *name; /* of the track in a Matroska file; NULL: none */
} MediaStream;

/* One file. */
typedef struct {
  gchar *path;
  guint64 missing;          /* bytes cut off its end; 0: none, or unknown */
  GPtrArray *streams;       /* MediaStream, in the file's order, or parsebin's */
  const MediaStream *video; /* the one that is filtered */
  GstToc *toc;              /* NULL: no chapters */
  GstClockTime duration;    /* NONE: unknown */
  MkvSource *mkv;           /* in Matroska and WebM files, else NULL */
  Mp4Source *mp4;           /* in MP4 and QuickTime files, else NULL */
  guint attachments;        /* number of attachments, such as fonts */
  gboolean has_cover;       /* a picture among the tags */
  gboolean keeps_ssa;       /* SubStation Alpha subtitles keep their styles */
  Programs programs;        /* of an MPEG transport stream */
  guint program;            /* the number of the one that is read; 0: there is no choice */
} Media;

/* Opens `path` and reads its beginning. Without `keeps_ssa`, SubStation Alpha subtitles become
 * plain text. `program`: the number of the program to read; 0: the first. NULL with an error if the
 * file does not exist, GStreamer does not know its type, or it has no such program or no video. */
Media *media_open(const gchar *path, gboolean keeps_ssa, guint program, GError **error);
void media_free(Media *media);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Media, media_free)

/* Makes the elements of any pipeline read the file as media_open() did. `media` must outlive them.
 */
void media_prepare(const Media *media, GstElement *filesrc, GstElement *parsebin);

/* A description such as "audio stream 2 (AAC, deu)". `index` counts media->streams. Caller frees.
 */
gchar *media_describe(const Media *media, guint index);

/* For people: what is known to be broken before anything is decoded; NULL: nothing. Caller frees.
 */
gchar *media_describe_damage(const Media *media);
