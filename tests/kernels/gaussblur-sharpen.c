/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Negative sigma of a large magnitude: against the reference in all formats, and against real
 * numbers, since the error of a blur counts several times.
 */
#include <fenv.h>
#include <math.h>
#include <stdlib.h>

#include "gaussblur.h"
#include "harness.h"

#define BORDERS 5

static CfGaussblurParams sharpen(double sigma, double vertical, CfBorder border)
{
  return (CfGaussblurParams){.sigma = -sigma, .sigma_vertical = vertical, .border = border};
}

static CfTestPicture *picture(CfFormat format, int width, int height, CfPattern pattern,
                              CfAlphaFill alpha, uint64_t seed)
{
  const CfVideo video = cf_video(format, width, height);
  CfTestPicture *result = cf_picture_new(&video, CF_LAYOUT_PADDED);

  cf_picture_fill(result, pattern, alpha, seed);
  return result;
}

static void say(CfTest *test, const CfGaussblurParams *params, const CfTestPicture *source,
                CfPattern pattern)
{
  cf_test_context(test, "sigma %g, vertical %g, border %s, %s, %dx%d", params->sigma,
                  params->sigma_vertical, cf_border_choices[params->border].nick,
                  cf_pattern_name(pattern), source->video.width, source->video.height);
}

/* ---- Against the reference ---- */

static void agrees_with_reference(CfTest *test)
{
  const double sigmas[][2] = {{20, -1}, {100, -1}, {250, -1}, {4.5, -1}, {33, -1}, {8, 60},
                              {9, 0},   {2, 40},   {64.5, 1}, {250, 7},  {12, -1}};
  const CfSize sizes[] = {{97, 61}, {64, 40}, {1, 33}, {130, 3}, {70, 71}};
  const CfPattern patterns[] = {CF_PATTERN_NOISE, CF_PATTERN_EXTREMES, CF_PATTERN_BARS,
                                CF_PATTERN_PHOTO};

  for (int i = 0; i < 22; i++) {
    const CfSize *size = &sizes[i % 5];
    const CfPattern pattern = patterns[i % 4];
    const CfGaussblurParams params =
        sharpen(sigmas[i % 11][0], sigmas[i % 11][1], (CfBorder)((i + i / 5) % BORDERS));
    CfTestPicture *source = picture(test->format, size->width, size->height, pattern,
                                    (CfAlphaFill)(i % 2), test->seed + (uint64_t)i);
    CfTestPicture *want = cf_test_reference(test, &params, source);
    CfTestPicture *got = cf_picture_new(&source->video, CF_LAYOUT_UNALIGNED);

    say(test, &params, source, pattern);
    if (want && cf_test_filter(test, test->engine, &params, 1 + i % 3, source, got))
      cf_test_compare(test, got, want, 1.0);
    cf_picture_free(got);
    cf_picture_free(want);
    cf_picture_free(source);
  }
}

/* ---- Against real numbers ---- */

/* In codes; 0.5 of them is rounding. */
#define MOST_8_BITS  0.65
#define MOST_16_BITS 0.75

static void *allocate(size_t bytes)
{
  void *memory = calloc(1, bytes);

  if (!memory)
    abort();
  return memory;
}

static int clamp(int i, int most)
{
  return i < 0 ? 0 : i < most ? i : most;
}

/* Sharpens one line: to[k step] is twice from[k step] less its Gaussian, k = 0..size - 1, the
 * border replicated. */
static void sharpen_line(const double *from, int size, int step, double sigma, double *to)
{
  const int radius = (int)ceil(4.0 * sigma);
  double *tap = allocate((size_t)(radius + 1) * sizeof *tap);
  double *result = allocate((size_t)size * sizeof *result);
  double sum = 0.0;

  for (int t = radius; t >= 0; t--) {
    tap[t] = exp(-0.5 * t * t / (sigma * sigma));
    sum += t ? 2.0 * tap[t] : tap[t];
  }
  for (int i = 0; i < size; i++) {
    double blurred = tap[0] * from[i * step];

    for (int t = 1; t <= radius; t++)
      blurred +=
          tap[t] * (from[clamp(i - t, size - 1) * step] + from[clamp(i + t, size - 1) * step]);
    result[i] = 2.0 * from[i * step] - blurred / sum;
  }
  for (int i = 0; i < size; i++)
    to[i * step] = result[i];
  free(tap);
  free(result);
}

static double distance(double sigma, const CfTestPicture *source, const CfTestPicture *got)
{
  const int width = source->video.width, height = source->video.height;
  const int top = cf_max_code(cf_format_info(source->video.format));
  double *real = allocate((size_t)width * (size_t)height * sizeof *real), largest = 0.0;

  for (int i = 0; i < width * height; i++)
    real[i] = cf_picture_get(source, 0, i % width, i / width, 0);
  for (int y = 0; y < height; y++)
    sharpen_line(real + y * width, width, 1, sigma, real + y * width);
  for (int x = 0; x < width; x++)
    sharpen_line(real + x, height, width, sigma, real + x);
  for (int i = 0; i < width * height; i++)
    largest = fmax(largest, fabs(cf_picture_get(got, 0, i % width, i / width, 0) -
                                 fmin(fmax(real[i], 0.0), top)));
  free(real);
  return largest;
}

/* Codes near the middle, so that little is clamped: stripes of `stripes` pixels, or noise. */
static void draw(CfTestPicture *picture, int stripes, CfRandom *random)
{
  const int width = picture->video.width, top = cf_max_code(cf_format_info(picture->video.format));

  for (int i = 0; i < width * picture->video.height; i++) {
    const int x = i % width, y = i / width;
    const bool bright =
        stripes ? (x / stripes + y / (2 * stripes)) % 2 : cf_random_below(random, 2);

    cf_picture_set(picture, 0, x, y, 0, bright ? top / 8 * 5 : top / 8 * 3);
  }
}

static void is_accurate(CfTest *test, CfFormat format, double most)
{
  const double sigmas[] = {4.0, 5.0, 7.9, 8.0, 12.0, 20.0, 32.0, 33.0, 64.0, 128.0, 250.0};
  const int stripes[] = {0, 1, 2, 3, 8, 16, 40};
  const CfVideo video = cf_video(format, 301, 203);
  CfTestPicture *source = cf_picture_new(&video, CF_LAYOUT_PADDED);
  CfTestPicture *got = cf_picture_new(&video, CF_LAYOUT_PADDED);
  double worst = 0.0;

  for (int i = 0; i < 11 * 7; i++) {
    const CfGaussblurParams params = sharpen(sigmas[i / 7], -1.0, CF_BORDER_REPLICATE);

    draw(source, stripes[i % 7], &test->random);
    cf_test_context(test, "sigma %g, stripes of %d", params.sigma, stripes[i % 7]);
    if (cf_test_filter(test, test->engine, &params, 2, source, got)) {
      const double off = distance(sigmas[i / 7], source, got);

      CF_EXPECT(test, off <= most, "%g codes from the real value, allowed are %g", off, most);
      worst = fmax(worst, off);
    }
  }
  cf_test_context(test, "at most %.3f codes from the real value", worst);
  cf_picture_free(got);
  cf_picture_free(source);
}

static void eight_bits_are_accurate(CfTest *test)
{
  is_accurate(test, CF_FORMAT_GRAY8, MOST_8_BITS);
}

static void sixteen_bits_are_accurate(CfTest *test)
{
  is_accurate(test, CF_FORMAT_GRAY16_LE, MOST_16_BITS);
}

/* ---- Parts, threads, updates ---- */

static void parts_and_threads_do_not_matter(CfTest *test)
{
  const CfFormat formats[] = {CF_FORMAT_NV12, CF_FORMAT_RGBA, CF_FORMAT_RGB, CF_FORMAT_P010_10LE};

  for (int i = 0; i < 8; i++) {
    const CfGaussblurParams params = sharpen(i % 2 ? 7.0 : 35.0, -1.0, (CfBorder)(i % BORDERS));
    const CfRegion region = {39, 21, 90, 50};
    const CfRegions regions = {.region = &region, .count = 1};
    CfTestPicture *source = picture(formats[i / 2], 203, 97, CF_PATTERN_PHOTO,
                                    i / 4 ? CF_ALPHA_RANDOM : CF_ALPHA_OPAQUE, test->seed);
    CfTestPicture *whole = cf_picture_new(&source->video, CF_LAYOUT_PADDED);
    CfTestPicture *got = cf_picture_new(&source->video, CF_LAYOUT_PADDED);
    CfRig *rig = cf_rig_open(test, test->engine, &source->video, &params, 5);

    say(test, &params, source, CF_PATTERN_PHOTO);
    cf_test_filter(test, test->engine, &params, 1, source, whole);
    if (rig && cf_rig_run(rig, source, got))
      cf_test_compare_exact(test, got, whole);
    if (rig)
      cf_rig_set_regions(rig, &regions);
    if (rig && cf_rig_run(rig, source, got)) {
      for (int k = 0; k < region.width * region.height; k++) {
        const int x = region.x + k % region.width, y = region.y + k / region.width;

        CF_EXPECT(test, cf_picture_get(got, 0, x, y, 0) == cf_picture_get(whole, 0, x, y, 0),
                  "%d, %d is not as in the whole picture", x, y);
      }
    }
    if (rig && cf_engine_works_in_place(test->engine, &regions)) {
      cf_picture_free(whole);
      whole = cf_picture_copy(source, CF_LAYOUT_PADDED);
      if (cf_rig_run(rig, NULL, whole))
        cf_test_compare_exact(test, whole, got);
    }
    cf_rig_close(rig);
    cf_picture_free(got);
    cf_picture_free(whole);
    cf_picture_free(source);
  }
}

/* One state that is updated to sigma after sigma gives the same results as new states. */
static void update_takes_over(CfTest *test)
{
  const double sigmas[] = {20.0, -20.0, -250.0, -3.0, -40.0, 8.0, -5.0};
  const CfFormat formats[] = {CF_FORMAT_I420, CF_FORMAT_RGBA, CF_FORMAT_GRAY16_LE};

  for (int f = 0; f < 3; f++) {
    for (int alpha = 0; alpha < 2; alpha++) {
      CfTestPicture *source =
          picture(formats[f], 131, 85, CF_PATTERN_NOISE, (CfAlphaFill)alpha, test->seed);
      CfTestPicture *got = cf_picture_new(&source->video, CF_LAYOUT_PADDED);
      CfTestPicture *want = cf_picture_new(&source->video, CF_LAYOUT_PADDED);
      const CfGaussblurParams first = sharpen(6.0, -1.0, CF_BORDER_WRAP);
      CfRig *rig = cf_rig_open(test, test->engine, &source->video, &first, 2);

      for (int i = 0; rig && i < 7; i++) {
        const CfGaussblurParams params =
            sharpen(-sigmas[i], i == 4 ? 90.0 : -1.0, (CfBorder)((i + f) % BORDERS));

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
}

/* ---- Subnormal numbers ---- */

/* Two frames of a filter with `sigma`, run in this thread without the environment of cf_filter_run,
 * which would put back its caller's flags. */
static bool underflows(CfTest *test, CfFormat format, CfSize size, double sigma)
{
  const CfGaussblurParams params = {.sigma = sigma, .sigma_vertical = -1.0};
  const CfOpenOptions options = {.threads = 1};
  CfTestPicture *source =
      picture(format, size.width, size.height, CF_PATTERN_NOISE, CF_ALPHA_RANDOM, test->seed);
  CfTestPicture *result = cf_picture_new(&source->video, CF_LAYOUT_TIGHT);
  const CfJob job = {.source = source->planes, .destination = result->planes};
  CfStatus status = {CF_OK, ""};
  void *filter = test->engine->open(&source->video, &params, &options, &status);

  cf_test_context(test, "sigma %g, %s %dx%d", sigma, cf_format_info(format)->name, size.width,
                  size.height);
  feclearexcept(FE_ALL_EXCEPT);
  for (int i = 0; filter && i < 2; i++)
    CF_EXPECT(test, test->engine->run(filter, &job, &status), "%s", status.message);
  const bool underflow = fetestexcept(FE_UNDERFLOW) != 0;
  if (CF_EXPECT(test, filter, "%s", status.message))
    test->engine->close(filter);
  cf_picture_free(result);
  cf_picture_free(source);
  return underflow;
}

/* Vectors reach beyond the ends of rows. Some processors take a hundred times as long for an
 * operation on subnormal numbers, and bytes left there by samples of another type can be such. */
static void ends_of_rows_do_not_underflow(CfTest *test)
{
  const CfFormat formats[] = {CF_FORMAT_GRAY8, CF_FORMAT_NV12, CF_FORMAT_RGB, CF_FORMAT_RGBA,
                              CF_FORMAT_I420_10LE};
  const double sigmas[] = {-250.0, -40.0, -12.0, 12.0, 40.0, 250.0};
  const CfSize sizes[] = {{650, 62}, {853, 40}, {641, 37}};

  if (test->engine->device_memory) {
    cf_test_skip(test, "a device has no flags of arithmetic");
    return;
  }
  for (int i = 0; i < 5 * 6 * 3; i++)
    CF_EXPECT(test, !underflows(test, formats[i % 5], sizes[i / 30], sigmas[i / 5 % 6]),
              "a vector beyond the end of a row underflows");
}

static const CfTestCase cases[] = {
    {"agrees-with-reference", agrees_with_reference, CF_EACH_OTHER_ENGINE | CF_EACH_FORMAT},
    {"eight-bits-are-accurate", eight_bits_are_accurate, CF_EACH_OTHER_ENGINE},
    {"sixteen-bits-are-accurate", sixteen_bits_are_accurate, CF_EACH_OTHER_ENGINE},
    {"parts-and-threads-do-not-matter", parts_and_threads_do_not_matter, CF_EACH_OTHER_ENGINE},
    {"update-takes-over", update_takes_over, CF_EACH_OTHER_ENGINE},
    {"ends-of-rows-do-not-underflow", ends_of_rows_do_not_underflow, CF_EACH_OTHER_ENGINE},
    {0},
};

int main(int argc, char **argv)
{
  const CfTestSuite suite = {&cf_gaussblur, cases};

  return cf_test_main(&suite, argc, argv);
}
