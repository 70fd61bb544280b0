/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Frames in system memory through the device: buffers mapped, sent through a transfer
 * (host_transfer.h), and given back when they are done. The CUDA context is current in every call.
 *
 * One thread submits and another one may finish; who else calls makes sure that neither does.
 */
#pragma once

#include <gst/video/video.h>

#include "engine.h"
#include "gpu.h"
#include "worker.h"

/* Frames that can be under way at once. */
#define GST_CUDA_FILTERS_STAGING_FRAMES GST_CUDA_FILTERS_GPU_MAX_UNDER_WAY

typedef struct _GstCudaFiltersStaging GstCudaFiltersStaging;

/* For frames of `input` that become frames of `output`; NULL on failure. `device` is borrowed. */
GstCudaFiltersStaging *gst_cuda_filters_staging_new(const CfDevice *device,
                                                    const GstVideoInfo *input,
                                                    const GstVideoInfo *output, CfStatus *status);

/* Drops what is under way. Without a current context that is not waited for: it ended with it. */
void gst_cuda_filters_staging_free(GstCudaFiltersStaging *staging);

gboolean gst_cuda_filters_staging_fits(const GstCudaFiltersStaging *staging,
                                       const GstVideoInfo *input, const GstVideoInfo *output);

/* Sends a frame on its way, filtered on `stream`, with at most `limit` bytes of device memory for
 * its strips (0: no limit); takes both buffers over, also on failure. They may be the same. Fewer
 * than GST_CUDA_FILTERS_STAGING_FRAMES are under way. */
gboolean gst_cuda_filters_staging_submit(GstCudaFiltersStaging *staging,
                                         GstCudaFiltersWorker *worker, guint64 limit,
                                         GstBuffer *input, GstBuffer *output, gpointer stream,
                                         CfStatus *status);

/* Waits for the oldest frame under way and returns its output, and the time that it took; NULL on
 * failure. At least one is under way. */
GstBuffer *gst_cuda_filters_staging_finish(GstCudaFiltersStaging *staging, GstClockTime *time,
                                           CfStatus *status);

/* Returns the output of the oldest frame under way without waiting: its context is gone, and all
 * that was under way in it. No context need be current. */
GstBuffer *gst_cuda_filters_staging_release(GstCudaFiltersStaging *staging);

/* Waits for all and drops them. */
void gst_cuda_filters_staging_drop(GstCudaFiltersStaging *staging);
