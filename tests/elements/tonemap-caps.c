/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * cudatonemap: what its pads agree on, and what it says of HDR that it does not take.
 */
#include "elements.h"

static const CfFormat hdr_formats[] = {
    CF_FORMAT_P010_10LE, CF_FORMAT_I420_10LE, CF_FORMAT_I422_10LE, CF_FORMAT_P012_LE,
    CF_FORMAT_P016_LE,   CF_FORMAT_Y444_10LE, CF_FORMAT_Y444_16LE};
static const CfFormat sdr_formats[] = {CF_FORMAT_NV12, CF_FORMAT_I420, CF_FORMAT_P010_10LE,
                                       CF_FORMAT_RGBA, CF_FORMAT_BGRA};

#define PQ  ", colorimetry=bt2100-pq"
#define HLG ", colorimetry=bt2100-hlg"
#define P3  ", colorimetry=(string)2:3:14:11" /* as phones film, with the matrix of BT.709 */
#define METADATA                                                                                   \
  ", mastering-display-info=(string)35400:14600:8500:39850:6550:2300:15635:16450:"                 \
  "10000000:1, content-light-level=(string)640:120"
#define SIZE ", width=64, height=36, framerate=25/1"
#define RAW  "video/x-raw, format="

/* What comes out for fixed caps that come in, where `accepted` is accepted; transfer full, NULL if
 * nothing can. */
static GstCaps *negotiate(const char *offered, const char *accepted)
{
  GstHarness *harness = gst_harness_new("cudatonemap");
  GstCaps *result;

  gst_util_set_object_arg(G_OBJECT(harness->element), "backend", "cpu");
  if (accepted)
    gst_harness_set_sink_caps_str(harness, accepted);
  gst_harness_set_src_caps_str(harness, offered);
  result = gst_pad_get_current_caps(harness->sinkpad);
  gst_harness_teardown(harness);
  return result;
}

static void assert_negotiates(const char *offered, const char *accepted, const char *expected)
{
  GstCaps *result = negotiate(offered, accepted), *want;

  if (!expected) {
    fail_unless(result == NULL, "%s becomes %s", offered, gst_caps_to_string(result));
    return;
  }
  fail_unless(result != NULL, "%s is refused where %s is accepted", offered, accepted);
  want = gst_caps_from_string(expected);
  fail_unless(gst_caps_is_equal(result, want), "%s becomes %s, not %s", offered,
              gst_caps_to_string(result), expected);
  gst_caps_unref(want);
  gst_caps_unref(result);
}

GST_START_TEST(hdr_becomes_sdr)
{
  /* NV12 where all is accepted; what describes HDR is gone, what else there is stays. */
  assert_negotiates(RAW "P010_10LE" SIZE PQ METADATA, NULL, RAW "NV12" SIZE ", colorimetry=bt709");
  assert_negotiates(RAW "I420_10LE" SIZE HLG ", pixel-aspect-ratio=4/3, chroma-site=mpeg2", NULL,
                    RAW "NV12" SIZE
                        ", colorimetry=bt709, pixel-aspect-ratio=4/3, chroma-site=mpeg2");
  assert_negotiates(RAW "P010_10LE" SIZE PQ ", chroma-site=mpeg2", RAW "BGRA",
                    RAW "BGRA" SIZE ", colorimetry=sRGB");

  for (guint i = 0; i < G_N_ELEMENTS(hdr_formats); i++) {
    for (guint k = 0; k < G_N_ELEMENTS(sdr_formats); k++) {
      const CfFormatInfo *to = cf_format_info(sdr_formats[k]);
      gchar *offered = g_strconcat(RAW, cf_format_info(hdr_formats[i])->name, SIZE, PQ, NULL);
      gchar *accepted = g_strconcat(RAW, to->name, NULL);
      gchar *expected =
          g_strconcat(RAW, to->name, SIZE, ", colorimetry=", to->rgb ? "sRGB" : "bt709", NULL);

      assert_negotiates(offered, accepted, expected);
      g_free(offered);
      g_free(accepted);
      g_free(expected);
    }
  }
}
GST_END_TEST;

/* BT.2100 written in numbers: range, matrix, transfer, primaries; 0 is unknown. */
GST_START_TEST(hdr_is_known_by_its_fields)
{
  assert_negotiates(RAW "P010_10LE" SIZE ", colorimetry=(string)1:6:14:7", RAW "NV12",
                    RAW "NV12" SIZE ", colorimetry=bt709");
  assert_negotiates(RAW "P010_10LE" SIZE ", colorimetry=(string)0:0:15:0", RAW "NV12",
                    RAW "NV12" SIZE ", colorimetry=bt709");
  assert_negotiates(RAW "P010_10LE" SIZE P3, NULL, RAW "NV12" SIZE ", colorimetry=bt709");
}
GST_END_TEST;

GST_START_TEST(sdr_passes)
{
  const char *const offers[] = {RAW "NV12" SIZE ", colorimetry=bt709",
                                RAW "P010_10LE" SIZE ", colorimetry=bt2020-10",
                                RAW "P010_10LE" SIZE ", colorimetry=bt709",
                                RAW "RGBA" SIZE ", colorimetry=sRGB",
                                RAW "I420" SIZE ", colorimetry=bt601",
                                RAW "GRAY8" SIZE,
                                RAW "Y42B" SIZE ", colorimetry=(string)1:3:5:1"};

  for (guint i = 0; i < G_N_ELEMENTS(offers); i++)
    assert_negotiates(offers[i], NULL, offers[i]);
}
GST_END_TEST;

GST_START_TEST(what_cannot_be_made_is_refused)
{
  assert_negotiates(RAW "NV12" SIZE PQ, NULL, NULL);
  assert_negotiates(RAW "RGBA" SIZE HLG, NULL, NULL);
  assert_negotiates(RAW "P010_10LE" SIZE PQ, RAW "Y444", NULL);
  assert_negotiates(RAW "P010_10LE" SIZE PQ, RAW "P010_10LE" PQ, NULL);
  assert_negotiates(RAW "P010_10LE" SIZE PQ, RAW "NV12, colorimetry=bt601", NULL);
  assert_negotiates(RAW "Y444" SIZE, RAW "NV12", NULL);
}
GST_END_TEST;

/* What no caps can say, an error does. */
GST_START_TEST(hdr_that_is_not_taken_says_why)
{
  static const struct {
    const char *format, *colorimetry, *text;
  } rows[] = {
      {"NV12", "2:6:14:7", "HDR in the format NV12 is not supported"},
      {"RGBA", "1:1:14:7", "HDR in the format RGBA is not supported"},
      {"P010_10LE", "2:6:14:4", "HDR with the primaries smpte170m is not supported"},
      {"P010_10LE", "2:6:15:2", "allowed are bt2020, smpteeg432 (P3)"},
      {"P010_10LE", "2:1:14:7", "HDR with the colour matrix rgb is not supported"},
  };

  for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
    gchar *caps =
        g_strdup_printf(RAW "%s, width=64, height=36, framerate=25/1, colorimetry=(string)%s",
                        rows[i].format, rows[i].colorimetry);
    GstHarness *harness = gst_harness_new("cudatonemap");
    GstBus *bus = gst_bus_new();

    gst_element_set_bus(harness->element, bus);
    gst_harness_set_src_caps_str(harness, caps);
    assert_posted(bus, GST_MESSAGE_ERROR, 1, rows[i].text);
    harness_free(harness, bus);
    g_free(caps);
  }
}
GST_END_TEST;

static gboolean accepts(GstHarness *harness, const char *text)
{
  GstCaps *caps = gst_caps_from_string(text),
          *allowed = gst_pad_query_caps(GST_BASE_TRANSFORM_SINK_PAD(harness->element), NULL);
  const gboolean good = gst_caps_can_intersect(caps, allowed);

  gst_caps_unref(caps);
  gst_caps_unref(allowed);
  return good;
}

/* What upstream is offered follows from what downstream accepts. */
GST_START_TEST(upstream_is_asked_for_what_downstream_takes)
{
  GstHarness *harness = gst_harness_new("cudatonemap");

  gst_harness_set_sink_caps_str(harness, RAW "RGBA, width=64, height=36");
  fail_unless(accepts(harness, RAW "P010_10LE" SIZE PQ METADATA));
  fail_unless(accepts(harness, RAW "Y444_16LE" SIZE HLG));
  fail_unless(accepts(harness, RAW "RGBA" SIZE));
  fail_if(accepts(harness, RAW "NV12" SIZE));
  fail_if(accepts(harness, RAW "P010_10LE, width=32, height=36" PQ));
  gst_harness_set_sink_caps_str(harness, RAW "NV12" PQ);
  fail_if(accepts(harness, RAW "P010_10LE" SIZE PQ));
  gst_harness_teardown(harness);
}
GST_END_TEST;

static void add_tests(TCase *tests)
{
  tcase_add_test(tests, hdr_becomes_sdr);
  tcase_add_test(tests, hdr_is_known_by_its_fields);
  tcase_add_test(tests, sdr_passes);
  tcase_add_test(tests, what_cannot_be_made_is_refused);
  tcase_add_test(tests, hdr_that_is_not_taken_says_why);
  tcase_add_test(tests, upstream_is_asked_for_what_downstream_takes);
}

int main(int argc, char **argv)
{
  return run_tests(argc, argv, "tonemap-caps", add_tests);
}
