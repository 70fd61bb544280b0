/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Blur maps with map_isolate, on the CPU. The products of map and samples are blurred by the map,
 * and so is the map alone, by which they are then divided. Both are 16-bit planes, blurred by
 * engine.h.
 */
#pragma once

#include "cpu/blurmap/engine.h"

/* Used by one caller at a time; its loops run on the pool's threads. */
typedef struct CfCpuIsolate CfCpuIsolate;

/* NULL when out of memory, with CF_ERROR_NO_MEMORY. The caller closes it. */
CfCpuIsolate *cf_cpu_isolate_open(const CfVideo *video, int threads, CfStatus *status);

/* As cf_cpu_blurmap_run, for a field that is a map (cf_blur_field_isolates). */
bool cf_cpu_isolate_run(CfCpuIsolate *isolate, const CfBlurRows *rows,
                        const CfRect rects[CF_MAX_PLANES], CfStatus *status);

/* NULL is allowed. */
void cf_cpu_isolate_close(CfCpuIsolate *isolate);
