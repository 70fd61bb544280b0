/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Pixels: an element shows exactly what its engine makes of each frame, with the settings of that
 * frame, whatever the format, layout and field order, and leaves alone what is not its own.
 */
#define _GNU_SOURCE
#include "elements.h"

#include <fenv.h>
#include <gst/base/gstbasetransform.h>
#include <gst/controller/controller.h>
#include <string.h>

#define CASE (&element_cases[__i__])

typedef struct {
  GstHarness *harness;
  GstBus *bus;
} Stream;

static Stream stream_new(const ElementCase *element, const char *settings, const CfVideo *video,
                         const char *more_caps)
{
  Stream stream;

  stream.harness = harness_new(element->name, settings, video, more_caps, &stream.bus);
  return stream;
}

static void stream_free(Stream *stream)
{
  assert_posted(stream->bus, GST_MESSAGE_ERROR, 0, NULL);
  harness_free(stream->harness, stream->bus);
}

/* Pushes a frame of `pattern` and compares with the engine. */
static void check_frame(Stream *stream, const ElementCase *element, const char *settings,
                        const CfVideo *video, CfLayout layout, GstClockTime pts)
{
  CfTestPicture *source = new_picture(video, layout, CF_PATTERN_PHOTO, pts / GST_SECOND + 7);
  CfTestPicture *want = engine_output(element, settings, source);
  GstBuffer *buffer = layout == CF_LAYOUT_TIGHT
                          ? plain_buffer(source, pts)
                          : buffer_from_picture(cf_picture_copy(source, layout), pts);

  assert_shows(filter_buffer(stream->harness, buffer), want, settings);
  cf_picture_free(source);
  cf_picture_free(want);
}

GST_START_TEST(every_format_equals_the_engine)
{
  for (int format = 0; format < CF_FORMAT_COUNT; format++) {
    const CfVideo video = cf_video((CfFormat)format, 33, 19);
    Stream stream = stream_new(CASE, CASE->working, &video, NULL);

    for (int layout = 0; layout < CF_LAYOUT_COUNT; layout++)
      check_frame(&stream, CASE, CASE->working, &video, (CfLayout)layout,
                  (GstClockTime)layout * GST_SECOND);
    stream_free(&stream);
  }
}
GST_END_TEST;

GST_START_TEST(small_and_odd_sizes)
{
  static const int sizes[][2] = {{1, 1}, {1, 2}, {2, 1}, {3, 1}, {1, 7}, {5, 5}, {64, 2}};

  for (guint i = 0; i < G_N_ELEMENTS(sizes); i++) {
    static const CfFormat formats[] = {CF_FORMAT_I420, CF_FORMAT_P010_10LE, CF_FORMAT_UYVY,
                                       CF_FORMAT_RGBA};

    for (guint f = 0; f < G_N_ELEMENTS(formats); f++) {
      const CfVideo video = cf_video(formats[f], sizes[i][0], sizes[i][1]);
      Stream stream = stream_new(CASE, CASE->working, &video, NULL);

      check_frame(&stream, CASE, CASE->working, &video, CF_LAYOUT_TIGHT, 0);
      check_frame(&stream, CASE, CASE->working, &video, CF_LAYOUT_PADDED, GST_SECOND);
      stream_free(&stream);
    }
  }
}
GST_END_TEST;

/* Range and luma weights reach the engine; where they matter. */
static const struct {
  int element;
  const char *settings;
} colorimetric[] = {
    {0, "alpha=0.25 beta=0.5"},
    {1, "sigma=3 border=constant"},
    /* pure red outside */
    {3, "row-kernel=<1,1,1> border=constant border-color=4294901760 normalize=true"},
};

GST_START_TEST(colorimetry_of_the_caps)
{
  const ElementCase *element = &element_cases[colorimetric[__i__].element];
  const char *settings = colorimetric[__i__].settings;
  CfVideo video = cf_video(CF_FORMAT_Y444, 24, 16);
  CfTestPicture *source = new_picture(&video, CF_LAYOUT_TIGHT, CF_PATTERN_PHOTO, 7);
  CfTestPicture *limited = engine_output(element, settings, source), *full;
  Stream stream;

  source->video.range = CF_RANGE_FULL;
  source->video.luma_red = 0.2126;
  source->video.luma_blue = 0.0722;
  full = engine_output(element, settings, source);
  fail_if(same_samples(full, limited), "these settings test nothing");

  stream = stream_new(element, settings, &video, ", colorimetry=1:3:5:1");
  assert_shows(filter_buffer(stream.harness, plain_buffer(source, 0)), full, "full range, BT.709");
  push_caps(stream.harness, &video, ", colorimetry=bt601");
  assert_shows(filter_buffer(stream.harness, plain_buffer(source, 0)), limited, "BT.601");
  cf_picture_free(source);
  cf_picture_free(limited);
  cf_picture_free(full);
  stream_free(&stream);
}
GST_END_TEST;

/* Identity */

static const struct {
  const char *settings; /* NULL: those of the element */
  int element;
  gboolean changes; /* it is none, but nearly */
} identities[] = {
    {NULL, 0},
    {NULL, 1},
    {NULL, 2},
    {NULL, 3},
    {"alpha=1 beta=1 sigma=0.7 engine=exact levels=2", 0},
    {"sigma=0 sigma-vertical=0 border=constant", 1},
    {"sigma=0 sigma-min=3", 1},
    {"block-width=1 block-height=1 mode=max", 2},
    {"row-kernel=<1> column-kernel=<0,0,1> anchor-y=2 border=constant", 3},
    {"row-kernel=<4> column-kernel=<2> normalize=true", 3},
    {"sigma=0 sigma-vertical=2", 1, TRUE},
    {"sigma=0 sigma-min=3 map-mode=luma", 1, TRUE},
    {"block-width=1 block-height=1 blocks-across=4", 2, TRUE},
    {"block-width=1 block-height=1 mode=fill", 2, TRUE},
};

GST_START_TEST(identity_hands_the_buffer_on)
{
  const ElementCase *element = &element_cases[identities[__i__].element];
  const char *settings =
      identities[__i__].settings ? identities[__i__].settings : element->identity;
  const CfVideo video = cf_video(CF_FORMAT_AYUV, 18, 11);
  Stream stream = stream_new(element, settings, &video, NULL);
  CfTestPicture *source = new_picture(&video, CF_LAYOUT_PADDED, CF_PATTERN_NOISE, 3);
  GstBuffer *buffer = buffer_from_picture(cf_picture_copy(source, CF_LAYOUT_PADDED), 0);
  GstBuffer *result = filter_buffer(stream.harness, gst_buffer_ref(buffer));
  CfTestPicture *want = engine_output(element, settings, source);

  fail_unless((result == buffer) != identities[__i__].changes, "%s: another buffer?", settings);
  fail_unless(same_samples(source, want) != identities[__i__].changes);
  gst_buffer_unref(buffer);
  assert_shows(result, want, settings);
  cf_picture_free(source);
  cf_picture_free(want);
  stream_free(&stream);
}
GST_END_TEST;

/* What identity skips, the engine would not have changed either; with `absolute`, too. */
GST_START_TEST(settings_that_change_nothing)
{
  static const char absolute[] = "row-kernel=<1> column-kernel=<1> absolute=true";
  const ElementCase *sepconv = &element_cases[3];
  const CfVideo video = cf_video((CfFormat)__i__, 18, 11);
  CfTestPicture *source = new_picture(&video, CF_LAYOUT_TIGHT, CF_PATTERN_NOISE, 3);
  CfTestPicture *want = engine_output(sepconv, absolute, source);
  Stream stream = stream_new(sepconv, absolute, &video, NULL);

  assert_shows(filter_buffer(stream.harness, plain_buffer(source, 0)), want, absolute);
  stream_free(&stream);
  cf_picture_free(source);
  cf_picture_free(want);
}
GST_END_TEST;

/* Changes while playing */

GST_START_TEST(settings_take_effect_on_the_next_frame)
{
  const CfVideo video = cf_video(CF_FORMAT_NV12, 34, 18);
  const char *sequence[] = {CASE->working, CASE->other,   CASE->identity, CASE->working,
                            CASE->other,   CASE->working, CASE->identity, CASE->other};
  Stream stream = stream_new(CASE, CASE->working, &video, NULL);
  CfTestPicture *source = new_picture(&video, CF_LAYOUT_TIGHT, CF_PATTERN_PHOTO, 7);
  CfTestPicture *working = engine_output(CASE, CASE->working, source);
  CfTestPicture *other = engine_output(CASE, CASE->other, source);

  fail_if(same_samples(working, source), "these settings test nothing");
  fail_if(same_samples(working, other), "these settings test nothing");
  for (guint i = 0; i < G_N_ELEMENTS(sequence); i++) {
    set_text(stream.harness->element, sequence[i]);
    check_frame(&stream, CASE, sequence[i], &video, CF_LAYOUT_TIGHT, 0);
  }
  cf_picture_free(source);
  cf_picture_free(working);
  cf_picture_free(other);
  stream_free(&stream);
}
GST_END_TEST;

static void bind(GstElement *element, const char *property, double from, double to)
{
  GstControlSource *source = gst_interpolation_control_source_new();
  GstTimedValueControlSource *values = GST_TIMED_VALUE_CONTROL_SOURCE(source);

  g_object_set(source, "mode", GST_INTERPOLATION_MODE_LINEAR, NULL);
  gst_timed_value_control_source_set(values, 0, from);
  gst_timed_value_control_source_set(values, 8 * GST_SECOND, to);
  fail_unless(gst_object_add_control_binding(
      GST_OBJECT(element),
      gst_direct_control_binding_new_absolute(GST_OBJECT(element), property, source)));
  gst_object_unref(source);
}

GST_START_TEST(controller_animates)
{
  const CfVideo video = cf_video(CF_FORMAT_RGB, 40, 20);
  const char *property = CASE->animated.property;
  Stream stream = stream_new(CASE, CASE->identity, &video, NULL);

  bind(stream.harness->element, property, CASE->animated.from, CASE->animated.to);
  for (guint second = 0; second <= 8; second += 4) {
    const double value =
        CASE->animated.from + (CASE->animated.to - CASE->animated.from) * second / 8.0;
    gchar *settings = g_strdup_printf("%s %s=%.17g", CASE->identity, property, value);
    GstSegment segment;

    /* As after an accurate seek into the frame. */
    gst_segment_init(&segment, GST_FORMAT_TIME);
    segment.start = segment.time = segment.position = second * GST_SECOND + GST_MSECOND;
    fail_unless(gst_harness_push_event(stream.harness, gst_event_new_segment(&segment)));

    check_frame(&stream, CASE, settings, &video, CF_LAYOUT_TIGHT, second * GST_SECOND);
    g_free(settings);
  }
  stream_free(&stream);
}
GST_END_TEST;

GST_START_TEST(caps_change_in_mid_stream)
{
  static const struct {
    CfFormat format;
    int width, height;
  } steps[] = {
      {CF_FORMAT_I420, 32, 16},      {CF_FORMAT_I420, 50, 30}, {CF_FORMAT_BGRA, 50, 30},
      {CF_FORMAT_Y444_16LE, 13, 5},  {CF_FORMAT_GRAY8, 1, 1},  {CF_FORMAT_I420, 32, 16},
      {CF_FORMAT_I420_10LE, 65, 33},
  };
  CfVideo video = cf_video(steps[0].format, steps[0].width, steps[0].height);
  Stream stream = stream_new(CASE, CASE->working, &video, NULL);

  for (guint i = 0; i < G_N_ELEMENTS(steps); i++) {
    video = cf_video(steps[i].format, steps[i].width, steps[i].height);
    push_caps(stream.harness, &video, NULL);
    check_frame(&stream, CASE, CASE->working, &video, CF_LAYOUT_TIGHT, i * GST_SECOND);
    check_frame(&stream, CASE, CASE->working, &video, CF_LAYOUT_UNALIGNED, i * GST_SECOND);
  }
  stream_free(&stream);
}
GST_END_TEST;

/* Applications bypass an element so; caps that come meanwhile are those of the frames after it. */
GST_START_TEST(passthrough_ends_in_mid_stream)
{
  const CfVideo before = cf_video(CF_FORMAT_I420, 32, 16), video = cf_video(CF_FORMAT_RGB, 40, 20);
  Stream stream = stream_new(CASE, CASE->working, &before, NULL);
  GstBaseTransform *element = GST_BASE_TRANSFORM(stream.harness->element);
  CfTestPicture *source = new_picture(&video, CF_LAYOUT_TIGHT, CF_PATTERN_PHOTO, 7);

  check_frame(&stream, CASE, CASE->working, &before, CF_LAYOUT_TIGHT, 0);
  gst_base_transform_set_passthrough(element, TRUE);
  push_caps(stream.harness, &video, NULL);
  assert_shows(filter_buffer(stream.harness, plain_buffer(source, 0)), source, "passthrough");
  gst_base_transform_set_passthrough(element, FALSE);
  check_frame(&stream, CASE, CASE->working, &video, CF_LAYOUT_TIGHT, GST_SECOND);
  cf_picture_free(source);
  stream_free(&stream);
}
GST_END_TEST;

/* Whose memory is written */

GST_START_TEST(shared_buffers_stay_untouched)
{
  const CfVideo video = cf_video(CF_FORMAT_RGBA, 26, 15);
  Stream stream = stream_new(CASE, CASE->working, &video, NULL);
  CfTestPicture *source = new_picture(&video, CF_LAYOUT_PADDED, CF_PATTERN_NOISE, 5);
  CfTestPicture *want = engine_output(CASE, CASE->working, source);
  const guint64 hash = cf_picture_hash(source);
  GstBuffer *buffer = buffer_from_picture(source, 0);
  GstBuffer *twin;

  /* The buffer itself is shared. */
  assert_shows(filter_buffer(stream.harness, gst_buffer_ref(buffer)), want, "shared buffer");
  fail_unless(cf_picture_hash(source) == hash, "a shared buffer was written to");

  /* The buffer is not, its memory is. */
  twin = gst_buffer_copy(buffer);
  assert_shows(filter_buffer(stream.harness, twin), want, "shared memory");
  fail_unless(cf_picture_hash(source) == hash, "shared memory was written to");

  gst_buffer_unref(buffer);
  cf_picture_free(want);
  stream_free(&stream);
}
GST_END_TEST;

/* `want` is freed. */
static void assert_reuses_its_buffer(const ElementCase *element, const char *settings,
                                     CfTestPicture *source, CfTestPicture *want)
{
  Stream stream = stream_new(element, settings, &source->video, NULL);
  GstBuffer *buffer = buffer_from_picture(source, 0);
  GstBuffer *result = filter_buffer(stream.harness, buffer);
  int plane;
  long row, byte;

  fail_unless(result == buffer, "a writable buffer is not reused");
  fail_unless(cf_picture_guards(source, &plane, &row, &byte),
              "written beyond a row: plane %d, row %ld, byte %ld", plane, row, byte);
  assert_shows(result, want, "in place");
  cf_picture_free(want);
  stream_free(&stream);
}

GST_START_TEST(block_average_reuses_a_writable_buffer)
{
  const ElementCase *element = &element_cases[2];
  const CfVideo video = cf_video(CF_FORMAT_NV21, 26, 15);
  CfTestPicture *source = new_picture(&video, CF_LAYOUT_PADDED, CF_PATTERN_NOISE, 5);

  assert_reuses_its_buffer(element, element->working, source,
                           engine_output(element, element->working, source));
}
GST_END_TEST;

GST_START_TEST(blur_of_regions_reuses_a_writable_buffer)
{
  const CfVideo video = cf_video(CF_FORMAT_NV12, 64, 48);
  const CfRegion region = {10, 8, 20, 16};
  const CfRegions regions = {.region = &region, .count = 1, .feather = 3.0};
  CfTestPicture *source = new_picture(&video, CF_LAYOUT_PADDED, CF_PATTERN_NOISE, 5);

  assert_reuses_its_buffer(
      &element_cases[1], "sigma=9 roi-mode=inside roi-feather=3 regions=10,8,20,16", source,
      engine_output_in_regions(element_cases[1].effect, "sigma=9", source, &regions));
}
GST_END_TEST;

/* Interlaced frames */

/* Every second row of `frame`, from `first` on. */
static CfTestPicture *field_of(const CfTestPicture *frame, int first)
{
  CfVideo video = frame->video;
  CfTestPicture *field;

  video.height = (video.height + 1 - first) / 2;
  field = cf_picture_new(&video, CF_LAYOUT_ALIGNED);
  for (int plane = 0; plane < cf_format_info(video.format)->planes; plane++) {
    for (int y = 0; y < cf_plane_height(&video, plane); y++)
      memcpy(field->planes.data[plane] + y * field->planes.stride[plane],
             frame->planes.data[plane] + (2 * y + first) * frame->planes.stride[plane],
             cf_row_bytes(&video, plane));
  }
  return field;
}

static void insert_field(CfTestPicture *frame, const CfTestPicture *field, int first)
{
  for (int plane = 0; plane < cf_format_info(frame->video.format)->planes; plane++) {
    for (int y = 0; y < cf_plane_height(&field->video, plane); y++)
      memcpy(frame->planes.data[plane] + (2 * y + first) * frame->planes.stride[plane],
             field->planes.data[plane] + y * field->planes.stride[plane],
             cf_row_bytes(&frame->video, plane));
  }
}

static CfTestPicture *fieldwise_output(const ElementCase *element, const char *settings,
                                       const CfTestPicture *source)
{
  CfTestPicture *result = cf_picture_new(&source->video, CF_LAYOUT_ALIGNED);

  for (int first = 0; first < 2; first++) {
    CfTestPicture *field = field_of(source, first);
    CfTestPicture *filtered = engine_output(element, settings, field);

    insert_field(result, filtered, first);
    cf_picture_free(field);
    cf_picture_free(filtered);
  }
  return result;
}

/* Where the lower field has fewer lines of chroma than its luma needs, or no line, frames are
 * filtered as a whole. */
GST_START_TEST(interlaced_frames_are_filtered_by_field)
{
  static const struct {
    CfFormat format;
    int width, height;
    gboolean whole;
  } frames[] = {{CF_FORMAT_GRAY8, 20, 13, FALSE}, {CF_FORMAT_I420, 21, 16, FALSE},
                {CF_FORMAT_NV12, 20, 24, FALSE},  {CF_FORMAT_RGBA, 9, 7, FALSE},
                {CF_FORMAT_Y42B, 12, 6, FALSE},   {CF_FORMAT_P010_10LE, 18, 20, FALSE},
                {CF_FORMAT_I420, 21, 18, TRUE},   {CF_FORMAT_GRAY8, 20, 1, TRUE}};

  for (guint i = 0; i < G_N_ELEMENTS(frames); i++) {
    const CfVideo video = cf_video(frames[i].format, frames[i].width, frames[i].height);
    Stream stream = stream_new(CASE, CASE->working, &video, ", interlace-mode=interleaved");

    for (guint change = 0; change < 2; change++) {
      const char *settings = change ? CASE->other : CASE->working;
      CfTestPicture *source = new_picture(&video, CF_LAYOUT_TIGHT, CF_PATTERN_NOISE, 9);
      CfTestPicture *want = frames[i].whole ? engine_output(CASE, settings, source)
                                            : fieldwise_output(CASE, settings, source);
      GstBuffer *buffer = buffer_from_picture(cf_picture_copy(source, CF_LAYOUT_PADDED), 0);

      set_text(stream.harness->element, settings);
      gst_buffer_get_video_meta(buffer)->flags = GST_VIDEO_FRAME_FLAG_INTERLACED;
      GST_BUFFER_FLAG_SET(buffer, GST_VIDEO_BUFFER_FLAG_INTERLACED);
      assert_shows(filter_buffer(stream.harness, buffer), want, "interleaved");
      /* GStreamer adds a line of chroma where these are whole. */
      if (!frames[i].whole)
        assert_shows(filter_buffer(stream.harness, plain_buffer(source, 0)), want,
                     "plain interleaved");
      cf_picture_free(source);
      cf_picture_free(want);
    }
    stream_free(&stream);
  }
}
GST_END_TEST;

/* Caps that differ in one thing only from those before. */
GST_START_TEST(engines_follow_the_caps)
{
  static const struct {
    int width, height, matrix; /* matrix: of GstVideoColorMatrix */
    CfRange range;
    gboolean interlaced;
  } rows[] = {{24, 16, 4, CF_RANGE_LIMITED, FALSE}, {24, 16, 4, CF_RANGE_FULL, FALSE},
              {24, 16, 3, CF_RANGE_FULL, FALSE},    {24, 18, 3, CF_RANGE_FULL, FALSE},
              {26, 18, 3, CF_RANGE_FULL, FALSE},    {26, 18, 3, CF_RANGE_FULL, TRUE},
              {26, 18, 3, CF_RANGE_FULL, FALSE}};
  const ElementCase *element = &element_cases[3];
  const char *settings = "row-kernel=<1,1,1> column-kernel=<1,1,1> border=constant "
                         "border-color=4294901760 normalize=true"; /* pure red outside */
  const CfVideo first = cf_video(CF_FORMAT_Y444, 40, 40);
  Stream stream = stream_new(element, settings, &first, NULL);

  for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
    CfVideo video = cf_video(CF_FORMAT_Y444, rows[i].width, rows[i].height);
    gchar *caps = g_strdup_printf(", colorimetry=(string)%d:%d:5:1, interlace-mode=%s",
                                  rows[i].range == CF_RANGE_FULL ? 1 : 2, rows[i].matrix,
                                  rows[i].interlaced ? "interleaved" : "progressive");
    CfTestPicture *source, *want;

    video.range = rows[i].range;
    if (rows[i].matrix == 3) {
      video.luma_red = 0.2126;
      video.luma_blue = 0.0722;
    }
    source = new_picture(&video, CF_LAYOUT_TIGHT, CF_PATTERN_PHOTO, i);
    want = rows[i].interlaced ? fieldwise_output(element, settings, source)
                              : engine_output(element, settings, source);
    push_caps(stream.harness, &video, caps);
    assert_shows(filter_buffer(stream.harness, plain_buffer(source, i * GST_SECOND)), want, caps);
    cf_picture_free(source);
    cf_picture_free(want);
    g_free(caps);
  }
  stream_free(&stream);
}
GST_END_TEST;

/* The frame is cut alike whether it is filtered as a whole or as a region. */
GST_START_TEST(fields_have_as_many_blocks_across)
{
  static const char *const settings[] = {"blocks-across=3",
                                         "blocks-across=3 roi-mode=inside regions=0,0,40,24",
                                         "blocks-across=3 roi-mode=outside regions=90,0,1,1"};
  const ElementCase *element = &element_cases[2];
  const CfVideo video = cf_video(CF_FORMAT_I420, 40, 24);
  CfTestPicture *source = new_picture(&video, CF_LAYOUT_TIGHT, CF_PATTERN_NOISE, 9), *first = NULL;

  for (guint i = 0; i < G_N_ELEMENTS(settings); i++) {
    Stream stream = stream_new(element, settings[i], &video, ", interlace-mode=interleaved");
    GstBuffer *buffer = filter_buffer(stream.harness, plain_buffer(source, 0));

    if (!first)
      first = picture_from_buffer(&video, buffer);
    assert_shows(buffer, first, settings[i]);
    stream_free(&stream);
  }
  cf_picture_free(source);
  cf_picture_free(first);
}
GST_END_TEST;

/* Mixed streams say of each frame what it is. */
GST_START_TEST(mixed_frames_say_what_they_are)
{
  const CfVideo video = cf_video(CF_FORMAT_I420, 20, 16);
  Stream stream = stream_new(CASE, CASE->working, &video, ", interlace-mode=mixed");
  CfTestPicture *source = new_picture(&video, CF_LAYOUT_TIGHT, CF_PATTERN_NOISE, 9);
  CfTestPicture *whole = engine_output(CASE, CASE->working, source);
  CfTestPicture *fields = fieldwise_output(CASE, CASE->working, source);

  fail_if(same_samples(whole, fields), "this frame tests nothing");
  for (guint i = 0; i < 4; i++) {
    GstBuffer *buffer = plain_buffer(source, i * GST_SECOND);

    if (i % 2)
      GST_BUFFER_FLAG_SET(buffer, GST_VIDEO_BUFFER_FLAG_INTERLACED);
    buffer = filter_buffer(stream.harness, buffer);
    fail_unless(!GST_BUFFER_FLAG_IS_SET(buffer, GST_VIDEO_BUFFER_FLAG_INTERLACED) == !(i % 2));
    assert_shows(buffer, i % 2 ? fields : whole, i % 2 ? "interlaced" : "progressive");
  }
  cf_picture_free(source);
  cf_picture_free(whole);
  cf_picture_free(fields);
  stream_free(&stream);
}
GST_END_TEST;

/* A host that rounds in another way, and wants a signal where arithmetic fails. */
GST_START_TEST(hosts_keep_their_arithmetic)
{
  static const CfFormat formats[] = {CF_FORMAT_GRAY8, CF_FORMAT_I420_10LE, CF_FORMAT_RGBA};

  for (guint i = 0; i < G_N_ELEMENTS(formats); i++) {
    const CfVideo video = cf_video(formats[i], 37, 23);
    CfTestPicture *source = new_picture(&video, CF_LAYOUT_TIGHT, CF_PATTERN_PHOTO, 7);
    CfTestPicture *want = engine_output(CASE, CASE->working, source);
    GstBuffer *buffer;
    Stream stream;

    fesetround(FE_UPWARD);
#ifdef __GLIBC__
    feenableexcept(FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW);
#endif
    stream = stream_new(CASE, CASE->working, &video, NULL);
    buffer = filter_buffer(stream.harness, plain_buffer(source, 0));
    fail_unless_equals_int(fegetround(), FE_UPWARD);
    fesetenv(FE_DFL_ENV);
    assert_shows(buffer, want, CASE->working);
    stream_free(&stream);
    cf_picture_free(source);
    cf_picture_free(want);
  }
}
GST_END_TEST;

static void add_tests(TCase *tests)
{
  tcase_add_loop_test(tests, every_format_equals_the_engine, 0, N_ELEMENTS);
  tcase_add_loop_test(tests, small_and_odd_sizes, 0, N_ELEMENTS);
  tcase_add_loop_test(tests, colorimetry_of_the_caps, 0, G_N_ELEMENTS(colorimetric));
  tcase_add_loop_test(tests, identity_hands_the_buffer_on, 0, G_N_ELEMENTS(identities));
  tcase_add_loop_test(tests, settings_that_change_nothing, 0, CF_FORMAT_COUNT);
  tcase_add_loop_test(tests, settings_take_effect_on_the_next_frame, 0, N_ELEMENTS);
  tcase_add_loop_test(tests, controller_animates, 0, N_ELEMENTS);
  tcase_add_loop_test(tests, caps_change_in_mid_stream, 0, N_ELEMENTS);
  tcase_add_loop_test(tests, passthrough_ends_in_mid_stream, 0, N_ELEMENTS);
  tcase_add_loop_test(tests, shared_buffers_stay_untouched, 0, N_ELEMENTS);
  tcase_add_test(tests, block_average_reuses_a_writable_buffer);
  tcase_add_test(tests, blur_of_regions_reuses_a_writable_buffer);
  tcase_add_loop_test(tests, interlaced_frames_are_filtered_by_field, 0, N_ELEMENTS);
  tcase_add_test(tests, engines_follow_the_caps);
  tcase_add_test(tests, fields_have_as_many_blocks_across);
  tcase_add_loop_test(tests, mixed_frames_say_what_they_are, 0, N_ELEMENTS);
  tcase_add_loop_test(tests, hosts_keep_their_arithmetic, 0, N_ELEMENTS);
}

int main(int argc, char **argv)
{
  return run_tests(argc, argv, "frames", add_tests);
}
