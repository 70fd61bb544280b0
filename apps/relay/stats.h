/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Counts and times frames, from any thread, and reports them.
 */
#pragma once

#include <gst/gst.h>
#include <gst/video/video.h>

typedef struct _RelayStats RelayStats;

RelayStats *relay_stats_new(void);
void relay_stats_free(RelayStats *stats);

/* A frame came from the source, which captured or received it at `captured`. The calls below
 * identify it by its PTS. All times are running times of the output. */
void relay_stats_received(RelayStats *stats, GstClockTime pts, GstClockTime captured);
/* `count` frames were dropped for newer ones. */
void relay_stats_dropped(RelayStats *stats, guint count);
/* A frame enters the filter. */
void relay_stats_entered(RelayStats *stats, GstClockTime pts, GstClockTime now);
/* A frame has left the filter. */
void relay_stats_filtered(RelayStats *stats, GstClockTime pts, GstClockTime now);
/* Frame `pts` is sent again, or with another PTS, `sent_as`; `fresh`: it was not sent before. */
void relay_stats_renamed(RelayStats *stats, GstClockTime pts, GstClockTime sent_as, gboolean fresh);
/* Data of frame `pts` reached the output; each frame counts once. */
void relay_stats_sent(RelayStats *stats, GstClockTime pts, GstClockTime now);
/* A source that was lost delivers frames again. */
void relay_stats_reconnected(RelayStats *stats);
/* Format of the filter's input from now on. */
void relay_stats_format(RelayStats *stats, const GstVideoInfo *info);

/* Frames received so far. */
guint64 relay_stats_frames(RelayStats *stats);

/* Reports the time since the last call: as a status line, or with `json` as an object on stdout.
 * `backend` and `gpu_time` are from stage.h; without a gpu_time the filter's time is that from its
 * sink pad to its source pad. */
void relay_stats_report(RelayStats *stats, const gchar *backend, GstClockTime gpu_time,
                        gboolean json);

/* Reports the whole run, and why it ended; `failed`: by an error, which was reported already. */
void relay_stats_summarize(RelayStats *stats, const gchar *reason, gboolean failed, gboolean json);
