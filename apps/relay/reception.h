/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The end of a source's pipeline: puts its frames into the slot, with timestamps for the output's
 * pipeline.
 */
#pragma once

#include "arrivals.h"
#include "options.h"
#include "slot.h"
#include "stats.h"

typedef struct _RelayReception RelayReception;

/* The environment of a reception; all of it outlives the pipeline. */
typedef struct {
  const RelayUri *from;
  RelayStats *stats;
  RelaySlot *slot;
  GstElement *output; /* the pipeline whose running time frames get */
  const gchar *caps;  /* of frames that are wanted */
} RelayReceptionSetup;

/* Adds an appsink to `pipeline`, which owns the reception from then on. */
RelayReception *relay_reception_new(const RelayReceptionSetup *setup, GstElement *pipeline);

/* The pad to link the video to; a reference. */
GstPad *relay_reception_get_pad(RelayReception *reception);
/* For arrival times, with sources that have relay_source_tells_no_time(); lives as long as the
 * pipeline. */
RelayArrivals *relay_reception_get_arrivals(RelayReception *reception);

/* When the last frame came, in monotonic us; 0: none has come. */
gint64 relay_reception_last_time(RelayReception *reception);

/* From now on drops all frames. Call before the pipeline is stopped. */
void relay_reception_close(RelayReception *reception);
