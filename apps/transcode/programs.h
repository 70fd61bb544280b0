/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The programs of an MPEG transport stream, such as the channels that a receiver recorded together.
 * GStreamer's demuxer reads one of them.
 */
#pragma once

#include <gst/gst.h>

typedef struct {
  GArray *listed; /* guint: numbers in the stream's table of programs, also of some that are not in
                     it */
  GArray *found;  /* guint: those that are there, in the order in which they were found */
} Programs;

void programs_init(Programs *programs);
void programs_clear(Programs *programs);

/* Takes in a message of a demuxer; others are ignored. */
void programs_take(Programs *programs, GstMessage *message);

/* Whether all that are listed have been found. */
gboolean programs_complete(const Programs *programs);

gboolean programs_have(const Programs *programs, guint number);

/* Their numbers, such as "17 and 42". Caller frees. */
gchar *programs_describe(const Programs *programs);

/* Makes `parsebin` read the program of this number; 0: the first that is found. */
void programs_choose(GstElement *parsebin, guint number);
