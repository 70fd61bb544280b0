/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Where the region properties and the metas of frames let the elements filter, frame by frame. What
 * an engine makes of regions is the business of tests/kernels; here they are rectangles.
 */
#include "elements.h"

#include <string.h>

#ifdef HAVE_GST_ANALYTICS
#include <gst/analytics/analytics.h>
#endif

#include "blockavg.h"

#define WIDTH  64
#define HEIGHT 48
#define FRAME  (40 * GST_MSECOND)

static CfVideo video;

/* One rectangle that a meta asks for. */
typedef struct {
  const char *type;
  guint x, y, width, height;
} Roi;

static GstBuffer *new_frame(CfTestPicture **picture, guint number, const Roi *roi)
{
  GstBuffer *buffer;

  *picture = new_picture(&video, CF_LAYOUT_ALIGNED, CF_PATTERN_NOISE, number);
  buffer = plain_buffer(*picture, number * FRAME);
  if (roi)
    gst_buffer_add_video_region_of_interest_meta(buffer, roi->type, roi->x, roi->y, roi->width,
                                                 roi->height);
  return buffer;
}

/* What the engine itself makes of these regions. */
static CfTestPicture *covered(const CfTestPicture *source, const CfRegions *regions)
{
  const CfBlockavgParams params = {8, 8, CF_BLOCKAVG_AVERAGE, CF_BLOCKAVG_FRAME, 0};
  const CfOpenOptions options = {.threads = 1};
  CfTestPicture *result = cf_picture_new(&video, CF_LAYOUT_TIGHT);
  const CfJob job = {.source = source->planes, .destination = result->planes, .regions = regions};
  void *state = cf_blockavg_reference.open(&video, &params, &options, NULL);

  fail_unless(state && cf_blockavg_reference.run(state, &job, NULL));
  cf_blockavg_reference.close(state);
  return result;
}

/* Pushes `frame`, which shows `source`, and checks that exactly `regions` are covered (NULL:
 * nothing is). Takes both. */
static void push_frame(GstHarness *harness, GstBuffer *frame, CfTestPicture *source,
                       const CfRegions *regions)
{
  gchar *what = g_strdup_printf("the frame at %" GST_TIME_FORMAT, GST_TIME_ARGS(frame->pts));
  CfTestPicture *want =
      regions ? covered(source, regions) : cf_picture_copy(source, CF_LAYOUT_TIGHT);

  assert_shows(filter_buffer(harness, frame), want, what);
  g_free(what);
  cf_picture_free(source);
  cf_picture_free(want);
}

static void push(GstHarness *harness, guint number, const Roi *roi, const CfRegions *regions)
{
  CfTestPicture *source;
  GstBuffer *frame = new_frame(&source, number, roi);

  push_frame(harness, frame, source, regions);
}

static GstHarness *new_mosaic(const char *settings, GstBus **bus)
{
  gchar *all = g_strdup_printf("block-width=8 block-height=8 %s", settings);
  GstHarness *harness;

  video = cf_video(CF_FORMAT_NV12, WIDTH, HEIGHT);
  harness = harness_new("cudablockavg", all, &video, NULL, bus);
  g_free(all);
  return harness;
}

#define ONE(x, y, w, h) (&(CfRegions){.region = &(CfRegion){x, y, w, h}, .count = 1})
#define FRAME_COVERED   ONE(0, 0, WIDTH, HEIGHT)

static const Roi face = {"face", 10, 8, 20, 16};
static const Roi car = {"car", 30, 20, 12, 12};

GST_START_TEST(metas_say_where)
{
  GstBus *bus;
  GstHarness *harness = new_mosaic("roi-mode=inside", &bus);

  push(harness, 0, &face, ONE(10, 8, 20, 16));
  push(harness, 1, NULL, NULL);
  push(harness, 2, &car, ONE(30, 20, 12, 12));
  push(harness, 3, &(Roi){"face", 60, 40, 100, 100}, ONE(60, 40, 4, 8));
  push(harness, 4, &(Roi){"face", G_MAXUINT, G_MAXUINT, 4, 4}, ONE(70, 40, 4, 8));
  assert_posted(bus, GST_MESSAGE_WARNING, 0, NULL);
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
  assert_posted(bus, GST_MESSAGE_WARNING, 0, NULL);
  harness_free(harness, bus);
}
GST_END_TEST;
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
  harness_free(harness, bus);
}
GST_END_TEST;

GST_START_TEST(missing_regions_cover_the_frame)
{
  GstBus *bus;
  GstHarness *harness =
      new_mosaic("roi-mode=inside roi-missing=cover roi-shape=ellipse roi-feather=5", &bus);

  push(harness, 0, NULL, FRAME_COVERED);
  g_object_set(harness->element, "regions", "3,3,9,9", "roi-shape", 0, "roi-feather", 0.0, NULL);
  push(harness, 1, NULL, ONE(3, 3, 9, 9));
  harness_free(harness, bus);
}
GST_END_TEST;

/* 100 ms are two frames and a half. */
GST_START_TEST(regions_are_held_by_time)
{
  GstSegment segment;
  GstBus *bus;
  GstHarness *harness =
      new_mosaic("roi-mode=inside roi-hold=100000000 roi-missing=cover roi-types=face", &bus);

  push(harness, 0, NULL, FRAME_COVERED);
  push(harness, 1, &face, ONE(10, 8, 20, 16));
  push(harness, 2, NULL, ONE(10, 8, 20, 16));
  push(harness, 3, &car, ONE(10, 8, 20, 16));
  push(harness, 4, NULL, FRAME_COVERED);
  push(harness, 2, NULL, ONE(10, 8, 20, 16));
  push(harness, 5, &(Roi){"face", 0, 0, 9, 9}, ONE(0, 0, 9, 9));
  push(harness, 7, NULL, ONE(0, 0, 9, 9));
  push(harness, 8, NULL, FRAME_COVERED);
  push(harness, 7, NULL, ONE(0, 0, 9, 9));
  gst_harness_push_event(harness, gst_event_new_flush_start());
  gst_harness_push_event(harness, gst_event_new_flush_stop(TRUE));
  gst_segment_init(&segment, GST_FORMAT_TIME);
  gst_harness_push_event(harness, gst_event_new_segment(&segment));
  push(harness, 7, NULL, FRAME_COVERED); /* a seek forgets them */
  harness_free(harness, bus);
}
GST_END_TEST;

/* Two frames but for a nanosecond, and two frames. */
GST_START_TEST(the_last_held_nanosecond)
{
  GstBus *bus;
  GstHarness *harness = new_mosaic("roi-mode=inside roi-hold=79999999", &bus);

  push(harness, 0, &face, ONE(10, 8, 20, 16));
  push(harness, 2, NULL, NULL);
  g_object_set(harness->element, "roi-hold", (guint64)(2 * FRAME), NULL);
  push(harness, 2, NULL, ONE(10, 8, 20, 16));
  harness_free(harness, bus);
}
GST_END_TEST;

GST_START_TEST(regions_are_expanded_outwards)
{
  GstBus *bus;
  GstHarness *harness = new_mosaic("roi-mode=inside roi-expand=0.24", &bus);

  push(harness, 0, &face, ONE(5, 4, 30, 24)); /* 4.8 and 3.84 on each side */
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

GST_START_TEST(a_hundred_frames_without_warn_once)
{
  GstBus *bus;
  GstHarness *harness = new_mosaic("roi-mode=inside roi-types=face", &bus);

  for (guint i = 0; i < 99; i++)
    push(harness, i, &car, NULL);
  assert_posted(bus, GST_MESSAGE_WARNING, 0, NULL);
  for (guint i = 99; i < 320; i++)
    push(harness, i, NULL, NULL);
  assert_posted(bus, GST_MESSAGE_WARNING, 1, "no region of interest");
  harness_free(harness, bus);

  harness = new_mosaic("roi-mode=inside", &bus);
  push(harness, 0, &face, ONE(10, 8, 20, 16));
  for (guint i = 1; i < 250; i++)
    push(harness, i, NULL, NULL);
  g_object_set(harness->element, "roi-mode", 0, NULL);
  for (guint i = 250; i < 260; i++)
    push(harness, i, NULL, FRAME_COVERED);
  assert_posted(bus, GST_MESSAGE_WARNING, 0, NULL);
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

static void add_tests(TCase *tests)
{
  tcase_add_test(tests, metas_say_where);
#ifdef HAVE_GST_ANALYTICS
  tcase_add_test(tests, detections_say_where);
#endif
  tcase_add_test(tests, without_a_mode_all_is_covered);
  tcase_add_test(tests, types_are_chosen);
  tcase_add_test(tests, fixed_regions_are_covered_besides);
  tcase_add_test(tests, bad_regions_are_refused);
  tcase_add_test(tests, bad_regions_do_not_start);
  tcase_add_test(tests, outside_is_the_rest);
  tcase_add_test(tests, missing_regions_cover_the_frame);
  tcase_add_test(tests, regions_are_held_by_time);
  tcase_add_test(tests, the_last_held_nanosecond);
  tcase_add_test(tests, regions_are_expanded_outwards);
  tcase_add_test(tests, metas_stay_for_later_elements);
  tcase_add_test(tests, a_frame_without_regions_is_passed_on);
  tcase_add_test(tests, a_hundred_frames_without_warn_once);
  tcase_add_test(tests, fields_have_regions_too);
}

int main(int argc, char **argv)
{
  return run_tests(argc, argv, "regions", add_tests);
}
