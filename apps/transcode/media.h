/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What is in a file: its streams as GStreamer's parsebin gives them, chapters, and how long it is.
 */
#pragma once

#include "mkv-source.h"
#include "mp4-source.h"

#include <gst/gst.h>

typedef enum {
  MEDIA_VIDEO,
  MEDIA_AUDIO,
  MEDIA_TEXT,
  MEDIA_OTHER,
} MediaKind;

/* One stream of the file. */
typedef struct {
  gchar *pad; /* of parsebin, such as "src_0" */
  MediaKind kind;
  GstCaps *caps;
  GstTagList *tags;      /* of the stream; NULL: none */
  GstSegment segment;    /* its first one */
  GstClockTime first;    /* PTS of its first packet; NONE where none has come in time */
  const Mp4Track *track; /* of an MP4 file; NULL: of another */
  TrackFlags flags;
  const gchar *name; /* NULL: none */
} MediaStream;

/* One file. */
typedef struct {
  gchar *path;
  guint64 missing;          /* bytes that have been cut off its end; 0 where that is not known */
  GPtrArray *streams;       /* of MediaStream, in parsebin's order */
  const MediaStream *video; /* the one that is filtered */
  GstToc *toc;              /* NULL: no chapters */
  GstClockTime duration;    /* NONE: unknown */
  MkvSource *mkv;           /* of Matroska and WebM files; NULL: another */
  Mp4Source *mp4;           /* of MP4 files and their relatives; NULL: another */
  guint attachments;        /* fonts and the like */
  gboolean has_cover;       /* a picture among the tags */
  gboolean keeps_ssa;       /* subtitles of SubStation Alpha stay such, with their styles */
} Media;

/* Opens `path` and reads its beginning. Without `keeps_ssa` subtitles of SubStation Alpha are plain
 * text. NULL with an error if there is no such file, it is none
 * that GStreamer knows, or it has no video. */
Media *media_open(const gchar *path, gboolean keeps_ssa, GError **error);
void media_free(Media *media);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Media, media_free)

/* For people: "audio stream 2 (AAC, deu)". `index` is that in media->streams. Caller frees. */
gchar *media_describe(const Media *media, guint index);

/* For people: what is known to be broken before anything is decoded; NULL: nothing. Caller frees.
 */
gchar *media_describe_damage(const Media *media);
