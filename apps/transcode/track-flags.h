/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The flags of a track that tell players whether to choose it, and how many tracks a file may have.
 */
#pragma once

#include <glib.h>

/* More than films have. GStreamer takes a thread and memory for each track. */
#define MOST_TRACKS 256

typedef struct {
  gboolean is_off;    /* chosen only by the viewer */
  gboolean is_forced; /* subtitles that are shown with the sound of their language */
} TrackFlags;
