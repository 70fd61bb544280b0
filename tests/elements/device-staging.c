/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Frames in system memory on a device, where they are more than one picture after the other: in
 * fields, with caps of which one side changes, too large, or not what they say. On fake-gpu.
 */
#include "device-frames.h"
#include "fake-cuda.h"

#define FRAMES 4

/* The frames that come out, filtered on that backend. */
static void filter_on(const char *backend, const char *element, const char *settings,
                      const CfVideo *video, const char *more_caps, CfTestPicture **results)
{
  gchar *all = g_strdup_printf("backend=%s %s", backend, settings);
  GstBus *bus;
  GstHarness *harness = harness_new(element, all, video, more_caps, &bus);

  for (guint i = 0; i < FRAMES; i++) {
    CfTestPicture *source = new_picture(video, CF_LAYOUT_ALIGNED, CF_PATTERN_NOISE, i + 1);
    GstBuffer *buffer = filter_buffer(harness, plain_buffer(source, i * 40 * GST_MSECOND));

    results[i] = picture_from_buffer(video, buffer);
    gst_buffer_unref(buffer);
    cf_picture_free(source);
  }
  assert_posted(bus, GST_MESSAGE_ERROR, 0, NULL);
  harness_free(harness, bus);
  g_free(all);
}

static void assert_alike(const char *element, const char *settings, const CfVideo *video,
                         const char *more_caps)
{
  CfTestPicture *want[FRAMES], *got[FRAMES];

  filter_on("cpu", element, settings, video, more_caps, want);
  filter_on("cuda", element, settings, video, more_caps, got);
  for (guint i = 0; i < FRAMES; i++) {
    fail_unless(same_samples(got[i], want[i]), "%s %s, frame %u", element, settings, i);
    cf_picture_free(want[i]);
    cf_picture_free(got[i]);
  }
}

GST_START_TEST(fields_are_filtered_by_themselves)
{
  const CfVideo video = cf_video(CF_FORMAT_NV12, 40, 32);

  assert_alike(element_cases[__i__].name, element_cases[__i__].working, &video,
               ", interlace-mode=interleaved");
}
GST_END_TEST

/* Engines of fake-gpu filter no strips. */
GST_START_TEST(a_limit_of_memory_that_is_too_low_says_so)
{
  const CfVideo video = cf_video(CF_FORMAT_NV12, 40, 20);
  CfTestPicture *source = new_picture(&video, CF_LAYOUT_ALIGNED, CF_PATTERN_NOISE, 1);
  GstBus *bus;
  GstHarness *harness =
      harness_new("cudagaussblur", "backend=cuda max-device-memory=2399", &video, NULL, &bus);

  fail_unless_equals_int(gst_harness_push(harness, plain_buffer(source, 0)), GST_FLOW_ERROR);
  assert_posted(bus, GST_MESSAGE_ERROR, 1, "max-device-memory is 2399");
  harness_free(harness, bus);
  cf_picture_free(source);
}
GST_END_TEST

static GstCaps *video_caps(CfFormat format, const char *colorimetry)
{
  const CfVideo video = cf_video(format, 40, 20);
  GstCaps *caps = device_caps(&video);

  gst_caps_set_features_simple(caps, NULL);
  gst_caps_set_simple(caps, "colorimetry", G_TYPE_STRING, colorimetry, NULL);
  return caps;
}

/* What comes in, and what goes out. */
static const struct {
  CfFormat source, destination;
  const char *colorimetry;
} steps[] = {{CF_FORMAT_P010_10LE, CF_FORMAT_NV12, "bt709"},
             {CF_FORMAT_I422_10LE, CF_FORMAT_NV12, "bt709"},
             {CF_FORMAT_I422_10LE, CF_FORMAT_RGBA, "sRGB"},
             {CF_FORMAT_P010_10LE, CF_FORMAT_RGBA, "sRGB"}};

static CfTestPicture *tonemapped(GstHarness *harness, guint step)
{
  const CfVideo video = cf_video(steps[step].source, 40, 20);
  const CfVideo destination = cf_video(steps[step].destination, 40, 20);
  CfTestPicture *source = new_picture(&video, CF_LAYOUT_ALIGNED, CF_PATTERN_NOISE, step);
  CfTestPicture *result;
  GstBuffer *buffer;

  gst_harness_set_sink_caps(harness, video_caps(steps[step].destination, steps[step].colorimetry));
  gst_harness_set_src_caps(harness, video_caps(steps[step].source, "bt2100-pq"));
  buffer = filter_buffer(harness, plain_buffer(source, step * 40 * GST_MSECOND));
  result = picture_from_buffer(&destination, buffer);
  gst_buffer_unref(buffer);
  cf_picture_free(source);
  return result;
}

GST_START_TEST(one_side_of_the_caps_changes)
{
  GstHarness *changes = gst_harness_new("cudatonemap");

  set_text(changes->element, "backend=cuda");
  for (guint step = 0; step < G_N_ELEMENTS(steps); step++) {
    GstHarness *fresh = gst_harness_new("cudatonemap");
    CfTestPicture *got, *want;

    set_text(fresh->element, "backend=cpu");
    want = tonemapped(fresh, step);
    got = tonemapped(changes, step);
    fail_unless(same_samples(got, want), "step %u", step);
    cf_picture_free(got);
    cf_picture_free(want);
    gst_harness_teardown(fresh);
  }
  gst_harness_teardown(changes);
}
GST_END_TEST

static guint alive;

static void note_end(gpointer unused)
{
  alive--;
}

GST_START_TEST(frames_that_are_refused_are_let_go)
{
  const ElementCase *element = &element_cases[__i__];
  const CfVideo video = cf_video(CF_FORMAT_NV12, 40, 20);
  CfTestPicture *source = new_picture(&video, CF_LAYOUT_ALIGNED, CF_PATTERN_NOISE, 1);
  GstBuffer *buffer = plain_buffer(source, 0);
  GstBus *bus;
  GstHarness *harness = harness_new(element->name, "backend=cuda", &video, NULL, &bus);

  set_text(harness->element, element->working);
  gst_buffer_add_video_meta(buffer, GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_FORMAT_NV12, 38, 20);
  gst_mini_object_set_qdata(GST_MINI_OBJECT(buffer), g_quark_from_static_string("alive"), &alive,
                            note_end);
  alive = 1;
  fail_unless_equals_int(gst_harness_push(harness, buffer), GST_FLOW_ERROR);
  fail_unless_equals_int(alive, 0);
  assert_posted(bus, GST_MESSAGE_ERROR, 1, "is NV12 38x20, but its caps say NV12 40x20");
  harness_free(harness, bus);
  fail_unless_equals_int(fake_cuda_objects(), 0);
  cf_picture_free(source);
}
GST_END_TEST

static void add_tests(TCase *tests)
{
  tcase_add_loop_test(tests, fields_are_filtered_by_themselves, 0, N_ELEMENTS);
  tcase_add_test(tests, a_limit_of_memory_that_is_too_low_says_so);
  tcase_add_test(tests, one_side_of_the_caps_changes);
  tcase_add_loop_test(tests, frames_that_are_refused_are_let_go, 0, N_ELEMENTS);
}

int main(int argc, char **argv)
{
  return run_fake_device_tests(argc, argv, "device-staging", add_tests);
}
