/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "pipeline.h"

#include <string.h>

#define LARGEST_SIDE 44
#define LONGEST_SIDE 2200

static const char *const features[] = {"", "(memory:CUDAMemory)"};

FuzzFormat *fuzz_format_ref(FuzzFormat *format)
{
  return g_atomic_rc_box_acquire(format);
}

static void clear_format(gpointer format)
{
  gst_caps_unref(((FuzzFormat *)format)->caps);
}

void fuzz_format_unref(FuzzFormat *format)
{
  g_atomic_rc_box_release_full(format, clear_format);
}

static int random_side(FuzzCase *self)
{
  return fuzz_one_in(self, 6) ? 1 + fuzz_below(self, 3) : 1 + fuzz_below(self, LARGEST_SIDE);
}

/* Now and then a strip: what is done in pieces, along rows or down them, has more than one there.
 */
static CfVideo random_video(FuzzCase *self, CfFormat format)
{
  int width = random_side(self), height = random_side(self);

  if (self->way != FUZZ_REFERENCE && fuzz_one_in(self, 10)) {
    width = 1 + fuzz_below(self, LONGEST_SIDE);
    height = 1 + fuzz_below(self, 5);
    if (fuzz_one_in(self, 2))
      return cf_video(format, height, width);
  }
  return cf_video(format, width, height);
}

static CfFormat random_format(FuzzCase *self)
{
  GstCaps *allowed = gst_pad_template_get_caps(gst_element_get_pad_template(self->element, "sink"));
  bool found = false;
  CfFormat format;

  while (!found) {
    gchar *text;
    GstCaps *caps;

    format = (CfFormat)fuzz_below(self, CF_FORMAT_COUNT);
    text = g_strdup_printf("video/x-raw%s, format=%s", features[self->way == FUZZ_CUDA_MEMORY],
                           cf_format_info(format)->name);
    caps = gst_caps_from_string(text);
    found = gst_caps_can_intersect(caps, allowed);
    gst_caps_unref(caps);
    g_free(text);
  }
  gst_caps_unref(allowed);
  return format;
}

FuzzFormat *fuzz_format_new(FuzzCase *self)
{
  FuzzFormat *format = g_atomic_rc_box_new0(FuzzFormat);
  const bool interlaced = fuzz_one_in(self, 5);
  const char *colours = "";
  gchar *text;

  format->video = random_video(self, random_format(self));
  /* GStreamer before 1.24.4 places planes of odd heights on top of each other there, and all
   * versions copy packed rows of odd width without their last chroma sample. */
  if (self->way == FUZZ_CUDA_MEMORY) {
    format->video.height += format->video.height % 2;
    if (cf_format_info(format->video.format)->packed)
      format->video.width += format->video.width % 2;
  }
  if (!cf_format_info(format->video.format)->rgb && fuzz_one_in(self, 4)) {
    colours = ", colorimetry=1:3:5:1"; /* full range, BT.709 */
    format->video.range = CF_RANGE_FULL;
  }
  text = g_strdup_printf("video/x-raw%s, format=%s, width=%d, height=%d, framerate=%s%s%s",
                         features[self->way == FUZZ_CUDA_MEMORY],
                         cf_format_info(format->video.format)->name, format->video.width,
                         format->video.height, fuzz_one_in(self, 6) ? "0/1" : "25/1", colours,
                         interlaced ? ", interlace-mode=interleaved" : "");
  format->interlaced = interlaced;
  format->caps = gst_caps_from_string(text);
  if (!format->caps || !gst_video_info_from_caps(&format->info, format->caps))
    fuzz_case_fail(self, "no caps: %s", text);
  /* Where caps tell no matrix, GStreamer goes by the height. */
  gst_video_color_matrix_get_Kr_Kb(format->info.colorimetry.matrix, &format->video.luma_red,
                                   &format->video.luma_blue);
  fuzz_note(self, "caps %s", text);
  g_free(text);
  return format;
}

/* Buffers */

static void free_picture(gpointer picture)
{
  cf_picture_free(picture);
}

/* One memory a plane, and a meta. */
static GstBuffer *wrap(const FuzzFormat *format, CfTestPicture *picture)
{
  const int planes = cf_format_info(picture->video.format)->planes;
  gsize offset[GST_VIDEO_MAX_PLANES] = {0}, total = 0;
  gint stride[GST_VIDEO_MAX_PLANES] = {0};
  GstBuffer *buffer = gst_buffer_new();

  for (int p = 0; p < planes; p++) {
    gst_buffer_append_memory(buffer,
                             gst_memory_new_wrapped(0, picture->allocation[p], picture->bytes[p], 0,
                                                    picture->bytes[p], NULL, NULL));
    offset[p] = total + (gsize)(picture->planes.data[p] - picture->allocation[p]);
    stride[p] = (gint)picture->planes.stride[p];
    total += picture->bytes[p];
  }
  gst_buffer_add_video_meta_full(buffer, GST_VIDEO_FRAME_FLAG_NONE,
                                 GST_VIDEO_INFO_FORMAT(&format->info), (guint)picture->video.width,
                                 (guint)picture->video.height, (guint)planes, offset, stride);
  gst_mini_object_set_qdata(GST_MINI_OBJECT(gst_buffer_peek_memory(buffer, 0)),
                            g_quark_from_static_string("fuzz-picture"), picture, free_picture);
  return buffer;
}

/* One memory for all planes, at strides and offsets to the byte as far as `align` goes. */
static GstBuffer *pack(FuzzCase *self, const CfTestPicture *picture, bool meta)
{
  const FuzzFormat *format = self->format;
  const CfVideo *video = &picture->video;
  const int planes = cf_format_info(video->format)->planes;
  gsize offset[GST_VIDEO_MAX_PLANES] = {0}, total = 0;
  gint stride[GST_VIDEO_MAX_PLANES] = {0};
  GstBuffer *buffer;
  GstMapInfo map;

  for (int p = 0; p < planes; p++) {
    stride[p] = GST_VIDEO_INFO_PLANE_STRIDE(&format->info, p);
    offset[p] = GST_VIDEO_INFO_PLANE_OFFSET(&format->info, p);
    if (meta) {
      stride[p] = (gint)cf_row_bytes(video, p) + fuzz_below(self, 20);
      offset[p] = total + (gsize)fuzz_below(self, 9);
      total = offset[p] + (gsize)stride[p] * (gsize)cf_plane_height(video, p);
    }
  }
  if (!meta)
    total = format->info.size;
  buffer = gst_buffer_new_allocate(NULL, total, NULL);
  gst_buffer_map(buffer, &map, GST_MAP_WRITE);
  memset(map.data, 0xee, map.size);
  for (int p = 0; p < planes; p++) {
    for (int y = 0; y < cf_plane_height(video, p); y++)
      memcpy(map.data + offset[p] + (gsize)y * (gsize)stride[p],
             picture->planes.data[p] + y * picture->planes.stride[p], cf_row_bytes(video, p));
  }
  gst_buffer_unmap(buffer, &map);
  if (meta)
    gst_buffer_add_video_meta_full(buffer, GST_VIDEO_FRAME_FLAG_NONE,
                                   GST_VIDEO_INFO_FORMAT(&format->info), (guint)video->width,
                                   (guint)video->height, (guint)planes, offset, stride);
  return buffer;
}

static GstBuffer *lay_out(FuzzCase *self, const CfTestPicture *picture, const char **layout)
{
  static const char *const names[] = {"tight", "aligned", "padded", "unaligned"};
  const int choice = fuzz_below(self, CF_LAYOUT_COUNT + 3);

  if (self->way == FUZZ_CUDA_MEMORY) {
    *layout = "CUDA";
    return fuzz_device_buffer(self, picture);
  }
  if (choice < CF_LAYOUT_COUNT) {
    *layout = names[choice];
    return wrap(self->format, cf_picture_copy(picture, (CfLayout)choice));
  }
  *layout = choice == CF_LAYOUT_COUNT ? "odd bytes" : "plain";
  return pack(self, picture, choice == CF_LAYOUT_COUNT);
}

static const GstMetaInfo *custom_meta(void)
{
  static const GstMetaInfo *info;
  static const gchar *no_tags[] = {NULL};

  if (!info)
    info = gst_meta_register_custom("FuzzMeta", no_tags, NULL, NULL, NULL);
  return info;
}

static void add_metas(FuzzCase *self, FuzzFrame *frame, GstBuffer *buffer)
{
  frame->metas = fuzz_masks_random_metas(self, frame->meta);
  for (int i = 0; i < frame->metas; i++) {
    const FuzzMeta *meta = &frame->meta[i];

    gst_buffer_add_video_region_of_interest_meta(buffer, meta->type, meta->x, meta->y, meta->width,
                                                 meta->height);
    fuzz_note(self, "  region %s %d,%d,%u,%u", meta->type, (gint32)meta->x, (gint32)meta->y,
              meta->width, meta->height);
  }
  frame->has_custom = fuzz_one_in(self, 4) && custom_meta();
  if (frame->has_custom)
    gst_structure_set(gst_custom_meta_get_structure(gst_buffer_add_custom_meta(buffer, "FuzzMeta")),
                      "number", G_TYPE_UINT, frame->number, NULL);
}

static void set_low_bits(FuzzCase *self, CfTestPicture *picture)
{
  const CfFormatInfo *format = cf_format_info(picture->video.format);

  for (int p = 0; format->shift && p < format->planes; p++) {
    for (int y = 0; y < cf_plane_height(&picture->video, p); y++)
      picture->planes.data[p][y * picture->planes.stride[p]] |= (uint8_t)fuzz_below(self, 64);
  }
}

FuzzFrame *fuzz_frame_new(FuzzCase *self, GstBuffer **result)
{
  FuzzFrame *frame = g_new0(FuzzFrame, 1);
  const char *layout;
  GstBuffer *buffer;

  frame->number = self->pushed++;
  frame->format = fuzz_format_ref(self->format);
  frame->source = cf_picture_new(&self->format->video, CF_LAYOUT_ALIGNED);
  cf_picture_fill(frame->source, (CfPattern)fuzz_below(self, CF_PATTERN_COUNT),
                  (CfAlphaFill)fuzz_below(self, CF_ALPHA_COUNT), cf_random(&self->random));
  set_low_bits(self, frame->source);
  buffer = lay_out(self, frame->source, &layout);
  fuzz_note(self, "frame %u, %s", frame->number, layout);
  add_metas(self, frame, buffer);

  if (fuzz_one_in(self, 20))
    self->clock = (GstClockTime)fuzz_below(self, 10) * 40 * GST_MSECOND;
  frame->pts = fuzz_one_in(self, 20) ? GST_CLOCK_TIME_NONE : self->clock;
  frame->duration = fuzz_one_in(self, 8) ? GST_CLOCK_TIME_NONE : 40 * GST_MSECOND;
  frame->offset = fuzz_one_in(self, 4) ? GST_BUFFER_OFFSET_NONE : 1000 + frame->number;
  self->clock += 40 * GST_MSECOND;
  GST_BUFFER_PTS(buffer) = frame->pts;
  GST_BUFFER_DURATION(buffer) = frame->duration;
  GST_BUFFER_OFFSET(buffer) = frame->offset;
  if (fuzz_one_in(self, 5))
    frame->flags |= GST_BUFFER_FLAG_DISCONT;
  if (fuzz_one_in(self, 8))
    frame->flags |= GST_BUFFER_FLAG_GAP;
  if (fuzz_one_in(self, 8))
    frame->flags |= GST_BUFFER_FLAG_CORRUPTED;
  GST_BUFFER_FLAG_SET(buffer, frame->flags);
  frame->starts = self->discont;
  self->discont = false;
  frame->receiver_takes_meta = g_atomic_int_get(&self->takes_meta);
  if (fuzz_one_in(self, 3) && self->way != FUZZ_CUDA_MEMORY)
    frame->kept = gst_buffer_ref(buffer);
  *result = buffer;
  return frame;
}

void fuzz_frame_free(FuzzFrame *frame)
{
  cf_picture_free(frame->source);
  gst_clear_buffer(&frame->kept);
  fuzz_format_unref(frame->format);
  g_free(frame->params);
  g_free(frame);
}
