/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Cuts the video into chunks at keyframes of the source, and restarts the encoder for each. A chunk
 * then does not depend on what came before it: parts made on other machines are the same, bit by
 * bit, with any encoder and any rate control.
 */
#pragma once

#include <gst/gst.h>

/* Which frames are encoded, and where encoders start. */
typedef struct {
  GstClockTime length;     /* a chunk ends at the first keyframe after this time */
  GstClockTime start, end; /* encode frames with start <= PTS < end; NONE: all */

  /* Private. */
  GMutex lock;
  GstClockTime last; /* start of the last chunk found so far */
  GQueue starts;     /* GstClockTime *: starts of chunks not begun yet */
  GstElement *encoder;
  gchar **words;
  gboolean stopping, draining, ended;
  gint frames;           /* encoded; atomic */
  GstClockTime position; /* PTS of the last of them */
} Chunks;

/* Watches keyframes before `decoder`, and frames from the queue `frames` to `encoder`, which
 * `words` describe (borrowed). Set length, start and end before. */
void chunks_attach(Chunks *chunks, GstElement *decoder, GstElement *frames, GstElement *encoder,
                   gchar **words);

/* No more restarts of the encoder: the pipeline may go to NULL. */
void chunks_stop(Chunks *chunks);
void chunks_clear(Chunks *chunks);

/* The number of frames sent to the encoder, and the PTS of the last. */
guint chunks_progress(Chunks *chunks, GstClockTime *position);

/* Whether a chunk starts at `keyframe`: the first one does, and each one that is at least `length`
 * after `last`, the last start (NONE: none yet). */
gboolean chunks_start_at(GstClockTime keyframe, GstClockTime last, GstClockTime length);
