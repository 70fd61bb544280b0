/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * CUDA can filter a frame by several kernels; the GPU, the taps and earlier frames decide which.
 * Here each is forced, whatever the GPU would choose, and compared with the reference; those on
 * tensor cores must return the same bytes as each other.
 */
#include <string.h>

#include "cuda/fir/force.h"
#include "device.h"
#include "sepconv_cases.h"

/* The most taps of each kernel size on tensor cores, and one more than fit. */
static const int lengths[] = {2, 5, 17, 33, 41, 49, 65, 81, 97, 129, 131, 255};
#define LENGTHS (int)(sizeof lengths / sizeof *lengths)

static bool is_cuda(CfTest *test)
{
  if (strcmp(test->engine->name, "cuda") == 0)
    return true;
  cf_test_skip(test, "only CUDA has several ways");
  return false;
}

/* Gaussians are suitable for fp16; a single tap would be copied. */
static CfSepconvParams mean(CfTest *test, int taps, int border)
{
  CfSepconvParams params = defaults();

  if (taps % 2) {
    params.preset = CF_SEPCONV_GAUSSIAN;
    params.preset_size = taps;
  } else {
    params.row_kernel = random_kernel(&test->random, MEAN, taps);
    params.column_kernel = random_kernel(&test->random, MEAN, taps);
  }
  params.border = border;
  params.border_color = 0xc0ff4020;
  return params;
}

/* Filters twice with a new state, since the second frame uses what the first one knows of alpha.
 * The algorithm that was used must be one of `algorithms`. */
static void filter_by(CfTest *test, CfFirForce force, const char *algorithms,
                      const CfSepconvParams *params, const CfTestPicture *source,
                      CfTestPicture *got)
{
  CfRig *rig;

  cf_fir_force(force);
  rig = cf_rig_open(test, test->engine, &source->video, params, 2);
  cf_fir_force(CF_FIR_CHOOSE);
  if (rig && cf_rig_run(rig, source, got) && cf_rig_run(rig, source, got))
    CF_EXPECT(test, strstr(algorithms, cf_rig_algorithm(rig)), "%s, not %s", cf_rig_algorithm(rig),
              algorithms);
  cf_rig_close(rig);
}

/* Taps that are too long for a kernel use the next one; double precision supports all. */
static void each_way(CfTest *test, CfFirForce force, const char *algorithms, CfFormat format,
                     CfAlphaFill alpha)
{
  if (!is_cuda(test))
    return;
  for (int i = 0; i < LENGTHS; i++) {
    const CfSepconvParams params = mean(test, lengths[i], i % BORDERS);
    CfTestPicture *source = picture(format, 301, 190, CF_LAYOUT_ALIGNED, CF_PATTERN_NOISE, alpha,
                                    test->seed + (uint64_t)i);
    if (alpha == CF_ALPHA_OPAQUE && i % 2)
      add_islands(test, source);

    CfTestPicture *want = cf_test_reference(test, &params, source);
    CfTestPicture *got = cf_picture_new(&source->video, source->layout);

    say(test, &params, source);
    filter_by(test, force, algorithms, &params, source, got);
    if (want)
      cf_test_compare(test, got, want, 1.0);
    cf_picture_free(got);
    cf_picture_free(want);
    cf_picture_free(source);
  }
}

static void opaque_kernels(CfTest *test)
{
  each_way(test, CF_FIR_MMA_OPAQUE, "fir-tensor fir-float fir-two-pass", CF_FORMAT_RGBA,
           CF_ALPHA_OPAQUE);
}

static void opaque_kernels_on_alpha(CfTest *test)
{
  each_way(test, CF_FIR_MMA_OPAQUE, "fir-tensor fir-float fir-two-pass", CF_FORMAT_ARGB,
           CF_ALPHA_RANDOM);
}

static void alpha_kernels(CfTest *test)
{
  const CfFormat formats[] = {CF_FORMAT_RGBA, CF_FORMAT_AYUV};

  for (int i = 0; i < 2; i++)
    each_way(test, CF_FIR_MMA_ALPHA, "fir-tensor fir-float fir-two-pass", formats[i],
             CF_ALPHA_RANDOM);
}

static void alpha_kernels_on_opaque(CfTest *test)
{
  each_way(test, CF_FIR_MMA_ALPHA, "fir-tensor fir-float fir-two-pass", CF_FORMAT_RGBA,
           CF_ALPHA_OPAQUE);
}

static void planar_kernels(CfTest *test)
{
  const CfFormat formats[] = {CF_FORMAT_NV12, CF_FORMAT_P010_10LE, CF_FORMAT_I422_10LE,
                              CF_FORMAT_Y444_10LE};

  for (int i = 0; i < 4; i++)
    each_way(test, CF_FIR_MMA_OPAQUE, "fir-tensor fir-float fir-two-pass", formats[i],
             CF_ALPHA_OPAQUE);
}

static bool has_tensor_cores(void)
{
  CfStatus status;
  const CfMemory *memory = cf_device_memory(&status);

  return memory && cf_device_info(memory->device())->major >= 8;
}

/* On a GPU that has tensor cores, Gaussians of all formats that these support. */
static void gaussians_take_tensor_cores(CfTest *test)
{
  const CfFormat formats[] = {CF_FORMAT_RGBA,     CF_FORMAT_AYUV,      CF_FORMAT_GRAY8,
                              CF_FORMAT_NV12,     CF_FORMAT_I420_10LE, CF_FORMAT_P010_10LE,
                              CF_FORMAT_Y444_10LE};

  if (!is_cuda(test))
    return;
  for (int i = 0; i < 7; i++) {
    const CfSepconvParams params = mean(test, 33, CF_BORDER_REPLICATE);
    CfTestPicture *source = picture(formats[i], 200, 64, CF_LAYOUT_ALIGNED, CF_PATTERN_NOISE,
                                    CF_ALPHA_OPAQUE, test->seed);
    CfTestPicture *got = cf_picture_new(&source->video, source->layout);

    say(test, &params, source);
    filter_by(test, CF_FIR_CHOOSE, has_tensor_cores() ? "fir-tensor" : "fir-float", &params, source,
              got);
    cf_picture_free(got);
    cf_picture_free(source);
  }
}

static void fused_fp32(CfTest *test)
{
  const CfFormat formats[] = {CF_FORMAT_RGBA, CF_FORMAT_NV12, CF_FORMAT_RGB, CF_FORMAT_P010_10LE,
                              CF_FORMAT_AYUV};

  for (int i = 0; i < 5; i++)
    each_way(test, CF_FIR_FUSED_FP32, "fir-float fir-two-pass", formats[i], CF_ALPHA_RANDOM);
}

static void two_pass_fp32(CfTest *test)
{
  const CfFormat formats[] = {CF_FORMAT_RGBA, CF_FORMAT_NV12, CF_FORMAT_P010_10LE};

  for (int i = 0; i < 3; i++)
    each_way(test, CF_FIR_TWO_PASS_FP32, "fir-two-pass", formats[i], CF_ALPHA_RANDOM);
}

static void two_pass_fp64(CfTest *test)
{
  const CfFormat formats[] = {CF_FORMAT_RGBA, CF_FORMAT_NV12, CF_FORMAT_P010_10LE};

  for (int i = 0; i < 3; i++)
    each_way(test, CF_FIR_TWO_PASS_FP64, "fir-double", formats[i], CF_ALPHA_RANDOM);
}

/* There is no kernel for it on tensor cores. */
static void unsharp(CfTest *test)
{
  const CfFirForce forces[] = {CF_FIR_MMA_OPAQUE, CF_FIR_FUSED_FP32, CF_FIR_TWO_PASS_FP32,
                               CF_FIR_TWO_PASS_FP64};
  const CfFormat formats[] = {CF_FORMAT_RGBA, CF_FORMAT_NV12, CF_FORMAT_RGB, CF_FORMAT_P010_10LE};

  if (!is_cuda(test))
    return;
  for (int i = 0; i < 16; i++) {
    CfTestPicture *source = picture(formats[i / 4], 301, 90, CF_LAYOUT_ALIGNED, CF_PATTERN_NOISE,
                                    i % 3 ? CF_ALPHA_RANDOM : CF_ALPHA_OPAQUE, test->seed);
    CfTestPicture *got = cf_picture_new(&source->video, source->layout), *want;
    CfSepconvParams params = defaults();

    params.preset = CF_SEPCONV_UNSHARP;
    params.preset_size = 3 + 12 * i % 70 / 2 * 2;
    params.border = i % BORDERS;
    want = cf_test_reference(test, &params, source);
    say(test, &params, source);
    filter_by(test, forces[i % 4], "fir-float fir-two-pass fir-double", &params, source, got);
    if (want)
      cf_test_compare(test, got, want, 1.0);
    cf_picture_free(got);
    cf_picture_free(want);
    cf_picture_free(source);
  }
}

/* Which kernel a frame gets depends on earlier frames. */
static void same_bytes_with_and_without_alpha(CfTest *test)
{
  if (!is_cuda(test))
    return;
  for (int i = 0; i < LENGTHS; i++) {
    const CfSepconvParams params = mean(test, lengths[i], i % BORDERS);
    CfTestPicture *source = picture(CF_FORMAT_RGBA, 333, 250, CF_LAYOUT_ALIGNED, CF_PATTERN_NOISE,
                                    i % 3 ? CF_ALPHA_OPAQUE : CF_ALPHA_RANDOM, test->seed);
    CfTestPicture *opaque = cf_picture_new(&source->video, source->layout);
    CfTestPicture *alpha = cf_picture_new(&source->video, source->layout);

    if (i % 3 == 1)
      add_islands(test, source);
    say(test, &params, source);
    filter_by(test, CF_FIR_MMA_OPAQUE, "fir-tensor fir-float fir-two-pass", &params, source,
              opaque);
    filter_by(test, CF_FIR_MMA_ALPHA, "fir-tensor fir-float fir-two-pass", &params, source, alpha);
    cf_test_compare_exact(test, alpha, opaque);
    cf_picture_free(source);
    cf_picture_free(opaque);
    cf_picture_free(alpha);
  }
}
static const CfTestCase cases[] = {
    {"opaque-kernels", opaque_kernels, CF_EACH_OTHER_ENGINE},
    {"opaque-kernels-on-alpha", opaque_kernels_on_alpha, CF_EACH_OTHER_ENGINE},
    {"alpha-kernels", alpha_kernels, CF_EACH_OTHER_ENGINE},
    {"alpha-kernels-on-opaque", alpha_kernels_on_opaque, CF_EACH_OTHER_ENGINE},
    {"planar-kernels", planar_kernels, CF_EACH_OTHER_ENGINE},
    {"gaussians-take-tensor-cores", gaussians_take_tensor_cores, CF_EACH_OTHER_ENGINE},
    {"fused-fp32", fused_fp32, CF_EACH_OTHER_ENGINE},
    {"two-pass-fp32", two_pass_fp32, CF_EACH_OTHER_ENGINE},
    {"two-pass-fp64", two_pass_fp64, CF_EACH_OTHER_ENGINE},
    {"unsharp", unsharp, CF_EACH_OTHER_ENGINE},
    {"same-bytes-with-and-without-alpha", same_bytes_with_and_without_alpha, CF_EACH_OTHER_ENGINE},
    {0},
};

int main(int argc, char **argv)
{
  const CfTestSuite suite = {&cf_sepconv, cases};

  return cf_test_main(&suite, argc, argv);
}
