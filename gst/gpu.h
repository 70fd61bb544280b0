/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The GPU of one element: the GstCudaContext that it shares with its neighbours, the device
 * resources and the stream that it shares with all cudafilters elements on that context ("ours" in
 * the comments of gpu-*), its buffer pools, and the running of frames. In builds without CUDA
 * gpu-none.c implements this file: there are no caps, and open() fails with the reason.
 *
 * Called from the streaming thread, except set_context and answer_query.
 */
#pragma once

#include <gst/video/video.h>

#include "engine.h"
#include "worker.h"

typedef struct _GstCudaFiltersGpu GstCudaFiltersGpu;

/* Once per process, from plugin_init. */
void gst_cuda_filters_gpu_init(GstPlugin *plugin);

/* `video/x-raw(memory:CUDAMemory)` with the formats that GStreamer can allocate there; transfer
 * full; NULL where CUDA memory cannot be used. */
GstCaps *gst_cuda_filters_gpu_caps(void);

/* Whether `caps` are of frames in CUDA memory. */
gboolean gst_cuda_filters_gpu_caps_are_cuda(const GstCaps *caps);

/* `element` is borrowed and outlives the result. */
GstCudaFiltersGpu *gst_cuda_filters_gpu_new(GstElement *element);
void gst_cuda_filters_gpu_free(GstCudaFiltersGpu *gpu);

/* GstElement::set_context and the context query of the element. */
void gst_cuda_filters_gpu_set_context(GstCudaFiltersGpu *gpu, GstContext *context, gint device_id);
gboolean gst_cuda_filters_gpu_answer_query(GstCudaFiltersGpu *gpu, GstQuery *query);

/* After the element has posted NEED_CONTEXT: if nobody answered, uses the context of other elements
 * of ours in this process. */
void gst_cuda_filters_gpu_share_context(GstCudaFiltersGpu *gpu);

/* Finds or creates the context, and the resources shared on it. False (CF_ERROR_NO_DEVICE) with the
 * reason where no device can be used. Does nothing if it is open. */
gboolean gst_cuda_filters_gpu_open(GstCudaFiltersGpu *gpu, gint device_id, CfStatus *status);

/* Waits for all work in flight and releases the context. The worker must be freed before. */
void gst_cuda_filters_gpu_close(GstCudaFiltersGpu *gpu);

/* Waits for all work in flight, as is needed before a worker is freed. */
void gst_cuda_filters_gpu_wait(GstCudaFiltersGpu *gpu);

/* Whether the memory of `buffer` belongs to another context than the open one. */
gboolean gst_cuda_filters_gpu_is_foreign(GstCudaFiltersGpu *gpu, GstBuffer *buffer);

/* Changes over to the context of `buffer`, if `device_id` (-1: any) is its device. The worker must
 * be freed before and opened again after. */
gboolean gst_cuda_filters_gpu_adopt(GstCudaFiltersGpu *gpu, GstBuffer *buffer, gint device_id,
                                    CfStatus *status);

/* After an error that the context does not recover from: ends the process if
 * GST_CUDA_CRITICAL_ERRORS lists that error. */
void gst_cuda_filters_gpu_check_critical(GstCudaFiltersGpu *gpu);

/* enter makes the context current, leave undoes that. Engines are opened, updated and closed in
 * between. */
gboolean gst_cuda_filters_gpu_enter(GstCudaFiltersGpu *gpu, CfStatus *status);
void gst_cuda_filters_gpu_leave(GstCudaFiltersGpu *gpu);
CfDevice *gst_cuda_filters_gpu_device(GstCudaFiltersGpu *gpu);

/* Fails for frames that this version of GStreamer lays out wrongly in CUDA memory. */
gboolean gst_cuda_filters_gpu_check_info(const GstVideoInfo *info, CfStatus *status);

/* Allocation queries for CUDA memory: propose offers upstream a pool on our context and stream,
 * decide takes a pool on our context from downstream, or makes one. */
gboolean gst_cuda_filters_gpu_propose_allocation(GstCudaFiltersGpu *gpu, GstQuery *query);
gboolean gst_cuda_filters_gpu_decide_allocation(GstCudaFiltersGpu *gpu, GstQuery *query);

/* Likewise for staged frames in system memory: pools of page-locked memory. */
gboolean gst_cuda_filters_gpu_propose_system_allocation(GstCudaFiltersGpu *gpu, GstQuery *query);
gboolean gst_cuda_filters_gpu_decide_system_allocation(GstCudaFiltersGpu *gpu, GstQuery *query);

/* Filters `input` into `output`, which may be `input`; both in CUDA memory. The work is ordered by
 * streams and events with other work on these buffers; the host waits only where a neighbour does
 * not use streams. */
gboolean gst_cuda_filters_gpu_run(GstCudaFiltersGpu *gpu, GstCudaFiltersWorker *worker,
                                  const GstVideoInfo *in_info, const GstVideoInfo *out_info,
                                  GstBuffer *input, GstBuffer *output, CfStatus *status);

/* Prepares `buffer`, an input that passes through unfiltered, for a neighbour that is not ours:
 * waits where it may still be written on our stream. */
gboolean gst_cuda_filters_gpu_prepare_pass_through(GstCudaFiltersGpu *gpu, GstBuffer *buffer,
                                                   CfStatus *status);

/* Starts to filter a frame in system memory on the GPU, with at most `limit` bytes of device memory
 * for it (0: no limit). Both buffers are transfer full, also on failure. At most MAX_IN_FLIGHT
 * frames may be in flight: one being uploaded, one filtered and one downloaded. */
#define GST_CUDA_FILTERS_GPU_MAX_IN_FLIGHT 3
gboolean gst_cuda_filters_gpu_submit_system(GstCudaFiltersGpu *gpu, GstCudaFiltersWorker *worker,
                                            const GstVideoInfo *in_info,
                                            const GstVideoInfo *out_info, guint64 limit,
                                            GstBuffer *input, GstBuffer *output, CfStatus *status);

/* Waits for the oldest frame in flight; returns its output (transfer full) and the time it took,
 * NULL on failure. May be called from another thread, while the streaming thread only submits. */
GstBuffer *gst_cuda_filters_gpu_finish_system(GstCudaFiltersGpu *gpu, GstClockTime *time,
                                              CfStatus *status);
