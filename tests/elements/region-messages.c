/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What users and applications are told of regions: warnings of masks that do not do what they seem
 * to, and the message `cudafilters-coverage`.
 */
#include "region-frames.h"

#include <gst/controller/controller.h>

/* ---- Warnings ---- */

GST_START_TEST(settings_without_a_mode_warn)
{
  static const char *const settings[] = {
      "regions=1,1,2,2", "roi-types=face",    "roi-hold=1",        "roi-missing=cover",
      "roi-expand=0.1",  "roi-shape=ellipse", "roi-feather=0.001", "roi-steady=0",
  };
  GstBus *bus;
  GstHarness *harness;

  for (guint i = 0; i < G_N_ELEMENTS(settings); i++) {
    gchar *name = g_strndup(settings[i], strcspn(settings[i], "="));

    harness = new_mosaic(settings[i], &bus);
    push(harness, 0, &face, FRAME_COVERED);
    push(harness, 1, &face, FRAME_COVERED);
    assert_posted(bus, GST_MESSAGE_WARNING, 1, name);
    harness_free(harness, bus);
    g_free(name);
  }

  harness = new_mosaic("roi-mode=none", &bus);
  push(harness, 0, NULL, FRAME_COVERED);
  assert_posted(bus, GST_MESSAGE_WARNING, 0, NULL);
  g_object_set(harness->element, "regions", "1,1,2,2", NULL);
  push(harness, 1, NULL, FRAME_COVERED);
  assert_posted(bus, GST_MESSAGE_WARNING, 1, "roi-mode=inside");
  harness_free(harness, bus);

  harness = new_mosaic("roi-mode=inside regions=1,1,2,2", &bus);
  push(harness, 0, NULL, ONE(1, 1, 2, 2));
  g_object_set(harness->element, "roi-mode", 0, NULL); /* turned off on purpose */
  push(harness, 1, NULL, FRAME_COVERED);
  assert_posted(bus, GST_MESSAGE_WARNING, 0, NULL);
  harness_free(harness, bus);
}
GST_END_TEST;

GST_START_TEST(rejected_types_are_named)
{
  GstBus *bus;
  GstHarness *harness = new_mosaic("roi-mode=inside roi-types=face,plate", &bus);
  const Roi shouted = {"Face", 10, 8, 20, 16};

  push(harness, 0, &shouted, NULL);
  assert_posted(bus, GST_MESSAGE_WARNING, 1,
                "\"Face\" is not covered: roi-types accepts face,plate");
  push(harness, 1, &shouted, NULL);
  push(harness, 2, &face, ONE(10, 8, 20, 16));
  assert_posted(bus, GST_MESSAGE_WARNING, 0, NULL);
  push(harness, 3, &car, NULL);
  assert_posted(bus, GST_MESSAGE_WARNING, 1, "\"car\"");
  flush(harness);
  push(harness, 4, &car, NULL);
  assert_posted(bus, GST_MESSAGE_WARNING, 0, NULL);
  g_object_set(harness->element, "roi-types", "face", NULL);
  push(harness, 5, &car, NULL);
  assert_posted(bus, GST_MESSAGE_WARNING, 1, "accepts face (upper and lower case differ)");
  for (guint i = 0; i < 40; i++) {
    gchar *name = g_strdup_printf("person-%u", i);

    push(harness, 6 + i, &(Roi){name, 1, 1, 9, 9}, NULL);
    g_free(name);
  }
  assert_posted(bus, GST_MESSAGE_WARNING, 15, "person-0");
  harness_free(harness, bus);

  harness = new_mosaic("roi-mode=outside roi-types=face", &bus);
  push(harness, 0, &car, FRAME_COVERED);
  assert_posted(bus, GST_MESSAGE_WARNING, 1, "is not left out: roi-types accepts face");
  harness_free(harness, bus);
}
GST_END_TEST;

static void push_masked(GstHarness *harness, guint number, const Roi *roi)
{
  CfTestPicture *source;

  gst_buffer_unref(filter_buffer(harness, new_frame(&source, number, roi)));
  cf_picture_free(source);
}

/* The shorter side of the face is 16 pixels, that of the frame 48. */
GST_START_TEST(masks_that_hide_too_little_warn)
{
  static const struct {
    const char *element, *settings, *inside, *outside; /* texts; NULL: no warning */
  } rows[] = {
      {"cudablockavg", "block-width=1 block-height=1", "blocks-across=5", "blocks-across=5"},
      {"cudablockavg", "block-width=1 block-height=1 roi-missing=cover", "hide nothing",
       "hide nothing"},
      {"cudablockavg", "block-width=2 block-height=1", "blocks of 2x1 pixels are less than a sixth",
       NULL},
      {"cudablockavg", "block-width=9 block-height=2", "of a region (16 pixels)", NULL},
      {"cudablockavg", "block-width=3 block-height=3", NULL, NULL},
      {"cudablockavg", "block-width=2 roi-missing=cover regions=0,0,64,48", "(16 pixels)", NULL},
      {"cudablockavg", "block-width=4 regions=0,0,64,48", NULL, NULL}, /* all of the frame */
      {"cudablockavg", "block-width=4 regions=0,1,64,48", "(48 pixels)", NULL},
      {"cudablockavg", "block-width=4 regions=0,0,64,48 roi-shape=ellipse", "(48 pixels)", NULL},
      {"cudablockavg", "block-width=3 block-height=3 regions=20,20,18,18", NULL, NULL},
      {"cudablockavg", "mode=fill", NULL, NULL},
      {"cudablockavg", "anchor=region", NULL, NULL},
      {"cudablockavg", "blocks-across=256", "one pixel", "one pixel"},
      {"cudablockavg", "blocks-across=50", "of 16 pixels", "of 48 pixels"},
      {"cudablockavg", "blocks-across=16", "of 16 pixels", NULL},
      {"cudablockavg", "blocks-across=9", "blocks-across is 9, and", NULL},
      {"cudablockavg", "blocks-across=7", NULL, NULL}, /* of 3 pixels: 6 of them */
      {"cudagaussblur", "sigma=0", "sigma-relative=0.2", "sigma-relative=0.2"},
      {"cudagaussblur", "sigma=0.1 roi-missing=cover", "sigma is 0.1", "sigma is 0.1"},
      {"cudagaussblur", "sigma=0.999", "sigma is 0.999", "sigma is 0.999"},
      {"cudagaussblur", "sigma=-4", "hides nothing", "hides nothing"},
      {"cudagaussblur", "sigma=1",
       "a sigma of 1 is less than 0.15 of the shorter side of a region (16", NULL},
      {"cudagaussblur", "sigma=2", "a sigma of 2", NULL},
      {"cudagaussblur", "sigma=2.4", NULL, NULL},
      {"cudagaussblur", "sigma=5 sigma-vertical=2", "a sigma of 2", NULL},
      {"cudagaussblur", "sigma=0 sigma-vertical=2", "a sigma of 0", NULL},
      {"cudagaussblur", "border=reflect", NULL, NULL},
      {"cudagaussblur", "sigma=0 map-mode=luma", "hides nothing", "hides nothing"},
      {"cudagaussblur", "sigma=4 map-mode=luma", NULL, NULL},
      {"cudagaussblur", "sigma=0 sigma-relative=0.05", "of 16 pixels", "of 16 pixels"},
      {"cudagaussblur", "sigma=0 sigma-relative=0.0625", "below 0.15", NULL},
      {"cudagaussblur", "sigma=0 sigma-relative=0.1 regions=40,20,5,5", "of 5 pixels", NULL},
      {"cudagaussblur", "sigma=3 regions=0,0,64,48", NULL, NULL}, /* all of the frame */
      {"cudagaussblur", "sigma=0 sigma-min=4 map-mode=luma", NULL, NULL},
      {"cudagaussblur", "sigma=0 sigma-relative=0.15", NULL, NULL},
      {"cudagaussblur", "sigma=2 map-mode=luma", "a sigma of 2", NULL},
  };

  video = cf_video(CF_FORMAT_NV12, WIDTH, HEIGHT);
  for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
    for (guint outside = 0; outside < 2; outside++) {
      const char *text = outside ? rows[i].outside : rows[i].inside;
      gchar *all =
          g_strdup_printf("%s roi-mode=%s", rows[i].settings, outside ? "outside" : "inside");
      GstBus *bus;
      GstHarness *harness = harness_new(rows[i].element, all, &video, NULL, &bus);

      for (guint k = 0; k < 3; k++)
        push_masked(harness, k, &face);
      assert_posted(bus, GST_MESSAGE_WARNING, text ? 1 : 0, text);
      harness_free(harness, bus);
      g_free(all);
    }
  }
}
GST_END_TEST;

GST_START_TEST(weak_masks_warn_again_after_good_ones)
{
  GstBus *bus;
  GstHarness *harness;

  video = cf_video(CF_FORMAT_NV12, WIDTH, HEIGHT);
  harness = harness_new("cudagaussblur", "sigma=0 roi-mode=inside", &video, NULL, &bus);
  push_masked(harness, 0, NULL);
  assert_posted(bus, GST_MESSAGE_WARNING, 1, "sigma is 0,");
  g_object_set(harness->element, "sigma", 5.0, NULL);
  push_masked(harness, 1, &face);
  assert_posted(bus, GST_MESSAGE_WARNING, 0, NULL);
  g_object_set(harness->element, "sigma", 0.5, NULL);
  push_masked(harness, 2, &face);
  push_masked(harness, 3, &face);
  assert_posted(bus, GST_MESSAGE_WARNING, 1, "sigma is 0.5");
  g_object_set(harness->element, "sigma", 0.0, "sigma-relative", 0.16, NULL);
  push_masked(harness, 4, &face);
  push_masked(harness, 5, &(Roi){"face", 0, 0, 5, 5});
  assert_posted(bus, GST_MESSAGE_WARNING, 1, "a region of 5 pixels");
  push_masked(harness, 6, &face); /* the settings are those that the user knows of */
  push_masked(harness, 7, &(Roi){"face", 0, 0, 4, 4});
  assert_posted(bus, GST_MESSAGE_WARNING, 0, NULL);
  g_object_set(harness->element, "regions", "30,20,16,16", NULL); /* now others */
  push_masked(harness, 8, NULL);
  push_masked(harness, 9, &(Roi){"face", 0, 0, 5, 5});
  assert_posted(bus, GST_MESSAGE_WARNING, 1, "a region of 5 pixels");
  harness_free(harness, bus);
}
GST_END_TEST;

/* Each start is told what the first was, and holds nothing of it. */
GST_START_TEST(starts_are_told_anew)
{
  static const char *const settings[] = {"roi-mode=inside roi-types=plate", "regions=1,1,2,2",
                                         "roi-mode=inside block-width=2 block-height=2",
                                         "fill-color=1"};
  static const char *const texts[] = {"\"face\"", "regions is set", "a face can be recognised",
                                      "fill-color has no effect"};
  GstBus *bus;
  GstHarness *harness;

  for (guint i = 0; i < G_N_ELEMENTS(settings); i++) {
    harness = new_mosaic(settings[i], &bus);
    for (guint start = 0; start < 2; start++) {
      push_masked(harness, 0, &face);
      push_masked(harness, 1, &face);
      assert_posted(bus, GST_MESSAGE_WARNING, 1, texts[i]);
      restart(harness, &video);
    }
    harness_free(harness, bus);
  }

  harness = new_mosaic("roi-mode=inside roi-hold=1000000000 regions=1,1,2,2", &bus);
  push_masked(harness, 0, &face);
  restart(harness, &video);
  push(harness, 1, NULL, ONE(1, 1, 2, 2));
  assert_posted(bus, GST_MESSAGE_WARNING, 0, NULL);
  g_object_set(harness->element, "roi-mode", 0, NULL);
  restart(harness, &video);
  push(harness, 2, NULL, FRAME_COVERED);
  assert_posted(bus, GST_MESSAGE_WARNING, 1, "regions is set");
  harness_free(harness, bus);
}
GST_END_TEST;

/* An animation sets something in each frame. */
GST_START_TEST(animated_weak_masks_warn_once)
{
  GstBus *bus;
  GstHarness *harness;
  GstControlSource *source = gst_interpolation_control_source_new();
  GstTimedValueControlSource *values = GST_TIMED_VALUE_CONTROL_SOURCE(source);

  video = cf_video(CF_FORMAT_NV12, WIDTH, HEIGHT);
  harness = harness_new("cudagaussblur", "sigma=1.5 roi-mode=inside", &video, NULL, &bus);
  g_object_set(source, "mode", GST_INTERPOLATION_MODE_LINEAR, NULL);
  gst_timed_value_control_source_set(values, 0, 0.0);
  gst_timed_value_control_source_set(values, 100 * FRAME, 10.0);
  gst_object_add_control_binding(
      GST_OBJECT(harness->element),
      gst_direct_control_binding_new_absolute(GST_OBJECT(harness->element), "roi-feather", source));
  for (guint i = 0; i < 10; i++)
    push_masked(harness, i, i % 2 ? &face : &(Roi){"face", 0, 0, 5, 5});
  assert_posted(bus, GST_MESSAGE_WARNING, 1, "a sigma of 1.5");
  gst_object_unref(source);
  harness_free(harness, bus);
}
GST_END_TEST;

/* Fixed regions need no detector, but who waits for one with roi-missing=cover should know. */
GST_START_TEST(a_hundred_frames_without_warn_once)
{
  GstBus *bus;
  GstHarness *harness = new_mosaic("roi-mode=inside roi-types=face", &bus);

  for (guint i = 0; i < 99; i++)
    push(harness, i, &car, NULL);
  assert_posted(bus, GST_MESSAGE_WARNING, 1, "\"car\"");
  for (guint i = 99; i < 320; i++)
    push(harness, i, NULL, NULL);
  assert_posted(bus, GST_MESSAGE_WARNING, 1, "no frame has had a region");
  flush(harness);
  for (guint i = 0; i < 99; i++)
    push(harness, i, NULL, NULL);
  assert_posted(bus, GST_MESSAGE_WARNING, 0, NULL);
  push(harness, 99, NULL, NULL);
  assert_posted(bus, GST_MESSAGE_WARNING, 1, "no frame has had a region");
  harness_free(harness, bus);

  harness = new_mosaic("roi-mode=inside", &bus);
  push(harness, 0, &face, ONE(10, 8, 20, 16));
  flush(harness);
  for (guint i = 0; i < 100; i++)
    push(harness, i, NULL, NULL);
  assert_posted(bus, GST_MESSAGE_WARNING, 1, "no frame has had a region");
  flush(harness);
  push(harness, 0, &face, ONE(10, 8, 20, 16));
  for (guint i = 1; i < 250; i++)
    push(harness, i, NULL, NULL);
  g_object_set(harness->element, "roi-mode", 0, NULL);
  for (guint i = 250; i < 260; i++)
    push(harness, i, NULL, FRAME_COVERED);
  assert_posted(bus, GST_MESSAGE_WARNING, 0, NULL);
  harness_free(harness, bus);

  for (guint cover = 0; cover < 2; cover++) {
    harness = new_mosaic(cover ? "roi-mode=inside regions=1,1,9,9 roi-missing=cover"
                               : "roi-mode=inside regions=1,1,9,9",
                         &bus);
    for (guint i = 0; i < 120; i++)
      push(harness, i, NULL, cover ? FRAME_COVERED : ONE(1, 1, 9, 9));
    assert_posted(bus, GST_MESSAGE_WARNING, cover, cover ? "no frame has had a region" : NULL);
    harness_free(harness, bus);
  }
}
GST_END_TEST;

/* ---- The coverage message ---- */

typedef struct {
  guint regions, held;
  gboolean missing;
  gdouble covered;
} Told;

#define SHARE(pixels) ((pixels) / (gdouble)(WIDTH * HEIGHT))

/* Exactly one message that says so is on the bus, about the frame of that number. */
static void assert_told(GstBus *bus, guint number, Told want)
{
  GstMessage *message = gst_bus_pop_filtered(bus, GST_MESSAGE_ELEMENT);
  const GstStructure *told;
  GstClockTime times[4];
  Told got;

  fail_unless(message != NULL, "no message about frame %u", number);
  told = gst_message_get_structure(message);
  fail_unless(gst_structure_has_name(told, "cudafilters-coverage"));
  fail_unless(gst_structure_get(
      told, "regions", G_TYPE_UINT, &got.regions, "held", G_TYPE_UINT, &got.held, "missing",
      G_TYPE_BOOLEAN, &got.missing, "covered", G_TYPE_DOUBLE, &got.covered, "timestamp",
      G_TYPE_UINT64, &times[0], "stream-time", G_TYPE_UINT64, &times[1], "running-time",
      G_TYPE_UINT64, &times[2], "duration", G_TYPE_UINT64, &times[3], NULL));
  fail_unless_equals_int(got.regions, want.regions);
  fail_unless_equals_int(got.held, want.held);
  fail_unless_equals_int(got.missing, want.missing);
  fail_unless(ABS(got.covered - want.covered) < 1e-9, "frame %u: covered %g, not %g", number,
              got.covered, want.covered);
  for (guint i = 0; i < 3; i++)
    fail_unless_equals_uint64(times[i], number * FRAME);
  gst_message_unref(message);
  message = gst_bus_pop_filtered(bus, GST_MESSAGE_ELEMENT);
  fail_unless(message == NULL, "two messages about frame %u", number);
}

static void assert_not_told(GstBus *bus)
{
  fail_unless(gst_bus_pop_filtered(bus, GST_MESSAGE_ELEMENT) == NULL);
}

GST_START_TEST(coverage_is_told_on_change)
{
  CfRegions rest = *ONE(30, 20, 12, 12);
  GstBus *bus;
  GstHarness *harness = new_mosaic("roi-mode=inside roi-hold=100000000 roi-missing=cover", &bus);

  push(harness, 0, NULL, FRAME_COVERED);
  assert_told(bus, 0, (Told){0, 0, TRUE, 1.0});
  push(harness, 1, NULL, FRAME_COVERED);
  assert_not_told(bus);
  push(harness, 2, &face, ONE(10, 8, 20, 16));
  assert_told(bus, 2, (Told){1, 0, FALSE, SHARE(320)});
  push(harness, 3, &(Roi){"face", 11, 9, 20, 16}, ONE(11, 9, 20, 16)); /* as much elsewhere */
  assert_not_told(bus);
  push(harness, 4, NULL, ONE(11, 9, 20, 16));
  assert_told(bus, 4, (Told){1, 1, FALSE, SHARE(320)});
  push(harness, 8, NULL, FRAME_COVERED);
  assert_told(bus, 8, (Told){0, 0, TRUE, 1.0});
  push(harness, 9, &(Roi){"face", -8u, -4u, 20, 16}, ONE(0, 0, 12, 12));
  assert_told(bus, 9, (Told){1, 0, FALSE, SHARE(144)});
  g_object_set(harness->element, "roi-mode", 0, NULL);
  push(harness, 10, &face, FRAME_COVERED);
  assert_not_told(bus);
  g_object_set(harness->element, "roi-mode", 1, NULL);
  push(harness, 9, &(Roi){"face", -8u, -4u, 20, 16}, ONE(0, 0, 12, 12)); /* not known any more */
  assert_told(bus, 9, (Told){1, 0, FALSE, SHARE(144)});
  g_object_set(harness->element, "roi-mode", 2, NULL);
  rest.outside = true;
  push(harness, 11, &car, &rest);
  assert_told(bus, 11, (Told){1, 0, FALSE, 1.0 - SHARE(144)});
  harness_free(harness, bus);
}
GST_END_TEST;

GST_START_TEST(coverage_without_detections_is_told)
{
  GstBus *bus;
  GstHarness *harness = new_mosaic("roi-mode=inside regions=0,0,8,8;100,0,8,8", &bus);

  push(harness, 0, NULL, ONE(0, 0, 8, 8));
  assert_told(bus, 0, (Told){1, 0, TRUE, SHARE(64)});
  g_object_set(harness->element, "regions", "", NULL);
  push(harness, 1, NULL, NULL);
  assert_told(bus, 1, (Told){0, 0, TRUE, 0.0});
  flush(harness);
  push(harness, 2, NULL, NULL); /* told again */
  assert_told(bus, 2, (Told){0, 0, TRUE, 0.0});
  g_object_set(harness->element, "roi-mode", 2, NULL);
  push(harness, 3, NULL, FRAME_COVERED);
  assert_told(bus, 3, (Told){0, 0, TRUE, 1.0});
  g_object_set(harness->element, "roi-feather", 9.0, NULL);
  push(harness, 4, &(Roi){"face", WIDTH, 0, 9, 9}, FRAME_COVERED); /* of nothing in the frame */
  assert_not_told(bus);
  g_object_set(harness->element, "roi-feather", 0.0, NULL);
  g_object_set(harness->element, "roi-mode", 1, "regions", "10,8,20,16", NULL);
  push(harness, 4, NULL, ONE(10, 8, 20, 16));
  assert_told(bus, 4, (Told){1, 0, TRUE, SHARE(320)});
  g_object_set(harness->element, "regions", "10,8,20,16;10,8,20,16", NULL);
  push(harness, 5, NULL, ONE(10, 8, 20, 16)); /* the same pixels, but one region more */
  assert_told(bus, 5, (Told){2, 0, TRUE, SHARE(320)});
  g_object_set(harness->element, "regions", "10,8,20,16", NULL);
  push(harness, 6, &face, ONE(10, 8, 20, 16)); /* as many regions, but one is a detection */
  assert_told(bus, 6, (Told){2, 0, FALSE, SHARE(320)});
  harness_free(harness, bus);
}
GST_END_TEST;

/* Whatever changes what is covered, one thing at a time. */
GST_START_TEST(coverage_is_measured_anew)
{
  static const struct {
    const char *settings;
    int height;
    gdouble covered; /* of ellipses and feathers to 0.01 */
  } rows[] = {{"regions=8,8,40,32", HEIGHT, SHARE(40 * 32)},
              {"regions=8,8,40,16", HEIGHT, SHARE(40 * 16)},
              {"regions=8,8,40,16;8,24,40,8", HEIGHT, SHARE(40 * 24)},
              {"regions=8,8,40,16;8,24,40,16", HEIGHT, SHARE(40 * 32)},
              {"roi-feather=8", HEIGHT, SHARE(48 * 40)},
              {"roi-feather=0 regions=8,8,40,32", HEIGHT, SHARE(40 * 32)},
              {"roi-shape=ellipse", HEIGHT, SHARE(G_PI * 20.5 * 16.5)},
              {"roi-mode=outside", HEIGHT, 1.0 - SHARE(G_PI * 19.5 * 15.5)},
              {"roi-shape=rectangle", HEIGHT, 1.0 - SHARE(40 * 32)},
              {"roi-shape=rectangle", 2 * HEIGHT, 1.0 - SHARE(40 * 16)}};
  GstBus *bus;
  GstHarness *harness = new_mosaic("roi-mode=inside", &bus);

  for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
    CfTestPicture *source;
    GstMessage *message;
    gdouble covered;

    set_text(harness->element, rows[i].settings);
    if (video.height != rows[i].height) {
      video = cf_video(CF_FORMAT_NV12, WIDTH, rows[i].height);
      push_caps(harness, &video, NULL);
    }
    gst_buffer_unref(filter_buffer(harness, new_frame(&source, i, NULL)));
    cf_picture_free(source);
    message = gst_bus_pop_filtered(bus, GST_MESSAGE_ELEMENT);
    fail_unless(message != NULL, "%s: no message", rows[i].settings);
    gst_structure_get_double(gst_message_get_structure(message), "covered", &covered);
    fail_unless(ABS(covered - rows[i].covered) < 0.01, "%s: covered %g, not %g", rows[i].settings,
                covered, rows[i].covered);
    gst_message_unref(message);
  }
  harness_free(harness, bus);
}
GST_END_TEST;

/* A region that begins or ends between two lines of a field covers both, and a feather counts lines
 * of a field. */
GST_START_TEST(coverage_of_fields_is_told)
{
  static const struct {
    const char *mode, *feather;
    guint flags;
    Roi roi;
    Told told;
  } rows[] = {
      {"interleaved", "0", 0, {"face", 10, 9, 20, 10}, {1, 0, FALSE, SHARE(240)}},
      {"mixed",
       "0",
       GST_VIDEO_BUFFER_FLAG_INTERLACED,
       {"face", 10, 9, 20, 10},
       {1, 0, FALSE, SHARE(240)}},
      {"mixed", "0", 0, {"face", 10, 9, 20, 10}, {1, 0, FALSE, SHARE(200)}},
      {"mixed", "8", 0, {"face", 0, HEIGHT + 12, 64, 8}, {0, 0, TRUE, 0.0}},
      {"interleaved", "8", 0, {"face", 0, HEIGHT + 12, 64, 8}, {1, 0, FALSE, SHARE(32)}},
  };

  for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
    gchar *caps = g_strdup_printf(", interlace-mode=%s", rows[i].mode);
    gchar *settings = g_strdup_printf("roi-mode=inside roi-feather=%s", rows[i].feather);
    CfTestPicture *source;
    GstHarness *harness;
    GstBuffer *frame;
    GstBus *bus;

    video = cf_video(CF_FORMAT_GRAY8, WIDTH, HEIGHT);
    harness = harness_new("cudablockavg", settings, &video, caps, &bus);
    frame = new_frame(&source, 0, &rows[i].roi);
    GST_BUFFER_FLAG_SET(frame, rows[i].flags);
    gst_buffer_unref(filter_buffer(harness, frame));
    assert_told(bus, 0, rows[i].told);
    cf_picture_free(source);
    harness_free(harness, bus);
    g_free(settings);
    g_free(caps);
  }
}
GST_END_TEST;

/* As multifilesrc has it, and appsrc unless told otherwise. */
GST_START_TEST(coverage_is_told_of_segments_in_bytes)
{
  GstBus *bus;
  GstHarness *harness = new_mosaic("roi-mode=inside", &bus);
  GstMessage *message;
  GstSegment segment;
  guint64 times[2];

  gst_segment_init(&segment, GST_FORMAT_BYTES);
  fail_unless(gst_harness_push_event(harness, gst_event_new_segment(&segment)));
  push(harness, 2, &face, ONE(10, 8, 20, 16));
  message = gst_bus_pop_filtered(bus, GST_MESSAGE_ELEMENT);
  fail_unless(message != NULL);
  fail_unless(gst_structure_get(gst_message_get_structure(message), "stream-time", G_TYPE_UINT64,
                                &times[0], "running-time", G_TYPE_UINT64, &times[1], NULL));
  fail_unless_equals_uint64(times[0], GST_CLOCK_TIME_NONE);
  fail_unless_equals_uint64(times[1], GST_CLOCK_TIME_NONE);
  gst_message_unref(message);
  harness_free(harness, bus);
}
GST_END_TEST;

static void add_tests(TCase *tests)
{
  tcase_add_test(tests, settings_without_a_mode_warn);
  tcase_add_test(tests, rejected_types_are_named);
  tcase_add_test(tests, masks_that_hide_too_little_warn);
  tcase_add_test(tests, weak_masks_warn_again_after_good_ones);
  tcase_add_test(tests, animated_weak_masks_warn_once);
  tcase_add_test(tests, starts_are_told_anew);
  tcase_add_test(tests, a_hundred_frames_without_warn_once);
  tcase_add_test(tests, coverage_is_told_on_change);
  tcase_add_test(tests, coverage_without_detections_is_told);
  tcase_add_test(tests, coverage_of_fields_is_told);
  tcase_add_test(tests, coverage_is_measured_anew);
  tcase_add_test(tests, coverage_is_told_of_segments_in_bytes);
}

int main(int argc, char **argv)
{
  return run_tests(argc, argv, "region-messages", add_tests);
}
