/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Separable convolution: its params, presets and plan.
 */
#include <math.h>
#include <string.h>

#include "plan/fir.h"
#include "harness.h"
#include "plan/presets.h"
#include "sepconv_params.h"

static void presets_are_known_kernels(CfTest *test)
{
  const struct {
    CfSepconvPreset preset;
    int size;
    double row[5], column[5];
  } cases[] = {
      {CF_SEPCONV_BOX, 5, {.2, .2, .2, .2, .2}, {.2, .2, .2, .2, .2}},
      {CF_SEPCONV_BINOMIAL, 3, {.25, .5, .25}, {.25, .5, .25}},
      {CF_SEPCONV_BINOMIAL, 5, {.0625, .25, .375, .25, .0625}, {.0625, .25, .375, .25, .0625}},
      {CF_SEPCONV_SOBEL_X, 3, {-.5, 0, .5}, {.25, .5, .25}},
      {CF_SEPCONV_SOBEL_Y, 3, {.25, .5, .25}, {-.5, 0, .5}},
      {CF_SEPCONV_SOBEL_X,
       5,
       {-1 / 6.0, -2 / 6.0, 0, 2 / 6.0, 1 / 6.0},
       {.0625, .25, .375, .25, .0625}},
      {CF_SEPCONV_SHARPEN, 3, {-.25, 1.5, -.25}, {-.25, 1.5, -.25}},
      /* sigma 0.8 and 1.1 */
      {CF_SEPCONV_GAUSSIAN, 3, {.238994, .522011, .238994}, {.238994, .522011, .238994}},
      {CF_SEPCONV_GAUSSIAN,
       5,
       {.070766, .244460, .369546, .244460, .070766},
       {.070766, .244460, .369546, .244460, .070766}},
  };

  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    CfKernel row, column;

    cf_test_context(test, "preset %s %d", cf_sepconv_preset_choices[cases[i].preset].nick,
                    cases[i].size);
    cf_sepconv_preset_kernels(cases[i].preset, cases[i].size, &row, &column);
    CF_EXPECT(test, row.taps == cases[i].size && column.taps == cases[i].size, "%d %d taps",
              row.taps, column.taps);
    for (int t = 0; t < cases[i].size; t++) {
      CF_EXPECT(test, fabs(row.tap[t] - cases[i].row[t]) < 1e-6, "row tap %d: %g", t, row.tap[t]);
      CF_EXPECT(test, fabs(column.tap[t] - cases[i].column[t]) < 1e-6, "column tap %d: %g", t,
                column.tap[t]);
    }
  }
}

/* Up to the largest size: means keep flat pictures; derivatives answer a step with half of it, and
 * turn flat pictures to mid grey. */
static void presets_of_any_size(CfTest *test)
{
  for (int preset = CF_SEPCONV_BOX; preset <= CF_SEPCONV_SHARPEN; preset++) {
    for (int size = 3; size <= CF_MAX_TAPS; size += 2) {
      const bool sobel = preset == CF_SEPCONV_SOBEL_X || preset == CF_SEPCONV_SOBEL_Y;
      double sum[2] = {0, 0}, right[2] = {0, 0};
      CfKernel kernels[2];

      cf_test_context(test, "preset %s %d", cf_sepconv_preset_choices[preset].nick, size);
      cf_sepconv_preset_kernels((CfSepconvPreset)preset, size, &kernels[0], &kernels[1]);
      for (int axis = 0; axis < 2; axis++) {
        for (int t = 0; t < size; t++) {
          sum[axis] += kernels[axis].tap[t];
          right[axis] += t > size / 2 ? kernels[axis].tap[t] : 0.0;
        }
      }
      if (!sobel) {
        CF_EXPECT(test, fabs(sum[0] - 1.0) < 1e-12 && fabs(sum[1] - 1.0) < 1e-12, "sums %g %g",
                  sum[0], sum[1]);
      } else {
        const int along = preset == CF_SEPCONV_SOBEL_X ? 0 : 1;
        CF_EXPECT(test, fabs(sum[along]) < 1e-9 * right[along], "derivative sums to %g",
                  sum[along]);
        CF_EXPECT(test, fabs(right[along] - 0.5) < 1e-12, "%g to the right", right[along]);
        CF_EXPECT(test, fabs(sum[1 - along] - 1.0) < 1e-12, "smoothing sums to %g", sum[1 - along]);
      }
      CF_EXPECT(test, cf_sepconv_preset_bias((CfSepconvPreset)preset) == (sobel ? 0.5 : 0.0),
                "bias");

      CfSepconvParams params = defaults();
      CfStatus status = {CF_OK, ""};
      params.preset = preset;
      params.preset_size = size;
      CF_EXPECT(test, cf_sepconv_check(&params, &status), "refused: %s", status.message);
    }
  }
}

static void odd_params_are_refused(CfTest *test)
{
  const CfVideo video = cf_video(CF_FORMAT_NV12, 16, 16);
  CfSepconvParams params[12];
  const char *words[12] = {0}; /* expected in the message; NULL: allowed */
  int count = 0;

  for (int i = 0; i < 12; i++)
    params[i] = defaults();
  params[count].row_kernel = kernel(3, 1.0, -2.0, 1.0);
  params[count].normalize = true;
  words[count++] = "row kernel sum to 0";
  params[count].column_kernel = kernel(3, 0.1, -0.2, 0.1);
  params[count].normalize = true;
  words[count++] = "column kernel sum to 0";
  params[count].row_kernel = kernel(4, 1.0, 1.0, 1.0, 1.0);
  params[count].anchor_x = 4;
  words[count++] = "anchor-x is 4, allowed is -1 to 3";
  params[count].anchor_y = 1;
  words[count++] = "anchor-y is 1, allowed is -1 to 0";
  params[count].preset = CF_SEPCONV_BOX;
  params[count].preset_size = 6;
  words[count++] = "preset-size is 6";
  params[count].row_kernel = kernel(2, -1e8, 1e8);
  params[count].column_kernel = kernel(1, 6.0);
  words[count++] = "smaller scale";
  params[count].preset = CF_SEPCONV_SOBEL_X;
  params[count].normalize = true;
  words[count++] = "sum to 0";
  params[count].row_kernel.taps = 0;
  words[count++] = "row-kernel has 0 taps";
  params[count].row_kernel = kernel(2, 1.0, INFINITY);
  words[count++] = "row-kernel: tap 1 is not a finite number";
  params[count].row_kernel = kernel(2, -1e150, 1e150); /* allowed from here on */
  params[count++].scale = 1e-150;
  params[count].preset_size = 6;
  params[count++].row_kernel = kernel(2, 1e8, -1e8);
  params[count].row_kernel = kernel(3, 1.0, 2.0, 1.0);
  params[count].anchor_x = 2;
  params[count++].anchor_y = 0;

  for (int i = 0; i < count; i++) {
    CfFirPlan plan = {0}, before;
    CfStatus status = {CF_OK, ""};
    const CfSepconvParams good = defaults();
    bool allowed;

    CF_EXPECT(test, cf_fir_plan_sepconv(&plan, &video, &good, &status), "no plan");
    before = plan;
    allowed = cf_params_check(cf_sepconv.params, &params[i], &status) &&
              cf_sepconv.check(&video, &params[i], &status);
    CF_EXPECT(test, allowed == !words[i], "case %d: %s", i, status.message);
    if (!allowed) {
      CF_EXPECT(test, status.code == CF_ERROR_INVALID, "case %d: code %d", i, status.code);
      CF_EXPECT(test, strstr(status.message, words[i]), "case %d: \"%s\" lacks \"%s\"", i,
                status.message, words[i]);
    }
    if (!allowed && cf_params_check(cf_sepconv.params, &params[i], NULL)) {
      CF_EXPECT(test, !cf_fir_plan_sepconv(&plan, &video, &params[i], NULL), "case %d: a plan", i);
      CF_EXPECT(test, memcmp(&plan, &before, sizeof plan) == 0, "case %d: the plan changed", i);
    }
    cf_fir_plan_free(&plan);
  }
}

static void delta_is_identity(CfTest *test)
{
  CfSepconvParams params[10];
  bool identity[10] = {0};
  int count = 0;

  for (int i = 0; i < 10; i++)
    params[i] = defaults();
  identity[count++] = true;
  params[count].absolute = true;
  identity[count++] = true;
  params[count].row_kernel = kernel(3, 0.0, 1.0, 0.0);
  identity[count++] = true;
  params[count].row_kernel = kernel(3, 0.0, 7.0, 0.0);
  params[count].normalize = true;
  identity[count++] = true;
  params[count].preset = CF_SEPCONV_BOX;
  params[count].planes = 0;
  identity[count++] = true;
  params[count++].row_kernel = kernel(3, 1.0, 0.0, 0.0);
  params[count++].row_kernel = kernel(1, 2.0);
  params[count++].scale = 0.5;
  params[count++].bias = 0.1;
  params[count++].preset = CF_SEPCONV_SHARPEN;

  for (int i = 0; i < count; i++)
    CF_EXPECT(test, cf_sepconv.is_identity(&params[i]) == identity[i], "case %d", i);
}

static void plan_normalises_alpha(CfTest *test)
{
  const CfVideo video = cf_video(CF_FORMAT_BGRA, 16, 16);
  CfSepconvParams params = defaults();
  CfFirPlan plan = {0};
  CfStatus status;

  params.row_kernel = kernel(3, 1.0, 2.0, 1.0);
  params.column_kernel = kernel(2, 0.5, 1.0);
  params.scale = 3.0;
  params.bias = 0.5;
  CF_EXPECT(test, cf_fir_plan_sepconv(&plan, &video, &params, &status), "no plan");
  CF_EXPECT(test, plan.plane[0].premultiplied && plan.plane[0].filtered, "not premultiplied");
  CF_EXPECT(test, fabs(plan.plane[0].channel[3].scale - 1.0 / 6.0) < 1e-15, "alpha's scale is %g",
            plan.plane[0].channel[3].scale);
  CF_EXPECT(test, plan.plane[0].channel[3].bias == 0.0, "alpha's bias");
  CF_EXPECT(test, plan.plane[0].channel[0].bias == 127.5, "the bias of blue");
  CF_EXPECT(test, plan.plane[0].column.anchor == 1, "the middle of two taps is the second");
  params.row_kernel = kernel(2, -1.0, 1.0);
  CF_EXPECT(test, cf_fir_plan_sepconv(&plan, &video, &params, &status), "no plan");
  CF_EXPECT(test, plan.plane[0].premultiplied && !plan.plane[0].channel[3].filtered,
            "a derivative filters alpha");
  params.planes = LUMA | CHROMA;
  CF_EXPECT(test, cf_fir_plan_sepconv(&plan, &video, &params, &status), "no plan");
  CF_EXPECT(test, !plan.plane[0].premultiplied, "premultiplied without alpha");
  cf_fir_plan_free(&plan);
}

static const CfTestCase cases[] = {
    {"presets-are-known-kernels", presets_are_known_kernels, CF_ONCE},
    {"presets-of-any-size", presets_of_any_size, CF_ONCE},
    {"odd-params-are-refused", odd_params_are_refused, CF_ONCE},
    {"delta-is-identity", delta_is_identity, CF_ONCE},
    {"plan-normalises-alpha", plan_normalises_alpha, CF_ONCE},
    {0},
};

int main(int argc, char **argv)
{
  const CfTestSuite suite = {&cf_sepconv, cases};

  return cf_test_main(&suite, argc, argv);
}
