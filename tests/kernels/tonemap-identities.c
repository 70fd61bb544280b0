/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What tone mapping has to preserve: grey, order, SDR that was graded as HDR, edges without halos;
 * and the measured peak.
 */
#include <math.h>
#include <stdlib.h>

#include "plan/tonemap_plan.h"
#include "tonemap_cases.h"

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

/* The PQ signal of light in nits: ITU-R BT.2100. */
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

/* An SDR picture that was graded as HDR, with white at 203 nits; to BT.2020 by BT.2087. */
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

/* 10 nits beside 1000: no code next to the edge is beyond the codes far from it. */
static void edges_have_no_halo(CfTest *test)
{
  const double peaks[] = {1000.0, 4000.0};
  const int width = 512, height = 400;
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

/* The primaries and their mixtures in BT.2020, all beyond BT.709, each 0.15 % brighter from column
 * to column: codes never jump. */
static void bright_colours_are_smooth(CfTest *test)
{
  static const double hues[][3] = {{1, 0, 0}, {1, 1, 0}, {0, 1, 0},
                                   {0, 1, 1}, {0, 0, 1}, {1, 0, 1}};
  const int width = 2048, band = 8, height = 6 * band;
  const CfVideo video = hdr_video(CF_FORMAT_Y444_16LE, width, height, CF_TRANSFER_PQ);
  const CfVideo destination = sdr_video(CF_FORMAT_RGBA, width, height);
  CfTestPicture *source = cf_picture_new(&video, CF_LAYOUT_ALIGNED), *got;
  CfTonemapParams params = defaults();

  params.dither = false;
  params.saturation = 1.5;
  for (int y = 0; y < height; y++) {
    const double *const hue = hues[y / band];

    for (int x = 0; x < width; x++) {
      const double nits = 100.0 * pow(1.0015, x);

      set_light(source, x, y, (const double[3]){nits * hue[0], nits * hue[1], nits * hue[2]});
    }
  }
  got = result_of(test, test->engine, &params, source, &destination, CF_LAYOUT_ALIGNED);
  for (int y = band / 2; got && y < height; y += band)
    for (int x = 1; x < width; x++)
      for (int c = 0; c < 3; c++)
        CF_EXPECT(test,
                  abs(cf_picture_get(got, 0, x, y, c) - cf_picture_get(got, 0, x - 1, y, c)) <= 2,
                  "%d,%d channel %d: %d after %d", x, y, c, cf_picture_get(got, 0, x, y, c),
                  cf_picture_get(got, 0, x - 1, y, c));
  cf_picture_free(source);
  cf_picture_free(got);
}

/* ---- The measured peak ---- */

/* Grey from black to `brightest`, a code of luma; a large `bend` makes more of it dark. */
static void fill_greys(CfTestPicture *picture, int brightest, double bend)
{
  const int width = picture->video.width, height = picture->video.height;

  set_chroma(picture, (int)cf_chroma_centre(&picture->video));
  for (int y = 0; y < height; y++)
    for (int x = 0; x < width; x++)
      cf_picture_set(
          picture, 0, x, y, 0,
          64 + (int)((brightest - 64) * pow((x + width * y + 1.0) / (width * height), bend)));
}

/* The level that one pixel in 10000 exceeds, in stops in steps of 1/1024 of the plane; and the
 * share of pixels in each 32nd of the plane. */
static double measure(const CfTestPicture *picture, double share[32])
{
  const int width = picture->video.width, height = picture->video.height;
  int bins[1024] = {0}, brighter = 0, bin = 1023;

  for (int i = 0; i < 32; i++)
    share[i] = 0.0;
  for (int y = 0; y < height; y++) {
    for (int x = 0; x < width; x++) {
      const double nits = cf_pq_eotf((cf_picture_get(picture, 0, x, y, 0) - 64) / 876.0);
      const int code = (int)(65535.0 * log2(1.0 + nits / 0.1) / log2(1.0 + 1e5) + 0.5);

      bins[code / 64]++;
      share[code / 2048] += 1.0 / (width * height);
    }
  }
  while (bin > 0 && (brighter += bins[bin]) <= width * height / 10000)
    bin--;
  return fmax((bin + 1) * log2(1.0 + 1e5) / 1024.0, log2(1.0 + 2030.0));
}

/* A measured peak gives the same result as the same peak when it is set. */
static void peak_is_followed(CfTest *test)
{
  static const struct {
    int brightest;
    double bend, seconds;
    bool fresh, cut;
  } frames[] = {
      {700, 1.0, 0.04, false, true}, {800, 1.1, 0.04, false, false}, {800, 1.1, 0.5, false, false},
      {700, 1.0, 1.0, false, false}, {700, 1.0, 0.0, false, false},  {120, 1.0, 0.04, false, true},
      {600, 0.5, 9.0, false, true},  {640, 0.5, 0.04, true, true},
  };
  const CfVideo video = hdr_video(CF_FORMAT_Y444_10LE, 160, 90, CF_TRANSFER_PQ);
  const CfVideo destination = sdr_video(CF_FORMAT_RGBA, 160, 90);
  CfTestPicture *source = cf_picture_new(&video, CF_LAYOUT_ALIGNED);
  CfTestPicture *got = cf_picture_new(&destination, CF_LAYOUT_ALIGNED), *want;
  CfTonemapParams params = defaults(), set = defaults();
  CfRig *rig;
  double peak = 0.0, before[32] = {0.0}, share[32];

  params.dynamic = true;
  rig = cf_rig_open_to(test, test->engine, &video, &destination, &params, 2);
  for (size_t i = 0; rig && i < sizeof frames / sizeof frames[0]; i++) {
    double measured, changed = 0.0;

    fill_greys(source, frames[i].brightest, frames[i].bend);
    measured = measure(source, share);
    for (int k = 0; k < 32; k++) {
      changed += 0.5 * fabs(share[k] - before[k]);
      before[k] = share[k];
    }
    CF_EXPECT(test, i == 0 || frames[i].fresh || (changed > 0.4) == frames[i].cut,
              "frame %zu changes by %g", i, changed);
    if (frames[i].cut)
      peak = measured;
    else
      peak += (1.0 - exp(-frames[i].seconds / (measured > peak ? 0.25 : 1.5))) * (measured - peak);
    set.peak = fmin(0.1 * (exp2(peak) - 1.0), 10000.0);
    cf_test_context(test, "frame %zu: %g of %g stops, %g nits", i, peak, measured, set.peak);
    cf_rig_set_pace(rig, frames[i].seconds, frames[i].fresh);
    want = result_of(test, test->engine, &set, source, &destination, CF_LAYOUT_ALIGNED);
    if (want && cf_rig_run(rig, source, got))
      cf_test_compare(test, got, want, 1.0);
    cf_picture_free(want);
  }
  cf_rig_close(rig);
  cf_picture_free(source);
  cf_picture_free(got);
}

static const CfTestCase cases[] = {
    {"grey-stays-grey", grey_stays_grey, CF_EACH_ENGINE},
    {"flat-frames-are-monotone", flat_frames_are_monotone, CF_EACH_ENGINE},
    {"sdr-comes-back", sdr_comes_back, CF_EACH_ENGINE},
    {"bright-colours-are-smooth", bright_colours_are_smooth, CF_EACH_ENGINE},
    {"peak-is-followed", peak_is_followed, CF_EACH_ENGINE},
    {"edges-have-no-halo", edges_have_no_halo, CF_EACH_ENGINE},
    {0},
};

int main(int argc, char **argv)
{
  static const CfTestSuite suite = {&cf_tonemap, cases};

  return cf_test_main(&suite, argc, argv);
}
