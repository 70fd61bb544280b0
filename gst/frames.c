/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "frames.h"

#include <string.h>

#include "formats.h"

/* A video meta overrides the caps, which the engine was opened for. */
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

/* Only the cropped picture is filtered, so that it has to have the size of the caps, and to start
 * at a sample of every plane and field. */
static gboolean check_crop(const GstVideoCropMeta *crop, const GstVideoMeta *meta,
                           const GstVideoInfo *info, CfStatus *status)
{
  const GstVideoFormatInfo *format = info->finfo;
  const guint width = meta ? meta->width : (guint)GST_VIDEO_INFO_WIDTH(info);
  const guint height = meta ? meta->height : (guint)GST_VIDEO_INFO_HEIGHT(info);
  const guint fields = GST_VIDEO_INFO_IS_INTERLACED(info) ? 2 : 1;
  guint step_x = 1, step_y = fields;

  for (guint i = 0; i < GST_VIDEO_FORMAT_INFO_N_COMPONENTS(format); i++) {
    step_x = MAX(step_x, 1u << GST_VIDEO_FORMAT_INFO_W_SUB(format, i));
    step_y = MAX(step_y, fields << GST_VIDEO_FORMAT_INFO_H_SUB(format, i));
  }
  if (crop->width != (guint)GST_VIDEO_INFO_WIDTH(info) ||
      crop->height != (guint)GST_VIDEO_INFO_HEIGHT(info))
    return cf_fail(status, CF_ERROR_FAILED,
                   "the crop meta of a video frame has %ux%u pixels, but its caps say %dx%d",
                   crop->width, crop->height, GST_VIDEO_INFO_WIDTH(info),
                   GST_VIDEO_INFO_HEIGHT(info));
  if ((guint64)crop->x + crop->width > width || (guint64)crop->y + crop->height > height)
    return cf_fail(status, CF_ERROR_FAILED,
                   "the crop meta of a video frame, %ux%u pixels from %u,%u on, reaches beyond its "
                   "%ux%u pixels",
                   crop->width, crop->height, crop->x, crop->y, width, height);
  if (crop->x % step_x != 0 || crop->y % step_y != 0)
    return cf_fail(status, CF_ERROR_FAILED,
                   "the crop meta of a video frame starts at %u,%u, between its chroma samples; "
                   "allowed are multiples of %u,%u",
                   crop->x, crop->y, step_x, step_y);
  return TRUE;
}

/* Moves the planes to where the picture starts. */
static void apply_crop(GstVideoFrame *frame, const GstVideoCropMeta *crop)
{
  const GstVideoFormatInfo *format = frame->info.finfo;
  gboolean moved[GST_VIDEO_MAX_PLANES] = {FALSE};

  for (guint i = 0; i < GST_VIDEO_FORMAT_INFO_N_COMPONENTS(format); i++) {
    const guint plane = GST_VIDEO_FORMAT_INFO_PLANE(format, i);
    const gssize x = crop->x >> GST_VIDEO_FORMAT_INFO_W_SUB(format, i);
    const gssize y = crop->y >> GST_VIDEO_FORMAT_INFO_H_SUB(format, i);

    if (!moved[plane])
      frame->data[plane] = (guint8 *)frame->data[plane] +
                           y * GST_VIDEO_FRAME_PLANE_STRIDE(frame, plane) +
                           x * GST_VIDEO_FORMAT_INFO_PSTRIDE(format, i);
    moved[plane] = TRUE;
  }
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

static gboolean map_frame(GstVideoFrame *frame, const GstVideoInfo *info, GstBuffer *buffer,
                          GstMapFlags flags, CfStatus *status)
{
  const GstVideoCropMeta *crop = gst_buffer_get_video_crop_meta(buffer);
  const GstVideoMeta *meta = gst_buffer_get_video_meta(buffer);

  if (!check_meta(meta, info, status) || (crop && !check_crop(crop, meta, info, status)))
    return FALSE;
  if (!gst_video_frame_map(frame, info, buffer, flags | GST_VIDEO_FRAME_MAP_FLAG_NO_REF))
    return cf_fail(status, CF_ERROR_FAILED,
                   "a video frame could not be mapped for %s: its %" G_GSIZE_FORMAT
                   " bytes do not hold %s of %dx%d",
                   flags & GST_MAP_WRITE ? "writing" : "reading", gst_buffer_get_size(buffer),
                   gst_video_format_to_string(GST_VIDEO_INFO_FORMAT(info)),
                   GST_VIDEO_INFO_WIDTH(info), GST_VIDEO_INFO_HEIGHT(info));
  if (crop)
    apply_crop(frame, crop);
  if (!check_planes(frame, info, status)) {
    gst_video_frame_unmap(frame);
    return FALSE;
  }
  return TRUE;
}

gboolean gst_cuda_filters_frames_map(GstCudaFiltersFrames *frames, const GstVideoInfo *in_info,
                                     const GstVideoInfo *out_info, GstBuffer *input,
                                     GstBuffer *output, GstMapFlags flags, CfStatus *status)
{
  frames->in_place = input == output;
  if (!map_frame(&frames->source, in_info, input,
                 flags | (frames->in_place ? GST_MAP_READWRITE : GST_MAP_READ), status))
    return FALSE;
  if (frames->in_place) {
    frames->destination = frames->source;
    return TRUE;
  }
  if (map_frame(&frames->destination, out_info, output, flags | GST_MAP_WRITE, status))
    return TRUE;
  gst_video_frame_unmap(&frames->source);
  return FALSE;
}

void gst_cuda_filters_frames_unmap(GstCudaFiltersFrames *frames)
{
  if (!frames->in_place)
    gst_video_frame_unmap(&frames->destination);
  gst_video_frame_unmap(&frames->source);
}

CfPicture gst_cuda_filters_frame_picture(const GstVideoFrame *frame)
{
  CfPicture picture = {{NULL}, {0}};

  for (guint plane = 0; plane < GST_VIDEO_FRAME_N_PLANES(frame); plane++) {
    picture.data[plane] = GST_VIDEO_FRAME_PLANE_DATA(frame, plane);
    picture.stride[plane] = GST_VIDEO_FRAME_PLANE_STRIDE(frame, plane);
  }
  return picture;
}

gboolean gst_cuda_filters_frame_is_plain(GstBuffer *buffer, const GstVideoInfo *info)
{
  const GstVideoMeta *meta = gst_buffer_get_video_meta(buffer);

  if (gst_buffer_get_size(buffer) != GST_VIDEO_INFO_SIZE(info) ||
      gst_buffer_get_video_crop_meta(buffer))
    return FALSE;
  for (guint plane = 0; meta && plane < GST_VIDEO_INFO_N_PLANES(info); plane++) {
    if (meta->offset[plane] != GST_VIDEO_INFO_PLANE_OFFSET(info, plane) ||
        meta->stride[plane] != GST_VIDEO_INFO_PLANE_STRIDE(info, plane))
      return FALSE;
  }
  return TRUE;
}

static void copy_planes(const GstVideoFrame *destination, const GstVideoFrame *source,
                        const CfVideo *video)
{
  for (guint plane = 0; plane < GST_VIDEO_FRAME_N_PLANES(destination); plane++) {
    for (gint y = 0; y < cf_plane_height(video, (int)plane); y++)
      memcpy((guint8 *)GST_VIDEO_FRAME_PLANE_DATA(destination, plane) +
                 (gssize)y * GST_VIDEO_FRAME_PLANE_STRIDE(destination, plane),
             (const guint8 *)GST_VIDEO_FRAME_PLANE_DATA(source, plane) +
                 (gssize)y * GST_VIDEO_FRAME_PLANE_STRIDE(source, plane),
             cf_row_bytes(video, (int)plane));
  }
}

gboolean gst_cuda_filters_frame_copy(GstBuffer *destination, GstBuffer *source,
                                     const GstVideoInfo *info, CfStatus *status)
{
  GstCudaFiltersFrames frames;
  CfVideo video;

  if (!gst_cuda_filters_video_from_info(info, &video))
    return cf_fail(status, CF_ERROR_FAILED, "frames of an unknown format cannot be copied");
  if (!gst_cuda_filters_frames_map(&frames, info, info, source, destination, 0, status))
    return FALSE;
  copy_planes(&frames.destination, &frames.source, &video);
  gst_cuda_filters_frames_unmap(&frames);
  return TRUE;
}
