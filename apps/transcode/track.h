/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What Matroska and MP4 files tell of each of their tracks, and how many tracks a file may have.
 */
#pragma once

#include <glib.h>

/* More than films have. GStreamer takes a thread and memory for each track. */
#define MOST_TRACKS 256

/* Tell players whether to choose a track. */
typedef struct {
  gboolean is_off;    /* chosen only by the viewer */
  gboolean is_forced; /* subtitles that are shown with the sound of their language */
} TrackFlags;

/* The first member of MkvTrack and Mp4Track. */
typedef struct {
  guint64 id; /* the number of the track in its file, not 0 */
  TrackFlags flags;
} Track;

/* The track of `tracks`, whose elements begin with a Track, with the number that stands after the
 * last `separator` of a stream id, as demuxers write it; NULL: none. The array owns it. */
const Track *track_of_stream(const GArray *tracks, const gchar *stream_id, gchar separator);
