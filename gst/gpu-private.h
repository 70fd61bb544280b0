/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The struct shared by the files that implement gpu.h: gpu.c (life cycle), gpu-allocation.c (pools)
 * and gpu-frames.c (frames).
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
  GstCudaContext **pending_context; /* while open() asks for a context: where set_context puts it */
  gboolean answered;                /* set_context has done so */
  gint wanted_device;               /* device_id of open() */

  GstCudaFiltersShared *shared; /* while open */
  gpointer order_event;         /* to make one stream wait for another */
  gboolean downstream_is_ours;  /* downstream reads our output on our stream */
  gpointer last_stream;         /* owner (a reference) of the stream that the worker last ran on */
  GstCudaFiltersStaging *staging; /* NULL until a frame in system memory came */
};

/* The context of the CUDA memory of `buffer`, borrowed; NULL if it has none. */
GstCudaContext *gst_cuda_filters_gpu_context_of(GstBuffer *buffer);
