/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What users set while frames flow, judged before the next one: what cannot be keeps the value that
 * it had, with a warning, and so do settings that have no effect, without losing it.
 *
 * All that was set between two frames is judged together, so that the order does not matter where
 * settings only make sense with each other.
 *
 * Knows only the instance (basefilter.h).
 */
#pragma once

#include "basefilter.h"

/* Whether frames of `video` can be filtered with `wanted_params`. Where running_params are why they
 * cannot, `status` tells; otherwise what was set since and cannot be is refused, in the properties
 * too, and `wanted_params` is what remains. Streaming thread. */
gboolean gst_cuda_filters_base_judge(GstCudaFiltersBase *self, const CfVideo *video,
                                     CfStatus *status);

/* Tells the user, once in a stream, of what was set after `last_turn` and has no effect under
 * running_params. Streaming thread. */
void gst_cuda_filters_base_remark(GstCudaFiltersBase *self, guint64 last_turn);
