/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Frames in CUDA memory, and failures, on the driver of fake-gpu.
 */
#include "fake-cuda.h"
#include "gpu-compat.h"
#include "pipeline.h"

#include <string.h>

/* All pools live as long as the case: a frame may come back late. */
typedef struct {
  GstCudaContext *context;
  GPtrArray *pools; /* GstBufferPool */
  GstCaps *caps;    /* of the last pool */
  int objects;      /* of the driver before the case */
} Device;

static void free_pool(gpointer pool)
{
  gst_buffer_pool_set_active(pool, FALSE);
  gst_object_unref(pool);
}

bool fuzz_device_exists(void)
{
  static int loaded = -1;

  if (loaded < 0) {
    loaded = gst_cuda_load_library();
    if (loaded)
      gst_cuda_memory_init_once();
  }
  return loaded;
}

void fuzz_device_open(FuzzCase *self)
{
  Device *device = g_new0(Device, 1);

  device->objects = fake_cuda_objects();
  device->context = gst_cuda_context_new(0);
  device->pools = g_ptr_array_new_with_free_func(free_pool);
  self->device = device;
  if (!device->context)
    fuzz_case_fail(self, "there is no CUDA context");
}

void fuzz_device_close(FuzzCase *self)
{
  Device *device = self->device;

  g_ptr_array_unref(device->pools);
  gst_caps_replace(&device->caps, NULL);
  gst_object_unref(device->context);
  if (fake_cuda_objects() != device->objects)
    fuzz_case_fail(self, "%d objects of the device are left over",
                   fake_cuda_objects() - device->objects);
  g_clear_pointer(&self->device, g_free);
}

void fuzz_device_enter(FuzzCase *self)
{
  const Device *device = self->device;
  GstContext *context;

  if (self->way != FUZZ_CUDA_MEMORY)
    return;
  context = gst_context_new_cuda_context(device->context);
  gst_element_set_context(self->element, context);
  gst_context_unref(context);
}

static GstBufferPool *pool_of(FuzzCase *self)
{
  Device *device = self->device;
  GstStructure *config;
  GstBufferPool *pool;

  if (device->caps && gst_caps_is_equal(device->caps, self->format->caps))
    return g_ptr_array_index(device->pools, device->pools->len - 1);
  pool = gst_cuda_buffer_pool_new(device->context);
  config = gst_buffer_pool_get_config(pool);
  gst_buffer_pool_config_set_params(config, self->format->caps, (guint)self->format->info.size, 0,
                                    0);
  gst_buffer_pool_config_add_option(config, GST_BUFFER_POOL_OPTION_VIDEO_META);
  if (!gst_buffer_pool_set_config(pool, config) || !gst_buffer_pool_set_active(pool, TRUE))
    fuzz_case_fail(self, "no pool of CUDA memory");
  g_ptr_array_add(device->pools, pool);
  gst_caps_replace(&device->caps, self->format->caps);
  return pool;
}

GstBuffer *fuzz_device_buffer(FuzzCase *self, const CfTestPicture *picture)
{
  const GstVideoInfo *info = &self->format->info;
  GstBuffer *buffer = NULL;
  GstVideoFrame frame;

  if (gst_buffer_pool_acquire_buffer(pool_of(self), &buffer, NULL) != GST_FLOW_OK ||
      !gst_video_frame_map(&frame, info, buffer, GST_MAP_WRITE))
    fuzz_case_fail(self, "no frame in CUDA memory");
  for (int p = 0; p < cf_format_info(picture->video.format)->planes; p++) {
    for (int y = 0; y < cf_plane_height(&picture->video, p); y++)
      memcpy((guint8 *)GST_VIDEO_FRAME_PLANE_DATA(&frame, p) +
                 y * GST_VIDEO_FRAME_PLANE_STRIDE(&frame, p),
             picture->planes.data[p] + y * picture->planes.stride[p],
             cf_row_bytes(&picture->video, p));
  }
  gst_video_frame_unmap(&frame);
  /* The device has the whole of it. */
  if (!gst_video_frame_map(&frame, info, buffer, (GstMapFlags)(GST_MAP_READ | GST_MAP_CUDA)))
    fuzz_case_fail(self, "a frame in CUDA memory cannot be mapped");
  gst_video_frame_unmap(&frame);
  return buffer;
}

void fuzz_device_fail(FuzzCase *self)
{
  static const struct {
    CUresult result;
    FakeFailure how;
    const char *name;
  } failures[] = {{CUDA_ERROR_OUT_OF_MEMORY, FAKE_ONCE, "fails for want of memory"},
                  {CUDA_ERROR_OUT_OF_MEMORY, FAKE_FULL, "and all later ones find no memory"},
                  {CUDA_ERROR_ILLEGAL_ADDRESS, FAKE_STICKY, "and all later ones fail"},
                  {CUDA_ERROR_CONTEXT_IS_DESTROYED, FAKE_GONE, "finds the context gone"}};
  const int how = fuzz_below(self, G_N_ELEMENTS(failures));
  const int call = 1 + fuzz_below(self, 40);

  fuzz_note(self, "call %d of the driver %s", call, failures[how].name);
  fake_cuda_fail(call, failures[how].result, failures[how].how);
}

void fuzz_device_heal(FuzzCase *self)
{
  const char *failed = fake_cuda_failed();

  fuzz_note(self, "the driver works again; %s failed", failed ? failed : "nothing");
  fake_cuda_fail(0, CUDA_SUCCESS, FAKE_ONCE);
}

/* Another context, as after one that is lost; what is left of the old one goes with its frames. */
void fuzz_device_renew(FuzzCase *self)
{
  Device *device = self->device;

  g_ptr_array_set_size(device->pools, 0);
  gst_caps_replace(&device->caps, NULL);
  gst_object_unref(device->context);
  device->context = gst_cuda_context_new(0);
  if (!device->context)
    fuzz_case_fail(self, "there is no CUDA context any more");
}
