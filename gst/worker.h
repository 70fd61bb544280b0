/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * An engine that is opened for negotiated caps: once for whole frames, and for interlaced video
 * also for its top and bottom fields. A worker is used by one thread at a time.
 */
#pragma once

#include <gst/video/video.h>

#include "engine.h"
#include "frames.h"

typedef struct _GstCudaFiltersWorker GstCudaFiltersWorker;

/* NULL on failure, with the reason in `status`. `output` equals `input` except for effects that
 * change the format. `options` is borrowed for the call; its destination is set here. */
GstCudaFiltersWorker *gst_cuda_filters_worker_new(const CfEffect *effect, const CfEngine *engine,
                                                  const GstVideoInfo *input,
                                                  const GstVideoInfo *output, const void *params,
                                                  const CfOpenOptions *options, CfStatus *status);

/* Whether the worker filters frames with these caps as one that is opened for them would. */
gboolean gst_cuda_filters_worker_suits(const GstCudaFiltersWorker *worker,
                                       const GstVideoInfo *input, const GstVideoInfo *output);

void gst_cuda_filters_worker_free(GstCudaFiltersWorker *worker);

/* Sets the parameters for the next frames; on failure the old ones stay. */
gboolean gst_cuda_filters_worker_update(GstCudaFiltersWorker *worker, const void *params,
                                        CfStatus *status);

/* Restricts the next frames to `regions`, borrowed until the next call; NULL, the default, means
 * the whole frame. */
void gst_cuda_filters_worker_set_regions(GstCudaFiltersWorker *worker, const CfRegions *regions);

/* The next frame comes `seconds` after the last one; with `fresh` it starts a new scene. */
void gst_cuda_filters_worker_set_pace(GstCudaFiltersWorker *worker, gdouble seconds,
                                      gboolean fresh);

/* Filters a frame into another one (or itself, where the engine works in place), field by field if
 * the source is interlaced. `stream` is that of CfJob. */
gboolean gst_cuda_filters_worker_run(GstCudaFiltersWorker *worker,
                                     const GstCudaFiltersFrames *frames, void *stream,
                                     CfStatus *status);

/* Likewise for the planes, rows and stream of `job`, which may be a part of the rows if
 * gst_cuda_filters_worker_halo is not -1. Its regions are set here. */
gboolean gst_cuda_filters_worker_run_job(GstCudaFiltersWorker *worker, const CfJob *job,
                                         gboolean interlaced, CfStatus *status);

/* The regions of a frame, in lines of a field: partly covered lines are covered. The result borrows
 * `scratch`, of CfRegion. */
CfRegions gst_cuda_filters_worker_regions_of_field(const CfRegions *regions, GArray *scratch);

/* Whether `buffer` is filtered field by field; `info` is that of the worker's input. */
gboolean gst_cuda_filters_worker_splits(const GstCudaFiltersWorker *worker,
                                        const GstVideoInfo *info, GstBuffer *buffer);

/* CfEngine.halo for the next frames; -1 where frames can only be filtered as a whole. */
gint gst_cuda_filters_worker_halo(const GstCudaFiltersWorker *worker, gboolean interlaced);

/* Format and size of whole input and output frames. */
const CfVideo *gst_cuda_filters_worker_video(const GstCudaFiltersWorker *worker);
const CfVideo *gst_cuda_filters_worker_destination(const GstCudaFiltersWorker *worker);

const CfEngine *gst_cuda_filters_worker_engine(const GstCudaFiltersWorker *worker);

/* Whether the next frame can be filtered in place, with the regions that are set. */
gboolean gst_cuda_filters_worker_works_in_place(const GstCudaFiltersWorker *worker);

const gchar *gst_cuda_filters_worker_algorithm(const GstCudaFiltersWorker *worker);
