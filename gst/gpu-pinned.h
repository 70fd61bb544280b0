/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Page-locked (pinned) system memory for staged frames: it is copied at full bus speed, and
 * concurrently with kernels.
 */
#pragma once

#include <gst/gst.h>

#include "gpu-compat.h"

/* A new allocator; transfer full. Its memory can be used as any system memory, and is not
 * page-locked where page-locked memory has run out. */
GstAllocator *gst_cuda_filters_pinned_allocator_new(GstCudaContext *context);

/* Whether all memory of `buffer` comes from such an allocator and is page-locked. */
gboolean gst_cuda_filters_is_pinned(GstBuffer *buffer);
