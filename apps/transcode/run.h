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

/* A run. */
typedef struct {
  const Recipe *recipe;
  const Options *options;
  const GPtrArray *words; /* of the pipeline, which writes output_unfinished(output) */
  const gchar *output;
  const PartRange *range; /* NULL: the whole video */
  guint packets;          /* if parts are joined, the number of their packets; else 0 */
} RunPlan;

/* The result of a run. */
typedef struct {
  guint frames;
  GstClockTime end; /* of the last packet of a file; 0 for parts */
  guint broken;     /* frames of the source that are broken or missing */
  GstClockTime first_broken;
} RunResult;

/* Runs to the end, and leaves the file unfinished for output_commit(). FALSE with an error: there
 * is no file. */
gboolean run_pipeline(const RunPlan *plan, Progress *progress, RunResult *result, GError **error);
