/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Gaussian blur by a map and by the sizes of regions: the reference against the definition, the
 * other engines against the reference.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plan/coverage.h"
#include "gaussblur.h"
#include "harness.h"
#include "naive_map.h"

/* The largest distance of `got` from the exact values. Where the truncation jumps (4 sigma near an
 * integer), sigmas that differ by rounding have different numbers of taps, so the caller's bound
 * covers more than rounding. */
static double naive_map_distance(const CfGaussblurParams *params, const CfTestPicture *source,
                                 const CfTestPicture *got)
{
  const CfFormatInfo *info = cf_format_info(source->video.format);
  static NaiveFilter filter;
  double largest = 0.0;

  filter = (NaiveFilter){
      .border = (CfBorder)params->border, .border_color = 0xff000000, .scale = 1.0, .planes = 7};
  for (int p = 0; p < info->planes; p++) {
    const Naive naive = naive_plane(&filter, source, p);
    const double vertical = params->sigma_vertical < 0.0 ? params->sigma : params->sigma_vertical;

    for (int y = 0; y < naive.height; y++) {
      for (int x = 0; x < naive.width; x++) {
        const double m = naive_m(params, source, p, x, y);

        naive_gaussian(&filter.row, (params->sigma_min + m * (params->sigma - params->sigma_min)) /
                                        (1 << info->plane[p].subsampling_x));
        naive_gaussian(&filter.column, (params->sigma_min + m * (vertical - params->sigma_min)) /
                                           (1 << info->plane[p].subsampling_y));
        for (int c = 0; c < info->plane[p].channels; c++) {
          double alpha;

          if (info->plane[p].role[c] == CF_ROLE_PADDING)
            continue;
          const double value = naive_value(&naive, x, y, c, &alpha);
          const double share = alpha == 1.0 ? 1.0 : fmin(alpha / naive.max_code, 1.0);
          largest = fmax(largest, share * fabs(cf_picture_get(got, p, x, y, c) - value));
        }
      }
    }
  }
  return largest;
}

static void reference_is_the_definition(CfTest *test)
{
  const CfSize sizes[] = {{1, 1}, {9, 4}, {5, 11}, {13, 7}};
  CfMap *map = draw(MAP_NOISE, 4, 3, test->seed);

  for (int i = 0; i < 20; i++) {
    CfGaussblurParams params = mapped((CfMapMode)(1 + i % 5), 0.3 + 0.15 * i, i % 3 ? 0.0 : 0.7);
    CfTestPicture *source =
        picture(test->format, sizes[i % 4].width, sizes[i % 4].height,
                (CfPattern)(i % CF_PATTERN_COUNT), (CfAlphaFill)(i % 2), test->seed + i);
    CfTestPicture *got;

    params.border = i % 5;
    params.map = map;
    params.map_invert = i % 4 == 1;
    params.map_x = 0.1 * (i % 9);
    params.map_inner = 0.02 * (i % 5);
    params.map_angle = 17.0 * i;
    params.sigma_vertical = i % 6 == 5 ? 1.9 : -1.0;
    if (i == 11)
      params.sigma_min = params.sigma; /* the map changes the vertical sigma only */
    say(test, &params, source);
    got = cf_test_reference(test, &params, source);
    if (got) {
      const double top = cf_max_code(cf_format_info(test->format));
      const double off = naive_map_distance(&params, source, got);

      CF_EXPECT(test, off <= 0.5 + 2e-5 * top, "%g from the definition", off);
    }
    cf_picture_free(got);
    cf_picture_free(source);
  }
  cf_map_unref(map);
}

/* ---- Every engine ---- */

static void agrees_with_reference(CfTest *test)
{
  const double sigmas[] = {0.4, 0.9, 1.5, 2.3, 3.7, 6.0};
  int round = 0;

  for (const CfSize *size = cf_test_sizes; size->width; size++, round++) {
    for (int mode = CF_MAP_FILE; mode <= CF_MAP_ALPHA; mode++) {
      CfGaussblurParams params =
          mapped((CfMapMode)mode, sigmas[(round + mode) % 6], (round + mode) % 4 ? 0.0 : 1.2);
      CfTestPicture *source = picture(
          test->format, size->width, size->height, (CfPattern)((round + mode) % CF_PATTERN_COUNT),
          (CfAlphaFill)((round + mode) % CF_ALPHA_COUNT), test->seed + round);
      CfMap *map = draw((Drawing)(round % 4), 1 + round % 7 * 5, 1 + round % 5 * 7, test->seed);

      params.map = map;
      params.border = (round + mode) % 5;
      params.map_invert = round % 3 == 1;
      params.map_angle = 23.0 * round;
      params.sigma_vertical = round % 5 == 4 ? 0.8 : -1.0;
      compare_with_reference(test, &params, source);
      cf_picture_free(source);
      cf_map_unref(map);
    }
  }
}

/* Neighbouring samples lie between the same few levels, in whole tiles of every plane. */
static void smooth_pictures_agree(CfTest *test)
{
  for (int i = 0; i < 4; i++) {
    CfGaussblurParams params = mapped(CF_MAP_LUMA, i < 2 ? 2.0 : 5.0, i == 1 ? 1.3 : 0.0);
    CfTestPicture *source = picture(test->format, 170, 150, CF_PATTERN_RAMPS,
                                    i % 2 ? CF_ALPHA_RANDOM : CF_ALPHA_OPAQUE, test->seed + i);

    params.map_invert = i >= 2;
    params.border = i;
    compare_with_reference(test, &params, source);
    cf_picture_free(source);
  }
}

/* Levels from pyramids beside levels filtered in tiles, with all borders. */
static void large_sigmas_agree(CfTest *test)
{
  const double sigmas[] = {12.0, 20.0, 60.0};
  /* Without patterns that large sigmas turn into a gray half way between two codes. */
  const CfPattern patterns[] = {CF_PATTERN_NOISE, CF_PATTERN_RAMPS, CF_PATTERN_DOTS,
                                CF_PATTERN_PHOTO};

  for (int i = 0; i < 15; i++) {
    CfGaussblurParams params = mapped(i % 2 ? CF_MAP_RADIAL : CF_MAP_LINEAR, sigmas[i % 3], 0.0);
    CfTestPicture *source =
        picture(i % 4 ? CF_FORMAT_GRAY8 : CF_FORMAT_BGRA, i % 3 == 2 ? 40 : 150,
                i % 3 == 2 ? 33 : 70, patterns[i % 4], CF_ALPHA_RANDOM, test->seed);

    params.border = i % 5;
    params.map_angle = 20.0 * i;
    compare_with_reference(test, &params, source);
    cf_picture_free(source);
  }
}

static void steps_and_checkers(CfTest *test)
{
  for (int i = 0; i < 8; i++) {
    CfGaussblurParams params = mapped(CF_MAP_FILE, i < 4 ? 2.0 : 5.0, i % 4 == 3 ? 1.0 : 0.0);
    CfTestPicture *source =
        picture(i % 2 ? CF_FORMAT_NV12 : CF_FORMAT_RGBA, 97, 50,
                i % 2 ? CF_PATTERN_EXTREMES : CF_PATTERN_NOISE, CF_ALPHA_RANDOM, test->seed);
    /* A map of the picture's size, so that neighbouring samples differ in everything. */
    CfMap *map = draw(i % 2 ? MAP_CHECKER : MAP_STEP, 97, 50, 0);

    params.map = map;
    compare_with_reference(test, &params, source);
    cf_picture_free(source);
    cf_map_unref(map);
  }
}

static void constant_map_is_a_uniform_blur(CfTest *test)
{
  for (int i = 0; i < 10; i++) {
    const int value = cf_random_below(&test->random, 65536);
    CfGaussblurParams params = mapped(CF_MAP_FILE, 0.5 * i + 0.7, i % 2 ? 0.0 : 1.1);
    CfGaussblurParams uniform = {.sigma_vertical = -1.0, .border = i % 5};
    CfTestPicture *source = picture(test->format, 67, 41, (CfPattern)(i % CF_PATTERN_COUNT),
                                    CF_ALPHA_RANDOM, test->seed + i);
    CfTestPicture *got = cf_picture_new(&source->video, source->layout), *want;
    CfMap *map = draw(MAP_CONSTANT, 3, 2, (uint64_t)value);

    params.map = map;
    params.border = uniform.border;
    uniform.sigma = params.sigma_min + value / 65535.0 * (params.sigma - params.sigma_min);
    want = cf_test_reference(test, &uniform, source);
    say(test, &params, source);
    if (want && cf_test_filter(test, test->engine, &params, 2, source, got))
      cf_test_compare(test, got, want, 1.0);
    cf_picture_free(got);
    cf_picture_free(want);
    cf_picture_free(source);
    cf_map_unref(map);
  }
}

/* Bit for bit, colours that alpha hides included. */
static void zero_copies(CfTest *test)
{
  CfTestPicture *source =
      picture(test->format, 140, 70, CF_PATTERN_NOISE, CF_ALPHA_RANDOM, test->seed);
  CfTestPicture *got = cf_picture_new(&source->video, CF_LAYOUT_PADDED);
  CfGaussblurParams params = mapped(CF_MAP_LINEAR, 7.0, 0.0);
  const CfFormatInfo *info = cf_format_info(test->format);

  params.map_angle = 90.0;
  params.map_inner = 0.25;
  say(test, &params, source);
  if (cf_test_filter(test, test->engine, &params, 2, source, got)) {
    for (int p = 0; p < info->planes; p++) {
      for (int y = 0; y < cf_plane_height(&source->video, p); y++) {
        for (int x = 0; x < cf_plane_width(&source->video, p); x++) {
          const double away = fabs((x + 0.5) * (1 << info->plane[p].subsampling_x) / 140.0 - 0.5);

          for (int c = 0; away <= 0.25 - 1e-6 && c < info->plane[p].channels; c++)
            CF_EXPECT(test,
                      info->plane[p].role[c] == CF_ROLE_PADDING ||
                          cf_picture_raw(got, p, x, y, c) == cf_picture_raw(source, p, x, y, c),
                      "plane %d, %d, %d", p, x, y);
        }
      }
    }
  }
  params.map_inner = 1.0;
  params.map_outer = 1.0;
  if (cf_test_filter(test, test->engine, &params, 2, source, got))
    cf_test_compare_exact(test, got, source);
  cf_picture_free(got);
  cf_picture_free(source);
}

/* A state that has had other maps and pictures gives the same result as a new state. */
static void update_takes_over(CfTest *test)
{
  const CfFormat formats[] = {CF_FORMAT_I420, CF_FORMAT_ARGB};

  for (int f = 0; f < 2; f++) {
    CfRig *rig = NULL;

    for (int i = 0; i < 9; i++) {
      CfTestPicture *source = picture(formats[f], 131, 35, CF_PATTERN_NOISE,
                                      i % 2 ? CF_ALPHA_RANDOM : CF_ALPHA_OPAQUE, test->seed + i);
      CfTestPicture *got = cf_picture_new(&source->video, source->layout);
      CfTestPicture *want = cf_picture_new(&source->video, source->layout);
      CfMap *map = draw((Drawing)(i % 4), 20 + i, 10, test->seed + i);
      /* Each twice, with others in between; some are uniform. */
      CfGaussblurParams params = mapped((CfMapMode)(i % 6), 0.8 * (i / 2 * 2 + 1), 0.0);

      params.map = map;
      if (rig)
        cf_rig_update(rig, &params);
      else
        rig = cf_rig_open(test, test->engine, &source->video, &params, 2);
      cf_map_unref(map);
      say(test, &params, source);
      if (rig && cf_rig_run(rig, source, got)) {
        map = draw((Drawing)(i % 4), 20 + i, 10, test->seed + i);
        params.map = map;
        if (cf_test_filter(test, test->engine, &params, 2, source, want))
          cf_test_compare_exact(test, got, want);
        /* Once more, with nothing changed. */
        if (cf_rig_run(rig, source, got))
          cf_test_compare_exact(test, got, want);
        cf_map_unref(map);
      }
      cf_picture_free(got);
      cf_picture_free(want);
      cf_picture_free(source);
    }
    cf_rig_close(rig);
  }
}

static void odd_params_are_refused(CfTest *test)
{
  const CfVideo video = cf_video(CF_FORMAT_I420, 16, 16);
  const struct {
    CfMapMode mode;
    double sigma, relative;
    const char *word; /* expected in the message */
  } cases[] = {{CF_MAP_FILE, 2.0, 0.0, "map-location"},
               {CF_MAP_RADIAL, -2.0, 0.0, "sigma is -2"},
               {CF_MAP_LINEAR, 2.0, 0.1, "sigma-relative"},
               {CF_MAP_LUMA, 2.0, 0.0, NULL},
               {CF_MAP_NONE, -2.0, 0.1, NULL}};

  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    CfGaussblurParams params = mapped(cases[i].mode, cases[i].sigma, 0.0);
    CfStatus status = {CF_OK, ""};

    params.sigma_relative = cases[i].relative;
    const bool allowed = cf_gaussblur.check(&video, &params, &status);
    CF_EXPECT(test, allowed == !cases[i].word, "case %zu: %s", i, status.message);
    CF_EXPECT(test, allowed || strstr(status.message, cases[i].word), "case %zu: %s", i,
              status.message);
  }
}

/* ---- Regions ---- */

static bool run_on_regions(CfTest *test, const CfEngine *engine, const CfGaussblurParams *params,
                           const CfRegions *regions, const CfTestPicture *source, CfTestPicture *to)
{
  CfRig *rig = cf_rig_open(test, engine, &source->video, params, 2);
  bool good = false;

  if (rig) {
    cf_rig_set_regions(rig, regions);
    good = cf_rig_run(rig, source, to);
  }
  cf_rig_close(rig);
  return good;
}

static void regions_agree(CfTest *test)
{
  enum { MANY = 40 }; /* more than GPUs get as parameters of a launch */
  CfRegion some[MANY] = {{10, 5, 30, 20}, {60, 20, 90, 50}, {30, 15, 50, 24}, {-7, 50, 20, 40}};

  for (int i = 4; i < MANY; i++)
    some[i] = (CfRegion){i * 17 % 133, i * 11 % 71, 5 + i % 9, 3 + i % 5};
  for (int i = 0; i < 16; i++) {
    const CfRegions regions = {.region = some,
                               .count = i == 9 || i == 14 ? MANY : i % 5,
                               .shape = i % 2 ? CF_REGION_ELLIPSE : CF_REGION_RECTANGLE,
                               .feather = i % 3 * 6.0,
                               .outside = i % 4 == 3};
    CfGaussblurParams params =
        mapped(i % 7 == 6 ? CF_MAP_RADIAL : CF_MAP_NONE, i % 4 ? 2.0 : 9.0, 0.0);
    CfTestPicture *source = picture(test->format, 133, 71, (CfPattern)(i % CF_PATTERN_COUNT),
                                    (CfAlphaFill)(i % 3 == 0), test->seed);
    CfTestPicture *want = cf_picture_new(&source->video, source->layout);
    CfTestPicture *got = cf_picture_new(&source->video, source->layout);

    params.sigma_relative = params.map_mode == CF_MAP_NONE && i % 2 ? 0.05 * (i % 3 + 1) : 0.0;
    say(test, &params, source);
    if (run_on_regions(test, cf_effect_engine(test->effect, "reference"), &params, &regions, source,
                       want) &&
        run_on_regions(test, test->engine, &params, &regions, source, got))
      cf_test_compare(test, got, want, codes(test->format, 2.0));
    cf_picture_free(got);
    cf_picture_free(want);
    cf_picture_free(source);
  }
}

/* Each region is blurred with its own sigma, and nothing else changes. */
static void sigma_follows_each_region(CfTest *test)
{
  const CfRegion some[] = {{8, 6, 20, 30}, {60, 4, 60, 60}};
  const CfRegions regions = {.region = some, .count = 2, .shape = CF_REGION_RECTANGLE};
  CfGaussblurParams params = mapped(CF_MAP_NONE, 1.0, 0.0);
  CfTestPicture *source =
      picture(CF_FORMAT_GRAY8, 128, 70, CF_PATTERN_NOISE, CF_ALPHA_OPAQUE, test->seed);
  CfTestPicture *got = cf_picture_new(&source->video, source->layout);

  params.sigma_relative = 0.1;
  say(test, &params, source);
  if (run_on_regions(test, test->engine, &params, &regions, source, got)) {
    for (int r = 0; r < 2; r++) {
      CfGaussblurParams uniform = {.sigma = r ? 6.0 : 2.0, .sigma_vertical = -1.0};
      CfTestPicture *want = cf_test_reference(test, &uniform, source);

      for (int y = some[r].y; want && y < some[r].y + some[r].height; y++) {
        for (int x = some[r].x; x < some[r].x + some[r].width; x++)
          CF_EXPECT(test,
                    abs(cf_picture_get(got, 0, x, y, 0) - cf_picture_get(want, 0, x, y, 0)) <= 2,
                    "%d, %d", x, y);
      }
      cf_picture_free(want);
    }
    CF_EXPECT(test, cf_picture_get(got, 0, 40, 20, 0) == cf_picture_get(source, 0, 40, 20, 0),
              "outside");
  }
  cf_picture_free(got);
  cf_picture_free(source);
}

static const CfTestCase cases[] = {
    {"odd-params-are-refused", odd_params_are_refused, CF_ONCE},
    {"reference-is-the-definition", reference_is_the_definition, CF_EACH_FORMAT},
    {"agrees-with-reference", agrees_with_reference, CF_EACH_OTHER_ENGINE | CF_EACH_FORMAT},
    {"smooth-pictures-agree", smooth_pictures_agree, CF_EACH_OTHER_ENGINE | CF_EACH_FORMAT},
    {"large-sigmas-agree", large_sigmas_agree, CF_EACH_OTHER_ENGINE},
    {"steps-and-checkers", steps_and_checkers, CF_EACH_OTHER_ENGINE},
    {"constant-map-is-a-uniform-blur", constant_map_is_a_uniform_blur,
     CF_EACH_ENGINE | CF_EACH_FORMAT},
    {"zero-copies", zero_copies, CF_EACH_ENGINE | CF_EACH_FORMAT},
    {"update-takes-over", update_takes_over, CF_EACH_ENGINE},
    {"regions-agree", regions_agree, CF_EACH_OTHER_ENGINE | CF_EACH_FORMAT},
    {"sigma-follows-each-region", sigma_follows_each_region, CF_EACH_ENGINE},
    {0},
};

int main(int argc, char **argv)
{
  const CfTestSuite suite = {&cf_gaussblur, cases};

  return cf_test_main(&suite, argc, argv);
}
