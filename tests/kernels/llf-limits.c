/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What the local Laplacian filter leaves alone: noise below the noise floor, black and white,
 * details larger than its reach, colours in the dark; and no jumps while a parameter changes.
 */
#include "llf.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "harness.h"
#include "llf_curves.h"
#include "llf_pictures.h"

/* ---- Noise ---- */

/* Nearly normal noise with this mean and standard deviation, in codes of 16 bits. */
static CfTestPicture *noise(CfTest *test, int width, int height, double mean, double deviation)
{
  const CfVideo video = cf_video(CF_FORMAT_GRAY16_LE, width, height);
  CfTestPicture *result = cf_picture_new(&video, CF_LAYOUT_ALIGNED);
  CfRandom random = {test->seed};

  for (int y = 0; y < height; y++)
    for (int x = 0; x < width; x++) {
      double sum = -6.0;

      for (int i = 0; i < 12; i++)
        sum += cf_random_unit(&random);
      cf_picture_set(result, 0, x, y, 0, (int)floor((mean + deviation * sum) * 65535.0 + 0.5));
    }
  return result;
}

static double deviation(const CfTestPicture *picture, int plane, int channel)
{
  const int width = cf_plane_width(&picture->video, plane);
  const int height = cf_plane_height(&picture->video, plane);
  double sum = 0.0, squares = 0.0;

  for (int y = 0; y < height; y++)
    for (int x = 0; x < width; x++) {
      const double code = cf_picture_get(picture, plane, x, y, channel);
      sum += code;
      squares += code * code;
    }
  sum /= width * height;
  return sqrt(squares / width / height - sum * sum);
}

static double noise_gain(CfTest *test, const CfEngine *engine, const CfTestPicture *source,
                         const CfLlfParams *params)
{
  CfTestPicture *result = cf_picture_new(&source->video, CF_LAYOUT_ALIGNED);
  double gain = 0.0;

  if (cf_test_filter(test, engine, params, 2, source, result))
    gain = deviation(result, 0, 0) / deviation(source, 0, 0);
  cf_picture_free(result);
  return gain;
}

/* Flat grey with sensor noise keeps no more noise than with the dense filter, wherever the grey
 * lies between sampled intensities. */
static void noise_floor_holds(CfTest *test)
{
  const double floors[] = {0.01, 0.02, 0.04}, codes[] = {0.5, 1.0, 2.0, 4.0};
  const double greys[] = {0.5, 0.388, 0.392};

  for (int f = 0; f < 3; f++)
    for (int n = 0; n < 12; n++) {
      const double code = codes[n % 4], grey = greys[n / 4];
      CfLlfParams params = defaults();
      CfTestPicture *source = noise(test, 64, 64, grey, code / 255.0);
      double dense;

      params.noise_floor = floors[f];
      params.method = CF_LLF_EXACT;
      say(test, &params, &source->video, "noise");
      dense = noise_gain(test, &cf_llf_cpu, source, &params);
      for (int method = CF_LLF_FAST; method <= CF_LLF_SAMPLED; method++) {
        double gain;

        params.method = method;
        gain = noise_gain(test, test->engine, source, &params);
        CF_EXPECT(test, gain <= dense + 0.15 && gain >= dense - 0.25,
                  "method %d, noise of %g codes about %g: gain %.2f, of the dense filter %.2f",
                  method, code, grey, gain, dense);
        if (test->verbose)
          printf("# floor %g, noise %g about %g, method %d: %.2f, dense %.2f\n", floors[f], code,
                 grey, method, gain, dense);
      }
      cf_picture_free(source);
    }
}

/* Noisy chroma on a dark grey, while luma is raised: a bright half of the picture makes the grey
 * dark. */
static void dark_chroma_is_quiet(CfTest *test)
{
  const CfVideo video = cf_video(CF_FORMAT_I420, 128, 96);
  const double lumas[] = {0.02, 0.05, 0.1};

  for (int i = 0; i < 3; i++) {
    CfTestPicture *source = cf_picture_new(&video, CF_LAYOUT_ALIGNED);
    CfTestPicture *result = cf_picture_new(&video, CF_LAYOUT_ALIGNED);
    CfLlfParams params = defaults();
    CfRandom random = {test->seed};
    double before = 0.0, after = 0.0;
    int risen = 0;

    params.beta = 0.5;
    for (int y = 0; y < 96; y++)
      for (int x = 0; x < 128; x++)
        cf_picture_set(source, 0, x, y, 0, (int)(16.5 + 219.0 * (x < 64 ? lumas[i] : 0.8)));
    for (int plane = 1; plane < 3; plane++)
      for (int y = 0; y < 48; y++)
        for (int x = 0; x < 64; x++)
          cf_picture_set(source, plane, x, y, 0, 123 + cf_random_below(&random, 11));
    say(test, &params, &video, "a dark and a bright half");
    cf_test_filter(test, test->engine, &params, 2, source, result);
    for (int y = 0; y < 48; y++)
      for (int x = 0; x < 24; x++) {
        before += pow(cf_picture_get(source, 1, x, y, 0) - 128.0, 2.0);
        after += pow(cf_picture_get(result, 1, x, y, 0) - 128.0, 2.0);
        risen += cf_picture_get(result, 0, 2 * x, 2 * y, 0) > cf_picture_get(source, 0, 0, 0, 0);
      }
    CF_EXPECT(test, sqrt(after / before) <= 1.2, "luma %g: chroma noise %.2f times", lumas[i],
              sqrt(after / before));
    CF_EXPECT(test, risen > 1000, "luma %g is not raised", lumas[i]);
    if (test->verbose)
      printf("# luma %g: chroma noise %.2f times\n", lumas[i], sqrt(after / before));
    cf_picture_free(source);
    cf_picture_free(result);
  }
}

/* ---- Black and white ---- */

static CfLlfParams strong(int turn)
{
  CfLlfParams params = defaults();

  params.sigma = 0.3;
  params.alpha = turn == 0 ? 0.1 : 0.4;
  params.beta = turn == 1 ? 5.0 : 1.0;
  return params;
}

/* The first or last code of the range, `least` or `most`, appears only where the source has it. */
static void expect_inside(CfTest *test, const CfTestPicture *source, const CfTestPicture *result,
                          int plane, int channel, int least, int most)
{
  int clipped = 0;

  for (int y = 0; y < cf_plane_height(&source->video, plane); y++)
    for (int x = 0; x < cf_plane_width(&source->video, plane); x++) {
      const int before = cf_picture_get(source, plane, x, y, channel);
      const int after = cf_picture_get(result, plane, x, y, channel);

      clipped += (after >= most && before < most) || (after <= least && before > least);
    }
  CF_EXPECT(test, clipped == 0, "%d samples of plane %d are newly at %d or %d", clipped, plane,
            least, most);
}

/* Photographs with detail at both ends, in a narrow range of colours and in all of it. */
static void nothing_new_clips(CfTest *test)
{
  const CfFormatInfo *format = cf_format_info(test->format);
  const int unit = 1 << (format->bits - 8);

  for (int turn = 0; turn < 6; turn++) {
    CfTestPicture *source = picture(test->format, 83, 61, CF_LAYOUT_PADDED,
                                    turn % 2 ? CF_PATTERN_NOISE : CF_PATTERN_PHOTO, test->seed);
    CfTestPicture *result = cf_picture_new(&source->video, CF_LAYOUT_UNALIGNED);
    CfLlfParams params = strong(turn / 2);

    params.method = turn % 3 == 2 ? CF_LLF_SAMPLED : CF_LLF_FAST;
    say(test, &params, &source->video, turn % 2 ? "noise" : "photo");
    if (cf_test_filter(test, test->engine, &params, 2, source, result)) {
      const bool full = format->rgb || format->planes == 1;

      for (int plane = 0; plane < format->planes; plane++)
        for (int channel = 0; channel < format->plane[plane].channels; channel++) {
          const CfRole role = format->plane[plane].role[channel];

          if (role == CF_ROLE_LUMA)
            expect_inside(test, source, result, plane, channel, full ? 0 : 16 * unit,
                          full ? cf_max_code(format) : 235 * unit);
          else if (role == CF_ROLE_CHROMA_BLUE || role == CF_ROLE_CHROMA_RED)
            expect_inside(test, source, result, plane, channel, 16 * unit, 240 * unit);
          else if (format->rgb && role != CF_ROLE_ALPHA && role != CF_ROLE_PADDING)
            expect_inside(test, source, result, plane, channel, 0, cf_max_code(format));
        }
    }
    cf_picture_free(source);
    cf_picture_free(result);
  }
}

/* ---- Parameters ---- */

/* The largest difference between two results of 16 bits, in 8-bit codes. */
static double distance(CfTest *test, const CfTestPicture *source, const CfLlfParams *first,
                       const CfLlfParams *second)
{
  CfTestPicture *one = cf_picture_new(&source->video, CF_LAYOUT_ALIGNED);
  CfTestPicture *two = cf_picture_new(&source->video, CF_LAYOUT_ALIGNED);
  double largest = -1.0;

  if (cf_test_filter(test, test->engine, first, 2, source, one) &&
      cf_test_filter(test, test->engine, second, 2, source, two))
    largest = cf_picture_compare(two, one, 0.0).worst / 257.0;
  cf_picture_free(one);
  cf_picture_free(two);
  return largest;
}

/* Each engine is within `most` codes of 8 bits of the dense filter on a step at column `edge`, from
 * 0.3 to `bright`. */
static void expect_no_line(CfTest *test, CfLlfParams params, int edge, double bright, double most)
{
  const CfVideo video = cf_video(CF_FORMAT_GRAY16_LE, 96, 64);
  CfTestPicture *source = cf_picture_new(&video, CF_LAYOUT_ALIGNED);
  CfTestPicture *want = cf_picture_new(&video, CF_LAYOUT_ALIGNED);

  for (int y = 0; y < video.height; y++)
    for (int x = 0; x < video.width; x++)
      cf_picture_set(source, 0, x, y, 0, (int)(65535.0 * (x < edge ? 0.3 : bright)));
  params.method = CF_LLF_EXACT;
  cf_test_filter(test, &cf_llf_cpu, &params, 2, source, want);
  for (int method = CF_LLF_FAST; method <= CF_LLF_SAMPLED; method++) {
    CfTestPicture *got = cf_picture_new(&video, CF_LAYOUT_ALIGNED);
    double worst;

    params.method = method;
    say(test, &params, &video, "a step");
    cf_test_filter(test, test->engine, &params, 2, source, got);
    worst = cf_picture_compare(got, want, 0.0).worst / 257.0;
    CF_EXPECT(test, worst <= most, "a step at %d to %g: %.1f codes off", edge, bright, worst);
    if (test->verbose)
      printf("# %g %g %g method %d, at %d to %g: %.2f codes\n", params.sigma, params.alpha,
             params.beta, method, edge, bright, worst);
    cf_picture_free(got);
  }
  cf_picture_free(want);
  cf_picture_free(source);
}

/* A step between two flat areas, at any position in the blocks of weights: weights must not end
 * before the coefficients that they weigh, which would draw lines along the step. */
static void edges_have_no_lines(CfTest *test)
{
  static const struct {
    double sigma, alpha, beta, most;
  } curves_here[] = {{0.2, 0.5, 0.5, 3.0}, {0.35, 0.4, 5.0, 6.0}, {0.2, 0.25, 1.0, 5.0}};

  for (int i = 0; i < 3; i++)
    for (int edge = 48; edge < 52; edge++) {
      CfLlfParams params = defaults();

      params.sigma = curves_here[i].sigma;
      params.alpha = curves_here[i].alpha;
      params.beta = curves_here[i].beta;
      params.protect = false;
      params.intensity_levels = 64;
      expect_no_line(test, params, edge, 0.9, curves_here[i].most);
      expect_no_line(test, params, edge, 0.35, curves_here[i].most);
    }
}

/* Where the algorithm switches: reach crosses a level, weights begin and end, alpha crosses 1. */
static void nothing_jumps(CfTest *test)
{
  static const struct {
    double alpha, beta, noise_floor, reach, strength, next_alpha, next_floor, next_reach,
        next_strength;
  } steps[] = {
      {0.5, 1.0, 0.02, 8.0 / 96.0, 1.0, 0.5, 0.02, 8.001 / 96.0, 1.0},
      {0.5, 0.4, 0.02, 32.0 / 96.0, 1.0, 0.5, 0.02, 32.001 / 96.0, 1.0},
      {0.5, 3.0, 0.0, 32.0 / 96.0, 1.0, 0.5, 0.0, 32.001 / 96.0, 1.0},
      {2.0, 0.4, 0.02, 4.0 / 96.0, 1.0, 2.0, 0.02, 4.001 / 96.0, 1.0},
      {0.5, 0.4, 0.02, 1.0, 1.0, 0.5, 0.02, 0.0, 1.0},
      {0.5, 1.0, 0.02, 1.0 / 96.0, 1.0, 0.5, 0.02, 1.001 / 96.0, 1.0},
      {0.5, 1.0, 0.02, 0.0, 0.0, 0.5, 0.02, 0.0, 0.0001},
      {0.5, 0.4, 0.000165, 0.0, 1.0, 0.5, 0.000168, 0.0, 1.0},
      {0.5, 1.0, 0.0, 0.0, 1.0, 0.5, 0.00001, 0.0, 1.0},
      {0.9999, 0.4, 0.04, 0.0, 1.0, 1.0, 0.04, 0.0, 1.0},
      {0.95, 0.4, 0.04, 0.0, 1.0, 0.9501, 0.04, 0.0, 1.0},
  };
  CfTestPicture *source =
      picture(CF_FORMAT_GRAY16_LE, 128, 96, CF_LAYOUT_ALIGNED, CF_PATTERN_PHOTO, test->seed);

  for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++)
    for (int method = CF_LLF_FAST; method <= CF_LLF_SAMPLED; method++) {
      CfLlfParams params = defaults(), next;
      double step;

      params.method = method;
      params.intensity_levels = 16;
      params.alpha = steps[i].alpha;
      params.beta = steps[i].beta;
      params.noise_floor = steps[i].noise_floor;
      params.reach = steps[i].reach;
      params.strength = steps[i].strength;
      next = params;
      next.alpha = steps[i].next_alpha;
      next.noise_floor = steps[i].next_floor;
      next.reach = steps[i].next_reach;
      next.strength = steps[i].next_strength;
      say(test, &params, &source->video, "photo");
      step = distance(test, source, &params, &next);
      CF_EXPECT(test, step >= 0.0 && step < 0.2, "step %zu: by %.3f codes", i, step);
      if (test->verbose)
        printf("# step %zu, method %d: %.4f codes\n", i, method, step);
    }
  cf_picture_free(source);
}

/* The same scene at twice the size, and in one field of its frame: reach is relative. */
static void reach_is_relative(CfTest *test)
{
  static const struct {
    int width, height;
    bool field;
  } sizes[] = {{128, 128, false}, {256, 256, false}, {128, 64, true}};
  enum { SIZES = sizeof sizes / sizeof sizes[0] };
  double changed[SIZES][2];

  for (int size = 0; size < SIZES; size++)
    for (int wave = 0; wave < 2; wave++) {
      const int width = sizes[size].width, height = sizes[size].height;
      const double length = (wave ? 0.5 : 0.0625) * width;
      CfVideo video = cf_video(CF_FORMAT_GRAY16_LE, width, height);
      CfTestPicture *source, *result;
      CfLlfParams params = defaults();

      video.field = sizes[size].field;
      source = cf_picture_new(&video, CF_LAYOUT_ALIGNED);
      result = cf_picture_new(&video, CF_LAYOUT_ALIGNED);
      params.reach = 0.045;
      for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++)
          cf_picture_set(source, 0, x, y, 0,
                         (int)(65535.0 * (0.5 + 0.05 * sin(6.283185307 * x / length))));
      say(test, &params, &video, "waves");
      cf_test_filter(test, test->engine, &params, 2, source, result);
      changed[size][wave] = deviation(result, 0, 0) / deviation(source, 0, 0);
      cf_picture_free(source);
      cf_picture_free(result);
    }
  for (int size = 0; size < SIZES; size++) {
    CF_EXPECT(test, changed[size][0] > 1.5, "fine waves %.2f times", changed[size][0]);
    CF_EXPECT(test, changed[size][1] < 1.2, "long waves %.2f times", changed[size][1]);
  }
  for (int size = 1; size < SIZES; size++)
    for (int wave = 0; wave < 2; wave++)
      CF_EXPECT(test, fabs(changed[size][wave] / changed[0][wave] - 1.0) < 0.05,
                "%.2f times, at %dx%d %.2f", changed[0][wave], sizes[size].width,
                sizes[size].height, changed[size][wave]);
}

/* The second result is the mean of the others, up to rounding. */
static void expect_halves(CfTest *test, CfTestPicture *const result[3], int plane, int channel)
{
  /* Three roundings; single precision for more than 10 bits. */
  const int most = cf_max_code(cf_format_info(test->format)) > 1023 ? 40 : 2;

  for (int y = 0; y < cf_plane_height(&result[0]->video, plane); y++)
    for (int x = 0; x < cf_plane_width(&result[0]->video, plane); x++) {
      const int from = cf_picture_get(result[0], plane, x, y, channel);
      const int half = cf_picture_get(result[1], plane, x, y, channel);
      const int to = cf_picture_get(result[2], plane, x, y, channel);

      CF_EXPECT(test, abs(2 * half - from - to) <= most, "%d to %d at half strength is %d", from,
                to, half);
    }
}

/* From the input to the result along a straight line; at 0 the input, bit for bit. */
static void strength_is_a_mix(CfTest *test)
{
  for (int method = CF_LLF_FAST; method <= CF_LLF_SAMPLED; method++) {
    CfTestPicture *source =
        picture(test->format, 66, 50, CF_LAYOUT_PADDED, CF_PATTERN_PHOTO, test->seed);
    CfTestPicture *result[3];
    CfLlfParams params = curve_params(6, (CfLlfMethod)method);
    const CfFormatInfo *format = cf_format_info(test->format);

    say(test, &params, &source->video, "photo");
    for (int i = 0; i < 3; i++) {
      params.strength = 0.5 * i;
      result[i] = cf_picture_new(&source->video, CF_LAYOUT_ALIGNED);
      cf_test_filter(test, test->engine, &params, 2, source, result[i]);
    }
    cf_test_compare_exact(test, result[0], source);
    for (int plane = 0; plane < format->planes; plane++)
      for (int channel = 0; channel < format->plane[plane].channels; channel++)
        if (format->plane[plane].role[channel] != CF_ROLE_PADDING)
          expect_halves(test, result, plane, channel);
    for (int i = 0; i < 3; i++)
      cf_picture_free(result[i]);
    cf_picture_free(source);
  }
}

static const CfTestCase cases[] = {
    {"noise-floor-holds", noise_floor_holds, CF_EACH_OTHER_ENGINE},
    {"dark-chroma-is-quiet", dark_chroma_is_quiet, CF_EACH_OTHER_ENGINE},
    {"nothing-new-clips", nothing_new_clips, CF_EACH_OTHER_ENGINE | CF_EACH_FORMAT},
    {"edges-have-no-lines", edges_have_no_lines, CF_EACH_OTHER_ENGINE},
    {"nothing-jumps", nothing_jumps, CF_EACH_OTHER_ENGINE},
    {"reach-is-relative", reach_is_relative, CF_EACH_OTHER_ENGINE},
    {"strength-is-a-mix", strength_is_a_mix, CF_EACH_OTHER_ENGINE | CF_EACH_FORMAT},
    {NULL, NULL, 0},
};

int main(int argc, char **argv)
{
  const CfTestSuite suite = {&cf_llf, cases};

  return cf_test_main(&suite, argc, argv);
}
