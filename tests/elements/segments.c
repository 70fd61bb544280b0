/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Regions that come as segmentation masks, where GStreamer has them (1.26).
 */
#include "region-frames.h"

#ifdef HAVE_GST_SEGMENTATION

#include <gst/analytics/analytics.h>

#define MASK_WIDTH  16
#define MASK_HEIGHT 12

/* A picture of a mask: digits are region ids, anything else is 0. Four pixels of the frame each. */
static const char *const l_shape[MASK_HEIGHT] = {
    "................", "..1.............", "..1.........22..", "..1.........22..",
    "..1111......22..", "..1111..........", "................", "................",
    "................", "................", "................", "................",
};

static const char *const empty[MASK_HEIGHT] = {
    "................", "................", "................", "................",
    "................", "................", "................", "................",
    "................", "................", "................", "................",
};

typedef struct {
  const char *const *picture;
  const char *classes[3]; /* of the ids 0, 1 and 2; the first NULL: there is no classification */
  GstVideoFormat format;
  gint x, y;
  guint width, height;
} Segments;

#define IN_FRAME 0, 0, WIDTH, HEIGHT

static GstBuffer *new_mask(const Segments *segments)
{
  GstVideoInfo info;
  GstVideoFrame frame;
  GstBuffer *buffer;

  gst_video_info_set_format(&info, segments->format, MASK_WIDTH, MASK_HEIGHT);
  buffer = gst_buffer_new_allocate(NULL, GST_VIDEO_INFO_SIZE(&info), NULL);
  gst_buffer_memset(buffer, 0, 0xff, GST_VIDEO_INFO_SIZE(&info));
  gst_buffer_add_video_meta(buffer, GST_VIDEO_FRAME_FLAG_NONE, segments->format, MASK_WIDTH,
                            MASK_HEIGHT);
  fail_unless(gst_video_frame_map(&frame, &info, buffer, GST_MAP_WRITE));
  for (gint y = 0; y < MASK_HEIGHT; y++) {
    guint8 *row = (guint8 *)GST_VIDEO_FRAME_PLANE_DATA(&frame, 0) +
                  y * GST_VIDEO_FRAME_PLANE_STRIDE(&frame, 0);

    for (gint x = 0; x < MASK_WIDTH; x++) {
      const gchar pixel = segments->picture[y][x];
      const guint16 id = g_ascii_isdigit(pixel) ? (guint16)(pixel - '0') : 0;

      if (segments->format == GST_VIDEO_FORMAT_GRAY8)
        row[x] = (guint8)id;
      else if (segments->format == GST_VIDEO_FORMAT_GRAY16_LE)
        GST_WRITE_UINT16_LE(row + 2 * x, id);
    }
  }
  gst_video_frame_unmap(&frame);
  return buffer;
}

static void add_segments(GstBuffer *buffer, const Segments *segments)
{
  GstAnalyticsRelationMeta *relations = gst_buffer_add_analytics_relation_meta(buffer);
  guint ids[] = {0, 1, 2};
  gfloat levels[] = {-1.0f, -1.0f, -1.0f};
  GQuark classes[3];
  GstAnalyticsSegmentationMtd mask;
  GstAnalyticsClsMtd classification;

  fail_unless(gst_analytics_relation_meta_add_segmentation_mtd(
      relations, new_mask(segments), GST_SEGMENTATION_TYPE_INSTANCE, 3, ids, segments->x,
      segments->y, segments->width, segments->height, &mask));
  if (!segments->classes[0])
    return;
  for (guint i = 0; i < 3; i++)
    classes[i] = g_quark_from_string(segments->classes[i]);
  fail_unless(
      gst_analytics_relation_meta_add_cls_mtd(relations, 3, levels, classes, &classification));
  fail_unless(gst_analytics_relation_meta_set_relation(relations, GST_ANALYTICS_REL_TYPE_RELATE_TO,
                                                       mask.id, classification.id));
}

static void push_segments(GstHarness *harness, guint number, const Segments *segments,
                          const CfBlockavgParams *params, const CfRegions *regions)
{
  CfTestPicture *source;
  GstBuffer *frame = new_frame(&source, number, NULL);

  add_segments(frame, segments);
  push_frame_in_blocks(harness, frame, source, params, regions);
}

static const Segments typed = {
    l_shape, {"background", "face", "car"}, GST_VIDEO_FORMAT_GRAY8, IN_FRAME};
static const Segments untyped = {l_shape, {NULL}, GST_VIDEO_FORMAT_GRAY16_LE, IN_FRAME};

static const CfRegion l_parts[] = {{8, 4, 4, 12}, {8, 16, 16, 8}};
static const CfRegion both[] = {{8, 4, 4, 12}, {8, 16, 16, 8}, {48, 8, 8, 12}};

#define PARTS(list) (&(CfRegions){.region = list, .count = G_N_ELEMENTS(list)})

GST_START_TEST(masks_cover_pixel_for_pixel)
{
  CfRegions rest = *PARTS(l_parts);
  GstBus *bus;
  GstHarness *harness = new_mosaic("roi-mode=inside roi-types=face", &bus);

  push_segments(harness, 0, &typed, &blocks_of_8, PARTS(l_parts));
  assert_posted(bus, GST_MESSAGE_WARNING, 1, "\"car\"");
  g_object_set(harness->element, "roi-types", "face,car", NULL);
  push_segments(harness, 1, &typed, &blocks_of_8, PARTS(both));
  g_object_set(harness->element, "roi-types", "", NULL);
  push_segments(harness, 2, &typed, &blocks_of_8, PARTS(both));
  push_segments(harness, 3, &untyped, &blocks_of_8, PARTS(both));
  g_object_set(harness->element, "roi-types", "face", "roi-mode", 2, NULL);
  rest.outside = true;
  push_segments(harness, 4, &typed, &blocks_of_8, &rest);
  harness_free(harness, bus);
}
GST_END_TEST;

GST_START_TEST(empty_masks_are_missing)
{
  const Segments nothing = {empty, {NULL}, GST_VIDEO_FORMAT_GRAY8, IN_FRAME};
  GstBus *bus;
  GstHarness *harness = new_mosaic("roi-mode=inside roi-missing=cover roi-hold=50000000", &bus);

  push_segments(harness, 0, &nothing, &blocks_of_8, FRAME_COVERED);
  push_segments(harness, 1, &untyped, &blocks_of_8, PARTS(both));
  push_segments(harness, 2, &nothing, &blocks_of_8, PARTS(both)); /* held */
  push_segments(harness, 4, &nothing, &blocks_of_8, FRAME_COVERED);
  harness_free(harness, bus);
}
GST_END_TEST;

/* 16x12 pixels of the mask on 40x18 of the frame, and across its edge. */
GST_START_TEST(masks_are_scaled_to_their_place)
{
  static const Segments small = {l_shape, {NULL}, GST_VIDEO_FORMAT_GRAY8, -7, 5, 40, 18};
  static const CfRegion inside[] = {{-2, 6, 3, 5}, {-2, 11, 10, 3}, {23, 8, 5, 5}};
  static const CfRegion outside[] = {{-2, 7, 3, 4}, {-2, 11, 10, 3}, {23, 8, 5, 5}};
  CfRegions rest = *PARTS(outside);
  GstBus *bus;
  GstHarness *harness = new_mosaic("roi-mode=inside", &bus);

  push_segments(harness, 0, &small, &blocks_of_8, PARTS(inside));
  g_object_set(harness->element, "roi-mode", 2, NULL);
  rest.outside = true;
  push_segments(harness, 1, &small, &blocks_of_8, &rest);
  harness_free(harness, bus);
}
GST_END_TEST;

/* Blocks go by the object, of 16x20 pixels, not by its rows. */
GST_START_TEST(blocks_go_by_the_object)
{
  static const CfRegion whole[] = {{8, 4, 16, 20}, {8, 4, 16, 20}};
  static const CfRegion grown[] = {{4, -1, 12, 22}, {4, 11, 24, 18}};
  static const CfRegion whole_grown[] = {{4, -1, 24, 30}, {4, -1, 24, 30}};
  CfBlockavgParams params = {8, 8, CF_BLOCKAVG_AVERAGE, CF_BLOCKAVG_REGION, 3};
  CfRegions regions = *PARTS(l_parts);
  GstBus *bus;
  GstHarness *harness =
      new_mosaic("roi-mode=inside roi-types=face anchor=region blocks-across=3", &bus);

  regions.whole = whole;
  push_segments(harness, 0, &typed, &params, &regions);
  regions = *PARTS(grown);
  regions.whole = whole_grown;
  g_object_set(harness->element, "roi-expand", 0.25, NULL);
  push_segments(harness, 1, &typed, &params, &regions);
  regions.feather = 3.0;
  g_object_set(harness->element, "roi-feather", 3.0, NULL);
  push_segments(harness, 2, &typed, &params, &regions);
  harness_free(harness, bus);
}
GST_END_TEST;

/* The ellipse around the bounds, 8,4 16x20, whose corners it reaches; outside the one within. */
GST_START_TEST(an_object_has_one_ellipse)
{
  CfRegions ellipse = *ONE(8 - 4, 4 - 5, 16 + 8, 20 + 10);
  GstBus *bus;
  GstHarness *harness = new_mosaic("roi-mode=inside roi-shape=ellipse roi-types=face", &bus);

  ellipse.shape = CF_REGION_ELLIPSE;
  push_segments(harness, 0, &typed, &blocks_of_8, &ellipse);
  g_object_set(harness->element, "roi-mode", 2, NULL);
  ellipse = *ONE(8, 4, 16, 20);
  ellipse.shape = CF_REGION_ELLIPSE;
  ellipse.outside = true;
  push_segments(harness, 1, &typed, &blocks_of_8, &ellipse);
  harness_free(harness, bus);
}
GST_END_TEST;

/* Fewer bytes than 16x12 pixels, or those of the last rows in a memory of their own, or the rows
 * upwards, and the first of them beyond the memory. */
static GstBuffer *unreadable_mask(guint number)
{
  gsize offset[GST_VIDEO_MAX_PLANES] = {number == 2 ? 11 * 16 + 8 : 0};
  gint stride[GST_VIDEO_MAX_PLANES] = {number == 2 ? -16 : 16};
  GstBuffer *mask = gst_buffer_new_allocate(NULL, number == 1 ? 80 : 11 * 16 + 15, NULL);

  if (number == 1)
    gst_buffer_append_memory(mask, gst_allocator_alloc(NULL, 12 * 16 - 80, NULL));
  gst_buffer_add_video_meta_full(mask, GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_FORMAT_GRAY8, 16, 12, 1,
                                 offset, stride);
  return mask;
}

/* All of their place may be an object. */
GST_START_TEST(unreadable_masks_cover_their_place)
{
  GstBus *bus;
  GstHarness *harness = new_mosaic("roi-mode=inside", &bus);

  for (guint i = 0; i < 6; i++) {
    const gboolean outside = i % 2;
    CfTestPicture *source;
    GstBuffer *frame = new_frame(&source, i, NULL), *mask = unreadable_mask(i / 2);
    GstAnalyticsRelationMeta *relations = gst_buffer_add_analytics_relation_meta(frame);
    GstAnalyticsSegmentationMtd mtd;
    guint ids[] = {0, 7};

    g_object_set(harness->element, "roi-mode", outside ? 2 : 1, NULL);
    fail_unless(gst_analytics_relation_meta_add_segmentation_mtd(
        relations, mask, GST_SEGMENTATION_TYPE_SEMANTIC, 2, ids, 8, 8, 24, 16, &mtd));
    push_frame(harness, frame, source, outside ? FRAME_COVERED : ONE(8, 8, 24, 16));
  }
  harness_free(harness, bus);
}
GST_END_TEST;

/* A chequerboard has more runs than anybody should look at: in pairs of rows it has one. */
GST_START_TEST(the_number_of_rectangles_is_bounded)
{
  GstBus *bus;
  GstHarness *harness = new_mosaic("roi-mode=inside", &bus);
  CfTestPicture *source;
  GstBuffer *frame = new_frame(&source, 0, NULL);
  GstAnalyticsRelationMeta *relations = gst_buffer_add_analytics_relation_meta(frame);
  GstBuffer *mask = gst_buffer_new_allocate(NULL, WIDTH * HEIGHT, NULL);
  guint ids[] = {1};
  GstAnalyticsSegmentationMtd mtd;
  GstMapInfo map;

  gst_buffer_add_video_meta(mask, GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_FORMAT_GRAY8, WIDTH, HEIGHT);
  fail_unless(gst_buffer_map(mask, &map, GST_MAP_WRITE));
  for (guint i = 0; i < WIDTH * HEIGHT; i++)
    map.data[i] = (i / WIDTH + i) % 2;
  gst_buffer_unmap(mask, &map);
  fail_unless(gst_analytics_relation_meta_add_segmentation_mtd(
      relations, mask, GST_SEGMENTATION_TYPE_SEMANTIC, 1, ids, 0, 0, WIDTH, HEIGHT, &mtd));
  push_frame(harness, frame, source, FRAME_COVERED);
  harness_free(harness, bus);
}
GST_END_TEST;

/* The mask of a detection has its type, and both are covered. */
GST_START_TEST(masks_of_detections_have_their_type)
{
  static const CfRegion all[] = {{8, 4, 4, 12}, {8, 16, 16, 8}, {48, 8, 8, 12}, {30, 30, 9, 9}};
  GstBus *bus;
  GstHarness *harness = new_mosaic("roi-mode=inside roi-types=face", &bus);
  CfTestPicture *source;
  GstBuffer *frame = new_frame(&source, 0, NULL);
  GstAnalyticsRelationMeta *relations;
  GstAnalyticsSegmentationMtd mask;
  GstAnalyticsODMtd detection;
  gpointer state = NULL;

  add_segments(frame, &untyped);
  relations = gst_buffer_get_analytics_relation_meta(frame);
  fail_unless(gst_analytics_relation_meta_iterate(
      relations, &state, gst_analytics_segmentation_mtd_get_mtd_type(), &mask));
  fail_unless(gst_analytics_relation_meta_add_od_mtd(relations, g_quark_from_string("face"), 30, 30,
                                                     9, 9, 0.5f, &detection));
  fail_unless(gst_analytics_relation_meta_set_relation(relations, GST_ANALYTICS_REL_TYPE_RELATE_TO,
                                                       detection.id, mask.id));
  push_frame(harness, frame, source, PARTS(all));
  harness_free(harness, bus);
}
GST_END_TEST;

static void add_tests(TCase *tests)
{
  tcase_add_test(tests, masks_cover_pixel_for_pixel);
  tcase_add_test(tests, empty_masks_are_missing);
  tcase_add_test(tests, masks_are_scaled_to_their_place);
  tcase_add_test(tests, blocks_go_by_the_object);
  tcase_add_test(tests, an_object_has_one_ellipse);
  tcase_add_test(tests, unreadable_masks_cover_their_place);
  tcase_add_test(tests, the_number_of_rectangles_is_bounded);
  tcase_add_test(tests, masks_of_detections_have_their_type);
}

int main(int argc, char **argv)
{
  return run_tests(argc, argv, "segments", add_tests);
}

#else

int main(void)
{
  g_print("1..0 # SKIP built with a GStreamer without segmentation masks (1.26)\n");
  return 0;
}

#endif
