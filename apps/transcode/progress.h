/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What the program says while it runs: a bar on a terminal, a line now and then in a pipe, or
 * JSON objects on stdout.
 */
#pragma once

#include "recipe.h"

typedef struct {
  gboolean json;
  gint64 begun, shown; /* monotonic; µs */
} Progress;

/* "12:03.4" or "1:02:03.4". Caller frees. */
gchar *progress_time(GstClockTime time);

/* At the start: what is done with what. Warnings are said here. */
void progress_begin(Progress *progress, const Recipe *recipe, const Options *options);

/* Which backend the elements of the running pipeline have chosen, and whether the filter takes bits
 * from the pictures. */
void progress_backends(const Progress *progress, const Recipe *recipe, GstElement *pipeline);

/* From time to time; shown when it is time. `share` is 0..1, negative where it is not known. */
void progress_show(Progress *progress, gdouble share, guint frames, guint64 bytes);

/* At the end, for a file that is there: `frames` have been encoded. */
void progress_end(const Progress *progress, const gchar *output, guint frames, guint64 bytes,
                  guint broken, GstClockTime first_broken);
