/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What all our elements on one GstCudaContext work with: the device's resources, one stream, and
 * the inputs that are being read on it. May be used from any thread.
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

  /* Frames enqueued on `stream` are counted, so that whoever waits for it lets go of what all
   * before have held: asking events would cost every element a call a frame. */
  GMutex lock;
  guint64 enqueued;
  GQueue held;
} GstCudaFiltersShared;

/* A context of that device that elements of ours work on; transfer full; NULL if there is none. */
GstCudaContext *gst_cuda_filters_shared_find_context(guint device_id);

/* Finds or makes what is shared on `context`; NULL on failure. */
GstCudaFiltersShared *gst_cuda_filters_shared_acquire(GstCudaContext *context, CfStatus *status);

/* The last one waits for the stream. No context need be current. */
void gst_cuda_filters_shared_release(GstCudaFiltersShared *shared);

/* Waits for the stream, and lets go of the inputs that it has read. The context is current. */
gboolean gst_cuda_filters_shared_synchronize(GstCudaFiltersShared *shared, CfStatus *status);

/* Keeps `buffer`, which was just enqueued to be read on the stream and which nothing else orders,
 * until somebody has waited for it. The context is current. */
gboolean gst_cuda_filters_shared_hold(GstCudaFiltersShared *shared, GstBuffer *buffer,
                                      CfStatus *status);
