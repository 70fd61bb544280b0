/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Values that only the caps or each other make wrong: an error at the start, and while playing a
 * warning, after which the old value is in force and frames flow on. And settings that have no
 * effect, which warn once. BACKEND is what filters.
 */
#include "elements.h"

#include <gst/controller/controller.h>
#include <string.h>

#ifndef BACKEND
#define BACKEND "cpu"
#endif

static const ElementCase *find_case(const char *element)
{
  for (guint i = 0; i < N_ELEMENTS; i++) {
    if (strcmp(element_cases[i].name, element) == 0)
      return &element_cases[i];
  }
  fail("no element %s", element);
  return NULL;
}

static GstHarness *play(const char *element, const char *settings, const CfVideo *video,
                        GstBus **bus)
{
  gchar *all = g_strdup_printf("backend=" BACKEND " %s", settings);
  GstHarness *harness = harness_new(element, all, video, NULL, bus);

  g_free(all);
  return harness;
}

static GstBuffer *new_frame(const CfVideo *video, GstClockTime pts)
{
  return buffer_from_picture(new_picture(video, CF_LAYOUT_ALIGNED, CF_PATTERN_NOISE, 1), pts);
}

/* Pushes a frame, which must come out as the engine filters it with `settings`. */
static void check_frame(GstHarness *harness, const char *element, const CfVideo *video,
                        const char *settings, GstClockTime pts)
{
  CfTestPicture *source = new_picture(video, CF_LAYOUT_ALIGNED, CF_PATTERN_NOISE, 1);
  CfTestPicture *want = engine_output(find_case(element), settings, source);

  assert_shows(filter_buffer(harness, new_frame(video, pts)), want, settings);
  cf_picture_free(source);
  cf_picture_free(want);
}

static gchar *text_of(GstElement *element, const char *name)
{
  GParamSpec *spec = g_object_class_find_property(G_OBJECT_GET_CLASS(element), name);
  GValue value = G_VALUE_INIT;
  gchar *text;

  g_value_init(&value, spec->value_type);
  g_object_get_property(G_OBJECT(element), name, &value);
  text = gst_value_serialize(&value);
  g_value_unset(&value);
  return text;
}

/* `bad` after `good`, which mends it, is refused for `property`; of what it sets, `kept` can be. */
static const struct {
  const char *element, *good, *bad, *kept, *property;
  CfFormat format;
  const char *says;
} refused[] = {
    {"cudallf", "color-mode=luminance engine=fast", "color-mode=rgb", NULL, "color-mode",
     CF_FORMAT_RGBA, "engine=exact"},
    {"cudallf", "color-mode=separate engine=exact", "color-mode=rgb", NULL, "color-mode",
     CF_FORMAT_NV12, "RGB"},
    {"cudallf", "color-mode=luminance engine=exact", "color-mode=rgb", NULL, "color-mode",
     CF_FORMAT_GRAY8, "RGB"},
    {"cudallf", "intensity-levels=2 engine=sampled", "intensity-levels=1", NULL, "intensity-levels",
     CF_FORMAT_I420, "intensity-levels stays 2, 1 is refused: intensity-levels is 1, allowed is 0"},
    /* Refused although nothing would change in the picture. */
    {"cudallf", "alpha=0.5 color-mode=luminance", "alpha=1 color-mode=rgb", "alpha=1", "color-mode",
     CF_FORMAT_RGB, "engine=exact"},
    {"cudallf", "color-mode=rgb engine=exact", "engine=sampled alpha=0.8", "alpha=0.8", "engine",
     CF_FORMAT_RGBA, "engine stays exact, sampled is refused"},
    {"cudagaussblur", "sigma-vertical=1", "sigma-vertical=-0.5", NULL, "sigma-vertical",
     CF_FORMAT_GRAY8, "0 to 250"},
    {"cudagaussblur", "sigma=1 sigma-vertical=1", "sigma=0 sigma-vertical=-0.5", "sigma=0",
     "sigma-vertical", CF_FORMAT_GRAY8, "0 to 250"},
    {"cudagaussblur", "sigma=3 map-mode=luma", "sigma=-3", NULL, "sigma", CF_FORMAT_GRAY8,
     "sigma stays 3, -3 is refused"},
    {"cudagaussblur", "sigma=-3 map-mode=none", "map-mode=luma", NULL, "map-mode", CF_FORMAT_GRAY8,
     "map-mode stays none, luma is refused"},
    {"cudagaussblur", "sigma=3 map-mode=luma sigma-relative=0", "sigma-relative=0.5", NULL,
     "sigma-relative", CF_FORMAT_GRAY8, "set either map-mode"},
    {"cudagaussblur", "sigma=3 map-mode=none", "map-mode=file border=wrap", "border=wrap",
     "map-mode", CF_FORMAT_GRAY8, "map-location"},
    {"cudasepconv", "preset=box preset-size=5", "preset-size=4", NULL, "preset-size",
     CF_FORMAT_GRAY8, "preset-size stays 5, 4 is refused: preset-size is 4, allowed is an odd"},
    {"cudasepconv", "preset=box preset-size=5 anchor-x=-1", "anchor-x=5", NULL, "anchor-x",
     CF_FORMAT_GRAY8, "allowed is -1 to 4"},
    {"cudasepconv", "column-kernel=<1,1> anchor-y=-1", "anchor-y=2", NULL, "anchor-y",
     CF_FORMAT_GRAY8, "allowed is -1 to 1"},
    {"cudasepconv", "row-kernel=<1,-1> normalize=false", "normalize=true", NULL, "normalize",
     CF_FORMAT_GRAY8, "sum"},
    {"cudasepconv", "row-kernel=<1,1> normalize=true", "row-kernel=<1,-1>", NULL, "row-kernel",
     CF_FORMAT_GRAY8, "row-kernel stays <1,1>, <1,-1> is refused"},
    {"cudasepconv", "preset=box normalize=true", "preset=sobel-y", NULL, "preset", CF_FORMAT_GRAY8,
     "preset stays box, sobel-y is refused"},
    {"cudasepconv", "scale=2 row-kernel=<1>", "scale=1e9 row-kernel=<1000,1000>", "scale=1e9",
     "row-kernel", CF_FORMAT_GRAY8, "allowed"},
    /* What is good with the others is taken, whenever it was set. */
    {"cudasepconv", "row-kernel=<1,2,1> column-kernel=<1> anchor-x=-1 anchor-y=-1",
     "anchor-x=4 anchor-y=3 row-kernel=<1,2,3,2,1>", "anchor-x=4 row-kernel=<1,2,3,2,1>",
     "anchor-y", CF_FORMAT_GRAY8, "allowed is -1 to 0"},
};

#define REFUSED (&refused[__i__])

static CfVideo refused_video(int i)
{
  return cf_video(refused[i].format, 16, 8);
}

static gchar *settings_kept(int i)
{
  return g_strjoin(" ", refused[i].good, refused[i].kept, NULL);
}

GST_START_TEST(at_the_start)
{
  const CfVideo video = refused_video(__i__);
  gchar *settings = g_strjoin(" ", REFUSED->good, REFUSED->bad, NULL);
  GstBus *bus;
  GstHarness *harness = play(REFUSED->element, settings, &video, &bus);

  for (guint i = 0; i < 2; i++) {
    const GstFlowReturn flow = gst_harness_push(harness, new_frame(&video, i));

    fail_unless(flow == GST_FLOW_NOT_NEGOTIATED || flow == GST_FLOW_ERROR, "%s",
                gst_flow_get_name(flow));
  }
  fail_unless_equals_int(gst_harness_buffers_received(harness), 0);
  assert_posted(bus, GST_MESSAGE_ERROR, 1, NULL);
  harness_free(harness, bus);
  g_free(settings);
}
GST_END_TEST;

GST_START_TEST(mended_before_the_start)
{
  const CfVideo video = refused_video(__i__);
  gchar *settings = g_strjoin(" ", REFUSED->good, REFUSED->bad, REFUSED->good, NULL);
  GstBus *bus;
  GstHarness *harness = play(REFUSED->element, settings, &video, &bus);
  gst_buffer_unref(filter_buffer(harness, new_frame(&video, 0)));
  assert_posted(bus, GST_MESSAGE_ERROR, 0, NULL);
  harness_free(harness, bus);
  g_free(settings);
}
GST_END_TEST;

static void count_notification(GObject *object, GParamSpec *spec, gpointer count)
{
  (*(guint *)count)++;
}

GST_START_TEST(while_playing)
{
  const CfVideo video = refused_video(__i__);
  gchar *kept = settings_kept(__i__), *before, *after;
  gchar *signal = g_strdup_printf("notify::%s", REFUSED->property);
  guint notifications = 0;
  GstBus *bus;
  GstHarness *harness = play(REFUSED->element, REFUSED->good, &video, &bus);
  GstElement *element = harness->element;

  check_frame(harness, REFUSED->element, &video, REFUSED->good, 0);
  before = text_of(element, REFUSED->property);
  assert_posted(bus, GST_MESSAGE_WARNING, 0, NULL);
  set_text(element, REFUSED->bad);
  g_signal_connect(element, signal, G_CALLBACK(count_notification), &notifications);
  check_frame(harness, REFUSED->element, &video, kept, GST_SECOND);
  assert_posted(bus, GST_MESSAGE_WARNING, 1, REFUSED->says);
  after = text_of(element, REFUSED->property);
  fail_unless_equals_string(before, after);
  fail_unless_equals_int(notifications, 1);

  for (guint i = 2; i < 4; i++)
    check_frame(harness, REFUSED->element, &video, kept, i * GST_SECOND);
  assert_posted(bus, GST_MESSAGE_WARNING, 0, NULL);

  /* A user who tries again is told again. */
  set_text(element, REFUSED->bad);
  check_frame(harness, REFUSED->element, &video, kept, 4 * GST_SECOND);
  assert_posted(bus, GST_MESSAGE_WARNING, 1, REFUSED->property);

  /* A later start has nothing to complain of. */
  fail_unless(gst_element_set_state(element, GST_STATE_READY) != GST_STATE_CHANGE_FAILURE);
  fail_unless(gst_element_set_state(element, GST_STATE_PLAYING) != GST_STATE_CHANGE_FAILURE);
  push_caps(harness, &video, NULL);
  assert_posted(bus, GST_MESSAGE_ERROR, 0, NULL);
  harness_free(harness, bus);
  g_free(before);
  g_free(after);
  g_free(signal);
  g_free(kept);
}
GST_END_TEST;

/* New caps before the next frame find the settings in force, which they can be filtered with. */
GST_START_TEST(while_caps_change)
{
  const CfVideo video = refused_video(__i__);
  const CfVideo other = cf_video(video.format, 24, 10);
  gchar *kept = settings_kept(__i__);
  GstBus *bus;
  GstHarness *harness = play(REFUSED->element, REFUSED->good, &video, &bus);

  check_frame(harness, REFUSED->element, &video, REFUSED->good, 0);
  set_text(harness->element, REFUSED->bad);
  push_caps(harness, &other, NULL);
  check_frame(harness, REFUSED->element, &other, kept, GST_SECOND);
  assert_posted(bus, GST_MESSAGE_WARNING, 1, REFUSED->says);
  harness_free(harness, bus);
  g_free(kept);
}
GST_END_TEST;

GST_START_TEST(in_force_but_not_for_new_caps)
{
  const CfVideo color = cf_video(CF_FORMAT_RGB, 16, 8), gray = cf_video(CF_FORMAT_GRAY8, 16, 8);
  GstBus *bus;
  GstHarness *harness = play("cudallf", "engine=exact color-mode=rgb", &color, &bus);

  gst_buffer_unref(filter_buffer(harness, new_frame(&color, 0)));
  push_caps(harness, &gray, NULL);
  fail_unless(gst_harness_push(harness, new_frame(&gray, GST_SECOND)) < GST_FLOW_OK);
  assert_posted(bus, GST_MESSAGE_ERROR, 1, "needs an RGB format");

  /* Mended, it goes on. */
  set_text(harness->element, "color-mode=luminance");
  push_caps(harness, &gray, ", pixel-aspect-ratio=2/1");
  check_frame(harness, "cudallf", &gray, "engine=exact", 2 * GST_SECOND);
  harness_free(harness, bus);
}
GST_END_TEST;

/* Settings that are only good together */
static const struct {
  const char *element, *before;
  const char *one, *other; /* in either order */
  CfFormat format;
} together[] = {
    {"cudasepconv", "row-kernel=<1,2,1>", "row-kernel=<1,2,3,2,1>", "anchor-x=4", CF_FORMAT_GRAY8},
    {"cudasepconv", "row-kernel=<1,2,3,2,1> anchor-x=4", "row-kernel=<1,2,1>", "anchor-x=2",
     CF_FORMAT_GRAY8},
    {"cudasepconv", "normalize=true row-kernel=<1,2,1>", "normalize=false", "row-kernel=<1,0,-1>",
     CF_FORMAT_GRAY8},
    {"cudallf", "alpha=0.5", "engine=exact", "color-mode=rgb", CF_FORMAT_RGB},
    {"cudagaussblur", "sigma=-3", "sigma=3", "map-mode=luma", CF_FORMAT_GRAY8},
};

GST_START_TEST(good_together)
{
  const CfVideo video = cf_video(together[__i__ / 2].format, 16, 8);
  const char *first = together[__i__ / 2].one, *second = together[__i__ / 2].other;
  GstBus *bus;
  GstHarness *harness = play(together[__i__ / 2].element, together[__i__ / 2].before, &video, &bus);
  gchar *settings = g_strjoin(" ", together[__i__ / 2].before, first, second, NULL);

  gst_buffer_unref(filter_buffer(harness, new_frame(&video, 0)));
  set_text(harness->element, __i__ % 2 ? first : second);
  set_text(harness->element, __i__ % 2 ? second : first);
  check_frame(harness, together[__i__ / 2].element, &video, settings, GST_SECOND);
  assert_posted(bus, GST_MESSAGE_WARNING, 0, NULL);
  harness_free(harness, bus);
  g_free(settings);
}
GST_END_TEST;

/* Whoever hears of the old value may set another one at once, from the streaming thread. */
static void set_seven(GObject *object, GParamSpec *spec, gpointer count)
{
  if ((*(guint *)count)++ == 0)
    g_object_set(object, "preset-size", 7, NULL);
}

GST_START_TEST(set_anew_when_refused)
{
  const CfVideo video = cf_video(CF_FORMAT_GRAY8, 16, 8);
  guint count = 0;
  GstBus *bus;
  GstHarness *harness = play("cudasepconv", "preset=box preset-size=5", &video, &bus);

  gst_buffer_unref(filter_buffer(harness, new_frame(&video, 0)));
  set_text(harness->element, "preset-size=4");
  g_signal_connect(harness->element, "notify::preset-size", G_CALLBACK(set_seven), &count);
  check_frame(harness, "cudasepconv", &video, "preset=box preset-size=5", GST_SECOND);
  check_frame(harness, "cudasepconv", &video, "preset=box preset-size=7", 2 * GST_SECOND);
  assert_posted(bus, GST_MESSAGE_WARNING, 1, "preset-size stays 5");
  harness_free(harness, bus);
}
GST_END_TEST;

/* Good values and bad ones, without an end. */
static gpointer set_sizes(gpointer harness)
{
  for (gint i = 0; i < 20000; i++)
    g_object_set(((GstHarness *)harness)->element, "preset-size", 3 + i % 6, "anchor-x", i % 7,
                 "scale", 1.0 + i % 5, NULL);
  return NULL;
}

GST_START_TEST(set_from_another_thread)
{
  const CfVideo video = cf_video(CF_FORMAT_GRAY8, 16, 8);
  GstBus *bus;
  GstHarness *harness = play("cudasepconv", "preset=box preset-size=5", &video, &bus);
  GThread *thread = g_thread_new("sizes", set_sizes, harness);
  guint pushed = 0;

  for (; pushed < 500; pushed++)
    gst_buffer_unref(filter_buffer(harness, new_frame(&video, pushed * GST_MSECOND)));
  g_thread_join(thread);
  set_text(harness->element, "preset-size=9 anchor-x=8 scale=1");
  check_frame(harness, "cudasepconv", &video, "preset=box preset-size=9 anchor-x=8", GST_SECOND);
  gst_bus_set_flushing(bus, TRUE);
  harness_free(harness, bus);
}
GST_END_TEST;

/* Controllers */

static const struct {
  const char *element, *settings, *property;
  gint from, to;
} animated[] = {
    {"cudasepconv", "preset=box normalize=true", "preset-size", 3, 11},
    {"cudasepconv", "row-kernel=<1,2,1>", "anchor-x", 0, 8},
    {"cudallf", "engine=sampled", "intensity-levels", 0, 4},
};

GST_START_TEST(controllers_pass_what_is_refused)
{
  const CfVideo video = cf_video(CF_FORMAT_GRAY8, 16, 8);
  const gint from = animated[__i__].from, to = animated[__i__].to;
  GstControlSource *source = gst_interpolation_control_source_new();
  GstBus *bus;
  GstHarness *harness = play(animated[__i__].element, animated[__i__].settings, &video, &bus);

  g_object_set(source, "mode", GST_INTERPOLATION_MODE_LINEAR, NULL);
  gst_timed_value_control_source_set(GST_TIMED_VALUE_CONTROL_SOURCE(source), 0, from);
  gst_timed_value_control_source_set(GST_TIMED_VALUE_CONTROL_SOURCE(source), 40 * GST_SECOND, to);
  fail_unless(gst_object_add_control_binding(
      GST_OBJECT(harness->element),
      gst_direct_control_binding_new_absolute(GST_OBJECT(harness->element),
                                              animated[__i__].property, source)));
  for (guint i = 0; i <= 40; i++) {
    CfTestPicture *picture = new_picture(&video, CF_LAYOUT_ALIGNED, CF_PATTERN_NOISE, 1);
    GstBuffer *output = filter_buffer(harness, new_frame(&video, i * GST_SECOND));
    gchar *value = text_of(harness->element, animated[__i__].property);
    gchar *settings =
        g_strdup_printf("%s %s=%s", animated[__i__].settings, animated[__i__].property, value);
    CfTestPicture *want = engine_output(find_case(animated[__i__].element), settings, picture);

    assert_shows(output, want, settings);
    cf_picture_free(picture);
    cf_picture_free(want);
    g_free(settings);
    g_free(value);
  }
  assert_posted(bus, GST_MESSAGE_WARNING, 1, animated[__i__].property);
  gst_object_unref(source);
  harness_free(harness, bus);
}
GST_END_TEST;

/* Settings without an effect */

static const struct {
  const char *element, *settings;
  const char *says; /* NULL: nothing to say */
} idle[] = {
    {"cudallf", "harmonics=6", NULL},
    {"cudallf", "harmonics=8 engine=exact", NULL}, /* a default */
    {"cudallf", "harmonics=6 engine=exact", "harmonics"},
    {"cudallf", "intensity-levels=9", "engine=sampled"},
    {"cudallf", "intensity-levels=9 engine=sampled", NULL},
    {"cudablockavg", "block-width=8", NULL},
    {"cudablockavg", "block-width=8 blocks-across=2", "block-width"},
    {"cudablockavg", "block-height=8 blocks-across=2", "block-height"},
    {"cudablockavg", "block-width=8 mode=fill", "block-width"},
    {"cudablockavg", "anchor=region mode=fill", "anchor"},
    {"cudablockavg", "blocks-across=2 mode=fill", "blocks-across"},
    {"cudablockavg", "fill-color=0xff00ff00", "fill-color"},
    {"cudablockavg", "fill-color=0xff00ff00 mode=fill", NULL},
    {"cudasepconv", "amount=2", "preset=unsharp"},
    {"cudasepconv", "preset=sharpen threshold=0.1", "threshold"},
    {"cudasepconv", "preset=unsharp amount=2 threshold=0.1 preset-size=9", NULL},
    {"cudasepconv", "row-kernel=<1,2> preset=box", "row-kernel"},
    {"cudasepconv", "column-kernel=<2> preset=box", "column-kernel"},
    {"cudasepconv", "column-kernel=<2>", NULL},
    {"cudasepconv", "preset-size=7", "preset-size"},
    {"cudasepconv", "preset=box preset-size=7", NULL},
    {"cudasepconv", "preset=box border-color=0xff112233", "border=constant"},
    {"cudasepconv", "preset=box border=constant border-color=0xff112233", NULL},
    {"cudagaussblur", "sigma-min=1", "sigma-min"},
    {"cudagaussblur", "sigma-min=1 map-mode=luma", NULL},
    {"cudagaussblur", "map-invert=true", "map-invert"},
    {"cudagaussblur", "map-isolate=true", "map-isolate"},
    {"cudagaussblur", "map-isolate=true map-mode=luma", NULL},
    {"cudagaussblur", "map-x=0.2", "map-x"},
    {"cudagaussblur", "map-y=0.2 map-mode=luma", "map-y"},
    {"cudagaussblur", "map-inner=0.2", "map-inner"},
    {"cudagaussblur", "map-outer=0.2 map-mode=luma", "map-outer"},
    {"cudagaussblur", "map-angle=20 map-mode=radial", "map-mode=linear"},
    {"cudagaussblur", "map-angle=20 map-x=0.4 map-inner=0.1 map-outer=0.2 map-mode=linear", NULL},
    {"cudagaussblur", "map-inner=0.5 map-outer=0.2 map-mode=radial", "map-inner is larger"},
    {"cudagaussblur", "map-inner=0.5 map-mode=radial", "map-inner is larger"},
    {"cudagaussblur", "map-inner=0.2 map-outer=0.2 map-mode=radial", NULL}, /* a sharp edge */
};

GST_START_TEST(without_effect)
{
  const CfVideo video = cf_video(CF_FORMAT_GRAY8, 16, 8);
  GstBus *bus;
  GstHarness *harness = play(idle[__i__].element, idle[__i__].settings, &video, &bus);

  for (guint i = 0; i < 3; i++) {
    gst_buffer_unref(filter_buffer(harness, new_frame(&video, i * GST_SECOND)));
    set_text(harness->element, idle[__i__].settings);
  }
  push_caps(harness, &video, ", pixel-aspect-ratio=2/1");
  gst_buffer_unref(filter_buffer(harness, new_frame(&video, 4 * GST_SECOND)));
  assert_posted(bus, GST_MESSAGE_WARNING, idle[__i__].says ? 1 : 0, idle[__i__].says);
  harness_free(harness, bus);
}
GST_END_TEST;

/* Who switches the mode off and on again has nothing to hear of the settings for it. */
GST_START_TEST(only_what_was_set_is_remarked)
{
  const CfVideo video = cf_video(CF_FORMAT_GRAY8, 16, 8);
  GstBus *bus;
  GstHarness *harness = play("cudagaussblur", "map-mode=radial map-x=0.3", &video, &bus);

  gst_buffer_unref(filter_buffer(harness, new_frame(&video, 0)));
  set_text(harness->element, "map-mode=none");
  gst_buffer_unref(filter_buffer(harness, new_frame(&video, GST_SECOND)));
  assert_posted(bus, GST_MESSAGE_WARNING, 0, NULL);
  set_text(harness->element, "map-y=0.3");
  gst_buffer_unref(filter_buffer(harness, new_frame(&video, 2 * GST_SECOND)));
  assert_posted(bus, GST_MESSAGE_WARNING, 1, "map-y has no effect");
  harness_free(harness, bus);
}
GST_END_TEST;

static const struct {
  const char *setting;
  gboolean waits;
} common[] = {
    {"backend=reference", TRUE},  {"backend=" BACKEND, FALSE}, {"cuda-device-id=0", TRUE},
    {"cuda-device-id=-1", FALSE}, {"n-threads=2", TRUE},       {"n-threads=1", FALSE},
};

GST_START_TEST(common_settings_wait)
{
  const CfVideo video = cf_video(CF_FORMAT_GRAY8, 16, 8);
  GstBus *bus;
  GstHarness *harness = play("cudablockavg", "block-width=4", &video, &bus);
  gchar *active;

  /* Until new caps, even if these change no pixel. */
  gst_buffer_unref(filter_buffer(harness, new_frame(&video, 0)));
  set_text(harness->element, common[__i__].setting);
  active = text_of(harness->element, "active-backend");
  fail_unless_equals_string(active, BACKEND);
  g_free(active);
  gst_buffer_unref(filter_buffer(harness, new_frame(&video, GST_SECOND)));
  assert_posted(bus, GST_MESSAGE_WARNING, common[__i__].waits ? 1 : 0,
                common[__i__].waits ? "no effect before the next start" : NULL);
  push_caps(harness, &video, ", pixel-aspect-ratio=2/1");
  gst_buffer_unref(filter_buffer(harness, new_frame(&video, 2 * GST_SECOND)));
  active = text_of(harness->element, "active-backend");
  fail_unless_equals_string(active, __i__ == 0 ? "reference" : BACKEND);
  g_free(active);
  harness_free(harness, bus);
}
GST_END_TEST;

static void add_tests(TCase *tests)
{
  tcase_add_loop_test(tests, at_the_start, 0, G_N_ELEMENTS(refused));
  tcase_add_loop_test(tests, mended_before_the_start, 0, G_N_ELEMENTS(refused));
  tcase_add_loop_test(tests, while_playing, 0, G_N_ELEMENTS(refused));
  tcase_add_loop_test(tests, while_caps_change, 0, G_N_ELEMENTS(refused));
  tcase_add_test(tests, in_force_but_not_for_new_caps);
  tcase_add_loop_test(tests, good_together, 0, 2 * G_N_ELEMENTS(together));
  tcase_add_test(tests, set_anew_when_refused);
  tcase_add_test(tests, set_from_another_thread);
  tcase_add_loop_test(tests, controllers_pass_what_is_refused, 0, G_N_ELEMENTS(animated));
  tcase_add_loop_test(tests, without_effect, 0, G_N_ELEMENTS(idle));
  tcase_add_test(tests, only_what_was_set_is_remarked);
  tcase_add_loop_test(tests, common_settings_wait, 0, G_N_ELEMENTS(common));
}

int main(int argc, char **argv)
{
  return run_tests(argc, argv, "values", add_tests);
}
