/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "basereport.h"

/* Errors */

/* Once for every failure, however often upstream offers its caps again. */
void gst_cuda_filters_base_post_error(GstCudaFiltersBase *self, const CfStatus *status)
{
  gboolean known;

  GST_OBJECT_LOCK(self);
  known = self->failed || self->lost;
  self->failed = TRUE;
  if (!known) {
    self->lost = status->code == CF_ERROR_DEVICE_LOST;
    self->frames_before_failure = self->staged.under_way;
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

/* Once, too, although the same caps are accepted each time that they are negotiated again. */
void gst_cuda_filters_base_post_no_frames(GstCudaFiltersBase *self)
{
  const GstVideoInfo *info = &GST_VIDEO_FILTER(self)->out_info;
  CfStatus status = {CF_OK, ""};
  gboolean known;

  GST_OBJECT_LOCK(self);
  known = self->starved;
  self->starved = TRUE;
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

void gst_cuda_filters_base_forget_failure(GstCudaFiltersBase *self)
{
  GST_OBJECT_LOCK(self);
  self->failed = FALSE;
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
  /* Frames that were under way when a later one failed say nothing about those to come. */
  if (self->frames_before_failure > 0)
    self->frames_before_failure--;
  else
    self->failed = self->starved = FALSE;
  GST_OBJECT_UNLOCK(self);
}
