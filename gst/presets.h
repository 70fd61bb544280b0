/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * GstPreset of the elements. A preset is what makes a look: it has the properties of the effect,
 * its map and its regions, and leaves alone what computes it: backend, device, threads and memory.
 */
#pragma once

#include <gst/gst.h>

/* Of G_IMPLEMENT_INTERFACE. */
void gst_cuda_filters_presets_init(gpointer interface, gpointer unused);
