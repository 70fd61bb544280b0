/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The resources that all cudafilters elements on one GstCudaContext share: the device, one stream,
 * and the inputs that are being read on it. Any thread.
 */
#pragma once

#include <gst/gst.h>

#include "device.h"
#include "gpu-compat.h"

typedef struct {
  GstCudaContext *context;
  CfDevice *device;
  gpointer stream; /* owner, as in gpu-compat.h */
  guint references;

  /* Inputs that the stream may still read; under `lock`. They are numbered in the order of their
   * reads, so that any wait for the stream releases all up to that number. An event for each frame
   * would cost every element another CUDA call. */
  GMutex lock;
  guint64 enqueued;
  GQueue held_inputs;
} GstCudaFiltersShared;

/* A context of that device which our elements use already; transfer full; NULL if there is none. */
GstCudaContext *gst_cuda_filters_shared_find_context(guint device_id);

/* The shared resources of `context`, created for the first user; NULL on failure. */
GstCudaFiltersShared *gst_cuda_filters_shared_acquire(GstCudaContext *context, CfStatus *status);

/* The last user waits for the stream. No context need be current. */
void gst_cuda_filters_shared_release(GstCudaFiltersShared *shared);

/* Waits for the stream, and releases the inputs that it has read. The context is current. */
gboolean gst_cuda_filters_shared_synchronize(GstCudaFiltersShared *shared, CfStatus *status);

/* Holds `buffer`, for which a read was just enqueued on the stream and which has no stream of its
 * own, until a wait for the stream. The context is current. */
gboolean gst_cuda_filters_shared_hold(GstCudaFiltersShared *shared, GstBuffer *buffer,
                                      CfStatus *status);
