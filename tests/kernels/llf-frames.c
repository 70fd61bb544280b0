/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Local Laplacian filter: frames of any size and layout, one after another; what is beside the
 * picture in them, and what was there before, does not matter.
 */
#include "llf.h"

#include "harness.h"
#include "llf_curves.h"
#include "llf_pictures.h"

/* Rows that can be read by words give the same as others. */
static void layouts_do_not_matter(CfTest *test)
{
  const CfSize sizes[] = {{64, 48}, {203, 101}};
  CfLlfParams params = defaults();

  params.sigma = 0.4;
  for (int i = 0; i < 2; i++) {
    CfTestPicture *source[CF_LAYOUT_COUNT] = {0}, *got[CF_LAYOUT_COUNT] = {0};

    for (int layout = 0; layout < CF_LAYOUT_COUNT; layout++) {
      source[layout] = picture(test->format, sizes[i].width, sizes[i].height, (CfLayout)layout,
                               CF_PATTERN_NOISE, test->seed);
      got[layout] = cf_picture_new(&source[layout]->video, (CfLayout)layout);
      say(test, &params, &source[layout]->video, "noise");
      if (cf_test_filter(test, test->engine, &params, 2, source[layout], got[layout]) && layout > 0)
        cf_test_compare_exact(test, got[layout], got[0]);
    }
    for (int layout = 0; layout < CF_LAYOUT_COUNT; layout++) {
      cf_picture_free(source[layout]);
      cf_picture_free(got[layout]);
    }
  }
}

/* Large enough for several CTAs of GPUs, and for windows of three planes that they process in
 * pieces. */
static void exact_in_pieces(CfTest *test)
{
  static const struct {
    CfFormat format;
    CfLlfColorMode mode;
  } ways[] = {
      {CF_FORMAT_RGBA, CF_LLF_RGB}, {CF_FORMAT_GBR, CF_LLF_RGB}, {CF_FORMAT_NV12, CF_LLF_SEPARATE}};

  for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++)
    for (int curve = (int)i; curve < CURVES; curve += 3) {
      CfTestPicture *source =
          picture(ways[i].format, 203, 101, CF_LAYOUT_PADDED, CF_PATTERN_PHOTO, test->seed);
      CfTestPicture *got = cf_picture_new(&source->video, CF_LAYOUT_ALIGNED), *want;
      CfLlfParams params = curve_params(curve, CF_LLF_EXACT);

      params.color_mode = ways[i].mode;
      params.levels = 3;
      say(test, &params, &source->video, "photo");
      want = cf_test_reference(test, &params, source);
      if (want && cf_test_filter(test, test->engine, &params, 2, source, got))
        cf_test_compare(test, got, want, 1.0);
      cf_picture_free(source);
      cf_picture_free(want);
      cf_picture_free(got);
    }
}

/* A frame gives the same bits again, on any number of threads, and after other frames. */
static void results_repeat(CfTest *test)
{
  const CfFormat formats[] = {CF_FORMAT_NV12, CF_FORMAT_RGBA, CF_FORMAT_I420_10LE};

  for (int f = 0; f < 3; f++)
    for (int method = CF_LLF_FAST; method <= CF_LLF_EXACT; method++) {
      const bool small = method == CF_LLF_EXACT;
      CfTestPicture *source = picture(formats[f], small ? 61 : 323, small ? 43 : 211,
                                      CF_LAYOUT_ALIGNED, CF_PATTERN_PHOTO, test->seed);
      CfTestPicture *other = picture(formats[f], source->video.width, source->video.height,
                                     CF_LAYOUT_ALIGNED, CF_PATTERN_NOISE, test->seed);
      CfTestPicture *first = cf_picture_new(&source->video, CF_LAYOUT_ALIGNED);
      CfTestPicture *again = cf_picture_new(&source->video, CF_LAYOUT_ALIGNED);
      CfLlfParams params = curve_params(4, (CfLlfMethod)method);

      say(test, &params, &source->video, "again");
      cf_test_filter(test, test->engine, &params, 1, source, first);
      for (int threads = 1; threads <= 7; threads += 2) {
        CfRig *rig = cf_rig_open(test, test->engine, &source->video, &params, threads);

        if (rig && cf_rig_run(rig, other, again) && cf_rig_run(rig, source, again))
          cf_test_compare_exact(test, again, first);
        cf_rig_close(rig);
      }
      cf_picture_free(source);
      cf_picture_free(other);
      cf_picture_free(first);
      cf_picture_free(again);
    }
}

/* After any sequence of updates a state behaves like a new one. */
static void updates_leave_no_trace(CfTest *test)
{
  const CfFormat formats[] = {CF_FORMAT_I420, CF_FORMAT_BGRx, CF_FORMAT_GRAY16_LE};

  for (int f = 0; f < 3; f++) {
    CfTestPicture *source =
        picture(formats[f], 33, 24, CF_LAYOUT_PADDED, CF_PATTERN_PHOTO, test->seed);
    CfTestPicture *fresh = cf_picture_new(&source->video, CF_LAYOUT_PADDED);
    CfTestPicture *updated = cf_picture_new(&source->video, CF_LAYOUT_PADDED);
    CfLlfParams params = defaults();
    CfRig *rig = cf_rig_open(test, test->engine, &source->video, &params, 2);

    for (int i = 0; rig && i < 40; i++) {
      do {
        params = random_curve(&test->random);
        params.levels = cf_random_below(&test->random, 6);
        params.method = cf_random_below(&test->random, 3);
        params.color_mode = cf_random_below(&test->random, 3);
        params.intensity_levels =
            (const int[]){0, 2, 5, 64, 256}[cf_random_below(&test->random, 5)];
      } while (
          !has_mode(formats[f], (CfLlfMethod)params.method, (CfLlfColorMode)params.color_mode));
      say(test, &params, &source->video, "updated");
      if (cf_rig_update(rig, &params) && cf_rig_run(rig, source, updated) &&
          cf_test_filter(test, test->engine, &params, 2, source, fresh))
        cf_test_compare_exact(test, updated, fresh);
    }
    cf_rig_close(rig);
    cf_picture_free(source);
    cf_picture_free(fresh);
    cf_picture_free(updated);
  }
}

/* Sizes, layouts and guards, with the algorithms that have tiles and tables; their results are
 * checked above. */
static void any_size_fits(CfTest *test)
{
  for (const CfSize *size = cf_test_sizes; size->width; size++)
    for (int i = 0; i < 4; i++) {
      const CfLlfMethod method = i % 2 ? CF_LLF_SAMPLED : CF_LLF_FAST;
      CfLlfParams params = curve_params(i, method);
      CfTestPicture *source =
          picture(test->format, size->width, size->height,
                  i % 2 ? CF_LAYOUT_PADDED : CF_LAYOUT_TIGHT, CF_PATTERN_NOISE, test->seed);
      CfTestPicture *tight = cf_picture_new(&source->video, CF_LAYOUT_TIGHT);
      CfTestPicture *padded = cf_picture_new(&source->video, CF_LAYOUT_UNALIGNED);

      params.color_mode = i / 2;
      say(test, &params, &source->video, "noise");
      if (cf_test_filter(test, test->engine, &params, 2, source, tight) &&
          cf_test_filter(test, test->engine, &params, 1, source, padded))
        cf_test_compare_exact(test, tight, padded);
      cf_picture_free(source);
      cf_picture_free(tight);
      cf_picture_free(padded);
    }
}

static void alpha_is_preserved(CfTest *test)
{
  for (int method = CF_LLF_FAST; method <= CF_LLF_EXACT; method++)
    for (int mode = CF_LLF_LUMINANCE; mode <= CF_LLF_RGB; mode++) {
      CfLlfParams params = curve_params(1, (CfLlfMethod)method);
      const CfPlaneFormat *plane = &cf_format_info(test->format)->plane[0];
      const int alpha = cf_alpha_channel(plane);
      CfTestPicture *source, *result;

      params.color_mode = mode;
      if (alpha < 0 || !has_mode(test->format, (CfLlfMethod)method, (CfLlfColorMode)mode) ||
          !has_method(test, (CfLlfMethod)method))
        continue;
      source = picture(test->format, 31, 17, CF_LAYOUT_PADDED, CF_PATTERN_NOISE, test->seed);
      result = cf_picture_new(&source->video, CF_LAYOUT_PADDED);
      say(test, &params, &source->video, "noise");
      if (cf_test_filter(test, test->engine, &params, 2, source, result))
        for (int y = 0; y < 17; y++)
          for (int x = 0; x < 31; x++)
            CF_EXPECT(test,
                      cf_picture_get(result, 0, x, y, alpha) ==
                          cf_picture_get(source, 0, x, y, alpha),
                      "alpha at %d, %d changed", x, y);
      cf_picture_free(source);
      cf_picture_free(result);
    }
}

static const CfTestCase cases[] = {
    {"any-size-fits", any_size_fits, CF_EACH_OTHER_ENGINE | CF_EACH_FORMAT},
    {"alpha-is-preserved", alpha_is_preserved, CF_EACH_ENGINE | CF_EACH_FORMAT},
    {"layouts-do-not-matter", layouts_do_not_matter, CF_EACH_OTHER_ENGINE | CF_EACH_FORMAT},
    {"exact-in-pieces", exact_in_pieces, CF_EACH_OTHER_ENGINE},
    {"results-repeat", results_repeat, CF_EACH_OTHER_ENGINE},
    {"updates-leave-no-trace", updates_leave_no_trace, CF_EACH_ENGINE},
    {0},
};

int main(int argc, char **argv)
{
  const CfTestSuite suite = {&cf_llf, cases};

  return cf_test_main(&suite, argc, argv);
}
