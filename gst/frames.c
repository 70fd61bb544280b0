/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "frames.h"

#include "formats.h"

/* The video meta overrides the caps; engines are opened for the caps. */
static gboolean check_meta(const GstVideoMeta *meta, const GstVideoInfo *info, CfStatus *status)
{
  if (!meta || (meta->format == GST_VIDEO_INFO_FORMAT(info) &&
                meta->width >= (guint)GST_VIDEO_INFO_WIDTH(info) &&
                meta->height >= (guint)GST_VIDEO_INFO_HEIGHT(info)))
    return TRUE;
  return cf_fail(status, CF_ERROR_FAILED, "a video frame is %s %ux%u, but its caps say %s %dx%d",
                 gst_video_format_to_string(meta->format), meta->width, meta->height,
                 gst_video_format_to_string(GST_VIDEO_INFO_FORMAT(info)),
                 GST_VIDEO_INFO_WIDTH(info), GST_VIDEO_INFO_HEIGHT(info));
}

static gboolean check_plane(const GstVideoFrame *frame, const GstVideoInfo *info,
                            const CfVideo *video, guint plane, CfStatus *status)
{
  /* With a meta every plane has a map of its own. */
  const GstMapInfo *map = &frame->map[frame->meta ? plane : 0];
  const gssize row_bytes = (gssize)cf_row_bytes(video, (int)plane);
  const gssize stride = GST_VIDEO_FRAME_PLANE_STRIDE(frame, plane);
  const gssize first = (guint8 *)GST_VIDEO_FRAME_PLANE_DATA(frame, plane) - map->data;
  const gssize last = first + stride * (cf_plane_height(video, (int)plane) - 1);

  if (ABS(stride) >= row_bytes && MIN(first, last) >= 0 &&
      MAX(first, last) + row_bytes <= (gssize)map->size)
    return TRUE;
  return cf_fail(status, CF_ERROR_FAILED,
                 "plane %u of a %s frame of %dx%d with a stride of %" G_GSSIZE_FORMAT
                 " bytes does not fit into its %" G_GSIZE_FORMAT " bytes of memory",
                 plane, gst_video_format_to_string(GST_VIDEO_INFO_FORMAT(info)),
                 GST_VIDEO_INFO_WIDTH(info), GST_VIDEO_INFO_HEIGHT(info), stride, map->size);
}

static gboolean check_planes(const GstVideoFrame *frame, const GstVideoInfo *info, CfStatus *status)
{
  CfVideo video;

  if (!gst_cuda_filters_video_from_info(info, &video))
    return cf_fail(status, CF_ERROR_FAILED, "frames of an unknown format cannot be mapped");
  for (guint plane = 0; plane < GST_VIDEO_FRAME_N_PLANES(frame); plane++) {
    if (!check_plane(frame, info, &video, plane, status))
      return FALSE;
  }
  return TRUE;
}

gboolean gst_cuda_filters_frame_map(GstVideoFrame *frame, const GstVideoInfo *info,
                                    GstBuffer *buffer, GstMapFlags flags, CfStatus *status)
{
  if (!check_meta(gst_buffer_get_video_meta(buffer), info, status))
    return FALSE;
  if (!gst_video_frame_map(frame, info, buffer, flags | GST_VIDEO_FRAME_MAP_FLAG_NO_REF))
    return cf_fail(status, CF_ERROR_FAILED,
                   "a video frame could not be mapped for %s: its %" G_GSIZE_FORMAT
                   " bytes do not hold %s of %dx%d",
                   flags & GST_MAP_WRITE ? "writing" : "reading", gst_buffer_get_size(buffer),
                   gst_video_format_to_string(GST_VIDEO_INFO_FORMAT(info)),
                   GST_VIDEO_INFO_WIDTH(info), GST_VIDEO_INFO_HEIGHT(info));
  if (!check_planes(frame, info, status)) {
    gst_video_frame_unmap(frame);
    return FALSE;
  }
  return TRUE;
}
