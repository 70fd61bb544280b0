/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Colours with little alpha. As stored they are quotients of two small sums, so that an error of
 * these counts 255 times. They are compared with real numbers: premultiplied, as they are seen,
 * where alpha is less than FAINT_ALPHA, else as they are stored.
 */
#include <math.h>
#include <stdlib.h>

#include "harness.h"
#include "plan/presets.h"
#include "sepconv_params.h"

#define WIDTH   331
#define HEIGHT  170
#define SAMPLES (WIDTH * HEIGHT)
/* In codes: 0.5 for rounding, 0.05 for taps in fp16 (cuda/fir/fp16_error_bound.h), and 2^-12 of a
 * sum along a row, for colours and for alpha, each at most 128 codes. */
#define MOST               (0.5 + 0.05 + 2 * 128.0 / 4096)
#define MOST_PREMULTIPLIED 1.0
#define FAINT_ALPHA        8

static void *allocate(size_t bytes)
{
  void *memory = calloc(1, bytes);

  if (!memory)
    abort();
  return memory;
}

/* ---- Pictures ---- */

typedef enum { OPAQUE_DOTS, DOTS, LONE_DOTS, FAINT, NOISE, SCENES } Scene;

static const char *const scene_names[] = {"opaque dots", "dots", "lone dots", "faint", "noise"};

static int draw_alpha(CfRandom *random, Scene scene)
{
  const int code = 1 + cf_random_below(random, 255);

  switch (scene) {
  case OPAQUE_DOTS:
    return cf_random_below(random, 50) ? 0 : 255;
  case DOTS:
    return cf_random_below(random, 50) ? 0 : code;
  case LONE_DOTS:
    return cf_random_below(random, 1000) ? 0 : 255;
  case FAINT:
    return 1 + cf_random_below(random, 3);
  default:
    return code;
  }
}

static CfTestPicture *draw(CfFormat format, Scene scene, CfRandom *random)
{
  const CfVideo video = cf_video(format, WIDTH, HEIGHT);
  CfTestPicture *picture = cf_picture_new(&video, CF_LAYOUT_ALIGNED);
  const int alpha = cf_alpha_channel(&cf_format_info(format)->plane[0]);

  for (int i = 0; i < SAMPLES; i++) {
    for (int c = 0; c < 4; c++)
      cf_picture_set(picture, 0, i % WIDTH, i / WIDTH, c,
                     c == alpha ? draw_alpha(random, scene) : cf_random_below(random, 256));
  }
  return picture;
}

/* ---- Real numbers: rows, then columns, replicating the border ---- */

static int clamp(int i, int size)
{
  return i < 0 ? 0 : i < size ? i : size - 1;
}

static void filter_real(const CfKernel *kernel, double *samples)
{
  const int middle = kernel->taps / 2;
  double *rows = allocate(SAMPLES * sizeof *rows);

  for (int i = 0; i < SAMPLES; i++) {
    for (int t = 0; t < kernel->taps; t++)
      rows[i] += kernel->tap[t] * samples[i / WIDTH * WIDTH + clamp(i % WIDTH + t - middle, WIDTH)];
  }
  for (int i = 0; i < SAMPLES; i++) {
    samples[i] = 0.0;
    for (int t = 0; t < kernel->taps; t++)
      samples[i] +=
          kernel->tap[t] * rows[clamp(i / WIDTH + t - middle, HEIGHT) * WIDTH + i % WIDTH];
  }
  free(rows);
}

/* Filters a colour times alpha, or alpha itself. */
static double *filter_channel(const CfKernel *kernel, const CfTestPicture *source, int channel,
                              int alpha)
{
  double *samples = allocate(SAMPLES * sizeof *samples);

  for (int i = 0; i < SAMPLES; i++) {
    samples[i] = cf_picture_get(source, 0, i % WIDTH, i / WIDTH, alpha);
    if (channel != alpha)
      samples[i] *= cf_picture_get(source, 0, i % WIDTH, i / WIDTH, channel);
  }
  filter_real(kernel, samples);
  return samples;
}

/* The largest distances from the exact values. */
typedef struct {
  double stored, premultiplied;
} Distances;

static Distances largest_distances(const CfKernel *kernel, const CfTestPicture *source,
                                   const CfTestPicture *got)
{
  const int alpha = cf_alpha_channel(&cf_format_info(source->video.format)->plane[0]);
  double *alphas = filter_channel(kernel, source, alpha, alpha);
  Distances largest = {0.0, 0.0};

  for (int c = 0; c < 4; c++) {
    double *samples = filter_channel(kernel, source, c, alpha);

    for (int i = 0; i < SAMPLES; i++) {
      const double real = c == alpha ? samples[i] : samples[i] / alphas[i];
      const int code = cf_picture_get(got, 0, i % WIDTH, i / WIDTH, c);
      const int code_alpha = cf_picture_get(got, 0, i % WIDTH, i / WIDTH, alpha);

      if (c == alpha || alphas[i] >= FAINT_ALPHA)
        largest.stored = fmax(largest.stored, fabs(code - real));
      else
        largest.premultiplied =
            fmax(largest.premultiplied, fabs(code * code_alpha - samples[i]) / 255.0);
    }
    free(samples);
  }
  free(alphas);
  return largest;
}

/* ---- Cases ---- */

static void compare(CfTest *test, const CfSepconvParams *params, const CfKernel *kernel,
                    const char *what)
{
  const CfFormat formats[] = {CF_FORMAT_RGBA, CF_FORMAT_ARGB, CF_FORMAT_AYUV};

  for (int scene = 0; scene < SCENES; scene++) {
    CfTestPicture *source = draw(formats[(scene + kernel->taps / 2) % 3], scene, &test->random);
    CfTestPicture *got = cf_picture_new(&source->video, CF_LAYOUT_ALIGNED);

    cf_test_context(test, "%s, %d taps, %s", what, kernel->taps, scene_names[scene]);
    if (cf_test_filter(test, test->engine, params, 2, source, got)) {
      const Distances largest = largest_distances(kernel, source, got);
      CF_EXPECT(test, largest.stored <= MOST, "%g codes from the real value, allowed are %g",
                largest.stored, MOST);
      CF_EXPECT(test, largest.premultiplied <= MOST_PREMULTIPLIED,
                "%g codes from the real value premultiplied, allowed are %g", largest.premultiplied,
                MOST_PREMULTIPLIED);
      cf_test_context(test, "at most %.3f codes from the real value, %.3f premultiplied",
                      largest.stored, largest.premultiplied);
    }
    cf_picture_free(got);
    cf_picture_free(source);
  }
}

static void colours_of_gaussians(CfTest *test)
{
  const double sigmas[] = {0.5, 0.8, 1.0, 1.4, 2.0, 2.5, 3.0, 4.0, 5.0, 7.0, 8.0, 10.0};

  for (int i = 0; i < (int)(sizeof sigmas / sizeof *sigmas); i++) {
    const int radius = (int)ceil(4.0 * sigmas[i]);
    CfSepconvParams params = defaults();
    CfKernel kernel = {.taps = 2 * radius + 1};
    double sum = 0.0;

    for (int t = 0; t < kernel.taps; t++) {
      kernel.tap[t] = exp(-0.5 * (t - radius) * (t - radius) / (sigmas[i] * sigmas[i]));
      sum += kernel.tap[t];
    }
    for (int t = 0; t < kernel.taps; t++)
      kernel.tap[t] /= sum;
    params.row_kernel = params.column_kernel = kernel;
    compare(test, &params, &kernel, "a Gaussian");
  }
}

static void colours_of_presets(CfTest *test)
{
  const int sizes[] = {3, 9, 17, 33, 41, 65, 81, 97, 129};

  for (int i = 0; i < (int)(sizeof sizes / sizeof *sizes); i++) {
    for (int preset = CF_SEPCONV_BOX; preset <= CF_SEPCONV_GAUSSIAN; preset++) {
      CfSepconvParams params = defaults();
      CfKernel row, column;

      params.preset = preset;
      params.preset_size = sizes[i];
      cf_sepconv_preset_kernels((CfSepconvPreset)preset, sizes[i], &row, &column);
      compare(test, &params, &row, cf_sepconv_preset_choices[preset].nick);
    }
  }
}

static const CfTestCase cases[] = {
    {"colours-of-gaussians", colours_of_gaussians, CF_EACH_OTHER_ENGINE},
    {"colours-of-presets", colours_of_presets, CF_EACH_OTHER_ENGINE},
    {0},
};

int main(int argc, char **argv)
{
  const CfTestSuite suite = {&cf_sepconv, cases};

  return cf_test_main(&suite, argc, argv);
}
