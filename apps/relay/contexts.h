/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * One CUDA context for all pipelines of the program, so that frames go from one to the other.
 */
#pragma once

#include <gst/gst.h>

typedef struct _RelayContexts RelayContexts;

RelayContexts *relay_contexts_new(void);
void relay_contexts_free(RelayContexts *contexts);

/* Gives `pipeline` the contexts that others have made, and from now on takes note of its own. */
void relay_contexts_join(RelayContexts *contexts, GstElement *pipeline);
/* To be called before `pipeline` is freed. */
void relay_contexts_leave(RelayContexts *contexts, GstElement *pipeline);
