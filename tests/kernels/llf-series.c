/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Local Laplacian filter: the distance of engine=fast from its own sine series in double precision,
 * on pictures large enough for several tiles of any engine. tests/kernels/llf.c compares all
 * formats with the exact filter.
 */
#include "llf.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "harness.h"
#include "plan/llf_plan.h"
#include "llf_curves.h"
#include "llf_pictures.h"
#include "naive_llf_picture.h"
#ifdef CF_HAVE_CUDA
#include "cuda/llf/frame_plan.h"
#endif

typedef struct {
  int worst;
  double differing, psnr; /* share of the samples; dB relative to full range */
} LumaDifference;

static LumaDifference compare_luma(const CfTestPicture *got, const CfTestPicture *want)
{
  const int width = want->video.width, height = want->video.height;
  const double most = cf_max_code(cf_format_info(want->video.format));
  LumaDifference difference = {0};
  double squares = 0.0;

  for (int y = 0; y < height; y++)
    for (int x = 0; x < width; x++) {
      const int off = abs(cf_picture_get(got, 0, x, y, 0) - cf_picture_get(want, 0, x, y, 0));

      difference.worst = off > difference.worst ? off : difference.worst;
      difference.differing += off > 0;
      squares += off * (double)off;
    }
  difference.differing /= (double)width * height;
  difference.psnr = 10.0 * log10(most * most * width * height / fmax(squares, 1e-9));
  return difference;
}

/* The error of 16-bit planes, and of sums in them: 80 dB for 16-bit pictures, and at most a code
 * now and then for others. */
static void planes_are_fine_enough(CfTest *test)
{
  static const struct {
    CfFormat format;
    double psnr, differing;
  } bounds[] = {{CF_FORMAT_GRAY16_LE, 80.0, 1.0},
                {CF_FORMAT_GRAY8, 0.0, 0.03},
                {CF_FORMAT_NV12, 0.0, 0.03},
                {CF_FORMAT_P010_10LE, 0.0, 0.1}};

  for (size_t i = 0; i < sizeof bounds / sizeof bounds[0]; i++)
    for (int curve = 0; curve < CURVES; curve++) {
      const CfPattern pattern = curve % 3 ? CF_PATTERN_PHOTO : CF_PATTERN_NOISE;
      CfTestPicture *source =
          picture(bounds[i].format, 301, 167, CF_LAYOUT_ALIGNED, pattern, test->seed);
      CfTestPicture *got = cf_picture_new(&source->video, CF_LAYOUT_ALIGNED);
      CfLlfParams params = curve_params(curve, CF_LLF_FAST);
      CfTestPicture *want = cf_picture_copy(source, CF_LAYOUT_ALIGNED);

      params.harmonics = curve % 2 ? 8 : 4 + 2 * curve;
      vary_finish(&params, curve);
      naive_picture(source, want, &params);
      say(test, &params, &source->video, cf_pattern_name(pattern));
      if (cf_test_filter(test, test->engine, &params, 2, source, got)) {
        const LumaDifference off = compare_luma(got, want);

        CF_EXPECT(test, off.psnr >= bounds[i].psnr, "%.1f dB", off.psnr);
        CF_EXPECT(test, off.worst <= 1 || bounds[i].psnr > 0.0, "%d code values off", off.worst);
        CF_EXPECT(test, off.differing <= bounds[i].differing, "%.1f %% of the samples differ",
                  100.0 * off.differing);
        if (test->verbose)
          printf("# %s curve %d harmonics %d: %.1f dB, worst %d, %.2f %% differ\n",
                 cf_format_info(bounds[i].format)->name, curve, params.harmonics, off.psnr,
                 off.worst, 100.0 * off.differing);
      }
      cf_picture_free(source);
      cf_picture_free(want);
      cf_picture_free(got);
    }
}

/* The share of samples along each border that differ: a mistake in extending the picture would
 * disappear among all samples. */
#define BORDER      4
#define MOST_BORDER 0.03

static double differing_within(const CfTestPicture *got, const CfTestPicture *want, int x0, int y0,
                               int width, int height)
{
  int differing = 0;

  for (int y = y0; y < y0 + height; y++)
    for (int x = x0; x < x0 + width; x++)
      differing += cf_picture_get(got, 0, x, y, 0) != cf_picture_get(want, 0, x, y, 0);
  return (double)differing / width / height;
}

static void expect_alike_at_borders(CfTest *test, const CfTestPicture *got,
                                    const CfTestPicture *want)
{
  const int width = want->video.width, height = want->video.height;
  const struct {
    const char *name;
    double differing;
  } border[] = {
      {"left", differing_within(got, want, 0, 0, BORDER, height)},
      {"right", differing_within(got, want, width - BORDER, 0, BORDER, height)},
      {"top", differing_within(got, want, 0, 0, width, BORDER)},
      {"bottom", differing_within(got, want, 0, height - BORDER, width, BORDER)},
  };

  for (int i = 0; i < 4; i++) {
    CF_EXPECT(test, border[i].differing <= MOST_BORDER, "%.1f %% of the %s border differ",
              100.0 * border[i].differing, border[i].name);
    if (test->verbose)
      printf("# %dx%d %s: %.2f %%\n", width, height, border[i].name, 100.0 * border[i].differing);
  }
}

/* Levels with an odd number of samples, where the next level's last sample is on the border. */
static void borders_are_fine_enough(CfTest *test)
{
  for (int i = 0; i < 8; i++) {
    CfTestPicture *source =
        picture(CF_FORMAT_GRAY8, 61 + i, 213 + i, CF_LAYOUT_ALIGNED, CF_PATTERN_NOISE, test->seed);
    CfTestPicture *got = cf_picture_new(&source->video, CF_LAYOUT_ALIGNED);
    CfTestPicture *want = cf_picture_copy(source, CF_LAYOUT_ALIGNED);
    CfLlfParams params = curve_params(i % CURVES, CF_LLF_FAST);

    naive_picture(source, want, &params);
    say(test, &params, &source->video, "noise");
    if (cf_test_filter(test, test->engine, &params, 2, source, got))
      expect_alike_at_borders(test, got, want);
    cf_picture_free(source);
    cf_picture_free(want);
    cf_picture_free(got);
  }
}

/* Grey in three channels gives the same as the grey alone, up to the rounding of luma. */
static void grey_is_grey_in_colours(CfTest *test)
{
  static const CfFormat formats[] = {CF_FORMAT_RGBA, CF_FORMAT_BGRx, CF_FORMAT_RGB, CF_FORMAT_GBR};

  for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
    CfLlfParams params = curve_params((int)i, CF_LLF_FAST);
    CfTestPicture *grey =
        picture(CF_FORMAT_GRAY8, 203, 141, CF_LAYOUT_ALIGNED, CF_PATTERN_PHOTO, test->seed);
    CfTestPicture *want = cf_picture_copy(grey, CF_LAYOUT_ALIGNED);
    CfTestPicture *source =
        picture(formats[i], 203, 141, CF_LAYOUT_ALIGNED, CF_PATTERN_NOISE, test->seed);
    CfTestPicture *got = cf_picture_new(&source->video, CF_LAYOUT_ALIGNED);
    CfLlfComponent component[3];
    int worst = 0;

    naive_picture(grey, want, &params);
    cf_llf_components(&source->video, component);
    for (int c = 0; c < 3; c++)
      for (int y = 0; y < 141; y++)
        for (int x = 0; x < 203; x++)
          cf_picture_set(source, component[c].plane, x, y, component[c].channel,
                         cf_picture_get(grey, 0, x, y, 0));
    say(test, &params, &source->video, "grey photo");
    if (cf_test_filter(test, test->engine, &params, 2, source, got))
      for (int c = 0; c < 3; c++)
        for (int y = 0; y < 141; y++)
          for (int x = 0; x < 203; x++) {
            const int off =
                abs(cf_picture_get(got, component[c].plane, x, y, component[c].channel) -
                    cf_picture_get(want, 0, x, y, 0));
            worst = off > worst ? off : worst;
          }
    CF_EXPECT(test, worst <= 1, "%d code values off", worst);
    cf_picture_free(grey);
    cf_picture_free(want);
    cf_picture_free(source);
    cf_picture_free(got);
  }
}

/* Luma of colours may be rounded more coarsely than grey, which their gain amplifies, most where
 * they are as saturated as here: CUDA's table of 3568 rows changes 2 to 3.4 % of the samples, in
 * whole pipelines with paler pictures 2.1 %. With 11 bits it would be twice as many. */
#define MOST_COLOURS 0.04

static void expect_few_differ(CfTest *test, const CfTestPicture *got, const CfTestPicture *want)
{
  const CfDifference off = cf_picture_compare(got, want, 1.0);
  const double share = (double)off.differing / (double)off.samples;

  cf_test_compare(test, got, want, 1.0);
  CF_EXPECT(test, share <= MOST_COLOURS, "%.2f %% of the samples differ", 100.0 * share);
  if (test->verbose)
    printf("# %s: %.2f %% differ\n", cf_format_info(got->video.format)->name, 100.0 * share);
}

static void colours_are_fine_enough(CfTest *test)
{
  static const CfFormat formats[] = {CF_FORMAT_RGBx, CF_FORMAT_BGR, CF_FORMAT_GBR};

  for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
    CfTestPicture *source =
        picture(formats[i], 301, 167, CF_LAYOUT_ALIGNED, CF_PATTERN_PHOTO, test->seed);
    CfTestPicture *want = cf_picture_copy(source, CF_LAYOUT_ALIGNED);
    CfTestPicture *got = cf_picture_new(&source->video, CF_LAYOUT_ALIGNED);
    CfLlfParams params = defaults();

    params.alpha = 0.4;
    say(test, &params, &source->video, "photo");
    naive_picture(source, want, &params);
    if (cf_test_filter(test, test->engine, &params, 2, source, got))
      expect_few_differ(test, got, want);
    cf_picture_free(source);
    cf_picture_free(want);
    cf_picture_free(got);
  }
}

/* In large pictures the series would take minutes: the CPU's engine replaces it. */
static void expect_the_cpu_agrees(CfTest *test, const CfTestPicture *source,
                                  const CfLlfParams *params)
{
  CfTestPicture *want = cf_picture_new(&source->video, CF_LAYOUT_ALIGNED);
  CfTestPicture *got = cf_picture_new(&source->video, CF_LAYOUT_ALIGNED);

  say(test, params, &source->video, "photo");
  if (cf_test_filter(test, &cf_llf_cpu, params, 2, source, want) &&
      cf_test_filter(test, test->engine, params, 2, source, got))
    expect_few_differ(test, got, want);
  cf_picture_free(want);
  cf_picture_free(got);
}

/* Pictures for which GPUs use other kernels: many tiles per CTA, CTAs that share a table. */
static void large_pictures_are_alike(CfTest *test)
{
  static const CfFormat formats[] = {CF_FORMAT_RGBx, CF_FORMAT_GBR, CF_FORMAT_NV12,
                                     CF_FORMAT_P010_10LE};
  static const int harmonics[] = {8, 4, 8, 8};
  /* Sizes on both sides of the plan's thresholds (cuda/llf/tuning.h); very wide and very high ones;
   * one whose coarse levels have rows that start at multiples of 16 bytes; with the last two,
   * widths have all remainders modulo four. */
  static const int sizes[][2] = {{2595, 1763}, {1283, 727},  {1923, 1083},
                                 {1605, 909},  {16387, 301}, {301, 16387},
                                 {2688, 1601}, {1286, 722},  {1284, 730}};
  const size_t count = sizeof formats / sizeof formats[0];

  for (size_t i = 0; i < count * (sizeof sizes / sizeof sizes[0]); i++) {
    const int *const size = sizes[i / count];
    CfTestPicture *source = picture(formats[i % count], size[0], size[1], CF_LAYOUT_ALIGNED,
                                    CF_PATTERN_PHOTO, test->seed);
    CfLlfParams params = defaults();

    params.alpha = 0.4;
    params.harmonics = harmonics[i % count];
    expect_the_cpu_agrees(test, source, &params);
    cf_picture_free(source);
  }
}

#ifdef CF_HAVE_CUDA

/* Filters with the forced plan, and checks that it was used. */
static void expect_plan_agrees(CfTest *test, const CfTestPicture *source, const CfTestPicture *want,
                               const CfLlfParams *params)
{
  const CfLlfPlanOverride *const plan = &cf_llf_plan_override;
  CfTestPicture *got = cf_picture_new(&source->video, CF_LAYOUT_ALIGNED);
  CfRig *rig = cf_rig_open(test, test->engine, &source->video, params, 2);

  if (rig) {
    const char *const name = cf_rig_algorithm(rig);

    cf_test_context(test, "%dx%d %s, %s, large %d, few copies %d", source->video.width,
                    source->video.height, cf_format_info(source->video.format)->name, name,
                    plan->large, plan->few_copies);
    if (strstr(name, "mma")) {
      CF_EXPECT(test, !strstr(name, "fused") == !plan->fuse_levels_3_4,
                "levels 3 and 4 should %sbe fused", plan->fuse_levels_3_4 ? "" : "not ");
    }
    if (cf_rig_run(rig, source, got))
      expect_few_differ(test, got, want);
  }
  cf_rig_close(rig);
  cf_picture_free(got);
}

/* Each launch plan of the fast engine, forced, on a picture that is small for all of them. */
static void every_plan_is_alike(CfTest *test)
{
  static const CfFormat formats[] = {CF_FORMAT_RGBx, CF_FORMAT_NV12, CF_FORMAT_P010_10LE,
                                     CF_FORMAT_GRAY8};
  static const int ctas[] = {1, 2, 4, 8, 16};
  CfLlfParams params = defaults();

  if (strcmp(test->engine->name, "cuda") != 0)
    return;
  params.alpha = 0.4;
  for (int i = 0; i < 4; i++) {
    CfTestPicture *source =
        picture(formats[i], 645, 363, CF_LAYOUT_ALIGNED, CF_PATTERN_PHOTO, test->seed);
    CfTestPicture *want = cf_picture_new(&source->video, CF_LAYOUT_ALIGNED);

    if (cf_test_filter(test, &cf_llf_cpu, &params, 2, source, want)) {
      for (int plan = 0; plan < 5 * 8; plan++) {
        cf_llf_plan_override =
            (CfLlfPlanOverride){ctas[plan / 8], plan & 1, plan >> 1 & 1, plan >> 2 & 1, -1};
        expect_plan_agrees(test, source, want, &params);
      }
      cf_llf_plan_override = (CfLlfPlanOverride){-1, -1, -1, -1, -1};
    }
    cf_picture_free(source);
    cf_picture_free(want);
  }
}

/* 4096 columns are little more than 3840 and use the same plan: their level 4 has just over 32767
 * pixels. */
static void cinema_has_the_plan_of_4k(CfTest *test)
{
  static const int widths[] = {3840, 4096};
  CfLlfParams params = defaults();
  char plan[2][64] = {"", ""};

  for (int i = 0; i < 2; i++) {
    const CfVideo video = cf_video(CF_FORMAT_NV12, widths[i], 2160);
    CfRig *rig = cf_rig_open(test, test->engine, &video, &params, 2);

    if (rig)
      snprintf(plan[i], sizeof plan[i], "%s", cf_rig_algorithm(rig));
    cf_rig_close(rig);
  }
  CF_EXPECT(test, strcmp(plan[0], plan[1]) == 0, "3840x2160 is \"%s\", 4096x2160 \"%s\"", plan[0],
            plan[1]);
}

static void cinema_is_alike(CfTest *test)
{
  CfTestPicture *source =
      picture(CF_FORMAT_GRAY8, 4096, 2160, CF_LAYOUT_ALIGNED, CF_PATTERN_PHOTO, test->seed);
  CfLlfParams params = defaults();

  params.alpha = 0.4;
  expect_the_cpu_agrees(test, source, &params);
  cf_picture_free(source);
}

#endif

/* In a large picture with subsampled chroma, the small channels use other kernels than the large
 * one. */
static void large_pictures_by_channels_are_alike(CfTest *test)
{
  CfTestPicture *source =
      picture(CF_FORMAT_I420, 2595, 1763, CF_LAYOUT_ALIGNED, CF_PATTERN_PHOTO, test->seed);
  CfLlfParams params = defaults();

  params.alpha = 0.4;
  params.color_mode = CF_LLF_SEPARATE;
  expect_the_cpu_agrees(test, source, &params);
  cf_picture_free(source);
}

/* Noisy colours that are far too strong for luma at black. */
static void noisy_chroma_is_alike(CfTest *test)
{
  static const CfFormat formats[] = {CF_FORMAT_Y444, CF_FORMAT_Y42B, CF_FORMAT_I420, CF_FORMAT_NV12,
                                     CF_FORMAT_AYUV};

  for (int i = 0; i < 20; i++) {
    CfTestPicture *source = picture(formats[i % 5], 640 + i % 3, 361, CF_LAYOUT_ALIGNED,
                                    CF_PATTERN_NOISE, test->seed + (uint64_t)i);
    CfLlfParams params = defaults();

    params.sigma = i % 2 ? 0.709 : 0.05 + cf_random_unit(&test->random);
    params.sigma = fmin(params.sigma, 1.0);
    params.alpha = i % 4 ? 4.242 : 0.3;
    params.beta = i % 3 ? 1.0 : 0.5;
    params.harmonics = 4 + i % 5;
    params.levels = 4;
    expect_the_cpu_agrees(test, source, &params);
    cf_picture_free(source);
  }
}

/* An error of luma is about eight times as large in chroma, whatever the luma. */
static void chroma_moves_as_luma_does(CfTest *test)
{
  CfTestPicture *source =
      picture(CF_FORMAT_Y444_16LE, 40, 30, CF_LAYOUT_ALIGNED, CF_PATTERN_NOISE, test->seed);
  CfTestPicture *one = cf_picture_new(&source->video, CF_LAYOUT_ALIGNED);
  CfTestPicture *other = cf_picture_new(&source->video, CF_LAYOUT_ALIGNED);

  for (int i = 0; i < 3; i++) {
    CfLlfParams params = defaults();
    int moved[3] = {0};

    params.sigma = 0.709;
    params.alpha = i == 0 ? 4.242 : 0.5;
    params.beta = i == 2 ? 0.5 : 1.0;
    params.levels = 3;
    say(test, &params, &source->video, "noise");
    if (!cf_test_filter(test, test->engine, &params, 2, source, one))
      break;
    params.alpha *= 1.005;
    if (!cf_test_filter(test, test->engine, &params, 2, source, other))
      break;
    for (int p = 0; p < 3; p++) {
      for (int k = 0; k < 40 * 30; k++) {
        const int off = abs(cf_picture_get(one, p, k % 40, k / 40, 0) -
                            cf_picture_get(other, p, k % 40, k / 40, 0));
        moved[p] = off > moved[p] ? off : moved[p];
      }
    }
    for (int p = 1; p < 3; p++)
      CF_EXPECT(test, moved[p] <= 8.5 * moved[0] + 8.0, "chroma moves by %d where luma does by %d",
                moved[p], moved[0]);
  }
  cf_picture_free(source);
  cf_picture_free(one);
  cf_picture_free(other);
}

/* GPUs group the coarse levels by their number: the last group may be a single level that several
 * CTAs compute together. */
static void any_number_of_levels_is_alike(CfTest *test)
{
  static const struct {
    int width, height, first, last;
  } cases[] = {
      {160, 120, 1, 10}, {321, 242, 1, 10},  {640, 363, 1, 10},
      {90, 411, 1, 10},  {2595, 1763, 5, 8}, {1605, 909, 5, 8},
  };
  static const int harmonics[] = {4, 8, 16};

  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    CfTestPicture *source = picture(CF_FORMAT_GRAY8, cases[i].width, cases[i].height,
                                    CF_LAYOUT_ALIGNED, CF_PATTERN_PHOTO, test->seed);

    for (int levels = cases[i].first; levels <= cases[i].last; levels++) {
      CfLlfParams params = defaults();

      params.alpha = 0.4;
      params.levels = levels;
      params.harmonics = harmonics[levels % 3];
      expect_the_cpu_agrees(test, source, &params);
    }
    cf_picture_free(source);
  }
}

static const CfTestCase cases[] = {
    {"planes-are-fine-enough", planes_are_fine_enough, CF_EACH_OTHER_ENGINE},
    {"colours-are-fine-enough", colours_are_fine_enough, CF_EACH_OTHER_ENGINE},
    {"borders-are-fine-enough", borders_are_fine_enough, CF_EACH_OTHER_ENGINE},
    {"grey-is-grey-in-colours", grey_is_grey_in_colours, CF_EACH_OTHER_ENGINE},
    {"noisy-chroma-is-alike", noisy_chroma_is_alike, CF_EACH_OTHER_ENGINE},
    {"chroma-moves-as-luma-does", chroma_moves_as_luma_does, CF_EACH_ENGINE},
    {"any-number-of-levels-is-alike", any_number_of_levels_is_alike, CF_EACH_OTHER_ENGINE},
    {"large-pictures-are-alike", large_pictures_are_alike, CF_EACH_OTHER_ENGINE},
    {"large-pictures-by-channels-are-alike", large_pictures_by_channels_are_alike,
     CF_EACH_OTHER_ENGINE},
#ifdef CF_HAVE_CUDA
    {"every-plan-is-alike", every_plan_is_alike, CF_EACH_OTHER_ENGINE},
    {"cinema-has-the-plan-of-4k", cinema_has_the_plan_of_4k, CF_EACH_OTHER_ENGINE},
    {"cinema-is-alike", cinema_is_alike, CF_EACH_OTHER_ENGINE},
#endif
    {NULL, NULL, 0},
};

int main(int argc, char **argv)
{
  const CfTestSuite suite = {&cf_llf, cases};

  return cf_test_main(&suite, argc, argv);
}
