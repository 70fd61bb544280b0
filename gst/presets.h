/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * GstPreset of the elements. A preset holds the properties that determine the picture: the
 * effect's, its map and its regions; not backend, device, threads and memory.
 */
#pragma once

#include "basefilter.h"

/* Interface initialiser for G_IMPLEMENT_INTERFACE. */
void gst_cuda_filters_presets_init(gpointer interface, gpointer unused);

/* Copies a value that is being set; g_value_unset frees it. While a preset is loaded, unescapes
 * strings: GstPreset and the GKeyFile below it both escape them, but loading undoes only one. */
void gst_cuda_filters_presets_copy_value(GstCudaFiltersBase *self, const GValue *value,
                                         GValue *copy);
