/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Whether every packet of the video has become a good frame. Decoders conceal errors, or leave
 * frames out without a word.
 */
#pragma once

#include "media.h"

/* What is watched at a decoder. */
typedef struct {
  /* Called from the decoder's thread for the first frame that is broken or missing. */
  void (*on_break)(GstClockTime time, gpointer data);
  gpointer data;
  GstClockTime start, end; /* only frames from and up to these PTS count; NONE: all */

  /* Private. */
  GMutex lock;
  GQueue waiting; /* PTS of packets that have not come out, sorted; of GstClockTime * */
  GstClockTime first_broken;
  guint broken, frames;
  gboolean counts_missing; /* one packet, one frame */
  GstSegment segment;
} Decoding;

/* Set what is above before. */
void decoding_attach(Decoding *decoding, const MediaStream *video, GstElement *decoder);

/* At the end: how many frames are broken or missing, and the time of the first (NONE: none). */
guint decoding_result(Decoding *decoding, GstClockTime *first_broken);
void decoding_clear(Decoding *decoding);
