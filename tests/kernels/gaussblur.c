/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Gaussian blur: the reference against the definition, the other engines against the reference.
 */
#include "gaussblur.h"

#include <stdio.h>
#include <string.h>

#include "bands.h"
#include "naive_fir.h"

#define BORDERS 5

static CfGaussblurParams blur(double sigma, double vertical, CfBorder border)
{
  return (CfGaussblurParams){.sigma = sigma, .sigma_vertical = vertical, .border = border};
}

static void say(CfTest *test, const CfGaussblurParams *params, const CfTestPicture *source,
                CfPattern pattern)
{
  cf_test_context(test, "sigma %g, vertical %g, border %s, %s, %dx%d", params->sigma,
                  params->sigma_vertical, cf_border_choices[params->border].nick,
                  cf_pattern_name(pattern), source->video.width, source->video.height);
}

static CfTestPicture *picture(CfFormat format, int width, int height, CfLayout layout,
                              CfPattern pattern, CfAlphaFill alpha, uint64_t seed)
{
  const CfVideo video = cf_video(format, width, height);
  CfTestPicture *result = cf_picture_new(&video, layout);

  cf_picture_fill(result, pattern, alpha, seed);
  return result;
}

/* ---- The reference against the definition ---- */

static void naive_gaussian(NaiveTaps *taps, double sigma, bool sharpen)
{
  const int radius = (int)ceil(4.0 * sigma);
  double sum = 0.0;

  taps->count = 2 * radius + 1;
  taps->anchor = radius;
  for (int i = -radius; i <= radius; i++)
    sum += taps->tap[i + radius] = i ? exp(-i * i / (2.0 * sigma * sigma)) : 1.0;
  for (int i = -radius; i <= radius; i++)
    taps->tap[i + radius] =
        (sharpen ? -1.0 : 1.0) * taps->tap[i + radius] / sum + (sharpen && i == 0 ? 2.0 : 0.0);
}

static void naive_blur(NaiveFilter *filter, const CfGaussblurParams *params, int shift_x,
                       int shift_y)
{
  const double vertical =
      params->sigma_vertical == -1.0 ? fabs(params->sigma) : params->sigma_vertical;

  filter->border = (CfBorder)params->border;
  filter->border_color = 0xff000000;
  filter->scale = 1.0;
  filter->planes = 7;
  naive_gaussian(&filter->row, fabs(params->sigma) / (1 << shift_x), params->sigma < 0.0);
  naive_gaussian(&filter->column, vertical / (1 << shift_y), params->sigma < 0.0);
}

/* The largest distance of `got` from the exact value, over all planes. */
static double distance(const CfGaussblurParams *params, const CfTestPicture *source,
                       const CfTestPicture *got)
{
  const CfFormatInfo *info = cf_format_info(source->video.format);
  double largest = 0.0;

  for (int p = 0; p < info->planes; p++) {
    static NaiveFilter filter;
    Naive naive;

    memset(&filter, 0, sizeof filter);
    naive_blur(&filter, params, info->plane[p].subsampling_x, info->plane[p].subsampling_y);
    naive = naive_plane(&filter, source, p);
    largest = fmax(largest, naive_distance(&naive, got));
  }
  return largest;
}

static void reference_is_the_definition(CfTest *test)
{
  const CfSize sizes[] = {{1, 1}, {1, 7}, {7, 1}, {2, 2}, {3, 5}, {17, 9}};
  const double sigmas[][2] = {{0.3, -1}, {1.0, -1}, {2.6, 0.7}, {-1.3, -1}, {-0.8, 0}, {0, 1.5}};

  for (int i = 0; i < 6; i++) {
    for (int border = 0; border < BORDERS; border++) {
      const int which = (i + border) % 6;
      const CfPattern pattern = (CfPattern)((i * BORDERS + border) % CF_PATTERN_COUNT);
      const CfGaussblurParams params = blur(sigmas[which][0], sigmas[which][1], (CfBorder)border);
      CfTestPicture *source = picture(test->format, sizes[i].width, sizes[i].height,
                                      CF_LAYOUT_PADDED, pattern, (CfAlphaFill)(i % 2), test->seed);
      CfTestPicture *got = cf_test_reference(test, &params, source);

      say(test, &params, source, pattern);
      if (got) {
        const double worst = distance(&params, source, got);
        CF_EXPECT(test, worst <= 0.5 + 1e-6, "%g from the definition", worst);
      }
      cf_picture_free(got);
      cf_picture_free(source);
    }
  }
}

/* ---- Every engine ---- */

static void run_and_compare(CfTest *test, const CfGaussblurParams *params,
                            const CfTestPicture *source, CfPattern pattern)
{
  CfTestPicture *want = cf_test_reference(test, params, source);
  CfTestPicture *got = cf_picture_new(&source->video, source->layout);

  say(test, params, source, pattern);
  if (want && cf_test_filter(test, test->engine, params, 2, source, got))
    cf_test_compare(test, got, want, 1.0);
  cf_picture_free(got);
  cf_picture_free(want);
}

static void agrees_with_reference(CfTest *test)
{
  const double sigmas[] = {0.3, 0.7, 1.0, 2.0, 3.3, 5.0, 8.5, -0.6, -2.0};
  int round = 0;

  for (const CfSize *size = cf_test_sizes; size->width; size++) {
    for (int border = 0; border < BORDERS; border++, round++) {
      const CfPattern pattern = (CfPattern)(round % CF_PATTERN_COUNT);
      const double sigma = sigmas[cf_random_below(&test->random, 9)];
      const double vertical = round % 4 ? -1.0 : 4.0 * cf_random_unit(&test->random);
      const CfGaussblurParams params = blur(sigma, vertical, (CfBorder)border);
      CfTestPicture *source =
          picture(test->format, size->width, size->height, (CfLayout)(round % CF_LAYOUT_COUNT),
                  pattern, (CfAlphaFill)(round % 5 % CF_ALPHA_COUNT), test->seed);

      run_and_compare(test, &params, source, pattern);
      cf_picture_free(source);
    }
  }
}

/* Kernels of up to 2001 taps, many times larger than the picture. */
static void agrees_at_large_sigma(CfTest *test)
{
  const double sigmas[] = {15.0, 40.0, 250.0, 250.0, 70.0, 6.5};
  const CfSize sizes[] = {{33, 17}, {5, 4}, {1, 1}, {33, 17}, {90, 30}, {130, 40}};

  for (int i = 0; i < 6; i++) {
    for (int border = 0; border < BORDERS; border++) {
      const CfPattern pattern = (i + border) % 2 ? CF_PATTERN_EXTREMES : CF_PATTERN_RAMPS;
      const CfGaussblurParams params = blur(i < 3 && border % 2 ? -sigmas[i] : sigmas[i],
                                            i == 4 && border == 1 ? 9.0 : -1.0, (CfBorder)border);
      CfTestPicture *source = picture(test->format, sizes[i].width, sizes[i].height,
                                      CF_LAYOUT_TIGHT, pattern, CF_ALPHA_RANDOM, test->seed);

      run_and_compare(test, &params, source, pattern);
      cf_picture_free(source);
    }
  }
}

/* Borders that read the picture several times, in pictures that are not small. */
static void agrees_outside_of_the_picture(CfTest *test)
{
  const CfFormat formats[] = {CF_FORMAT_RGBA, CF_FORMAT_I420, CF_FORMAT_GRAY16_LE, CF_FORMAT_RGB};
  const double sigmas[][2] = {{250, -1}, {100, -1}, {6, 120}, {60, 250}, {30, -1}, {-150, -1}};
  const CfSize sizes[] = {{203, 97}, {97, 203}, {640, 31}, {31, 401}};

  for (int i = 0; i < 36; i++) {
    const CfSize *size = &sizes[i % 4];
    const CfGaussblurParams params =
        blur(sigmas[i % 6][0], sigmas[i % 6][1], (CfBorder)(CF_BORDER_REFLECT + i / 4 % 3));
    CfTestPicture *source = picture(formats[i / 2 % 4], size->width, size->height, CF_LAYOUT_PADDED,
                                    i % 3 ? CF_PATTERN_BARS : CF_PATTERN_NOISE,
                                    i % 5 ? CF_ALPHA_OPAQUE : CF_ALPHA_RANDOM, test->seed);

    run_and_compare(test, &params, source, i % 3 ? CF_PATTERN_BARS : CF_PATTERN_NOISE);
    cf_picture_free(source);
  }
}

static void constant_stays(CfTest *test)
{
  const double sigmas[] = {0.3, 1.0, 2.0, 4.7, 7.5, 12.0, 60.0, -3.0};

  for (int i = 0; i < 8; i++) {
    for (int border = 0; border < CF_BORDER_CONSTANT; border++) {
      const CfGaussblurParams params = blur(sigmas[i], -1.0, (CfBorder)border);
      const CfFormatInfo *info = cf_format_info(test->format);
      CfTestPicture *source = picture(test->format, 67, 13, CF_LAYOUT_UNALIGNED,
                                      CF_PATTERN_CONSTANT, CF_ALPHA_OPAQUE, test->seed + i);
      CfTestPicture *got = cf_picture_new(&source->video, source->layout);

      if (border == CF_BORDER_REFLECT) {
        for (int role = 0; role < CF_ROLE_PADDING; role++)
          cf_picture_set_role(source, (CfRole)role, cf_max_code(info));
      } else if (border == CF_BORDER_WRAP && info->alpha) {
        cf_picture_set_role(source, CF_ROLE_ALPHA, 1 + cf_random_below(&test->random, 255));
      }
      say(test, &params, source, CF_PATTERN_CONSTANT);
      if (cf_test_filter(test, test->engine, &params, 1, source, got))
        cf_test_compare_exact(test, got, source);
      cf_picture_free(got);
      cf_picture_free(source);
    }
  }
}

/* As `distance`, for GRAY8 and the border replicate, one direction after the other: two-dimensional
 * sums take too long for large sigmas. */
static double separable_distance(double sigma, const CfTestPicture *source,
                                 const CfTestPicture *got)
{
  static double rows[128][128];
  static NaiveTaps taps;
  const int width = source->video.width, height = source->video.height;
  double largest = 0.0;

  naive_gaussian(&taps, sigma, false);
  for (int y = 0; y < height; y++) {
    for (int x = 0; x < width; x++) {
      rows[y][x] = 0.0;
      for (int i = 0; i < taps.count; i++)
        rows[y][x] +=
            taps.tap[i] *
            cf_picture_get(source, 0, naive_fold(CF_BORDER_REPLICATE, x + i - taps.anchor, width),
                           y, 0);
    }
  }
  for (int y = 0; y < height; y++) {
    for (int x = 0; x < width; x++) {
      double value = 0.0;

      for (int j = 0; j < taps.count; j++)
        value +=
            taps.tap[j] * rows[naive_fold(CF_BORDER_REPLICATE, y + j - taps.anchor, height)][x];
      largest = fmax(largest, fabs(cf_picture_get(got, 0, x, y, 0) - value));
    }
  }
  return largest;
}

/* The exact value, not only its rounding: this error accumulates in a chain of filters. */
static void eight_bits_are_accurate(CfTest *test)
{
  const double sigmas[] = {0.4, 0.8, 1.0, 2.0, 3.0, 4.9, 5.0, 7.0, 7.9, 8.1, 11.0, 16.0, 33.0};
  const CfPattern patterns[] = {CF_PATTERN_NOISE, CF_PATTERN_BARS, CF_PATTERN_CHECKER,
                                CF_PATTERN_DOTS, CF_PATTERN_EXTREMES};
  double worst = 0.0;

  for (int i = 0; i < 13; i++) {
    for (int j = 0; j < 5; j++) {
      const CfGaussblurParams params = blur(sigmas[i], -1.0, CF_BORDER_REPLICATE);
      CfTestPicture *source = picture(CF_FORMAT_GRAY8, 70, 41, CF_LAYOUT_ALIGNED, patterns[j],
                                      CF_ALPHA_OPAQUE, test->seed);
      CfTestPicture *got = cf_picture_new(&source->video, source->layout);

      if (cf_test_filter(test, test->engine, &params, 1, source, got)) {
        const double off = separable_distance(sigmas[i], source, got);

        say(test, &params, source, patterns[j]);
        CF_EXPECT(test, off <= 0.6, "%g from the real value", off);
        worst = fmax(worst, off);
      }
      cf_picture_free(got);
      cf_picture_free(source);
    }
  }
  cf_test_context(test, "at most %.4f from the real value", worst);
}

static void opaque_is_as_without_alpha(CfTest *test)
{
  const double sigmas[] = {0.5, 2.0, 6.0, 20.0, -2.0};

  for (int i = 0; i < 5; i++) {
    for (int border = 0; border < BORDERS; border++) {
      const CfGaussblurParams params = blur(sigmas[i], -1.0, (CfBorder)border);
      CfTestPicture *with = picture(CF_FORMAT_RGBA, 65, 33, CF_LAYOUT_PADDED, CF_PATTERN_NOISE,
                                    CF_ALPHA_OPAQUE, test->seed);
      const CfVideo video = cf_video(CF_FORMAT_RGBx, 65, 33);
      CfTestPicture *without = cf_picture_new(&video, CF_LAYOUT_PADDED);
      CfTestPicture *got_with = cf_picture_new(&with->video, CF_LAYOUT_PADDED);
      CfTestPicture *got_without = cf_picture_new(&video, CF_LAYOUT_PADDED);

      for (int y = 0; y < 33; y++)
        memcpy(without->planes.data[0] + y * without->planes.stride[0],
               with->planes.data[0] + y * with->planes.stride[0], 4 * 65);
      say(test, &params, with, CF_PATTERN_NOISE);
      if (cf_test_filter(test, test->engine, &params, 2, with, got_with) &&
          cf_test_filter(test, test->engine, &params, 2, without, got_without)) {
        for (int y = 0; y < 33; y++) {
          for (int x = 0; x < 65; x++)
            cf_picture_set(got_without, 0, x, y, 3, 255);
          CF_EXPECT(test,
                    memcmp(got_with->planes.data[0] + y * got_with->planes.stride[0],
                           got_without->planes.data[0] + y * got_without->planes.stride[0],
                           4 * 65) == 0,
                    "row %d differs", y);
        }
      }
      cf_picture_free(with);
      cf_picture_free(without);
      cf_picture_free(got_with);
      cf_picture_free(got_without);
    }
  }
}

static void sigma_0_copies(CfTest *test)
{
  const CfGaussblurParams params = blur(0.0, -1.0, CF_BORDER_CONSTANT);
  CfTestPicture *source = picture(test->format, 35, 7, CF_LAYOUT_UNALIGNED, CF_PATTERN_NOISE,
                                  CF_ALPHA_RANDOM, test->seed);
  CfTestPicture *got = cf_picture_new(&source->video, CF_LAYOUT_PADDED);

  if (cf_test_filter(test, test->engine, &params, 1, source, got))
    cf_test_compare_exact(test, got, source);
  cf_picture_free(got);
  cf_picture_free(source);
}

/* One state that is updated to sigma after sigma gives the same results as new states. */
static void update_takes_over(CfTest *test)
{
  const double sigmas[][2] = {{1.0, -1}, {9.0, 0.5}, {0.0, -1}, {-2.0, -1}, {60.0, 3}, {2.0, -1}};
  const CfFormat formats[] = {CF_FORMAT_I420, CF_FORMAT_RGBA, CF_FORMAT_P010_10LE};

  for (int f = 0; f < 3; f++) {
    CfTestPicture *source = picture(formats[f], 131, 35, CF_LAYOUT_PADDED, CF_PATTERN_NOISE,
                                    CF_ALPHA_RANDOM, test->seed);
    CfTestPicture *got = cf_picture_new(&source->video, CF_LAYOUT_PADDED);
    CfTestPicture *want = cf_picture_new(&source->video, CF_LAYOUT_PADDED);
    const CfGaussblurParams first = blur(0.4, -1.0, CF_BORDER_REFLECT);
    CfRig *rig = cf_rig_open(test, test->engine, &source->video, &first, 2);

    for (int i = 0; rig && i < 6; i++) {
      const CfGaussblurParams params =
          blur(sigmas[i][0], sigmas[i][1], (CfBorder)((i + f) % BORDERS));

      say(test, &params, source, CF_PATTERN_NOISE);
      if (cf_rig_update(rig, &params) && cf_rig_run(rig, source, got) &&
          cf_test_filter(test, test->engine, &params, 2, source, want))
        cf_test_compare_exact(test, got, want);
    }
    cf_rig_close(rig);
    cf_picture_free(got);
    cf_picture_free(want);
    cf_picture_free(source);
  }
}

/* The result does not depend on how a picture is divided among threads. */
static void threads_do_not_matter(CfTest *test)
{
  const CfFormat formats[] = {CF_FORMAT_NV12, CF_FORMAT_RGBx, CF_FORMAT_GRAY16_LE};
  const CfSize sizes[] = {{700, 90}, {61, 301}};

  for (int i = 0; i < 6; i++) {
    const double sigma = i == 3 ? 90.0 : i % 2 ? 2.5 : 9.0;
    const CfGaussblurParams params = blur(sigma, -1.0, (CfBorder)(i % BORDERS));
    CfTestPicture *source =
        picture(formats[i % 3], sizes[i / 3].width, sizes[i / 3].height, CF_LAYOUT_PADDED,
                CF_PATTERN_NOISE, CF_ALPHA_OPAQUE, test->seed);
    CfTestPicture *want = cf_picture_new(&source->video, CF_LAYOUT_PADDED);
    CfTestPicture *got = cf_picture_new(&source->video, CF_LAYOUT_PADDED);

    say(test, &params, source, CF_PATTERN_NOISE);
    cf_test_filter(test, test->engine, &params, 1, source, want);
    for (int threads = 2; threads <= 7; threads += 5) {
      if (cf_test_filter(test, test->engine, &params, threads, source, got))
        cf_test_compare_exact(test, got, want);
    }
    cf_picture_free(got);
    cf_picture_free(want);
    cf_picture_free(source);
  }
}

/* Half transparent in places, opaque elsewhere: tiles of one picture may use different paths. */
static void islands_of_alpha(CfTest *test)
{
  const CfVideo video = cf_video(CF_FORMAT_BGRA, 600, 150);

  for (int border = 0; border < BORDERS; border++) {
    const CfGaussblurParams params = blur(border % 2 ? 2.0 : -3.0, -1.0, (CfBorder)border);
    CfTestPicture *source = cf_picture_new(&video, CF_LAYOUT_PADDED);

    cf_picture_fill(source, CF_PATTERN_PHOTO, CF_ALPHA_OPAQUE, test->seed);
    for (int i = 0; i < 900; i++)
      cf_picture_set(source, 0, 400 + i % 30, 60 + i / 30, 3, cf_random_below(&test->random, 256));
    cf_picture_set(source, 0, border % 2 ? 0 : 599, 149, 3, 7);
    run_and_compare(test, &params, source, CF_PATTERN_PHOTO);
    cf_picture_free(source);
  }
}

/* The output changes little where sigma changes little, also through 0 and where the algorithm
 * changes: each step of the reference is bounded by the change of its taps, and the engine is
 * within 1 of it. */
static double taps_change(double from, double to)
{
  NaiveTaps a = {0}, b = {0};
  double change = 0.0;

  naive_gaussian(&a, fabs(from), from < 0.0);
  naive_gaussian(&b, fabs(to), to < 0.0);
  for (int i = -20; i <= 20; i++) {
    const int at_a = i + a.anchor, at_b = i + b.anchor;
    change += fabs((at_a >= 0 && at_a < a.count ? a.tap[at_a] : 0.0) -
                   (at_b >= 0 && at_b < b.count ? b.tap[at_b] : 0.0));
  }
  return change;
}

static void sigma_moves_smoothly(CfTest *test)
{
  CfTestPicture *source = picture(CF_FORMAT_GRAY8, 65, 31, CF_LAYOUT_ALIGNED, CF_PATTERN_PHOTO,
                                  CF_ALPHA_OPAQUE, test->seed);
  CfTestPicture *before = NULL;
  CfTestPicture *got = cf_picture_new(&source->video, source->layout);

  for (int i = -20; i <= 600; i++) {
    const double sigma = 0.1 * i;
    const CfGaussblurParams params = blur(sigma, -1.0, CF_BORDER_REPLICATE);
    CfTestPicture *want = cf_test_reference(test, &params, source);

    say(test, &params, source, CF_PATTERN_PHOTO);
    if (want && cf_test_filter(test, test->engine, &params, 1, source, got))
      cf_test_compare(test, got, want, 1.0);
    if (before && want && fabs(sigma) < 5.0) {
      /* Both axes change; the magnitude of sharpening taps along the other axis is up to 3. */
      const double change = taps_change(sigma - 0.1, sigma) * (sigma <= 0.0 ? 6.0 : 2.0);

      cf_test_compare(test, want, before, 255.0 * change + 1.0);
    }
    cf_picture_free(before);
    before = want;
  }
  cf_picture_free(before);
  cf_picture_free(got);
  cf_picture_free(source);
}

static void bands_are_the_whole(CfTest *test)
{
  const CfSize sizes[] = {{301, 230}, {64, 177}, {33, 20}, {1, 90}, {90, 3}};
  const double sigmas[] = {30.0, 12.0, 5.0, 70.0, 16.0, 2.0, 250.0};

  if (!test->engine->halo) {
    cf_test_skip(test, "the engine knows no bands");
    return;
  }
  for (int i = 0; i < 21; i++) {
    const CfSize *size = &sizes[i % 5];
    CfGaussblurParams params =
        blur(sigmas[i % 7], i % 4 == 3 ? 1.5 : -1.0, (CfBorder)(i / 2 % BORDERS));
    CfTestPicture *source = picture(test->format, size->width, size->height,
                                    i % 4 ? CF_LAYOUT_ALIGNED : CF_LAYOUT_PADDED, CF_PATTERN_NOISE,
                                    i % 3 ? CF_ALPHA_OPAQUE : CF_ALPHA_RANDOM, test->seed);

    if (i % 7 == 6) {
      params.map_mode = CF_MAP_RADIAL;
      params.map_x = params.map_y = 0.3;
      params.map_outer = 0.9;
    }
    say(test, &params, source, CF_PATTERN_NOISE);
    expect_bands_equal_whole(test, &params, source);
    cf_picture_free(source);
  }
}

static const CfTestCase cases[] = {
    {"reference-is-the-definition", reference_is_the_definition, CF_EACH_FORMAT},
    {"agrees-with-reference", agrees_with_reference, CF_EACH_OTHER_ENGINE | CF_EACH_FORMAT},
    {"agrees-at-large-sigma", agrees_at_large_sigma, CF_EACH_OTHER_ENGINE | CF_EACH_FORMAT},
    {"agrees-outside-of-the-picture", agrees_outside_of_the_picture, CF_EACH_OTHER_ENGINE},
    {"constant-stays", constant_stays, CF_EACH_ENGINE | CF_EACH_FORMAT},
    {"eight-bits-are-accurate", eight_bits_are_accurate, CF_EACH_ENGINE},
    {"opaque-is-as-without-alpha", opaque_is_as_without_alpha, CF_EACH_ENGINE},
    {"sigma-0-copies", sigma_0_copies, CF_EACH_ENGINE | CF_EACH_FORMAT},
    {"update-takes-over", update_takes_over, CF_EACH_ENGINE},
    {"threads-do-not-matter", threads_do_not_matter, CF_EACH_ENGINE},
    {"bands-are-the-whole", bands_are_the_whole, CF_EACH_OTHER_ENGINE | CF_EACH_FORMAT},
    {"islands-of-alpha", islands_of_alpha, CF_EACH_OTHER_ENGINE},
    {"sigma-moves-smoothly", sigma_moves_smoothly, CF_EACH_OTHER_ENGINE},
    {0},
};

int main(int argc, char **argv)
{
  const CfTestSuite suite = {&cf_gaussblur, cases};

  return cf_test_main(&suite, argc, argv);
}
