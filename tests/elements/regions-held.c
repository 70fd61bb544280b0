/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * How long the elements hold regions that metas no longer tell of.
 */
#include "region-frames.h"

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
  push(harness, 6, &(Roi){"face", WIDTH, 0, 9, 9}, ONE(0, 0, 9, 9)); /* of nothing in the frame */
  push(harness, 7, NULL, ONE(0, 0, 9, 9));
  push(harness, 8, NULL, FRAME_COVERED);
  push(harness, 3, NULL, ONE(0, 0, 9, 9)); /* backwards, too */
  push(harness, 7, NULL, ONE(0, 0, 9, 9));
  gst_harness_push_event(harness, gst_event_new_flush_start());
  gst_harness_push_event(harness, gst_event_new_flush_stop(TRUE));
  gst_segment_init(&segment, GST_FORMAT_TIME);
  gst_harness_push_event(harness, gst_event_new_segment(&segment));
  push(harness, 7, NULL, FRAME_COVERED); /* a seek forgets them */
  harness_free(harness, bus);
}
GST_END_TEST;

/* What is held is held on, for 100 ms, where timestamps begin: anew, or after frames without. In a
 * stream that runs backwards they always step back. */
GST_START_TEST(regions_are_held_where_times_begin)
{
  GstSegment segment;
  GstBus *bus;
  GstHarness *harness = new_mosaic("roi-mode=inside roi-hold=100000000", &bus);
  CfTestPicture *source;
  GstBuffer *frame;

  push(harness, 50, &face, ONE(10, 8, 20, 16));
  push(harness, 0, NULL, ONE(10, 8, 20, 16));
  push(harness, 2, NULL, ONE(10, 8, 20, 16));
  push(harness, 3, NULL, NULL);
  frame = new_frame(&source, 0, &car);
  GST_BUFFER_PTS(frame) = GST_CLOCK_TIME_NONE;
  push_frame(harness, frame, source, ONE(30, 20, 12, 12));
  push(harness, 10, NULL, ONE(30, 20, 12, 12));
  push(harness, 12, NULL, ONE(30, 20, 12, 12));
  push(harness, 13, NULL, NULL);
  gst_segment_init(&segment, GST_FORMAT_TIME);
  segment.rate = -1.0;
  segment.stop = 100 * FRAME;
  gst_harness_push_event(harness, gst_event_new_segment(&segment));
  push(harness, 20, &face, ONE(10, 8, 20, 16));
  push(harness, 18, NULL, ONE(10, 8, 20, 16));
  push(harness, 17, NULL, NULL);
  harness_free(harness, bus);
}
GST_END_TEST;

/* What was seen before a setting counts for it, and no more. */
GST_START_TEST(settings_decide_what_is_held)
{
  GstBus *bus;
  GstHarness *harness = new_mosaic("roi-mode=none roi-hold=1000000000", &bus);

  push(harness, 0, &face, FRAME_COVERED);
  g_object_set(harness->element, "roi-mode", 1, NULL);
  push(harness, 1, NULL, ONE(10, 8, 20, 16));
  g_object_set(harness->element, "roi-types", "car,face", NULL);
  push(harness, 2, NULL, ONE(10, 8, 20, 16));
  g_object_set(harness->element, "roi-types", "car", NULL);
  push(harness, 3, NULL, NULL);
  g_object_set(harness->element, "roi-types", "", NULL);
  push(harness, 4, NULL, NULL);
  push(harness, 5, &car, ONE(30, 20, 12, 12));
  g_object_set(harness->element, "roi-mode", 2, "roi-types", "face", NULL);
  push(harness, 6, NULL, FRAME_COVERED);
  harness_free(harness, bus);
}
GST_END_TEST;

/* Of frames without times nobody knows how old they are. */
GST_START_TEST(regions_are_held_without_times)
{
  GstBus *bus;
  GstHarness *harness = new_mosaic("roi-mode=inside roi-hold=1", &bus);

  for (guint i = 0; i < 4; i++) {
    CfTestPicture *source;
    GstBuffer *frame = new_frame(&source, i, i % 2 ? NULL : &face);

    g_object_set(harness->element, "roi-hold", (guint64)(i < 2), NULL);
    GST_BUFFER_PTS(frame) = GST_CLOCK_TIME_NONE;
    push_frame(harness, frame, source, i < 3 ? ONE(10, 8, 20, 16) : NULL);
  }
  harness_free(harness, bus);
}
GST_END_TEST;

/* A stream that comes in another size shows the same: what is held stays where it lies in it.
 * Blocks start at the corner of their region, which may lie beyond the frame. */
GST_START_TEST(regions_are_held_in_other_sizes)
{
  static const CfBlockavgParams anchored = {8, 8, CF_BLOCKAVG_AVERAGE, CF_BLOCKAVG_REGION, 0, 0};
  static const struct {
    Roi roi;
    int width, height; /* of the other frames */
    CfRegion held;
    bool outside;
  } rows[] = {{{"face", 10, 8, 20, 16}, WIDTH / 2, HEIGHT / 2, {5, 4, 10, 8}, false},
              {{"face", 10, 8, 20, 16}, 2 * WIDTH, HEIGHT, {20, 8, 40, 16}, false},
              {{"face", 10, 8, 20, 16}, WIDTH, 20, {10, 3, 20, 7}, false},
              {{"face", 10, 8, 20, 16}, 40, 48, {6, 8, 13, 16}, false},
              {{"face", -5u, -3u, 20, 16}, WIDTH / 2, HEIGHT / 2, {-3, -2, 11, 9}, false},
              {{"face", 10, 8, 20, 16}, 40, 48, {7, 8, 11, 16}, true},
              {{"face", 11, 8, 1, 1}, WIDTH / 2, HEIGHT / 2, {6, 4, 1, 1}, true}};

  for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
    const CfRegions held = {.region = &rows[i].held, .count = 1, .outside = rows[i].outside};
    GstBus *bus;
    GstHarness *harness = new_mosaic("anchor=region roi-hold=1000000000", &bus);

    g_object_set(harness->element, "roi-mode", rows[i].outside ? 2 : 1, NULL);
    for (guint number = 0; number < 3; number++) {
      CfTestPicture *source;
      GstBuffer *frame = new_frame(&source, number, number ? NULL : &rows[i].roi);

      if (number > 0) {
        push_frame_in_blocks(harness, frame, source, &anchored, &held);
        continue;
      }
      gst_buffer_unref(filter_buffer(harness, frame));
      cf_picture_free(source);
      video = cf_video(CF_FORMAT_NV12, rows[i].width, rows[i].height);
      push_caps(harness, &video, NULL);
    }
    harness_free(harness, bus);
  }
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

static void add_tests(TCase *tests)
{
  tcase_add_test(tests, regions_are_held_by_time);
  tcase_add_test(tests, regions_are_held_where_times_begin);
  tcase_add_test(tests, settings_decide_what_is_held);
  tcase_add_test(tests, regions_are_held_without_times);
  tcase_add_test(tests, regions_are_held_in_other_sizes);
  tcase_add_test(tests, the_last_held_nanosecond);
}

int main(int argc, char **argv)
{
  return run_tests(argc, argv, "regions-held", add_tests);
}
