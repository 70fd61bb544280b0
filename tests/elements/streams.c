/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Everything that travels with the pixels: metas, times, events, queries; and what an element tells
 * of itself.
 */
#include "elements.h"

#include <string.h>

#define CASE (&element_cases[__i__])

static CfVideo video_of_tests(void)
{
  return cf_video(CF_FORMAT_I420, 32, 16);
}

static GstBuffer *new_frame(GstClockTime pts)
{
  const CfVideo video = video_of_tests();
  CfTestPicture *picture = new_picture(&video, CF_LAYOUT_TIGHT, CF_PATTERN_PHOTO, 7);
  GstBuffer *buffer = plain_buffer(picture, pts);

  cf_picture_free(picture);
  return buffer;
}

/* Metas */

static void add_metas(GstBuffer *buffer)
{
  static const guint8 caption[] = {0x80, 0x80, 0xfd, 0x12, 0x34, 0xfc};
  GstCaps *reference = gst_caps_new_empty_simple("timestamp/x-test");

  gst_buffer_add_video_region_of_interest_meta(buffer, "face", 3, 5, 7, 9);
  gst_buffer_add_video_region_of_interest_meta(buffer, "plate", 1, 2, 3, 4);
  gst_buffer_add_video_time_code_meta_full(buffer, 25, 1, NULL, GST_VIDEO_TIME_CODE_FLAGS_NONE, 1,
                                           2, 3, 4, 0);
  gst_buffer_add_video_caption_meta(buffer, GST_VIDEO_CAPTION_TYPE_CEA608_RAW, caption,
                                    sizeof caption);
  gst_buffer_add_reference_timestamp_meta(buffer, reference, 4711, GST_CLOCK_TIME_NONE);
  gst_structure_set(
      gst_custom_meta_get_structure(gst_buffer_add_custom_meta(buffer, "cudafilters-test-meta")),
      "answer", G_TYPE_INT, 42, NULL);
  gst_buffer_add_video_affine_transformation_meta(buffer);
  gst_caps_unref(reference);
}

static void check_metas(GstBuffer *buffer)
{
  GstVideoRegionOfInterestMeta *region = gst_buffer_get_video_region_of_interest_meta_id(buffer, 0);
  GstVideoTimeCodeMeta *code = gst_buffer_get_video_time_code_meta(buffer);
  GstVideoCaptionMeta *caption = gst_buffer_get_video_caption_meta(buffer);
  GstReferenceTimestampMeta *time = gst_buffer_get_reference_timestamp_meta(buffer, NULL);
  GstCustomMeta *custom = gst_buffer_get_custom_meta(buffer, "cudafilters-test-meta");
  gint answer = 0;

  fail_unless_equals_int(gst_buffer_get_n_meta(buffer, GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE),
                         2);
  fail_unless(region != NULL);
  fail_unless(region->x == 3 && region->y == 5 && region->w == 7 && region->h == 9);
  fail_unless_equals_string(g_quark_to_string(region->roi_type), "face");
  fail_unless(code != NULL && code->tc.seconds == 3, "no timecode");
  fail_unless(caption != NULL && caption->size == 6 && caption->data[4] == 0x34, "no caption");
  fail_unless(time != NULL && time->timestamp == 4711, "no reference timestamp");
  fail_unless(custom != NULL, "no custom meta");
  fail_unless(gst_structure_get_int(gst_custom_meta_get_structure(custom), "answer", &answer));
  fail_unless_equals_int(answer, 42);
  fail_unless(gst_buffer_get_meta(buffer, GST_VIDEO_AFFINE_TRANSFORMATION_META_API_TYPE) != NULL,
              "no affine transformation");
}

GST_START_TEST(metas_survive)
{
  static const gchar *tags[] = {"video", "size", "orientation", NULL};
  const char *settings[] = {CASE->working, CASE->identity};

  gst_meta_register_custom("cudafilters-test-meta", tags, NULL, NULL, NULL);
  for (guint i = 0; i < G_N_ELEMENTS(settings); i++) {
    const CfVideo video = video_of_tests();
    GstBus *bus;
    GstHarness *harness = harness_new(CASE->name, settings[i], &video, NULL, &bus);
    GstBuffer *shared = new_frame(0), *result;

    add_metas(shared);
    result = filter_buffer(harness, gst_buffer_copy(shared));
    check_metas(result);
    gst_buffer_unref(result);
    result = filter_buffer(harness, shared);
    check_metas(result);
    gst_buffer_unref(result);
    harness_free(harness, bus);
  }
}
GST_END_TEST;

GST_START_TEST(times_and_flags_survive)
{
  const CfVideo video = video_of_tests();
  GstBus *bus;
  GstHarness *harness = harness_new(CASE->name, CASE->working, &video, NULL, &bus);
  GstBuffer *buffer = new_frame(3 * GST_SECOND);

  GST_BUFFER_DTS(buffer) = 2 * GST_SECOND;
  GST_BUFFER_OFFSET(buffer) = 75;
  GST_BUFFER_OFFSET_END(buffer) = 76;
  GST_BUFFER_FLAG_SET(buffer, GST_BUFFER_FLAG_DISCONT | GST_BUFFER_FLAG_MARKER);
  buffer = filter_buffer(harness, buffer);
  fail_unless_equals_uint64(GST_BUFFER_PTS(buffer), 3 * GST_SECOND);
  fail_unless_equals_uint64(GST_BUFFER_DTS(buffer), 2 * GST_SECOND);
  fail_unless_equals_uint64(GST_BUFFER_DURATION(buffer), 40 * GST_MSECOND);
  fail_unless_equals_uint64(GST_BUFFER_OFFSET(buffer), 75);
  fail_unless_equals_uint64(GST_BUFFER_OFFSET_END(buffer), 76);
  fail_unless(GST_BUFFER_FLAG_IS_SET(buffer, GST_BUFFER_FLAG_DISCONT));
  fail_unless(GST_BUFFER_FLAG_IS_SET(buffer, GST_BUFFER_FLAG_MARKER));
  gst_buffer_unref(buffer);
  harness_free(harness, bus);
}
GST_END_TEST;

/* Events */

static GstEvent *expect_event(GstHarness *harness, GstEventType type)
{
  GstEvent *event;

  while ((event = gst_harness_try_pull_event(harness)) != NULL) {
    if (GST_EVENT_TYPE(event) == type)
      return event;
    gst_event_unref(event);
  }
  fail("no %s event came out", gst_event_type_get_name(type));
  return NULL;
}

GST_START_TEST(flush_and_new_segment)
{
  const CfVideo video = video_of_tests();
  GstBus *bus;
  GstHarness *harness = harness_new(CASE->name, CASE->working, &video, NULL, &bus);
  const GstSegment *got;
  GstSegment segment;
  GstEvent *event;

  gst_buffer_unref(filter_buffer(harness, new_frame(0)));
  fail_unless(gst_harness_push_event(harness, gst_event_new_flush_start()));
  fail_unless_equals_int(gst_harness_push(harness, new_frame(0)), GST_FLOW_FLUSHING);
  fail_unless(gst_harness_push_event(harness, gst_event_new_flush_stop(TRUE)));
  gst_event_unref(expect_event(harness, GST_EVENT_FLUSH_STOP));

  gst_segment_init(&segment, GST_FORMAT_TIME);
  segment.start = segment.position = segment.time = 10 * GST_SECOND;
  segment.rate = 2.0;
  fail_unless(gst_harness_push_event(harness, gst_event_new_segment(&segment)));
  gst_buffer_unref(filter_buffer(harness, new_frame(10 * GST_SECOND)));
  event = expect_event(harness, GST_EVENT_SEGMENT);
  gst_event_parse_segment(event, &got);
  fail_unless_equals_uint64(got->start, 10 * GST_SECOND);
  fail_unless(got->rate == 2.0);
  gst_event_unref(event);
  assert_posted(bus, GST_MESSAGE_ERROR, 0, NULL);
  harness_free(harness, bus);
}
GST_END_TEST;

/* Times mean nothing there, and nobody complains. */
GST_START_TEST(segments_in_bytes)
{
  const CfVideo video = video_of_tests();
  GstBus *bus;
  GstHarness *harness = harness_new(CASE->name, CASE->working, &video, NULL, &bus);
  GstSegment segment;

  gst_segment_init(&segment, GST_FORMAT_BYTES);
  fail_unless(gst_harness_push_event(harness, gst_event_new_segment(&segment)));
  gst_buffer_unref(filter_buffer(harness, new_frame(GST_CLOCK_TIME_NONE)));
  gst_buffer_unref(filter_buffer(harness, new_frame(GST_SECOND)));
  assert_posted(bus, GST_MESSAGE_ERROR, 0, NULL);
  harness_free(harness, bus);
}
GST_END_TEST;

GST_START_TEST(gap_and_end_of_stream)
{
  const CfVideo video = video_of_tests();
  GstBus *bus;
  GstHarness *harness = harness_new(CASE->name, CASE->working, &video, NULL, &bus);
  GstClockTime start, duration;
  GstEvent *event;

  gst_buffer_unref(filter_buffer(harness, new_frame(0)));
  fail_unless(gst_harness_push_event(harness, gst_event_new_gap(GST_SECOND, GST_MSECOND)));
  event = expect_event(harness, GST_EVENT_GAP);
  gst_event_parse_gap(event, &start, &duration);
  fail_unless_equals_uint64(start, GST_SECOND);
  fail_unless_equals_uint64(duration, GST_MSECOND);
  gst_event_unref(event);
  gst_buffer_unref(filter_buffer(harness, new_frame(2 * GST_SECOND)));
  fail_unless(gst_harness_push_event(harness, gst_event_new_eos()));
  gst_event_unref(expect_event(harness, GST_EVENT_EOS));
  fail_unless_equals_int(gst_harness_push(harness, new_frame(3 * GST_SECOND)), GST_FLOW_EOS);
  harness_free(harness, bus);
}
GST_END_TEST;

GST_START_TEST(seek_goes_upstream)
{
  const CfVideo video = video_of_tests();
  GstBus *bus;
  GstHarness *harness = harness_new(CASE->name, CASE->working, &video, NULL, &bus);
  GstEvent *event;
  gboolean found;

  gst_buffer_unref(filter_buffer(harness, new_frame(0)));
  gst_harness_push_upstream_event(
      harness, gst_event_new_seek(1.0, GST_FORMAT_TIME, GST_SEEK_FLAG_FLUSH, GST_SEEK_TYPE_SET,
                                  GST_SECOND, GST_SEEK_TYPE_NONE, 0));
  do {
    event = gst_harness_try_pull_upstream_event(harness);
    fail_unless(event != NULL, "no seek event arrived upstream");
    found = GST_EVENT_TYPE(event) == GST_EVENT_SEEK;
    gst_event_unref(event);
  } while (!found);
  harness_free(harness, bus);
}
GST_END_TEST;

/* Downstream is half a second behind: what is older than that is not worth filtering. */
GST_START_TEST(late_frames_are_dropped)
{
  const CfVideo video = video_of_tests();
  GstBus *bus;
  GstHarness *harness = harness_new(CASE->name, CASE->working, &video, NULL, &bus);

  gst_buffer_unref(filter_buffer(harness, new_frame(0)));
  gst_harness_push_upstream_event(
      harness, gst_event_new_qos(GST_QOS_TYPE_UNDERFLOW, 1.5, 500 * GST_MSECOND, GST_SECOND));
  fail_unless_equals_int(gst_harness_push(harness, new_frame(1100 * GST_MSECOND)), GST_FLOW_OK);
  fail_unless_equals_int(gst_harness_buffers_received(harness), 1);
  gst_buffer_unref(filter_buffer(harness, new_frame(9 * GST_SECOND)));
  harness_free(harness, bus);
}
GST_END_TEST;

/* Frames that are not what the caps say */

static void assert_frame_refused(const ElementCase *element, GstBuffer *buffer, const char *what)
{
  const CfVideo video = video_of_tests();
  GstBus *bus;
  GstHarness *harness = harness_new(element->name, element->working, &video, NULL, &bus);
  const GstFlowReturn flow = gst_harness_push(harness, buffer);

  fail_unless(flow == GST_FLOW_ERROR, "%s: %s", what, gst_flow_get_name(flow));
  fail_unless_equals_int(gst_harness_buffers_received(harness), 0);
  assert_posted(bus, GST_MESSAGE_ERROR, 1, "frame");
  harness_free(harness, bus);
}

GST_START_TEST(frames_too_small_for_their_caps)
{
  GstBuffer *buffer = new_frame(0);

  gst_buffer_set_size(buffer, (gssize)gst_buffer_get_size(buffer) - 1);
  assert_frame_refused(CASE, buffer, "one byte short");
  assert_frame_refused(CASE, gst_buffer_new(), "empty");
}
GST_END_TEST;

/* An error among good frames is told each time. */
GST_START_TEST(bad_frames_come_and_go)
{
  const CfVideo video = video_of_tests();
  GstBus *bus;
  GstHarness *harness = harness_new(CASE->name, CASE->working, &video, NULL, &bus);

  for (guint i = 0; i < 3; i++) {
    fail_unless_equals_int(gst_harness_push(harness, gst_buffer_new()), GST_FLOW_ERROR);
    fail_unless_equals_int(gst_harness_push(harness, gst_buffer_new()), GST_FLOW_ERROR);
    assert_posted(bus, GST_MESSAGE_ERROR, 1, "frame");
    gst_buffer_unref(filter_buffer(harness, new_frame(i * GST_SECOND)));
  }
  harness_free(harness, bus);
}
GST_END_TEST;

GST_START_TEST(meta_of_another_frame)
{
  static const struct {
    CfFormat format;
    int width, height;
  } others[] = {{CF_FORMAT_YV12, 32, 16},
                {CF_FORMAT_GRAY8, 32, 16},
                {CF_FORMAT_I420, 30, 16},
                {CF_FORMAT_I420, 32, 14}};

  for (guint i = 0; i < G_N_ELEMENTS(others); i++) {
    const CfVideo video = cf_video(others[i].format, others[i].width, others[i].height);

    assert_frame_refused(
        CASE, buffer_from_picture(new_picture(&video, CF_LAYOUT_ALIGNED, CF_PATTERN_NOISE, 1), 0),
        "meta of another frame");
  }
}
GST_END_TEST;

/* GStreamer itself looks at a plane's first byte only. */
GST_START_TEST(meta_beyond_the_memory)
{
  gsize offset[GST_VIDEO_MAX_PLANES] = {32, 512, 640};
  gint upwards[GST_VIDEO_MAX_PLANES] = {-32, 16, 16};
  const CfVideo video = video_of_tests();
  GstBuffer *buffer =
      buffer_from_picture(new_picture(&video, CF_LAYOUT_TIGHT, CF_PATTERN_NOISE, 1), 0);
  GstMemory *memory;

  gst_buffer_set_size(buffer, (gssize)gst_buffer_get_size(buffer) - 1);
  assert_frame_refused(CASE, buffer, "one byte short of its meta");

  buffer = new_frame(0);
  memory = gst_buffer_get_memory(buffer, 0);
  gst_buffer_add_video_meta_full(buffer, 0, GST_VIDEO_FORMAT_I420, (guint)video.width,
                                 (guint)video.height, 3, offset, upwards);
  assert_frame_refused(CASE, buffer, "rows before the memory");
  ASSERT_MINI_OBJECT_REFCOUNT(memory, "memory", 1); /* and so no more mapped */
  gst_memory_unref(memory);
}
GST_END_TEST;

/* A frame whose meta says more than the caps shows the part that the caps name. */
GST_START_TEST(larger_frames_are_cropped_by_the_caps)
{
  const CfVideo video = video_of_tests(), larger = cf_video(CF_FORMAT_I420, 40, 24);
  GstBus *bus;
  GstHarness *harness = harness_new(CASE->name, CASE->working, &video, NULL, &bus);
  CfTestPicture *big = new_picture(&larger, CF_LAYOUT_ALIGNED, CF_PATTERN_PHOTO, 1);
  CfTestPicture *part = cf_picture_new(&video, CF_LAYOUT_ALIGNED);
  CfTestPicture *want, *got;
  GstBuffer *result;

  for (int plane = 0; plane < 3; plane++) {
    for (int y = 0; y < cf_plane_height(&video, plane); y++)
      memcpy(part->planes.data[plane] + y * part->planes.stride[plane],
             big->planes.data[plane] + y * big->planes.stride[plane], cf_row_bytes(&video, plane));
  }
  want = engine_output(CASE, CASE->working, part);
  result = filter_buffer(harness, buffer_from_picture(big, 0));
  got = picture_from_buffer(&video, result);
  fail_unless(same_samples(got, want));
  gst_buffer_unref(result);
  cf_picture_free(part);
  cf_picture_free(want);
  cf_picture_free(got);
  harness_free(harness, bus);
}
GST_END_TEST;

/* What an element tells of itself */

static void count_notify(GObject *object, GParamSpec *spec, gpointer count)
{
  (*(guint *)count)++;
}

static void assert_active(GstElement *element, const char *want)
{
  gchar *active;

  g_object_get(element, "active-backend", &active, NULL);
  fail_unless_equals_string(active, want);
  g_free(active);
}

/* Returns the time of the last frame; `total` is that of all. */
static guint64 assert_stats(GstElement *element, guint64 frames, const char *backend, guint64 total)
{
  GstStructure *stats;
  guint64 counted, average, last;

  g_object_get(element, "stats", &stats, NULL);
  fail_unless(gst_structure_get_uint64(stats, "frames", &counted));
  fail_unless(gst_structure_get_uint64(stats, "average-time", &average));
  fail_unless(gst_structure_get_uint64(stats, "last-time", &last));
  fail_unless_equals_uint64(counted, frames);
  fail_unless_equals_string(gst_structure_get_string(stats, "backend"), backend);
  fail_unless((g_strcmp0(gst_structure_get_string(stats, "algorithm"), "none") == 0) ==
              (frames == 0));
  fail_unless((last > 0) == (frames > 0));
  fail_unless_equals_uint64(average, frames ? (total + last) / frames : 0);
  gst_structure_free(stats);
  return last;
}

GST_START_TEST(stats_and_active_backend)
{
  const CfVideo video = video_of_tests();
  static const char *const backends[] = {"cpu", "reference"};

  for (guint i = 0; i < G_N_ELEMENTS(backends); i++) {
    GstHarness *harness = gst_harness_new(CASE->name);
    GstBus *bus = gst_bus_new();
    guint notified = 0;
    guint64 total = 0;

    gst_element_set_bus(harness->element, bus);
    set_text(harness->element, i == 0 ? "backend=cpu" : "backend=reference");
    set_text(harness->element, CASE->working);
    g_signal_connect(harness->element, "notify::active-backend", G_CALLBACK(count_notify),
                     &notified);
    assert_active(harness->element, "none");
    assert_stats(harness->element, 0, "none", 0);
    gst_harness_set_src_caps_str(harness,
                                 "video/x-raw, format=I420, width=32, height=16, framerate=25/1");
    assert_active(harness->element, backends[i]);
    fail_unless_equals_int(notified, 1);
    assert_stats(harness->element, 0, backends[i], 0);
    for (guint frame = 0; frame < 3; frame++) {
      gst_buffer_unref(filter_buffer(harness, new_frame(frame * GST_SECOND)));
      total += assert_stats(harness->element, frame + 1, backends[i], total);
    }
    push_caps(harness, &video, ", pixel-aspect-ratio=2/1");
    gst_buffer_unref(filter_buffer(harness, new_frame(3 * GST_SECOND)));
    fail_unless_equals_int(notified, 1);
    assert_stats(harness->element, 4, backends[i], total);
    restart(harness, &video);
    fail_unless_equals_int(notified, 3);
    assert_stats(harness->element, 0, backends[i], 0);
    gst_element_set_state(harness->element, GST_STATE_NULL);
    assert_active(harness->element, "none");
    fail_unless_equals_int(notified, 4);
    harness_free(harness, bus);
  }
}
GST_END_TEST;

/* On a machine without a device, auto is the CPU. */
GST_START_TEST(auto_backend_runs)
{
  const CfVideo video = video_of_tests();
  GstHarness *harness = gst_harness_new(CASE->name);
  gchar *active;

  set_text(harness->element, CASE->working);
  gst_harness_set_src_caps_str(harness,
                               "video/x-raw, format=I420, width=32, height=16, framerate=25/1");
  g_object_get(harness->element, "active-backend", &active, NULL);
  fail_unless(g_str_equal(active, "cpu") || g_str_equal(active, "cuda"), "%s", active);
  if (g_str_equal(active, "cpu")) {
    CfTestPicture *source = new_picture(&video, CF_LAYOUT_TIGHT, CF_PATTERN_PHOTO, 7);
    CfTestPicture *want = engine_output(CASE, CASE->working, source);

    assert_shows(filter_buffer(harness, new_frame(0)), want, "backend=auto, all threads");
    cf_picture_free(source);
    cf_picture_free(want);
  }
  g_free(active);
  gst_harness_teardown(harness);
}
GST_END_TEST;

static void add_tests(TCase *tests)
{
  tcase_add_loop_test(tests, metas_survive, 0, N_ELEMENTS);
  tcase_add_loop_test(tests, times_and_flags_survive, 0, N_ELEMENTS);
  tcase_add_loop_test(tests, flush_and_new_segment, 0, N_ELEMENTS);
  tcase_add_loop_test(tests, segments_in_bytes, 0, N_ELEMENTS);
  tcase_add_loop_test(tests, gap_and_end_of_stream, 0, N_ELEMENTS);
  tcase_add_loop_test(tests, seek_goes_upstream, 0, N_ELEMENTS);
  tcase_add_loop_test(tests, late_frames_are_dropped, 0, N_ELEMENTS);
  tcase_add_loop_test(tests, frames_too_small_for_their_caps, 0, N_ELEMENTS);
  tcase_add_loop_test(tests, bad_frames_come_and_go, 0, N_ELEMENTS);
  tcase_add_loop_test(tests, meta_of_another_frame, 0, N_ELEMENTS);
  tcase_add_loop_test(tests, meta_beyond_the_memory, 0, N_ELEMENTS);
  tcase_add_loop_test(tests, larger_frames_are_cropped_by_the_caps, 0, N_ELEMENTS);
  tcase_add_loop_test(tests, stats_and_active_backend, 0, N_ELEMENTS);
  tcase_add_loop_test(tests, auto_backend_runs, 0, N_ELEMENTS);
}

int main(int argc, char **argv)
{
  return run_tests(argc, argv, "streams", add_tests);
}
