/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * When encoded frames came, for streams whose own times do not tell.
 */
#pragma once

#include <gst/gst.h>

typedef struct _RelayArrivals RelayArrivals;

RelayArrivals *relay_arrivals_new(void);
void relay_arrivals_free(RelayArrivals *arrivals);

/* Notes from now on when each frame reaches `pad`. `arrivals` outlives the pad. */
void relay_arrivals_watch(RelayArrivals *arrivals, GstPad *pad);

/* The monotonic time (us) at which the frame of that running time came, or 0. */
gint64 relay_arrivals_find(RelayArrivals *arrivals, GstClockTime time);
