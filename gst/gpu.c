/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "gpu.h"

#include "gpu-compat.h"
#include "gpu-private.h"

GST_DEBUG_CATEGORY(gst_cuda_filters_gpu_debug);

static gboolean usable;

void gst_cuda_filters_gpu_init(GstPlugin *plugin)
{
  GST_DEBUG_CATEGORY_INIT(gst_cuda_filters_gpu_debug, "cudafilters-gpu", 0, "CUDA of cudafilters");
  usable = gst_cuda_filters_compat_library_matches();
  if (usable)
    gst_cuda_memory_init_once();
  else
    gst_cuda_filters_compat_say_mismatch(plugin);
}

/* The formats of the engines that GstCudaAllocator supports; it aborts the process on others. */
GstCaps *gst_cuda_filters_gpu_caps(void)
{
  if (!usable)
    return NULL;
  return gst_caps_from_string(GST_VIDEO_CAPS_MAKE_WITH_FEATURES(
      GST_CAPS_FEATURE_MEMORY_CUDA_MEMORY,
      "{ I420, YV12, NV12, NV21, Y42B, Y444, I420_10LE, I422_10LE, P010_10LE, P016_LE, Y444_16LE, "
      "UYVY, YUY2, RGB, BGR, RGBx, BGRx, RGBA, BGRA, ARGB, ABGR, "
      "GBR" GST_CUDA_FILTERS_COMPAT_FORMATS " }"));
}

gboolean gst_cuda_filters_gpu_caps_are_cuda(const GstCaps *caps)
{
  const GstCapsFeatures *features = gst_caps_get_features(caps, 0);

  return features && gst_caps_features_contains(features, GST_CAPS_FEATURE_MEMORY_CUDA_MEMORY);
}

GstCudaFiltersGpu *gst_cuda_filters_gpu_new(GstElement *element)
{
  GstCudaFiltersGpu *gpu = g_new0(GstCudaFiltersGpu, 1);

  gpu->element = element;
  return gpu;
}

void gst_cuda_filters_gpu_free(GstCudaFiltersGpu *gpu)
{
  if (!gpu)
    return;
  gst_cuda_filters_gpu_close(gpu);
  g_free(gpu);
}

void gst_cuda_filters_gpu_set_context(GstCudaFiltersGpu *gpu, GstContext *context, gint device_id)
{
  GstCudaContext *offered = NULL;

  if (!usable || !gst_cuda_load_library() ||
      !gst_cuda_handle_set_context(gpu->element, context, device_id, &offered))
    return;
  GST_OBJECT_LOCK(gpu->element);
  if (!gpu->context)
    gpu->context = gst_object_ref(offered);
  if (gpu->pending_context && !*gpu->pending_context) {
    *gpu->pending_context = gst_object_ref(gpu->context);
    gpu->answered = TRUE;
  }
  GST_OBJECT_UNLOCK(gpu->element);
  gst_object_unref(offered);
}

/* A reference, or NULL. */
static GstCudaContext *hold_context(GstCudaFiltersGpu *gpu)
{
  GstCudaContext *context;

  GST_OBJECT_LOCK(gpu->element);
  context = gpu->context ? gst_object_ref(gpu->context) : NULL;
  GST_OBJECT_UNLOCK(gpu->element);
  return context;
}

static void replace_context(GstCudaFiltersGpu *gpu, GstCudaContext *context)
{
  GstCudaContext *old;

  GST_OBJECT_LOCK(gpu->element);
  old = gpu->context;
  gpu->context = context ? gst_object_ref(context) : NULL;
  GST_OBJECT_UNLOCK(gpu->element);
  gst_clear_object(&old);
}

gboolean gst_cuda_filters_gpu_answer_query(GstCudaFiltersGpu *gpu, GstQuery *query)
{
  GstCudaContext *context = hold_context(gpu);
  const gboolean answered = gst_cuda_handle_context_query(gpu->element, query, context);

  gst_clear_object(&context);
  return answered;
}

/* Opening and closing */

/* Asks the neighbours and the application for a context, which they answer by set_context, or
 * creates one; transfer full. GStreamer writes to the pointer that it is given without taking the
 * object lock, so that pointer is a local variable and not gpu->context. */
static GstCudaContext *find_context(GstCudaFiltersGpu *gpu, gint device_id)
{
  GstCudaContext *found = hold_context(gpu), *late = NULL;

  GST_OBJECT_LOCK(gpu->element);
  gpu->pending_context = &found;
  gpu->answered = FALSE;
  gpu->wanted_device = device_id;
  GST_OBJECT_UNLOCK(gpu->element);
  gst_cuda_ensure_element_context(gpu->element, device_id, &found);
  GST_OBJECT_LOCK(gpu->element);
  gpu->pending_context = NULL;
  if (gpu->answered && gpu->context != found)
    late = gpu->context;
  GST_OBJECT_UNLOCK(gpu->element);
  replace_context(gpu, found);
  gst_clear_object(&late);
  return found;
}

/* A context takes half a gigabyte of device memory, and work in different contexts is time-sliced;
 * so all pipelines for which the application has not chosen a context share one. */
void gst_cuda_filters_gpu_share_context(GstCudaFiltersGpu *gpu)
{
  GstCudaContext *ours = gst_cuda_filters_shared_find_context((guint)MAX(gpu->wanted_device, 0));

  GST_OBJECT_LOCK(gpu->element);
  if (gpu->pending_context && !*gpu->pending_context)
    *gpu->pending_context = g_steal_pointer(&ours);
  GST_OBJECT_UNLOCK(gpu->element);
  gst_clear_object(&ours);
}

static gboolean open_shared(GstCudaFiltersGpu *gpu, GstCudaContext *context, CfStatus *status)
{
  gpu->shared = gst_cuda_filters_shared_acquire(context, status);
  if (!gpu->shared)
    return FALSE;
  if (gst_cuda_filters_gpu_enter(gpu, status)) {
    gpu->order_event = cf_event_create(false, status);
    gst_cuda_filters_gpu_leave(gpu);
  }
  if (!gpu->order_event) {
    gst_cuda_filters_shared_release(g_steal_pointer(&gpu->shared));
    return FALSE;
  }
  return TRUE;
}

gboolean gst_cuda_filters_gpu_open(GstCudaFiltersGpu *gpu, gint device_id, CfStatus *status)
{
  GstCudaContext *context;
  int count = 0;
  gboolean good;

  if (gpu->shared)
    return TRUE;
  if (!usable)
    return cf_fail(status, CF_ERROR_NO_DEVICE,
                   "this plugin was built for another GStreamer than it runs with");
  if (!gst_cuda_load_library())
    return cf_fail(status, CF_ERROR_NO_DEVICE,
                   "the NVIDIA driver (libcuda.so.1) is not installed or does not load");
  if (!cf_device_count(&count, status))
    return FALSE;
  if (device_id >= count)
    return cf_fail(status, CF_ERROR_NO_DEVICE,
                   "cuda-device-id is %d, but there are %d CUDA devices: allowed is -1 to %d",
                   device_id, count, count - 1);
  context = find_context(gpu, device_id);
  if (!context)
    return cf_fail(status, CF_ERROR_NO_DEVICE, "no CUDA context could be created on device %d",
                   MAX(device_id, 0));
  good = open_shared(gpu, context, status);
  gst_object_unref(context);
  return good;
}

/* Waits for all work enqueued so far, on our stream and on that of the last frame. */
static void wait_for_all(GstCudaFiltersGpu *gpu)
{
  if (gpu->staging)
    gst_cuda_filters_staging_drop(gpu->staging);
  gst_cuda_filters_shared_synchronize(gpu->shared, NULL);
  if (gpu->last_stream)
    cf_stream_synchronize(gst_cuda_filters_compat_stream_handle(gpu->last_stream), NULL);
}

void gst_cuda_filters_gpu_wait(GstCudaFiltersGpu *gpu)
{
  if (gst_cuda_filters_gpu_enter(gpu, NULL)) {
    wait_for_all(gpu);
    gst_cuda_filters_gpu_leave(gpu);
  }
}

static void close_shared(GstCudaFiltersGpu *gpu)
{
  gboolean entered;

  if (!gpu->shared)
    return;
  entered = gst_cuda_filters_gpu_enter(gpu, NULL);
  if (entered)
    wait_for_all(gpu);
  g_clear_pointer(&gpu->staging, gst_cuda_filters_staging_free);
  if (entered) {
    cf_event_destroy(gpu->order_event);
    gst_cuda_filters_gpu_leave(gpu);
  }
  gpu->order_event = NULL;
  g_clear_pointer(&gpu->last_stream, gst_cuda_filters_compat_stream_unref);
  gpu->downstream_is_ours = FALSE;
  gst_cuda_filters_shared_release(g_steal_pointer(&gpu->shared));
}

void gst_cuda_filters_gpu_close(GstCudaFiltersGpu *gpu)
{
  if (!gpu)
    return;
  close_shared(gpu);
  replace_context(gpu, NULL);
}

gboolean gst_cuda_filters_gpu_enter(GstCudaFiltersGpu *gpu, CfStatus *status)
{
  if (gst_cuda_context_push(gpu->shared->context))
    return TRUE;
  return cf_fail(
      status, CF_ERROR_DEVICE_LOST,
      "the CUDA context cannot be entered: the device or its context is gone. Restart the "
      "application");
}

void gst_cuda_filters_gpu_leave(GstCudaFiltersGpu *gpu)
{
  gst_cuda_context_pop(NULL);
}

void gst_cuda_filters_gpu_check_critical(GstCudaFiltersGpu *gpu)
{
  if (gpu->shared && gst_cuda_filters_gpu_enter(gpu, NULL)) {
    gst_cuda_filters_compat_check_critical(gpu->shared->stream);
    gst_cuda_filters_gpu_leave(gpu);
  }
}

CfDevice *gst_cuda_filters_gpu_device(GstCudaFiltersGpu *gpu)
{
  return gpu->shared->device;
}

gboolean gst_cuda_filters_gpu_is_foreign(GstCudaFiltersGpu *gpu, GstBuffer *buffer)
{
  GstCudaContext *context = gst_cuda_filters_gpu_context_of(buffer);

  return context && context != gpu->shared->context;
}

gboolean gst_cuda_filters_gpu_adopt(GstCudaFiltersGpu *gpu, GstBuffer *buffer, gint device_id,
                                    CfStatus *status)
{
  GstCudaContext *context = gst_cuda_filters_gpu_context_of(buffer);
  guint buffer_device = 0;

  g_object_get(context, "cuda-device-id", &buffer_device, NULL);
  if (device_id >= 0 && (guint)device_id != buffer_device)
    return cf_fail(status, CF_ERROR_INVALID,
                   "frames come from CUDA device %u, but cuda-device-id is %d: set it to %u or -1",
                   buffer_device, device_id, buffer_device);
  close_shared(gpu);
  replace_context(gpu, context);
  return open_shared(gpu, context, status);
}

gboolean gst_cuda_filters_gpu_check_info(const GstVideoInfo *info, CfStatus *status)
{
  return gst_cuda_filters_compat_check_planes(info, status);
}
