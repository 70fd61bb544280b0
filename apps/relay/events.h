/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Reports events: as sentences on stderr, or with --json as JSON on stdout.
 */
#pragma once

#include "hardware.h"
#include "options.h"

/* The text and the detail of an error or warning message, on one line without a full stop. Caller
 * frees. */
gchar *relay_event_describe(GstMessage *message);

/* The program starts. */
void relay_event_started(const RelayOptions *options, const RelayHardware *hardware);
/* The first frame of a source has come. */
void relay_event_connected(const RelayOptions *options, GstElement *source);
/* The source was lost; the next attempt comes in `wait` ms. */
void relay_event_lost(const RelayOptions *options, const gchar *reason, guint wait);
/* A property was set, and reads `value` now. */
void relay_event_property(const RelayOptions *options, const gchar *name, const gchar *value);
/* Something went wrong that does not end the program. */
void relay_event_warning(const RelayOptions *options, const gchar *text);
/* An error that ends the program. */
void relay_event_error(const RelayOptions *options, const gchar *text);
