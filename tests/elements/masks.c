/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Masks that hide although nobody has said how: automatic sizes, one colour, and regions that stay
 * where they are while a detector trembles.
 */
#include "region-frames.h"

#include "gaussblur.h"

/* Pushes a frame with a face and checks that it becomes what `want` settings of the engine make of
 * the same regions. */
static void assert_masked(GstHarness *harness, const CfEffect *effect, guint number,
                          const char *want, const CfRegions *regions)
{
  CfTestPicture *source, *expected;
  GstBuffer *buffer = new_frame(&source, number, &face);

  expected = engine_output_in_regions(effect, want, source, regions);
  assert_shows(filter_buffer(harness, buffer), expected, want);
  cf_picture_free(source);
  cf_picture_free(expected);
}

static const struct {
  const char *element, *settings; /* beside roi-mode */
  const char *inside, *outside;   /* as if set */
} automatic[] = {
    {"cudablockavg", "mode=average", "blocks-across=5", "blocks-across=0"},
    {"cudablockavg", "anchor=region", "anchor=region blocks-across=5", "anchor=region"},
    {"cudablockavg", "mode=max", "mode=max blocks-across=5", "mode=max"},
    {"cudablockavg", "block-width=32", "blocks-across=0", "blocks-across=0"},
    {"cudablockavg", "block-height=4", "block-height=4", "block-height=4"},
    {"cudablockavg", "blocks-across=0", "blocks-across=0", "blocks-across=0"},
    {"cudablockavg", "blocks-across=3", "blocks-across=3", "blocks-across=3"},
    {"cudagaussblur", "border=replicate", "sigma-relative=0.2", "sigma=2"},
    {"cudagaussblur", "border=reflect", "border=reflect sigma-relative=0.2", "border=reflect"},
    {"cudagaussblur", "sigma=2", "sigma=2", "sigma=2"},
    {"cudagaussblur", "sigma=0.5", "sigma=0.5", "sigma=0.5"},
    {"cudagaussblur", "sigma-relative=0", "sigma=2", "sigma=2"},
    {"cudagaussblur", "sigma=3 map-mode=luma", "sigma=3 map-mode=luma", "sigma=3 map-mode=luma"},
    {"cudagaussblur", "map-mode=luma", "map-mode=luma", "map-mode=luma"},
};

GST_START_TEST(automatic_sizes_hide)
{
  const gboolean blurs = strcmp(automatic[__i__].element, "cudagaussblur") == 0;
  const CfEffect *effect = blurs ? &cf_gaussblur : &cf_blockavg;

  video = cf_video(CF_FORMAT_NV12, WIDTH, HEIGHT);
  for (guint outside = 0; outside < 2; outside++) {
    const char *want = outside ? automatic[__i__].outside : automatic[__i__].inside;
    CfRegions regions = *ONE(10, 8, 20, 16);
    gchar *settings = g_strdup_printf("%s roi-mode=%s", automatic[__i__].settings,
                                      outside ? "outside" : "inside");
    GstBus *bus;
    GstHarness *harness = harness_new(automatic[__i__].element, settings, &video, NULL, &bus);

    regions.outside = outside;
    assert_masked(harness, effect, 0, want, &regions);
    assert_masked(harness, effect, 1, want, &regions);
    harness_free(harness, bus);
    g_free(settings);
  }
}
GST_END_TEST;

/* The mode decides with the next frame, and what is set by hand from then on. */
GST_START_TEST(automatic_sizes_follow_settings)
{
  const CfRegions whole = *FRAME_COVERED, regions = *ONE(10, 8, 20, 16);
  gdouble relative;
  GstBus *bus;
  GstHarness *harness;

  video = cf_video(CF_FORMAT_NV12, WIDTH, HEIGHT);
  harness = harness_new("cudagaussblur", "border=replicate", &video, NULL, &bus);
  assert_masked(harness, &cf_gaussblur, 0, "sigma=2", &whole);
  g_object_set(harness->element, "roi-mode", 1, NULL);
  assert_masked(harness, &cf_gaussblur, 1, "sigma-relative=0.2", &regions);
  g_object_get(harness->element, "sigma-relative", &relative, NULL);
  fail_unless_equals_float(relative, -1.0);
  g_object_set(harness->element, "roi-mode", 0, NULL);
  assert_masked(harness, &cf_gaussblur, 2, "sigma=2", &whole);
  g_object_set(harness->element, "roi-mode", 1, "sigma", 4.0, NULL);
  assert_masked(harness, &cf_gaussblur, 3, "sigma=4", &regions);
  assert_posted(bus, GST_MESSAGE_WARNING, 0, NULL);
  g_object_set(harness->element, "sigma-relative", -0.5, NULL);
  assert_masked(harness, &cf_gaussblur, 4, "sigma=4", &regions);
  assert_posted(bus, GST_MESSAGE_WARNING, 1, "allowed is -1 (automatic) or 0 to 1");
  harness_free(harness, bus);
}
GST_END_TEST;

/* A value that is refused was no choice: what was automatic stays it, and what was chosen, too. */
GST_START_TEST(refused_values_choose_nothing)
{
  const CfRegions regions = *ONE(10, 8, 20, 16);
  GstBus *bus;
  GstHarness *harness;

  video = cf_video(CF_FORMAT_NV12, WIDTH, HEIGHT);
  harness = harness_new("cudagaussblur", "roi-mode=inside map-mode=luma", &video, NULL, &bus);
  assert_masked(harness, &cf_gaussblur, 0, "map-mode=luma", &regions);
  set_text(harness->element, "sigma=-3");
  assert_masked(harness, &cf_gaussblur, 1, "map-mode=luma", &regions);
  assert_posted(bus, GST_MESSAGE_WARNING, 2, "sigma");
  set_text(harness->element, "map-mode=none");
  assert_masked(harness, &cf_gaussblur, 2, "sigma-relative=0.2", &regions);
  set_text(harness->element, "sigma=2");
  assert_masked(harness, &cf_gaussblur, 3, "sigma=2", &regions);
  set_text(harness->element, "sigma-relative=-0.5");
  assert_masked(harness, &cf_gaussblur, 4, "sigma=2", &regions);
  harness_free(harness, bus);
}
GST_END_TEST;

/* As presets and projects do, which know no more of a setting than what it reads. */
static void copy_settings(GstElement *from, GstElement *to)
{
  guint count;
  GParamSpec **specs = g_object_class_list_properties(G_OBJECT_GET_CLASS(from), &count);

  for (guint i = 0; i < count; i++) {
    GValue value = G_VALUE_INIT;

    if (specs[i]->owner_type != G_OBJECT_TYPE(from) || !(specs[i]->flags & G_PARAM_WRITABLE))
      continue;
    g_value_init(&value, specs[i]->value_type);
    g_object_get_property(G_OBJECT(from), specs[i]->name, &value);
    g_object_set_property(G_OBJECT(to), specs[i]->name, &value);
    g_value_unset(&value);
  }
  g_free(specs);
}

static const struct {
  const char *element, *settings, *want; /* beside roi-mode=inside; as if set */
} copied[] = {
    {"cudablockavg", "mode=average", "blocks-across=5"},
    {"cudablockavg", "block-width=9", "block-width=9"},
    {"cudablockavg", "blocks-across=0", "blocks-across=0"},
    {"cudagaussblur", "border=replicate", "sigma-relative=0.2"},
    {"cudagaussblur", "sigma=3", "sigma=3"},
    {"cudagaussblur", "sigma-relative=0.3", "sigma-relative=0.3"},
};

GST_START_TEST(copied_settings_hide_as_much)
{
  const gboolean blurs = strcmp(copied[__i__].element, "cudagaussblur") == 0;
  GstElement *from = gst_element_factory_make(copied[__i__].element, NULL);
  GstBus *bus;
  GstHarness *harness;

  video = cf_video(CF_FORMAT_NV12, WIDTH, HEIGHT);
  set_text(from, copied[__i__].settings);
  set_text(from, "roi-mode=inside");
  harness = harness_new(copied[__i__].element, "", &video, NULL, &bus);
  copy_settings(from, harness->element);
  assert_masked(harness, blurs ? &cf_gaussblur : &cf_blockavg, 0, copied[__i__].want,
                ONE(10, 8, 20, 16));
  gst_object_unref(from);
  harness_free(harness, bus);
}
GST_END_TEST;

/* A frame that no detection is known of is covered as a region of its size. */
GST_START_TEST(missing_regions_are_hidden_too)
{
  CfTestPicture *source, *want;
  GstBus *bus;
  GstHarness *harness;
  GstBuffer *buffer;

  video = cf_video(CF_FORMAT_NV12, WIDTH, HEIGHT);
  harness = harness_new("cudablockavg", "roi-mode=inside roi-missing=cover", &video, NULL, &bus);
  buffer = new_frame(&source, 0, NULL);
  want = engine_output_in_regions(&cf_blockavg, "blocks-across=5", source, FRAME_COVERED);
  assert_shows(filter_buffer(harness, buffer), want, "covered");
  assert_posted(bus, GST_MESSAGE_WARNING, 0, NULL);
  cf_picture_free(source);
  cf_picture_free(want);
  harness_free(harness, bus);
}
GST_END_TEST;

GST_START_TEST(fill_hides_all)
{
  static const gint colour[] = {16, 32, 48, 64};
  const CfRegions regions = *ONE(10, 8, 20, 16);
  CfTestPicture *source, *got;
  GstBus *bus;
  GstHarness *harness;

  video = cf_video(CF_FORMAT_RGBA, WIDTH, HEIGHT);
  harness = harness_new("cudablockavg", "mode=fill fill-color=0x40102030 roi-mode=inside", &video,
                        NULL, &bus);
  assert_masked(harness, &cf_blockavg, 0, "mode=fill fill-color=1074798640", &regions);
  got = picture_from_buffer(&video, filter_buffer(harness, new_frame(&source, 1, &face)));
  for (gint k = 0; k < 4; k++)
    fail_unless_equals_int(cf_picture_get(got, 0, 15, 15, k), colour[k]);
  cf_picture_free(got);
  cf_picture_free(source);
  assert_posted(bus, GST_MESSAGE_WARNING, 0, NULL);
  harness_free(harness, bus);
}
GST_END_TEST;

/* ---- Regions that stay ---- */

#define FACE(x, y, w, h) (&(Roi){"face", x, y, w, h})

/* Of 20 by 20 pixels, a tenth of which is 2. */
GST_START_TEST(trembling_regions_stay)
{
  GstBus *bus;
  GstHarness *harness = new_mosaic("roi-mode=inside roi-expand=0.1", &bus);

  push(harness, 0, FACE(20, 20, 20, 20), ONE(18, 18, 24, 24));
  push(harness, 1, FACE(21, 19, 20, 20), ONE(18, 18, 24, 24));
  push(harness, 2, FACE(19, 20, 21, 20), ONE(18, 18, 24, 24));
  push(harness, 3, FACE(21, 21, 19, 18), ONE(18, 18, 24, 24));
  push(harness, 3, FACE(18, 20, 21, 20), ONE(18, 18, 24, 24)); /* of what is larger, less */
  push(harness, 4, FACE(22, 20, 20, 20), ONE(20, 18, 24, 24)); /* as much as a tenth */
  push(harness, 5, FACE(21, 20, 20, 20), ONE(20, 18, 24, 24)); /* of where it is now */
  push(harness, 6, NULL, NULL);
  push(harness, 7, FACE(22, 21, 20, 20), ONE(20, 18, 24, 24));
  g_object_set(harness->element, "roi-steady", 0.0, NULL);
  push(harness, 8, FACE(23, 21, 20, 20), ONE(21, 19, 24, 24));
  harness_free(harness, bus);
}
GST_END_TEST;

/* A place that no longer covers what was detected is left, however near that is. */
GST_START_TEST(steady_regions_cover_what_was_detected)
{
  GstBus *bus;
  GstHarness *harness = new_mosaic("roi-mode=inside", &bus);

  push(harness, 0, FACE(20, 21, 20, 19), ONE(20, 21, 20, 19));
  push(harness, 0, FACE(20, 20, 20, 20), ONE(20, 20, 20, 20));
  push(harness, 1, FACE(21, 20, 20, 20), ONE(21, 20, 20, 20));
  push(harness, 2, FACE(20, 20, 21, 20), ONE(20, 20, 21, 20));
  push(harness, 3, FACE(20, 21, 20, 19), ONE(20, 20, 21, 20));
  push(harness, 4, FACE(21, 21, 19, 19), ONE(20, 20, 21, 20));
  push(harness, 5, FACE(21, 22, 19, 18), ONE(21, 22, 19, 18)); /* smaller by a tenth */
  g_object_set(harness->element, "roi-expand", 0.02, "roi-steady", 1.0, NULL);
  push(harness, 6, FACE(22, 22, 19, 18), ONE(20, 21, 21, 20));
  push(harness, 7, FACE(23, 22, 19, 18), ONE(22, 21, 21, 20));
  harness_free(harness, bus);
}
GST_END_TEST;

static void send_segment(GstHarness *harness)
{
  GstSegment segment;

  gst_segment_init(&segment, GST_FORMAT_TIME);
  gst_harness_push_event(harness, gst_event_new_segment(&segment));
}

/* A lost frame is no other stream: masks would jump where the network is bad. */
GST_START_TEST(places_stay_behind_a_lost_frame)
{
  CfTestPicture *source;
  GstBuffer *frame;
  GstBus *bus;
  GstHarness *harness = new_mosaic("roi-mode=inside roi-expand=0.1 roi-steady=0.5", &bus);

  push(harness, 0, FACE(20, 20, 20, 20), ONE(18, 18, 24, 24));
  frame = new_frame(&source, 2, FACE(21, 20, 20, 20));
  GST_BUFFER_FLAG_SET(frame, GST_BUFFER_FLAG_DISCONT | GST_BUFFER_FLAG_RESYNC);
  push_frame(harness, frame, source, ONE(18, 18, 24, 24));
  harness_free(harness, bus);
}
GST_END_TEST;

GST_START_TEST(places_end_with_the_stream)
{
  GstBus *bus;
  GstHarness *harness = new_mosaic("roi-mode=inside roi-expand=0.1 roi-steady=0.5", &bus);

  push(harness, 0, FACE(20, 20, 20, 20), ONE(18, 18, 24, 24));
  push(harness, 1, FACE(21, 20, 20, 20), ONE(18, 18, 24, 24));
  gst_harness_push_event(harness, gst_event_new_stream_start("another"));
  push(harness, 2, FACE(21, 20, 20, 20), ONE(19, 18, 24, 24));
  send_segment(harness);
  push(harness, 3, FACE(20, 20, 20, 20), ONE(18, 18, 24, 24));
  flush(harness);
  push(harness, 4, FACE(21, 20, 20, 20), ONE(19, 18, 24, 24));
  push_caps(harness, &video, ", pixel-aspect-ratio=2/1");
  push(harness, 5, FACE(20, 20, 20, 20), ONE(19, 18, 24, 24));
  push_caps(harness, &video, ", colorimetry=bt709");
  push(harness, 6, FACE(20, 20, 20, 20), ONE(18, 18, 24, 24));
  g_object_set(harness->element, "roi-mode", 2, NULL);
  CfRegions shown = *ONE(19, 18, 24, 24);
  shown.outside = true;
  push(harness, 7, FACE(21, 20, 20, 20), &shown);
  harness_free(harness, bus);
}
GST_END_TEST;

/* Whatever a trembling detector says, an ellipse covers the one around what it says now. With some
 * margin its place moves less often than that. */
GST_START_TEST(steady_ellipses_cover_theirs)
{
  GRand *random = g_rand_new_with_seed(5);
  CfTestPicture *before = NULL;
  guint changes = 0;
  GstBus *bus;
  GstHarness *harness;

  video = cf_video(CF_FORMAT_GRAY8, WIDTH, HEIGHT);
  harness = harness_new("cudablockavg",
                        "mode=fill fill-color=0xffffffff roi-mode=inside "
                        "roi-shape=ellipse roi-expand=0.25",
                        &video, NULL, &bus);
  for (guint i = 0; i < 160; i++) {
    const gint x = 20 + g_rand_int_range(random, -1, 2), y = 10 + g_rand_int_range(random, -1, 2);
    const gint width = i < 60 ? 24 : 22 + g_rand_int_range(random, 0, 5);
    const gint height = i < 60 ? 30 : 28 + g_rand_int_range(random, 0, 5);
    CfTestPicture *source = new_picture(&video, CF_LAYOUT_ALIGNED, CF_PATTERN_CONSTANT, 3), *got;
    GstBuffer *frame = plain_buffer(source, i * FRAME);

    if (i == 60)
      g_object_set(harness->element, "roi-expand", 0.04, "roi-steady", 0.3, NULL);
    gst_buffer_add_video_region_of_interest_meta(frame, "face", (guint)x, (guint)y, (guint)width,
                                                 (guint)height);
    got = picture_from_buffer(&video, filter_buffer(harness, frame));
    for (gint k = 0; k < WIDTH * HEIGHT; k++) {
      const gdouble across = (k % WIDTH + 0.5 - x) / width * 2 - 1,
                    down = (k / WIDTH + 0.5 - y) / height * 2 - 1;

      fail_unless(across * across + down * down >= 1.0 ||
                      cf_picture_get(got, 0, k % WIDTH, k / WIDTH, 0) == 255,
                  "frame %u: %d,%d is not covered", i, k % WIDTH, k / WIDTH);
    }
    changes += i < 60 && before && !same_samples(before, got);
    cf_picture_free(before);
    cf_picture_free(source);
    before = got;
  }
  fail_unless(changes < 2, "it moved %u times", changes);
  cf_picture_free(before);
  g_rand_free(random);
  harness_free(harness, bus);
}
GST_END_TEST;

/* Each of several keeps its own place. */
GST_START_TEST(neighbours_do_not_swap)
{
  static const CfRegion both[] = {{4, 8, 16, 16}, {30, 8, 16, 16}};
  const CfRegions regions = {.region = both, .count = 2};
  GstBus *bus;
  GstHarness *harness = new_mosaic("roi-mode=inside roi-expand=0.125 roi-steady=0.3", &bus);

  for (guint i = 0; i < 4; i++) {
    CfTestPicture *source;
    GstBuffer *frame = new_frame(&source, i, NULL);
    const guint first = i % 2 ? 32 : 6, second = i % 2 ? 6 : 32, move = i > 0;

    gst_buffer_add_video_region_of_interest_meta(frame, "face", first + move, 10, 12, 12);
    gst_buffer_add_video_region_of_interest_meta(frame, "face", second + move, 10, 12, 12);
    push_frame(harness, frame, source, &regions);
  }
  harness_free(harness, bus);
}
GST_END_TEST;

/* Faces of 20 by 20 pixels at these columns in one frame, and in the next. */
GST_START_TEST(the_nearest_place_is_taken_once)
{
  static const struct {
    guint before[2], after[2], covered[2];  /* 0: none */
  } rows[] = {{{24, 20}, {21, 0}, {20, 0}}, /* the nearest */
              {{22, 18}, {20, 0}, {22, 0}}, /* of equals the first of the detector */
              {{18, 22}, {20, 0}, {18, 0}},
              {{20, 0}, {20, 21}, {20, 21}}}; /* each place once */

  for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
    GstBus *bus;
    GstHarness *harness = new_mosaic("roi-mode=inside roi-expand=0.25 roi-steady=0.3", &bus);

    for (guint number = 0; number < 2; number++) {
      const guint *faces = number ? rows[i].after : rows[i].before;
      const guint *covered = number ? rows[i].covered : rows[i].before;
      const CfRegion list[] = {{(int)covered[0] - 5, 7, 30, 30}, {(int)covered[1] - 5, 7, 30, 30}};
      CfTestPicture *source;
      GstBuffer *frame = new_frame(&source, number, FACE(faces[0], 12, 20, 20));

      if (faces[1])
        gst_buffer_add_video_region_of_interest_meta(frame, "face", faces[1], 12, 20, 20);
      push_frame(harness, frame, source, &(CfRegions){.region = list, .count = covered[1] ? 2 : 1});
    }
    harness_free(harness, bus);
  }
}
GST_END_TEST;

/* However many there are. */
GST_START_TEST(crowds_keep_their_places)
{
  CfRegion places[300];
  const CfRegions regions = {.region = places, .count = 300};
  GstBus *bus;
  GstHarness *harness = new_mosaic("roi-mode=inside roi-expand=0.25 roi-steady=0.3", &bus);

  for (gint i = 0; i < 300; i++)
    places[i] = (CfRegion){i % 20 * 3, i / 20 * 3, 6, 6};
  for (guint moved = 0; moved < 2; moved++) {
    CfTestPicture *source;
    GstBuffer *frame = new_frame(&source, moved, NULL);

    for (gint i = 0; i < 300; i++)
      gst_buffer_add_video_region_of_interest_meta(frame, "face", (guint)places[i].x + 1 + moved,
                                                   (guint)places[i].y + 1, 4, 4);
    push_frame(harness, frame, source, &regions);
  }
  harness_free(harness, bus);
}
GST_END_TEST;

static void add_tests(TCase *tests)
{
  tcase_add_loop_test(tests, automatic_sizes_hide, 0, G_N_ELEMENTS(automatic));
  tcase_add_test(tests, automatic_sizes_follow_settings);
  tcase_add_test(tests, refused_values_choose_nothing);
  tcase_add_loop_test(tests, copied_settings_hide_as_much, 0, G_N_ELEMENTS(copied));
  tcase_add_test(tests, missing_regions_are_hidden_too);
  tcase_add_test(tests, fill_hides_all);
  tcase_add_test(tests, trembling_regions_stay);
  tcase_add_test(tests, steady_regions_cover_what_was_detected);
  tcase_add_test(tests, places_stay_behind_a_lost_frame);
  tcase_add_test(tests, places_end_with_the_stream);
  tcase_add_test(tests, steady_ellipses_cover_theirs);
  tcase_add_test(tests, neighbours_do_not_swap);
  tcase_add_test(tests, the_nearest_place_is_taken_once);
  tcase_add_test(tests, crowds_keep_their_places);
}

int main(int argc, char **argv)
{
  return run_tests(argc, argv, "masks", add_tests);
}
