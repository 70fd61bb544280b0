/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Between the rooms of gpu.h: gpu.c (life), gpu-allocation.c (pools) and gpu-frames.c (frames).
 */
#pragma once

#include "gpu-shared.h"
#include "gpu-staging.h"
#include "gpu.h"

GST_DEBUG_CATEGORY_EXTERN(gst_cuda_filters_gpu_debug);
#define GST_CAT_DEFAULT gst_cuda_filters_gpu_debug

struct _GstCudaFiltersGpu {
  GstElement *element;

  /* Under the element's object lock: set_context and context queries come from any thread. */
  GstCudaContext *context;
  GstCudaContext **found; /* where open() waits for set_context to put a reference, or NULL */
  gboolean answered;      /* it has */
  gint wanted_device;     /* of open(), or -1 */

  GstCudaFiltersShared *shared; /* while open */
  gpointer order_event;         /* to order another stream with ours */
  gboolean downstream_is_ours;  /* what we push is read on our stream */
  gpointer last_stream;         /* owner, held: of the last frame's; it orders a worker's memory */
  GstCudaFiltersStaging *staging; /* NULL until a frame in system memory came */
};

/* The context that a frame in CUDA memory lies in; NULL for other frames. */
GstCudaContext *gst_cuda_filters_gpu_context_of(GstBuffer *buffer);
