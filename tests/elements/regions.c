/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Where the region properties and the metas of frames let the elements filter, frame by frame. What
 * an engine makes of regions is the business of tests/kernels; here they are rectangles.
 */
#include "region-frames.h"

#include <math.h>

#include "gaussblur.h"

#ifdef HAVE_GST_ANALYTICS
#include <gst/analytics/analytics.h>
#endif

GST_START_TEST(metas_say_where)
{
  GstBus *bus;
  GstHarness *harness = new_mosaic("roi-mode=inside", &bus);

  push(harness, 0, &face, ONE(10, 8, 20, 16));
  push(harness, 1, NULL, NULL);
  push(harness, 2, &car, ONE(30, 20, 12, 12));
  push(harness, 3, &(Roi){"face", 60, 40, 40, 40}, ONE(60, 40, 4, 8));
  assert_posted(bus, GST_MESSAGE_WARNING, 0, NULL);
  harness_free(harness, bus);
}
GST_END_TEST;

#define LEAST ((guint)G_MAXINT + 1) /* -2^31 */

/* The coordinates of the meta are unsigned, detectors' are not. */
GST_START_TEST(negative_coordinates_cross_the_edge)
{
  static const struct {
    Roi roi;
    CfRegion covered; /* of width 0: nothing */
  } rows[] = {
      {{"face", -8u, 8, 20, 16}, {0, 8, 12, 16}},
      {{"face", 10, -8u, 20, 16}, {10, 0, 20, 8}},
      {{"face", -1u, -1u, 4, 4}, {0, 0, 3, 3}},
      {{"face", -20u, 8, 20, 16}, {0}},
      {{"face", -300u, -200u, 1000, 500}, {0, 0, WIDTH, HEIGHT}},
      {{"face", 10, 8, G_MAXUINT, 16}, {10, 8, WIDTH - 10, 16}},
      {{"face", 10, 8, 20, LEAST}, {10, 8, 20, HEIGHT - 8}},
      {{"face", LEAST, LEAST, G_MAXUINT, G_MAXUINT}, {0, 0, WIDTH, HEIGHT}},
      {{"face", LEAST, 8, LEAST + 12, 16}, {0, 8, 12, 16}},
      {{"face", LEAST, 0, G_MAXINT, 48}, {0}},
      {{"face", G_MAXINT, 0, G_MAXUINT, 48}, {0}},
      {{"face", 64, 0, 10, 10}, {0}},
  };
  GstBus *bus, *other_bus;
  GstHarness *harness = new_mosaic("roi-mode=inside", &bus);
  GstHarness *outside = new_mosaic("roi-mode=outside", &other_bus);

  for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
    const CfRegions inner = {.region = &rows[i].covered, .count = rows[i].covered.width > 0};
    CfRegions outer = inner;

    outer.outside = true;
    push(harness, i, &rows[i].roi, inner.count ? &inner : NULL);
    push(outside, i, &rows[i].roi, &outer);
  }
  harness_free(outside, other_bus);
  harness_free(harness, bus);
}
GST_END_TEST;

GST_START_TEST(huge_regions_stay_huge)
{
  static const char *const settings[] = {"roi-mode=inside roi-expand=0.2",
                                         "roi-mode=inside roi-expand=2 roi-feather=30",
                                         "roi-mode=inside roi-shape=ellipse roi-expand=0.5"};
  static const Roi rois[] = {{"face", 20, 20, 600000000, 600000000},
                             {"face", LEAST + 5, LEAST + 5, G_MAXUINT, G_MAXUINT},
                             {"face", -1000000000u, -1000000000u, 2000000000, 2000000000},
                             {"face", 30, 20, G_MAXUINT, G_MAXUINT}};

  for (guint i = 0; i < G_N_ELEMENTS(settings); i++) {
    GstBus *bus;
    GstHarness *harness = new_mosaic(settings[i], &bus);

    for (guint k = 0; k < G_N_ELEMENTS(rois); k++)
      push(harness, k, &rois[k], FRAME_COVERED);
    harness_free(harness, bus);
  }
}
GST_END_TEST;

/* An ellipse that crosses edges is the same ellipse; one that nobody can reckon with leaves nothing
 * open. */
GST_START_TEST(ellipses_at_the_edge)
{
  CfRegions ellipse = *ONE(-8, -6, 40, 30);
  GstBus *bus;
  GstHarness *harness = new_mosaic("roi-mode=inside roi-shape=ellipse", &bus);

  ellipse.shape = CF_REGION_ELLIPSE;
  push(harness, 0, &(Roi){"face", -8u, -6u, 40, 30}, &ellipse);
  g_object_set(harness->element, "roi-mode", 2, NULL);
  ellipse.outside = true;
  push(harness, 1, &(Roi){"face", -8u, -6u, 40, 30}, &ellipse);
  push(harness, 2, &(Roi){"face", 0, 0, G_MAXUINT, G_MAXUINT}, FRAME_COVERED);
  harness_free(harness, bus);
}
GST_END_TEST;

#ifdef HAVE_GST_ANALYTICS
typedef struct {
  const char *type;
  gint x, y, width, height;
} Detection;

static void push_detections(GstHarness *harness, guint number, const Roi *roi,
                            const Detection *detections, gsize count, const CfRegions *regions)
{
  CfTestPicture *source;
  GstBuffer *frame = new_frame(&source, number, roi);
  GstAnalyticsRelationMeta *relations = gst_buffer_add_analytics_relation_meta(frame);

  for (gsize i = 0; i < count; i++) {
    const Detection *detection = &detections[i];
    GstAnalyticsODMtd added;

    fail_unless(gst_analytics_relation_meta_add_od_mtd(
        relations, g_quark_from_string(detection->type), detection->x, detection->y,
        detection->width, detection->height, 0.75f, &added));
  }
  push_frame(harness, frame, source, regions);
}

GST_START_TEST(detections_say_where)
{
  static const Detection both[] = {{"face", 10, 8, 20, 16}, {"car", 30, 20, 12, 12}};
  static const Detection across_the_edge[] = {{"face", -5, -7, 15, 17}};
  const CfRegion two[] = {{10, 8, 20, 16}, {30, 20, 12, 12}};
  GstBus *bus;
  GstHarness *harness = new_mosaic("roi-mode=inside", &bus);

  push_detections(harness, 0, NULL, both, 2, &(CfRegions){.region = two, .count = 2});
  push_detections(harness, 1, NULL, NULL, 0, NULL);
  push_detections(harness, 2, &face, both + 1, 1, &(CfRegions){.region = two, .count = 2});
  push_detections(harness, 3, NULL, across_the_edge, 1, ONE(0, 0, 10, 10));
  g_object_set(harness->element, "roi-types", "plate,face", NULL);
  push_detections(harness, 4, NULL, both, 2, ONE(10, 8, 20, 16));
  assert_posted(bus, GST_MESSAGE_WARNING, 1, "\"car\" is not covered");
  harness_free(harness, bus);
}
GST_END_TEST;

#ifdef HAVE_GST_SEGMENTATION
/* The bounds of boxes that are turned, as detectors of vehicles from above give them. */
GST_START_TEST(turned_detections_are_covered)
{
  static const struct {
    Detection box;
    gfloat angle;
    CfRegion covered;
  } rows[] = {
      {{"car", 10, 8, 20, 16}, 0.0f, {10, 8, 20, 16}},
      {{"car", 10, 8, 20, 16}, (gfloat)G_PI_2, {12, 6, 16, 20}},
      {{"car", 10, 8, 20, 16}, (gfloat)-G_PI, {10, 8, 20, 16}},
      {{"car", 10, 8, 20, 16}, (gfloat)G_PI_4, {7, 3, 26, 26}}, /* 7.27..32.73, 3.27..28.73 */
      {{"car", 10, 8, 21, 16}, 2.0f, {8, 3, 25, 26}},           /* 8.86..32.14, 3.12..28.88 */
      {{"car", 10, 8, 20, 16}, NAN, {2, -2, 36, 36}},
  };
  GstBus *bus;
  GstHarness *harness = new_mosaic("roi-mode=inside roi-steady=0", &bus);

  for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
    const CfRegions regions = {.region = &rows[i].covered, .count = 1};
    const Detection *box = &rows[i].box;
    CfTestPicture *source;
    GstBuffer *frame = new_frame(&source, i, NULL);
    GstAnalyticsODMtd added;

    fail_unless(gst_analytics_relation_meta_add_oriented_od_mtd(
        gst_buffer_add_analytics_relation_meta(frame), g_quark_from_string(box->type), box->x,
        box->y, box->width, box->height, rows[i].angle, 0.75f, &added));
    push_frame(harness, frame, source, &regions);
  }
  harness_free(harness, bus);
}
GST_END_TEST;
#endif
#endif

GST_START_TEST(without_a_mode_all_is_covered)
{
  GstBus *bus;
  GstHarness *harness = new_mosaic("roi-mode=none regions=1,1,2,2", &bus);

  push(harness, 0, &face, FRAME_COVERED);
  harness_free(harness, bus);
}
GST_END_TEST;

GST_START_TEST(types_are_chosen)
{
  GstBus *bus;
  GstHarness *harness = new_mosaic("roi-mode=inside roi-types=plate,face", &bus);

  push(harness, 0, &face, ONE(10, 8, 20, 16));
  push(harness, 1, &car, NULL);
  push(harness, 1, &(Roi){NULL, 30, 20, 12, 12}, NULL);
  g_object_set(harness->element, "roi-types", " car , ", NULL);
  push(harness, 2, &face, NULL);
  push(harness, 3, &car, ONE(30, 20, 12, 12));
  g_object_set(harness->element, "roi-types", "", NULL);
  push(harness, 4, &face, ONE(10, 8, 20, 16));
  harness_free(harness, bus);
}
GST_END_TEST;

GST_START_TEST(fixed_regions_are_covered_besides)
{
  static const CfRegion both[] = {{10, 8, 20, 16}, {40, 30, 9, 9}};
  GstBus *bus;
  GstHarness *harness = new_mosaic("roi-mode=inside regions=40,30,9,9", &bus);

  push(harness, 0, NULL, ONE(40, 30, 9, 9));
  push(harness, 1, &face, &(CfRegions){.region = both, .count = 2});
  g_object_set(harness->element, "regions", "0,0,5,5", NULL);
  push(harness, 2, NULL, ONE(0, 0, 5, 5));
  harness_free(harness, bus);
}
GST_END_TEST;

GST_START_TEST(bad_regions_are_refused)
{
  GstBus *bus;
  GstHarness *harness = new_mosaic("roi-mode=inside regions=0,0,5,5", &bus);
  gchar *text;

  push(harness, 0, NULL, ONE(0, 0, 5, 5));
  g_object_set(harness->element, "regions", "1,2,3", NULL);
  assert_posted(bus, GST_MESSAGE_WARNING, 1, "x,y,w,h");
  g_object_get(harness->element, "regions", &text, NULL);
  fail_unless_equals_string(text, "0,0,5,5");
  g_free(text);
  push(harness, 1, NULL, ONE(0, 0, 5, 5));
  harness_free(harness, bus);
}
GST_END_TEST;

GST_START_TEST(bad_regions_do_not_start)
{
  GstElement *element = gst_element_factory_make("cudablockavg", NULL);
  GstBus *bus = gst_bus_new();

  gst_element_set_bus(element, bus);
  g_object_set(element, "regions", "a,b,c,d", NULL);
  fail_unless_equals_int(gst_element_set_state(element, GST_STATE_PAUSED),
                         GST_STATE_CHANGE_FAILURE);
  assert_posted(bus, GST_MESSAGE_ERROR, 1, "x,y,w,h");
  gst_element_set_state(element, GST_STATE_NULL);
  gst_element_set_bus(element, NULL);
  gst_object_unref(element);
  gst_object_unref(bus);
}
GST_END_TEST;

GST_START_TEST(outside_is_the_rest)
{
  CfRegions rest = *ONE(10, 8, 20, 16);
  GstBus *bus;
  GstHarness *harness = new_mosaic("roi-mode=outside", &bus);

  rest.outside = true;
  push(harness, 0, &face, &rest);
  push(harness, 1, NULL, FRAME_COVERED);
  g_object_set(harness->element, "roi-missing", 1, NULL);
  push(harness, 2, NULL, FRAME_COVERED);
  g_object_set(harness->element, "regions", "3,3,9,9", NULL);
  push(harness, 3, NULL, FRAME_COVERED);
  harness_free(harness, bus);
}
GST_END_TEST;

/* Less than a tenth of a pixel of the feather lies in the frame. */
GST_START_TEST(feathers_reach_into_the_frame)
{
  GstBus *bus;
  GstHarness *harness = new_mosaic("roi-mode=inside roi-feather=2.8", &bus);
  CfRegions beside = *ONE(-12, 8, 10, 16);

  beside.feather = 2.8;
  push(harness, 0, &(Roi){"face", -12u, 8, 10, 16}, &beside);
  harness_free(harness, bus);
}
GST_END_TEST;

/* Without any region outside is everything, and sigma-relative goes by the frame. */
GST_START_TEST(outside_of_nothing_is_blurred)
{
  const char *settings = "sigma=0 sigma-relative=0.1";
  CfTestPicture *source, *want;
  GstBus *bus;
  GstHarness *harness;
  GstBuffer *buffer;

  video = cf_video(CF_FORMAT_NV12, WIDTH, HEIGHT);
  harness = harness_new("cudagaussblur", "sigma=0 sigma-relative=0.1 roi-mode=outside", &video,
                        NULL, &bus);
  buffer = new_frame(&source, 0, NULL);
  want = engine_output_in_regions(&cf_gaussblur, settings, source, FRAME_COVERED);
  fail_if(same_samples(source, want));
  assert_shows(filter_buffer(harness, buffer), want, "sigma-relative");
  cf_picture_free(source);
  cf_picture_free(want);
  harness_free(harness, bus);
}
GST_END_TEST;

GST_START_TEST(missing_regions_cover_the_frame)
{
  GstBus *bus;
  GstHarness *harness =
      new_mosaic("roi-mode=inside roi-missing=cover roi-shape=ellipse roi-feather=5", &bus);

  push(harness, 0, NULL, FRAME_COVERED);
  g_object_set(harness->element, "roi-shape", 0, "roi-feather", 0.0, NULL);
  push(harness, 1, &face, ONE(10, 8, 20, 16));
  push(harness, 2, &(Roi){"face", -30u, 0, 30, 30}, FRAME_COVERED); /* of nothing in the frame */
  push(harness, 3, &(Roi){"face", 10, 8, 20, 0}, FRAME_COVERED);
  push(harness, 4, &(Roi){"face", 10, 8, 0, 16}, FRAME_COVERED);
  push(harness, 5, &(Roi){"face", WIDTH, 0, 30, 30}, FRAME_COVERED);
  push(harness, 6, &(Roi){"face", 0, HEIGHT, 30, 30}, FRAME_COVERED);
  push(harness, 7, &(Roi){"face", 0, -30u, 30, 30}, FRAME_COVERED);
  harness_free(harness, bus);
}
GST_END_TEST;

/* A fixed region is no detection: the frame may show what none has found. */
GST_START_TEST(fixed_regions_are_no_detections)
{
  static const CfRegion both[] = {{10, 8, 20, 16}, {3, 3, 9, 9}};
  GstBus *bus;
  GstHarness *harness =
      new_mosaic("roi-mode=inside roi-missing=cover roi-types=face regions=3,3,9,9", &bus);

  push(harness, 0, NULL, FRAME_COVERED);
  push(harness, 1, &face, &(CfRegions){.region = both, .count = 2});
  push(harness, 2, NULL, FRAME_COVERED);
  push(harness, 3, &car, FRAME_COVERED);
  harness_free(harness, bus);
}
GST_END_TEST;

GST_START_TEST(regions_are_expanded_outwards)
{
  GstBus *bus;
  GstHarness *harness = new_mosaic("roi-mode=inside roi-expand=0.24", &bus);

  push(harness, 0, &face, ONE(5, 4, 30, 24)); /* 4.8 and 3.84 on each side */
  g_object_set(harness->element, "regions", "40,30,10,10", NULL);
  push(harness, 1, NULL, ONE(37, 27, 16, 16));
  harness_free(harness, bus);
}
GST_END_TEST;

GST_START_TEST(metas_stay_for_later_elements)
{
  GstBus *bus;
  GstHarness *harness = new_mosaic("roi-mode=inside", &bus);
  CfTestPicture *source;
  GstBuffer *shared = new_frame(&source, 0, &face), *output;
  gpointer state = NULL;
  guint count = 0;

  gst_buffer_ref(shared); /* not writable: filtered into another buffer, as behind a tee */
  output = filter_buffer(harness, shared);
  while (
      gst_buffer_iterate_meta_filtered(output, &state, GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE))
    count++;
  fail_unless_equals_int(count, 1);
  fail_if(output == shared);
  assert_shows(shared, source, "the other branch of a tee");
  gst_buffer_unref(output);
  cf_picture_free(source);
  harness_free(harness, bus);
}
GST_END_TEST;

GST_START_TEST(a_frame_without_regions_is_passed_on)
{
  GstBus *bus;
  GstHarness *harness = new_mosaic("roi-mode=inside", &bus);
  CfTestPicture *source;
  GstBuffer *buffer = new_frame(&source, 0, NULL), *output;

  gst_buffer_ref(buffer);
  output = filter_buffer(harness, buffer);
  fail_unless(output == buffer, "it was copied");
  gst_buffer_unref(output);
  gst_buffer_unref(buffer);
  cf_picture_free(source);
  harness_free(harness, bus);
}
GST_END_TEST;

/* A region of frame rows 9..18 is one of rows 4..9 of either field. */
GST_START_TEST(fields_have_regions_too)
{
  GstBus *bus;
  GstHarness *harness;
  CfTestPicture *source, *got;

  video = cf_video(CF_FORMAT_GRAY8, WIDTH, HEIGHT);
  harness = harness_new("cudablockavg", "block-width=64 block-height=64 roi-mode=inside", &video,
                        ", interlace-mode=interleaved", &bus);
  got = picture_from_buffer(
      &video, filter_buffer(harness, new_frame(&source, 0, &(Roi){"face", 8, 9, 10, 10})));
  for (gint y = 0; y < HEIGHT; y++) {
    for (gint x = 0; x < WIDTH; x++) {
      const gint now = cf_picture_get(got, 0, x, y, 0), before = cf_picture_get(source, 0, x, y, 0);
      const gboolean inside = x >= 8 && x < 18 && y / 2 >= 4 && y / 2 <= 9;

      const gint want = inside ? cf_picture_get(got, 0, 8, 8 + y % 2, 0) : before;

      fail_unless_equals_int(now, want);
    }
  }
  cf_picture_free(source);
  cf_picture_free(got);
  harness_free(harness, bus);
}
GST_END_TEST;

/* A feather is in lines of a field: from 12 rows, 6 lines, below the frame 8 reach into it. */
GST_START_TEST(feathers_reach_into_fields)
{
  GstBus *bus;
  GstHarness *harness;
  CfTestPicture *source, *got;
  gint changed = 0;

  video = cf_video(CF_FORMAT_GRAY8, WIDTH, HEIGHT);
  harness = harness_new("cudablockavg", "mode=max roi-mode=inside roi-feather=8", &video,
                        ", interlace-mode=interleaved", &bus);
  got = picture_from_buffer(
      &video, filter_buffer(harness, new_frame(&source, 0, &(Roi){"face", 0, HEIGHT + 12, 64, 8})));
  for (gint y = 0; y < HEIGHT; y++) {
    for (gint x = 0; x < WIDTH; x++) {
      const gboolean same = cf_picture_get(got, 0, x, y, 0) == cf_picture_get(source, 0, x, y, 0);

      fail_unless(same || y >= HEIGHT - 4);
      changed += !same;
    }
  }
  fail_unless(changed > 0);
  cf_picture_free(source);
  cf_picture_free(got);
  harness_free(harness, bus);
}
GST_END_TEST;

/* Rows 9 and 18 are half a line of either field, which shows what lies in the region only. */
GST_START_TEST(fields_leave_less_open)
{
  GstBus *bus;
  GstHarness *harness;
  CfTestPicture *source, *got;

  video = cf_video(CF_FORMAT_GRAY8, WIDTH, HEIGHT);
  harness = harness_new("cudablockavg", "block-width=64 block-height=64 roi-mode=outside", &video,
                        ", interlace-mode=interleaved", &bus);
  got = picture_from_buffer(
      &video, filter_buffer(harness, new_frame(&source, 0, &(Roi){"face", -2u, 9, 10, 10})));
  for (gint y = 0; y < HEIGHT; y++) {
    for (gint x = 0; x < WIDTH; x++) {
      const gboolean open = x < 8 && y >= 10 && y < 18;

      fail_unless_equals_int(cf_picture_get(got, 0, x, y, 0),
                             open ? cf_picture_get(source, 0, x, y, 0)
                                  : cf_picture_get(got, 0, WIDTH - 1, y % 2, 0));
    }
  }
  cf_picture_free(source);
  cf_picture_free(got);
  harness_free(harness, bus);
}
GST_END_TEST;

static void add_tests(TCase *tests)
{
  tcase_add_test(tests, metas_say_where);
  tcase_add_test(tests, negative_coordinates_cross_the_edge);
  tcase_add_test(tests, huge_regions_stay_huge);
  tcase_add_test(tests, ellipses_at_the_edge);
  tcase_add_test(tests, feathers_reach_into_the_frame);
  tcase_add_test(tests, outside_of_nothing_is_blurred);
  tcase_add_test(tests, fixed_regions_are_no_detections);
#ifdef HAVE_GST_ANALYTICS
  tcase_add_test(tests, detections_say_where);
#ifdef HAVE_GST_SEGMENTATION
  tcase_add_test(tests, turned_detections_are_covered);
#endif
#endif
  tcase_add_test(tests, without_a_mode_all_is_covered);
  tcase_add_test(tests, types_are_chosen);
  tcase_add_test(tests, fixed_regions_are_covered_besides);
  tcase_add_test(tests, bad_regions_are_refused);
  tcase_add_test(tests, bad_regions_do_not_start);
  tcase_add_test(tests, outside_is_the_rest);
  tcase_add_test(tests, missing_regions_cover_the_frame);
  tcase_add_test(tests, regions_are_expanded_outwards);
  tcase_add_test(tests, metas_stay_for_later_elements);
  tcase_add_test(tests, a_frame_without_regions_is_passed_on);
  tcase_add_test(tests, feathers_reach_into_fields);
  tcase_add_test(tests, fields_leave_less_open);
  tcase_add_test(tests, fields_have_regions_too);
}

int main(int argc, char **argv)
{
  return run_tests(argc, argv, "regions", add_tests);
}
