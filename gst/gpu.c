/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "gpu.h"

#include "gpu-compat.h"
#include "gpu-private.h"

GST_DEBUG_CATEGORY(gst_cuda_filters_gpu_debug);

static gboolean usable;

void gst_cuda_filters_gpu_init(void)
{
  GST_DEBUG_CATEGORY_INIT(gst_cuda_filters_gpu_debug, "cudafilters-gpu", 0, "CUDA of cudafilters");
  usable = gst_cuda_filters_compat_library_matches();
  if (usable)
    gst_cuda_memory_init_once();
  else
    g_warning(
        "cudafilters was built for another GStreamer (%d.%d) than it runs with (%s): frames in "
        "CUDA memory are not offered. Rebuild it.",
        GST_VERSION_MAJOR, GST_VERSION_MINOR, gst_version_string());
}

/* Formats that GstCudaAllocator knows in every version since 1.22 and the engines too; it would
 * abort the process on others. */
GstCaps *gst_cuda_filters_gpu_caps(void)
{
  if (!usable)
    return NULL;
  return gst_caps_from_string(GST_VIDEO_CAPS_MAKE_WITH_FEATURES(
      GST_CAPS_FEATURE_MEMORY_CUDA_MEMORY, "{ I420, YV12, NV12, NV21, Y42B, Y444, I420_10LE, "
                                           "P010_10LE, P016_LE, Y444_16LE, RGB, BGR, RGBx, "
                                           "BGRx, RGBA, BGRA, ARGB, ABGR, GBR }"));
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
  gst_clear_object(&gpu->context);
  g_free(gpu);
}

void gst_cuda_filters_gpu_set_context(GstCudaFiltersGpu *gpu, GstContext *context, gint device_id)
{
  if (usable && gst_cuda_load_library())
    gst_cuda_handle_set_context(gpu->element, context, device_id, &gpu->context);
}

gboolean gst_cuda_filters_gpu_answer_query(GstCudaFiltersGpu *gpu, GstQuery *query)
{
  return gst_cuda_handle_context_query(gpu->element, query, gpu->context);
}

/* Opening and closing */

static gboolean open_shared(GstCudaFiltersGpu *gpu, CfStatus *status)
{
  gpu->shared = gst_cuda_filters_shared_acquire(gpu->context, status);
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
  int count = 0;

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
  if (!gst_cuda_ensure_element_context(gpu->element, device_id, &gpu->context))
    return cf_fail(status, CF_ERROR_NO_DEVICE, "no CUDA context could be created on device %d",
                   MAX(device_id, 0));
  return open_shared(gpu, status);
}

/* Everything enqueued so far has passed, on the stream of the last frame and on ours. */
static void wait_for_all(GstCudaFiltersGpu *gpu)
{
  if (gpu->staging)
    gst_cuda_filters_staging_drop(gpu->staging);
  gst_cuda_filters_shared_synchronize(gpu->shared, NULL);
  if (gpu->last_stream)
    cf_stream_synchronize(gpu->last_stream, NULL);
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
  gpu->last_stream = NULL;
  gpu->downstream_is_ours = FALSE;
  gst_cuda_filters_shared_release(g_steal_pointer(&gpu->shared));
}

void gst_cuda_filters_gpu_close(GstCudaFiltersGpu *gpu)
{
  if (!gpu)
    return;
  close_shared(gpu);
  GST_OBJECT_LOCK(gpu->element);
  gst_clear_object(&gpu->context);
  GST_OBJECT_UNLOCK(gpu->element);
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
  GST_OBJECT_LOCK(gpu->element);
  gst_object_replace((GstObject **)&gpu->context, GST_OBJECT(context));
  GST_OBJECT_UNLOCK(gpu->element);
  return open_shared(gpu, status);
}

gboolean gst_cuda_filters_gpu_check_info(const GstVideoInfo *info, CfStatus *status)
{
  return gst_cuda_filters_compat_check_planes(info, status);
}
