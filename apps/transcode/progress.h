/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Reports progress: a bar on a terminal, lines in a pipe, or JSON objects on stdout.
 */
#pragma once

#include "recipe.h"

typedef struct {
  gboolean json;
  gint64 begun, shown; /* monotonic; µs */
} Progress;

/* "12:03.4" or "1:02:03.4". Caller frees. */
gchar *progress_time(GstClockTime time);

/* At the start: prints files, elements and warnings. */
void progress_begin(Progress *progress, const Recipe *recipe, const Options *options);

/* While it runs: prints a warning. */
void progress_warn(const Progress *progress, const gchar *format, ...) G_GNUC_PRINTF(2, 3);

/* Prints the backends of the running pipeline's elements, and a warning if the filter reduces the
 * depth of the pictures. */
void progress_backends(const Progress *progress, const Recipe *recipe, GstElement *pipeline);

/* May be called often; shows progress at intervals. `share` is 0..1, negative if unknown. */
void progress_show(Progress *progress, gdouble share, guint frames, guint64 bytes);

/* At the end, for a finished file with `frames` encoded frames. */
void progress_end(const Progress *progress, const gchar *output, guint frames, guint64 bytes,
                  guint broken, GstClockTime first_broken);
