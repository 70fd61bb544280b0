/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What is counted and timed, from any thread, and the line about it once a second.
 */
#pragma once

#include <gst/gst.h>
#include <gst/video/video.h>

typedef struct _RelayStats RelayStats;

RelayStats *relay_stats_new(void);
void relay_stats_free(RelayStats *stats);

/* A frame has come from the source, which `captured` it, or got it, then. Its PTS is how the calls
 * below know it again. All times are running times of the output. */
void relay_stats_received(RelayStats *stats, GstClockTime pts, GstClockTime captured);
/* So many frames were given up for newer ones. */
void relay_stats_dropped(RelayStats *stats, guint count);
/* The frame enters the filter. */
void relay_stats_entered(RelayStats *stats, GstClockTime pts, GstClockTime now);
/* It has left the filter. */
void relay_stats_filtered(RelayStats *stats, GstClockTime pts, GstClockTime now);
/* `pts` goes to the output a second time, or under another PTS: `fresh` if it was not sent before.
 */
void relay_stats_renamed(RelayStats *stats, GstClockTime pts, GstClockTime sent_as, gboolean fresh);
/* Bytes of frame `pts` are handed to the output; those of one frame count once. */
void relay_stats_sent(RelayStats *stats, GstClockTime pts, GstClockTime now);
/* The source was lost, and another one is being made. */
void relay_stats_reconnected(RelayStats *stats);
/* What the filter gets now. */
void relay_stats_format(RelayStats *stats, const GstVideoInfo *info);

/* Frames received so far. */
guint64 relay_stats_frames(RelayStats *stats);

/* Reports what happened since the last call: as a status line, or with `json` as an object on
 * stdout. `backend` is what the filter runs on; `gpu_time` the time that its elements say they took
 * for the last frame, or GST_CLOCK_TIME_NONE: what passed between its pads. */
void relay_stats_report(RelayStats *stats, const gchar *backend, GstClockTime gpu_time,
                        gboolean json);

/* Reports the whole run, and why it ended; `failed` if that was an error, which was told. */
void relay_stats_summarize(RelayStats *stats, const gchar *reason, gboolean failed, gboolean json);
