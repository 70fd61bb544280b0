/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Where the planes of a frame lie: a receiver that did not offer to read GstVideoMeta gets frames
 * without padding, whatever comes in and whatever is done to it; and crop metas.
 */
#include "elements.h"

#include <string.h>

#ifdef HAVE_GST_ANALYTICS
#include <gst/analytics/analytics.h>
#endif

#define CASE (&element_cases[__i__])

static const CfFormat formats[] = {CF_FORMAT_GRAY8,     CF_FORMAT_I420, CF_FORMAT_Y42B,
                                   CF_FORMAT_P010_10LE, CF_FORMAT_YUY2, CF_FORMAT_RGB,
                                   CF_FORMAT_AYUV};
static const CfLayout padded[] = {CF_LAYOUT_ALIGNED, CF_LAYOUT_PADDED};

static void set_default_info(GstVideoInfo *info, const CfVideo *video)
{
  gst_video_info_set_format(info, gst_video_format_from_string(cf_format_info(video->format)->name),
                            (guint)video->width, (guint)video->height);
}

/* Whether a reader that knows the caps alone finds the picture. Takes `buffer`. */
static void assert_plain(GstBuffer *buffer, const CfTestPicture *want, const char *what)
{
  const gsize size = gst_buffer_get_size(buffer);
  GstVideoInfo info;
  GstBuffer *bytes;

  set_default_info(&info, &want->video);
  fail_unless(size == info.size, "%s: %zu bytes instead of %zu", what, size, info.size);
  fail_unless(gst_buffer_get_video_crop_meta(buffer) == NULL, "%s: still cropped", what);
  bytes = gst_buffer_copy_region(buffer, GST_BUFFER_COPY_MEMORY, 0, size);
  gst_buffer_unref(buffer);
  assert_shows(bytes, want, what);
}

static void add_crop(GstBuffer *buffer, guint x, guint y, guint width, guint height)
{
  GstVideoCropMeta *crop = gst_buffer_add_video_crop_meta(buffer);

  crop->x = x;
  crop->y = y;
  crop->width = width;
  crop->height = height;
}

/* Filtered, in place where that is possible, and handed on. */
GST_START_TEST(no_padding_reaches_who_cannot_read_it)
{
  const char *settings[] = {CASE->working, CASE->other, CASE->identity};

  for (guint f = 0; f < G_N_ELEMENTS(formats); f++) {
    const CfVideo video = cf_video(formats[f], 37, 19);

    for (guint i = 0; i < G_N_ELEMENTS(settings); i++) {
      GstBus *bus;
      GstHarness *harness = harness_new_plain(CASE->name, settings[i], &video, &bus);

      for (guint layout = 0; layout < G_N_ELEMENTS(padded); layout++) {
        CfTestPicture *source = new_picture(&video, padded[layout], CF_PATTERN_NOISE, 3);
        CfTestPicture *want = engine_output(CASE, settings[i], source);

        assert_plain(filter_buffer(harness, buffer_from_picture(source, 0)), want, settings[i]);
        cf_picture_free(want);
      }
      assert_posted(bus, GST_MESSAGE_ERROR, 0, NULL);
      harness_free(harness, bus);
    }
  }
}
GST_END_TEST;

/* A plain frame that nothing is done to is not copied. */
GST_START_TEST(plain_frames_are_handed_on)
{
  const CfVideo video = cf_video(CF_FORMAT_I420, 38, 20);
  GstBus *bus;
  GstHarness *harness = harness_new_plain(CASE->name, CASE->identity, &video, &bus);
  CfTestPicture *source = new_picture(&video, CF_LAYOUT_TIGHT, CF_PATTERN_NOISE, 3);
  GstBuffer *buffer = plain_buffer(source, 0), *result;

  result = filter_buffer(harness, gst_buffer_ref(buffer));
  fail_unless(result == buffer, "copied");
  gst_buffer_unref(buffer);
  gst_buffer_unref(result);
  cf_picture_free(source);
  harness_free(harness, bus);
}
GST_END_TEST;

/* What a reader of the caps alone would take for plain: frames of the right size laid out in
 * another way, and a plain frame with bytes behind it. */
GST_START_TEST(nearly_plain_frames_are_copied)
{
  struct {
    const char *what;
    guint width, crop;
    gsize offset[GST_VIDEO_MAX_PLANES];
    gint stride[GST_VIDEO_MAX_PLANES];
    gsize size;
  } rows[] = {{"swapped planes", 33, 0, {0, 1012, 792}, {36, 20, 20}, 1232},
              {"narrow rows", 33, 0, {0, 792, 1012}, {33, 20, 20}, 1232},
              {"cropped padding", 36, 2, {0, 792, 1012}, {36, 20, 20}, 1232},
              {"more bytes", 33, 0, {0, 792, 1012}, {36, 20, 20}, 1233}};
  const CfVideo video = cf_video(CF_FORMAT_I420, 33, 21);

  for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
    CfTestPicture *want = cf_picture_new(&video, CF_LAYOUT_TIGHT);
    guint8 *bytes = g_malloc(rows[i].size);
    GstBuffer *result, *buffer = gst_buffer_new_wrapped(bytes, rows[i].size);
    GstMemory *memories[] = {gst_buffer_get_memory(buffer, 0), NULL};
    GstBus *bus;
    GstHarness *harness = harness_new_plain(CASE->name, CASE->identity, &video, &bus);

    for (gsize at = 0; at < rows[i].size; at++)
      bytes[at] = (guint8)(at * 7 + at / 36);
    for (int plane = 0; plane < 3; plane++) {
      for (int y = 0; y < cf_plane_height(&video, plane); y++)
        memcpy(want->planes.data[plane] + y * want->planes.stride[plane],
               bytes + rows[i].offset[plane] + (gsize)(y * rows[i].stride[plane]) +
                   (rows[i].crop >> (plane > 0)),
               cf_row_bytes(&video, plane));
    }
    gst_buffer_add_video_meta_full(buffer, 0, GST_VIDEO_FORMAT_I420, rows[i].width, 21, 3,
                                   rows[i].offset, rows[i].stride);
    if (rows[i].crop)
      add_crop(buffer, rows[i].crop, 0, 33, 21);
    result = filter_buffer(harness, buffer);
    memories[1] = gst_buffer_get_memory(result, 0);
    assert_plain(result, want, rows[i].what);
    harness_free(harness, bus);
    for (guint m = 0; m < 2; m++) {
      ASSERT_MINI_OBJECT_REFCOUNT(memories[m], "memory", 1); /* and so no more mapped */
      gst_memory_unref(memories[m]);
    }
    cf_picture_free(want);
  }
}
GST_END_TEST;

/* A parameter that comes to identity and leaves it: one layout in one stream. */
GST_START_TEST(animation_through_identity)
{
  const CfVideo video = cf_video(CF_FORMAT_I420, 35, 17);
  GstBus *bus;
  GstHarness *harness = harness_new_plain(CASE->name, CASE->working, &video, &bus);

  for (guint frame = 0; frame < 8; frame++) {
    const char *settings = frame % 4 < 2 ? CASE->identity : CASE->working;
    CfTestPicture *source = new_picture(&video, CF_LAYOUT_PADDED, CF_PATTERN_NOISE, frame);
    CfTestPicture *want = engine_output(CASE, settings, source);

    set_text(harness->element, settings);
    assert_plain(filter_buffer(harness, buffer_from_picture(source, frame * GST_SECOND)), want,
                 settings);
    cf_picture_free(want);
  }
  harness_free(harness, bus);
}
GST_END_TEST;

/* Frames with a region among frames without. */
GST_START_TEST(regions_come_and_go)
{
  const ElementCase *element = &element_cases[1 + __i__]; /* those that know regions */
  const CfVideo video = cf_video(CF_FORMAT_NV12, 45, 31);
  gchar *settings = g_strdup_printf("%s roi-mode=inside", element->working);
  const CfRegions regions = {.region = (const CfRegion[]){{5, 3, 20, 16}}, .count = 1};
  GstBus *bus;
  GstHarness *harness = harness_new_plain(element->name, settings, &video, &bus);

  for (guint frame = 0; frame < 6; frame++) {
    CfTestPicture *source = new_picture(&video, CF_LAYOUT_PADDED, CF_PATTERN_NOISE, frame);
    CfTestPicture *want =
        frame % 2 ? engine_output_in_regions(element->effect, element->working, source, &regions)
                  : cf_picture_copy(source, CF_LAYOUT_TIGHT);
    GstBuffer *buffer = buffer_from_picture(source, frame * GST_SECOND);

    if (frame % 2)
      gst_buffer_add_video_region_of_interest_meta(buffer, "face", 5, 3, 20, 16);
    assert_plain(filter_buffer(harness, buffer), want, settings);
    cf_picture_free(want);
  }
  harness_free(harness, bus);
  g_free(settings);
}
GST_END_TEST;

/* ---- memory ---- */

/* The rows of each plane from the last one up, as bitmaps have them. */
static GstBuffer *upside_down(const CfTestPicture *picture)
{
  const guint planes = (guint)cf_format_info(picture->video.format)->planes;
  gsize offset[GST_VIDEO_MAX_PLANES] = {0};
  gint stride[GST_VIDEO_MAX_PLANES] = {0};
  GstBuffer *buffer = plain_buffer(picture, 0);
  GstVideoInfo info;
  GstMapInfo map;

  set_default_info(&info, &picture->video);
  fail_unless(gst_buffer_map(buffer, &map, GST_MAP_WRITE));
  for (guint plane = 0; plane < planes; plane++) {
    const gint rows = cf_plane_height(&picture->video, (int)plane), row = info.stride[plane];
    guint8 *upright = g_memdup2(map.data + info.offset[plane], (gsize)rows * (gsize)row);

    for (gint y = 0; y < rows; y++)
      memcpy(map.data + info.offset[plane] + (rows - 1 - y) * row, upright + y * row, (gsize)row);
    g_free(upright);
    offset[plane] = info.offset[plane] + (gsize)(rows - 1) * (gsize)row;
    stride[plane] = -row;
  }
  gst_buffer_unmap(buffer, &map);
  gst_buffer_add_video_meta_full(buffer, GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_INFO_FORMAT(&info),
                                 (guint)picture->video.width, (guint)picture->video.height, planes,
                                 offset, stride);
  return buffer;
}

/* The frame is filtered all the same, and who has a part in its memory sees no change of it. */
typedef enum { UPSIDE_DOWN, IN_PIECES, PART_OF_ANOTHER, IN_ANOTHER_TOO, READ_ONLY, N_KINDS } Kind;

static GstBuffer *frame_of_kind(const CfTestPicture *picture, Kind kind, GstBuffer **kept)
{
  GstBuffer *plain = plain_buffer(picture, 0), *buffer = plain;
  const gsize size = gst_buffer_get_size(plain);

  *kept = NULL;
  if (kind == UPSIDE_DOWN) {
    buffer = upside_down(picture);
  } else if (kind == IN_PIECES) {
    buffer = gst_buffer_new();
    for (gsize at = 0; at < size; at += 50) {
      GstBuffer *piece = gst_buffer_copy_region(
          plain, GST_BUFFER_COPY_MEMORY | GST_BUFFER_COPY_DEEP, at, MIN(50, size - at));

      buffer = gst_buffer_append(buffer, piece);
    }
  } else if (kind == PART_OF_ANOTHER) {
    *kept = gst_buffer_append(gst_buffer_new_memdup("another", 7), gst_buffer_ref(plain));
    gst_buffer_replace_all_memory(*kept, gst_buffer_get_all_memory(*kept));
    buffer = gst_buffer_copy_region(*kept, GST_BUFFER_COPY_MEMORY, 7, size);
  } else if (kind == IN_ANOTHER_TOO) {
    *kept = gst_buffer_copy(plain);
  } else {
    GST_MINI_OBJECT_FLAG_SET(gst_buffer_peek_memory(plain, 0), GST_MEMORY_FLAG_READONLY);
    *kept = gst_buffer_new();
    gst_buffer_append_memory(*kept, gst_buffer_get_memory(plain, 0));
  }
  if (buffer != plain)
    gst_buffer_unref(plain);
  return buffer;
}

GST_START_TEST(memory_of_any_kind)
{
  const char *settings[] = {CASE->working, CASE->identity};

  for (guint i = 0; i < G_N_ELEMENTS(formats) * N_KINDS * 2; i++) {
    const CfVideo video = cf_video(formats[i / 2 / N_KINDS], 37, 19);
    const Kind kind = (Kind)(i / 2 % N_KINDS);
    CfTestPicture *source = new_picture(&video, CF_LAYOUT_TIGHT, CF_PATTERN_NOISE, i);
    CfTestPicture *want = engine_output(CASE, settings[i % 2], source);
    GstBuffer *kept, *buffer = frame_of_kind(source, kind, &kept), *before = NULL;
    gchar *what = g_strdup_printf("kind %d", kind);
    GstBus *bus;
    GstHarness *harness = harness_new(CASE->name, settings[i % 2], &video, NULL, &bus);

    if (kept)
      before = gst_buffer_copy_deep(kept);
    assert_shows(filter_buffer(harness, buffer), want, what);
    if (kept) {
      GstMapInfo map;

      fail_unless(gst_buffer_map(before, &map, GST_MAP_READ));
      fail_unless(gst_buffer_memcmp(kept, 0, map.data, map.size) == 0, "%s was changed", what);
      gst_buffer_unmap(before, &map);
      gst_buffer_unref(before);
      gst_buffer_unref(kept);
    }
    harness_free(harness, bus);
    cf_picture_free(source);
    cf_picture_free(want);
    g_free(what);
  }
}
GST_END_TEST;

/* ---- crop metas ---- */

static GstBuffer *cropped_frame(const CfVideo *frame, CfPattern pattern, guint x, guint y,
                                guint width, guint height)
{
  GstBuffer *buffer =
      buffer_from_picture(new_picture(frame, CF_LAYOUT_PADDED, pattern, 9), GST_SECOND);

  add_crop(buffer, x, y, width, height);
  return buffer;
}

/* What the rectangle of `video` at (x, y) shows of the frame. */
static CfTestPicture *part_of(const CfVideo *video, const CfVideo *frame, int x, int y)
{
  const CfFormatInfo *format = cf_format_info(video->format);
  CfTestPicture *whole = new_picture(frame, CF_LAYOUT_PADDED, CF_PATTERN_NOISE, 9);
  CfTestPicture *part = cf_picture_new(video, CF_LAYOUT_ALIGNED);

  for (int plane = 0; plane < format->planes; plane++) {
    const CfPlaneFormat *info = &format->plane[plane];
    const size_t row_bytes = cf_row_bytes(video, plane);
    const size_t sample_bytes = cf_row_bytes(frame, plane) / (size_t)cf_plane_width(frame, plane);

    for (int row = 0; row < cf_plane_height(video, plane); row++)
      memcpy(part->planes.data[plane] + row * part->planes.stride[plane],
             whole->planes.data[plane] +
                 (row + (y >> info->subsampling_y)) * whole->planes.stride[plane] +
                 (size_t)(x >> info->subsampling_x) * sample_bytes,
             row_bytes);
  }
  cf_picture_free(whole);
  return part;
}

GST_START_TEST(crop_metas_are_heeded)
{
  const char *settings[] = {CASE->working, CASE->identity};

  for (guint f = 0; f < G_N_ELEMENTS(formats); f++) {
    /* The crop ends where the frame does. */
    const CfVideo video = cf_video(formats[f], 33, 21), frame = cf_video(formats[f], 39, 25);

    for (guint i = 0; i < G_N_ELEMENTS(settings); i++) {
      GstBus *bus;
      GstHarness *harness = i ? harness_new_plain(CASE->name, settings[i], &video, &bus)
                              : harness_new(CASE->name, settings[i], &video, NULL, &bus);
      CfTestPicture *shown = part_of(&video, &frame, 6, 4);
      CfTestPicture *want = engine_output(CASE, settings[i], shown);
      GstBuffer *buffer =
          filter_buffer(harness, cropped_frame(&frame, CF_PATTERN_NOISE, 6, 4, 33, 21));

      fail_unless(gst_buffer_get_video_crop_meta(buffer) == NULL, "%s: still cropped", settings[i]);
      assert_shows(buffer, want, settings[i]);
      cf_picture_free(shown);
      cf_picture_free(want);
      harness_free(harness, bus);
    }
  }
}
GST_END_TEST;

/* The frame's region of interest of this id, a face at `region`. */
static GstVideoRegionOfInterestMeta *assert_region(GstBuffer *buffer, gint id,
                                                   const CfRegion *region)
{
  GstVideoRegionOfInterestMeta *meta = gst_buffer_get_video_region_of_interest_meta_id(buffer, id);

  fail_unless(meta != NULL);
  fail_unless_equals_string(g_quark_to_string(meta->roi_type), "face");
  fail_unless_equals_int((gint)meta->x, region->x);
  fail_unless_equals_int((gint)meta->y, region->y);
  fail_unless_equals_int((gint)meta->w, region->width);
  fail_unless_equals_int((gint)meta->h, region->height);
  return meta;
}

#ifdef HAVE_GST_ANALYTICS
static void add_detection(GstBuffer *buffer, gint x, gint y, gint width, gint height)
{
  GstAnalyticsODMtd added;

  fail_unless(gst_analytics_relation_meta_add_od_mtd(gst_buffer_add_analytics_relation_meta(buffer),
                                                     g_quark_from_string("face"), x, y, width,
                                                     height, 0.75f, &added));
}

/* Detections of the whole frame are covered. In the output, where they would lie wrong, they are
 * regions. */
GST_START_TEST(detections_of_cropped_frames)
{
  const CfVideo video = cf_video(CF_FORMAT_I420, 33, 21), frame = cf_video(CF_FORMAT_I420, 48, 40);
  const CfRegion region = {-2, 3, 12, 9};
  const CfRegions regions = {.region = &region, .count = 1};
  GstBus *bus;
  GstHarness *harness = harness_new("cudablockavg", "roi-mode=inside block-width=5 block-height=4",
                                    &video, NULL, &bus);

  for (guint cropped = 0; cropped < 2; cropped++) {
    CfTestPicture *shown = cropped ? part_of(&video, &frame, 6, 4)
                                   : new_picture(&video, CF_LAYOUT_TIGHT, CF_PATTERN_NOISE, 9);
    CfTestPicture *want = engine_output_in_regions(element_cases[2].effect,
                                                   "block-width=5 block-height=4", shown, &regions);
    GstBuffer *buffer =
        cropped ? cropped_frame(&frame, CF_PATTERN_NOISE, 6, 4, 33, 21) : plain_buffer(shown, 0);

    add_detection(buffer, cropped ? 4 : -2, cropped ? 7 : 3, 12, 9);
    buffer = filter_buffer(harness, buffer);
    fail_unless((gst_buffer_get_analytics_relation_meta(buffer) == NULL) == cropped);
    if (cropped)
      assert_region(buffer, 0, &region);
    assert_shows(buffer, want, cropped ? "cropped" : "whole");
    cf_picture_free(shown);
    cf_picture_free(want);
  }
  harness_free(harness, bus);
}
GST_END_TEST;
#endif

/* Those of the whole frame: what a detector in front of a crop has seen stays covered. */
GST_START_TEST(regions_of_cropped_frames)
{
  const CfVideo video = cf_video(CF_FORMAT_I420, 33, 21), frame = cf_video(CF_FORMAT_I420, 48, 40);
  const CfRegion region = {-2, 3, 12, 9};
  const CfRegions regions = {.region = &region, .count = 1};
  CfTestPicture *shown = part_of(&video, &frame, 6, 4);
  CfTestPicture *want = engine_output_in_regions(element_cases[2].effect,
                                                 "block-width=5 block-height=4", shown, &regions);
  GstBuffer *buffer = cropped_frame(&frame, CF_PATTERN_NOISE, 6, 4, 33, 21);
  GstVideoRegionOfInterestMeta *detected, *moved;
  GstBus *bus;
  GstHarness *harness = harness_new("cudablockavg", "roi-mode=inside block-width=5 block-height=4",
                                    &video, NULL, &bus);

  detected = gst_buffer_add_video_region_of_interest_meta(buffer, "face", 4, 7, 12, 9);
  detected->id = 7;
  detected->parent_id = 5;
  gst_video_region_of_interest_meta_add_param(detected, gst_structure_new_empty("likely"));
  buffer = filter_buffer(harness, buffer);
  moved = assert_region(buffer, 7, &region);
  fail_unless_equals_int(moved->parent_id, 5);
  fail_unless(gst_video_region_of_interest_meta_get_param(moved, "likely") != NULL);
  assert_shows(buffer, want, "cropped");
  cf_picture_free(shown);
  cf_picture_free(want);
  harness_free(harness, bus);
}
GST_END_TEST;

/* A crop that pans: a region that is held stays over what was detected in the whole frame. */
GST_START_TEST(held_regions_of_moving_crops)
{
  static const struct {
    int x, y, width, height;
  } crops[] = {{6, 4, 33, 21}, {2, 8, 33, 21}, {10, 0, 33, 21}, {8, 6, 40, 34}, {12, 8, 20, 18}};
  const CfVideo frame = cf_video(CF_FORMAT_I420, 48, 40);
  GstBus *bus;
  GstHarness *harness =
      harness_new("cudablockavg", "roi-mode=inside roi-hold=1 block-width=5 block-height=4", &frame,
                  NULL, &bus);

  for (guint i = 0; i < G_N_ELEMENTS(crops); i++) {
    const int x = crops[i].x, y = crops[i].y, width = crops[i].width, height = crops[i].height;
    const CfVideo video = cf_video(CF_FORMAT_I420, width, height);
    const CfRegion region = {14 - x, 12 - y, 12, 9};
    const CfRegions regions = {.region = &region, .count = 1};
    CfTestPicture *shown = part_of(&video, &frame, x, y);
    CfTestPicture *want = engine_output_in_regions(element_cases[2].effect,
                                                   "block-width=5 block-height=4", shown, &regions);
    GstBuffer *buffer =
        cropped_frame(&frame, CF_PATTERN_NOISE, (guint)x, (guint)y, (guint)width, (guint)height);

    push_caps(harness, &video, NULL);
    if (i == 0)
      gst_buffer_add_video_region_of_interest_meta(buffer, "face", 14, 12, 12, 9);
    assert_shows(filter_buffer(harness, buffer), want, i ? "held" : "detected");
    cf_picture_free(shown);
    cf_picture_free(want);
  }
  harness_free(harness, bus);
}
GST_END_TEST;

GST_START_TEST(crop_metas_that_cannot_be_heeded)
{
  static const struct {
    guint x, y, width, height;
    const char *text, *more_caps;
  } crops[] = {{6, 4, 32, 21, "has 32x21 pixels, but its caps say 33x21", NULL},
               {6, 4, 33, 20, "has 33x20 pixels, but its caps say 33x21", NULL},
               {5, 4, 33, 21, "between its chroma samples", NULL},
               {6, 3, 33, 21, "between its chroma samples", NULL},
               {6, 2, 33, 21, "multiples of 2,4", ", interlace-mode=interleaved"},
               {16, 4, 33, 21, "reaches beyond its 48x40", NULL},
               {6, 20, 33, 21, "reaches beyond its 48x40", NULL},
               {6, 4000000000u, 33, 21, "reaches beyond its 48x40", NULL}};
  const CfVideo video = cf_video(CF_FORMAT_I420, 33, 21), frame = cf_video(CF_FORMAT_I420, 48, 40);

  for (guint i = 0; i < G_N_ELEMENTS(crops); i++) {
    GstBus *bus;
    GstHarness *harness = harness_new(CASE->name, CASE->working, &video, crops[i].more_caps, &bus);

    fail_unless_equals_int(
        gst_harness_push(harness, cropped_frame(&frame, CF_PATTERN_NOISE, crops[i].x, crops[i].y,
                                                crops[i].width, crops[i].height)),
        GST_FLOW_ERROR);
    assert_posted(bus, GST_MESSAGE_ERROR, 1, crops[i].text);
    harness_free(harness, bus);
  }
}
GST_END_TEST;

static void add_tests(TCase *tests)
{
  tcase_add_loop_test(tests, no_padding_reaches_who_cannot_read_it, 0, N_ELEMENTS);
  tcase_add_loop_test(tests, plain_frames_are_handed_on, 0, N_ELEMENTS);
  tcase_add_loop_test(tests, nearly_plain_frames_are_copied, 0, N_ELEMENTS);
  tcase_add_loop_test(tests, animation_through_identity, 0, N_ELEMENTS);
  tcase_add_loop_test(tests, regions_come_and_go, 0, 2);
  tcase_add_loop_test(tests, memory_of_any_kind, 0, N_ELEMENTS);
  tcase_add_loop_test(tests, crop_metas_are_heeded, 0, N_ELEMENTS);
  tcase_add_test(tests, regions_of_cropped_frames);
  tcase_add_test(tests, held_regions_of_moving_crops);
#ifdef HAVE_GST_ANALYTICS
  tcase_add_test(tests, detections_of_cropped_frames);
#endif
  tcase_add_loop_test(tests, crop_metas_that_cannot_be_heeded, 0, N_ELEMENTS);
}

int main(int argc, char **argv)
{
  return run_tests(argc, argv, "layouts", add_tests);
}
