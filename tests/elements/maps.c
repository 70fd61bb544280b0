/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * map-location of cudagaussblur: what is refused at the start and while a stream runs, what takes
 * effect and when, and that frames do not wait for a map that is being read.
 */
#include "elements.h"

#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "plan/map.h"

#define PATIENCE (60 * G_TIME_SPAN_SECOND)

/* The tests' files. Frames leave as they came where the map is black, and blurred where white. */
static gchar *directory;

static gchar *path_of(const gchar *name)
{
  return g_build_filename(directory, name, NULL);
}

static void write_map(const gchar *path, const gchar *content)
{
  fail_unless(g_file_set_contents(path, content, -1, NULL), "%s", path);
}

static void make_files(void)
{
  gchar *black, *white, *fifo, *text;

  directory = g_dir_make_tmp("cf-maps-XXXXXX", NULL);
  fail_unless(directory != NULL);
  black = path_of("black.pgm");
  white = path_of("white.pgm");
  fifo = path_of("fifo");
  text = path_of("text");
  write_map(black, "P2 2 1 1 0 0");
  write_map(white, "P2 1 2 1 1 1");
  write_map(text, "no map");
  fail_unless(mkfifo(fifo, 0600) == 0);
  g_free(black);
  g_free(white);
  g_free(fifo);
  g_free(text);
}

static void remove_files(void)
{
  GDir *files = g_dir_open(directory, 0, NULL);

  for (const gchar *name = g_dir_read_name(files); name; name = g_dir_read_name(files)) {
    gchar *path = path_of(name);

    g_unlink(path);
    g_free(path);
  }
  g_dir_close(files);
  g_rmdir(directory);
  g_clear_pointer(&directory, g_free);
}

/* A stream, its frames, and the processor time that its thread spent on them. */
typedef struct {
  GstHarness *harness;
  GstBus *bus;
  CfTestPicture *source;
  GstClockTime pts;
  double seconds;
} Stream;

static Stream open_stream(const gchar *settings)
{
  const CfVideo video = cf_video(CF_FORMAT_GRAY8, 32, 24);
  Stream stream = {.source = new_picture(&video, CF_LAYOUT_TIGHT, CF_PATTERN_NOISE, 1)};

  stream.harness = harness_new("cudagaussblur", settings, &video, NULL, &stream.bus);
  return stream;
}

static void close_stream(Stream *stream)
{
  cf_picture_free(stream->source);
  harness_free(stream->harness, stream->bus);
}

static double thread_seconds(void)
{
  struct timespec time;

  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* Filters a frame; whether it was blurred. */
static gboolean blurs(Stream *stream)
{
  GstBuffer *buffer = plain_buffer(stream->source, stream->pts++);
  CfTestPicture *picture;
  gboolean same;
  double before;

  before = thread_seconds();
  buffer = filter_buffer(stream->harness, buffer);
  stream->seconds += thread_seconds() - before;
  picture = picture_from_buffer(&stream->source->video, buffer);
  same = same_samples(picture, stream->source);
  cf_picture_free(picture);
  gst_buffer_unref(buffer);
  return !same;
}

/* Frames go on until one is blurred, or one is not; how many came before. */
static guint wait_for(Stream *stream, gboolean blurred)
{
  const gint64 end = g_get_monotonic_time() + PATIENCE;
  guint count = 0;

  for (; blurs(stream) != blurred; count++) {
    fail_unless(g_get_monotonic_time() < end, "the new map does not take effect");
    g_usleep(5000);
  }
  return count;
}

static void set_map(Stream *stream, const gchar *name)
{
  gchar *path = name ? path_of(name) : NULL;

  g_object_set(stream->harness->element, "map-location", path, NULL);
  g_free(path);
}

static void assert_map(const Stream *stream, const gchar *name)
{
  gchar *path = path_of(name), *location;

  g_object_get(stream->harness->element, "map-location", &location, NULL);
  fail_unless_equals_string(location, path);
  g_free(location);
  g_free(path);
}

/* Frames go on until the element warns of `text`. */
static void wait_for_warning(Stream *stream, const gchar *text)
{
  const gint64 end = g_get_monotonic_time() + PATIENCE;
  GstMessage *message;
  GError *error;

  while (!(message = gst_bus_pop_filtered(stream->bus, GST_MESSAGE_WARNING))) {
    fail_unless(g_get_monotonic_time() < end, "no warning of \"%s\"", text);
    blurs(stream);
    g_usleep(5000);
  }
  gst_message_parse_warning(message, &error, NULL);
  fail_unless(strstr(error->message, text) != NULL, "\"%s\" lacks \"%s\"", error->message, text);
  g_error_free(error);
  gst_message_unref(message);
}

static Stream open_white(void)
{
  gchar *settings = g_strdup_printf("sigma=2 map-mode=file map-location=%s/white.pgm", directory);
  Stream stream = open_stream(settings);

  fail_unless(blurs(&stream));
  g_free(settings);
  return stream;
}

/* What cannot be a map */

static const struct {
  const gchar *name, *says;
} bad[] = {{"fifo", "regular file"},
           {".", "regular file"},
           {"../../dev/null", "regular file"},
           {"text", "neither a PNG nor a PGM or PPM"},
           {"missing", "cannot be opened"}};

GST_START_TEST(bad_map_at_the_start)
{
  GstElement *element = gst_check_setup_element("cudagaussblur");
  GstBus *bus = gst_bus_new();
  gchar *path = path_of(bad[__i__].name);

  gst_element_set_bus(element, bus);
  g_object_set(element, "map-location", path, NULL);
  for (guint i = 0; i < 2; i++) {
    fail_unless_equals_int(gst_element_set_state(element, GST_STATE_PAUSED),
                           GST_STATE_CHANGE_FAILURE);
    assert_posted(bus, GST_MESSAGE_ERROR, 1, bad[__i__].says);
    gst_element_set_state(element, GST_STATE_NULL);
  }
  g_free(path);

  /* Another one does. */
  path = path_of("white.pgm");
  g_object_set(element, "map-location", path, NULL);
  fail_unless_equals_int(gst_element_set_state(element, GST_STATE_PAUSED),
                         GST_STATE_CHANGE_SUCCESS);
  gst_element_set_state(element, GST_STATE_NULL);
  g_free(path);
  gst_element_set_bus(element, NULL);
  gst_object_unref(bus);
  gst_check_teardown_element(element);
}
GST_END_TEST;

/* What was read when the property was said to have changed. */
static void note_location(GObject *object, GParamSpec *spec, gpointer noted)
{
  gchar *location;

  g_object_get(object, "map-location", &location, NULL);
  g_free(g_atomic_pointer_exchange((gchar **)noted, location));
}

GST_START_TEST(bad_map_while_playing)
{
  Stream stream = open_white();
  gchar *noted = NULL, *white = path_of("white.pgm");
  gint64 end = g_get_monotonic_time() + PATIENCE;

  g_signal_connect(stream.harness->element, "notify::map-location", G_CALLBACK(note_location),
                   &noted);
  set_map(&stream, bad[__i__].name);
  wait_for_warning(&stream, bad[__i__].says);
  fail_unless(blurs(&stream), "the old map is not in force");
  assert_map(&stream, "white.pgm");
  for (gboolean told = FALSE; !told; g_usleep(5000)) {
    gchar *now = g_atomic_pointer_exchange(&noted, NULL);

    told = g_strcmp0(now, white) == 0;
    fail_unless(told || g_get_monotonic_time() < end, "nobody is told of the old value");
    g_free(now);
  }
  set_map(&stream, "black.pgm");
  wait_for(&stream, FALSE);
  assert_map(&stream, "black.pgm");
  assert_posted(stream.bus, GST_MESSAGE_WARNING, 0, NULL);
  close_stream(&stream);
  g_free(noted);
  g_free(white);
}
GST_END_TEST;

/* The file itself becomes something else, and then a map again. */
GST_START_TEST(map_becomes_a_fifo)
{
  Stream stream = open_white();
  gchar *white = path_of("white.pgm"), *black = path_of("black.pgm"), *fifo = path_of("fifo");

  fail_unless(g_rename(fifo, white) == 0);
  wait_for_warning(&stream, "regular file");
  fail_unless(blurs(&stream), "the old map is not in force");
  assert_map(&stream, "white.pgm");
  fail_unless(g_rename(black, white) == 0);
  wait_for(&stream, FALSE);
  assert_posted(stream.bus, GST_MESSAGE_WARNING, 0, NULL);
  close_stream(&stream);
  g_free(white);
  g_free(black);
  g_free(fifo);
}
GST_END_TEST;

GST_START_TEST(map_in_use_is_not_emptied)
{
  Stream stream = open_white();

  set_map(&stream, NULL);
  assert_posted(stream.bus, GST_MESSAGE_WARNING, 1, "map-mode is file");
  assert_map(&stream, "white.pgm");
  fail_unless(blurs(&stream));
  set_text(stream.harness->element, "map-mode=none sigma=0");
  set_map(&stream, NULL);
  fail_unless(!blurs(&stream));
  assert_posted(stream.bus, GST_MESSAGE_WARNING, 0, NULL);
  close_stream(&stream);
}
GST_END_TEST;

/* Without a map in force one that is set is there when the call returns. */
GST_START_TEST(first_map_while_playing)
{
  Stream stream = open_stream("sigma=2");

  fail_unless(blurs(&stream));
  set_map(&stream, "black.pgm");
  set_text(stream.harness->element, "map-mode=file");
  fail_unless(!blurs(&stream), "the map is not in force");
  assert_posted(stream.bus, GST_MESSAGE_WARNING, 0, NULL);
  close_stream(&stream);
}
GST_END_TEST;

/* Values that were set before are void. */
GST_START_TEST(last_map_wins)
{
  Stream stream = open_white();

  for (guint i = 0; i < 50; i++) {
    set_map(&stream, i % 3 ? "black.pgm" : "text");
    if (i % 7 == 0)
      blurs(&stream);
  }
  set_map(&stream, "black.pgm");
  assert_map(&stream, "black.pgm");
  wait_for(&stream, FALSE);
  for (guint i = 0; i < 20; i++) {
    fail_unless(!blurs(&stream));
    g_usleep(5000);
  }
  close_stream(&stream);
}
GST_END_TEST;

/* What was set, but not read before the end, is what the next start reads. */
GST_START_TEST(other_maps_at_each_start)
{
  Stream stream = open_white();

  for (guint i = 0; i < 20; i++) {
    set_map(&stream, i % 2 ? "white.pgm" : "black.pgm");
    restart(stream.harness, &stream.source->video);
    assert_map(&stream, i % 2 ? "white.pgm" : "black.pgm");
    fail_unless(blurs(&stream) == (i % 2 == 1));
  }
  close_stream(&stream);
}
GST_END_TEST;

/* Frames do not wait for maps */

/* Black, of 64 million pixels; on the disk next to nothing. */
static void write_large_map(const gchar *path)
{
  FILE *file = g_fopen(path, "wb");

  fail_unless(file != NULL && fputs("P5 8000 8000 255\n", file) >= 0);
  fail_unless(fflush(file) == 0 && ftruncate(fileno(file), 17 + 8000L * 8000L) == 0);
  fclose(file);
}

static double seconds_to_load(const gchar *path)
{
  const double before = thread_seconds();
  CfMap *map = cf_map_load(path, NULL);

  fail_unless(map != NULL);
  cf_map_unref(map);
  return thread_seconds() - before;
}

GST_START_TEST(frames_do_not_wait)
{
  Stream stream = open_white();
  gchar *large = path_of("large.pgm"), *white = path_of("white.pgm");
  double load;
  guint count;

  write_large_map(large);
  load = seconds_to_load(large);
  stream.seconds = 0.0;
  if (__i__ == 0) {
    stream.seconds -= thread_seconds();
    set_map(&stream, "large.pgm");
    stream.seconds += thread_seconds();
  } else {
    fail_unless(g_rename(large, white) == 0);
  }
  count = wait_for(&stream, FALSE);
  fail_unless(count > 0, "the stream waits for a map");
  fail_unless(stream.seconds < load / 2 + count * 1e-3, "%g s for %u frames, %g for the map",
              stream.seconds, count, load);
  close_stream(&stream);
  g_free(large);
  g_free(white);
}
GST_END_TEST;

static void write_preset(const gchar *name, const gchar *map)
{
  gchar *presets = path_of("GstCudaGaussBlur.prs"), *path = path_of(map);
  gchar *text = g_strdup_printf("[_presets_]\nversion=0.2\nelement-name=GstCudaGaussBlur\n\n"
                                "[%s]\nsigma=5\nmap-mode=file\nmap-location=%s\n",
                                name, path);

  write_map(presets, text);
  fail_unless(gst_preset_set_app_dir(directory));
  g_free(presets);
  g_free(path);
  g_free(text);
}

static void assert_not_blurred(GObject *element, GParamSpec *spec, gpointer stream)
{
  fail_unless(!blurs(stream), "%s is in force before the rest of the preset", spec->name);
}

/* A frame that comes while a preset is read is filtered as before: half of it might be refused. */
GST_START_TEST(presets_are_taken_over_whole)
{
  Stream stream = open_stream("sigma=0");
  GstElement *element = stream.harness->element;
  gulong handler = g_signal_connect(element, "notify", G_CALLBACK(assert_not_blurred), &stream);

  fail_unless(!blurs(&stream));
  write_preset("mapped", "white.pgm");
  fail_unless(gst_preset_load_preset(GST_PRESET(element), "mapped"));
  g_signal_handler_disconnect(element, handler);
  fail_unless(blurs(&stream));
  assert_map(&stream, "white.pgm");
  assert_posted(stream.bus, GST_MESSAGE_WARNING, 0, NULL);
  close_stream(&stream);
}
GST_END_TEST;

static void add_tests(TCase *tests)
{
  tcase_add_checked_fixture(tests, make_files, remove_files);
  tcase_add_loop_test(tests, bad_map_at_the_start, 0, G_N_ELEMENTS(bad));
  tcase_add_loop_test(tests, bad_map_while_playing, 0, G_N_ELEMENTS(bad));
  tcase_add_test(tests, map_becomes_a_fifo);
  tcase_add_test(tests, map_in_use_is_not_emptied);
  tcase_add_test(tests, first_map_while_playing);
  tcase_add_test(tests, last_map_wins);
  tcase_add_test(tests, other_maps_at_each_start);
  tcase_add_loop_test(tests, frames_do_not_wait, 0, 2);
  tcase_add_test(tests, presets_are_taken_over_whole);
}

int main(int argc, char **argv)
{
  return run_tests(argc, argv, "maps", add_tests);
}
