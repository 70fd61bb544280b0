/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Receives and decodes the source in a pipeline of its own. When that fails, ends or falls silent,
 * it is replaced by a new one, after a wait that doubles each time. Frames go into a slot.
 */
#pragma once

#include "contexts.h"
#include "options.h"
#include "slot.h"
#include "stats.h"

typedef struct _RelayInput RelayInput;

/* The environment of an input; all of it outlives the input. */
typedef struct {
  const RelayOptions *options;
  RelayStats *stats;
  RelaySlot *slot; /* where frames go, with PTS in the running time of `output` */
  RelayContexts *contexts;
  GstElement *output; /* the pipeline that takes them */
  const gchar *caps;  /* of frames that the output takes */
  /* There will be no more frames: the source has ended or, with `failed`, cannot be opened. Called
   * once, from the main loop. */
  void (*ended)(const gchar *reason, gboolean failed, gpointer data);
  gpointer data;
} RelayInputSetup;

/* Creates the source's elements. NULL with an error that retrying cannot mend: a wrong address or a
 * missing element. */
RelayInput *relay_input_new(const RelayInputSetup *setup, GError **error);

/* Starts to receive; `output` plays already. Waits for a source that does not exist yet. */
void relay_input_start(RelayInput *input);

/* Stops and frees the input. Call relay_slot_abort() or relay_slot_end() before, so that no thread
 * waits in relay_slot_put(). */
void relay_input_free(RelayInput *input);
