/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Several filters of one kind at once, as a server runs them.
 */
#pragma once

#include "measure.h"

#define CF_BENCH_MAX_STREAMS 256

typedef struct {
  char algorithm[64];
  double frames_per_second; /* of all together */
} CfRate;

/* `count` filters, each in a thread of its own, on a device on a stream of its own; they take turns
 * at the sources, and each has a destination of its own. */
bool cf_measure_streams(const CfWork *work, int count, CfRate *rate, CfStatus *status);
