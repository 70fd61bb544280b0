/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Local Laplacian filter: the plan alone, the reference against the paper's algorithm, the other
 * engines against the reference.
 */
#include "llf.h"

#include <stdio.h>

#include "harness.h"
#include "llf-plan.h"
#include "naive_llf.h"

/* Curves of docs/cudallf.md, and what the fast engine owes them with 8 harmonics. */
static const struct {
  double sigma, alpha, beta;
  double fast_psnr;
} curves[] = {
    {0.4, 0.5, 1.0, 40.0},  {0.2, 0.25, 1.0, 40.0}, {0.1, 0.25, 1.0, 40.0}, {0.2, 2.0, 1.0, 60.0},
    {0.35, 0.4, 5.0, 40.0}, {0.1, 1.0, 0.4, 60.0},  {0.2, 0.5, 0.5, 40.0},
};
enum { CURVES = sizeof curves / sizeof curves[0] };

static CfLlfParams defaults(void)
{
  CfLlfParams params;

  cf_params_init(cf_llf.params, &params);
  return params;
}

static CfLlfParams curve_params(int curve, CfLlfMethod method)
{
  CfLlfParams params = defaults();

  params.sigma = curves[curve].sigma;
  params.alpha = curves[curve].alpha;
  params.beta = curves[curve].beta;
  params.method = method;
  return params;
}

static void say(CfTest *test, const CfLlfParams *params, const CfVideo *video, const char *content)
{
  static const char *const methods[] = {"fast", "sampled", "exact"};
  static const char *const modes[] = {"luminance", "separate", "rgb"};

  cf_test_context(test,
                  "sigma %g alpha %g beta %g levels %d %s harmonics %d intensity-levels %d %s "
                  "noise-floor %g; %s %dx%d %s",
                  params->sigma, params->alpha, params->beta, params->levels,
                  methods[params->method], params->harmonics, params->intensity_levels,
                  modes[params->color_mode], params->noise_floor,
                  cf_format_info(video->format)->name, video->width, video->height, content);
}

static CfTestPicture *picture(CfFormat format, int width, int height, CfLayout layout,
                              CfPattern pattern, uint64_t seed)
{
  const CfVideo video = cf_video(format, width, height);
  CfTestPicture *result = cf_picture_new(&video, layout);

  cf_picture_fill(result, pattern, CF_ALPHA_RANDOM, seed);
  return result;
}

/* The reference always is the exact filter: one method is enough to try. */
static bool has_method(const CfTest *test, CfLlfMethod method)
{
  return strcmp(test->engine->name, "reference") != 0 || method == CF_LLF_EXACT;
}

static bool has_mode(CfFormat format, CfLlfMethod method, CfLlfColorMode mode)
{
  return mode != CF_LLF_RGB || (cf_format_info(format)->rgb && method == CF_LLF_EXACT);
}

/* ---- The plan ---- */

static void pyramid_shapes(CfTest *test)
{
  const struct {
    int width, height, levels, images, last_width, last_height;
  } cases[] = {
      {1, 1, 0, 1, 1, 1},           {1, 37, 0, 1, 1, 37},      {2, 2, 0, 2, 1, 1},
      {3, 9, 0, 2, 2, 5},           {1920, 1080, 0, 11, 2, 2}, {3840, 2160, 0, 12, 2, 2},
      {1920, 1080, 3, 4, 240, 135}, {64, 48, 16, 6, 2, 2},     {640, 361, 1, 2, 320, 181},
  };

  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    const CfLlfPyramid pyramid = cf_llf_pyramid(cases[i].width, cases[i].height, cases[i].levels);
    const int last = pyramid.images - 1;

    CF_EXPECT(test,
              pyramid.images == cases[i].images && pyramid.width[last] == cases[i].last_width &&
                  pyramid.height[last] == cases[i].last_height,
              "%dx%d, levels %d: %d images, the last %dx%d", cases[i].width, cases[i].height,
              cases[i].levels, pyramid.images, pyramid.width[last], pyramid.height[last]);
  }
}

static CfLlfParams random_curve(CfRandom *random)
{
  CfLlfParams params = defaults();

  params.sigma = 0.01 * pow(100.0, cf_random_unit(random));
  params.alpha = 0.05 * pow(200.0, cf_random_unit(random));
  params.beta =
      cf_random_below(random, 3) ? 5.0 * cf_random_unit(random) : cf_random_below(random, 2);
  params.harmonics = 2 + cf_random_below(random, 15);
  params.noise_floor = cf_random_below(random, 4) ? 0.1 * cf_random_unit(random) : 0.0;
  return params;
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

/* The largest distance of the fits for two sets of parameters. */
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

static void series_follows_the_curve(CfTest *test)
{
  /* Root mean squares over 0..1; a curve without harmonics would be 0.01 to 0.3 off. */
  const double bound[CURVES] = {0.0085, 0.013, 0.007, 0.002, 0.012, 0.0012, 0.0045};

  for (int curve = 0; curve < CURVES; curve++) {
    const CfLlfParams params = curve_params(curve, CF_LLF_FAST);
    const CfLlfSeries series = cf_llf_series(&params);
    double squares = 0.0;

    for (int step = 0; step < 1000; step++) {
      const double d = (step + 0.5) / 1000.0;
      squares += pow(cf_llf_series_value(&series, d) - cf_llf_remap(&params, d), 2.0);
    }
    CF_EXPECT(test, sqrt(squares / 1000.0) < bound[curve],
              "sigma %g alpha %g beta %g: rms %g from the curve", params.sigma, params.alpha,
              params.beta, sqrt(squares / 1000.0));
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

static void intensity_levels_are_matlabs(CfTest *test)
{
  const struct {
    double alpha;
    int count;
  } cases[] = {{0.05, 50}, {0.1, 50}, {0.25, 44}, {0.5, 33}, {0.89, 16}, {0.9, 16}, {4.0, 16}};
  CfLlfParams params = defaults();

  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    params.alpha = cases[i].alpha;
    CF_EXPECT(test, cf_llf_intensity_levels(&params) == cases[i].count, "alpha %g: %d",
              params.alpha, cf_llf_intensity_levels(&params));
  }
  params.intensity_levels = 7;
  CF_EXPECT(test, cf_llf_intensity_levels(&params) == 7, "7 is not taken over");
}

/* Refuses, saying what to do. */
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

/* ---- The reference against the paper ---- */

/* The normalised samples of a role; the luma of RGB formats is made of the colours. */
static NaiveImage naive_component(const CfTestPicture *picture, CfRole role)
{
  const CfFormatInfo *format = cf_format_info(picture->video.format);
  const bool rgb = format->rgb, chroma = role == CF_ROLE_CHROMA_BLUE || role == CF_ROLE_CHROMA_RED;
  const double red = picture->video.luma_red, blue = picture->video.luma_blue;
  NaiveImage image = {0};

  for (int plane = 0; plane < format->planes; plane++)
    for (int channel = 0; channel < format->plane[plane].channels; channel++) {
      const CfRole here = format->plane[plane].role[channel];
      double weight = here == role, offset, scale;

      if (rgb && role == CF_ROLE_LUMA)
        weight = here == CF_ROLE_RED     ? red
                 : here == CF_ROLE_GREEN ? 1.0 - red - blue
                 : here == CF_ROLE_BLUE  ? blue
                                         : 0.0;
      if (weight == 0.0)
        continue;
      cf_code_range(&picture->video, here, &offset, &scale);
      if (chroma)
        offset = cf_chroma_centre(&picture->video) - scale / 2.0;
      if (!image.value)
        image = naive_image(cf_plane_width(&picture->video, plane),
                            cf_plane_height(&picture->video, plane), 1);
      for (int y = 0; y < image.height; y++)
        for (int x = 0; x < image.width; x++)
          *naive_at(&image, x, y) +=
              weight * (cf_picture_get(picture, plane, x, y, channel) - offset) / scale;
    }
  return image;
}

static void naive_store(CfTestPicture *picture, CfRole role, const NaiveImage *image)
{
  const CfFormatInfo *format = cf_format_info(picture->video.format);
  const bool chroma = role == CF_ROLE_CHROMA_BLUE || role == CF_ROLE_CHROMA_RED;
  double offset, scale;

  cf_code_range(&picture->video, role, &offset, &scale);
  if (chroma)
    offset = cf_chroma_centre(&picture->video) - scale / 2.0;
  for (int plane = 0; plane < format->planes; plane++)
    for (int channel = 0; channel < format->plane[plane].channels; channel++)
      for (int y = 0; y < image->height && format->plane[plane].role[channel] == role; y++)
        for (int x = 0; x < image->width; x++) {
          const double code = floor(*naive_at(image, x, y) * scale + offset + 0.5);
          cf_picture_set(picture, plane, x, y, channel,
                         (int)fmin(fmax(code, 0.0), cf_max_code(format)));
        }
}

/* Filters what lies in 0..1 and puts the rest back; `before` and `after` get what was filtered. */
static NaiveImage naive_filter(const NaiveImage *image, const CfLlfParams *params,
                               NaiveImage *before, NaiveImage *after)
{
  const int count = image->width * image->height;
  const NaiveImage result = naive_image(image->width, image->height, 1);
  NaivePyramid filtered;

  *before = naive_image(image->width, image->height, 1);
  *after = naive_image(image->width, image->height, 1);
  for (int i = 0; i < count; i++)
    before->value[i] = fmin(fmax(image->value[i], 0.0), 1.0);
  filtered = params->method == CF_LLF_SAMPLED
                 ? naive_llf_sampled(before, params, cf_llf_intensity_levels(params))
                 : naive_llf(before, params);
  for (int i = 0; i < count; i++) {
    after->value[i] = filtered.image[0].value[i];
    result.value[i] = after->value[i] + image->value[i] - before->value[i];
  }
  naive_free(&filtered);
  return result;
}

static void naive_separate(const CfTestPicture *source, CfTestPicture *result,
                           const CfLlfParams *params)
{
  for (int role = 0; role < CF_ROLE_ALPHA; role++) {
    const bool luma_of_rgb = cf_format_info(source->video.format)->rgb && role == CF_ROLE_LUMA;
    NaiveImage image = {0}, before, after, filtered;

    if (!luma_of_rgb)
      image = naive_component(source, (CfRole)role);
    if (!image.value)
      continue;
    filtered = naive_filter(&image, params, &before, &after);
    naive_store(result, (CfRole)role, &filtered);
    free(image.value);
    free(before.value);
    free(after.value);
    free(filtered.value);
  }
}

static double naive_gain(double before, double after)
{
  return fmin(fmax((after + 1.0 / 255.0) / (before + 1.0 / 255.0), 0.0), 16.0);
}

/* Mean over the pixels that a sample of a `width` x `height` plane covers. */
static double naive_cell(const NaiveImage *luma, int x, int y, int width, int height)
{
  const int across = (luma->width + width - 1) / width, down = (luma->height + height - 1) / height;
  double sum = 0.0;
  int count = 0;

  for (int i = y * down; i < (y + 1) * down && i < luma->height; i++)
    for (int j = x * across; j < (x + 1) * across && j < luma->width; j++, count++)
      sum += *naive_at(luma, j, i);
  return sum / count;
}

static void naive_luminance(const CfTestPicture *source, CfTestPicture *result,
                            const CfLlfParams *params)
{
  const bool rgb = cf_format_info(source->video.format)->rgb;
  NaiveImage luma = naive_component(source, CF_ROLE_LUMA), before, after;
  NaiveImage filtered = naive_filter(&luma, params, &before, &after);

  if (!rgb)
    naive_store(result, CF_ROLE_LUMA, &filtered);
  for (int role = CF_ROLE_CHROMA_BLUE; role < CF_ROLE_ALPHA; role++) {
    NaiveImage color = naive_component(source, (CfRole)role);

    for (int y = 0; color.value && y < color.height; y++)
      for (int x = 0; x < color.width; x++) {
        const double from = naive_cell(&before, x, y, color.width, color.height);
        const double to = naive_cell(&after, x, y, color.width, color.height);
        double *value = naive_at(&color, x, y);

        *value = rgb ? to + naive_gain(from, to) * (*value - from)
                     : 0.5 + naive_gain(from, to) * (*value - 0.5);
      }
    if (color.value)
      naive_store(result, (CfRole)role, &color);
    free(color.value);
  }
  free(luma.value);
  free(before.value);
  free(after.value);
  free(filtered.value);
}

static void naive_vectors(const CfTestPicture *source, CfTestPicture *result,
                          const CfLlfParams *params)
{
  const CfRole roles[3] = {CF_ROLE_RED, CF_ROLE_GREEN, CF_ROLE_BLUE};
  const int width = source->video.width, height = source->video.height;
  NaiveImage vectors = naive_image(width, height, 3), one;
  NaivePyramid filtered;

  for (int c = 0; c < 3; c++) {
    one = naive_component(source, roles[c]);
    for (int i = 0; i < width * height; i++)
      vectors.value[3 * i + c] = one.value[i];
    free(one.value);
  }
  filtered = naive_llf(&vectors, params);
  one = naive_image(width, height, 1);
  for (int c = 0; c < 3; c++) {
    for (int i = 0; i < width * height; i++)
      one.value[i] = filtered.image[0].value[3 * i + c];
    naive_store(result, roles[c], &one);
  }
  free(one.value);
  free(vectors.value);
  naive_free(&filtered);
}

static void naive_picture(const CfTestPicture *source, CfTestPicture *result,
                          const CfLlfParams *params)
{
  if (params->color_mode == CF_LLF_RGB)
    naive_vectors(source, result, params);
  else if (params->color_mode == CF_LLF_SEPARATE)
    naive_separate(source, result, params);
  else
    naive_luminance(source, result, params);
}

/* The reference must be the paper's algorithm up to ties of rounding. */
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

        /* The exact algorithm's time grows fast with the size. */
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

static void constants_stay(CfTest *test)
{
  for (int method = CF_LLF_FAST; method <= CF_LLF_EXACT; method++)
    for (int mode = CF_LLF_LUMINANCE; mode <= CF_LLF_RGB; mode++)
      for (int i = 0; i < 4; i++) {
        CfLlfParams params = curve_params(i == 3 ? 4 : 1, (CfLlfMethod)method);
        CfTestPicture *source, *result;

        params.color_mode = mode;
        if (!has_mode(test->format, (CfLlfMethod)method, (CfLlfColorMode)mode) ||
            !has_method(test, (CfLlfMethod)method))
          continue;
        source = picture(test->format, 29, 22, CF_LAYOUT_PADDED, CF_PATTERN_CONSTANT,
                         test->seed + (uint64_t)i);
        result = cf_picture_new(&source->video, CF_LAYOUT_UNALIGNED);
        say(test, &params, &source->video, "constant");
        if (cf_test_filter(test, test->engine, &params, 1, source, result))
          cf_test_compare_exact(test, result, source);
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
  /* Ties of rounding only; single precision shows in 16-bit samples. */
  CF_EXPECT(test, differing <= samples / 100 || cf_format_info(test->format)->bits > 10,
            "%ld of %ld samples differ", differing, samples);
}

/* The recipe again, through every format's samples, tables and colours. */
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
      say(test, &params, &source->video, curve % 2 ? "noise" : "photo");
      naive_picture(source, want, &params);
      if (cf_test_filter(test, test->engine, &params, 2, source, got)) {
        const CfDifference difference = cf_picture_compare(got, want, 1.0);

        /* The gain of colours in the dark raises 100 dB to more than a 16-bit code. */
        if (cf_format_info(test->format)->bits > 10)
          CF_EXPECT(test, difference.psnr >= 90.0, "%.1f dB", difference.psnr);
        else
          cf_test_compare(test, got, want, 1.0);
      }
      cf_picture_free(source);
      cf_picture_free(want);
      cf_picture_free(got);
    }
}

/* Decibels between a picture and what an engine makes of the source. */
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
      CfLlfParams params = curve_params(curve, CF_LLF_EXACT);
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
      CfLlfParams params = curve_params(curve, CF_LLF_SAMPLED);
      NaiveImage image = naive_component(source, CF_ROLE_LUMA);
      NaivePyramid oracle;
      double psnr;

      params.intensity_levels = (const int[]){0, 2, 9, 16, 17, 40, 256}[(curve + p) % 7];
      params.levels = curve % 3;
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
  CfLlfParams params = curve_params(3, CF_LLF_EXACT);
  CfTestPicture *want = cf_test_reference(test, &params, source);
  double before = 0.0;

  params.method = CF_LLF_FAST;
  for (int i = 0; want && i < 8; i++) {
    double psnr;

    params.harmonics = harmonics[i];
    say(test, &params, &source->video, "photo");
    psnr = psnr_against(test, want, source, &params);
    /* The fit minimises the curve's error, not a picture's: past 60 dB the order may turn. */
    CF_EXPECT(test, psnr > before - 0.5 || psnr > 60.0, "%.1f dB, with fewer terms %.1f dB", psnr,
              before);
    before = psnr;
  }
  CF_EXPECT(test, before > 70.0, "16 harmonics reach %.1f dB", before);
  cf_picture_free(source);
  cf_picture_free(want);
}

/* ---- Moving pictures ---- */

/* Standard deviation of the samples away from the borders. */
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

/* Texture under a fade, or a camera's exposure that changes: its gain may not depend on the mean.
 */
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

/* A bright object in one corner may not change the opposite quadrant: nothing depends on statistics
 * of the frame. (Only the picture must be so large that the object hardly changes its mean.) */
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

/* After any history of updates a state does what a fresh one does. */
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

/* Sizes, layouts and guards with the algorithms that have tiles and tables; what they compute is
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
    {"pyramid-shapes", pyramid_shapes, CF_ONCE},
    {"curve-is-the-papers", curve_is_the_papers, CF_ONCE},
    {"series-never-falls", series_never_falls, CF_ONCE},
    {"series-is-continuous", series_is_continuous, CF_ONCE},
    {"series-follows-the-curve", series_follows_the_curve, CF_ONCE},
    {"nothing-is-fitted-to-nothing", nothing_is_fitted_to_nothing, CF_ONCE},
    {"intensity-levels-are-matlabs", intensity_levels_are_matlabs, CF_ONCE},
    {"bad-combinations-are-refused", bad_combinations_are_refused, CF_ONCE},
    {"identity-is-known", identity_is_known, CF_ONCE},
    {"reference-is-the-paper", reference_is_the_paper, CF_ONCE},
    {"reference-colors", reference_colors, CF_EACH_FORMAT},
    {"identity-in-every-bit", identity_in_every_bit, CF_EACH_ENGINE | CF_EACH_FORMAT},
    {"constants-stay", constants_stay, CF_EACH_ENGINE | CF_EACH_FORMAT},
    {"any-size-fits", any_size_fits, CF_EACH_OTHER_ENGINE | CF_EACH_FORMAT},
    {"alpha-is-preserved", alpha_is_preserved, CF_EACH_ENGINE | CF_EACH_FORMAT},
    {"exact-is-the-reference", exact_is_the_reference, CF_EACH_OTHER_ENGINE | CF_EACH_FORMAT},
    {"sampled-colors", sampled_colors, CF_EACH_OTHER_ENGINE | CF_EACH_FORMAT},
    {"accuracy", accuracy, CF_EACH_OTHER_ENGINE},
    {"sampled-is-matlabs-recipe", sampled_is_matlabs_recipe, CF_EACH_OTHER_ENGINE},
    {"more-terms-are-closer", more_terms_are_closer, CF_EACH_OTHER_ENGINE},
    {"fades-do-not-pulse", fades_do_not_pulse, CF_EACH_OTHER_ENGINE},
    {"bright-objects-stay-local", bright_objects_stay_local, CF_EACH_OTHER_ENGINE},
    {"results-repeat", results_repeat, CF_EACH_OTHER_ENGINE},
    {"updates-leave-no-trace", updates_leave_no_trace, CF_EACH_ENGINE},
    {NULL, NULL, 0},
};

int main(int argc, char **argv)
{
  const CfTestSuite suite = {&cf_llf, cases};

  return cf_test_main(&suite, argc, argv);
}
