/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Checks that every packet of the video becomes a good frame: decoders conceal errors, or leave
 * frames out, without an error.
 */
#pragma once

#include "media.h"

/* The watch on a decoder. */
typedef struct {
  /* Called from the decoder's thread for the first frame that is broken or missing. */
  void (*on_break)(GstClockTime time, gpointer data);
  gpointer data;
  GstClockTime start, end; /* only frames with start <= PTS < end count; NONE: all */

  /* Private. */
  GMutex lock;
  GQueue waiting; /* GstClockTime *, sorted: PTS of packets without a frame so far */
  GstClockTime first_broken;
  guint broken, frames;
  gboolean counts_missing; /* each packet is one frame, so missing ones can be counted */
  GstSegment segment;
} Decoding;

/* Set the public members before. */
void decoding_attach(Decoding *decoding, const MediaStream *video, GstElement *decoder);

/* At the end: the number of frames broken or missing, and the time of the first (NONE: none). */
guint decoding_result(Decoding *decoding, GstClockTime *first_broken);
void decoding_clear(Decoding *decoding);
