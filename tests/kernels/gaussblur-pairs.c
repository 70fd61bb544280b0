/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Gaussian blur under alpha: pairs of a colour and its alpha.
 *
 * Where an engine rounds both a colour and its alpha to other codes than the CPU, both up or both
 * down, their product is off by up to 2 codes, although each was off by next to nothing. The
 * probability is the product of both probabilities, and has to be small: engines that run the same
 * plan in single precision differ from each other in fewer than 1 of 10,000 samples, and in pairs
 * in none of the frames of a day.
 */
#include "gaussblur.h"

#include <math.h>
#include <stdio.h>

#include "harness.h"

#define SHARE (1.0 / 10000)

static double normal(CfRandom *random)
{
  const double radius = sqrt(-2.0 * log(1.0 - cf_random_unit(random)));

  return radius * cos(2.0 * M_PI * cf_random_unit(random));
}

/* Gradients, edges, fine noise, and every value of alpha. */
static void draw(CfTestPicture *picture, int phase, CfRandom *random)
{
  const CfVideo *video = &picture->video;
  const CfFormatInfo *info = cf_format_info(video->format);
  const int alpha = cf_alpha_channel(&info->plane[0]);

  for (int y = 0; y < video->height; y++) {
    for (int x = 0; x < video->width; x++) {
      const double u = (double)x / video->width, v = (double)y / video->height;

      for (int c = 0; c < 4; c++) {
        const double at = phase + c;
        double value = 0.5 + 0.3 * sin(6.0 * u + at) * cos(5.0 * v - at) + 0.04 * normal(random);

        if (fmod(7.0 * u + 3.0 * v + 0.3 * at, 1.0) > 0.7)
          value += 0.35;
        if (c == alpha)
          value = 1.6 * value - 0.4;
        cf_picture_set(picture, 0, x, y, c, (int)lrint(255.0 * fmin(fmax(value, 0.0), 1.0)));
      }
    }
  }
}

static void rounds_as_the_cpu(CfTest *test)
{
  const CfEngine *cpu = cf_effect_engine(&cf_gaussblur, "cpu");
  static const struct {
    double sigma;
    CfBorder border;
    int width, height;
  } blurs[] = {
      {40.0, CF_BORDER_REPLICATE, 320, 240},   {17.0, CF_BORDER_REFLECT, 321, 243},
      {32.0, CF_BORDER_REFLECT_101, 320, 240}, {25.0, CF_BORDER_WRAP, 321, 243},
      {100.0, CF_BORDER_REPLICATE, 320, 240},  {250.0, CF_BORDER_REFLECT, 321, 243},
      {12.0, CF_BORDER_REFLECT, 320, 240},     {12.0, CF_BORDER_WRAP, 320, 240},
      {20.0, CF_BORDER_REFLECT, 320, 240},     {20.0, CF_BORDER_WRAP, 320, 240},
      {48.0, CF_BORDER_REFLECT, 320, 240},     {48.0, CF_BORDER_WRAP, 320, 240},
      {90.0, CF_BORDER_REFLECT, 448, 448},     {14.0, CF_BORDER_REFLECT_101, 333, 242},
  };
  const CfFormat formats[] = {CF_FORMAT_RGBA, CF_FORMAT_ARGB, CF_FORMAT_AYUV};
  long differing = 0, samples = 0;

  for (int i = 0; i < (int)(sizeof blurs / sizeof *blurs); i++) {
    const CfVideo video = cf_video(formats[i % 3], blurs[i].width, blurs[i].height);
    const CfGaussblurParams params = {
        .sigma = blurs[i].sigma, .sigma_vertical = -1.0, .border = blurs[i].border};
    CfTestPicture *source = cf_picture_new(&video, CF_LAYOUT_ALIGNED);
    CfTestPicture *want = cf_picture_new(&video, CF_LAYOUT_ALIGNED);
    CfTestPicture *got = cf_picture_new(&video, CF_LAYOUT_ALIGNED);

    draw(source, i, &test->random);
    cf_test_context(test, "sigma %g, border %d, %dx%d %s", params.sigma, (int)params.border,
                    video.width, video.height, cf_format_info(video.format)->name);
    if (cf_test_filter(test, cpu, &params, 2, source, want) &&
        cf_test_filter(test, test->engine, &params, 2, source, got)) {
      const CfDifference difference = cf_picture_compare(got, want, 1.0);

      cf_test_compare(test, got, want, 1.0);
      differing += difference.differing;
      samples += difference.samples;
    }
    cf_picture_free(got);
    cf_picture_free(want);
    cf_picture_free(source);
  }
  CF_EXPECT(test, (double)differing <= SHARE * (double)samples, "%ld of %ld samples differ",
            differing, samples);
}

/* All results, of alpha and of colours, lie next to a tie between two codes. */
static void alpha_and_colours_near_ties(CfTest *test)
{
  const CfVideo video = cf_video(CF_FORMAT_BGRA, 200, 80);

  for (int i = 0; i < 12; i++) {
    const CfGaussblurParams params = {
        .sigma = 1.0 + 0.3 * i, .sigma_vertical = -1.0, .border = i % CF_BORDER_CONSTANT};
    CfTestPicture *source = cf_picture_new(&video, CF_LAYOUT_ALIGNED);
    CfTestPicture *got = cf_picture_new(&video, CF_LAYOUT_ALIGNED);

    for (int y = 0; y < video.height; y++) {
      for (int x = 0; x < video.width; x++) {
        for (int c = 0; c < 4; c++)
          cf_picture_set(source, 0, x, y, c, 150 + 8 * i + cf_random_below(&test->random, 2));
      }
    }
    CfTestPicture *want = cf_test_reference(test, &params, source);

    cf_test_context(test, "sigma %g", params.sigma);
    if (want && cf_test_filter(test, test->engine, &params, 2, source, got))
      cf_test_compare(test, got, want, 1.0);
    cf_picture_free(want);
    cf_picture_free(got);
    cf_picture_free(source);
  }
}

static const CfTestCase cases[] = {
    {"rounds-as-the-cpu", rounds_as_the_cpu, CF_EACH_OTHER_ENGINE},
    {"alpha-and-colours-near-ties", alpha_and_colours_near_ties, CF_EACH_OTHER_ENGINE},
    {0},
};

int main(int argc, char **argv)
{
  static const CfTestSuite suite = {&cf_gaussblur, cases};

  return cf_test_main(&suite, argc, argv);
}
