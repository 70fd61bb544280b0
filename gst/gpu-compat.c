/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "gpu-compat.h"

#include "device.h"

#define HAVE_STREAMS GST_CHECK_VERSION(1, 24, 0)

gboolean gst_cuda_filters_compat_library_matches(void)
{
  guint major, minor, micro, nano;

  gst_version(&major, &minor, &micro, &nano);
  return (major > 1 || minor >= 24) == HAVE_STREAMS;
}

#if !HAVE_STREAMS
/* Exists at run time if the library is 1.24 or later, else NULL. */
void gst_plugin_add_status_warning(GstPlugin *plugin, const gchar *message) __attribute__((weak));
#endif

void gst_cuda_filters_compat_say_mismatch(GstPlugin *plugin)
{
  gchar *version = gst_version_string();
  gchar *message =
      g_strdup_printf("built for GStreamer %d.%d, but runs with %s: it does not offer CUDA memory. "
                      "Rebuild it.",
                      GST_VERSION_MAJOR, GST_VERSION_MINOR, version);

  GST_WARNING("cudafilters was %s", message);
#if !HAVE_STREAMS
  if (gst_plugin_add_status_warning)
#endif
    gst_plugin_add_status_warning(plugin, message);
  g_free(message);
  g_free(version);
}

#if HAVE_STREAMS

void gst_cuda_filters_compat_check_critical(gpointer owner)
{
  (void)gst_cuda_result(CuStreamSynchronize(gst_cuda_stream_get_handle(owner)));
}

gpointer gst_cuda_filters_compat_stream_new(GstCudaContext *context, CfStatus *status)
{
  GstCudaStream *stream = gst_cuda_stream_new(context);

  if (!stream)
    cf_fail(status, CF_ERROR_FAILED, "no CUDA stream could be created");
  return stream;
}

void gst_cuda_filters_compat_stream_free(gpointer owner)
{
  gst_cuda_stream_unref(owner);
}

gpointer gst_cuda_filters_compat_stream_handle(gpointer owner)
{
  return gst_cuda_stream_get_handle(owner);
}

gpointer gst_cuda_filters_compat_stream_ref(gpointer owner)
{
  return gst_cuda_stream_ref(owner);
}

void gst_cuda_filters_compat_stream_unref(gpointer owner)
{
  gst_cuda_stream_unref(owner);
}

gpointer gst_cuda_filters_compat_memory_stream(GstMemory *memory)
{
  return gst_cuda_memory_get_stream(GST_CUDA_MEMORY_CAST(memory));
}

void gst_cuda_filters_compat_memory_is_complete(GstMemory *memory)
{
  GST_MEMORY_FLAG_UNSET(memory, GST_CUDA_MEMORY_TRANSFER_NEED_SYNC);
}

void gst_cuda_filters_compat_config_stream(GstStructure *config, gpointer owner)
{
  GstCudaStream *stream = gst_buffer_pool_config_get_cuda_stream(config);

  if (stream)
    gst_cuda_stream_unref(stream);
  else
    gst_buffer_pool_config_set_cuda_stream(config, owner);
}

#else

void gst_cuda_filters_compat_check_critical(gpointer owner)
{
}

gpointer gst_cuda_filters_compat_stream_new(GstCudaContext *context, CfStatus *status)
{
  return cf_stream_create(status);
}

void gst_cuda_filters_compat_stream_free(gpointer owner)
{
  cf_stream_destroy(owner);
}

gpointer gst_cuda_filters_compat_stream_handle(gpointer owner)
{
  return owner;
}

gpointer gst_cuda_filters_compat_stream_ref(gpointer owner)
{
  return owner;
}

void gst_cuda_filters_compat_stream_unref(gpointer owner)
{
}

gpointer gst_cuda_filters_compat_memory_stream(GstMemory *memory)
{
  return NULL;
}

void gst_cuda_filters_compat_memory_is_complete(GstMemory *memory)
{
}

void gst_cuda_filters_compat_config_stream(GstStructure *config, gpointer owner)
{
}

#endif

/* GStreamer before 1.24.4 places the third plane of planar 4:2:0 half a row too early where the
 * height is odd, so that writing it damages the second (fixed by e813ea8367). */
gboolean gst_cuda_filters_compat_check_planes(const GstVideoInfo *info, CfStatus *status)
{
  guint major, minor, micro, nano;

  gst_version(&major, &minor, &micro, &nano);
  if (GST_VIDEO_INFO_HEIGHT(info) % 2 == 0 || GST_VIDEO_INFO_N_PLANES(info) != 3 ||
      GST_VIDEO_FORMAT_INFO_H_SUB(info->finfo, 1) == 0 || major > 1 || minor > 24 ||
      (minor == 24 && micro >= 4))
    return TRUE;
  return cf_fail(
      status, CF_ERROR_INVALID,
      "GStreamer %u.%u cannot hold %s of odd height %d in CUDA memory: use NV12, an even "
      "height, or GStreamer 1.24.4 and later",
      major, minor, gst_video_format_to_string(GST_VIDEO_INFO_FORMAT(info)),
      GST_VIDEO_INFO_HEIGHT(info));
}
