/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Page-locked system memory for frames that cross the bus: copies run at full bus speed and beside
 * kernels.
 */
#pragma once

#include <gst/gst.h>

#include "gpu-compat.h"

/* An allocator of such memory; transfer full. Its memory is ordinary system memory to everybody
 * else, and falls back to that where page-locked memory has run out. */
GstAllocator *gst_cuda_filters_pinned_allocator_new(GstCudaContext *context);

/* Whether all memory of `buffer` is of such an allocator, and page-locked. */
gboolean gst_cuda_filters_is_pinned(GstBuffer *buffer);
