/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Frames in system memory through the device: copies in, the worker, copies out. The CUDA context
 * is current in every call.
 */
#pragma once

#include <gst/video/video.h>

#include "engine.h"
#include "worker.h"

typedef struct _GstCudaFiltersStaging GstCudaFiltersStaging;

/* Device memory for one frame of `video` each way; NULL on failure. */
GstCudaFiltersStaging *gst_cuda_filters_staging_new(const CfVideo *video, CfStatus *status);
void gst_cuda_filters_staging_free(GstCudaFiltersStaging *staging);

gboolean gst_cuda_filters_staging_fits(const GstCudaFiltersStaging *staging, const CfVideo *video);

/* Returns when `destination` is written. */
gboolean gst_cuda_filters_staging_run(GstCudaFiltersStaging *staging, GstCudaFiltersWorker *worker,
                                      const GstVideoFrame *source, const GstVideoFrame *destination,
                                      gpointer stream, CfStatus *status);
