/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The GPU of one element: the GstCudaContext it shares with its neighbours, the device resources
 * and the stream it shares with all our elements on that context, its buffer pools, and how a frame
 * is run. Built without CUDA, gpu-none.c stands here: there are no caps and open() says why.
 *
 * Called from the streaming thread, but for set_context and answer_query.
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

/* After the element has posted that it needs a context: takes one that other elements of ours have
 * in this process, if nobody has answered. */
void gst_cuda_filters_gpu_share_context(GstCudaFiltersGpu *gpu);

/* Finds or makes the context, and the resources shared on it. False (CF_ERROR_NO_DEVICE) with the
 * reason where there is no usable device. Opening an open one does nothing. */
gboolean gst_cuda_filters_gpu_open(GstCudaFiltersGpu *gpu, gint device_id, CfStatus *status);

/* Waits for everything under way and lets go of the context. Workers must be freed before. */
void gst_cuda_filters_gpu_close(GstCudaFiltersGpu *gpu);

/* Waits for everything under way, as a worker must be before it is freed. */
void gst_cuda_filters_gpu_wait(GstCudaFiltersGpu *gpu);

/* Whether `buffer` lies in another context than the one that is open. */
gboolean gst_cuda_filters_gpu_is_foreign(GstCudaFiltersGpu *gpu, GstBuffer *buffer);

/* Changes over to the context of `buffer`, if `device_id` allows its device. Workers must be freed
 * before and opened again after. */
gboolean gst_cuda_filters_gpu_adopt(GstCudaFiltersGpu *gpu, GstBuffer *buffer, gint device_id,
                                    CfStatus *status);

/* After work was lost to an error that the context does not recover from: ends the process if
 * GST_CUDA_CRITICAL_ERRORS asks for that. */
void gst_cuda_filters_gpu_check_critical(GstCudaFiltersGpu *gpu);

/* Engines are opened, updated and closed between enter and leave: the context is current. */
gboolean gst_cuda_filters_gpu_enter(GstCudaFiltersGpu *gpu, CfStatus *status);
void gst_cuda_filters_gpu_leave(GstCudaFiltersGpu *gpu);
CfDevice *gst_cuda_filters_gpu_device(GstCudaFiltersGpu *gpu);

/* Refuses what this GStreamer cannot hold in CUDA memory without harm. */
gboolean gst_cuda_filters_gpu_check_info(const GstVideoInfo *info, CfStatus *status);

/* The CUDA part of the allocation queries: a pool on our context and stream is proposed upstream,
 * one on our context is taken from downstream or made. */
gboolean gst_cuda_filters_gpu_propose_allocation(GstCudaFiltersGpu *gpu, GstQuery *query);
gboolean gst_cuda_filters_gpu_decide_allocation(GstCudaFiltersGpu *gpu, GstQuery *query);

/* The same for frames in system memory that cross the bus: pools of page-locked frames. */
gboolean gst_cuda_filters_gpu_propose_system_allocation(GstCudaFiltersGpu *gpu, GstQuery *query);
gboolean gst_cuda_filters_gpu_decide_system_allocation(GstCudaFiltersGpu *gpu, GstQuery *query);

/* Filters `input` into `output` (which may be `input`), of these infos and both in CUDA memory,
 * ordered with what is under way on either; the host waits only where a neighbour could not order
 * itself. */
gboolean gst_cuda_filters_gpu_run(GstCudaFiltersGpu *gpu, GstCudaFiltersWorker *worker,
                                  const GstVideoInfo *in_info, const GstVideoInfo *out_info,
                                  GstBuffer *input, GstBuffer *output, CfStatus *status);

/* Makes `buffer`, an input that is handed on as it is, fit for a neighbour that is not ours. */
gboolean gst_cuda_filters_gpu_hand_on(GstCudaFiltersGpu *gpu, GstBuffer *buffer, CfStatus *status);

/* Sends a frame in system memory on its way through the device, with at most `limit` bytes of its
 * memory for the frame (0: no limit); takes both buffers over, also on failure. Fewer than
 * GST_CUDA_FILTERS_GPU_MAX_UNDER_WAY are under way: where frames go as a whole, one arrives, one is
 * filtered and one leaves. */
#define GST_CUDA_FILTERS_GPU_MAX_UNDER_WAY 3
gboolean gst_cuda_filters_gpu_submit_system(GstCudaFiltersGpu *gpu, GstCudaFiltersWorker *worker,
                                            const GstVideoInfo *in_info,
                                            const GstVideoInfo *out_info, guint64 limit,
                                            GstBuffer *input, GstBuffer *output, CfStatus *status);

/* Waits for the oldest of those; its output and the time that it took, or NULL on failure. May be
 * called from another thread than the streaming thread, which meanwhile only submits. */
GstBuffer *gst_cuda_filters_gpu_finish_system(GstCudaFiltersGpu *gpu, GstClockTime *time,
                                              CfStatus *status);
