/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "oracle.h"

#include <math.h>
#include <string.h>

/* Everything but pixels */

static void judge_description(FuzzCase *self, const FuzzFrame *frame, GstBuffer *buffer)
{
  const GstBufferFlags flags = (GstBufferFlags)GST_BUFFER_FLAGS(buffer);
  const GstBufferFlags kept = GST_BUFFER_FLAG_CORRUPTED;

  if (GST_BUFFER_PTS(buffer) != frame->pts)
    fuzz_case_fail(self, "frame %u: time %" GST_TIME_FORMAT " instead of %" GST_TIME_FORMAT,
                   frame->number, GST_TIME_ARGS(GST_BUFFER_PTS(buffer)), GST_TIME_ARGS(frame->pts));
  if (GST_BUFFER_DURATION(buffer) != frame->duration)
    fuzz_case_fail(self, "frame %u has another duration", frame->number);
  if (GST_BUFFER_OFFSET(buffer) != frame->offset)
    fuzz_case_fail(self, "frame %u has another offset", frame->number);
  /* What was neutral may not be it when it is filtered: GstBaseTransform then takes GAP away. */
  if ((flags & kept) != (frame->flags & kept) || (flags & ~frame->flags & GST_BUFFER_FLAG_GAP))
    fuzz_case_fail(self, "frame %u: flags 0x%x instead of 0x%x", frame->number, flags,
                   frame->flags);
  if ((frame->flags & GST_BUFFER_FLAG_DISCONT) && !(flags & GST_BUFFER_FLAG_DISCONT))
    fuzz_case_fail(self, "frame %u has lost DISCONT", frame->number);
  if (!(frame->flags & GST_BUFFER_FLAG_DISCONT) && (flags & GST_BUFFER_FLAG_DISCONT) &&
      !frame->starts)
    fuzz_case_fail(self, "frame %u has got a DISCONT", frame->number);
}

static void judge_metas(FuzzCase *self, const FuzzFrame *frame, GstBuffer *buffer)
{
  gpointer state = NULL;
  GstMeta *meta;
  GstCustomMeta *custom;
  guint number = 0;
  int found = 0;

  while ((meta = gst_buffer_iterate_meta_filtered(buffer, &state,
                                                  GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE))) {
    const GstVideoRegionOfInterestMeta *roi = (GstVideoRegionOfInterestMeta *)meta;
    const FuzzMeta *want = &frame->meta[found];

    if (found++ >= frame->metas || roi->x != want->x || roi->y != want->y ||
        roi->w != want->width || roi->h != want->height)
      fuzz_case_fail(self, "frame %u: another region meta", frame->number);
  }
  if (found != frame->metas)
    fuzz_case_fail(self, "frame %u: %d region metas of %d", frame->number, found, frame->metas);
  custom = gst_buffer_get_custom_meta(buffer, "FuzzMeta");
  if (!custom != !frame->has_custom ||
      (custom &&
       (!gst_structure_get_uint(gst_custom_meta_get_structure(custom), "number", &number) ||
        number != frame->number)))
    fuzz_case_fail(self, "frame %u: a meta is lost, or comes from elsewhere", frame->number);
}

/* A receiver that knows no GstVideoMeta reads planes where the caps put them. */
static void judge_layout(FuzzCase *self, const FuzzFrame *frame, GstBuffer *buffer)
{
  const GstVideoInfo *info = &frame->format->info;
  const GstVideoMeta *meta = gst_buffer_get_video_meta(buffer);

  if (self->way == FUZZ_CUDA_MEMORY || frame->receiver_takes_meta)
    return;
  if (gst_buffer_get_size(buffer) != info->size)
    fuzz_case_fail(self,
                   "frame %u has %" G_GSIZE_FORMAT " bytes instead of %" G_GSIZE_FORMAT
                   ", and the receiver did not offer GstVideoMeta",
                   frame->number, gst_buffer_get_size(buffer), info->size);
  for (guint p = 0; meta && p < meta->n_planes; p++) {
    if (meta->stride[p] != info->stride[p] || meta->offset[p] != info->offset[p])
      fuzz_case_fail(self,
                     "frame %u: plane %u lies elsewhere, and the receiver did not offer "
                     "GstVideoMeta",
                     frame->number, p);
  }
}

/* Pixels */

static CfTestPicture *picture_of(FuzzCase *self, const FuzzFrame *frame, GstBuffer *buffer)
{
  const CfVideo *video = &frame->format->video;
  CfTestPicture *picture = cf_picture_new(video, CF_LAYOUT_ALIGNED);
  GstVideoFrame mapped;

  if (!gst_video_frame_map(&mapped, &frame->format->info, buffer, GST_MAP_READ))
    fuzz_case_fail(self, "frame %u cannot be mapped", frame->number);
  for (int p = 0; p < cf_format_info(video->format)->planes; p++) {
    for (int y = 0; y < cf_plane_height(video, p); y++)
      memcpy(picture->planes.data[p] + y * picture->planes.stride[p],
             (guint8 *)GST_VIDEO_FRAME_PLANE_DATA(&mapped, p) +
                 y * GST_VIDEO_FRAME_PLANE_STRIDE(&mapped, p),
             cf_row_bytes(video, p));
  }
  gst_video_frame_unmap(&mapped);
  return picture;
}

static int field_lines(int lines, int field)
{
  return (lines + 1 - field) / 2;
}

bool fuzz_has_fields(const FuzzFormat *format)
{
  const CfVideo *video = &format->video;

  for (int p = 0; p < cf_format_info(video->format)->planes; p++) {
    for (int field = 0; field < 2; field++) {
      CfVideo half = *video;

      half.height = field_lines(video->height, field);
      if (cf_plane_height(&half, p) > field_lines(cf_plane_height(video, p), field))
        return false;
    }
  }
  return format->interlaced && video->height >= 2;
}

static CfTestPicture *field_of(const CfTestPicture *picture, int field)
{
  CfVideo video = picture->video;
  CfTestPicture *half;

  video.height = field_lines(video.height, field);
  video.field = true;
  half = cf_picture_new(&video, CF_LAYOUT_ALIGNED);
  for (int p = 0; p < cf_format_info(video.format)->planes; p++) {
    for (int y = 0; y < cf_plane_height(&video, p); y++)
      memcpy(half->planes.data[p] + y * half->planes.stride[p],
             picture->planes.data[p] + (2 * y + field) * picture->planes.stride[p],
             cf_row_bytes(&video, p));
  }
  return half;
}

/* Both fields cover a line of which half is covered: with `outside` areas leave it out. */
static FuzzAreas areas_of_field(const FuzzAreas *areas)
{
  FuzzAreas scaled = *areas;

  scaled.count = 0;
  for (int i = 0; i < areas->count; i++) {
    FuzzArea area = areas->area[i];
    const double top = area.y / 2.0, bottom = (area.y + area.height) / 2.0;

    area.y = areas->outside ? ceil(top) : floor(top);
    area.height = (areas->outside ? floor(bottom) : ceil(bottom)) - area.y;
    if (area.height > 0.0)
      scaled.area[scaled.count++] = area;
  }
  return scaled;
}

static void judge_pixels(FuzzCase *self, const FuzzFrame *frame, GstBuffer *buffer)
{
  CfTestPicture *got = picture_of(self, frame, buffer);
  FuzzPart part = {frame, false, frame->source, got, frame->areas};
  const char *wrong = NULL;

  if (fuzz_has_fields(frame->format)) {
    part.field = true;
    part.areas = areas_of_field(&frame->areas);
    for (int field = 0; !wrong && field < 2; field++) {
      CfTestPicture *source = field_of(frame->source, field), *half = field_of(got, field);

      part.source = source;
      part.got = half;
      wrong = fuzz_judge_part(self->kind, &part);
      cf_picture_free(source);
      cf_picture_free(half);
    }
  } else {
    wrong = fuzz_judge_part(self->kind, &part);
  }
  if (wrong)
    fuzz_case_fail(self, "frame %u%s: %s", frame->number, part.field ? ", a field" : "", wrong);
  cf_picture_free(got);
}

/* The input, where somebody else holds it too, is as it was. */
static void judge_kept(FuzzCase *self, const FuzzFrame *frame)
{
  CfTestPicture *now;

  if (!frame->kept)
    return;
  now = picture_of(self, frame, frame->kept);
  for (int p = 0; p < cf_format_info(now->video.format)->planes; p++) {
    for (int y = 0; y < cf_plane_height(&now->video, p); y++) {
      if (memcmp(now->planes.data[p] + y * now->planes.stride[p],
                 frame->source->planes.data[p] + y * frame->source->planes.stride[p],
                 cf_row_bytes(&now->video, p)) != 0)
        fuzz_case_fail(self, "frame %u was written to, although another holds it", frame->number);
    }
  }
  cf_picture_free(now);
}

void fuzz_judge(FuzzCase *self, const FuzzFrame *frame, GstBuffer *buffer)
{
  judge_description(self, frame, buffer);
  judge_metas(self, frame, buffer);
  judge_layout(self, frame, buffer);
  judge_kept(self, frame);
  if (frame->params)
    judge_pixels(self, frame, buffer);
}
