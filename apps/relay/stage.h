/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The pipeline that stays up whatever becomes of the source: takes frames from a slot, filters them
 * and sends them.
 */
#pragma once

#include "contexts.h"
#include "hardware.h"
#include "options.h"
#include "slot.h"
#include "stats.h"

typedef struct _RelayStage RelayStage;

/* What a stage works with; all of it outlives the stage. */
typedef struct {
  const RelayOptions *options;
  const RelayHardware *hardware;
  RelayStats *stats;
  RelaySlot *slot; /* where frames come from */
  RelayContexts *contexts;
  /* It has ended: all is sent (`reason` NULL), or it failed. Called once, from the main loop. */
  void (*ended)(const gchar *reason, gpointer data);
  gpointer data;
} RelayStageSetup;

/* Makes the pipeline; errors of the filter and of the output's address are found here. */
RelayStage *relay_stage_new(const RelayStageSetup *setup, GError **error);

/* Starts it. FALSE: what failed is told by `ended`. */
gboolean relay_stage_start(RelayStage *stage);

/* Stops and frees it; ends the slot. */
void relay_stage_free(RelayStage *stage);

GstElement *relay_stage_pipeline(RelayStage *stage);
/* The filter that the user asked for. */
GstElement *relay_stage_filter(RelayStage *stage);
/* Caps of the frames that it takes. Static. */
const gchar *relay_stage_caps(const RelayStage *stage);
/* The time that the filter's elements say they took for the last frame, where they alone know it:
 * for frames in CUDA memory; else GST_CLOCK_TIME_NONE. */
GstClockTime relay_stage_gpu_time(RelayStage *stage);
/* What the elements of the filter run on, such as "cpu"; "-" where they do not say. Caller frees.
 */
gchar *relay_stage_backend(RelayStage *stage);
