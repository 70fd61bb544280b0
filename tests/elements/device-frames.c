/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "device-frames.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

GstCaps *device_caps(const CfVideo *video)
{
  gchar *text = g_strdup_printf("video/x-raw(memory:CUDAMemory), format=%s, width=%d, height=%d, "
                                "framerate=25/1",
                                cf_format_info(video->format)->name, video->width, video->height);
  GstCaps *caps = gst_caps_from_string(text);

  g_free(text);
  return caps;
}

GstBufferPool *device_pool(GstCudaContext *context, const CfVideo *video, gpointer stream)
{
  GstBufferPool *pool = gst_cuda_buffer_pool_new(context);
  GstStructure *config = gst_buffer_pool_get_config(pool);
  GstCaps *caps = device_caps(video);
  GstVideoInfo info;

  fail_unless(gst_video_info_from_caps(&info, caps));
  gst_buffer_pool_config_set_params(config, caps, (guint)info.size, 0, 0);
  gst_buffer_pool_config_add_option(config, GST_BUFFER_POOL_OPTION_VIDEO_META);
  if (stream)
    gst_cuda_filters_compat_config_stream(config, stream);
  fail_unless(gst_buffer_pool_set_config(pool, config));
  fail_unless(gst_buffer_pool_set_active(pool, TRUE));
  gst_caps_unref(caps);
  return pool;
}

void free_device_pool(GstBufferPool *pool)
{
  gst_buffer_pool_set_active(pool, FALSE);
  gst_object_unref(pool);
}

GstBuffer *acquire_device_buffer(GstBufferPool *pool)
{
  GstBuffer *buffer = NULL;

  fail_unless_equals_int(gst_buffer_pool_acquire_buffer(pool, &buffer, NULL), GST_FLOW_OK);
  return buffer;
}

void map_device_buffer(GstVideoFrame *frame, const CfVideo *video, GstBuffer *buffer,
                       GstMapFlags flags)
{
  GstCaps *caps = device_caps(video);
  GstVideoInfo info;

  fail_unless(gst_video_info_from_caps(&info, caps));
  fail_unless(gst_video_frame_map(frame, &info, buffer, flags));
  gst_caps_unref(caps);
}

GstBuffer *device_buffer(GstBufferPool *pool, const CfTestPicture *picture)
{
  const CfVideo *video = &picture->video;
  GstBuffer *buffer = acquire_device_buffer(pool);
  GstVideoFrame frame;

  map_device_buffer(&frame, video, buffer, GST_MAP_WRITE);
  for (int plane = 0; plane < cf_format_info(video->format)->planes; plane++) {
    for (int y = 0; y < cf_plane_height(video, plane); y++)
      memcpy((guint8 *)GST_VIDEO_FRAME_PLANE_DATA(&frame, plane) +
                 y * GST_VIDEO_FRAME_PLANE_STRIDE(&frame, plane),
             picture->planes.data[plane] + y * picture->planes.stride[plane],
             cf_row_bytes(video, plane));
  }
  gst_video_frame_unmap(&frame);
  map_device_buffer(&frame, video, buffer, (GstMapFlags)(GST_MAP_READ | GST_MAP_CUDA));
  gst_video_frame_unmap(&frame);
  GST_BUFFER_PTS(buffer) = 0;
  GST_BUFFER_DURATION(buffer) = 40 * GST_MSECOND;
  return buffer;
}

GstCudaContext *context_of(GstBuffer *buffer)
{
  GstMemory *memory = gst_buffer_peek_memory(buffer, 0);

  fail_unless(gst_is_cuda_memory(memory), "the frame is not in CUDA memory");
  return GST_CUDA_MEMORY_CAST(memory)->context;
}

GstCudaContext *context_of_element(GstElement *element)
{
  GstQuery *query = gst_query_new_context(GST_CUDA_CONTEXT_TYPE);
  GstPad *pad = gst_element_get_static_pad(element, "src");
  GstCudaContext *found = NULL;
  GstContext *context;

  fail_unless(gst_pad_query(pad, query));
  gst_query_parse_context(query, &context);
  fail_unless(gst_structure_get(gst_context_get_structure(context), GST_CUDA_CONTEXT_TYPE,
                                GST_TYPE_CUDA_CONTEXT, &found, NULL));
  gst_query_unref(query);
  gst_object_unref(pad);
  return found;
}

int run_device_tests(int argc, char **argv, const char *name, void (*add_tests)(TCase *),
                     GstCudaContext **context)
{
  int status;

  gst_init(&argc, &argv);
  if (gst_cuda_load_library())
    *context = gst_cuda_context_new(0);
  if (!*context) {
    printf("1..0 # SKIP no CUDA context can be created here\n");
    return 0;
  }
  gst_cuda_memory_init_once();
#ifndef FAKE_GPU
  /* A driver in use does not survive a fork. */
  setenv("CK_FORK", "no", 1);
#endif
  status = run_tests(argc, argv, name, add_tests);
  gst_object_unref(*context);
  return status;
}

int run_fake_device_tests(int argc, char **argv, const char *name, void (*add_tests)(TCase *))
{
  gst_init(&argc, &argv);
  if (!gst_cuda_load_library()) {
    printf("1..0 # SKIP this GStreamer asks for functions that fake-gpu lacks\n");
    return 0;
  }
  gst_cuda_memory_init_once();
  return run_tests(argc, argv, name, add_tests);
}
