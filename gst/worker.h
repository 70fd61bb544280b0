/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * An engine opened for negotiated caps: whole frames, and fields where frames are interlaced.
 * A worker is used by one thread at a time.
 */
#pragma once

#include <gst/video/video.h>

#include "engine.h"

typedef struct _GstCudaFiltersWorker GstCudaFiltersWorker;

/* NULL on failure, with the reason in `status`. `output` is as `input` but for effects that make
 * other pictures. `options` is borrowed for the call only, and without a destination. */
GstCudaFiltersWorker *gst_cuda_filters_worker_new(const CfEffect *effect, const CfEngine *engine,
                                                  const GstVideoInfo *input,
                                                  const GstVideoInfo *output, const void *params,
                                                  const CfOpenOptions *options, CfStatus *status);

void gst_cuda_filters_worker_free(GstCudaFiltersWorker *worker);

/* Takes new parameters over for the frames to come; on failure the old ones stay. */
gboolean gst_cuda_filters_worker_update(GstCudaFiltersWorker *worker, const void *params,
                                        CfStatus *status);

/* The frames to come are filtered there only; NULL, as at first, for everywhere. Borrowed until the
 * next call. */
void gst_cuda_filters_worker_set_regions(GstCudaFiltersWorker *worker, const CfRegions *regions);

/* The next frame comes `seconds` after the one before, or, `fresh`, does not go on from it. */
void gst_cuda_filters_worker_set_pace(GstCudaFiltersWorker *worker, gdouble seconds,
                                      gboolean fresh);

/* Filters one mapped frame into another (or the same, where the engine works in place); field by
 * field if `source` is interlaced. `stream` goes to CfJob. */
gboolean gst_cuda_filters_worker_run(GstCudaFiltersWorker *worker, const GstVideoFrame *source,
                                     const GstVideoFrame *destination, void *stream,
                                     CfStatus *status);

/* The same for the planes, rows and stream of `job`, which need not be all rows where
 * gst_cuda_filters_worker_halo says so; its regions are those set here. */
gboolean gst_cuda_filters_worker_run_job(GstCudaFiltersWorker *worker, const CfJob *job,
                                         gboolean interlaced, CfStatus *status);

/* CfEngine.halo of the frames to come; -1 where they are filtered as a whole. */
gint gst_cuda_filters_worker_halo(const GstCudaFiltersWorker *worker, gboolean interlaced);

/* Geometry and format of whole frames that come in, and of those that they become. */
const CfVideo *gst_cuda_filters_worker_video(const GstCudaFiltersWorker *worker);
const CfVideo *gst_cuda_filters_worker_destination(const GstCudaFiltersWorker *worker);

const CfEngine *gst_cuda_filters_worker_engine(const GstCudaFiltersWorker *worker);

/* Whether the next frame may become its own result, with the regions that were set for it. */
gboolean gst_cuda_filters_worker_works_in_place(const GstCudaFiltersWorker *worker);

const gchar *gst_cuda_filters_worker_algorithm(const GstCudaFiltersWorker *worker);
