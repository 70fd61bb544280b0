/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Where one thread leaves frames and another takes them: the newest alone, or all of them.
 */
#pragma once

#include <gst/gst.h>

typedef struct _RelaySlot RelaySlot;

typedef enum {
  RELAY_TAKE_FRAME,
  RELAY_TAKE_TIMEOUT,
  RELAY_TAKE_END,
} RelayTake;

/* Holds up to `most` frames. Where it is full, a new frame takes the place of the oldest
 * (`drop`), or its bringer waits. */
RelaySlot *relay_slot_new(guint most, gboolean drop);
void relay_slot_free(RelaySlot *slot);

/* Takes `sample` over. Returns how many frames this dropped: one that was waiting, or `sample`
 * where the slot has ended. */
guint relay_slot_put(RelaySlot *slot, GstSample *sample);

/* Waits for a frame, until g_get_monotonic_time() is `deadline` (0: forever). `sample` is the
 * caller's then. */
RelayTake relay_slot_take(RelaySlot *slot, gint64 deadline, GstSample **sample);

/* No frame comes any more: those that wait are still given out, then RELAY_TAKE_END. */
void relay_slot_end(RelaySlot *slot);

/* As relay_slot_end(), and throws away what waits. */
void relay_slot_abort(RelaySlot *slot);
