/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Bad values of properties, elements and caps: what GLib refuses, and what the element refuses at
 * once. Every refusal says what is allowed, and no frame passes unfiltered.
 */
#include "elements.h"

#include <glib/gstdio.h>
#include <math.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static CfVideo gray(void)
{
  return cf_video(CF_FORMAT_GRAY8, 16, 8);
}

static GstBuffer *new_frame(const CfVideo *video, GstClockTime pts)
{
  return buffer_from_picture(new_picture(video, CF_LAYOUT_ALIGNED, CF_PATTERN_NOISE, pts + 1), pts);
}

/* Numbers outside the range of their property: GLib's part */

static void check_double(GObject *object, const GParamSpecDouble *spec)
{
  const gchar *name = spec->parent_instance.name;
  gdouble before, after;

  g_object_get(object, name, &before, NULL);
  ASSERT_REFUSED_BY_GLIB(g_object_set(object, name, 2.0 * spec->maximum, NULL));
  ASSERT_REFUSED_BY_GLIB(g_object_set(object, name, spec->minimum - spec->maximum, NULL));
  ASSERT_REFUSED_BY_GLIB(g_object_set(object, name, (gdouble)INFINITY, NULL));
  ASSERT_REFUSED_BY_GLIB(g_object_set(object, name, (gdouble)NAN, NULL));
  g_object_get(object, name, &after, NULL);
  fail_unless(before == after, "%s became %g", name, after);
}

static void check_int(GObject *object, const GParamSpecInt *spec)
{
  const gchar *name = spec->parent_instance.name;
  gint before, after;

  g_object_get(object, name, &before, NULL);
  ASSERT_REFUSED_BY_GLIB(g_object_set(object, name, spec->minimum - 1, NULL));
  if (spec->maximum < G_MAXINT)
    ASSERT_REFUSED_BY_GLIB(g_object_set(object, name, spec->maximum + 1, NULL));
  g_object_get(object, name, &after, NULL);
  fail_unless(before == after, "%s became %d", name, after);
}

static void check_enum(GObject *object, const GParamSpecEnum *spec)
{
  const gchar *name = spec->parent_instance.name;
  gint before, after;

  g_object_get(object, name, &before, NULL);
  ASSERT_REFUSED_BY_GLIB(g_object_set(object, name, 99, NULL));
  ASSERT_REFUSED_BY_GLIB(g_object_set(object, name, -1, NULL));
  g_object_get(object, name, &after, NULL);
  fail_unless(before == after, "%s became %d", name, after);
}

static void check_flags(GObject *object, const GParamSpecFlags *spec)
{
  const gchar *name = spec->parent_instance.name;
  guint before, after;

  g_object_get(object, name, &before, NULL);
  ASSERT_REFUSED_BY_GLIB(g_object_set(object, name, 1u << 20, NULL));
  g_object_get(object, name, &after, NULL);
  fail_unless(before == after, "%s became %u", name, after);
}

GST_START_TEST(values_outside_the_range)
{
  const ElementCase *element = &element_cases[__i__];
  GstElement *object = gst_check_setup_element(element->name);
  guint count;
  GParamSpec **specs = g_object_class_list_properties(G_OBJECT_GET_CLASS(object), &count);

  for (guint i = 0; i < count; i++) {
    if (g_type_is_a(GST_TYPE_VIDEO_FILTER, specs[i]->owner_type))
      continue;
    if (G_IS_PARAM_SPEC_DOUBLE(specs[i]))
      check_double(G_OBJECT(object), G_PARAM_SPEC_DOUBLE(specs[i]));
    else if (G_IS_PARAM_SPEC_INT(specs[i]))
      check_int(G_OBJECT(object), G_PARAM_SPEC_INT(specs[i]));
    else if (G_IS_PARAM_SPEC_ENUM(specs[i]))
      check_enum(G_OBJECT(object), G_PARAM_SPEC_ENUM(specs[i]));
    else if (G_IS_PARAM_SPEC_FLAGS(specs[i]))
      check_flags(G_OBJECT(object), G_PARAM_SPEC_FLAGS(specs[i]));
  }
  g_free(specs);
  gst_check_teardown_element(object);
}
GST_END_TEST;

/* Kernels */

typedef enum {
  KERNEL_EMPTY,
  KERNEL_LONG,
  KERNEL_WORDS,
  KERNEL_SWITCHES,
  KERNEL_NAN,
  KERNEL_INFINITE,
  N_BAD
} BadKernel;

static void append_number(GValue *array, double number)
{
  GValue item = G_VALUE_INIT;

  g_value_init(&item, G_TYPE_DOUBLE);
  g_value_set_double(&item, number);
  gst_value_array_append_and_take_value(array, &item);
}

static void set_bad_kernel(GstElement *element, const char *name, BadKernel bad)
{
  GValue array = G_VALUE_INIT;

  g_value_init(&array, GST_TYPE_ARRAY);
  switch (bad) {
  case KERNEL_LONG:
    for (int i = 0; i < 256; i++)
      append_number(&array, 1.0);
    break;
  case KERNEL_WORDS: {
    GValue word = G_VALUE_INIT;
    g_value_init(&word, G_TYPE_STRING);
    g_value_set_static_string(&word, "3");
    gst_value_array_append_and_take_value(&array, &word);
    break;
  }
  case KERNEL_SWITCHES: {
    GValue item = G_VALUE_INIT;
    g_value_init(&item, G_TYPE_BOOLEAN);
    g_value_set_boolean(&item, TRUE);
    gst_value_array_append_and_take_value(&array, &item);
    break;
  }
  case KERNEL_NAN:
    append_number(&array, NAN);
    break;
  case KERNEL_INFINITE:
    append_number(&array, 1.0);
    append_number(&array, -INFINITY);
    break;
  default:
    break;
  }
  g_object_set_property(G_OBJECT(element), name, &array);
  g_value_unset(&array);
}

static const char *const kernels[] = {"row-kernel", "column-kernel"};

static void assert_kernel(GstElement *element, const char *name, guint taps, double first)
{
  GValue array = G_VALUE_INIT;

  g_value_init(&array, GST_TYPE_ARRAY);
  g_object_get_property(G_OBJECT(element), name, &array);
  fail_unless_equals_int(gst_value_array_get_size(&array), taps);
  fail_unless(g_value_get_double(gst_value_array_get_value(&array, 0)) == first);
  g_value_unset(&array);
}

/* Sets the element that `harness_new` would give a stream, but leaves it in NULL. */
static GstElement *new_stopped(GstBus **bus)
{
  GstElement *element = gst_check_setup_element("cudasepconv");

  *bus = gst_bus_new();
  gst_element_set_bus(element, *bus);
  return element;
}

static void free_stopped(GstElement *element, GstBus *bus)
{
  gst_element_set_state(element, GST_STATE_NULL);
  gst_element_set_bus(element, NULL);
  gst_object_unref(bus);
  gst_check_teardown_element(element);
}

/* All checks below run for each bad kernel as row and as column kernel. */
#define BAD_KERNEL ((BadKernel)(__i__ / 2))
#define BAD_NAME   (kernels[__i__ % 2])

GST_START_TEST(bad_kernel_before_the_start)
{
  GstBus *bus;
  GstElement *element = new_stopped(&bus);

  set_bad_kernel(element, BAD_NAME, BAD_KERNEL);
  assert_kernel(element, BAD_NAME, 1, 1.0);
  for (guint start = 0; start < 2; start++) {
    fail_unless_equals_int(gst_element_set_state(element, GST_STATE_PAUSED),
                           GST_STATE_CHANGE_FAILURE);
    assert_posted(bus, GST_MESSAGE_ERROR, 1, "allowed are 1 to 255 numbers");
    gst_element_set_state(element, GST_STATE_NULL);
  }

  set_text(element, kernels[__i__ % 2] == kernels[0] ? "row-kernel=<1,2>" : "column-kernel=<1,2>");
  fail_unless(gst_element_set_state(element, GST_STATE_PAUSED) != GST_STATE_CHANGE_FAILURE,
              "a good kernel does not replace the refused one");
  assert_posted(bus, GST_MESSAGE_ERROR, 0, NULL);
  free_stopped(element, bus);
}
GST_END_TEST;

GST_START_TEST(bad_kernel_while_playing)
{
  static const char settings[] = "row-kernel=<3,2,1> column-kernel=<2,1> normalize=true";
  const CfVideo video = gray();
  CfTestPicture *source = new_picture(&video, CF_LAYOUT_ALIGNED, CF_PATTERN_NOISE, 1);
  CfTestPicture *want = engine_output(&element_cases[3], settings, source);
  GstBus *bus;
  GstHarness *harness = harness_new("cudasepconv", settings, &video, NULL, &bus);

  assert_shows(filter_buffer(harness, plain_buffer(source, 0)), want, "before");
  assert_posted(bus, GST_MESSAGE_WARNING, 0, NULL);
  set_bad_kernel(harness->element, BAD_NAME, BAD_KERNEL);
  assert_posted(bus, GST_MESSAGE_WARNING, 1, "allowed are 1 to 255 numbers");
  assert_shows(filter_buffer(harness, plain_buffer(source, GST_SECOND)), want, "after");

  /* The old value stays in use: a later start has nothing to complain of. */
  fail_unless(gst_element_set_state(harness->element, GST_STATE_READY) != GST_STATE_CHANGE_FAILURE);
  fail_unless(gst_element_set_state(harness->element, GST_STATE_PLAYING) !=
                  GST_STATE_CHANGE_FAILURE,
              "the refused kernel comes back at the next start");
  assert_posted(bus, GST_MESSAGE_ERROR, 0, NULL);
  harness_free(harness, bus);
  cf_picture_free(source);
  cf_picture_free(want);
}
GST_END_TEST;

GST_START_TEST(both_kernels_bad_and_one_mended)
{
  GstBus *bus;
  GstElement *element = new_stopped(&bus);

  set_bad_kernel(element, "row-kernel", KERNEL_NAN);
  set_bad_kernel(element, "column-kernel", KERNEL_EMPTY);
  set_text(element, "column-kernel=<1,1>");
  fail_unless_equals_int(gst_element_set_state(element, GST_STATE_PAUSED),
                         GST_STATE_CHANGE_FAILURE);
  assert_posted(bus, GST_MESSAGE_ERROR, 1, "row-kernel");
  free_stopped(element, bus);
}
GST_END_TEST;

/* As gst-launch reads them: each number has the type it looks like. */
static const struct {
  const char *text;
  guint taps;
  double tap[5];
} good_kernels[] = {
    {"<1,4,6,4,1>", 5, {1, 4, 6, 4, 1}},
    {"<-2,0.25,7>", 3, {-2, 0.25, 7}},
    {"<0.5,-1,1e-3>", 3, {0.5, -1, 1e-3}},
    {"<7>", 1, {7}},
};

GST_START_TEST(kernels_of_mixed_numbers)
{
  GstElement *element = gst_check_setup_element("cudasepconv");
  GValue array = G_VALUE_INIT;

  g_value_init(&array, GST_TYPE_ARRAY);
  for (guint k = 0; k < G_N_ELEMENTS(kernels); k++) {
    fail_unless(gst_value_deserialize(&array, good_kernels[__i__].text));
    g_object_set_property(G_OBJECT(element), kernels[k], &array);
    g_value_reset(&array);
    g_object_get_property(G_OBJECT(element), kernels[k], &array);
    fail_unless_equals_int(gst_value_array_get_size(&array), good_kernels[__i__].taps);
    for (guint i = 0; i < good_kernels[__i__].taps; i++)
      fail_unless_equals_float(g_value_get_double(gst_value_array_get_value(&array, i)),
                               good_kernels[__i__].tap[i]);
    g_value_reset(&array);
  }
  g_value_unset(&array);
  fail_unless(gst_element_set_state(element, GST_STATE_PAUSED) != GST_STATE_CHANGE_FAILURE);
  gst_element_set_state(element, GST_STATE_NULL);
  gst_check_teardown_element(element);
}
GST_END_TEST;

/* As bindings make them: all numbers of one type. */
GST_START_TEST(kernels_of_other_numbers)
{
  const GType type[] = {G_TYPE_INT,   G_TYPE_UINT,  G_TYPE_LONG,      G_TYPE_INT64,
                        G_TYPE_FLOAT, G_TYPE_UCHAR, GST_TYPE_FRACTION};
  GstElement *element = gst_check_setup_element("cudasepconv");
  GValue array = G_VALUE_INIT;

  for (guint t = 0; t < G_N_ELEMENTS(type); t++) {
    g_value_init(&array, GST_TYPE_ARRAY);
    for (guint i = 1; i <= 3; i++) {
      GValue number = G_VALUE_INIT, item = G_VALUE_INIT;

      g_value_init(&number, G_TYPE_DOUBLE);
      g_value_set_double(&number, i * 2.0);
      g_value_init(&item, type[t]);
      fail_unless(g_value_transform(&number, &item), "%s", g_type_name(type[t]));
      gst_value_array_append_and_take_value(&array, &item);
    }
    g_object_set_property(G_OBJECT(element), "row-kernel", &array);
    g_value_unset(&array);
    assert_kernel(element, "row-kernel", 3, 2.0);
  }
  gst_check_teardown_element(element);
}
GST_END_TEST;

/* Maps */

static gchar *new_map(void)
{
  gchar *path = NULL;
  const gint file = g_file_open_tmp("map-XXXXXX.pgm", &path, NULL);

  fail_unless(file >= 0);
  g_close(file, NULL);
  fail_unless(g_file_set_contents(path, "P2 2 1 255\n0 255\n", -1, NULL));
  return path;
}

static void push_until_posted(GstHarness *harness, const CfVideo *video, GstBus *bus)
{
  for (guint i = 0; i < 500 && !gst_bus_have_pending(bus); i++) {
    gst_buffer_unref(filter_buffer(harness, new_frame(video, i * GST_MSECOND)));
    g_usleep(10 * G_TIME_SPAN_MILLISECOND);
  }
}

GST_START_TEST(map_file_without_its_mode)
{
  const CfVideo video = gray();
  gchar *path = new_map(), *settings = g_strdup_printf("map-mode=luma map-location=%s", path);
  GstBus *bus;
  GstHarness *harness = harness_new("cudagaussblur", settings, &video, NULL, &bus);

  push_until_posted(harness, &video, bus);
  gst_buffer_unref(filter_buffer(harness, new_frame(&video, GST_SECOND)));
  assert_posted(bus, GST_MESSAGE_WARNING, 1, "map-location has no effect");
  harness_free(harness, bus);
  g_remove(path);
  g_free(path);
  g_free(settings);
}
GST_END_TEST;

GST_START_TEST(map_taken_away)
{
  const CfVideo video = gray();
  gchar *path = new_map(), *settings = g_strdup_printf("map-mode=file map-location=%s", path);
  CfTestPicture *before, *after;
  GstBus *bus;
  GstHarness *harness = harness_new("cudagaussblur", settings, &video, NULL, &bus);
  GstBuffer *buffer;

  buffer = filter_buffer(harness, new_frame(&video, 0));
  before = picture_from_buffer(&video, buffer);
  gst_buffer_unref(buffer);
  g_object_set(harness->element, "map-location", NULL, NULL);
  push_until_posted(harness, &video, bus);
  buffer = filter_buffer(harness, new_frame(&video, 0));
  after = picture_from_buffer(&video, buffer);
  gst_buffer_unref(buffer);
  fail_unless(same_samples(before, after), "the old map is no longer in force");
  assert_posted(bus, GST_MESSAGE_WARNING, 1, "map-location is empty, but map-mode is file");

  /* Without its mode, it may go; and everything else goes on. */
  set_text(harness->element, "map-mode=none");
  gst_buffer_unref(filter_buffer(harness, new_frame(&video, GST_SECOND)));
  g_object_set(harness->element, "map-location", NULL, "sigma", 3.0, NULL);
  gst_buffer_unref(filter_buffer(harness, new_frame(&video, 2 * GST_SECOND)));
  assert_posted(bus, GST_MESSAGE_WARNING, 0, NULL);
  harness_free(harness, bus);
  cf_picture_free(before);
  cf_picture_free(after);
  g_remove(path);
  g_free(path);
  g_free(settings);
}
GST_END_TEST;

GST_START_TEST(cuda_without_a_device)
{
  GstElement *element = gst_check_setup_element(element_cases[__i__].name);
  GstBus *bus = gst_bus_new();

  gst_element_set_bus(element, bus);
  set_text(element, "backend=cuda cuda-device-id=4711");
  fail_unless_equals_int(gst_element_set_state(element, GST_STATE_PAUSED),
                         GST_STATE_CHANGE_FAILURE);
  assert_posted(bus, GST_MESSAGE_ERROR, 1, "backend=cuda");
  gst_element_set_state(element, GST_STATE_NULL);
  gst_element_set_bus(element, NULL);
  gst_object_unref(bus);
  gst_check_teardown_element(element);
}
GST_END_TEST;

GST_START_TEST(frame_before_caps)
{
  GstHarness *harness = gst_harness_new(element_cases[__i__].name);
  const CfVideo video = gray();
  GstBus *bus = gst_bus_new();
  GstSegment segment;
  GstFlowReturn flow;

  gst_element_set_bus(harness->element, bus);
  gst_harness_play(harness);
  gst_segment_init(&segment, GST_FORMAT_TIME);
  gst_harness_push_event(harness, gst_event_new_stream_start("test"));
  gst_harness_push_event(harness, gst_event_new_segment(&segment));
  flow = gst_harness_push(harness, new_frame(&video, 0));
  fail_unless(flow == GST_FLOW_NOT_NEGOTIATED || flow == GST_FLOW_ERROR, "%s",
              gst_flow_get_name(flow));
  fail_unless_equals_int(gst_harness_buffers_received(harness), 0);
  harness_free(harness, bus);
}
GST_END_TEST;

/* As at the first start: there is no value in force that could stay. */
GST_START_TEST(bad_settings_of_a_later_start)
{
  const CfVideo video = gray();
  GstBus *bus;
  GstHarness *harness = harness_new("cudagaussblur", "sigma=2", &video, NULL, &bus);

  gst_buffer_unref(filter_buffer(harness, new_frame(&video, 0)));
  gst_element_set_state(harness->element, GST_STATE_READY);
  g_object_set(harness->element, "map-mode", 1, NULL);
  restart(harness, &video);
  fail_unless_equals_int(gst_harness_push(harness, new_frame(&video, 0)), GST_FLOW_NOT_NEGOTIATED);
  assert_posted(bus, GST_MESSAGE_ERROR, 1, "map-location is not set");
  harness_free(harness, bus);
}
GST_END_TEST;

static gulong address_space(void)
{
  gulong pages = 0;
  FILE *file = fopen("/proc/self/statm", "r");

  fail_unless(file && fscanf(file, "%lu", &pages) == 1);
  fclose(file);
  return pages * (gulong)getpagesize();
}

/* A frame that there is no memory to filter, since each of so many regions covers all of it. */
GST_START_TEST(frames_without_memory)
{
  const CfVideo video = cf_video(CF_FORMAT_GRAY8, 640, 480);
  GString *regions = g_string_new(NULL);
  struct rlimit before, tight;
  GstBus *bus;
  GstHarness *harness = harness_new("cudablockavg", "block-width=8", &video, NULL, &bus);

  for (guint i = 0; i < 20000; i++)
    g_string_append(regions, "0,0,640,480;");
  g_object_set(harness->element, "regions", regions->str, NULL);
  getrlimit(RLIMIT_AS, &before);
  tight = before;
  for (guint i = 0; i < 2; i++) {
    GstBuffer *frame = new_frame(&video, GST_SECOND);
    GstFlowReturn flow;

    g_object_set(harness->element, "roi-mode", 0, NULL);
    gst_buffer_unref(filter_buffer(harness, new_frame(&video, 0)));
    g_object_set(harness->element, "roi-mode", 1, NULL);
    tight.rlim_cur = address_space() + (8u << 20);
    setrlimit(RLIMIT_AS, &tight);
    flow = gst_harness_push(harness, frame);
    setrlimit(RLIMIT_AS, &before);
    fail_unless_equals_int(flow, GST_FLOW_ERROR);
    fail_unless_equals_int(gst_harness_buffers_received(harness), i + 1);
    assert_posted(bus, GST_MESSAGE_ERROR, 1, "no memory for the");
  }
  g_string_free(regions, TRUE);
  harness_free(harness, bus);
}
GST_END_TEST;

GST_START_TEST(foreign_format)
{
  const CfVideo video = gray();
  GstHarness *harness = gst_harness_new(element_cases[__i__].name);
  GstFlowReturn flow;

  gst_harness_set_src_caps_str(harness,
                               "video/x-raw, format=NV16, width=16, height=8, framerate=25/1");
  flow = gst_harness_push(harness, new_frame(&video, 0));
  fail_unless(flow == GST_FLOW_NOT_NEGOTIATED || flow == GST_FLOW_ERROR, "%s",
              gst_flow_get_name(flow));
  fail_unless_equals_int(gst_harness_buffers_received(harness), 0);
  gst_harness_teardown(harness);
}
GST_END_TEST;

/* Only the first of the pictures that lie in such a frame would be covered. */
GST_START_TEST(pictures_apart_are_refused)
{
  static const struct {
    const char *caps, *text;
  } apart[] = {{", interlace-mode=fields", "interlace-mode=fields"},
               {", views=2, multiview-mode=separated", "multiview-mode=separated"}};

  for (guint i = 0; i < G_N_ELEMENTS(apart); i++) {
    const CfVideo video = gray();
    GstBus *bus;
    GstHarness *harness = harness_new(element_cases[__i__].name, element_cases[__i__].working,
                                      &video, apart[i].caps, &bus);

    fail_unless(gst_harness_push(harness, new_frame(&video, 0)) != GST_FLOW_OK);
    fail_unless_equals_int(gst_harness_buffers_received(harness), 0);
    assert_posted(bus, GST_MESSAGE_ERROR, 1, apart[i].text);
    harness_free(harness, bus);
  }
}
GST_END_TEST;

static void add_tests(TCase *tests)
{
  tcase_add_loop_test(tests, values_outside_the_range, 0, N_ELEMENTS);
  tcase_add_loop_test(tests, bad_kernel_before_the_start, 0, 2 * N_BAD);
  tcase_add_loop_test(tests, bad_kernel_while_playing, 0, 2 * N_BAD);
  tcase_add_test(tests, both_kernels_bad_and_one_mended);
  tcase_add_loop_test(tests, kernels_of_mixed_numbers, 0, G_N_ELEMENTS(good_kernels));
  tcase_add_test(tests, kernels_of_other_numbers);
  tcase_add_test(tests, map_file_without_its_mode);
  tcase_add_test(tests, map_taken_away);
  tcase_add_loop_test(tests, cuda_without_a_device, 0, N_ELEMENTS);
  tcase_add_loop_test(tests, frame_before_caps, 0, N_ELEMENTS);
  tcase_add_test(tests, bad_settings_of_a_later_start);
#ifndef __SANITIZE_ADDRESS__ /* whose shadow takes all addresses */
  tcase_add_test(tests, frames_without_memory);
#endif
  tcase_add_loop_test(tests, foreign_format, 0, N_ELEMENTS);
  tcase_add_loop_test(tests, pictures_apart_are_refused, 0, N_ELEMENTS);
}

int main(int argc, char **argv)
{
  return run_tests(argc, argv, "refusals", add_tests);
}
