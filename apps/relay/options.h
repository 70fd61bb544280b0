/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The command line.
 */
#pragma once

#include <gst/gst.h>

#include "uri.h"

typedef struct {
  RelayUri *from, *to;
  gchar *filter;         /* a chain as for gst-launch-1.0; "" passes frames on */
  gboolean newest;       /* the newest frame wins; else every frame is filtered */
  gboolean repeat;       /* send the last frame again where the filter is slower */
  gboolean gpu;          /* decode and encode on the GPU if that works here */
  gint latency;          /* ms that network sources wait for late packets */
  gint bitrate;          /* kbit/s of encoded outputs */
  GstClockTime timeout;  /* silence after which to reconnect to a source */
  GstClockTime interval; /* between lines of statistics; 0: none */
  gboolean once;         /* end where the source ends or fails */
  gboolean json;         /* events and statistics as JSON on stdout */
} RelayOptions;

/* Result of reading the command line. */
typedef enum {
  RELAY_OPTIONS_GO_ON,
  RELAY_OPTIONS_ANSWERED, /* --help or --version: printed, end with 0 */
  RELAY_OPTIONS_WRONG,    /* `error` says why */
} RelayOptionsResult;

RelayOptionsResult relay_options_read(RelayOptions *options, int argc, char **argv, GError **error);
void relay_options_clear(RelayOptions *options);
