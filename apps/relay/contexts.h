/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Shares GstContexts, such as the CUDA context, among all pipelines of the program, so that frames
 * can go from one to the other without a copy.
 */
#pragma once

#include <gst/gst.h>

typedef struct _RelayContexts RelayContexts;

RelayContexts *relay_contexts_new(void);
void relay_contexts_free(RelayContexts *contexts);

/* Gives `pipeline` the contexts known so far, and from now on collects those that it makes. */
void relay_contexts_join(RelayContexts *contexts, GstElement *pipeline);
/* To be called before `pipeline` is freed. */
void relay_contexts_leave(RelayContexts *contexts, GstElement *pipeline);
