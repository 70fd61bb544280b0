/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Runs a pipeline of recipe.h to its end, into a file that has its name only once it is whole.
 */
#pragma once

#include "progress.h"
#include "recipe.h"

#define TRANSCODE_ERROR transcode_error_quark()
GQuark transcode_error_quark(void);

/* Codes of TRANSCODE_ERROR. */
typedef enum {
  TRANSCODE_ERROR_BROKEN,      /* the source cannot be read to its end */
  TRANSCODE_ERROR_INTERRUPTED, /* by SIGINT or SIGTERM */
} TranscodeError;

/* Filters the whole file into options->output. */
gboolean run_whole(const Recipe *recipe, const Options *options, GError **error);
