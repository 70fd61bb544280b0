/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "frames.h"
#include "gpu-compat.h"
#include "gpu-private.h"

GstCudaContext *gst_cuda_filters_gpu_context_of(GstBuffer *buffer)
{
  GstMemory *memory = gst_buffer_n_memory(buffer) ? gst_buffer_peek_memory(buffer, 0) : NULL;

  return memory && gst_is_cuda_memory(memory) ? GST_CUDA_MEMORY_CAST(memory)->context : NULL;
}

/* Makes stream `later` wait for the work enqueued on `earlier`; both are owners, as in
 * gpu-compat.h. */
static gboolean order_after(GstCudaFiltersGpu *gpu, gpointer later, gpointer earlier,
                            CfStatus *status)
{
  return later == earlier ||
         (cf_event_record(gpu->order_event, gst_cuda_filters_compat_stream_handle(earlier),
                          status) &&
          cf_stream_wait_event(gst_cuda_filters_compat_stream_handle(later), gpu->order_event,
                               status));
}

/* Marks memory without a stream that an element of ours writes on our stream, without waiting for
 * the device. It comes from that element's pool, so the next writer uses the same stream. */
static GQuark ours_quark(void)
{
  return g_quark_from_static_string("cudafilters-ours");
}

static gboolean is_ours(const GstCudaFiltersShared *shared, GstMemory *memory)
{
  return gst_mini_object_get_qdata(GST_MINI_OBJECT_CAST(memory), ours_quark()) == shared;
}

static void mark_as_ours(GstCudaFiltersShared *shared, GstMemory *memory)
{
  if (!is_ours(shared, memory))
    gst_mini_object_set_qdata(GST_MINI_OBJECT_CAST(memory), ours_quark(), shared, NULL);
}

/* Runs the worker on `stream`, after the work on stream `before`, on which the input is written:
 * also by mapping it, which uploads what the host wrote. */
static gboolean run_mapped(GstCudaFiltersGpu *gpu, GstCudaFiltersWorker *worker,
                           const GstVideoInfo *in_info, const GstVideoInfo *out_info,
                           GstBuffer *input, GstBuffer *output, gpointer before, gpointer stream,
                           CfStatus *status)
{
  GstCudaFiltersFrames frames;
  gboolean good;

  if (!gst_cuda_filters_frames_map(&frames, in_info, out_info, input, output, GST_MAP_CUDA, status))
    return FALSE;
  good = order_after(gpu, stream, before, status) &&
         gst_cuda_filters_worker_run(worker, &frames, gst_cuda_filters_compat_stream_handle(stream),
                                     status);
  gst_cuda_filters_frames_unmap(&frames);
  return good;
}

/* The worker's own device memory is ordered by the stream of its last run: makes `stream` wait for
 * that one. */
static gboolean switch_stream(GstCudaFiltersGpu *gpu, gpointer stream, CfStatus *status)
{
  if (gpu->last_stream == stream)
    return TRUE;
  if (gpu->last_stream) {
    if (!order_after(gpu, stream, gpu->last_stream, status))
      return FALSE;
    gst_cuda_filters_compat_stream_unref(gpu->last_stream);
  }
  gpu->last_stream = gst_cuda_filters_compat_stream_ref(stream);
  return TRUE;
}

static gboolean run_ordered(GstCudaFiltersGpu *gpu, GstCudaFiltersWorker *worker,
                            const GstVideoInfo *in_info, const GstVideoInfo *out_info,
                            GstBuffer *input, GstBuffer *output, CfStatus *status)
{
  gpointer own = gpu->shared->stream;
  gpointer read = gst_cuda_filters_compat_memory_stream(gst_buffer_peek_memory(input, 0));
  gpointer written = gst_cuda_filters_compat_memory_stream(gst_buffer_peek_memory(output, 0));
  gpointer stream = written ? written : own;
  /* An input without a stream may have been written on our stream, by an element of ours; it is
   * held until our stream has read it. */
  gpointer before = read ? read : own;

  /* The last wait keeps the input's next writer behind this read. */
  if (!switch_stream(gpu, stream, status) ||
      !run_mapped(gpu, worker, in_info, out_info, input, output, before, stream, status) ||
      !order_after(gpu, before, stream, status))
    return FALSE;

  if (!written && !gpu->downstream_is_ours) {
    if (!gst_cuda_filters_shared_synchronize(gpu->shared, status))
      return FALSE;
    gst_cuda_filters_compat_memory_is_complete(gst_buffer_peek_memory(output, 0));
    return TRUE;
  }
  /* A buffer filtered in place may be from another element's pool, and is not marked. */
  if (!written && input != output)
    mark_as_ours(gpu->shared, gst_buffer_peek_memory(output, 0));
  return read || input == output || is_ours(gpu->shared, gst_buffer_peek_memory(input, 0)) ||
         gst_cuda_filters_shared_hold(gpu->shared, input, status);
}

gboolean gst_cuda_filters_gpu_run(GstCudaFiltersGpu *gpu, GstCudaFiltersWorker *worker,
                                  const GstVideoInfo *in_info, const GstVideoInfo *out_info,
                                  GstBuffer *input, GstBuffer *output, CfStatus *status)
{
  gboolean good;

  if (!gst_cuda_filters_gpu_context_of(input) || !gst_cuda_filters_gpu_context_of(output))
    return cf_fail(status, CF_ERROR_FAILED,
                   "a frame is not in CUDA memory although its caps say so");
  if (gst_cuda_filters_gpu_context_of(output) != gpu->shared->context)
    return cf_fail(
        status, CF_ERROR_FAILED,
        "the next element offers frames of another CUDA context: set its cuda-device-id");
  if (!gst_cuda_filters_gpu_enter(gpu, status))
    return FALSE;
  good = run_ordered(gpu, worker, in_info, out_info, input, output, status);
  gst_cuda_filters_gpu_leave(gpu);
  /* Work that was enqueued before the failure may still read the input, which is released now. */
  if (!good)
    gst_cuda_filters_gpu_wait(gpu);
  return good;
}

gboolean gst_cuda_filters_gpu_prepare_pass_through(GstCudaFiltersGpu *gpu, GstBuffer *buffer,
                                                   CfStatus *status)
{
  gboolean good;

  if (!gst_cuda_filters_gpu_context_of(buffer) || gpu->downstream_is_ours ||
      gst_cuda_filters_compat_memory_stream(gst_buffer_peek_memory(buffer, 0)))
    return TRUE;
  /* An upstream element of ours may have left the waiting to us. */
  if (!gst_cuda_filters_gpu_enter(gpu, status))
    return FALSE;
  good = gst_cuda_filters_shared_synchronize(gpu->shared, status);
  gst_cuda_filters_gpu_leave(gpu);
  return good;
}

/* Opens staging for these frames. Nothing of other frames is in flight, since changes of caps drain
 * first. */
static gboolean open_staging(GstCudaFiltersGpu *gpu, const GstVideoInfo *in_info,
                             const GstVideoInfo *out_info, CfStatus *status)
{
  if (gpu->staging && !gst_cuda_filters_staging_fits(gpu->staging, in_info, out_info))
    g_clear_pointer(&gpu->staging, gst_cuda_filters_staging_free);
  if (!gpu->staging)
    gpu->staging = gst_cuda_filters_staging_new(gpu->shared->device, in_info, out_info, status);
  return gpu->staging != NULL;
}

gboolean gst_cuda_filters_gpu_submit_system(GstCudaFiltersGpu *gpu, GstCudaFiltersWorker *worker,
                                            const GstVideoInfo *in_info,
                                            const GstVideoInfo *out_info, guint64 limit,
                                            GstBuffer *input, GstBuffer *output, CfStatus *status)
{
  gpointer stream = gst_cuda_filters_compat_stream_handle(gpu->shared->stream);
  gboolean good = FALSE;

  if (gst_cuda_filters_gpu_enter(gpu, status)) {
    if (switch_stream(gpu, gpu->shared->stream, status) &&
        open_staging(gpu, in_info, out_info, status)) {
      good = gst_cuda_filters_staging_submit(gpu->staging, worker, limit, input, output, stream,
                                             status);
      input = NULL;
    }
    gst_cuda_filters_gpu_leave(gpu);
  }
  if (input) {
    if (output != input)
      gst_buffer_unref(output);
    gst_buffer_unref(input);
  }
  return good;
}

GstBuffer *gst_cuda_filters_gpu_finish_system(GstCudaFiltersGpu *gpu, GstClockTime *time,
                                              CfStatus *status)
{
  GstBuffer *output;

  if (!gst_cuda_filters_gpu_enter(gpu, status)) {
    output = gst_cuda_filters_staging_release(gpu->staging);
    gst_clear_buffer(&output);
    return NULL;
  }
  output = gst_cuda_filters_staging_finish(gpu->staging, time, status);
  gst_cuda_filters_gpu_leave(gpu);
  return output;
}
