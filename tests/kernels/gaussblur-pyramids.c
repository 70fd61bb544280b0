/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Both blur pyramids on CUDA, each forced for every blur that it supports, whatever the engine
 * would choose: all divisions of D along either axis, formats, borders and layouts.
 */
#include "gaussblur.h"

#include <string.h>

#include "cuda/pyramid/force.h"
#include "harness.h"

/* Decimation by 4, 8 and 16 to 64 along both axes; and along one axis, which only single precision
 * supports. */
static const struct {
  double sigma, vertical;
} blurs[] = {{8.0, -1.0}, {13.0, -1.0}, {17.0, 33.0}, {64.0, 20.0}, {150.0, -1.0}, {250.0, 9.0},
             {4.5, -1.0}, {40.0, 1.0},  {0.0, 40.0},  {6.5, 12.5},  {33.0, 250.0}, {2.0, 5.0}};

#define BLURS (int)(sizeof blurs / sizeof *blurs)

static double vertical_of(int i)
{
  return blurs[i].vertical < 0.0 ? blurs[i].sigma : blurs[i].vertical;
}

/* Along the axis and in the plane where sigma is smallest, it must allow a decimation by 4. */
static bool u8mma_serves(const CfFormatInfo *format, int i)
{
  const double sigma = blurs[i].sigma < vertical_of(i) ? blurs[i].sigma : vertical_of(i);
  int shift = 0;

  for (int p = 0; p < format->planes; p++) {
    if (format->plane[p].channels == 3)
      return false;
    if (format->plane[p].subsampling_x > shift)
      shift = format->plane[p].subsampling_x;
  }
  return format->bits <= 10 && sigma >= 8.0 * (1 << shift);
}

/* Some plane must be decimated at all. */
static bool fp32_serves(const CfFormatInfo *format, int i)
{
  const double sigma = blurs[i].sigma > vertical_of(i) ? blurs[i].sigma : vertical_of(i);

  return sigma >= (format->bits > 10 ? 32.0 : format->bits > 8 ? 6.0 : 4.0);
}

static void filter(CfTest *test, int i, CfFormat format, CfBorder border, CfPyramidForce force)
{
  const char *name = force == CF_PYRAMID_U8MMA ? "pyramid-u8mma" : "pyramid-fp32";
  const CfVideo video = cf_video(format, 150 + 7 * i % 40, 97 + 13 * i % 50);
  const CfGaussblurParams params = {
      .sigma = blurs[i].sigma, .sigma_vertical = blurs[i].vertical, .border = border};
  CfTestPicture *source = cf_picture_new(&video, (CfLayout)(i % CF_LAYOUT_COUNT));
  CfTestPicture *got = cf_picture_new(&video, (CfLayout)(i % CF_LAYOUT_COUNT));

  cf_picture_fill(source, i % 2 ? CF_PATTERN_BARS : CF_PATTERN_NOISE,
                  i % 3 ? CF_ALPHA_OPAQUE : CF_ALPHA_RANDOM, test->seed);
  cf_test_context(test, "%s: sigma %g, %g, border %d, %dx%d %s", name, params.sigma,
                  params.sigma_vertical, (int)border, video.width, video.height,
                  cf_format_info(format)->name);
  CfTestPicture *want = cf_test_reference(test, &params, source);
  CfRig *rig = cf_rig_open(test, test->engine, &video, &params, 2);

  if (rig && want && cf_rig_run(rig, source, got)) {
    CF_EXPECT(test, strcmp(cf_rig_algorithm(rig), name) == 0, "it took %s", cf_rig_algorithm(rig));
    cf_test_compare(test, got, want, 1.0);
  }
  cf_rig_close(rig);
  cf_picture_free(want);
  cf_picture_free(got);
  cf_picture_free(source);
}

static void forced(CfTest *test, CfPyramidForce force,
                   bool (*serves)(const CfFormatInfo *format, int i))
{
  const CfFormat formats[] = {CF_FORMAT_GRAY8,     CF_FORMAT_NV12,      CF_FORMAT_RGBA,
                              CF_FORMAT_ARGB,      CF_FORMAT_RGBx,      CF_FORMAT_RGB,
                              CF_FORMAT_P010_10LE, CF_FORMAT_I422_10LE, CF_FORMAT_Y444_10LE};

  if (!test->engine->device_memory) {
    cf_test_skip(test, "these pyramids are CUDA's");
    return;
  }
  cf_pyramid_force(force);
  for (int i = 0; i < BLURS; i++) {
    for (size_t f = 0; f < sizeof formats / sizeof *formats; f++) {
      if (serves(cf_format_info(formats[f]), i))
        filter(test, i, formats[f], (CfBorder)((i + (int)f) % (CF_BORDER_CONSTANT + 1)), force);
    }
  }
  cf_pyramid_force(CF_PYRAMID_CHOOSE);
}

static void on_tensor_cores(CfTest *test)
{
  forced(test, CF_PYRAMID_U8MMA, u8mma_serves);
}

static void in_single_precision(CfTest *test)
{
  forced(test, CF_PYRAMID_FP32, fp32_serves);
}

static const CfTestCase cases[] = {
    {"on-tensor-cores", on_tensor_cores, CF_EACH_OTHER_ENGINE},
    {"in-single-precision", in_single_precision, CF_EACH_OTHER_ENGINE},
    {0},
};

int main(int argc, char **argv)
{
  const CfTestSuite suite = {&cf_gaussblur, cases};

  return cf_test_main(&suite, argc, argv);
}
