/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The pipeline that takes frames from a slot, filters and sends them. It keeps running when the
 * source is lost.
 */
#pragma once

#include "contexts.h"
#include "hardware.h"
#include "options.h"
#include "slot.h"
#include "stats.h"

typedef struct _RelayStage RelayStage;

/* The environment of a stage; all of it outlives the stage. */
typedef struct {
  const RelayOptions *options;
  const RelayHardware *hardware;
  RelayStats *stats;
  RelaySlot *slot; /* where frames come from */
  RelayContexts *contexts;
  /* The stage has ended: all frames are sent (`reason` NULL), or it failed. Called once, from the
   * main loop. */
  void (*ended)(const gchar *reason, gpointer data);
  gpointer data;
} RelayStageSetup;

/* Creates the pipeline; errors of the filter and of the output's address are found here. */
RelayStage *relay_stage_new(const RelayStageSetup *setup, GError **error);

/* Starts the pipeline. FALSE: it failed, and `ended` tells why. */
gboolean relay_stage_start(RelayStage *stage);

/* Stops and frees the stage; ends the slot. */
void relay_stage_free(RelayStage *stage);

GstElement *relay_stage_pipeline(RelayStage *stage);
/* The bin of --filter. */
GstElement *relay_stage_filter(RelayStage *stage);
/* Caps of the frames that the stage takes. Static. */
const gchar *relay_stage_caps(const RelayStage *stage);
/* The time of the last frame by the `stats` of the filter's elements, for frames in CUDA memory,
 * which are filtered asynchronously; else GST_CLOCK_TIME_NONE. */
GstClockTime relay_stage_gpu_time(RelayStage *stage);
/* The backend of the filter's elements, such as "cpu"; "-" if unknown. Caller frees. */
gchar *relay_stage_backend(RelayStage *stage);
