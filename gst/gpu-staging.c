/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "gpu-staging.h"

#include "cpu/common/parallel.h"
#include "cuda/common/host_transfer.h"
#include "frames.h"
#include "gpu-pinned.h"

/* Limit on the threads that copy a frame, which keep up with the bus. */
#define COPY_THREADS 16

typedef struct {
  GstBuffer *source, *destination; /* may be the same */
  GstCudaFiltersFrames frames;
  GstClockTime start;
  guint ticket;
} Slot;

struct _GstCudaFiltersStaging {
  GstVideoInfo input, output;
  CfHostTransfer *transfer;
  gint threads; /* that copy frames which are not page-locked */
  Slot slots[GST_CUDA_FILTERS_STAGING_FRAMES];
  guint submitted; /* number of frames; written by the submitting thread */
  guint finished;  /* number of those; written by the finishing thread */
};

G_STATIC_ASSERT(GST_CUDA_FILTERS_STAGING_FRAMES <= CF_HOST_TRANSFER_PICTURES);

GstCudaFiltersStaging *gst_cuda_filters_staging_new(const CfDevice *device,
                                                    const GstVideoInfo *input,
                                                    const GstVideoInfo *output, CfStatus *status)
{
  CfHostTransfer *transfer = cf_host_transfer_open(device, status);
  GstCudaFiltersStaging *staging;

  if (!transfer)
    return NULL;
  staging = g_new0(GstCudaFiltersStaging, 1);
  staging->input = *input;
  staging->output = *output;
  staging->transfer = transfer;
  staging->threads = MIN(cf_thread_count(0), COPY_THREADS);
  return staging;
}

gboolean gst_cuda_filters_staging_fits(const GstCudaFiltersStaging *staging,
                                       const GstVideoInfo *input, const GstVideoInfo *output)
{
  return gst_video_info_is_equal(&staging->input, input) &&
         gst_video_info_is_equal(&staging->output, output);
}

static Slot *slot_of(GstCudaFiltersStaging *staging, guint number)
{
  return &staging->slots[number % G_N_ELEMENTS(staging->slots)];
}

/* Empties the slot; returns the output buffer. */
static GstBuffer *release_buffers(Slot *slot)
{
  GstBuffer *output = slot->destination;

  if (slot->source != output)
    gst_buffer_unref(slot->source);
  slot->source = slot->destination = NULL;
  return output;
}

typedef struct {
  GstCudaFiltersWorker *worker;
  gboolean interlaced;
} Filter;

static bool run_worker(void *context, const CfJob *job, CfStatus *status)
{
  const Filter *filter = context;

  return gst_cuda_filters_worker_run_job(filter->worker, job, filter->interlaced, status);
}

static gboolean enqueue(GstCudaFiltersStaging *staging, Slot *slot, GstCudaFiltersWorker *worker,
                        guint64 limit, gpointer stream, CfStatus *status)
{
  const CfPicture from = gst_cuda_filters_frame_picture(&slot->frames.source);
  const CfPicture to = gst_cuda_filters_frame_picture(&slot->frames.destination);
  Filter filter = {worker, GST_VIDEO_FRAME_IS_INTERLACED(&slot->frames.source)};
  const gint halo = gst_cuda_filters_worker_halo(worker, filter.interlaced);
  CfStrips strips;

  cf_host_transfer_stage(staging->transfer,
                         gst_cuda_filters_is_pinned(slot->source) ? NULL : cf_parallel_for,
                         staging->threads);
  return cf_strips_plan(&strips, gst_cuda_filters_worker_video(worker),
                        gst_cuda_filters_worker_destination(worker), halo, (size_t)limit, status) &&
         cf_host_transfer_set(staging->transfer, &strips, status) &&
         cf_host_transfer_send(staging->transfer, &from, &to, run_worker, &filter, stream,
                               &slot->ticket, status);
}

gboolean gst_cuda_filters_staging_submit(GstCudaFiltersStaging *staging,
                                         GstCudaFiltersWorker *worker, guint64 limit,
                                         GstBuffer *input, GstBuffer *output, gpointer stream,
                                         CfStatus *status)
{
  Slot *slot = slot_of(staging, staging->submitted);

  slot->source = input;
  slot->destination = output;
  slot->start = gst_util_get_timestamp();
  if (!gst_cuda_filters_frames_map(&slot->frames, &staging->input, &staging->output, input, output,
                                   0, status)) {
    gst_buffer_unref(release_buffers(slot));
    return FALSE;
  }
  if (!enqueue(staging, slot, worker, limit, stream, status)) {
    gst_cuda_filters_frames_unmap(&slot->frames);
    gst_buffer_unref(release_buffers(slot));
    return FALSE;
  }
  staging->submitted++;
  return TRUE;
}

GstBuffer *gst_cuda_filters_staging_release(GstCudaFiltersStaging *staging)
{
  Slot *slot = slot_of(staging, staging->finished++);

  gst_cuda_filters_frames_unmap(&slot->frames);
  return release_buffers(slot);
}

GstBuffer *gst_cuda_filters_staging_finish(GstCudaFiltersStaging *staging, GstClockTime *time,
                                           CfStatus *status)
{
  const Slot *slot = slot_of(staging, staging->finished);
  const gboolean good = cf_host_transfer_wait(staging->transfer, slot->ticket, status);
  GstBuffer *output;

  *time = gst_util_get_timestamp() - slot->start;
  output = gst_cuda_filters_staging_release(staging);
  if (!good)
    gst_clear_buffer(&output);
  return output;
}

void gst_cuda_filters_staging_drop(GstCudaFiltersStaging *staging)
{
  GstClockTime time;

  while (staging->finished != staging->submitted) {
    GstBuffer *output = gst_cuda_filters_staging_finish(staging, &time, NULL);
    gst_clear_buffer(&output);
  }
}

void gst_cuda_filters_staging_free(GstCudaFiltersStaging *staging)
{
  if (cf_context_is_current(NULL))
    gst_cuda_filters_staging_drop(staging);
  while (staging->finished != staging->submitted)
    gst_buffer_unref(gst_cuda_filters_staging_release(staging));
  cf_host_transfer_close(staging->transfer);
  g_free(staging);
}
