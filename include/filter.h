/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * An engine at work, on pictures of any format: what it does not filter packed itself, it is handed
 * as planes in scratch memory. What engine.h says of engines, their states and their jobs holds
 * here.
 */
#pragma once

#include "engine.h"

typedef struct CfFilter CfFilter;

/* As CfEngine.open; the engine's row outlives the filter. */
CfFilter *cf_filter_open(const CfEngine *engine, const CfVideo *video, const void *params,
                         const CfOpenOptions *options, CfStatus *status);

bool cf_filter_update(CfFilter *filter, const void *params, CfStatus *status);

/* `job` is of pictures of the video given to cf_filter_open(), packed or not. Of packed ones that
 * are filtered in place in regions, aligned 16 bytes in which nothing changes are not written. */
bool cf_filter_run(CfFilter *filter, const CfJob *job, CfStatus *status);

const char *cf_filter_algorithm(const CfFilter *filter);

/* As CfEngine.halo; -1 also where the engine knows no bands. */
int cf_filter_halo(const CfFilter *filter);

/* NULL is allowed. */
void cf_filter_close(CfFilter *filter);
