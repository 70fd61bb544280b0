/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Explains to people why a run failed. Callers free the errors.
 */
#pragma once

#include "run.h"

/* The source is broken at `time`, after so many `frames`. */
GError *failure_broken(const RunPlan *plan, guint frames, GstClockTime time, const gchar *cause);

/* No format suits all elements: errors do not tell which element failed, and parsebin posts none of
 * a demuxer that it is just starting. */
GError *failure_to_negotiate(const Recipe *recipe);

/* An error message of the pipeline. `frames` and `position`: how far the run has come. */
GError *failure_of(const RunPlan *plan, GstElement *pipeline, GstMessage *message, guint frames,
                   GstClockTime position);

/* Whether a message is from the element of this name, or one in it. */
gboolean failure_is_from(const GstMessage *message, GstElement *pipeline, const gchar *name);
