/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What the program tells as it happens: sentences on stderr, or JSON on stdout with --json.
 */
#pragma once

#include "hardware.h"
#include "options.h"

/* What an error or a warning message says: its text, and the detail that elements put behind it,
 * on one line without a full stop. Caller frees. */
gchar *relay_event_describe(GstMessage *message);

/* It starts. `backend` is what the filter runs on. */
void relay_event_started(const RelayOptions *options, const RelayHardware *hardware);
/* The first frame of a source has come. */
void relay_event_connected(const RelayOptions *options, GstElement *source);
/* The source was lost; the next attempt comes in `wait` ms. */
void relay_event_lost(const RelayOptions *options, const gchar *reason, guint wait);
/* A property was set, and reads `value` now. */
void relay_event_property(const RelayOptions *options, const gchar *name, const gchar *value);
/* Something went wrong that does not end the program. */
void relay_event_warning(const RelayOptions *options, const gchar *text);
/* What ends it. */
void relay_event_error(const RelayOptions *options, const gchar *text);
