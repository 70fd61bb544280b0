/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "gpu-staging.h"

#include "device.h"
#include "frames.h"

/* Device rows start at multiples of this, so that kernels may use their widest accesses. */
#define ROW_ALIGNMENT 256

typedef struct {
  gpointer memory; /* device memory of both pictures */
  CfPicture input, output;
  gpointer arrived, filtered, left; /* events */

  GstBuffer *source_buffer, *destination_buffer; /* NULL while unused; may be the same */
  GstVideoFrame source, destination;
  GstClockTime start;
} Slot;

struct _GstCudaFiltersStaging {
  GstVideoInfo info;
  CfVideo video;
  gpointer arriving, leaving; /* streams */
  Slot slots[GST_CUDA_FILTERS_STAGING_FRAMES];
  guint oldest, under_way;
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

static size_t picture_bytes(const CfVideo *video)
{
  CfPicture unused;

  return lay_out(video, NULL, &unused);
}

static gboolean open_slot(Slot *slot, const CfVideo *video, CfStatus *status)
{
  const size_t bytes = picture_bytes(video);

  slot->memory = cf_device_alloc(2 * bytes, status);
  if (!slot->memory)
    return FALSE;
  lay_out(video, slot->memory, &slot->input);
  lay_out(video, (uint8_t *)slot->memory + bytes, &slot->output);
  slot->arrived = cf_event_create(false, status);
  slot->filtered = cf_event_create(false, status);
  slot->left = cf_event_create(false, status);
  return slot->arrived && slot->filtered && slot->left;
}

static void close_slot(Slot *slot)
{
  gpointer *events[] = {&slot->arrived, &slot->filtered, &slot->left};

  for (guint i = 0; i < G_N_ELEMENTS(events); i++) {
    if (*events[i])
      cf_event_destroy(*events[i]);
  }
  cf_device_free(slot->memory);
}

GstCudaFiltersStaging *gst_cuda_filters_staging_new(const GstVideoInfo *info, const CfVideo *video,
                                                    CfStatus *status)
{
  GstCudaFiltersStaging *staging = g_new0(GstCudaFiltersStaging, 1);
  gboolean good;

  staging->info = *info;
  staging->video = *video;
  staging->arriving = cf_stream_create(status);
  staging->leaving = cf_stream_create(status);
  good = staging->arriving && staging->leaving;
  for (guint i = 0; good && i < G_N_ELEMENTS(staging->slots); i++)
    good = open_slot(&staging->slots[i], video, status);
  if (!good) {
    gst_cuda_filters_staging_free(staging);
    return NULL;
  }
  return staging;
}

void gst_cuda_filters_staging_free(GstCudaFiltersStaging *staging)
{
  gst_cuda_filters_staging_drop(staging);
  for (guint i = 0; i < G_N_ELEMENTS(staging->slots); i++)
    close_slot(&staging->slots[i]);
  cf_stream_destroy(staging->arriving);
  cf_stream_destroy(staging->leaving);
  g_free(staging);
}

gboolean gst_cuda_filters_staging_fits(const GstCudaFiltersStaging *staging,
                                       const GstVideoInfo *info)
{
  return gst_video_info_is_equal(&staging->info, info);
}

guint gst_cuda_filters_staging_under_way(const GstCudaFiltersStaging *staging)
{
  return staging->under_way;
}

static gboolean is_in_place(const Slot *slot)
{
  return slot->source_buffer == slot->destination_buffer;
}

static gboolean map_slot(Slot *slot, const GstVideoInfo *info, CfStatus *status)
{
  if (!gst_cuda_filters_frame_map(&slot->source, info, slot->source_buffer,
                                  is_in_place(slot) ? GST_MAP_READWRITE : GST_MAP_READ, status))
    return FALSE;
  if (is_in_place(slot)) {
    slot->destination = slot->source;
    return TRUE;
  }
  if (gst_cuda_filters_frame_map(&slot->destination, info, slot->destination_buffer, GST_MAP_WRITE,
                                 status))
    return TRUE;
  gst_video_frame_unmap(&slot->source);
  return FALSE;
}

static void unmap_slot(Slot *slot)
{
  if (!is_in_place(slot))
    gst_video_frame_unmap(&slot->destination);
  gst_video_frame_unmap(&slot->source);
}

/* Frees the slot; returns the output buffer. */
static GstBuffer *release_buffers(Slot *slot)
{
  GstBuffer *output = slot->destination_buffer;

  if (!is_in_place(slot))
    gst_buffer_unref(slot->source_buffer);
  slot->source_buffer = slot->destination_buffer = NULL;
  return output;
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

/* The slot's last frame has left before its memory is used again, so only the three steps of one
 * frame need ordering. */
static gboolean enqueue(GstCudaFiltersStaging *staging, Slot *slot, GstCudaFiltersWorker *worker,
                        gpointer stream, CfStatus *status)
{
  const CfPicture from = picture_of(&slot->source), to = picture_of(&slot->destination);
  const GstVideoFrame input = frame_on_device(&slot->source, &slot->input);
  const GstVideoFrame output = frame_on_device(&slot->source, &slot->output);

  return cf_copy_picture(CF_COPY_TO_DEVICE, &staging->video, &slot->input, &from, staging->arriving,
                         status) &&
         cf_event_record(slot->arrived, staging->arriving, status) &&
         cf_stream_wait_event(stream, slot->arrived, status) &&
         gst_cuda_filters_worker_run(worker, &input, &output, stream, status) &&
         cf_event_record(slot->filtered, stream, status) &&
         cf_stream_wait_event(staging->leaving, slot->filtered, status) &&
         cf_copy_picture(CF_COPY_TO_HOST, &staging->video, &to, &slot->output, staging->leaving,
                         status) &&
         cf_event_record(slot->left, staging->leaving, status);
}

gboolean gst_cuda_filters_staging_submit(GstCudaFiltersStaging *staging,
                                         GstCudaFiltersWorker *worker, GstBuffer *input,
                                         GstBuffer *output, gpointer stream, CfStatus *status)
{
  Slot *slot =
      &staging->slots[(staging->oldest + staging->under_way) % G_N_ELEMENTS(staging->slots)];

  slot->source_buffer = input;
  slot->destination_buffer = output;
  slot->start = gst_util_get_timestamp();
  if (!map_slot(slot, &staging->info, status)) {
    gst_buffer_unref(release_buffers(slot));
    return FALSE;
  }
  if (!enqueue(staging, slot, worker, stream, status)) {
    cf_stream_synchronize(staging->arriving, NULL);
    cf_stream_synchronize(stream, NULL);
    cf_stream_synchronize(staging->leaving, NULL);
    unmap_slot(slot);
    gst_buffer_unref(release_buffers(slot));
    return FALSE;
  }
  staging->under_way++;
  return TRUE;
}

GstBuffer *gst_cuda_filters_staging_finish(GstCudaFiltersStaging *staging, GstClockTime *time,
                                           CfStatus *status)
{
  Slot *slot = &staging->slots[staging->oldest];
  const gboolean good = cf_event_synchronize(slot->left, status);
  GstBuffer *output;

  staging->oldest = (staging->oldest + 1) % G_N_ELEMENTS(staging->slots);
  staging->under_way--;
  *time = gst_util_get_timestamp() - slot->start;
  unmap_slot(slot);
  output = release_buffers(slot);
  if (!good)
    gst_clear_buffer(&output);
  return output;
}

void gst_cuda_filters_staging_drop(GstCudaFiltersStaging *staging)
{
  GstClockTime time;

  while (staging->under_way > 0) {
    GstBuffer *output = gst_cuda_filters_staging_finish(staging, &time, NULL);
    gst_clear_buffer(&output);
  }
}
