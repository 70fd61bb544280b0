/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Blur maps with map_isolate, on the CPU: the map times the samples is blurred by the map, and so
 * is the map alone, which then divides. Both are planes of 16 bits, blurred by engine.h.
 */
#pragma once

#include "cpu/blurmap/engine.h"

/* Belongs to one caller at a time; runs work on the pool's threads. */
typedef struct CfCpuIsolate CfCpuIsolate;

/* NULL without memory, with the reason. */
CfCpuIsolate *cf_cpu_isolate_open(const CfVideo *video, int threads, CfStatus *status);

/* As cf_cpu_blurmap_run, of a field that is made by a map. */
bool cf_cpu_isolate_run(CfCpuIsolate *isolate, const CfBlurRows *rows,
                        const CfRect rects[CF_MAX_PLANES], CfStatus *status);

/* NULL is allowed. */
void cf_cpu_isolate_close(CfCpuIsolate *isolate);
