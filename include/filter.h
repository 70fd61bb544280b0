/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * An engine at work on pictures of any format: packed pictures that the engine cannot filter itself
 * are unpacked into planes in scratch memory, filtered there, and packed again. What engine.h says
 * of engines, states and jobs holds for filters too. The engine computes in C's default
 * environment for floating-point arithmetic; the caller's is as before afterwards.
 */
#pragma once

#include "engine.h"

typedef struct CfFilter CfFilter;

/* As CfEngine.open. `engine` outlives the filter; the caller closes it. */
CfFilter *cf_filter_open(const CfEngine *engine, const CfVideo *video, const void *params,
                         const CfOpenOptions *options, CfStatus *status);

/* As CfEngine.update. */
bool cf_filter_update(CfFilter *filter, const void *params, CfStatus *status);

/* As CfEngine.run; the job's pictures have the format given to cf_filter_open(), packed or not. In
 * packed pictures that are filtered in place with regions, aligned groups of 16 bytes in which
 * nothing changes are not written. */
bool cf_filter_run(CfFilter *filter, const CfJob *job, CfStatus *status);

/* As CfEngine.algorithm. */
const char *cf_filter_algorithm(const CfFilter *filter);

/* As CfEngine.halo; -1 also where the engine supports no bands. */
int cf_filter_halo(const CfFilter *filter);

/* NULL is allowed. */
void cf_filter_close(CfFilter *filter);
