/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "gpu.h"

#include "device.h"
#include "frames.h"
#include "gpu-compat.h"
#include "gpu-pinned.h"
#include "gpu-staging.h"

GST_DEBUG_CATEGORY_STATIC(gst_cuda_filters_gpu_debug);
#define GST_CAT_DEFAULT gst_cuda_filters_gpu_debug

/* More would mean that the device is frames behind: then it is waited for. */
#define MAX_HELD 8

/* An input that no stream orders, kept until the device has read it. */
typedef struct {
  guint64 number;
  GstBuffer *buffer;
} Held;

/* What all our elements on one context work with. */
typedef struct {
  GstCudaContext *context;
  CfDevice *device;
  gpointer stream; /* owner */
  guint references;

  /* Frames enqueued on `stream` are counted, so that whoever waits for it lets go of what all
   * before have held: asking events would cost every element a call a frame. */
  GMutex lock;
  guint64 enqueued;
  GQueue held;
} Shared;

struct _GstCudaFiltersGpu {
  GstElement *element;

  /* Under the element's object lock: set_context may come from any thread. */
  GstCudaContext *context;

  Shared *shared;              /* while open */
  gpointer order_event;        /* to order another stream with ours */
  gboolean downstream_is_ours; /* what we push is read on our stream */
  gpointer last_stream;        /* CUstream of the last frame: a worker's memory is ordered by it */
  GstCudaFiltersStaging *staging; /* NULL until a frame in system memory came */
};

static gboolean usable;

/* One Shared a context, by GstCudaContext. */
static GMutex shared_lock;
static GHashTable *shared_by_context;

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

/* What is shared on a context */

static gboolean fill_shared(Shared *shared, CfStatus *status)
{
  gboolean good = FALSE;

  if (!gst_cuda_context_push(shared->context))
    return cf_fail(status, CF_ERROR_DEVICE_LOST, "the CUDA context cannot be entered");
  shared->device = cf_device_open(status);
  if (shared->device) {
    shared->stream = gst_cuda_filters_compat_stream_new(shared->context, status);
    good = shared->stream != NULL;
    if (!good)
      cf_device_close(shared->device);
  }
  gst_cuda_context_pop(NULL);
  return good;
}

static Shared *acquire_shared(GstCudaContext *context, CfStatus *status)
{
  Shared *shared;

  g_mutex_lock(&shared_lock);
  if (!shared_by_context)
    shared_by_context = g_hash_table_new(NULL, NULL);
  shared = g_hash_table_lookup(shared_by_context, context);
  if (!shared) {
    shared = g_new0(Shared, 1);
    shared->context = gst_object_ref(context);
    g_mutex_init(&shared->lock);
    g_queue_init(&shared->held);
    if (fill_shared(shared, status)) {
      g_hash_table_insert(shared_by_context, context, shared);
    } else {
      gst_object_unref(shared->context);
      g_mutex_clear(&shared->lock);
      g_clear_pointer(&shared, g_free);
    }
  }
  if (shared)
    shared->references++;
  g_mutex_unlock(&shared_lock);
  return shared;
}

/* Waits for our stream, and lets go of the inputs that it has read. */
static gboolean synchronize(Shared *shared, CfStatus *status)
{
  GQueue read = G_QUEUE_INIT;
  guint64 number;
  gboolean good;
  Held *held;

  g_mutex_lock(&shared->lock);
  number = shared->enqueued;
  g_mutex_unlock(&shared->lock);

  good = cf_stream_synchronize(gst_cuda_filters_compat_stream_handle(shared->stream), status);

  g_mutex_lock(&shared->lock);
  while ((held = g_queue_peek_head(&shared->held)) && held->number <= number)
    g_queue_push_tail(&read, g_queue_pop_head(&shared->held));
  g_mutex_unlock(&shared->lock);
  /* Outside the lock: a pool that gets its buffer back may run anybody's code. */
  while ((held = g_queue_pop_head(&read))) {
    gst_buffer_unref(held->buffer);
    g_free(held);
  }
  return good;
}

/* Keeps `buffer`, which was just enqueued to be read on our stream, until somebody has waited for
 * it. */
static gboolean hold_until_read(Shared *shared, GstBuffer *buffer, CfStatus *status)
{
  Held *held = g_new0(Held, 1);
  guint length;

  held->buffer = gst_buffer_ref(buffer);
  g_mutex_lock(&shared->lock);
  held->number = ++shared->enqueued;
  g_queue_push_tail(&shared->held, held);
  length = g_queue_get_length(&shared->held);
  g_mutex_unlock(&shared->lock);
  return length <= MAX_HELD || synchronize(shared, status);
}

static void release_shared(Shared *shared)
{
  g_mutex_lock(&shared_lock);
  if (--shared->references == 0) {
    g_hash_table_remove(shared_by_context, shared->context);
    if (gst_cuda_context_push(shared->context)) {
      synchronize(shared, NULL);
      cf_device_close(shared->device);
      gst_cuda_filters_compat_stream_free(shared->stream);
      gst_cuda_context_pop(NULL);
    }
    gst_object_unref(shared->context);
    g_mutex_clear(&shared->lock);
    g_free(shared);
  }
  g_mutex_unlock(&shared_lock);
}

/* Opening and closing */

static gboolean open_shared(GstCudaFiltersGpu *gpu, CfStatus *status)
{
  gpu->shared = acquire_shared(gpu->context, status);
  if (!gpu->shared)
    return FALSE;
  if (gst_cuda_filters_gpu_enter(gpu, status)) {
    gpu->order_event = cf_event_create(false, status);
    gst_cuda_filters_gpu_leave(gpu);
  }
  if (!gpu->order_event) {
    release_shared(g_steal_pointer(&gpu->shared));
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
  synchronize(gpu->shared, NULL);
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
  if (!gpu->shared)
    return;
  if (gst_cuda_filters_gpu_enter(gpu, NULL)) {
    wait_for_all(gpu);
    g_clear_pointer(&gpu->staging, gst_cuda_filters_staging_free);
    cf_event_destroy(gpu->order_event);
    gst_cuda_filters_gpu_leave(gpu);
  }
  gpu->order_event = NULL;
  gpu->last_stream = NULL;
  gpu->downstream_is_ours = FALSE;
  release_shared(g_steal_pointer(&gpu->shared));
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
      "pipeline");
}

void gst_cuda_filters_gpu_leave(GstCudaFiltersGpu *gpu)
{
  gst_cuda_context_pop(NULL);
}

CfDevice *gst_cuda_filters_gpu_device(GstCudaFiltersGpu *gpu)
{
  return gpu->shared->device;
}

static GstCudaContext *context_of(GstBuffer *buffer)
{
  GstMemory *memory = gst_buffer_n_memory(buffer) ? gst_buffer_peek_memory(buffer, 0) : NULL;

  return memory && gst_is_cuda_memory(memory) ? GST_CUDA_MEMORY_CAST(memory)->context : NULL;
}

gboolean gst_cuda_filters_gpu_is_foreign(GstCudaFiltersGpu *gpu, GstBuffer *buffer)
{
  GstCudaContext *context = context_of(buffer);

  return context && context != gpu->shared->context;
}

gboolean gst_cuda_filters_gpu_adopt(GstCudaFiltersGpu *gpu, GstBuffer *buffer, gint device_id,
                                    CfStatus *status)
{
  GstCudaContext *context = context_of(buffer);
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

/* Allocation */

/* An element of ours answers an allocation query with this, so that its neighbour above knows that
 * frames are read on the stream that they were written on. */
static GType stream_api(void)
{
  static const gchar *tags[] = {NULL};
  static gsize type = 0;

  if (g_once_init_enter(&type))
    g_once_init_leave(&type, gst_meta_api_type_register("GstCudaFiltersStreamAPI", tags));
  return (GType)type;
}

static gboolean downstream_is_ours(const GstCudaFiltersGpu *gpu, GstQuery *query)
{
  const GstStructure *parameters = NULL;
  gpointer shared = NULL;
  guint index;

  if (!gst_query_find_allocation_meta(query, stream_api(), &index))
    return FALSE;
  gst_query_parse_nth_allocation_meta(query, index, &parameters);
  return parameters && gst_structure_get(parameters, "shared", G_TYPE_POINTER, &shared, NULL) &&
         shared == gpu->shared;
}

/* Sets the pool up and reads back the size of a frame, which the device's pitch decides. */
static gboolean configure_pool(const GstCudaFiltersGpu *gpu, GstBufferPool *pool, GstCaps *caps,
                               guint *size, guint minimum, guint maximum)
{
  GstStructure *config = gst_buffer_pool_get_config(pool);

  gst_buffer_pool_config_add_option(config, GST_BUFFER_POOL_OPTION_VIDEO_META);
  gst_buffer_pool_config_set_params(config, caps, *size, minimum, maximum);
  gst_cuda_filters_compat_config_stream(config, gpu->shared->stream);
  if (!gst_buffer_pool_set_config(pool, config))
    return FALSE;
  config = gst_buffer_pool_get_config(pool);
  gst_buffer_pool_config_get_params(config, NULL, size, NULL, NULL);
  gst_structure_free(config);
  return TRUE;
}

gboolean gst_cuda_filters_gpu_propose_allocation(GstCudaFiltersGpu *gpu, GstQuery *query)
{
  GstStructure *parameters;
  GstCaps *caps = NULL;
  GstVideoInfo info;

  gst_query_parse_allocation(query, &caps, NULL);
  if (!caps || !gst_video_info_from_caps(&info, caps))
    return FALSE;

  if (gst_query_get_n_allocation_pools(query) == 0) {
    GstBufferPool *pool = gst_cuda_buffer_pool_new(gpu->shared->context);
    guint size = (guint)GST_VIDEO_INFO_SIZE(&info);
    const gboolean good = configure_pool(gpu, pool, caps, &size, 0, 0);

    if (good)
      gst_query_add_allocation_pool(query, pool, size, 0, 0);
    gst_object_unref(pool);
    if (!good)
      return FALSE;
  }
  gst_query_add_allocation_meta(query, GST_VIDEO_META_API_TYPE, NULL);
  parameters =
      gst_structure_new("GstCudaFiltersStream", "shared", G_TYPE_POINTER, gpu->shared, NULL);
  gst_query_add_allocation_meta(query, stream_api(), parameters);
  gst_structure_free(parameters);
  return TRUE;
}

static gboolean is_pool_of(const GstCudaFiltersGpu *gpu, GstBufferPool *pool)
{
  return GST_IS_CUDA_BUFFER_POOL(pool) &&
         GST_CUDA_BUFFER_POOL(pool)->context == gpu->shared->context;
}

gboolean gst_cuda_filters_gpu_decide_allocation(GstCudaFiltersGpu *gpu, GstQuery *query)
{
  const gboolean offered = gst_query_get_n_allocation_pools(query) > 0;
  GstBufferPool *pool = NULL;
  GstCaps *caps = NULL;
  GstVideoInfo info;
  guint size, minimum = 0, maximum = 0;
  gboolean good;

  gst_query_parse_allocation(query, &caps, NULL);
  if (!caps || !gst_video_info_from_caps(&info, caps))
    return FALSE;
  gpu->downstream_is_ours = downstream_is_ours(gpu, query);

  size = (guint)GST_VIDEO_INFO_SIZE(&info);
  if (offered)
    gst_query_parse_nth_allocation_pool(query, 0, &pool, &size, &minimum, &maximum);
  if (pool && !is_pool_of(gpu, pool))
    gst_clear_object(&pool);
  if (!pool)
    pool = gst_cuda_buffer_pool_new(gpu->shared->context);
  good = configure_pool(gpu, pool, caps, &size, minimum, maximum);
  if (good && offered)
    gst_query_set_nth_allocation_pool(query, 0, pool, size, minimum, maximum);
  else if (good)
    gst_query_add_allocation_pool(query, pool, size, minimum, maximum);
  gst_object_unref(pool);
  GST_DEBUG_OBJECT(gpu->element, "frames go to %s",
                   gpu->downstream_is_ours ? "one of us" : "others");
  return good;
}

/* The base class sets the query's first allocator on the pool, so it must be there too. */
static void offer_allocator(GstQuery *query, GstAllocator *allocator)
{
  GstAllocationParams parameters;

  gst_allocation_params_init(&parameters);
  if (gst_query_get_n_allocation_params(query) > 0)
    gst_query_set_nth_allocation_param(query, 0, allocator, &parameters);
  else
    gst_query_add_allocation_param(query, allocator, &parameters);
}

static GstBufferPool *pinned_pool(const GstCudaFiltersGpu *gpu, GstQuery *query, GstCaps *caps,
                                  guint size, guint minimum, guint maximum)
{
  GstBufferPool *pool = gst_video_buffer_pool_new();
  GstStructure *config = gst_buffer_pool_get_config(pool);
  GstAllocator *allocator = gst_cuda_filters_pinned_allocator_new(gpu->shared->context);

  gst_buffer_pool_config_set_params(config, caps, size, minimum, maximum);
  gst_buffer_pool_config_set_allocator(config, allocator, NULL);
  gst_buffer_pool_config_add_option(config, GST_BUFFER_POOL_OPTION_VIDEO_META);
  offer_allocator(query, allocator);
  gst_object_unref(allocator);
  if (!gst_buffer_pool_set_config(pool, config))
    gst_clear_object(&pool);
  return pool;
}

gboolean gst_cuda_filters_gpu_propose_system_allocation(GstCudaFiltersGpu *gpu, GstQuery *query)
{
  GstCaps *caps = NULL;
  GstVideoInfo info;
  GstBufferPool *pool;

  gst_query_parse_allocation(query, &caps, NULL);
  if (!caps || !gst_video_info_from_caps(&info, caps))
    return FALSE;
  pool = pinned_pool(gpu, query, caps, (guint)GST_VIDEO_INFO_SIZE(&info), 0, 0);
  if (!pool)
    return FALSE;
  gst_query_add_allocation_pool(query, pool, (guint)GST_VIDEO_INFO_SIZE(&info), 0, 0);
  gst_query_add_allocation_meta(query, GST_VIDEO_META_API_TYPE, NULL);
  gst_object_unref(pool);
  return TRUE;
}

/* Pools of ordinary system memory give way to ours; any other is there for a reason. */
gboolean gst_cuda_filters_gpu_decide_system_allocation(GstCudaFiltersGpu *gpu, GstQuery *query)
{
  const gboolean offered = gst_query_get_n_allocation_pools(query) > 0;
  guint size, minimum = 0, maximum = 0;
  GstBufferPool *pool = NULL;
  GstCaps *caps = NULL;
  GstVideoInfo info;
  gboolean ordinary;

  gst_query_parse_allocation(query, &caps, NULL);
  if (!caps || !gst_video_info_from_caps(&info, caps))
    return FALSE;
  size = (guint)GST_VIDEO_INFO_SIZE(&info);
  if (offered)
    gst_query_parse_nth_allocation_pool(query, 0, &pool, &size, &minimum, &maximum);
  ordinary = !pool || G_OBJECT_TYPE(pool) == GST_TYPE_VIDEO_BUFFER_POOL;
  gst_clear_object(&pool);
  if (!ordinary || size != GST_VIDEO_INFO_SIZE(&info))
    return TRUE;

  pool = pinned_pool(gpu, query, caps, size, minimum, maximum);
  if (!pool)
    return FALSE;
  if (offered)
    gst_query_set_nth_allocation_pool(query, 0, pool, size, minimum, maximum);
  else
    gst_query_add_allocation_pool(query, pool, size, minimum, maximum);
  gst_object_unref(pool);
  return TRUE;
}

/* Frames */

static gboolean order_after(GstCudaFiltersGpu *gpu, gpointer later, gpointer earlier,
                            CfStatus *status)
{
  return cf_event_record(gpu->order_event, earlier, status) &&
         cf_stream_wait_event(later, gpu->order_event, status);
}

/* Memory that one of us wrote on our stream and did not wait for; its next writer is the same
 * element, on the same stream. */
static GQuark ours_quark(void)
{
  return g_quark_from_static_string("cudafilters-ours");
}

static gboolean is_ours(const Shared *shared, GstMemory *memory)
{
  return gst_mini_object_get_qdata(GST_MINI_OBJECT_CAST(memory), ours_quark()) == shared;
}

static void mark_as_ours(Shared *shared, GstMemory *memory)
{
  if (!is_ours(shared, memory))
    gst_mini_object_set_qdata(GST_MINI_OBJECT_CAST(memory), ours_quark(), shared, NULL);
}

static gboolean run_mapped(GstCudaFiltersGpu *gpu, GstCudaFiltersWorker *worker,
                           const GstVideoInfo *info, GstBuffer *input, GstBuffer *output,
                           gpointer stream, CfStatus *status)
{
  const gboolean in_place = input == output;
  GstVideoFrame source, destination;
  gboolean good;

  if (!gst_cuda_filters_frame_map(&source, info, input,
                                  GST_MAP_CUDA | (in_place ? GST_MAP_READWRITE : GST_MAP_READ),
                                  status))
    return FALSE;
  if (!in_place && !gst_cuda_filters_frame_map(&destination, info, output,
                                               GST_MAP_CUDA | GST_MAP_WRITE, status)) {
    gst_video_frame_unmap(&source);
    return FALSE;
  }
  good = gst_cuda_filters_worker_run(worker, &source, in_place ? &source : &destination, stream,
                                     status);
  if (!in_place)
    gst_video_frame_unmap(&destination);
  gst_video_frame_unmap(&source);
  return good;
}

/* A worker's own device memory is ordered by the stream that it last ran on. */
static gboolean change_stream(GstCudaFiltersGpu *gpu, gpointer stream, CfStatus *status)
{
  if (gpu->last_stream && gpu->last_stream != stream &&
      !order_after(gpu, stream, gpu->last_stream, status))
    return FALSE;
  gpu->last_stream = stream;
  return TRUE;
}

static gboolean run_ordered(GstCudaFiltersGpu *gpu, GstCudaFiltersWorker *worker,
                            const GstVideoInfo *info, GstBuffer *input, GstBuffer *output,
                            CfStatus *status)
{
  gpointer own = gst_cuda_filters_compat_stream_handle(gpu->shared->stream);
  gpointer read = gst_cuda_filters_compat_memory_stream(gst_buffer_peek_memory(input, 0));
  gpointer written = gst_cuda_filters_compat_memory_stream(gst_buffer_peek_memory(output, 0));
  gpointer stream = written ? written : own;

  if (!change_stream(gpu, stream, status) ||
      (read && read != stream && !order_after(gpu, stream, read, status)) ||
      !run_mapped(gpu, worker, info, input, output, stream, status))
    return FALSE;

  /* Whoever writes into the input next must not overtake this read. */
  if (read && read != stream && !order_after(gpu, read, stream, status))
    return FALSE;

  if (!written && !gpu->downstream_is_ours) {
    if (!synchronize(gpu->shared, status))
      return FALSE;
    gst_cuda_filters_compat_memory_is_complete(gst_buffer_peek_memory(output, 0));
    return TRUE;
  }
  /* Filtered in place it may be a foreign pool's, and stays that. */
  if (!written && input != output)
    mark_as_ours(gpu->shared, gst_buffer_peek_memory(output, 0));
  return read || input == output || is_ours(gpu->shared, gst_buffer_peek_memory(input, 0)) ||
         hold_until_read(gpu->shared, input, status);
}

gboolean gst_cuda_filters_gpu_run(GstCudaFiltersGpu *gpu, GstCudaFiltersWorker *worker,
                                  const GstVideoInfo *info, GstBuffer *input, GstBuffer *output,
                                  CfStatus *status)
{
  gboolean good;

  if (!context_of(input) || !context_of(output))
    return cf_fail(status, CF_ERROR_FAILED,
                   "a frame is not in CUDA memory although its caps say so");
  if (context_of(output) != gpu->shared->context)
    return cf_fail(
        status, CF_ERROR_FAILED,
        "the next element offers frames of another CUDA context: set its cuda-device-id");
  if (!gst_cuda_filters_gpu_enter(gpu, status))
    return FALSE;
  good = run_ordered(gpu, worker, info, input, output, status);
  gst_cuda_filters_gpu_leave(gpu);
  return good;
}

gboolean gst_cuda_filters_gpu_hand_on(GstCudaFiltersGpu *gpu, GstBuffer *buffer, CfStatus *status)
{
  gboolean good;

  if (!context_of(buffer) || gpu->downstream_is_ours ||
      gst_cuda_filters_compat_memory_stream(gst_buffer_peek_memory(buffer, 0)))
    return TRUE;
  /* It may come from one of us that did not wait because we would. */
  if (!gst_cuda_filters_gpu_enter(gpu, status))
    return FALSE;
  good = synchronize(gpu->shared, status);
  gst_cuda_filters_gpu_leave(gpu);
  return good;
}

/* Staging for `info`: what is under way is of `info` already, since changes of caps drain first. */
static gboolean open_staging(GstCudaFiltersGpu *gpu, const GstVideoInfo *info, CfStatus *status)
{
  if (gpu->staging && !gst_cuda_filters_staging_fits(gpu->staging, info))
    g_clear_pointer(&gpu->staging, gst_cuda_filters_staging_free);
  if (!gpu->staging)
    gpu->staging = gst_cuda_filters_staging_new(info, status);
  return gpu->staging != NULL;
}

gboolean gst_cuda_filters_gpu_submit_system(GstCudaFiltersGpu *gpu, GstCudaFiltersWorker *worker,
                                            const GstVideoInfo *info, guint64 limit,
                                            GstBuffer *input, GstBuffer *output, CfStatus *status)
{
  gpointer stream = gst_cuda_filters_compat_stream_handle(gpu->shared->stream);
  gboolean good = FALSE;

  if (gst_cuda_filters_gpu_enter(gpu, status)) {
    if (change_stream(gpu, stream, status) && open_staging(gpu, info, status)) {
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

guint gst_cuda_filters_gpu_under_way(const GstCudaFiltersGpu *gpu)
{
  return gpu && gpu->staging ? gst_cuda_filters_staging_under_way(gpu->staging) : 0;
}

GstBuffer *gst_cuda_filters_gpu_finish_system(GstCudaFiltersGpu *gpu, GstClockTime *time,
                                              CfStatus *status)
{
  GstBuffer *output;

  if (!gst_cuda_filters_gpu_enter(gpu, status))
    return NULL;
  output = gst_cuda_filters_staging_finish(gpu->staging, time, status);
  gst_cuda_filters_gpu_leave(gpu);
  return output;
}
