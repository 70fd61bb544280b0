/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The plan of the local Laplacian filter, and the params that its effect refuses.
 */
#include "plan/llf_plan.h"

#include "llf_curves.h"
#include "naive_llf.h"

static void pyramid_shapes(CfTest *test)
{
  const struct {
    int width, height, levels, images, last_width, last_height;
    double reach;
    bool field;
    double share; /* of the last level; 0 is 1 */
  } cases[] = {
      {1, 1, 0, 1, 1, 1},
      {1, 37, 0, 1, 1, 37},
      {2, 2, 0, 2, 1, 1},
      {3, 9, 0, 2, 2, 5},
      {1920, 1080, 0, 11, 2, 2},
      {3840, 2160, 0, 12, 2, 2},
      {1920, 1080, 3, 4, 240, 135},
      {64, 48, 16, 6, 2, 2},
      {640, 361, 1, 2, 320, 181},
      {128, 128, 0, 5, 8, 8, .reach = 0.125},
      {128, 64, 0, 5, 8, 4, .reach = 0.125, .field = true},
      {128, 64, 0, 4, 16, 8, .reach = 0.125},
      {96, 96, 0, 5, 6, 6, .reach = 0.125, .share = 0.5849625},
      {96, 64, 0, 5, 6, 4, .reach = 0.125, .field = true, .share = 0.5849625},
      {32, 64, 0, 3, 8, 16, .reach = 0.125, .field = true},
  };

  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    const CfLlfParams params = {.levels = cases[i].levels, .reach = cases[i].reach};
    const CfLlfPyramid pyramid =
        cf_llf_pyramid(cases[i].width, cases[i].height, cases[i].field, &params);
    const double share = cases[i].share > 0.0 ? cases[i].share : 1.0;
    const int last = pyramid.images - 1;

    CF_EXPECT(test,
              pyramid.images == cases[i].images && pyramid.width[last] == cases[i].last_width &&
                  pyramid.height[last] == cases[i].last_height &&
                  fabs(pyramid.last_share - share) < 1e-6,
              "%dx%d, levels %d, reach %g: %d images, the last %dx%d, share %g", cases[i].width,
              cases[i].height, cases[i].levels, cases[i].reach, pyramid.images, pyramid.width[last],
              pyramid.height[last], pyramid.last_share);
  }
}

static void curve_is_the_papers(CfTest *test)
{
  for (int i = 0; i < 2000; i++) {
    const CfLlfParams params = random_curve(&test->random);
    const double d = 2.0 * cf_random_unit(&test->random) - 1.0, zero = 0.0;
    double naive;

    naive_remap_pixel(&params, 1, &d, &zero, &naive);
    CF_EXPECT(test, fabs(cf_llf_remap(&params, d) - naive) < 1e-12,
              "sigma %g alpha %g beta %g noise-floor %g: r(%g) = %g, the paper says %g",
              params.sigma, params.alpha, params.beta, params.noise_floor, d,
              cf_llf_remap(&params, d), naive);
  }
}

static void series_never_falls(CfTest *test)
{
  for (int i = 0; i < 300; i++) {
    const CfLlfParams params = random_curve(&test->random);
    const CfLlfSeries series = cf_llf_series(&params);
    double before = 0.0;

    CF_EXPECT(test, series.harmonics == params.harmonics, "%d harmonics", series.harmonics);
    for (int step = 1; step <= 1000; step++) {
      const double value = cf_llf_series_value(&series, step / 1000.0);

      CF_EXPECT(test, value > before - 2e-5,
                "sigma %g alpha %g beta %g noise-floor %g harmonics %d: falls by %g at %g",
                params.sigma, params.alpha, params.beta, params.noise_floor, params.harmonics,
                before - value, step / 1000.0);
      before = value;
    }
  }
}

/* The largest distance between the fits for two sets of params. */
static double series_distance(const CfLlfParams *a, const CfLlfParams *b)
{
  const CfLlfSeries first = cf_llf_series(a), second = cf_llf_series(b);
  double largest = 0.0;

  for (int step = 1; step <= 100; step++)
    largest = fmax(largest, fabs(cf_llf_series_value(&first, step / 100.0) -
                                 cf_llf_series_value(&second, step / 100.0)));
  return largest;
}

static void series_is_continuous(CfTest *test)
{
  for (int i = 0; i < 200; i++) {
    const CfLlfParams params = random_curve(&test->random);
    CfLlfParams near = params;

    near.sigma = fmax(0.01, params.sigma * (1.0 - 1e-6));
    near.alpha *= 1.0 + 1e-6;
    near.beta *= 1.0 - 1e-6;
    near.noise_floor *= 1.0 + 1e-6;
    CF_EXPECT(test, series_distance(&params, &near) < 1e-4,
              "sigma %g alpha %g beta %g noise-floor %g harmonics %d: a jump of %g", params.sigma,
              params.alpha, params.beta, params.noise_floor, params.harmonics,
              series_distance(&params, &near));
  }
}

/* Root mean square over 0..1. */
static double series_error(const CfLlfParams *params)
{
  const CfLlfSeries series = cf_llf_series(params);
  double squares = 0.0;

  for (int step = 0; step < 1000; step++) {
    const double d = (step + 0.5) / 1000.0;
    squares += pow(cf_llf_series_value(&series, d) - cf_llf_remap(params, d), 2.0);
  }
  return sqrt(squares / 1000.0);
}

static void series_follows_the_curve(CfTest *test)
{
  /* A curve without harmonics would have 0.01 to 0.3. */
  const double bound[CURVES] = {0.0085, 0.013, 0.007, 0.002, 0.012, 0.0012, 0.0045};

  for (int curve = 0; curve < CURVES; curve++) {
    const CfLlfParams params = curve_params(curve, CF_LLF_FAST);

    CF_EXPECT(test, series_error(&params) < bound[curve],
              "sigma %g alpha %g beta %g: rms %g from the curve", params.sigma, params.alpha,
              params.beta, series_error(&params));
  }
}

/* Plain least squares would fall there, and have 0.18 to 0.47 when scaled down until it does not.
 */
static void steep_series_are_the_best_that_never_fall(CfTest *test)
{
  const struct {
    double sigma, beta, noise_floor, bound;
    int harmonics;
  } cases[] = {{1.0, 1.0, 0.0, 0.122, 16}, {1.0, 0.0, 0.0, 0.125, 16}, {0.4, 0.5, 0.02, 0.029, 8}};

  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    CfLlfParams params = defaults();

    params.alpha = 0.05;
    params.sigma = cases[i].sigma;
    params.beta = cases[i].beta;
    params.noise_floor = cases[i].noise_floor;
    params.harmonics = cases[i].harmonics;
    CF_EXPECT(test, series_error(&params) < cases[i].bound, "case %zu: rms %g from the curve", i,
              series_error(&params));
  }
}

static void nothing_is_fitted_to_nothing(CfTest *test)
{
  CfLlfParams params = defaults();
  CfLlfSeries series;

  params.alpha = params.beta = 1.0;
  series = cf_llf_series(&params);
  CF_EXPECT(test, series.linear == 0.0, "a linear term of %g", series.linear);
  for (int n = 0; n < series.harmonics; n++)
    CF_EXPECT(test, series.b[n] == 0.0, "b[%d] = %g", n, series.b[n]);
}

/* Which levels are weighted, from which contrast on, and the share of the last. */
static void weights_fade(CfTest *test)
{
  const struct {
    double alpha, noise_floor;
    int images;
    double last_share;
    int levels;
    double floor; /* that the slope shows; 0: none */
    double share; /* of the last of them */
  } cases[] = {
      {0.5, 0.02, 7, 1.0, 3, 0.02, 1.0},   {0.5, 0.02, 3, 0.4, 2, 0.02, 0.4},
      {0.5, 0.02, 7, 0.4, 3, 0.02, 1.0},   {0.5, 0.0, 3, 0.4, 2, 0.0, 0.4},
      {0.5, 0.0, 4, 0.4, 3, 0.0, 0.4},     {0.5, 0.0, 5, 0.4, 0, 0.0, 1.0},
      {0.975, 0.02, 7, 1.0, 3, 0.01, 1.0}, {1.0, 0.02, 7, 1.0, 0, 0.0, 1.0},
      {0.5, 0.0001, 7, 1.0, 0, 0.0, 1.0},  {0.5, 0.0002, 7, 1.0, 3, 0.0002, 1.0},
  };

  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    const CfLlfPyramid pyramid = {.images = cases[i].images, .last_share = cases[i].last_share};
    const double slope = cases[i].floor > 0.0 ? 1.0 / (0.33 * cases[i].floor) : 0.0;
    CfLlfParams params = defaults();

    params.alpha = cases[i].alpha;
    params.noise_floor = cases[i].noise_floor;
    const CfLlfWeights got = cf_llf_weights(&params, &pyramid);

    CF_EXPECT(test,
              got.levels == cases[i].levels && fabs(got.slope - slope) <= 1e-9 * slope &&
                  got.offset == (slope > 0.0 ? -1.0 : 1.0),
              "case %zu: %d levels, slope %g, offset %g", i, got.levels, got.slope, got.offset);
    for (int l = 0; l < got.levels; l++)
      CF_EXPECT(test, got.share[l] == (l == got.levels - 1 ? cases[i].share : 1.0),
                "case %zu: level %d has a share of %g", i, l, got.share[l]);
  }
}

/* For either range, also where that has no code in the middle. */
static void neutral_chroma_is_a_half(CfTest *test)
{
  for (int full = 0; full < 2; full++) {
    CfVideo video = cf_video(CF_FORMAT_I420, 16, 16);
    double offset, scale;

    video.range = full ? CF_RANGE_FULL : CF_RANGE_LIMITED;
    cf_llf_component_range(&video, CF_ROLE_CHROMA_BLUE, &offset, &scale);
    CF_EXPECT(test, fabs((128.0 - offset) / scale - 0.5) < 1e-12, "full range %d: %g", full,
              (128.0 - offset) / scale);
  }
}

static void colours_follow_luma(CfTest *test)
{
  const struct {
    double luma, filtered, follow;
  } cases[] = {{0.5, 0.25, -0.5},
               {0.5, -1.0, -1.0},
               {0.5 / 255, 0.25 / 255, -0.25},
               {0.0, 1.0, 0.0},
               {0.05, 1.0, 15 * 0.104},
               {0.05, 0.05 + 13.75 / 255, 0.104},
               {0.5, 0.5 + 128.5 / 510, 0.5}};

  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    const double follow = cf_llf_follow(cases[i].luma, cases[i].filtered);

    CF_EXPECT(test, fabs(follow - cases[i].follow) < 1e-9, "from %g to %g: %g", cases[i].luma,
              cases[i].filtered, follow);
  }
}

static void black_and_white_have_no_room(CfTest *test)
{
  const double black = cf_llf_protected(0.0, 0.0, 0.0), white = cf_llf_protected(1.0, 1.0, 0.2);

  CF_EXPECT(test, black == 0.0 && white == 0.0, "%g, %g", black, white);
  CF_EXPECT(test, cf_llf_protected(0.0, 0.0, -0.2) == 0.0, "black gets darker");
}

/* MATLAB's numbers, and more for a noise floor that these would not resolve. */
static void intensity_levels_are_automatic(CfTest *test)
{
  const struct {
    double alpha, noise_floor;
    int count;
  } cases[] = {{0.05, 0.0, 50},  {0.1, 0.02, 50}, {0.25, 0.02, 44},  {0.5, 0.02, 33},
               {0.5, 0.0, 33},   {0.89, 0.1, 16}, {0.9, 0.02, 16},   {4.0, 0.01, 16},
               {0.5, 0.015, 44}, {0.5, 0.01, 66}, {0.05, 0.001, 100}};
  CfLlfParams params = defaults();

  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    params.alpha = cases[i].alpha;
    params.noise_floor = cases[i].noise_floor;
    CF_EXPECT(test, cf_llf_intensity_levels(&params) == cases[i].count,
              "alpha %g, noise floor %g: %d", params.alpha, params.noise_floor,
              cf_llf_intensity_levels(&params));
  }
  params.intensity_levels = 7;
  CF_EXPECT(test, cf_llf_intensity_levels(&params) == 7, "7 is not taken over");
}

/* The params are refused, and the message contains `part`, the advice. */
static void expect_refused(CfTest *test, CfFormat format, const CfLlfParams *params,
                           const char *part)
{
  const CfVideo video = cf_video(format, 16, 16);
  CfStatus status = {CF_OK, ""};

  CF_EXPECT(test, !cf_llf.check(&video, params, &status), "not refused: %s", part);
  CF_EXPECT(test, strstr(status.message, part) && status.code == CF_ERROR_INVALID,
            "the message is \"%s\"", status.message);
}

static void bad_combinations_are_refused(CfTest *test)
{
  CfLlfParams params = defaults();
  const CfVideo video = cf_video(CF_FORMAT_BGRA, 16, 16);

  params.intensity_levels = 1;
  expect_refused(test, CF_FORMAT_I420, &params, "2 to 256");
  params = defaults();
  params.color_mode = CF_LLF_RGB;
  expect_refused(test, CF_FORMAT_RGBA, &params, "engine=exact");
  params.method = CF_LLF_EXACT;
  expect_refused(test, CF_FORMAT_NV12, &params, "videoconvert");
  CF_EXPECT(test, cf_llf.check(&video, &params, NULL), "rgb and exact are refused");
}

static void identity_is_known(CfTest *test)
{
  CfLlfParams params = defaults();

  CF_EXPECT(test, !cf_llf.is_identity(&params), "the default is the identity");
  params.alpha = 1.0;
  CF_EXPECT(test, cf_llf.is_identity(&params), "alpha = beta = 1 is not the identity");
  params.beta = 0.99;
  CF_EXPECT(test, !cf_llf.is_identity(&params), "beta = 0.99 is the identity");
}

static const CfTestCase cases[] = {
    {"pyramid-shapes", pyramid_shapes, CF_ONCE},
    {"curve-is-the-papers", curve_is_the_papers, CF_ONCE},
    {"series-never-falls", series_never_falls, CF_ONCE},
    {"series-is-continuous", series_is_continuous, CF_ONCE},
    {"series-follows-the-curve", series_follows_the_curve, CF_ONCE},
    {"steep-series-are-the-best-that-never-fall", steep_series_are_the_best_that_never_fall,
     CF_ONCE},
    {"nothing-is-fitted-to-nothing", nothing_is_fitted_to_nothing, CF_ONCE},
    {"weights-fade", weights_fade, CF_ONCE},
    {"neutral-chroma-is-a-half", neutral_chroma_is_a_half, CF_ONCE},
    {"colours-follow-luma", colours_follow_luma, CF_ONCE},
    {"black-and-white-have-no-room", black_and_white_have_no_room, CF_ONCE},
    {"intensity-levels-are-automatic", intensity_levels_are_automatic, CF_ONCE},
    {"bad-combinations-are-refused", bad_combinations_are_refused, CF_ONCE},
    {"identity-is-known", identity_is_known, CF_ONCE},
    {NULL, NULL, 0},
};

int main(int argc, char **argv)
{
  const CfTestSuite suite = {&cf_llf, cases};

  return cf_test_main(&suite, argc, argv);
}
