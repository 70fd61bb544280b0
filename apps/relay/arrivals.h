/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Arrival times of encoded frames, for streams whose timestamps do not tell them.
 */
#pragma once

#include <gst/gst.h>

typedef struct _RelayArrivals RelayArrivals;

RelayArrivals *relay_arrivals_new(void);
void relay_arrivals_free(RelayArrivals *arrivals);

/* From now on records when each frame reaches `pad`. `arrivals` outlives the pad. */
void relay_arrivals_watch(RelayArrivals *arrivals, GstPad *pad);

/* The monotonic time (us) at which the frame with this running time arrived, or 0. */
gint64 relay_arrivals_find(RelayArrivals *arrivals, GstClockTime time);
