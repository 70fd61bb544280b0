/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "gpu-pinned.h"
#include "gpu-private.h"

/* Our elements add this API to the allocation query, so that an upstream element of ours knows that
 * its output is read on the stream it was written on, and does not wait for the device. */
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

/* Configures the pool, and reads back the size of a buffer, which depends on the device's pitch. */
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
  /* propose_allocation decides what upstream is offered: no meta of downstream is forwarded. */
  while (gst_query_get_n_allocation_metas(query) > 0)
    gst_query_remove_nth_allocation_meta(query, 0);
  GST_DEBUG_OBJECT(gpu->element, "frames go to %s",
                   gpu->downstream_is_ours ? "one of us" : "others");
  return good;
}

/* The base class configures the pool with the query's first allocator, so ours must be that one. */
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

/* Replaces a plain GstVideoBufferPool, or none, by a pinned pool. Any other pool of downstream is
 * kept, since downstream needs its kind of memory. */
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
