/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "basereport.h"

/* Errors */

/* Upstream may offer the caps that failed many times. */
void gst_cuda_filters_base_post_error(GstCudaFiltersBase *self, const CfStatus *status)
{
  gboolean known;

  GST_OBJECT_LOCK(self);
  known = self->error_posted || self->device_lost;
  self->error_posted = TRUE;
  if (!known) {
    self->device_lost = status->code == CF_ERROR_DEVICE_LOST;
    self->in_flight_at_failure = self->staged.in_flight;
  }
  GST_OBJECT_UNLOCK(self);
  if (known)
    return;
  if (status->code == CF_ERROR_DEVICE_LOST)
    gst_cuda_filters_gpu_check_critical(self->gpu);
  switch (status->code) {
  case CF_ERROR_INVALID:
    GST_ELEMENT_ERROR(self, RESOURCE, SETTINGS, ("%s", status->message), (NULL));
    break;
  case CF_ERROR_NO_MEMORY:
    GST_ELEMENT_ERROR(self, RESOURCE, NO_SPACE_LEFT, ("%s", status->message), (NULL));
    break;
  case CF_ERROR_NO_DEVICE:
    GST_ELEMENT_ERROR(self, RESOURCE, NOT_FOUND, ("%s", status->message), (NULL));
    break;
  default:
    GST_ELEMENT_ERROR(self, LIBRARY, FAILED, ("%s", status->message), (NULL));
    break;
  }
}

/* The same caps may be negotiated, and fail to get memory, many times. */
void gst_cuda_filters_base_post_no_frames(GstCudaFiltersBase *self)
{
  const GstVideoInfo *info = &GST_VIDEO_FILTER(self)->out_info;
  CfStatus status = {CF_OK, ""};
  gboolean known;

  GST_OBJECT_LOCK(self);
  known = self->no_frames_posted;
  self->no_frames_posted = TRUE;
  GST_OBJECT_UNLOCK(self);
  if (known)
    return;
  cf_fail(&status, CF_ERROR_NO_MEMORY,
          "no %s memory for a filtered frame of %s %dx%d; free some or use smaller frames",
          self->cuda_memory ? "CUDA" : "system",
          gst_video_format_to_string(GST_VIDEO_INFO_FORMAT(info)), GST_VIDEO_INFO_WIDTH(info),
          GST_VIDEO_INFO_HEIGHT(info));
  gst_cuda_filters_base_post_error(self, &status);
}

void gst_cuda_filters_base_clear_failure(GstCudaFiltersBase *self)
{
  GST_OBJECT_LOCK(self);
  self->error_posted = FALSE;
  GST_OBJECT_UNLOCK(self);
}

/* Statistics */

void gst_cuda_filters_base_set_active_backend(GstCudaFiltersBase *self, const gchar *name)
{
  gboolean changed;

  GST_OBJECT_LOCK(self);
  changed = g_strcmp0(self->active_backend, name) != 0;
  self->active_backend = name;
  GST_OBJECT_UNLOCK(self);
  if (changed)
    g_object_notify(G_OBJECT(self), "active-backend");
}

void gst_cuda_filters_base_count_frame(GstCudaFiltersBase *self, GstClockTime time,
                                       const gchar *algorithm)
{
  GST_OBJECT_LOCK(self);
  self->frames++;
  self->total_time += time;
  self->last_time = time;
  self->algorithm = algorithm;
  /* Frames that were in flight at the failure do not show that later ones succeed. */
  if (self->in_flight_at_failure > 0)
    self->in_flight_at_failure--;
  else
    self->error_posted = self->no_frames_posted = FALSE;
  GST_OBJECT_UNLOCK(self);
}
