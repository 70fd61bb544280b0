/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The distance of gaussblur from real numbers, on pictures that show errors: sparse dots, stripes
 * at and below the Nyquist frequency, bars, constants; at every sigma, on pictures large enough for
 * many tiles. tests/kernels/gaussblur.c compares all formats with the reference.
 */
#include <math.h>
#include <stdlib.h>

#include "gaussblur.h"
#include "harness.h"

/* In codes; 0.5 of them is rounding. */
#define MOST_8_BITS  0.6
#define MOST_10_BITS 0.85
#define MOST_16_BITS 0.7

static CfGaussblurParams blur(double sigma)
{
  return (CfGaussblurParams){.sigma = sigma, .sigma_vertical = -1.0, .border = CF_BORDER_REPLICATE};
}

/* ---- Real numbers: rows, then columns, replicating the border ---- */

static int clamp(int i, int size)
{
  return i < 0 ? 0 : i < size ? i : size - 1;
}

static void *allocate(size_t bytes)
{
  void *memory = calloc(1, bytes);

  if (!memory)
    abort();
  return memory;
}

/* Filters one line: to[k step] is the Gaussian around from[k step], k = 0..size - 1. */
static void blur_line(const double *from, int size, int step, const double *tap, int radius,
                      double *padded, double *to)
{
  for (int i = -radius; i < size + radius; i++)
    padded[radius + i] = from[clamp(i, size) * step];
  for (int i = 0; i < size; i++) {
    double sum = tap[0] * padded[radius + i];

    for (int t = 1; t <= radius; t++)
      sum += tap[t] * (padded[radius + i - t] + padded[radius + i + t]);
    to[i * step] = sum;
  }
}

static void blur_real(double sigma, int width, int height, double *samples)
{
  const int radius = (int)ceil(4.0 * sigma), longest = width > height ? width : height;
  double *tap = allocate((size_t)(radius + 1) * sizeof *tap);
  double *padded = allocate((size_t)(longest + 2 * radius) * sizeof *padded);
  double sum = 0.0;

  for (int t = radius; t >= 0; t--) {
    tap[t] = exp(-0.5 * t * t / (sigma * sigma));
    sum += t ? 2.0 * tap[t] : tap[t];
  }
  for (int t = 0; t <= radius; t++)
    tap[t] /= sum;
  for (int y = 0; y < height; y++)
    blur_line(samples + y * width, width, 1, tap, radius, padded, samples + y * width);
  for (int x = 0; x < width; x++)
    blur_line(samples + x, height, width, tap, radius, padded, samples + x);
  free(tap);
  free(padded);
}

/* Of a picture with one plane: the largest distance from exact values, and the mean difference. */
typedef struct {
  double largest, mean;
} Distance;

static Distance distance(double sigma, const CfTestPicture *source, const CfTestPicture *got)
{
  const int width = source->video.width, height = source->video.height;
  double *real = allocate((size_t)width * (size_t)height * sizeof *real);
  Distance distance = {0.0, 0.0};

  for (int i = 0; i < width * height; i++)
    real[i] = cf_picture_get(source, 0, i % width, i / width, 0);
  blur_real(sigma, width, height, real);
  for (int i = 0; i < width * height; i++) {
    const double off = cf_picture_get(got, 0, i % width, i / width, 0) - real[i];

    distance.largest = fmax(distance.largest, fabs(off));
    distance.mean += off / width / height;
  }
  free(real);
  return distance;
}

static Distance measure(CfTest *test, double sigma, const CfTestPicture *source)
{
  const CfGaussblurParams params = blur(sigma);
  CfTestPicture *got = cf_picture_new(&source->video, source->layout);
  Distance off = {0.0, 0.0};

  if (cf_test_filter(test, test->engine, &params, 2, source, got))
    off = distance(sigma, source, got);
  cf_picture_free(got);
  return off;
}

/* ---- Pictures ---- */

typedef struct {
  const char *name;
  int period_x, period_y; /* of stripes, half black and half white; 0: no stripes along this axis */
  CfPattern pattern;      /* where there are no stripes */
} Scene;

/* Periods of 2 to 32 pixels alias where a pyramid keeps one sample in 2 to 16. */
static const Scene scenes[] = {
    {"Nyquist columns", 2, 0, 0},
    {"Nyquist rows", 0, 2, 0},
    {"checker", 2, 2, 0},
    {"columns of 3", 3, 0, 0},
    {"columns of 4", 4, 0, 0},
    {"rows of 8", 0, 8, 0},
    {"columns of 16", 16, 0, 0},
    {"checker of 5 and 7", 5, 7, 0},
    {"rows of 32", 0, 32, 0},
    {"dots", 0, 0, CF_PATTERN_DOTS},
    {"impulses", 0, 0, CF_PATTERN_IMPULSES},
    {"bars", 0, 0, CF_PATTERN_BARS},
    {"noise", 0, 0, CF_PATTERN_NOISE},
};
#define SCENES (int)(sizeof scenes / sizeof *scenes)

/* The layout for which CUDA's tensor cores filter this format. */
static CfLayout layout_of(CfFormat format)
{
  return cf_format_info(format)->bits == 10 ? CF_LAYOUT_ALIGNED : CF_LAYOUT_PADDED;
}

static CfTestPicture *draw(CfFormat format, int width, int height, const Scene *scene,
                           uint64_t seed)
{
  const CfVideo video = cf_video(format, width, height);
  CfTestPicture *picture = cf_picture_new(&video, layout_of(format));
  const int white = cf_max_code(cf_format_info(format));

  if (!scene->period_x && !scene->period_y) {
    cf_picture_fill(picture, scene->pattern, CF_ALPHA_OPAQUE, seed);
    return picture;
  }
  for (int y = 0; y < height; y++) {
    for (int x = 0; x < width; x++) {
      const int odd_x = scene->period_x ? x % scene->period_x >= scene->period_x / 2 : 0;
      const int odd_y = scene->period_y ? y % scene->period_y >= scene->period_y / 2 : 0;

      cf_picture_set(picture, 0, x, y, 0, odd_x ^ odd_y ? white : 0);
    }
  }
  return picture;
}

/* ---- Cases ---- */

static void scenes_are_accurate(CfTest *test, CfFormat format, double most)
{
  const double sigmas[] = {0.6, 2.0, 3.0, 3.9, 4.0, 5.0, 7.9, 8.0, 12.0, 15.9, 20.0, 33.0, 64.5};
  CfTestPicture *source[SCENES];

  for (int i = 0; i < SCENES; i++)
    source[i] = draw(format, 421, 203, &scenes[i], test->seed);
  for (int j = 0; j < (int)(sizeof sigmas / sizeof *sigmas); j++) {
    double worst = 0.0;

    for (int i = 0; i < SCENES; i++) {
      const Distance off = measure(test, sigmas[j], source[i]);

      cf_test_context(test, "sigma %g, %s", sigmas[j], scenes[i].name);
      CF_EXPECT(test, off.largest <= most, "%g codes from the real value, allowed are %g",
                off.largest, most);
      worst = fmax(worst, off.largest);
    }
    cf_test_context(test, "sigma %g: at most %.3f codes from the real value", sigmas[j], worst);
  }
  for (int i = 0; i < SCENES; i++)
    cf_picture_free(source[i]);
}

static void eight_bit_scenes(CfTest *test)
{
  scenes_are_accurate(test, CF_FORMAT_GRAY8, MOST_8_BITS);
}

static void ten_bit_scenes(CfTest *test)
{
  scenes_are_accurate(test, CF_FORMAT_Y444_10LE, MOST_10_BITS);
}

static void sixteen_bit_scenes(CfTest *test)
{
  scenes_are_accurate(test, CF_FORMAT_GRAY16_LE, MOST_16_BITS);
}

/* Includes the sigmas at which one algorithm takes over from another. */
static void every_sigma(CfTest *test)
{
  const Scene bars = {"bars", 0, 0, CF_PATTERN_BARS};
  CfTestPicture *source = draw(CF_FORMAT_GRAY8, 150, 97, &bars, test->seed);
  double worst = 0.0;

  for (int i = 1; i <= 600; i += i < 120 ? 1 : 3) {
    const double sigma = 0.1 * i;
    const Distance off = measure(test, sigma, source);

    cf_test_context(test, "sigma %g", sigma);
    CF_EXPECT(test, off.largest <= MOST_8_BITS, "%g codes from the real value", off.largest);
    worst = fmax(worst, off.largest);
  }
  cf_test_context(test, "at most %.4f codes from the real value", worst);
  cf_picture_free(source);
}

/* A blur neither brightens nor darkens: rounding errors cancel. */
static void means_stay(CfTest *test)
{
  const double sigmas[] = {1.0, 3.0, 6.0, 10.0, 25.0, 90.0};
  const Scene noise = {"noise", 0, 0, CF_PATTERN_NOISE};
  CfTestPicture *source = draw(CF_FORMAT_GRAY8, 421, 203, &noise, test->seed);

  for (int i = 0; i < 6; i++) {
    const Distance off = measure(test, sigmas[i], source);

    cf_test_context(test, "sigma %g", sigmas[i]);
    CF_EXPECT(test, fabs(off.mean) <= 0.05, "brighter by %g codes", off.mean);
  }
  cf_picture_free(source);
}

static void largest_sigma(CfTest *test)
{
  const Scene some[] = {{"bars", 0, 0, CF_PATTERN_BARS},
                        {"dots", 0, 0, CF_PATTERN_DOTS},
                        {"columns of 256", 256, 0, 0}};

  for (int i = 0; i < 3; i++) {
    CfTestPicture *source = draw(CF_FORMAT_GRAY8, 640, 121, &some[i], test->seed);

    for (int sigma = 130; sigma <= 250; sigma += 60) {
      const Distance off = measure(test, sigma, source);

      cf_test_context(test, "%s, sigma %d", some[i].name, sigma);
      CF_EXPECT(test, off.largest <= MOST_8_BITS, "%g codes from the real value", off.largest);
    }
    cf_picture_free(source);
  }
}

static void expect_code(CfTest *test, const CfTestPicture *got, int code)
{
  const int width = got->video.width;

  for (int i = 0; i < width * got->video.height; i++) {
    const int is = cf_picture_get(got, 0, i % width, i / width, 0);

    if (!CF_EXPECT(test, is == code, "%d became %d at %d, %d", code, is, i % width, i / width))
      return;
  }
}

static void constants_stay(CfTest *test, CfFormat format, int codes)
{
  const double sigmas[] = {0.3, 1.0, 2.3, 4.9, 5.0, 8.0, 16.0, 40.0, 250.0};
  const int top = cf_max_code(cf_format_info(format));
  const CfVideo video = cf_video(format, 61, 37);
  CfTestPicture *source = cf_picture_new(&video, layout_of(format));
  CfTestPicture *got = cf_picture_new(&video, layout_of(format));

  for (int i = 0; i < 9; i++) {
    const CfGaussblurParams params = blur(sigmas[i]);
    CfRig *rig = cf_rig_open(test, test->engine, &video, &params, 1);

    for (int j = 0; rig && j < codes; j++) {
      const int code = (int)((long)j * top / (codes - 1));

      cf_picture_set_role(source, CF_ROLE_LUMA, code);
      cf_test_context(test, "sigma %g", sigmas[i]);
      if (cf_rig_run(rig, source, got))
        expect_code(test, got, code);
    }
    cf_rig_close(rig);
  }
  cf_picture_free(got);
  cf_picture_free(source);
}

static void eight_bit_constants(CfTest *test)
{
  constants_stay(test, CF_FORMAT_GRAY8, 256);
}

static void ten_bit_constants(CfTest *test)
{
  constants_stay(test, CF_FORMAT_Y444_10LE, 125);
}

static void sixteen_bit_constants(CfTest *test)
{
  constants_stay(test, CF_FORMAT_GRAY16_LE, 200);
}

/* The errors of levels must not be visible as rings. */
static void constants_stay_under_maps(CfTest *test)
{
  const CfFormat formats[] = {CF_FORMAT_GRAY8, CF_FORMAT_GRAY16_LE};

  for (int i = 0; i < 2; i++) {
    const CfVideo video = cf_video(formats[i], 161, 97);
    const int top = cf_max_code(cf_format_info(formats[i]));
    CfTestPicture *source = cf_picture_new(&video, CF_LAYOUT_PADDED);
    CfTestPicture *got = cf_picture_new(&video, CF_LAYOUT_PADDED);

    for (int j = 0; j < 40; j++) {
      const CfGaussblurParams params = {.sigma = j % 2 ? 4.0 : 60.0,
                                        .sigma_vertical = -1.0,
                                        .border = CF_BORDER_REPLICATE,
                                        .map_mode = CF_MAP_RADIAL,
                                        .map_x = 0.4,
                                        .map_y = 0.6,
                                        .map_outer = 0.5};
      const int code = j < 4 ? j : top - cf_random_below(&test->random, top / 2);

      cf_picture_set_role(source, CF_ROLE_LUMA, code);
      cf_test_context(test, "radial map to sigma %g", params.sigma);
      if (cf_test_filter(test, test->engine, &params, 2, source, got))
        expect_code(test, got, code);
    }
    cf_picture_free(got);
    cf_picture_free(source);
  }
}

/* Colours under alpha are quotients of sums. Where little is visible these are small: sums over few
 * pixels, or over the outermost taps. */

typedef enum {
  DOTS_OF_50, /* one pixel in 50 is visible, in random colours */
  DOTS_OF_200,
  FAINT_DOTS,      /* with any alpha */
  CLUSTERS,        /* of 3x3 dots */
  EDGE_OF_NOISE,   /* of a half-plane */
  EDGE_OF_STRIPES, /* parallel to it */
  VISIBLES,
} Visible;

static const char *const visible_name[VISIBLES] = {
    "dots, one of 50", "dots, one of 200", "faint dots",
    "clusters",        "edge of noise",    "edge of stripes",
};

static int visible_alpha(Visible visible, double sigma, int x, int y, CfRandom *random)
{
  const int period = (int)ceil(2.0 * sigma);

  switch (visible) {
  case DOTS_OF_50:
    return cf_random_below(random, 50) ? 0 : 255;
  case DOTS_OF_200:
    return cf_random_below(random, 200) ? 0 : 255;
  case FAINT_DOTS:
    return cf_random_below(random, 50) ? 0 : 1 + cf_random_below(random, 255);
  case CLUSTERS:
    return x / period % 3 == 0 && y / period % 3 == 0 && x % period < 3 && y % period < 3 ? 255 : 0;
  default:
    return x < 3.0 * sigma ? 255 : 0;
  }
}

static int visible_colour(Visible visible, double sigma, int x, int c, CfRandom *random)
{
  const double depth = (3.0 * sigma - x) / sigma;

  if (visible == EDGE_OF_STRIPES)
    return (c == 0 ? fmod(depth, 0.6) > 0.3 : depth > 0.5 + 0.25 * c) ? 255 : 0;
  return cf_random_below(random, 2) ? 255 : 0;
}

static void draw_visible(CfTestPicture *picture, Visible visible, double sigma, CfRandom *random)
{
  const int width = picture->video.width;

  for (int i = 0; i < width * picture->video.height; i++) {
    for (int c = 0; c < 4; c++)
      cf_picture_set(picture, 0, i % width, i / width, c,
                     c == 3 ? visible_alpha(visible, sigma, i % width, i / width, random)
                            : visible_colour(visible, sigma, i % width, c, random));
  }
}

/* The least alpha of a result, and the error that its colours may then have
 * (docs/reference/accuracy.md). Below 1.5, a stored colour is within one code of the stored exact
 * colour. */
typedef struct {
  double least_alpha, colours, colours_by_taps;
} Band;

static const Band bands[] = {{0.5, 1.5, 0.6}, {1.0, 1.0, 0.6}, {3.0, 0.68, 0.6}, {8.0, 0.62, 0.6}};
#define BANDS (int)(sizeof bands / sizeof *bands)

/* From here on the pyramid is used. */
#define LARGEST_SIGMA_BY_TAPS 3.9

static int band_of(double alpha)
{
  int band = BANDS - 1;

  while (alpha < bands[band].least_alpha)
    band--;
  return band;
}

/* The exact picture: colours where alpha is at least 1/2, else 0. */
static void blur_visible(double sigma, const CfTestPicture *source, double *real[4])
{
  const int width = source->video.width, pixels = width * source->video.height;

  for (int c = 3; c >= 0; c--) {
    for (int i = 0; i < pixels; i++)
      real[c][i] = cf_picture_get(source, 0, i % width, i / width, c) *
                   (c == 3 ? 1.0 : cf_picture_get(source, 0, i % width, i / width, 3) / 255.0);
    blur_real(sigma, width, source->video.height, real[c]);
    for (int i = 0; c < 3 && i < pixels; i++)
      real[c][i] *= 255.0 / real[3][i];
  }
}

static void expect_visible(CfTest *test, double sigma, const CfTestPicture *source,
                           const CfTestPicture *got)
{
  const int width = source->video.width, pixels = width * source->video.height;
  double *real[4], worst[BANDS] = {0.0}, alpha_off = 0.0;

  for (int c = 0; c < 4; c++)
    real[c] = allocate((size_t)pixels * sizeof *real[c]);
  blur_visible(sigma, source, real);
  for (int i = 0; i < pixels; i++) {
    const int alpha = cf_picture_get(got, 0, i % width, i / width, 3);

    alpha_off = fmax(alpha_off, fabs(alpha - real[3][i]));
    for (int c = 0; c < 3 && alpha > 0 && real[3][i] >= bands[0].least_alpha; c++) {
      const int band = band_of(real[3][i]);
      const int code = cf_picture_get(got, 0, i % width, i / width, c);

      worst[band] = fmax(worst[band], fabs(code - real[c][i]));
    }
  }
  CF_EXPECT(test, alpha_off <= MOST_8_BITS, "alpha is off by %.3f", alpha_off);
  for (int i = 0; i < BANDS; i++) {
    const double most =
        sigma <= LARGEST_SIGMA_BY_TAPS ? bands[i].colours_by_taps : bands[i].colours;

    CF_EXPECT(test, worst[i] <= most, "from alpha %g on colours are off by %.3f, allowed are %g",
              bands[i].least_alpha, worst[i], most);
  }
  for (int c = 0; c < 4; c++)
    free(real[c]);
}

static void hardly_visible(CfTest *test, int width, int height, const double *sigmas, int count)
{
  const CfVideo video = cf_video(CF_FORMAT_RGBA, width, height);
  CfTestPicture *source = cf_picture_new(&video, CF_LAYOUT_PADDED);
  CfTestPicture *got = cf_picture_new(&video, CF_LAYOUT_PADDED);

  for (int i = 0; i < count * VISIBLES; i++) {
    const Visible visible = (Visible)(i % VISIBLES);
    const CfGaussblurParams params = blur(sigmas[i / VISIBLES]);

    draw_visible(source, visible, params.sigma, &test->random);
    cf_test_context(test, "sigma %g, %s", params.sigma, visible_name[visible]);
    if (cf_test_filter(test, test->engine, &params, 2, source, got))
      expect_visible(test, params.sigma, source, got);
  }
  cf_picture_free(got);
  cf_picture_free(source);
}

static void what_is_hardly_visible(CfTest *test)
{
  const double sigmas[] = {2.0,  3.9,  4.0,  4.2,   4.75, 5.7,  6.0,  8.0,  9.25, 10.0,
                           11.0, 12.0, 16.0, 17.25, 19.0, 20.0, 31.9, 32.0, 39.0, 40.0};

  hardly_visible(test, 240, 100, sigmas, (int)(sizeof sigmas / sizeof *sigmas));
}

/* Wide enough for CUDA's pyramid, where a CTA filters coarse samples of 1024 pixels along rows. */
static void what_is_hardly_visible_in_wide_pictures(CfTest *test)
{
  const double sigmas[] = {10.0, 16.0, 20.0, 31.9, 32.0, 40.0, 49.9, 63.9};

  hardly_visible(test, 1100, 24, sigmas, (int)(sizeof sigmas / sizeof *sigmas));
}

static const CfTestCase cases[] = {
    {"eight-bit-scenes", eight_bit_scenes, CF_EACH_OTHER_ENGINE},
    {"ten-bit-scenes", ten_bit_scenes, CF_EACH_OTHER_ENGINE},
    {"sixteen-bit-scenes", sixteen_bit_scenes, CF_EACH_OTHER_ENGINE},
    {"every-sigma", every_sigma, CF_EACH_OTHER_ENGINE},
    {"means-stay", means_stay, CF_EACH_OTHER_ENGINE},
    {"largest-sigma", largest_sigma, CF_EACH_OTHER_ENGINE},
    {"eight-bit-constants", eight_bit_constants, CF_EACH_OTHER_ENGINE},
    {"ten-bit-constants", ten_bit_constants, CF_EACH_OTHER_ENGINE},
    {"sixteen-bit-constants", sixteen_bit_constants, CF_EACH_OTHER_ENGINE},
    {"what-is-hardly-visible", what_is_hardly_visible, CF_EACH_OTHER_ENGINE},
    {"what-is-hardly-visible-in-wide-pictures", what_is_hardly_visible_in_wide_pictures,
     CF_EACH_OTHER_ENGINE},
    {"constants-stay-under-maps", constants_stay_under_maps, CF_EACH_OTHER_ENGINE},
    {0},
};

int main(int argc, char **argv)
{
  const CfTestSuite suite = {&cf_gaussblur, cases};

  return cf_test_main(&suite, argc, argv);
}
