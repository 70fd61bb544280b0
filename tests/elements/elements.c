/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "elements.h"

#include <string.h>

#include "blockavg.h"
#include "filter.h"
#include "gaussblur.h"
#include "llf.h"
#include "sepconv.h"
#include "tonemap.h"

const ElementCase element_cases[N_ELEMENTS] = {
    {"cudallf",
     &cf_llf,
     "alpha=0.25 beta=0.8",
     "alpha=3 beta=1",
     "alpha=1 beta=1",
     {"alpha", 1.0, 4.0}},
    {"cudagaussblur",
     &cf_gaussblur,
     "sigma=2.5 sigma-vertical=1",
     "sigma=-1 sigma-vertical=-1",
     "sigma=0 sigma-vertical=-1",
     {"sigma", 0.0, 4.0}},
    {"cudablockavg",
     &cf_blockavg,
     "block-width=5 block-height=3",
     "block-width=2 block-height=4",
     "block-width=1 block-height=1",
     {"block-width", 1.0, 17.0}},
    {"cudasepconv",
     &cf_sepconv,
     "row-kernel=<1,2,4> column-kernel=<0.5,3> normalize=true",
     "row-kernel=<1,0,0> column-kernel=<1> normalize=false",
     "row-kernel=<0,1,0> column-kernel=<1> normalize=false",
     {"scale", 1.0, 0.25}},
};

const ElementCase tonemap_case = {
    "cudatonemap",           &cf_tonemap,           "detail=1.5 contrast=0.8",
    "detail=0.5 contrast=1", "detail=1 contrast=1", {"detail", 0.0, 2.0}};

int run_tests(int argc, char **argv, const char *name, void (*add_tests)(TCase *))
{
  Suite *suite = suite_create(name);
  TCase *tests = tcase_create("elements");
  SRunner *runner;
  int failed;

  gst_check_init(&argc, &argv);
  suite_add_tcase(suite, tests);
  add_tests(tests);
  runner = srunner_create(suite);
  srunner_set_tap(runner, "-");
  srunner_run_all(runner, CK_SILENT);
  failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed ? 1 : 0;
}

/* Settings. No fail_unless here, which reports success too, and so works within tests only. */

typedef void (*SettingFunc)(gpointer target, const char *name, const char *value);

static void for_each_setting(const char *settings, SettingFunc set, gpointer target)
{
  gchar **words = g_strsplit(settings, " ", -1);

  for (gchar **word = words; *word; word++) {
    gchar **pair = g_strsplit(*word, "=", 2);

    if (g_strv_length(pair) != 2)
      fail("\"%s\" is no setting", *word);
    set(target, pair[0], pair[1]);
    g_strfreev(pair);
  }
  g_strfreev(words);
}

static void set_element_property(gpointer element, const char *name, const char *value)
{
  GParamSpec *spec = g_object_class_find_property(G_OBJECT_GET_CLASS(element), name);
  GValue parsed = G_VALUE_INIT;

  if (!spec)
    fail("%s has no property %s", GST_OBJECT_NAME(element), name);
  g_value_init(&parsed, spec->value_type);
  if (!gst_value_deserialize_with_pspec(&parsed, value, spec))
    fail("%s=%s cannot be read", name, value);
  g_object_set_property(element, name, &parsed);
  g_value_unset(&parsed);
}

void set_text(GstElement *element, const char *settings)
{
  for_each_setting(settings, set_element_property, element);
}

typedef struct {
  const CfEffect *effect;
  void *params;
} EngineParams;

static void set_engine_param(gpointer target, const char *name, const char *value)
{
  const EngineParams *engine = target;
  CfStatus status = {CF_OK, ""};

  fail_unless(cf_params_parse(engine->effect->params, engine->params, name, value, &status), "%s",
              status.message);
}

/* Elements */

static GstCaps *caps_for(const CfVideo *video, const char *more_caps)
{
  gchar *text = g_strdup_printf("video/x-raw, format=%s, width=%d, height=%d, framerate=25/1%s",
                                cf_format_info(video->format)->name, video->width, video->height,
                                more_caps ? more_caps : "");
  GstCaps *caps = gst_caps_from_string(text);

  fail_unless(caps != NULL, "%s", text);
  g_free(text);
  return caps;
}

static GstHarness *new_harness(const char *element, const char *settings, GstBus **bus)
{
  GstHarness *harness = gst_harness_new(element);

  *bus = gst_bus_new();
  gst_element_set_bus(harness->element, *bus);
  set_text(harness->element, "backend=cpu n-threads=1");
  set_text(harness->element, settings);
  return harness;
}

GstHarness *harness_new(const char *element, const char *settings, const CfVideo *video,
                        const char *more_caps, GstBus **bus)
{
  GstHarness *harness = new_harness(element, settings, bus);

  gst_harness_add_propose_allocation_meta(harness, GST_VIDEO_META_API_TYPE, NULL);
  gst_harness_set_src_caps(harness, caps_for(video, more_caps));
  return harness;
}

GstHarness *harness_new_plain(const char *element, const char *settings, const CfVideo *video,
                              GstBus **bus)
{
  GstHarness *harness = new_harness(element, settings, bus);

  gst_harness_set_src_caps(harness, caps_for(video, NULL));
  return harness;
}

void harness_free(GstHarness *harness, GstBus *bus)
{
  gst_element_set_bus(harness->element, NULL);
  gst_harness_teardown(harness);
  gst_object_unref(bus);
}

void push_caps(GstHarness *harness, const CfVideo *video, const char *more_caps)
{
  GstCaps *caps = caps_for(video, more_caps);

  gst_harness_push_event(harness, gst_event_new_caps(caps));
  gst_caps_unref(caps);
}

void restart(GstHarness *harness, const CfVideo *video)
{
  GstSegment segment;

  gst_segment_init(&segment, GST_FORMAT_TIME);
  fail_unless_equals_int(gst_element_set_state(harness->element, GST_STATE_READY),
                         GST_STATE_CHANGE_SUCCESS);
  fail_unless_equals_int(gst_element_set_state(harness->element, GST_STATE_PLAYING),
                         GST_STATE_CHANGE_SUCCESS);
  gst_harness_push_event(harness, gst_event_new_stream_start("test"));
  push_caps(harness, video, NULL);
  gst_harness_push_event(harness, gst_event_new_segment(&segment));
}

/* Messages */

void assert_posted(GstBus *bus, GstMessageType type, guint count, const char *text)
{
  GString *all = g_string_new(NULL);
  gboolean named = TRUE;
  guint found = 0;
  GstMessage *message;

  while ((message = gst_bus_pop(bus)) != NULL) {
    if (GST_MESSAGE_TYPE(message) == type) {
      GError *error = NULL;
      gchar *debug = NULL;

      if (type == GST_MESSAGE_ERROR)
        gst_message_parse_error(message, &error, &debug);
      else
        gst_message_parse_warning(message, &error, &debug);
      if (found == 0 && text)
        named = strstr(error->message, text) != NULL;
      g_string_append_printf(all, "\n%s (%s)", error->message, debug);
      g_error_free(error);
      g_free(debug);
      found++;
    }
    gst_message_unref(message);
  }
  fail_unless(found == count, "%u messages instead of %u:%s", found, count, all->str);
  fail_unless(named, "the message does not say \"%s\":%s", text, all->str);
  g_string_free(all, TRUE);
}

/* Frames */

CfTestPicture *new_picture(const CfVideo *video, CfLayout layout, CfPattern pattern, guint64 seed)
{
  CfTestPicture *picture = cf_picture_new(video, layout);

  cf_picture_fill(picture, pattern, CF_ALPHA_RANDOM, seed);
  return picture;
}

static void free_picture(gpointer picture)
{
  cf_picture_free(picture);
}

GstBuffer *buffer_from_picture(CfTestPicture *picture, GstClockTime pts)
{
  static GQuark owner;
  const CfVideo *video = &picture->video;
  const CfFormatInfo *format = cf_format_info(video->format);
  gsize offset[GST_VIDEO_MAX_PLANES] = {0}, total = 0;
  gint stride[GST_VIDEO_MAX_PLANES] = {0};
  GstBuffer *buffer = gst_buffer_new();

  for (int plane = 0; plane < format->planes; plane++) {
    GstMemory *memory = gst_memory_new_wrapped(0, picture->allocation[plane], picture->bytes[plane],
                                               0, picture->bytes[plane], NULL, NULL);

    gst_buffer_append_memory(buffer, memory);
    offset[plane] = total + (gsize)(picture->planes.data[plane] - picture->allocation[plane]);
    stride[plane] = (gint)picture->planes.stride[plane];
    total += picture->bytes[plane];
  }
  gst_buffer_add_video_meta_full(buffer, GST_VIDEO_FRAME_FLAG_NONE,
                                 gst_video_format_from_string(format->name), (guint)video->width,
                                 (guint)video->height, (guint)format->planes, offset, stride);
  if (!owner)
    owner = g_quark_from_static_string("test-picture");
  gst_mini_object_set_qdata(GST_MINI_OBJECT(gst_buffer_peek_memory(buffer, 0)), owner, picture,
                            free_picture);
  GST_BUFFER_PTS(buffer) = pts;
  GST_BUFFER_DURATION(buffer) = 40 * GST_MSECOND;
  return buffer;
}

static void default_info(const CfVideo *video, GstVideoInfo *info)
{
  gst_video_info_set_format(info, gst_video_format_from_string(cf_format_info(video->format)->name),
                            (guint)video->width, (guint)video->height);
}

static void copy_planes(GstVideoFrame *frame, const CfTestPicture *picture, gboolean to_picture)
{
  const CfVideo *video = &picture->video;

  for (int plane = 0; plane < cf_format_info(video->format)->planes; plane++) {
    for (int y = 0; y < cf_plane_height(video, plane); y++) {
      guint8 *line = (guint8 *)GST_VIDEO_FRAME_PLANE_DATA(frame, plane) +
                     y * GST_VIDEO_FRAME_PLANE_STRIDE(frame, plane);
      guint8 *row = picture->planes.data[plane] + y * picture->planes.stride[plane];

      memcpy(to_picture ? row : line, to_picture ? line : row, cf_row_bytes(video, plane));
    }
  }
}

GstBuffer *plain_buffer(const CfTestPicture *picture, GstClockTime pts)
{
  GstVideoInfo info;
  GstVideoFrame frame;
  GstBuffer *buffer;

  default_info(&picture->video, &info);
  buffer = gst_buffer_new_allocate(NULL, info.size, NULL);
  gst_buffer_memset(buffer, 0, 0, info.size);
  fail_unless(gst_video_frame_map(&frame, &info, buffer, GST_MAP_WRITE));
  copy_planes(&frame, picture, FALSE);
  gst_video_frame_unmap(&frame);
  GST_BUFFER_PTS(buffer) = pts;
  GST_BUFFER_DURATION(buffer) = 40 * GST_MSECOND;
  return buffer;
}

CfTestPicture *picture_from_buffer(const CfVideo *video, GstBuffer *buffer)
{
  CfTestPicture *picture = cf_picture_new(video, CF_LAYOUT_ALIGNED);
  GstVideoInfo info;
  GstVideoFrame frame;

  default_info(video, &info);
  fail_unless(gst_video_frame_map(&frame, &info, buffer, GST_MAP_READ));
  copy_planes(&frame, picture, TRUE);
  gst_video_frame_unmap(&frame);
  return picture;
}

CfTestPicture *engine_output(const ElementCase *element, const char *settings,
                             const CfTestPicture *source)
{
  return engine_output_in_regions(element->effect, settings, source, NULL);
}

/* The picture's layout with the matrix that its caps have, which name none unless the test does. */
static CfVideo video_in_caps(const CfVideo *video)
{
  const CfVideo plain = cf_video(video->format, video->width, video->height);
  CfVideo result = *video;
  GstVideoInfo info;

  default_info(video, &info);
  if (video->luma_red == plain.luma_red)
    gst_video_color_matrix_get_Kr_Kb(info.colorimetry.matrix, &result.luma_red, &result.luma_blue);
  return result;
}

CfTestPicture *engine_output_in_regions(const CfEffect *effect, const char *settings,
                                        const CfTestPicture *source, const CfRegions *regions)
{
  const CfEngine *engine = cf_effect_engine(effect, "cpu");
  const CfOpenOptions options = {.threads = 1};
  const CfVideo video = video_in_caps(&source->video);
  EngineParams params = {effect, g_malloc0(effect->params_size)};
  CfTestPicture *result = cf_picture_new(&source->video, CF_LAYOUT_ALIGNED);
  const CfJob job = {.source = source->planes, .destination = result->planes, .regions = regions};
  CfStatus status = {CF_OK, ""};
  CfFilter *filter;

  fail_unless(engine != NULL);
  cf_params_init(effect->params, params.params);
  for_each_setting(settings, set_engine_param, &params);
  filter = cf_filter_open(engine, &video, params.params, &options, &status);
  fail_unless(filter != NULL, "%s", status.message);
  fail_unless(cf_filter_run(filter, &job, &status), "%s", status.message);
  cf_filter_close(filter);
  g_free(params.params);
  return result;
}

void assert_shows(GstBuffer *buffer, const CfTestPicture *want, const char *what)
{
  CfTestPicture *got = picture_from_buffer(&want->video, buffer);
  const CfDifference difference = cf_picture_compare_exact(got, want);
  const CfOffender *first = &difference.first;

  fail_unless(first->plane == -1,
              "%s, %s %dx%d: %ld of %ld samples differ, first plane %d, %d %d, %s: %d, not %d",
              what, cf_format_info(want->video.format)->name, want->video.width, want->video.height,
              difference.differing, difference.samples, first->plane, first->x, first->y,
              cf_role_name(first->role), first->got, first->want);
  cf_picture_free(got);
  gst_buffer_unref(buffer);
}

gboolean same_samples(const CfTestPicture *a, const CfTestPicture *b)
{
  return cf_picture_compare_exact(a, b).differing == 0;
}

GstBuffer *filter_buffer(GstHarness *harness, GstBuffer *buffer)
{
  GstBuffer *result;

  fail_unless_equals_int(gst_harness_push(harness, buffer), GST_FLOW_OK);
  result = gst_harness_pull(harness);
  fail_unless(result != NULL, "no buffer came out");
  return result;
}
