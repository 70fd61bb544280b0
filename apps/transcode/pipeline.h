/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Writes the pipeline of a recipe as words for gst-launch-1.0.
 */
#pragma once

#include "recipe.h"

/* The words (gchar *, without NULL at the end) of the whole pipeline, from the file to `output`. */
GPtrArray *pipeline_whole(const Recipe *recipe, const gchar *output);

/* The words of the pipeline from the file to a part: coded video in GStreamer's data protocol
 * (GDP). */
GPtrArray *pipeline_part(const Recipe *recipe, const gchar *output);

/* The words of the pipeline that joins the parts in `directory` whose names match `pattern` with
 * the rest of the file. */
GPtrArray *pipeline_join(const Recipe *recipe, const gchar *directory, const gchar *pattern,
                         const gchar *output);

/* The words as a line for a shell. Caller frees. */
gchar *pipeline_command_line(const GPtrArray *words);
