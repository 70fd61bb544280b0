/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * cudatonemap: what becomes of frames, metas and settings, and that SDR passes as it is.
 */
#include "elements.h"

#include <string.h>

#include "filter.h"
#include "tonemap_video.h"
#include "tonemap.h"

static const CfFormat hdr_formats[] = {
    CF_FORMAT_P010_10LE, CF_FORMAT_I420_10LE, CF_FORMAT_I422_10LE, CF_FORMAT_P012_LE,
    CF_FORMAT_P016_LE,   CF_FORMAT_Y444_10LE, CF_FORMAT_Y444_16LE};
static const CfFormat sdr_formats[] = {CF_FORMAT_NV12, CF_FORMAT_I420, CF_FORMAT_P010_10LE,
                                       CF_FORMAT_RGBA, CF_FORMAT_BGRA};

#define PQ  ", colorimetry=bt2100-pq"
#define HLG ", colorimetry=bt2100-hlg"
#define METADATA                                                                                   \
  ", mastering-display-info=(string)35400:14600:8500:39850:6550:2300:15635:16450:"                 \
  "10000000:1, content-light-level=(string)640:120"
#define SIZE ", width=64, height=36, framerate=25/1"
#define RAW  "video/x-raw, format="

/* ---- Frames ---- */

/* The cpu engine, opened as the element does. */
static CfFilter *open_engine(const CfVideo *video, const CfVideo *destination,
                             const CfTonemapParams *params)
{
  const CfOpenOptions options = {.threads = 1, .destination = destination};
  CfStatus status = {CF_OK, ""};
  CfFilter *filter = cf_filter_open(&cf_tonemap_cpu, video, params, &options, &status);

  fail_unless(filter != NULL, "%s", status.message);
  return filter;
}

static CfTestPicture *run_engine(CfFilter *filter, const CfTestPicture *source,
                                 const CfVideo *destination, gdouble seconds, gboolean fresh)
{
  CfTestPicture *result = cf_picture_new(destination, CF_LAYOUT_ALIGNED);
  const CfJob job = {
      .source = source->planes, .destination = result->planes, .seconds = seconds, .fresh = fresh};

  fail_unless(cf_filter_run(filter, &job, NULL));
  return result;
}

static CfTonemapParams defaults(void)
{
  CfTonemapParams params = {0};

  cf_params_init(cf_tonemap.params, &params);
  return params;
}

static CfTestPicture *make(const CfTestPicture *source, CfFormat format,
                           const CfTonemapParams *params)
{
  const CfVideo destination = sdr_video(format, source->video.width, source->video.height);
  CfFilter *filter = open_engine(&source->video, &destination, params);
  CfTestPicture *result = run_engine(filter, source, &destination, 0.04, TRUE);

  cf_filter_close(filter);
  return result;
}

/* With a receiver that accepts `format` and, where it is not `plain`, reads GstVideoMeta. */
static GstHarness *harness_to(CfFormat format, const CfVideo *video, const char *more,
                              gboolean plain, GstBus **bus)
{
  GstHarness *harness = gst_harness_new("cudatonemap");
  gchar *sink = g_strconcat(RAW, cf_format_info(format)->name, NULL);
  gchar *src = g_strdup_printf(RAW "%s, width=%d, height=%d, framerate=50/1%s%s",
                               cf_format_info(video->format)->name, video->width, video->height,
                               video->transfer == CF_TRANSFER_PQ ? PQ : HLG, more);

  *bus = gst_bus_new();
  gst_element_set_bus(harness->element, *bus);
  set_text(harness->element, "backend=cpu n-threads=1");
  if (!plain)
    gst_harness_add_propose_allocation_meta(harness, GST_VIDEO_META_API_TYPE, NULL);
  gst_harness_set_sink_caps_str(harness, sink);
  gst_harness_set_src_caps_str(harness, src);
  g_free(sink);
  g_free(src);
  return harness;
}

GST_START_TEST(frames_are_what_the_engine_makes)
{
  for (guint i = 0; i < G_N_ELEMENTS(hdr_formats) * G_N_ELEMENTS(sdr_formats); i++) {
    const CfFormat from = hdr_formats[i / G_N_ELEMENTS(sdr_formats)];
    const CfFormat to = sdr_formats[i % G_N_ELEMENTS(sdr_formats)];
    const CfVideo video = hdr_video(from, 37, 19, i % 2 ? CF_TRANSFER_PQ : CF_TRANSFER_HLG);
    const CfTonemapParams params = defaults();
    GstBus *bus;
    GstHarness *harness = harness_to(to, &video, "", i % 3 == 0, &bus);

    for (int layout = 0; layout < CF_LAYOUT_COUNT; layout++) {
      CfTestPicture *source = new_picture(&video, (CfLayout)layout, CF_PATTERN_PHOTO, i + 1);
      CfTestPicture *want = make(source, to, &params);
      GstBuffer *result = filter_buffer(harness, buffer_from_picture(source, 0));

      fail_unless(i % 3 != 0 || gst_buffer_get_video_meta(result) == NULL ||
                  gst_buffer_get_size(result) > 0);
      assert_shows(result, want, "a frame");
      cf_picture_free(want);
    }
    assert_posted(bus, GST_MESSAGE_ERROR, 0, NULL);
    harness_free(harness, bus);
  }
}
GST_END_TEST;

/* The peak: content light level, else the mastering display's, else 1000 nits; or what is set. */
GST_START_TEST(peak_is_taken_from_caps)
{
  static const struct {
    const char *more, *settings;
    gdouble stream_peak, peak;
  } rows[] = {
      {"", "peak=0", 0.0, 0.0},
      {METADATA, "peak=0", 640.0, 0.0},
      {METADATA, "peak=2000", 640.0, 2000.0},
      {", mastering-display-info=(string)35400:14600:8500:39850:6550:2300:15635:16450:40000000:50"
       ", content-light-level=(string)0:0",
       "peak=0", 4000.0, 0.0},
      {", content-light-level=(string)0:0", "peak=0", 0.0, 0.0},
  };
  const CfVideo video = hdr_video(CF_FORMAT_P010_10LE, 64, 36, CF_TRANSFER_PQ);
  CfTestPicture *source = new_picture(&video, CF_LAYOUT_TIGHT, CF_PATTERN_PHOTO, 5);

  for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
    CfTonemapParams params = defaults();
    CfTestPicture *want;
    GstBus *bus;
    GstHarness *harness = harness_to(CF_FORMAT_NV12, &video, rows[i].more, FALSE, &bus);

    set_text(harness->element, rows[i].settings);
    params.stream_peak = rows[i].stream_peak;
    params.peak = rows[i].peak;
    want = make(source, CF_FORMAT_NV12, &params);
    assert_shows(filter_buffer(harness, plain_buffer(source, 0)), want, rows[i].more);
    cf_picture_free(want);
    harness_free(harness, bus);
  }
  cf_picture_free(source);
}
GST_END_TEST;

GST_START_TEST(settings_change_while_playing)
{
  static const char *const settings[] = {"detail=0.3", "contrast=0.7",     "sigma=5",
                                         "peak=4000",  "target-nits=203",  "saturation=0.5",
                                         "detail=1.7", "noise-floor=0.02", "dither=false"};
  const CfVideo video = hdr_video(CF_FORMAT_P010_10LE, 256, 160, CF_TRANSFER_PQ);
  CfTestPicture *source = new_picture(&video, CF_LAYOUT_TIGHT, CF_PATTERN_PHOTO, 5), *last;
  CfTonemapParams params = defaults();
  GstBus *bus;
  GstHarness *harness = harness_to(CF_FORMAT_I420, &video, "", FALSE, &bus);

  last = make(source, CF_FORMAT_I420, &params);
  for (guint i = 0; i < G_N_ELEMENTS(settings); i++) {
    gchar **pair = g_strsplit(settings[i], "=", 2);
    CfTestPicture *want;

    set_text(harness->element, settings[i]);
    fail_unless(cf_params_parse(cf_tonemap.params, &params, pair[0], pair[1], NULL));
    want = make(source, CF_FORMAT_I420, &params);
    fail_if(same_samples(want, last), "%s changes nothing", settings[i]);
    assert_shows(filter_buffer(harness, plain_buffer(source, i)), want, settings[i]);
    cf_picture_free(last);
    last = want;
    g_strfreev(pair);
  }
  assert_posted(bus, GST_MESSAGE_WARNING, 0, NULL);
  harness_free(harness, bus);
  cf_picture_free(source);
  cf_picture_free(last);
}
GST_END_TEST;

/* A peak that is set leaves nothing to measure, and the user is told. */
GST_START_TEST(dynamic_beside_a_peak_is_remarked)
{
  const CfVideo video = hdr_video(CF_FORMAT_P010_10LE, 64, 36, CF_TRANSFER_PQ);
  CfTestPicture *source = new_picture(&video, CF_LAYOUT_TIGHT, CF_PATTERN_PHOTO, 5);
  GstBus *bus;
  GstHarness *harness = harness_to(CF_FORMAT_I420, &video, "", FALSE, &bus);

  set_text(harness->element, "dynamic=true peak=1000");
  gst_buffer_unref(filter_buffer(harness, plain_buffer(source, 0)));
  assert_posted(bus, GST_MESSAGE_WARNING, 1, "dynamic has no effect: it is for peak=0");
  harness_free(harness, bus);
  cf_picture_free(source);
}
GST_END_TEST;

/* A frame whose brightness differs from that of the next by as much as is no cut. */
static CfTestPicture *new_flicker(const CfVideo *video, guint number)
{
  CfTestPicture *source = new_picture(video, CF_LAYOUT_TIGHT, CF_PATTERN_PHOTO, 1);

  cf_picture_set(source, 0, 7, 7, 0, number % 2 ? 940 : 600);
  for (int x = 0; x < 8; x++)
    cf_picture_set(source, 0, x, 20, 0, number % 2 ? 900 : 500);
  return source;
}

/* An element and an engine that follow the peak, for the same frames. */
typedef struct {
  CfVideo video, destination;
  GstBus *bus;
  GstHarness *harness;
  CfFilter *filter;
} Followers;

static Followers open_followers(void)
{
  Followers both = {.video = hdr_video(CF_FORMAT_P010_10LE, 64, 36, CF_TRANSFER_PQ),
                    .destination = sdr_video(CF_FORMAT_NV12, 64, 36)};
  CfTonemapParams params = defaults();

  params.dynamic = true;
  both.filter = open_engine(&both.video, &both.destination, &params);
  both.harness = harness_to(CF_FORMAT_NV12, &both.video, "", FALSE, &both.bus);
  set_text(both.harness->element, "dynamic=true");
  return both;
}

static void close_followers(Followers *both)
{
  cf_filter_close(both->filter);
  harness_free(both->harness, both->bus);
}

/* The peak is followed by the times of the frames, and anew after a flush or a gap. */
GST_START_TEST(dynamic_follows_time)
{
  enum { FRAMES = 11, FLUSHED = 4, LOSS = 6, GAP = 7, NO_GAP = 10 };
  /* -1: none */
  const gint milliseconds[FRAMES] = {0, 40, 540, -1, 600, 640, 840, 2000, 1500, 1540, 2540};
  const gdouble seconds[FRAMES] = {0.02, 0.04, 0.5, 0.02, 0.02, 0.04, 0.2, 1.16, 0.02, 0.04, 1.0};
  Followers both = open_followers();

  for (guint i = 0; i < FRAMES; i++) {
    CfTestPicture *source = new_flicker(&both.video, i), *want;
    GstBuffer *buffer;

    if (i == FLUSHED) {
      GstSegment segment;

      gst_segment_init(&segment, GST_FORMAT_TIME);
      gst_harness_push_event(both.harness, gst_event_new_flush_start());
      gst_harness_push_event(both.harness, gst_event_new_flush_stop(TRUE));
      gst_harness_push_event(both.harness, gst_event_new_segment(&segment));
    }
    want = run_engine(both.filter, source, &both.destination, seconds[i], i == FLUSHED || i == GAP);
    buffer =
        plain_buffer(source, milliseconds[i] < 0 ? GST_CLOCK_TIME_NONE
                                                 : (GstClockTime)milliseconds[i] * GST_MSECOND);
    if (i == LOSS || i == GAP || i == NO_GAP)
      GST_BUFFER_FLAG_SET(buffer, GST_BUFFER_FLAG_DISCONT);
    assert_shows(filter_buffer(both.harness, buffer), want, "a frame in time");
    cf_picture_free(source);
    cf_picture_free(want);
  }
  close_followers(&both);
}
GST_END_TEST;

static void push_text_caps(GstHarness *harness, const char *text)
{
  GstCaps *caps = gst_caps_from_string(text);

  fail_unless(gst_harness_push_event(harness, gst_event_new_caps(caps)), "%s", text);
  gst_caps_unref(caps);
}

/* Caps that change nothing of the pixels change nothing of the peak that is followed, but caps are
 * where a new engine begins, and with it the peak. */
GST_START_TEST(dynamic_goes_on_with_new_caps)
{
  static const struct {
    const char *caps, *settings;
  } steps[] = {
      {SIZE PQ, ""},
      {", width=64, height=36, framerate=50/1" PQ, ""},
      {", width=64, height=36, framerate=50/1, pixel-aspect-ratio=2/1" PQ, ""},
      {SIZE PQ ", multiview-mode=mono", ""},
      {SIZE PQ METADATA, ""},
      {SIZE PQ, "n-threads=2"},
      {SIZE PQ ", chroma-site=mpeg2", ""},
  };
  Followers both = open_followers();

  for (guint i = 0; i < G_N_ELEMENTS(steps); i++) {
    CfTestPicture *source = new_flicker(&both.video, i), *want;
    gchar *caps = g_strconcat(RAW "P010_10LE", steps[i].caps, NULL);

    set_text(both.harness->element, steps[i].settings);
    push_text_caps(both.harness, caps);
    want = run_engine(both.filter, source, &both.destination, 0.04, *steps[i].settings != '\0');
    assert_shows(filter_buffer(both.harness, plain_buffer(source, i * 40 * GST_MSECOND)), want,
                 caps);
    cf_picture_free(source);
    cf_picture_free(want);
    g_free(caps);
  }
  close_followers(&both);
}
GST_END_TEST;

/* ---- Metas ---- */

static GType api_of(const gchar *name, const gchar **tags)
{
  const GType known = g_type_from_name(name);

  return known ? known : gst_meta_api_type_register(name, tags);
}

static gboolean copy_meta(GstBuffer *output, GstMeta *meta, GstBuffer *input, GQuark type,
                          gpointer data)
{
  return gst_buffer_add_meta(output, meta->info, NULL) != NULL;
}

static gboolean init_meta(GstMeta *meta, gpointer params, GstBuffer *buffer)
{
  return TRUE;
}

/* A meta of an API that is known, or made up. */
static void add_meta(GstBuffer *buffer, const gchar *api, const gchar **tags)
{
  gchar *name = g_strconcat(api, "Impl", NULL);
  const GstMetaInfo *info = gst_meta_get_info(name);

  if (!info)
    info = gst_meta_register(api_of(api, tags), name, sizeof(GstMeta), init_meta, NULL, copy_meta);
  fail_unless(gst_buffer_add_meta(buffer, info, NULL) != NULL);
  g_free(name);
}

static gboolean has_meta(GstBuffer *buffer, const gchar *api)
{
  return gst_buffer_get_meta(buffer, g_type_from_name(api)) != NULL;
}

GST_START_TEST(what_describes_hdr_is_dropped_and_no_more)
{
  const gchar *no_tags[] = {NULL}, *colour[] = {"video", "colorspace", NULL};
  const CfVideo video = hdr_video(CF_FORMAT_P010_10LE, 64, 36, CF_TRANSFER_PQ);
  CfTestPicture *source = new_picture(&video, CF_LAYOUT_TIGHT, CF_PATTERN_PHOTO, 5);
  GstBuffer *buffer = plain_buffer(source, 0), *result;
  GstBus *bus;
  GstHarness *harness = harness_to(CF_FORMAT_I420, &video, "", FALSE, &bus);

  add_meta(buffer, "TestVideoHDRMetaAPI", no_tags);
  add_meta(buffer, "TestHdr10PlusMetaAPI", no_tags);
  add_meta(buffer, "TestColourMetaAPI", colour);
  add_meta(buffer, "TestOtherMetaAPI", no_tags);
  gst_buffer_add_video_region_of_interest_meta(buffer, "face", 1, 2, 3, 4);
  gst_buffer_add_video_time_code_meta_full(buffer, 25, 1, NULL, GST_VIDEO_TIME_CODE_FLAGS_NONE, 1,
                                           2, 3, 4, 0);
  result = filter_buffer(harness, buffer);
  fail_if(has_meta(result, "TestVideoHDRMetaAPI"));
  fail_if(has_meta(result, "TestHdr10PlusMetaAPI"));
  fail_if(has_meta(result, "TestColourMetaAPI"));
  fail_unless(has_meta(result, "TestOtherMetaAPI"));
  fail_unless(gst_buffer_get_video_region_of_interest_meta_id(result, 0) != NULL);
  fail_unless(gst_buffer_get_video_time_code_meta(result) != NULL);
  fail_unless_equals_uint64(GST_BUFFER_PTS(result), 0);
  gst_buffer_unref(result);
  cf_picture_free(source);
  harness_free(harness, bus);
}
GST_END_TEST;

/* ---- SDR, and one after the other ---- */

static gchar *backend_of(GstHarness *harness)
{
  gchar *name;

  g_object_get(harness->element, "active-backend", &name, NULL);
  return name;
}

static void assert_backend(GstHarness *harness, const char *expected)
{
  gchar *name = backend_of(harness);

  fail_unless_equals_string(name, expected);
  g_free(name);
}

GST_START_TEST(sdr_frames_are_handed_on)
{
  const CfVideo video = sdr_video(CF_FORMAT_Y42B, 38, 20);
  CfTestPicture *source = new_picture(&video, CF_LAYOUT_TIGHT, CF_PATTERN_NOISE, 3);
  GstBuffer *buffer = plain_buffer(source, 0), *result;
  GstBus *bus;
  GstHarness *harness = harness_new_plain("cudatonemap", "detail=2", &video, &bus);

  add_meta(buffer, "TestColourMetaAPI", (const gchar *[]){"video", "colorspace", NULL});
  result = filter_buffer(harness, gst_buffer_ref(buffer));
  fail_unless(result == buffer, "copied");
  fail_unless(has_meta(result, "TestColourMetaAPI"));
  assert_backend(harness, "none");
  gst_buffer_unref(buffer);
  gst_buffer_unref(result);
  cf_picture_free(source);
  harness_free(harness, bus);
}
GST_END_TEST;

GST_START_TEST(streams_change_between_hdr_and_sdr)
{
  const CfVideo pq = hdr_video(CF_FORMAT_P010_10LE, 64, 36, CF_TRANSFER_PQ);
  const CfVideo hlg = hdr_video(CF_FORMAT_I420_10LE, 30, 22, CF_TRANSFER_HLG);
  const CfVideo sdr = sdr_video(CF_FORMAT_NV12, 64, 36);
  const CfTonemapParams params = defaults();
  CfTestPicture *one = new_picture(&pq, CF_LAYOUT_TIGHT, CF_PATTERN_PHOTO, 5);
  CfTestPicture *two = new_picture(&hlg, CF_LAYOUT_TIGHT, CF_PATTERN_PHOTO, 6);
  CfTestPicture *three = new_picture(&sdr, CF_LAYOUT_TIGHT, CF_PATTERN_PHOTO, 7);
  CfTestPicture *from_one = make(one, CF_FORMAT_NV12, &params);
  CfTestPicture *from_two = make(two, CF_FORMAT_NV12, &params);
  GstBus *bus;
  GstHarness *harness = harness_to(CF_FORMAT_NV12, &pq, "", FALSE, &bus);

  for (guint i = 0; i < 3; i++) {
    push_text_caps(harness, RAW "P010_10LE" SIZE PQ);
    assert_shows(filter_buffer(harness, plain_buffer(one, i)), from_one, "PQ");
    assert_backend(harness, "cpu");
    push_text_caps(harness, RAW "NV12" SIZE ", colorimetry=bt709");
    assert_shows(filter_buffer(harness, plain_buffer(three, i)), three, "SDR");
    assert_backend(harness, "none");
    push_text_caps(harness, RAW "I420_10LE, width=30, height=22, framerate=25/1" HLG);
    assert_shows(filter_buffer(harness, plain_buffer(two, i)), from_two, "HLG");
  }
  assert_posted(bus, GST_MESSAGE_ERROR, 0, NULL);
  harness_free(harness, bus);
  cf_picture_free(one);
  cf_picture_free(two);
  cf_picture_free(three);
  cf_picture_free(from_one);
  cf_picture_free(from_two);
}
GST_END_TEST;

/* ---- Fields ---- */

static CfTestPicture *field_of(const CfTestPicture *frame, int field, gboolean back,
                               const CfTestPicture *from, CfTestPicture *to)
{
  const CfFormatInfo *format = cf_format_info(frame->video.format);
  CfVideo video = frame->video;
  CfTestPicture *result = NULL;

  video.height /= 2;
  if (!back)
    result = cf_picture_new(&video, CF_LAYOUT_TIGHT);
  for (int p = 0; p < format->planes; p++) {
    for (int y = 0; y < cf_plane_height(&video, p); y++) {
      const CfPicture *source = back ? &from->planes : &frame->planes;
      const CfPicture *target = back ? &to->planes : &result->planes;
      const int whole = 2 * y + field;

      memcpy(target->data[p] + (back ? whole : y) * target->stride[p],
             source->data[p] + (back ? y : whole) * source->stride[p], cf_row_bytes(&video, p));
    }
  }
  return result;
}

/* A peak that is measured would differ between fields, and show as lines. */
GST_START_TEST(fields_are_frames_of_their_own)
{
  const CfVideo video = hdr_video(CF_FORMAT_P010_10LE, 64, 40, CF_TRANSFER_PQ);
  const CfVideo destination = sdr_video(CF_FORMAT_NV12, 64, 40);
  const CfTonemapParams params = defaults();
  CfTestPicture *source = new_picture(&video, CF_LAYOUT_TIGHT, CF_PATTERN_PHOTO, 5);
  CfTestPicture *want = cf_picture_new(&destination, CF_LAYOUT_TIGHT);
  GstBus *bus;
  GstHarness *harness =
      harness_to(CF_FORMAT_NV12, &video, ", interlace-mode=interleaved", FALSE, &bus);

  for (int field = 0; field < 2; field++) {
    CfTestPicture *half = field_of(source, field, FALSE, NULL, NULL);
    CfTestPicture *filtered = make(half, CF_FORMAT_NV12, &params);

    field_of(want, field, TRUE, filtered, want);
    cf_picture_free(half);
    cf_picture_free(filtered);
  }
  assert_shows(filter_buffer(harness, plain_buffer(source, 0)), want, "fields");
  set_text(harness->element, "dynamic=true");
  assert_shows(filter_buffer(harness, plain_buffer(source, GST_SECOND)), want, "dynamic");
  assert_posted(bus, GST_MESSAGE_WARNING, 1, "dynamic has no effect on interlaced video");
  cf_picture_free(source);
  cf_picture_free(want);
  harness_free(harness, bus);
}
GST_END_TEST;

/* Caps, and a receiver, that differ in one thing only from those before. Of interlaced frames of 6
 * lines the lower field has too few lines of chroma in 4:2:0: they are one frame. */
GST_START_TEST(engines_follow_the_caps)
{
  static const struct {
    const char *colorimetry; /* in numbers of GStreamer: range, matrix, transfer, primaries */
    CfTransfer transfer;
    CfPrimaries primaries;
    CfFormat to;
    const char *more;
    gdouble peak;
  } rows[] = {{"2:6:14:7", CF_TRANSFER_PQ, CF_PRIMARIES_2020, CF_FORMAT_NV12, ""},
              {"2:6:14:7", CF_TRANSFER_PQ, CF_PRIMARIES_2020, CF_FORMAT_NV12,
               ", content-light-level=(string)4000:400", 4000.0},
              {"2:6:15:7", CF_TRANSFER_HLG, CF_PRIMARIES_2020, CF_FORMAT_NV12, ""},
              {"2:6:15:11", CF_TRANSFER_HLG, CF_PRIMARIES_P3, CF_FORMAT_NV12, ""},
              {"2:6:15:10", CF_TRANSFER_HLG, CF_PRIMARIES_P3_DCI, CF_FORMAT_NV12, ""},
              {"2:6:15:1", CF_TRANSFER_HLG, CF_PRIMARIES_709, CF_FORMAT_NV12, ""},
              {"2:6:15:1", CF_TRANSFER_HLG, CF_PRIMARIES_709, CF_FORMAT_RGBA, ""},
              {"2:6:15:1", CF_TRANSFER_HLG, CF_PRIMARIES_709, CF_FORMAT_NV12,
               ", interlace-mode=interleaved"}};
  CfVideo video = hdr_video(CF_FORMAT_Y444_10LE, 32, 6, CF_TRANSFER_PQ);
  CfTonemapParams params = defaults();
  GstBus *bus;
  GstHarness *harness = harness_to(CF_FORMAT_NV12, &video, "", FALSE, &bus);

  for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
    gchar *receiver = g_strconcat(RAW, cf_format_info(rows[i].to)->name, NULL);
    gchar *caps = g_strconcat(RAW "Y444_10LE, width=32, height=6, framerate=25/1, "
                                  "colorimetry=(string)",
                              rows[i].colorimetry, rows[i].more, NULL);
    CfTestPicture *source, *want;

    video.transfer = rows[i].transfer;
    video.primaries = rows[i].primaries;
    params.stream_peak = rows[i].peak;
    source = new_picture(&video, CF_LAYOUT_TIGHT, CF_PATTERN_PHOTO, 5);
    want = make(source, rows[i].to, &params);
    gst_harness_set_sink_caps_str(harness, receiver);
    gst_harness_push_upstream_event(harness, gst_event_new_reconfigure());
    push_text_caps(harness, caps);
    assert_shows(filter_buffer(harness, plain_buffer(source, i)), want, caps);
    cf_picture_free(source);
    cf_picture_free(want);
    g_free(receiver);
    g_free(caps);
  }
  harness_free(harness, bus);
}
GST_END_TEST;

static void add_tests(TCase *tests)
{
  tcase_add_test(tests, frames_are_what_the_engine_makes);
  tcase_add_test(tests, peak_is_taken_from_caps);
  tcase_add_test(tests, settings_change_while_playing);
  tcase_add_test(tests, dynamic_beside_a_peak_is_remarked);
  tcase_add_test(tests, dynamic_follows_time);
  tcase_add_test(tests, dynamic_goes_on_with_new_caps);
  tcase_add_test(tests, what_describes_hdr_is_dropped_and_no_more);
  tcase_add_test(tests, sdr_frames_are_handed_on);
  tcase_add_test(tests, streams_change_between_hdr_and_sdr);
  tcase_add_test(tests, fields_are_frames_of_their_own);
  tcase_add_test(tests, engines_follow_the_caps);
}

int main(int argc, char **argv)
{
  return run_tests(argc, argv, "tonemap", add_tests);
}
