/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Staged frames: maps buffers in system memory, sends them through a transfer (host_transfer.h) to
 * be filtered on the GPU, and returns the outputs. The CUDA context is current in every call.
 *
 * One thread may submit while another one finishes; all other calls need both to be idle.
 */
#pragma once

#include <gst/video/video.h>

#include "engine.h"
#include "gpu.h"
#include "worker.h"

/* Limit on frames in flight. */
#define GST_CUDA_FILTERS_STAGING_FRAMES GST_CUDA_FILTERS_GPU_MAX_IN_FLIGHT

typedef struct _GstCudaFiltersStaging GstCudaFiltersStaging;

/* For frames of `input` that become frames of `output`; NULL on failure. `device` is borrowed. */
GstCudaFiltersStaging *gst_cuda_filters_staging_new(const CfDevice *device,
                                                    const GstVideoInfo *input,
                                                    const GstVideoInfo *output, CfStatus *status);

/* Drops the frames in flight, and waits for them if a context is current: else their work ended
 * with the context. */
void gst_cuda_filters_staging_free(GstCudaFiltersStaging *staging);

gboolean gst_cuda_filters_staging_fits(const GstCudaFiltersStaging *staging,
                                       const GstVideoInfo *input, const GstVideoInfo *output);

/* Starts to filter a frame on `stream`, with at most `limit` bytes of device memory for its strips
 * (0: no limit). Both buffers are transfer full, also on failure, and may be the same. Fewer than
 * GST_CUDA_FILTERS_STAGING_FRAMES are in flight. */
gboolean gst_cuda_filters_staging_submit(GstCudaFiltersStaging *staging,
                                         GstCudaFiltersWorker *worker, guint64 limit,
                                         GstBuffer *input, GstBuffer *output, gpointer stream,
                                         CfStatus *status);

/* Waits for the oldest frame in flight and returns its output (transfer full) and the time it took;
 * NULL on failure. At least one frame is in flight. */
GstBuffer *gst_cuda_filters_staging_finish(GstCudaFiltersStaging *staging, GstClockTime *time,
                                           CfStatus *status);

/* Returns the output of the oldest frame in flight without waiting, after its context was lost. No
 * context need be current. */
GstBuffer *gst_cuda_filters_staging_release(GstCudaFiltersStaging *staging);

/* Waits for all frames in flight and drops their outputs. */
void gst_cuda_filters_staging_drop(GstCudaFiltersStaging *staging);
