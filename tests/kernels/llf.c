/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Local Laplacian filter: the reference against the paper's algorithm, the other engines against
 * the reference.
 */
#include "llf.h"

#include <stdio.h>

#include "harness.h"
#include "plan/llf_plan.h"
#include "llf_curves.h"
#include "llf_pictures.h"
#include "naive_llf_picture.h"

/* ---- The reference against the paper ---- */

/* The reference equals the paper's algorithm up to ties of rounding. */
static void compare_with_paper(CfTest *test, CfFormat format, int width, int height,
                               const CfLlfParams *params, CfPattern pattern)
{
  CfTestPicture *source = picture(format, width, height, CF_LAYOUT_PADDED, pattern, test->seed);
  CfTestPicture *want = cf_picture_copy(source, CF_LAYOUT_TIGHT);
  CfTestPicture *got;

  say(test, params, &source->video, cf_pattern_name(pattern));
  naive_picture(source, want, params);
  got = cf_test_reference(test, params, source);
  if (got) {
    const CfDifference difference = cf_picture_compare(got, want, 1.0);

    cf_test_compare(test, got, want, 1.0);
    CF_EXPECT(test, difference.differing <= difference.samples / 50, "%ld of %ld samples differ",
              difference.differing, difference.samples);
  }
  cf_picture_free(source);
  cf_picture_free(want);
  cf_picture_free(got);
}

static void reference_is_the_paper(CfTest *test)
{
  const CfSize sizes[] = {{13, 11}, {16, 9}, {2, 3}, {21, 5}, {7, 18}};

  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
    for (int curve = 0; curve < CURVES; curve++) {
      CfLlfParams params = curve_params(curve, CF_LLF_EXACT);

      params.levels = (int)i % 3;
      params.noise_floor = curve % 2 ? 0.03 : 0.01;
      vary_finish(&params, (int)i + curve);
      compare_with_paper(test, CF_FORMAT_GRAY16_LE, sizes[i].width, sizes[i].height, &params,
                         curve % 2 ? CF_PATTERN_NOISE : CF_PATTERN_PHOTO);
    }
}

static void reference_colors(CfTest *test)
{
  for (int mode = CF_LLF_LUMINANCE; mode <= CF_LLF_RGB; mode++) {
    CfLlfParams params = curve_params(mode, CF_LLF_EXACT);

    params.color_mode = mode;
    if (!has_mode(test->format, CF_LLF_EXACT, (CfLlfColorMode)mode))
      continue;
    compare_with_paper(test, test->format, 11, 9, &params, CF_PATTERN_NOISE);
    params = curve_params(4, CF_LLF_EXACT);
    params.color_mode = mode;
    params.protect = false;
    compare_with_paper(test, test->format, 6, 7, &params, CF_PATTERN_EXTREMES);
    params.protect = true;
    params.strength = 0.6;
    compare_with_paper(test, test->format, 6, 7, &params, CF_PATTERN_EXTREMES);
  }
}

/* ---- Every engine ---- */

static void identity_in_every_bit(CfTest *test)
{
  for (const CfSize *size = cf_test_sizes; size->width; size++)
    for (int method = CF_LLF_FAST; method <= CF_LLF_EXACT; method++)
      for (int mode = CF_LLF_LUMINANCE; mode <= CF_LLF_RGB; mode++) {
        CfLlfParams params = defaults();
        CfTestPicture *source, *result;

        /* The time of the exact algorithm grows fast with the size. */
        if (!has_mode(test->format, (CfLlfMethod)method, (CfLlfColorMode)mode) ||
            !has_method(test, (CfLlfMethod)method) ||
            (method == CF_LLF_EXACT && size->width * size->height > 300))
          continue;
        params.alpha = params.beta = 1.0;
        params.method = method;
        params.color_mode = mode;
        source = picture(test->format, size->width, size->height, CF_LAYOUT_UNALIGNED,
                         CF_PATTERN_NOISE, test->seed);
        result = cf_picture_new(&source->video, CF_LAYOUT_PADDED);
        say(test, &params, &source->video, "noise");
        if (cf_test_filter(test, test->engine, &params, 2, source, result))
          cf_test_compare_exact(test, result, source);
        cf_picture_free(source);
        cf_picture_free(result);
      }
}

/* CUDA's fast engine rounds the linear part of the coarsest level, beta - 1 times the picture, to
 * the 11 bits of fp16: for beta = 5 that is half a code of 10 bits and more. */
static bool rounds_constants(const CfTest *test, const CfLlfParams *params)
{
  return test->engine->device_memory && params->method == CF_LLF_FAST && params->beta > 1.0 &&
         cf_format_info(test->format)->bits == 10;
}

static void constants_stay(CfTest *test)
{
  for (int method = CF_LLF_FAST; method <= CF_LLF_EXACT; method++)
    for (int mode = CF_LLF_LUMINANCE; mode <= CF_LLF_RGB; mode++)
      for (int i = 0; i < 4; i++) {
        CfLlfParams params = curve_params(i == 3 ? 4 : 1, (CfLlfMethod)method);
        CfTestPicture *source, *result;

        params.color_mode = mode;
        params.harmonics = i == 2 ? 16 : 8;
        if (!has_mode(test->format, (CfLlfMethod)method, (CfLlfColorMode)mode) ||
            !has_method(test, (CfLlfMethod)method))
          continue;
        source = picture(test->format, 29, 22, CF_LAYOUT_PADDED, CF_PATTERN_CONSTANT,
                         test->seed + (uint64_t)i);
        result = cf_picture_new(&source->video, CF_LAYOUT_UNALIGNED);
        say(test, &params, &source->video, "constant");
        if (cf_test_filter(test, test->engine, &params, 1, source, result)) {
          if (rounds_constants(test, &params))
            cf_test_compare(test, result, source, 1.0);
          else
            cf_test_compare_exact(test, result, source);
        }
        cf_picture_free(source);
        cf_picture_free(result);
      }
}

static void exact_is_the_reference(CfTest *test)
{
  const CfSize sizes[] = {{1, 1}, {1, 9}, {2, 2}, {3, 5}, {17, 6}, {34, 27}};
  int turn = (int)(test->seed % 7);
  long samples = 0, differing = 0;

  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
    for (int mode = CF_LLF_LUMINANCE; mode <= CF_LLF_RGB; mode++) {
      const CfPattern patterns[] = {CF_PATTERN_NOISE, CF_PATTERN_EXTREMES, CF_PATTERN_PHOTO};

      for (int p = 0; p < 3; p++, turn++) {
        CfLlfParams params = curve_params(turn % CURVES, CF_LLF_EXACT);
        CfTestPicture *source, *want, *got;

        params.color_mode = mode;
        params.levels = turn % 4;
        params.noise_floor = turn % 3 * 0.02 + 0.005;
        vary_finish(&params, turn);
        if (!has_mode(test->format, CF_LLF_EXACT, (CfLlfColorMode)mode))
          continue;
        source = picture(test->format, sizes[i].width, sizes[i].height,
                         turn % 2 ? CF_LAYOUT_UNALIGNED : CF_LAYOUT_TIGHT, patterns[p], test->seed);
        got = cf_picture_new(&source->video, turn % 2 ? CF_LAYOUT_TIGHT : CF_LAYOUT_PADDED);
        say(test, &params, &source->video, cf_pattern_name(patterns[p]));
        want = cf_test_reference(test, &params, source);
        if (want && cf_test_filter(test, test->engine, &params, 2, source, got)) {
          const CfDifference difference = cf_picture_compare(got, want, 1.0);

          cf_test_compare(test, got, want, 1.0);
          samples += difference.samples;
          differing += difference.differing;
        }
        cf_picture_free(source);
        cf_picture_free(want);
        cf_picture_free(got);
      }
    }
  /* Only ties of rounding; single precision is visible in 16-bit samples. */
  CF_EXPECT(test, differing <= samples / 100 || cf_format_info(test->format)->bits > 12,
            "%ld of %ld samples differ", differing, samples);
}

/* The sampled algorithm again, through the samples, tables and colours of every format. */
static void sampled_colors(CfTest *test)
{
  for (int mode = CF_LLF_LUMINANCE; mode <= CF_LLF_SEPARATE; mode++)
    for (int curve = 0; curve < CURVES; curve++) {
      CfTestPicture *source = picture(test->format, 27, 19, CF_LAYOUT_PADDED,
                                      curve % 2 ? CF_PATTERN_NOISE : CF_PATTERN_PHOTO, test->seed);
      CfTestPicture *want = cf_picture_copy(source, CF_LAYOUT_TIGHT);
      CfTestPicture *got = cf_picture_new(&source->video, CF_LAYOUT_UNALIGNED);
      CfLlfParams params = curve_params(curve, CF_LLF_SAMPLED);

      params.color_mode = mode;
      params.intensity_levels = 20;
      vary_finish(&params, curve + mode);
      say(test, &params, &source->video, curve % 2 ? "noise" : "photo");
      naive_picture(source, want, &params);
      if (cf_test_filter(test, test->engine, &params, 2, source, got)) {
        const CfDifference difference = cf_picture_compare(got, want, 1.0);

        /* The gain of colours in the dark amplifies 100 dB to more than a 16-bit code. */
        if (cf_format_info(test->format)->bits > 12)
          CF_EXPECT(test, difference.psnr >= 90.0, "%.1f dB", difference.psnr);
        else
          cf_test_compare(test, got, want, 1.0);
      }
      cf_picture_free(source);
      cf_picture_free(want);
      cf_picture_free(got);
    }
}

/* PSNR of an engine's result for `source` relative to `want`, dB. */
static double psnr_against(CfTest *test, const CfTestPicture *want, const CfTestPicture *source,
                           const CfLlfParams *params)
{
  CfTestPicture *got = cf_picture_new(&source->video, source->layout);
  double psnr = 0.0;

  if (cf_test_filter(test, test->engine, params, 2, source, got))
    psnr = cf_picture_compare(got, want, 0.0).psnr;
  cf_picture_free(got);
  return psnr;
}

static const CfPattern accuracy_patterns[] = {CF_PATTERN_PHOTO, CF_PATTERN_NOISE,
                                              CF_PATTERN_RAMPS, CF_PATTERN_BARS,
                                              CF_PATTERN_DOTS,  CF_PATTERN_EXTREMES};
enum { ACCURACY_PATTERNS = sizeof accuracy_patterns / sizeof accuracy_patterns[0] };

static void accuracy(CfTest *test)
{
  for (int p = 0; p < ACCURACY_PATTERNS; p++) {
    const CfPattern pattern = accuracy_patterns[p];
    CfTestPicture *source =
        picture(CF_FORMAT_GRAY16_LE, 72, 56, CF_LAYOUT_ALIGNED, pattern, test->seed);

    for (int curve = 0; curve < CURVES; curve++) {
      CfLlfParams params = bare_params(curve, CF_LLF_EXACT);
      CfTestPicture *want = cf_test_reference(test, &params, source);
      double exact, fast;

      if (!want)
        continue;
      say(test, &params, &source->video, cf_pattern_name(pattern));
      exact = psnr_against(test, want, source, &params);
      CF_EXPECT(test, exact >= 90.0, "exact: %.1f dB", exact);
      params.method = CF_LLF_FAST;
      fast = psnr_against(test, want, source, &params);
      CF_EXPECT(test, fast >= curves[curve].fast_psnr, "fast: %.1f dB", fast);
      if (test->verbose)
        printf("# exact %.1f dB, fast %.1f dB\n", exact, fast);
      cf_picture_free(want);
    }
    cf_picture_free(source);
  }
}

static void sampled_is_matlabs_recipe(CfTest *test)
{
  for (int p = 0; p < ACCURACY_PATTERNS; p++)
    for (int curve = 0; curve < CURVES; curve++) {
      CfTestPicture *source =
          picture(CF_FORMAT_GRAY16_LE, 45, 38, CF_LAYOUT_ALIGNED, accuracy_patterns[p], test->seed);
      CfTestPicture *want = cf_picture_new(&source->video, CF_LAYOUT_ALIGNED);
      CfLlfParams params = bare_params(curve, CF_LLF_SAMPLED);
      NaiveImage image = naive_component(source, CF_ROLE_LUMA);
      NaivePyramid oracle;
      double psnr;

      params.intensity_levels = (const int[]){0, 2, 9, 16, 17, 40, 256}[(curve + p) % 7];
      params.levels = curve % 3;
      params.reach = (const double[]){0.0, 0.3, 0.06}[p % 3];
      oracle = naive_llf_sampled(&image, &params, cf_llf_intensity_levels(&params));
      naive_store(want, CF_ROLE_LUMA, &oracle.image[0]);
      psnr = psnr_against(test, want, source, &params);
      say(test, &params, &source->video, cf_pattern_name(accuracy_patterns[p]));
      CF_EXPECT(test, psnr >= 90.0, "%.1f dB", psnr);
      if (test->verbose)
        printf("# sampled %.1f dB\n", psnr);
      cf_picture_free(source);
      cf_picture_free(want);
      free(image.value);
      naive_free(&oracle);
    }
}

static void more_terms_are_closer(CfTest *test)
{
  CfTestPicture *source =
      picture(CF_FORMAT_GRAY16_LE, 72, 56, CF_LAYOUT_ALIGNED, CF_PATTERN_PHOTO, test->seed);
  const int harmonics[] = {2, 3, 4, 5, 8, 9, 12, 16};
  CfLlfParams params = bare_params(3, CF_LLF_EXACT);
  CfTestPicture *want = cf_test_reference(test, &params, source);
  double before = 0.0;

  params.method = CF_LLF_FAST;
  for (int i = 0; want && i < 8; i++) {
    double psnr;

    params.harmonics = harmonics[i];
    say(test, &params, &source->video, "photo");
    psnr = psnr_against(test, want, source, &params);
    /* The fit minimises the error of the curve, not of a picture: past 60 dB the order may vary. */
    CF_EXPECT(test, psnr > before - 0.5 || psnr > 60.0, "%.1f dB, with fewer terms %.1f dB", psnr,
              before);
    before = psnr;
  }
  CF_EXPECT(test, before > 70.0, "16 harmonics reach %.1f dB", before);
  cf_picture_free(source);
  cf_picture_free(want);
}

/* ---- Moving pictures ---- */

/* The standard deviation of the samples away from the borders. */
static double deviation(const CfTestPicture *picture)
{
  const int width = picture->video.width, height = picture->video.height;
  double sum = 0.0, squares = 0.0;
  int count = 0;

  for (int y = 8; y < height - 8; y++)
    for (int x = 8; x < width - 8; x++, count++) {
      const double code = cf_picture_get(picture, 0, x, y, 0);
      sum += code;
      squares += code * code;
    }
  return sqrt(squares / count - sum / count * (sum / count));
}

/* Texture under a fade, or a camera's changing exposure: its gain must not depend on the mean. */
static void fades_do_not_pulse(CfTest *test)
{
  const CfVideo video = cf_video(CF_FORMAT_GRAY16_LE, 96, 80);
  CfTestPicture *source = cf_picture_new(&video, CF_LAYOUT_ALIGNED);
  CfTestPicture *result = cf_picture_new(&video, CF_LAYOUT_ALIGNED);
  CfLlfParams params = defaults();
  double least = INFINITY, most = 0.0;

  params.alpha = 0.4;
  say(test, &params, &video, "texture of +-0.03");
  for (int step = 0; step <= 20; step++) {
    CfRandom random = {42};

    for (int y = 0; y < video.height; y++)
      for (int x = 0; x < video.width; x++) {
        const double value = 0.3 + 0.01 * step + 0.06 * (cf_random_unit(&random) - 0.5);
        cf_picture_set(source, 0, x, y, 0, (int)(value * 65535.0 + 0.5));
      }
    if (cf_test_filter(test, test->engine, &params, 1, source, result)) {
      const double gain = deviation(result) / deviation(source);
      least = fmin(least, gain);
      most = fmax(most, gain);
    }
  }
  CF_EXPECT(test, least > 1.5, "a gain of %g is no detail enhancement", least);
  CF_EXPECT(test, most <= 1.01 * least, "the gain moves between %g and %g", least, most);
  cf_picture_free(source);
  cf_picture_free(result);
}

/* A bright object in one corner must not change the opposite quadrant: nothing depends on
 * statistics of the frame. (The picture has to be so large that the object hardly changes its
 * mean.) */
static void bright_objects_stay_local(CfTest *test)
{
  const int width = 640, height = 480;

  for (int method = CF_LLF_FAST; method <= CF_LLF_SAMPLED; method++) {
    CfTestPicture *source = picture(CF_FORMAT_GRAY16_LE, width, height, CF_LAYOUT_ALIGNED,
                                    CF_PATTERN_PHOTO, test->seed);
    CfTestPicture *before = cf_picture_new(&source->video, CF_LAYOUT_ALIGNED);
    CfTestPicture *after = cf_picture_new(&source->video, CF_LAYOUT_ALIGNED);
    CfLlfParams params = curve_params(1, (CfLlfMethod)method);
    int largest = 0;

    say(test, &params, &source->video, "photo with a white patch");
    cf_test_filter(test, test->engine, &params, 2, source, before);
    for (int y = 0; y < 8; y++)
      for (int x = 0; x < 8; x++)
        cf_picture_set(source, 0, x, y, 0, 65535);
    cf_test_filter(test, test->engine, &params, 2, source, after);
    for (int y = height / 2; y < height; y++)
      for (int x = width / 2; x < width; x++) {
        const int change =
            abs(cf_picture_get(after, 0, x, y, 0) - cf_picture_get(before, 0, x, y, 0));
        largest = change > largest ? change : largest;
      }
    CF_EXPECT(test, largest < 0.1 * 257.0, "moves by %g 8-bit codes", largest / 257.0);
    cf_picture_free(source);
    cf_picture_free(before);
    cf_picture_free(after);
  }
}

/* ---- State ---- */

static const CfTestCase cases[] = {
    {"reference-is-the-paper", reference_is_the_paper, CF_ONCE},
    {"reference-colors", reference_colors, CF_EACH_FORMAT},
    {"identity-in-every-bit", identity_in_every_bit, CF_EACH_ENGINE | CF_EACH_FORMAT},
    {"constants-stay", constants_stay, CF_EACH_ENGINE | CF_EACH_FORMAT},
    {"exact-is-the-reference", exact_is_the_reference, CF_EACH_OTHER_ENGINE | CF_EACH_FORMAT},
    {"sampled-colors", sampled_colors, CF_EACH_OTHER_ENGINE | CF_EACH_FORMAT},
    {"accuracy", accuracy, CF_EACH_OTHER_ENGINE},
    {"sampled-is-matlabs-recipe", sampled_is_matlabs_recipe, CF_EACH_OTHER_ENGINE},
    {"more-terms-are-closer", more_terms_are_closer, CF_EACH_OTHER_ENGINE},
    {"fades-do-not-pulse", fades_do_not_pulse, CF_EACH_OTHER_ENGINE},
    {"bright-objects-stay-local", bright_objects_stay_local, CF_EACH_OTHER_ENGINE},
    {NULL, NULL, 0},
};

int main(int argc, char **argv)
{
  const CfTestSuite suite = {&cf_llf, cases};

  return cf_test_main(&suite, argc, argv);
}
