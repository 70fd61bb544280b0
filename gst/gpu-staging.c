/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "gpu-staging.h"

#include "device.h"

/* Device rows start at multiples of this, so that kernels may use their widest accesses. */
#define ROW_ALIGNMENT 256

struct _GstCudaFiltersStaging {
  CfVideo video;
  gpointer memory; /* device memory of both pictures */
  CfPicture input, output;
};

static ptrdiff_t aligned_row(const CfVideo *video, gint plane)
{
  const size_t bytes = cf_row_bytes(video, plane);

  return (ptrdiff_t)((bytes + ROW_ALIGNMENT - 1) / ROW_ALIGNMENT * ROW_ALIGNMENT);
}

/* Lays a picture out from `memory` on; returns the bytes it takes. */
static size_t lay_out(const CfVideo *video, uint8_t *memory, CfPicture *picture)
{
  size_t used = 0;

  for (gint plane = 0; plane < cf_format_info(video->format)->planes; plane++) {
    picture->data[plane] = memory + used;
    picture->stride[plane] = aligned_row(video, plane);
    used += (size_t)picture->stride[plane] * (size_t)cf_plane_height(video, plane);
  }
  return used;
}

GstCudaFiltersStaging *gst_cuda_filters_staging_new(const CfVideo *video, CfStatus *status)
{
  GstCudaFiltersStaging *staging = g_new0(GstCudaFiltersStaging, 1);
  const size_t bytes = lay_out(video, NULL, &staging->input);

  staging->video = *video;
  staging->memory = cf_device_alloc(2 * bytes, status);
  if (!staging->memory) {
    g_free(staging);
    return NULL;
  }
  lay_out(video, staging->memory, &staging->input);
  lay_out(video, (uint8_t *)staging->memory + bytes, &staging->output);
  return staging;
}

void gst_cuda_filters_staging_free(GstCudaFiltersStaging *staging)
{
  cf_device_free(staging->memory);
  g_free(staging);
}

gboolean gst_cuda_filters_staging_fits(const GstCudaFiltersStaging *staging, const CfVideo *video)
{
  return staging->video.format == video->format && staging->video.width == video->width &&
         staging->video.height == video->height;
}

static CfPicture picture_of(const GstVideoFrame *frame)
{
  CfPicture picture = {{NULL}, {0}};

  for (guint plane = 0; plane < GST_VIDEO_FRAME_N_PLANES(frame); plane++) {
    picture.data[plane] = GST_VIDEO_FRAME_PLANE_DATA(frame, plane);
    picture.stride[plane] = GST_VIDEO_FRAME_PLANE_STRIDE(frame, plane);
  }
  return picture;
}

/* The worker reads planes, strides and flags of a frame; those of `frame`, but on the device. */
static GstVideoFrame frame_on_device(const GstVideoFrame *frame, const CfPicture *picture)
{
  GstVideoFrame result = *frame;

  for (guint plane = 0; plane < GST_VIDEO_FRAME_N_PLANES(frame); plane++) {
    result.data[plane] = picture->data[plane];
    result.info.stride[plane] = (gint)picture->stride[plane];
  }
  return result;
}

gboolean gst_cuda_filters_staging_run(GstCudaFiltersStaging *staging, GstCudaFiltersWorker *worker,
                                      const GstVideoFrame *source, const GstVideoFrame *destination,
                                      gpointer stream, CfStatus *status)
{
  const CfPicture from = picture_of(source), to = picture_of(destination);
  const GstVideoFrame input = frame_on_device(source, &staging->input);
  const GstVideoFrame output = frame_on_device(source, &staging->output);

  return cf_copy_picture(CF_COPY_TO_DEVICE, &staging->video, &staging->input, &from, stream,
                         status) &&
         gst_cuda_filters_worker_run(worker, &input, &output, stream, status) &&
         cf_copy_picture(CF_COPY_TO_HOST, &staging->video, &to, &staging->output, stream, status) &&
         cf_stream_synchronize(stream, status);
}
