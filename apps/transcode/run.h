/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Runs a pipeline of recipe.h to its end.
 */
#pragma once

#include "index.h"
#include "progress.h"
#include "recipe.h"

#define TRANSCODE_ERROR transcode_error_quark()
GQuark transcode_error_quark(void);

/* Codes of TRANSCODE_ERROR. */
typedef enum {
  TRANSCODE_ERROR_BROKEN,      /* the source cannot be read to its end */
  TRANSCODE_ERROR_INTERRUPTED, /* by SIGINT or SIGTERM */
} TranscodeError;

/* What to run. */
typedef struct {
  const Recipe *recipe;
  const Options *options;
  const GPtrArray *words; /* of the pipeline, into output_unfinished(output) */
  const gchar *output;
  const PartRange *range; /* NULL: the whole video */
  guint packets;          /* parts with so many frames are joined; 0: the video is filtered */
} RunPlan;

/* How it ended. */
typedef struct {
  guint frames;
  guint broken; /* frames of the source */
  GstClockTime first_broken;
} RunResult;

/* Runs until the end; the file is still unfinished then. FALSE with an error: there is none. */
gboolean run_pipeline(const RunPlan *plan, Progress *progress, RunResult *result, GError **error);
