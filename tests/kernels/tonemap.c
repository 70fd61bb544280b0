/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Tone mapping: its plan against published numbers, the reference's filter against the paper's
 * series, the other engines against the reference, and what every engine has to keep.
 */
#include "tonemap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cpu/reference/llf_series.h"
#include "harness.h"
#include "naive_llf_series.h"
#include "plan/tonemap_plan.h"

static const CfFormat sources[] = {CF_FORMAT_P010_10LE, CF_FORMAT_I420_10LE, CF_FORMAT_P012_LE,
                                   CF_FORMAT_P016_LE,   CF_FORMAT_Y444_10LE, CF_FORMAT_Y444_16LE};
static const CfFormat destinations[] = {CF_FORMAT_NV12, CF_FORMAT_I420, CF_FORMAT_RGBA,
                                        CF_FORMAT_BGRA, CF_FORMAT_P010_10LE};
enum { SOURCES = 6, DESTINATIONS = 5 };

static CfTonemapParams defaults(void)
{
  CfTonemapParams params = {0};

  cf_params_init(cf_tonemap.params, &params);
  return params;
}

static CfVideo hdr_video(CfFormat format, int width, int height, CfTransfer transfer)
{
  CfVideo video = cf_video(format, width, height);

  video.luma_red = 0.2627;
  video.luma_blue = 0.0593;
  video.transfer = transfer;
  return video;
}

static CfVideo sdr_video(CfFormat format, int width, int height)
{
  CfVideo video = cf_video(format, width, height);

  video.luma_red = 0.2126;
  video.luma_blue = 0.0722;
  return video;
}

/* What `engine` makes of `source`, in a new picture; NULL on failure. */
static CfTestPicture *result_of(CfTest *test, const CfEngine *engine, const CfTonemapParams *params,
                                const CfTestPicture *source, const CfVideo *destination,
                                CfLayout layout)
{
  CfTestPicture *result = cf_picture_new(destination, layout);

  if (cf_test_filter(test, engine, params, 2, source, result))
    return result;
  cf_picture_free(result);
  return NULL;
}

/* ---- The plan ---- */

/* By colour-science 0.4.7: eotf_ST2084 and oetf_inverse_BT2100_HLG. */
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
  static CfTonemapBase base[CF_TONEMAP_BASE_ENTRIES];
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
  cf_tonemap_base_table(&curve, 1.0, base);
  for (int i = 0; i < CF_TONEMAP_BASE_STEPS; i++) {
    const double v = (i + 0.5) / CF_TONEMAP_BASE_STEPS * CF_TONEMAP_STOPS;
    const double gain = cf_tonemap_gain(&curve, v), saturation = cf_tonemap_saturation(&curve, v);

    CF_EXPECT(test, fabs(0.5 * ((double)base[i].gain + base[i + 1].gain) - gain) < 1e-4 * gain,
              "gain at %g", v);
    CF_EXPECT(test,
              fabs(0.5 * ((double)base[i].saturation + base[i + 1].saturation) - saturation) < 4e-3,
              "saturation at %g", v);
  }
}

/* Light of `nits` where all around is alike. */
static double flat(const CfTonemapCurve *curve, double nits)
{
  return cf_tonemap_roll_off(curve, nits * cf_tonemap_gain(curve, cf_tonemap_log(nits)));
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
      CF_EXPECT(test, fabs(log2(gain / last_gain)) < 0.02, "jumps at %g nits", nits);
      last = light;
      last_gain = gain;
    }
    CF_EXPECT(test, fabs(flat(&curve, fmax(peak, curve.white)) - 1.0) < 1e-9, "the peak becomes %g",
              flat(&curve, fmax(peak, curve.white)));
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

/* ---- The reference's filter ---- */

static void filter_is_the_series(CfTest *test)
{
  const CfSize sizes[] = {{1, 1}, {2, 3}, {13, 11}, {16, 9}, {21, 5}, {33, 40}};

  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
    const int count = sizes[i].width * sizes[i].height;
    const CfTonemapParams params = defaults();
    const CfLlfParams filter = cf_tonemap_filter(&params);
    NaiveImage image = naive_image(sizes[i].width, sizes[i].height, 1);
    double *intensity = malloc((size_t)count * sizeof *intensity);
    NaivePyramid want;

    for (int k = 0; k < count; k++)
      intensity[k] = image.value[k] = cf_random_unit(&test->random);
    want = naive_series(&image, &filter);
    if (CF_EXPECT(test, cf_series_llf_run(intensity, sizes[i].width, sizes[i].height, &filter, 1),
                  "no memory"))
      for (int k = 0; k < count; k++)
        CF_EXPECT(test, fabs(intensity[k] - want.image[0].value[k]) < 1e-9,
                  "%dx%d, pixel %d: %.12g, not %.12g", sizes[i].width, sizes[i].height, k,
                  intensity[k], want.image[0].value[k]);
    naive_free(&want);
    free(image.value);
    free(intensity);
  }
}

/* ---- Engines against the reference ---- */

/* Number `i` of a walk through what users may set. */
static CfTonemapParams varied(int i)
{
  CfTonemapParams params = defaults();
  const double details[] = {1.0, 0.0, 1.6, 0.5, 2.0}, contrasts[] = {1.0, 0.7, 1.3};
  const double sigmas[] = {2.0, 0.25, 8.0, 1.0}, floors[] = {0.1, 0.0, 1.0};
  const double peaks[] = {0.0, 100.0, 4000.0}, targets[] = {100.0, 203.0};
  const double saturations[] = {1.0, 0.0, 2.0, 0.8};

  params.detail = details[i % 5];
  params.contrast = contrasts[i % 3];
  params.sigma = sigmas[i % 4];
  params.noise_floor = floors[i / 2 % 3];
  params.peak = peaks[i / 3 % 3];
  params.target_nits = targets[i / 4 % 2];
  params.saturation = saturations[i / 5 % 4];
  params.dither = i % 2 == 0;
  return params;
}

/* Samples of luma that are more than a code apart. */
static long far_apart(const CfTestPicture *got, const CfTestPicture *want)
{
  long count = 0;

  for (int y = 0; y < got->video.height; y++)
    for (int x = 0; x < got->video.width; x++)
      count += abs(cf_picture_get(got, 0, x, y, 0) - cf_picture_get(want, 0, x, y, 0)) > 1;
  return count;
}

/* Within a code. Of 10 bits it is two 8-bit codes at most where a colour lies at an end of what
 * BT.709 can show: there the power 1 / 2.4 is infinitely steep, and shows a rounding of the plane.
 */
static void judge(CfTest *test, const CfTestPicture *got, const CfTestPicture *want)
{
  const bool fine = cf_format_info(got->video.format)->bits > 8;
  const long pixels = (long)got->video.width * got->video.height;

  cf_test_compare(test, got, want, fine ? 8.0 : 1.0);
  if (fine)
    CF_EXPECT(test, far_apart(got, want) <= pixels / 1000, "%ld of %ld pixels are apart",
              far_apart(got, want), pixels);
}

static void compare(CfTest *test, const CfTonemapParams *params, const CfVideo *video,
                    CfFormat format, CfLayout layout, CfPattern pattern)
{
  CfTestPicture *source = cf_picture_new(video, layout), *want, *got;
  CfVideo destination = sdr_video(format, video->width, video->height);

  if (video->range == CF_RANGE_FULL && !cf_format_info(format)->rgb)
    destination.range = CF_RANGE_FULL;
  cf_test_context(test,
                  "detail %g contrast %g sigma %g noise-floor %g peak %g target-nits %g saturation "
                  "%g dither %d; %s %s %dx%d %s to %s",
                  params->detail, params->contrast, params->sigma, params->noise_floor,
                  params->peak, params->target_nits, params->saturation, params->dither,
                  video->transfer == CF_TRANSFER_PQ ? "PQ" : "HLG",
                  cf_format_info(video->format)->name, video->width, video->height,
                  cf_pattern_name(pattern), cf_format_info(format)->name);
  cf_picture_fill(source, pattern, CF_ALPHA_OPAQUE, cf_random(&test->random));
  want = result_of(test, test->effect->engines[0], params, source, &destination, layout);
  got = result_of(test, test->engine, params, source, &destination, layout);
  if (want && got)
    judge(test, got, want);
  cf_picture_free(source);
  cf_picture_free(want);
  cf_picture_free(got);
}

static void agrees_in_every_format(CfTest *test)
{
  const CfPattern patterns[] = {CF_PATTERN_PHOTO, CF_PATTERN_NOISE, CF_PATTERN_EXTREMES,
                                CF_PATTERN_RAMPS, CF_PATTERN_BARS};
  int number = 0;

  for (int from = 0; from < SOURCES; from++) {
    for (int to = 0; to < DESTINATIONS; to++) {
      for (CfTransfer transfer = CF_TRANSFER_PQ; transfer <= CF_TRANSFER_HLG; transfer++) {
        const CfTonemapParams params = varied(number);
        CfVideo video = hdr_video(sources[from], 83, 45, transfer);

        if (number % 3 == 2)
          video.range = CF_RANGE_FULL;
        compare(test, &params, &video, destinations[to], (CfLayout)(number % CF_LAYOUT_COUNT),
                patterns[number % 5]);
        number++;
      }
    }
  }
}

static void agrees_in_every_size(CfTest *test)
{
  const CfSize more[] = {{255, 3}, {256, 2}, {257, 5}, {513, 7}, {600, 4}, {0, 0}};
  const CfSize *const lists[] = {cf_test_sizes, more};
  int number = 0;

  for (int list = 0; list < 2; list++) {
    for (const CfSize *size = lists[list]; size->width; size++) {
      for (int to = 0; to < DESTINATIONS; to++, number++) {
        const CfTonemapParams params = varied(number);
        const CfVideo video = hdr_video(sources[number % SOURCES], size->width, size->height,
                                        number % 2 ? CF_TRANSFER_PQ : CF_TRANSFER_HLG);

        compare(test, &params, &video, destinations[to], (CfLayout)(number % CF_LAYOUT_COUNT),
                CF_PATTERN_NOISE);
      }
    }
  }
}

static void agrees_with_any_settings(CfTest *test)
{
  for (int number = 0; number < 60; number++) {
    const CfTonemapParams params = varied(number);
    const CfVideo video =
        hdr_video(CF_FORMAT_P010_10LE, 150, 97, number % 4 ? CF_TRANSFER_PQ : CF_TRANSFER_HLG);

    compare(test, &params, &video, number % 2 ? CF_FORMAT_NV12 : CF_FORMAT_P010_10LE,
            CF_LAYOUT_ALIGNED, CF_PATTERN_PHOTO);
  }
}

/* ---- What stays the same ---- */

static void update_is_as_open(CfTest *test)
{
  const CfVideo video = hdr_video(CF_FORMAT_P010_10LE, 70, 41, CF_TRANSFER_PQ);
  const CfVideo destination = sdr_video(CF_FORMAT_NV12, 70, 41);
  CfTestPicture *source = cf_picture_new(&video, CF_LAYOUT_ALIGNED), *want;
  CfTestPicture *got = cf_picture_new(&destination, CF_LAYOUT_ALIGNED);
  CfTonemapParams params = defaults();
  CfRig *rig = cf_rig_open_to(test, test->engine, &video, &destination, &params, 1);

  cf_picture_fill(source, CF_PATTERN_PHOTO, CF_ALPHA_OPAQUE, test->seed);
  for (int i = 0; rig && i < 12; i++) {
    params = varied(i);
    params.stream_peak = 500.0 * i;
    want = result_of(test, test->engine, &params, source, &destination, CF_LAYOUT_ALIGNED);
    if (want && cf_rig_update(rig, &params) && cf_rig_run(rig, source, got))
      cf_test_compare_exact(test, got, want);
    cf_picture_free(want);
  }
  cf_rig_close(rig);
  cf_picture_free(source);
  cf_picture_free(got);
}

static void threads_do_not_matter(CfTest *test)
{
  const CfVideo video = hdr_video(CF_FORMAT_I420_10LE, 301, 203, CF_TRANSFER_HLG);
  const CfVideo destination = sdr_video(CF_FORMAT_I420, 301, 203);
  CfTestPicture *source = cf_picture_new(&video, CF_LAYOUT_PADDED);
  CfTestPicture *want = cf_picture_new(&destination, CF_LAYOUT_TIGHT);
  CfTestPicture *got = cf_picture_new(&destination, CF_LAYOUT_UNALIGNED);
  const CfTonemapParams params = varied(2);

  cf_picture_fill(source, CF_PATTERN_PHOTO, CF_ALPHA_OPAQUE, test->seed);
  if (cf_test_filter(test, test->engine, &params, 1, source, want)) {
    for (int threads = 2; threads <= 7; threads += 5) {
      if (cf_test_filter(test, test->engine, &params, threads, source, got))
        cf_test_compare_exact(test, got, want);
    }
  }
  cf_picture_free(source);
  cf_picture_free(want);
  cf_picture_free(got);
}

/* ---- Identities ---- */

static void set_chroma(CfTestPicture *picture, int code)
{
  cf_picture_set_role(picture, CF_ROLE_CHROMA_BLUE, code);
  cf_picture_set_role(picture, CF_ROLE_CHROMA_RED, code);
}

static void grey_stays_grey(CfTest *test)
{
  for (int i = 0; i < 2 * SOURCES; i++) {
    const CfTransfer transfer = i % 2 ? CF_TRANSFER_PQ : CF_TRANSFER_HLG;
    const CfVideo video = hdr_video(sources[i / 2], 61, 47, transfer);
    const CfVideo rgba = sdr_video(CF_FORMAT_RGBA, 61, 47),
                  nv12 = sdr_video(CF_FORMAT_NV12, 61, 47);
    CfTestPicture *source = cf_picture_new(&video, CF_LAYOUT_PADDED), *rgb, *yuv;
    const CfTonemapParams params = varied(i);

    cf_picture_fill(source, CF_PATTERN_NOISE, CF_ALPHA_OPAQUE, test->seed);
    set_chroma(source, (int)cf_chroma_centre(&video));
    rgb = result_of(test, test->engine, &params, source, &rgba, CF_LAYOUT_ALIGNED);
    yuv = result_of(test, test->engine, &params, source, &nv12, CF_LAYOUT_ALIGNED);
    for (int y = 0; rgb && y < 47; y++)
      for (int x = 0; x < 61; x++)
        for (int c = 1; c < 3; c++)
          CF_EXPECT(test, cf_picture_get(rgb, 0, x, y, c) == cf_picture_get(rgb, 0, x, y, 0),
                    "%d,%d has colour", x, y);
    for (int y = 0; yuv && y < 24; y++)
      for (int x = 0; x < 31; x++)
        for (int c = 0; c < 2; c++)
          CF_EXPECT(test, cf_picture_get(yuv, 1, x, y, c) == 128, "%d,%d has colour", x, y);
    cf_picture_free(source);
    cf_picture_free(rgb);
    cf_picture_free(yuv);
  }
}

static void flat_frames_are_monotone(CfTest *test)
{
  const CfVideo video = hdr_video(CF_FORMAT_P010_10LE, 16, 16, CF_TRANSFER_PQ);
  const CfVideo destination = sdr_video(CF_FORMAT_P010_10LE, 16, 16);
  CfTestPicture *source = cf_picture_new(&video, CF_LAYOUT_ALIGNED);
  CfTestPicture *got = cf_picture_new(&destination, CF_LAYOUT_ALIGNED);

  for (int i = 0; i < 4; i++) {
    CfTonemapParams params = varied(i);
    CfRig *rig;
    int last = 0;

    params.dither = false;
    rig = cf_rig_open_to(test, test->engine, &video, &destination, &params, 1);
    set_chroma(source, 512);
    for (int code = 0; rig && code < 1024; code += 3) {
      cf_picture_set_role(source, CF_ROLE_LUMA, code);
      if (!cf_rig_run(rig, source, got))
        break;
      CF_EXPECT(test, cf_picture_get(got, 0, 7, 5, 0) >= last, "%d: %d after %d", code,
                cf_picture_get(got, 0, 7, 5, 0), last);
      last = cf_picture_get(got, 0, 7, 5, 0);
    }
    cf_rig_close(rig);
  }
  cf_picture_free(source);
  cf_picture_free(got);
}

/* The signal of PQ for light in nits: ITU-R BT.2100. */
static double pq_of(double nits)
{
  const double power = pow(fmax(nits, 0.0) / 10000.0, 2610.0 / 16384.0);

  return pow((3424.0 / 4096.0 + 2413.0 / 128.0 * power) / (1.0 + 2392.0 / 128.0 * power),
             2523.0 / 32.0);
}

/* Sets a pixel of Y444_16LE, limited range, to linear light of BT.2020 in nits. */
static void set_light(CfTestPicture *picture, int x, int y, const double light[3])
{
  const double red = pq_of(light[0]), green = pq_of(light[1]), blue = pq_of(light[2]);
  const double luma = 0.2627 * red + 0.6780 * green + 0.0593 * blue;

  cf_picture_set(picture, 0, x, y, 0, (int)floor(256.0 * (16.0 + 219.0 * luma) + 0.5));
  cf_picture_set(picture, 1, x, y, 0,
                 (int)floor(256.0 * (128.0 + 224.0 * (blue - luma) / 1.8814) + 0.5));
  cf_picture_set(picture, 2, x, y, 0,
                 (int)floor(256.0 * (128.0 + 224.0 * (red - luma) / 1.4746) + 0.5));
}

/* An SDR picture that was graded as HDR, with white at 203 nits. BT.2020 of BT.709: BT.2087. */
static void sdr_comes_back(CfTest *test)
{
  static const double matrix[3][3] = {{0.627403896, 0.329283038, 0.043313066},
                                      {0.069097289, 0.919540395, 0.011362316},
                                      {0.016391439, 0.088013308, 0.895595253}};
  const CfVideo video = hdr_video(CF_FORMAT_Y444_16LE, 96, 64, CF_TRANSFER_PQ);
  const CfVideo destination = sdr_video(CF_FORMAT_RGBA, 96, 64);
  CfTestPicture *source = cf_picture_new(&video, CF_LAYOUT_ALIGNED), *got;
  CfTestPicture *want = cf_picture_new(&destination, CF_LAYOUT_ALIGNED);
  CfTonemapParams params = defaults();

  params.peak = 203.0;
  params.dither = false;
  cf_picture_fill(want, CF_PATTERN_PHOTO, CF_ALPHA_OPAQUE, test->seed);
  for (int y = 0; y < 64; y++) {
    for (int x = 0; x < 96; x++) {
      double light[3] = {0.0, 0.0, 0.0};

      for (int from = 0; from < 3; from++)
        for (int to = 0; to < 3; to++)
          light[to] +=
              203.0 * matrix[to][from] * pow(cf_picture_get(want, 0, x, y, from) / 255.0, 2.4);
      set_light(source, x, y, light);
    }
  }
  got = result_of(test, test->engine, &params, source, &destination, CF_LAYOUT_ALIGNED);
  if (got)
    cf_test_compare(test, got, want, 1.0);
  cf_picture_free(source);
  cf_picture_free(want);
  cf_picture_free(got);
}

/* 10 nits and 1000 side by side: no code next to the edge is beyond those far from it. */
static void edges_have_no_halo(CfTest *test)
{
  const double peaks[] = {1000.0, 4000.0};
  const int width = 256, height = 128;
  const CfVideo video = hdr_video(CF_FORMAT_Y444_16LE, width, height, CF_TRANSFER_PQ);
  const CfVideo destination = sdr_video(CF_FORMAT_RGBA, width, height);
  CfTestPicture *source = cf_picture_new(&video, CF_LAYOUT_ALIGNED), *got;

  for (int y = 0; y < height; y++)
    for (int x = 0; x < width; x++) {
      const double nits = x < width / 2 ? 10.0 : 1000.0;

      set_light(source, x, y, (const double[3]){nits, nits, nits});
    }
  for (int i = 0; i < 2; i++) {
    CfTonemapParams params = defaults();
    int darkest = 255, brightest = 0;

    params.stream_peak = peaks[i];
    params.dither = false;
    got = result_of(test, test->engine, &params, source, &destination, CF_LAYOUT_ALIGNED);
    for (int x = 0; got && x < width; x++) {
      const int code = cf_picture_get(got, 0, x, height / 2, 0);

      darkest = code < darkest ? code : darkest;
      brightest = code > brightest ? code : brightest;
    }
    if (got) {
      CF_EXPECT(test,
                cf_picture_get(got, 0, 0, height / 2, 0) - darkest < 2 &&
                    brightest - cf_picture_get(got, 0, width - 1, height / 2, 0) < 2,
                "peak %g: %d to %d, far from the edge %d and %d", peaks[i], darkest, brightest,
                cf_picture_get(got, 0, 0, height / 2, 0),
                cf_picture_get(got, 0, width - 1, height / 2, 0));
    }
    cf_picture_free(got);
  }
  cf_picture_free(source);
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
    {"peak-is-found", peak_is_found, CF_ONCE},
    {"filter-is-the-series", filter_is_the_series, CF_ONCE},
    {"refusals", refusals, CF_ONCE},
    {"agrees-in-every-format", agrees_in_every_format, CF_EACH_OTHER_ENGINE},
    {"agrees-in-every-size", agrees_in_every_size, CF_EACH_OTHER_ENGINE},
    {"agrees-with-any-settings", agrees_with_any_settings, CF_EACH_OTHER_ENGINE},
    {"update-is-as-open", update_is_as_open, CF_EACH_ENGINE},
    {"threads-do-not-matter", threads_do_not_matter, CF_EACH_OTHER_ENGINE},
    {"grey-stays-grey", grey_stays_grey, CF_EACH_ENGINE},
    {"flat-frames-are-monotone", flat_frames_are_monotone, CF_EACH_ENGINE},
    {"sdr-comes-back", sdr_comes_back, CF_EACH_ENGINE},
    {"edges-have-no-halo", edges_have_no_halo, CF_EACH_ENGINE},
    {0},
};

int main(int argc, char **argv)
{
  static const CfTestSuite suite = {&cf_tonemap, cases};

  return cf_test_main(&suite, argc, argv);
}
