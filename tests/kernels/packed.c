/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Packed 4:2:2 that engines filter directly, without planes in scratch memory: cases count that
 * they do so where they should. The reference filters planes.
 */
#include "blockavg.h"
#include "device.h"
#include "gaussblur.h"
#include "harness.h"
#include "sepconv_params.h"

static const CfEngine *counted;
static int jobs, at_once;

static bool run_counted(void *state, const CfVideo *video, const CfJob *job, bool *done,
                        CfStatus *status)
{
  const bool good = counted->run_packed(state, video, job, done, status);

  jobs++;
  at_once += *done;
  return good;
}

typedef struct {
  int width, height;
  CfLayout layout;
} Shape;

/* Filters noise in both formats and compares with the reference, in place too with `in_place`. */
static void compare(CfTest *test, const CfEffect *effect, const void *params, Shape shape,
                    bool expect_at_once, double tolerance)
{
  const CfFormat formats[] = {CF_FORMAT_UYVY, CF_FORMAT_YUY2};
  const CfVideo video = cf_video(CF_FORMAT_Y42B, shape.width, shape.height);
  CfEngine engine = *cf_effect_engine(effect, "cuda");

  counted = cf_effect_engine(effect, "cuda");
  engine.run_packed = run_counted;
  test->effect = effect;
  test->format = CF_FORMAT_Y42B;
  for (int i = 0; i < (engine.in_place ? 4 : 2); i++) {
    const bool in_place = i / 2;
    CfTestPicture *source = cf_picture_new(&video, shape.layout);
    CfTestPicture *got = cf_picture_new(&video, shape.layout), *want;

    test->handed = formats[i % 2];
    cf_picture_fill(source, CF_PATTERN_NOISE, CF_ALPHA_OPAQUE, test->seed + (uint64_t)i);
    cf_test_context(test, "%s %dx%d, layout %d%s", cf_format_info(test->handed)->name, shape.width,
                    shape.height, (int)shape.layout, in_place ? ", in place" : "");
    want = cf_test_reference(test, params, source);
    jobs = at_once = 0;
    if (want) {
      CfTestPicture *result = in_place ? source : got;

      cf_test_filter(test, &engine, params, 1, in_place ? NULL : source, result);
      cf_test_compare(test, result, want, tolerance);
      CF_EXPECT(test, jobs == 1 && at_once == expect_at_once, "%d of %d jobs at once", at_once,
                jobs);
    }
    cf_picture_free(want);
    cf_picture_free(got);
    cf_picture_free(source);
  }
}

/* Skips the case where no device has this compute capability. */
static bool has_device(CfTest *test, int least_major)
{
  CfStatus status;
  const CfMemory *memory = cf_device_memory(&status);

  if (memory && cf_device_info(memory->device())->major >= least_major)
    return true;
  cf_test_skip(test, "%s", memory ? "no tensor cores that serve" : status.message);
  return false;
}

/* Widths around strips of 256 pixels and pieces of 8, heights around steps of 16. */
static const Shape shapes[] = {{2, 1, CF_LAYOUT_ALIGNED},      {6, 40, CF_LAYOUT_ALIGNED},
                               {130, 67, CF_LAYOUT_ALIGNED},   {256, 16, CF_LAYOUT_ALIGNED},
                               {258, 33, CF_LAYOUT_ALIGNED},   {510, 64, CF_LAYOUT_ALIGNED},
                               {1040, 130, CF_LAYOUT_ALIGNED}, {64, 300, CF_LAYOUT_ALIGNED}};
#define SHAPES (int)(sizeof shapes / sizeof *shapes)

/* The most taps of each kernel size, some taps that overshoot, and absolute values. */
static void separable(CfTest *test)
{
  const int lengths[] = {3, 17, 33, 49, 51, 81};

  if (!has_device(test, 8))
    return;
  for (int i = 0; i < 6 * 5; i++) {
    CfSepconvParams params = defaults();

    params.preset = CF_SEPCONV_GAUSSIAN;
    params.preset_size = lengths[i / 5];
    params.border = i % 5;
    params.border_color = 0xc0ff4020;
    for (int s = 0; s < SHAPES; s++)
      compare(test, &cf_sepconv, &params, shapes[s], true, 1.0);
  }
  for (int i = 0; i < 4; i++) {
    CfSepconvParams params = defaults();

    params.row_kernel = i < 2 ? kernel(3, -1.0, 0.0, 1.0) : kernel(4, -0.25, 1.0, 0.5, -0.25);
    params.column_kernel = i < 2 ? kernel(1, 1.0) : kernel(3, -0.25, 1.5, -0.25);
    params.absolute = i % 2;
    params.bias = i % 2 ? 0.0 : 0.1;
    compare(test, &cf_sepconv, &params, shapes[4], true, 1.0);
  }
}

static void gaussian(CfTest *test)
{
  const double sigmas[] = {0.7, 2.0, 5.0, 10.0};

  if (!has_device(test, 8))
    return;
  for (int i = 0; i < 4 * 5; i++) {
    CfGaussblurParams params;

    cf_params_init(cf_gaussblur.params, &params);
    params.sigma = sigmas[i / 5];
    params.border = i % 5;
    for (int s = 0; s < SHAPES; s++)
      compare(test, &cf_gaussblur, &params, shapes[s], true, 1.0);
  }
}

/* Both sizes of the state that is kept along columns, and several numbers of coarse samples. */
static void pyramids(CfTest *test)
{
  const double sigmas[] = {16.0, 30.0, 40.0, 130.0};

  if (!has_device(test, 8))
    return;
  for (int i = 0; i < 4 * 5; i++) {
    CfGaussblurParams params;

    cf_params_init(cf_gaussblur.params, &params);
    params.sigma = sigmas[i / 5];
    params.sigma_vertical = i / 5 == 2 ? 9.0 : -1.0;
    params.border = i % 5;
    for (int s = 0; s < SHAPES; s++) {
      const bool edges =
          params.border == CF_BORDER_REPLICATE || params.border == CF_BORDER_CONSTANT;

      if (edges || shapes[s].width == 64)
        compare(test, &cf_gaussblur, &params, shapes[s], edges && shapes[s].width % 8 == 0, 1.0);
    }
  }
}

static CfBlockavgParams blocks(int width, int height)
{
  CfBlockavgParams params;

  cf_params_init(cf_blockavg.params, &params);
  params.block_width = width;
  params.block_height = height;
  return params;
}

/* Blocks whose columns fill 16 bytes, and others; filtered directly where rows start at multiples
 * of 16 bytes and a block has at most 65536 pixels. */
static void mosaic(CfTest *test)
{
  const int sides[][2] = {{2, 1}, {6, 5}, {16, 16}, {24, 9}, {100, 30}, {200, 150}, {600, 400}};

  if (!has_device(test, 1))
    return;
  for (int i = 0; i < 7; i++) {
    const CfBlockavgParams params = blocks(sides[i][0], sides[i][1]);

    for (int s = 0; s < SHAPES; s++) {
      const Shape padded = {shapes[s].width, shapes[s].height, CF_LAYOUT_PADDED};

      compare(test, &cf_blockavg, &params, shapes[s], sides[i][0] * sides[i][1] <= 65536, 0.0);
      compare(test, &cf_blockavg, &params, padded, false, 0.0);
    }
  }
}

/* Filters that need planes. */
static void others(CfTest *test)
{
  const Shape odd = {131, 40, CF_LAYOUT_ALIGNED}, padded = {130, 40, CF_LAYOUT_PADDED};
  CfBlockavgParams params = blocks(5, 4);
  CfSepconvParams luma = defaults();
  CfGaussblurParams blur;

  if (!has_device(test, 1))
    return;
  compare(test, &cf_blockavg, &params, shapes[2], false, 0.0);
  params = blocks(4, 4);
  compare(test, &cf_blockavg, &params, odd, false, 0.0);
  params.mode = CF_BLOCKAVG_MIN;
  compare(test, &cf_blockavg, &params, shapes[2], false, 0.0);

  cf_params_init(cf_gaussblur.params, &blur);
  compare(test, &cf_gaussblur, &blur, odd, false, 1.0);
  compare(test, &cf_gaussblur, &blur, padded, false, 1.0);
  luma.preset = CF_SEPCONV_GAUSSIAN;
  luma.planes = LUMA;
  compare(test, &cf_sepconv, &luma, shapes[2], false, 1.0);
}

static const CfTestCase cases[] = {
    {"separable", separable, CF_ONCE}, {"gaussian", gaussian, CF_ONCE},
    {"pyramids", pyramids, CF_ONCE},   {"mosaic", mosaic, CF_ONCE},
    {"others", others, CF_ONCE},       {0}};
static const CfTestSuite suite = {NULL, cases};

int main(int argc, char **argv)
{
  return cf_test_main(&suite, argc, argv);
}
