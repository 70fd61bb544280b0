/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A queue of frames between two threads: of the newest frame alone, or of all frames.
 */
#pragma once

#include <gst/gst.h>

typedef struct _RelaySlot RelaySlot;

typedef enum {
  RELAY_TAKE_FRAME,
  RELAY_TAKE_TIMEOUT,
  RELAY_TAKE_END,
} RelayTake;

/* Holds up to `capacity` frames. When it is full, relay_slot_put() drops the oldest (`drop`), or
 * waits. */
RelaySlot *relay_slot_new(guint capacity, gboolean drop);
void relay_slot_free(RelaySlot *slot);

/* Adds `sample`, transfer full. Returns the number of frames dropped: older ones, or `sample`
 * itself if the slot has ended. */
guint relay_slot_put(RelaySlot *slot, GstSample *sample);

/* Waits for a frame until the monotonic time `deadline` (0: forever). `sample` is transfer full. */
RelayTake relay_slot_take(RelaySlot *slot, gint64 deadline, GstSample **sample);

/* No more frames come: waiting ones are still given out, then RELAY_TAKE_END. */
void relay_slot_end(RelaySlot *slot);

/* As relay_slot_end(), and drops waiting frames. */
void relay_slot_abort(RelaySlot *slot);
