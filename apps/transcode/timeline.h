/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Brings every packet of the copied streams to the muxer, at its own time.
 *
 * Files may say that the first samples of a stream are not to be played (its lead, such as the
 * delay of an AAC encoder), and GStreamer drops packets before that point. Here all packets are
 * kept. With a lead a stream would begin before 0, which muxers do not support: either it is
 * delayed by its lead, which is then stored in the file, or all streams are delayed by the longest
 * lead.
 */
#pragma once

#include "media.h"

/* The lead of a stream, in ns. */
GstClockTime timeline_lead(const Media *media, const MediaStream *stream);

/* Attaches to the pads that `parsebin` will have; `media` must outlive it. `with_leads`: the
 * container stores leads, and a file that starts late begins at 0; else it starts as late as
 * before. */
void timeline_attach(const Media *media, GstElement *parsebin, gboolean with_leads);

/* When the last packet of a file ends. */
typedef struct {
  GMutex lock;
  GstClockTime time;
} TimelineEnd;

/* Raises end->time as packets come to the muxer's pads, under end->lock, which the caller has
 * initialised. `end` must outlive `muxer`. */
void timeline_watch_end(TimelineEnd *end, GstElement *muxer);
