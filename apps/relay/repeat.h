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

/* Creates two elements (floating) for the pipeline: `sink` ends the chain of the filter, `source`
 * begins that of the output. NULL with APP_ERROR_MISSING. */
RelayRepeat *relay_repeat_new(const RelayRepeatSetup *setup, GstElement **sink, GstElement **source,
                              GError **error);

/* Wakes the threads of both elements. Call before the pipeline is stopped. */
void relay_repeat_stop(RelayRepeat *repeat);
/* Call after the pipeline is freed. */
void relay_repeat_free(RelayRepeat *repeat);
