/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The plan of tone mapping: its functions against published numbers, its tables against its
 * functions, the reference's filter against the paper's series, and what is refused.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cpu/reference/llf_series.h"
#include "naive_llf_series.h"
#include "plan/tonemap_plan.h"
#include "tonemap_cases.h"

/* ---- The plan ---- */

/* From colour-science 0.4.7: eotf_ST2084 and oetf_inverse_BT2100_HLG. */
static void transfer_functions(CfTest *test)
{
  static const struct {
    double signal, pq, hlg;
  } rows[] = {
      {0.00, 0, 0},
      {0.05, 0.0600016355279, 0.000833333333333},
      {0.10, 0.324565591464, 0.00333333333333},
      {0.25, 5.15417600983, 0.0208333333333},
      {0.40, 32.4479178538, 0.0533333333333},
      {0.50, 92.2457089941, 0.0833333333333},
      {0.58, 201.666262177, 0.116963093013},
      {0.60, 244.005192336, 0.127996244793},
      {0.75, 983.377855587, 0.264962560421},
      {0.90, 3905.64465283, 0.581837590962},
      {1.00, 10000, 1.00000002693},
  };

  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    const double pq = cf_pq_eotf(rows[i].signal), hlg = cf_hlg_inverse_oetf(rows[i].signal);

    CF_EXPECT(test, fabs(pq - rows[i].pq) <= 1e-6 * rows[i].pq, "PQ %g: %.12g, not %.12g",
              rows[i].signal, pq, rows[i].pq);
    CF_EXPECT(test, fabs(hlg - rows[i].hlg) <= 1e-6 * rows[i].hlg, "HLG %g: %.12g, not %.12g",
              rows[i].signal, hlg, rows[i].hlg);
  }
  CF_EXPECT(test, cf_pq_eotf(-1.0) == 0.0 && cf_pq_eotf(2.0) == cf_pq_eotf(1.0), "PQ is clamped");
  CF_EXPECT(test, fabs(cf_tonemap_log(CF_TONEMAP_PLANE_PEAK) - CF_TONEMAP_STOPS) < 1e-12,
            "the plane has %.17g stops", cf_tonemap_log(CF_TONEMAP_PLANE_PEAK));
}

static void tables_are_the_functions(CfTest *test)
{
  static float light[CF_TONEMAP_LIGHT_ENTRIES];
  static CfTonemapTone tone[CF_TONEMAP_TONE_ENTRIES];
  const CfTonemapParams params = defaults();
  const CfTonemapCurve curve = cf_tonemap_curve(&params, 4000.0);

  for (CfTransfer transfer = CF_TRANSFER_PQ; transfer <= CF_TRANSFER_HLG; transfer++) {
    cf_tonemap_light_table(transfer, light);
    for (int i = 0; i < CF_TONEMAP_LIGHT_STEPS; i++) {
      const double signal = (i + 0.5) / CF_TONEMAP_LIGHT_STEPS;
      const double want =
          transfer == CF_TRANSFER_PQ ? cf_pq_eotf(signal) : cf_hlg_inverse_oetf(signal);

      CF_EXPECT(test, fabs(0.5 * ((double)light[i] + light[i + 1]) - want) < 1e-3 * want + 1e-6,
                "light at %g", signal);
    }
    CF_EXPECT(test, light[CF_TONEMAP_LIGHT_ENTRIES - 1] == light[CF_TONEMAP_LIGHT_STEPS], "end");
  }
  cf_tonemap_tone_table(&curve, 1.0, tone);
  for (int i = 0; i < CF_TONEMAP_TONE_STEPS; i++) {
    const double v = (i + 0.5) / CF_TONEMAP_TONE_STEPS * CF_TONEMAP_STOPS;
    const double gain = cf_tonemap_gain(&curve, v), saturation = cf_tonemap_saturation(&curve, v);
    const double room = cf_tonemap_room(&curve, v);

    CF_EXPECT(test, fabs(0.5 * ((double)tone[i].gain + tone[i + 1].gain) - gain) < 1e-3,
              "gain at %g", v);
    CF_EXPECT(test,
              v < 0.1 || fabs(0.5 * ((double)tone[i].room + tone[i + 1].room) - room) <
                             2e-3 * (1.0 + room),
              "room at %g", v);
    CF_EXPECT(test,
              fabs(0.5 * ((double)tone[i].saturation + tone[i + 1].saturation) - saturation) < 4e-3,
              "saturation at %g", v);
  }
}

/* The result for light of `nits` in a flat area. */
static double flat(const CfTonemapCurve *curve, double nits)
{
  return cf_tonemap_roll_off(curve, nits * exp2(cf_tonemap_gain(curve, cf_tonemap_log(nits))));
}

static void curve_keeps_its_promises(CfTest *test)
{
  CfTonemapParams params = defaults();

  for (int i = 0; i < 60; i++) {
    const double peaks[] = {100.0, 203.0, 400.0, 1000.0, 4000.0, 10000.0};
    const double peak = peaks[i % 6], targets[] = {50.0, 100.0, 300.0, 1000.0};
    double last = 0.0, last_gain;

    params.contrast = 0.5 + 0.1 * (i / 6);
    params.target_nits = targets[i / 6 % 4];
    cf_test_context(test, "contrast %g target-nits %g peak %g", params.contrast, params.target_nits,
                    peak);
    const CfTonemapCurve curve = cf_tonemap_curve(&params, peak);

    last_gain = cf_tonemap_gain(&curve, 0.0);
    for (double v = 1.0 / 256; v <= CF_TONEMAP_STOPS; v += 1.0 / 256) {
      const double nits = CF_TONEMAP_BLACK * (exp2(v) - 1.0), light = flat(&curve, nits);
      const double gain = cf_tonemap_gain(&curve, v);

      CF_EXPECT(test, light >= last - 1e-12, "falls at %g nits", nits);
      CF_EXPECT(test, fabs(gain - last_gain) < 0.02, "jumps at %g nits", nits);
      last = light;
      last_gain = gain;
    }
    CF_EXPECT(test, fabs(flat(&curve, fmax(peak, curve.white)) - 1.0) < 1e-9, "the peak becomes %g",
              flat(&curve, fmax(peak, curve.white)));
    CF_EXPECT(test, cf_tonemap_room(&curve, cf_tonemap_log(fmax(peak, curve.white))) < 1e-9,
              "there is room above the peak");
    if (params.contrast == 1.0 && peak <= curve.white)
      CF_EXPECT(test, fabs(flat(&curve, 50.0) - 50.0 / curve.white) < 1e-12, "is no identity");
  }
}

static void peak_is_found(CfTest *test)
{
  CfTonemapParams params = defaults();

  CF_EXPECT(test, cf_tonemap_peak(&params, CF_TRANSFER_PQ) == 1000.0, "nothing told");
  params.stream_peak = 2000.0;
  CF_EXPECT(test, cf_tonemap_peak(&params, CF_TRANSFER_PQ) == 2000.0, "the stream's");
  CF_EXPECT(test, cf_tonemap_peak(&params, CF_TRANSFER_HLG) == 1000.0, "HLG is relative");
  params.peak = 600.0;
  CF_EXPECT(test, cf_tonemap_peak(&params, CF_TRANSFER_PQ) == 600.0, "the user's");
  CF_EXPECT(test, cf_tonemap_peak(&params, CF_TRANSFER_HLG) == 600.0, "the user's, of HLG");
}

static void what_is_local_keeps_below_the_peak(CfTest *test)
{
  CfTonemapParams params = defaults();

  CF_EXPECT(test, cf_tonemap_local(&params, 0.5, 0.0, 1.0) == 0.0, "nothing to add");
  CF_EXPECT(test, cf_tonemap_local(&params, 0.5, -0.25, 0.0) == -0.25, "lowered");
  CF_EXPECT(test, cf_tonemap_local(&params, 0.5, 0.25, 0.0) == 0.0, "no room");
  CF_EXPECT(test, fabs(cf_tonemap_local(&params, 0.5, 0.25, 100.0) - 0.25) < 1e-6, "much room");
  CF_EXPECT(test, fabs(cf_tonemap_local(&params, 0.5, 3.0, 4.0) - 2.4) < 1e-12, "3, 4 and 5");
  params.detail = 0.5;
  CF_EXPECT(test, cf_tonemap_local(&params, 0.05, 0.0, 1.0) == -0.025, "smoothed");
  params.detail = 2.0;
  CF_EXPECT(test, cf_tonemap_local(&params, -0.1, 0.0, 1.0) == 0.0, "noise");
  CF_EXPECT(test, fabs(cf_tonemap_local(&params, -0.15, 0.0, 1.0) + 0.075) < 1e-12, "half noise");
  CF_EXPECT(test, cf_tonemap_local(&params, -0.2, 0.0, 1.0) == -0.2, "no noise");
  params.noise_floor = 0.0;
  CF_EXPECT(test, cf_tonemap_local(&params, -0.1, 0.0, 1.0) == -0.1, "no floor");
}

/* ---- The reference's filter ---- */

static void filter_is_the_series(CfTest *test)
{
  const CfSize sizes[] = {{1, 1}, {2, 3}, {13, 11}, {16, 9}, {21, 5}, {33, 40}, {90, 130}};
  const double reaches[] = {0.0, 0.3, CF_TONEMAP_REACH};

  for (size_t i = 0; i < 3 * sizeof sizes / sizeof sizes[0]; i++) {
    const CfSize *size = &sizes[i / 3];
    const int count = size->width * size->height;
    const CfTonemapParams params = defaults();
    CfLlfParams filter = cf_tonemap_filter(&params);
    NaiveImage image = naive_image(size->width, size->height, 1);
    double *intensity = malloc((size_t)count * sizeof *intensity);
    NaivePyramid want;

    filter.reach = reaches[i % 3];
    for (int k = 0; k < count; k++)
      intensity[k] = image.value[k] = cf_random_unit(&test->random);
    want = naive_series(&image, &filter);
    if (CF_EXPECT(test, cf_series_llf_run(intensity, size->width, size->height, false, &filter, 1),
                  "no memory"))
      for (int k = 0; k < count; k++)
        CF_EXPECT(test, fabs(intensity[k] - want.image[0].value[k]) < 1e-9,
                  "%dx%d reach %g, pixel %d: %.12g, not %.12g", size->width, size->height,
                  filter.reach, k, intensity[k], want.image[0].value[k]);
    naive_free(&want);
    free(image.value);
    free(intensity);
  }
}

/* ---- Refusals ---- */

static void expect_source(CfTest *test, const CfVideo *video, bool good, const char *text)
{
  const CfTonemapParams params = defaults();
  CfStatus status = {CF_OK, ""};

  CF_EXPECT(test, cf_effect_check(&cf_tonemap, video, &params, &status) == good, "%s: %s", text,
            status.message);
  CF_EXPECT(test, good || (strstr(status.message, "allowed") && strstr(status.message, text)), "%s",
            status.message);
}

static void expect_destination(CfTest *test, const CfVideo *destination, bool good,
                               const char *text)
{
  const CfVideo video = hdr_video(CF_FORMAT_P010_10LE, 8, 8, CF_TRANSFER_PQ);
  CfStatus status = {CF_OK, ""};

  CF_EXPECT(test, cf_tonemap.check_destination(&video, destination, &status) == good, "%s: %s",
            text, status.message);
  CF_EXPECT(test, good || (strstr(status.message, "allowed") && strstr(status.message, text)), "%s",
            status.message);
}

static void refusals(CfTest *test)
{
  for (int format = 0; format < CF_FORMAT_COUNT; format++) {
    CfVideo video = hdr_video((CfFormat)format, 8, 8, CF_TRANSFER_HLG);
    bool source = false, destination = false;

    for (int i = 0; i < SOURCES; i++)
      source = source || sources[i] == (CfFormat)format;
    for (int i = 0; i < DESTINATIONS; i++)
      destination = destination || destinations[i] == (CfFormat)format;
    expect_source(test, &video, source, cf_format_info((CfFormat)format)->name);
    video = sdr_video((CfFormat)format, 8, 8);
    expect_destination(test, &video, destination, cf_format_info((CfFormat)format)->name);
  }
  CfVideo video = sdr_video(CF_FORMAT_P010_10LE, 8, 8);
  expect_source(test, &video, false, "SDR");
  video = hdr_video(CF_FORMAT_P010_10LE, 8, 8, CF_TRANSFER_PQ);
  expect_destination(test, &video, false, "HDR");
  video = sdr_video(CF_FORMAT_NV12, 8, 6);
  expect_destination(test, &video, false, "8x6");
}

static const CfTestCase cases[] = {
    {"transfer-functions", transfer_functions, CF_ONCE},
    {"tables-are-the-functions", tables_are_the_functions, CF_ONCE},
    {"curve-keeps-its-promises", curve_keeps_its_promises, CF_ONCE},
    {"what-is-local-keeps-below-the-peak", what_is_local_keeps_below_the_peak, CF_ONCE},
    {"peak-is-found", peak_is_found, CF_ONCE},
    {"filter-is-the-series", filter_is_the_series, CF_ONCE},
    {"refusals", refusals, CF_ONCE},
    {0},
};

int main(int argc, char **argv)
{
  static const CfTestSuite suite = {&cf_tonemap, cases};

  return cf_test_main(&suite, argc, argv);
}
