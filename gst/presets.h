/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * GstPreset of the elements. A preset is what makes a look: it has the properties of the effect,
 * its map and its regions, and leaves alone what computes it: backend, device, threads and memory.
 */
#pragma once

#include "basefilter.h"

/* Of G_IMPLEMENT_INTERFACE. */
void gst_cuda_filters_presets_init(gpointer interface, gpointer unused);

/* A value that is being set; freed by g_value_unset. GstPreset escapes strings, and so does the
 * file that it keeps them in, but only one of both is undone where a preset is read. */
void gst_cuda_filters_presets_copy_value(GstCudaFiltersBase *self, const GValue *value,
                                         GValue *copy);
