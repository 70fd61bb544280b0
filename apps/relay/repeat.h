/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * --repeat: between filter and output, sends the last filtered frame again while the next one is
 * not ready, so that the output keeps the rate of the source.
 */
#pragma once

#include <gst/gst.h>

#include "stats.h"

typedef struct _RelayRepeat RelayRepeat;

typedef struct {
  RelayStats *stats;
  GstElement *pipeline; /* for its clock */
} RelayRepeatSetup;

/* Gives the two elements (floating) to put in the pipeline: `sink` ends the filter's chain, and
 * `source` begins the output's. NULL with APP_ERROR_MISSING. */
RelayRepeat *relay_repeat_new(const RelayRepeatSetup *setup, GstElement **sink, GstElement **source,
                              GError **error);

/* Lets go of the threads of both elements; before the pipeline is stopped. */
void relay_repeat_stop(RelayRepeat *repeat);
/* After the pipeline has gone. */
void relay_repeat_free(RelayRepeat *repeat);
