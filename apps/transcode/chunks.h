/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The encoder starts afresh at keyframes of the source, so that what it makes of a stretch of the
 * video does not depend on what came before: parts that are made elsewhere are then the same, bit
 * by bit, with any encoder and any way of rate control.
 */
#pragma once

#include <gst/gst.h>

/* Which frames are encoded, and where encoders start. */
typedef struct {
  GstClockTime length;     /* a chunk ends at the first keyframe after this */
  GstClockTime start, end; /* PTS of the frames that are encoded, from and up to; NONE: all */

  /* Private. */
  GMutex lock;
  GstClockTime last; /* where the last chunk starts that is known of */
  GQueue starts;     /* of GstClockTime *: chunks that have not been begun */
  GstElement *encoder;
  gchar **words;
  gboolean stopping, draining, ended;
  gint frames;           /* encoded; atomic */
  GstClockTime position; /* PTS of the last of them */
} Chunks;

/* Watches keyframes that go into `decoder` and frames on their way from `frames`, a queue, into
 * `encoder`, which is described by `words` (they stay). Set length, start and end before. */
void chunks_attach(Chunks *chunks, GstElement *decoder, GstElement *frames, GstElement *encoder,
                   gchar **words);

/* The encoder is not started any more: the pipeline may go to NULL. */
void chunks_stop(Chunks *chunks);
void chunks_clear(Chunks *chunks);

/* How many frames have gone into the encoder, and the PTS of the last. */
guint chunks_progress(Chunks *chunks, GstClockTime *position);

/* The rule: a chunk starts at the first keyframe, and at each that is `length` after the last
 * start, which is `last` (NONE: none yet). */
gboolean chunks_start_at(GstClockTime keyframe, GstClockTime last, GstClockTime length);
