/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Keeps a source alive: a pipeline of its own that receives and decodes, and is made anew, later
 * and later, where it fails, ends or falls silent. Its frames go into a slot.
 */
#pragma once

#include "contexts.h"
#include "options.h"
#include "slot.h"
#include "stats.h"

typedef struct _RelayInput RelayInput;

/* What an input works with; all of it outlives the input. */
typedef struct {
  const RelayOptions *options;
  RelayStats *stats;
  RelaySlot *slot; /* where frames go, with PTS in the running time of `output` */
  RelayContexts *contexts;
  GstElement *output; /* the pipeline that takes them */
  const gchar *caps;  /* of frames that it takes */
  /* There will be no more frames: the source has ended, or (`failed`) cannot be had. Called once,
   * from the main loop. */
  void (*ended)(const gchar *reason, gboolean failed, gpointer data);
  gpointer data;
} RelayInputSetup;

/* Makes the source's elements. NULL with an error where the address or a missing element makes it
 * hopeless. */
RelayInput *relay_input_new(const RelayInputSetup *setup, GError **error);

/* Starts to receive; `output` plays already. A source that is not there yet is waited for. */
void relay_input_start(RelayInput *input);

/* Stops and frees it. The slot must not make a bringer wait then: relay_slot_abort() or
 * relay_slot_end() first. */
void relay_input_free(RelayInput *input);
