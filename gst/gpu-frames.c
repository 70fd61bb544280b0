/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "frames.h"
#include "gpu-compat.h"
#include "gpu-private.h"

GstCudaContext *gst_cuda_filters_gpu_context_of(GstBuffer *buffer)
{
  GstMemory *memory = gst_buffer_n_memory(buffer) ? gst_buffer_peek_memory(buffer, 0) : NULL;

  return memory && gst_is_cuda_memory(memory) ? GST_CUDA_MEMORY_CAST(memory)->context : NULL;
}

/* Streams are named by their owners, as in gpu-compat.h. */
static gboolean order_after(GstCudaFiltersGpu *gpu, gpointer later, gpointer earlier,
                            CfStatus *status)
{
  return later == earlier ||
         (cf_event_record(gpu->order_event, gst_cuda_filters_compat_stream_handle(earlier),
                          status) &&
          cf_stream_wait_event(gst_cuda_filters_compat_stream_handle(later), gpu->order_event,
                               status));
}

/* Memory that one of us wrote on our stream and did not wait for; its next writer is the same
 * element, on the same stream. */
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

/* Runs on `stream`, after what `before` has done to the input, also when mapping it: GStreamer
 * uploads there what the host wrote. */
static gboolean run_mapped(GstCudaFiltersGpu *gpu, GstCudaFiltersWorker *worker,
                           const GstVideoInfo *in_info, const GstVideoInfo *out_info,
                           GstBuffer *input, GstBuffer *output, gpointer before, gpointer stream,
                           CfStatus *status)
{
  const gboolean in_place = input == output;
  GstVideoFrame source, destination;
  gboolean good;

  if (!gst_cuda_filters_frame_map(&source, in_info, input,
                                  GST_MAP_CUDA | (in_place ? GST_MAP_READWRITE : GST_MAP_READ),
                                  status))
    return FALSE;
  if (!in_place && !gst_cuda_filters_frame_map(&destination, out_info, output,
                                               GST_MAP_CUDA | GST_MAP_WRITE, status)) {
    gst_video_frame_unmap(&source);
    return FALSE;
  }
  good = order_after(gpu, stream, before, status) &&
         gst_cuda_filters_worker_run(worker, &source, in_place ? &source : &destination,
                                     gst_cuda_filters_compat_stream_handle(stream), status);
  if (!in_place)
    gst_video_frame_unmap(&destination);
  gst_video_frame_unmap(&source);
  return good;
}

/* A worker's own device memory is ordered by the stream that it last ran on. */
static gboolean change_stream(GstCudaFiltersGpu *gpu, gpointer stream, CfStatus *status)
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
  /* An input without a stream may have been written on ours, by one of us, and is kept until ours
   * has passed. */
  gpointer before = read ? read : own;

  /* Whoever writes into the input next must not overtake this read. */
  if (!change_stream(gpu, stream, status) ||
      !run_mapped(gpu, worker, in_info, out_info, input, output, before, stream, status) ||
      !order_after(gpu, before, stream, status))
    return FALSE;

  if (!written && !gpu->downstream_is_ours) {
    if (!gst_cuda_filters_shared_synchronize(gpu->shared, status))
      return FALSE;
    gst_cuda_filters_compat_memory_is_complete(gst_buffer_peek_memory(output, 0));
    return TRUE;
  }
  /* Filtered in place it may be a foreign pool's, and stays that. */
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
  /* What failed half-way may still read the input, which is let go of now. */
  if (!good)
    gst_cuda_filters_gpu_wait(gpu);
  return good;
}

gboolean gst_cuda_filters_gpu_hand_on(GstCudaFiltersGpu *gpu, GstBuffer *buffer, CfStatus *status)
{
  gboolean good;

  if (!gst_cuda_filters_gpu_context_of(buffer) || gpu->downstream_is_ours ||
      gst_cuda_filters_compat_memory_stream(gst_buffer_peek_memory(buffer, 0)))
    return TRUE;
  /* It may come from one of us that did not wait because we would. */
  if (!gst_cuda_filters_gpu_enter(gpu, status))
    return FALSE;
  good = gst_cuda_filters_shared_synchronize(gpu->shared, status);
  gst_cuda_filters_gpu_leave(gpu);
  return good;
}

/* Staging for these frames: what is under way is as they are already, since changes of caps drain
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
    if (change_stream(gpu, gpu->shared->stream, status) &&
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
