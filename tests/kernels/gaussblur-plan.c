/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Gaussian blur, before a pixel is seen: taps, and which parameters are taken.
 */
#include "gaussblur.h"

#include <math.h>
#include <string.h>

#include "harness.h"
#include "plan/fir.h"
#include "plan/gaussian.h"

static void taps_are_a_gaussian(CfTest *test)
{
  double tap[2 * 1000 + 1];

  for (double sigma = 0.05; sigma <= 250.0; sigma *= 1.17) {
    const int radius = cf_gaussian_radius(sigma);
    double sum = 0.0;

    cf_test_context(test, "sigma %g", sigma);
    CF_EXPECT(test, radius == (int)ceil(4.0 * sigma), "radius %d", radius);
    cf_gaussian_taps(sigma, radius, tap);
    for (int i = 0; i <= radius; i++) {
      const double ratio = tap[radius + i] / tap[radius];

      CF_EXPECT(test, fabs(ratio - exp(-0.5 * i * i / (sigma * sigma))) < 1e-15, "tap %d: %g of 1",
                i, ratio);
      CF_EXPECT(test, tap[radius - i] == tap[radius + i], "tap %d is not symmetric", i);
    }
    for (int i = 0; i <= 2 * radius; i++)
      sum += tap[i];
    CF_EXPECT(test, fabs(sum - 1.0) < 1e-14, "the taps add up to 1 + %g", sum - 1.0);
  }
  CF_EXPECT(test, cf_gaussian_radius(0.0) == 0 && cf_gaussian_radius(-1e-300) == 0,
            "nothing is not the delta");
}

static void plan_scales_with_subsampling(CfTest *test)
{
  const struct {
    CfFormat format;
    int row, column; /* radii of the last plane with sigma 2 and sigma-vertical 6 */
  } cases[] = {{CF_FORMAT_I420, 4, 12}, {CF_FORMAT_Y42B, 4, 24}, {CF_FORMAT_Y444, 8, 24}};

  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    const CfVideo video = cf_video(cases[i].format, 64, 64);
    const CfGaussblurParams params = {
        .sigma = 2.0, .sigma_vertical = 6.0, .border = CF_BORDER_WRAP};
    CfFirPlan plan = {0};
    CfStatus status;

    CF_EXPECT(test, cf_fir_plan_gaussblur(&plan, &video, &params, &status), "no plan");
    CF_EXPECT(test, plan.plane[0].row.count == 17 && plan.plane[0].row.anchor == 8, "luma rows");
    CF_EXPECT(test, plan.plane[0].column.count == 49, "luma columns");
    CF_EXPECT(test, plan.plane[2].row.anchor == cases[i].row, "chroma rows: %d",
              plan.plane[2].row.anchor);
    CF_EXPECT(test, plan.plane[2].column.anchor == cases[i].column, "chroma columns: %d",
              plan.plane[2].column.anchor);
    CF_EXPECT(test, plan.border == CF_BORDER_WRAP && plan.planes == 3, "border, planes");
    cf_fir_plan_free(&plan);
    CF_EXPECT(test, plan.storage == NULL && plan.planes == 0, "the plan is not empty");
  }
}

static void odd_params_are_refused(CfTest *test)
{
  const CfVideo video = cf_video(CF_FORMAT_I420, 16, 16);
  const struct {
    CfGaussblurParams params;
    bool allowed;
    const char *word; /* expected in the message */
  } cases[] = {
      {{.sigma = -250.0, .sigma_vertical = -1.0}, true, ""},
      {{.sigma = 250.0, .sigma_vertical = 250.0, .border = CF_BORDER_CONSTANT}, true, ""},
      {{.sigma = 0.0}, true, ""},
      {{.sigma = 250.5, .sigma_vertical = -1.0}, false, "sigma is 250.5"},
      {{.sigma = 2.0, .sigma_vertical = -0.5}, false, "sigma-vertical is -0.5"},
      {{.sigma = 2.0, .sigma_vertical = 251.0}, false, "sigma-vertical"},
      {{.sigma = NAN, .sigma_vertical = -1.0}, false, "sigma"},
      {{.sigma = 2.0, .sigma_vertical = -1.0, .border = 5}, false, "border"},
  };

  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    CfStatus status = {CF_OK, ""};
    const bool allowed = cf_params_check(cf_gaussblur.params, &cases[i].params, &status) &&
                         cf_gaussblur.check(&video, &cases[i].params, &status);

    CF_EXPECT(test, allowed == cases[i].allowed, "case %zu: %s", i, status.message);
    CF_EXPECT(test, allowed || status.code == CF_ERROR_INVALID, "case %zu: code", i);
    CF_EXPECT(test, strstr(status.message, cases[i].word), "case %zu: \"%s\" lacks \"%s\"", i,
              status.message, cases[i].word);
  }
}

static void nothing_is_identity(CfTest *test)
{
  const struct {
    double sigma, vertical;
    bool identity;
  } cases[] = {{0, -1, true},   {0, 0, true},  {0.3, -1, false},
               {0.3, 0, false}, {0, 2, false}, {-1, 0, false}};

  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    const CfGaussblurParams params = {.sigma = cases[i].sigma,
                                      .sigma_vertical = cases[i].vertical,
                                      .border = CF_BORDER_REPLICATE};

    CF_EXPECT(test, cf_gaussblur.is_identity(&params) == cases[i].identity, "case %zu", i);
  }
}

static const CfTestCase cases[] = {
    {"taps-are-a-gaussian", taps_are_a_gaussian, CF_ONCE},
    {"plan-scales-with-subsampling", plan_scales_with_subsampling, CF_ONCE},
    {"odd-params-are-refused", odd_params_are_refused, CF_ONCE},
    {"nothing-is-identity", nothing_is_identity, CF_ONCE},
    {0},
};

int main(int argc, char **argv)
{
  const CfTestSuite suite = {&cf_gaussblur, cases};

  return cf_test_main(&suite, argc, argv);
}
