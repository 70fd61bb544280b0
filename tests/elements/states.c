/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Elements over their whole life: started and stopped many times, several at once, changed by other
 * threads while frames flow. For what leaks, this program runs itself, as
 *
 *   states --cycle ELEMENT TIMES    plays and stops a pipeline that often, then ends GStreamer
 *   states --leak                   leaks a pad, to prove that the tracer would see it
 */
#include "elements.h"

#include <stdlib.h>
#include <string.h>

#define CASE (&element_cases[__i__])

/* Of the tests that are for cudatonemap too. */
#define N_ALL       (N_ELEMENTS + 1)
#define CASE_OF_ALL (__i__ < N_ELEMENTS ? &element_cases[__i__] : &tonemap_case)

static const char *program;

/* Starting and stopping */

static GstElement *new_pipeline(const ElementCase *element)
{
  gchar *text = g_strdup_printf(
      "videotestsrc num-buffers=3 ! video/x-raw, %s, width=32, height=16 ! tee name=tee "
      "tee. ! queue ! %s name=filter backend=cpu n-threads=1 ! fakesink "
      "tee. ! queue ! fakesink",
      element == &tonemap_case ? "format=P010_10LE, colorimetry=bt2100-pq" : "format=I420",
      element->name);
  GError *error = NULL;
  GstElement *pipeline = gst_parse_launch(text, &error);

  if (error) {
    g_printerr("%s\n", error->message);
    exit(EXIT_FAILURE);
  }
  g_free(text);
  return pipeline;
}

/* False if it ends with an error. */
static gboolean play_to_the_end(GstElement *pipeline)
{
  GstBus *bus = gst_element_get_bus(pipeline);
  GstMessage *message;
  gboolean good;

  gst_element_set_state(pipeline, GST_STATE_PLAYING);
  message = gst_bus_timed_pop_filtered(bus, 60 * GST_SECOND, GST_MESSAGE_EOS | GST_MESSAGE_ERROR);
  good = message && GST_MESSAGE_TYPE(message) == GST_MESSAGE_EOS;
  if (message)
    gst_message_unref(message);
  gst_element_set_state(pipeline, GST_STATE_NULL);
  gst_object_unref(bus);
  return good;
}

/* Plays with each of the element's settings in turn; every other time stops at once. */
static gboolean cycle(const ElementCase *element, int times)
{
  const char *settings[] = {element->working, element->identity, element->other};
  GstElement *pipeline = new_pipeline(element);
  GstElement *filter = gst_bin_get_by_name(GST_BIN(pipeline), "filter");
  const gboolean knows_regions =
      g_object_class_find_property(G_OBJECT_GET_CLASS(filter), "regions") != NULL;
  gboolean good = TRUE;

  for (int i = 0; good && i < times; i++) {
    set_text(filter, settings[i % 3]);
    if (knows_regions)
      g_object_set(filter, "roi-types", i % 2 ? "" : "face", "regions", i % 2 ? "" : "1,1,9,9",
                   NULL);
    if (i % 2) {
      gst_element_set_state(pipeline, GST_STATE_PLAYING);
      gst_element_set_state(pipeline, GST_STATE_NULL);
    } else {
      good = play_to_the_end(pipeline);
    }
  }
  gst_object_unref(filter);
  gst_object_unref(pipeline);
  return good;
}

GST_START_TEST(a_hundred_lives)
{
  fail_unless(cycle(CASE_OF_ALL, 100));
}
GST_END_TEST;

/* A refused start leaves nothing behind that would hinder the next. */
GST_START_TEST(lives_after_refusals)
{
  GstElement *pipeline = new_pipeline(CASE_OF_ALL);
  GstElement *filter = gst_bin_get_by_name(GST_BIN(pipeline), "filter");

  for (int i = 0; i < 10; i++) {
    set_text(filter, "backend=cuda cuda-device-id=4711");
    fail_if(play_to_the_end(pipeline), "backend=cuda without a device plays");
    set_text(filter, "backend=cpu cuda-device-id=-1");
    fail_unless(play_to_the_end(pipeline));
  }
  gst_object_unref(filter);
  gst_object_unref(pipeline);
}
GST_END_TEST;

/* Leaks */

/* What the leaks tracer finds alive when `program` has ended; transfer full. */
static gchar *objects_left_by(gchar **arguments)
{
  gchar **environment = g_get_environ();
  gchar *said = NULL;
  GString *alive = g_string_new(NULL);
  gchar **lines;
  gint status = -1;

  environment = g_environ_setenv(environment, "GST_TRACERS", "leaks", TRUE);
  environment = g_environ_setenv(environment, "GST_DEBUG", "GST_TRACER:7", TRUE);
  environment = g_environ_setenv(environment, "GST_DEBUG_NO_COLOR", "1", TRUE);
  fail_unless(g_spawn_sync(NULL, arguments, environment, G_SPAWN_DEFAULT, NULL, NULL, NULL, &said,
                           &status, NULL));
  fail_unless(g_spawn_check_wait_status(status, NULL), "%s %s failed:\n%s", arguments[0],
              arguments[1], said);
  lines = g_strsplit(said, "\n", -1);
  for (gchar **line = lines; *line; line++) {
    const gchar *object = strstr(*line, "object-alive, type-name=(string)Gst");

    if (object)
      g_string_append_printf(alive, "%s\n", object);
  }
  g_strfreev(lines);
  g_strfreev(environment);
  g_free(said);
  return g_string_free(alive, FALSE);
}

GST_START_TEST(nothing_leaks)
{
  gchar *arguments[] = {(gchar *)program, (gchar *)"--cycle", (gchar *)CASE_OF_ALL->name,
                        (gchar *)"12", NULL};
  gchar *alive = objects_left_by(arguments);

  fail_unless(*alive == '\0', "left alive:\n%s", alive);
  g_free(alive);
}
GST_END_TEST;

GST_START_TEST(a_leak_would_be_seen)
{
  gchar *arguments[] = {(gchar *)program, (gchar *)"--leak", NULL};
  gchar *alive = objects_left_by(arguments);

  fail_unless(strstr(alive, "GstPad") != NULL, "the tracer sees no leak at all: %s", alive);
  g_free(alive);
}
GST_END_TEST;

/* Several at once */

typedef struct {
  const ElementCase *element;
  const char *settings;
  guint64 seed;
} Worker;

static gpointer filter_many_frames(gpointer data)
{
  const Worker *worker = data;
  const CfVideo video = cf_video(CF_FORMAT_NV12, 64, 36);
  CfTestPicture *source = new_picture(&video, CF_LAYOUT_TIGHT, CF_PATTERN_PHOTO, worker->seed);
  CfTestPicture *want = engine_output(worker->element, worker->settings, source);
  GstBus *bus;
  GstHarness *harness = harness_new(worker->element->name, worker->settings, &video, NULL, &bus);

  g_object_set(harness->element, "n-threads", 2, NULL);
  for (guint i = 0; i < 50; i++)
    assert_shows(filter_buffer(harness, plain_buffer(source, i * GST_SECOND)), want,
                 "with others at work");
  harness_free(harness, bus);
  cf_picture_free(source);
  cf_picture_free(want);
  return NULL;
}

/* Two of the element at hand, with different settings, and one of the next. */
GST_START_TEST(several_at_once)
{
  const ElementCase *next = &element_cases[(__i__ + 1) % N_ELEMENTS];
  Worker workers[] = {{CASE, CASE->working, 1}, {CASE, CASE->other, 2}, {next, next->working, 3}};
  GThread *threads[G_N_ELEMENTS(workers)];

  for (guint i = 0; i < G_N_ELEMENTS(workers); i++)
    threads[i] = g_thread_new("worker", filter_many_frames, &workers[i]);
  for (guint i = 0; i < G_N_ELEMENTS(workers); i++)
    g_thread_join(threads[i]);
}
GST_END_TEST;

typedef struct {
  GstElement *element;
  const char *one, *other;
  gint stop; /* atomic */
} Toggler;

static gpointer toggle(gpointer data)
{
  Toggler *toggler = data;

  while (!g_atomic_int_get(&toggler->stop)) {
    GstStructure *stats;

    set_text(toggler->element, toggler->one);
    set_text(toggler->element, toggler->other);
    g_object_get(toggler->element, "stats", &stats, NULL);
    gst_structure_free(stats);
  }
  return NULL;
}

/* Each frame sees a property before or after a change, never in between. */
GST_START_TEST(changes_from_another_thread)
{
  static const struct {
    const char *one, *other;
  } settings[N_ELEMENTS] = {
      {"alpha=0.25", "alpha=3"},
      {"sigma=1", "sigma=6"},
      {"block-width=3", "block-width=9"},
      {"row-kernel=<1,2,3,4,5,6,7>", "row-kernel=<0.25,0.5>"},
  };
  const CfVideo video = cf_video(CF_FORMAT_GRAY8, 48, 32);
  CfTestPicture *source = new_picture(&video, CF_LAYOUT_TIGHT, CF_PATTERN_PHOTO, 7);
  CfTestPicture *one = engine_output(CASE, settings[__i__].one, source);
  CfTestPicture *other = engine_output(CASE, settings[__i__].other, source);
  GstBus *bus;
  GstHarness *harness = harness_new(CASE->name, settings[__i__].one, &video, NULL, &bus);
  Toggler toggler = {harness->element, settings[__i__].one, settings[__i__].other, 0};
  GThread *thread = g_thread_new("toggle", toggle, &toggler);

  for (guint i = 0; i < 300; i++) {
    GstBuffer *result = filter_buffer(harness, plain_buffer(source, i * GST_MSECOND));
    CfTestPicture *got = picture_from_buffer(&video, result);

    fail_unless(same_samples(got, one) || same_samples(got, other),
                "frame %u shows neither %s nor %s", i, toggler.one, toggler.other);
    cf_picture_free(got);
    gst_buffer_unref(result);
  }
  g_atomic_int_set(&toggler.stop, 1);
  g_thread_join(thread);
  assert_posted(bus, GST_MESSAGE_ERROR, 0, NULL);
  harness_free(harness, bus);
  cf_picture_free(source);
  cf_picture_free(one);
  cf_picture_free(other);
}
GST_END_TEST;

static void add_tests(TCase *tests)
{
  tcase_add_loop_test(tests, a_hundred_lives, 0, N_ALL);
  tcase_add_loop_test(tests, lives_after_refusals, 0, N_ALL);
  tcase_add_loop_test(tests, nothing_leaks, 0, N_ALL);
  tcase_add_test(tests, a_leak_would_be_seen);
  tcase_add_loop_test(tests, several_at_once, 0, N_ELEMENTS);
  tcase_add_loop_test(tests, changes_from_another_thread, 0, N_ELEMENTS);
}

static int run_cycles(const char *name, int times)
{
  for (int i = 0; i < N_ALL; i++) {
    const ElementCase *element = i < N_ELEMENTS ? &element_cases[i] : &tonemap_case;

    if (strcmp(element->name, name) == 0)
      return cycle(element, times) ? EXIT_SUCCESS : EXIT_FAILURE;
  }
  return EXIT_FAILURE;
}

int main(int argc, char **argv)
{
  int status;

  program = argv[0];
  if (argc < 2)
    return run_tests(argc, argv, "states", add_tests);

  gst_init(NULL, NULL);
  if (argc == 4 && strcmp(argv[1], "--cycle") == 0) {
    status = run_cycles(argv[2], atoi(argv[3]));
  } else {
    gst_pad_new("leaked", GST_PAD_SRC);
    status = EXIT_SUCCESS;
  }
  gst_deinit();
  return status;
}
