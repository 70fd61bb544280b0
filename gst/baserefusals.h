/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Checks the parameters that were set while frames flow, before the next frame is filtered: a value
 * that is not allowed is refused with a warning, and the property returns to its old value; a value
 * that is allowed but has no effect stays, with a warning.
 *
 * All parameters set between two frames are checked together, so that their order does not matter
 * where one is allowed only with another.
 */
#pragma once

#include "basefilter.h"

/* Makes `wanted` allowed for frames of `video`, by refusing new values where needed: those
 * properties, and their members of `wanted`, go back to those of `running`. False, with the reason,
 * where even `running` is not allowed. Streaming thread. */
gboolean gst_cuda_filters_base_check_params(GstCudaFiltersBase *self, const CfVideo *video,
                                            CfStatus *status);

/* Warns, once in a stream, of each parameter that was set after `last_serial` and has no effect
 * with `running` (CfEffect.remarks). Streaming thread. */
void gst_cuda_filters_base_warn_of_unused(GstCudaFiltersBase *self, guint64 last_serial);
