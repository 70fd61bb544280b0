/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The plan of the blur pyramid, run in double precision by the formulas of its header, against the
 * plain taps.
 */
#include "plan/pyramid.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plan/gaussian.h"
#include "harness.h"
#include "plan/plane_rows.h"
#include "plan/pyramid_factors.h"

#define MOST_SAMPLES 4000

static double sample(const double *line, int size, CfBorder border, long i)
{
  const int from = cf_border_index(border, i, size);

  return from < 0 ? 0.0 : line[from];
}

/* The three formulas of the header, one after the other. */
static double fine_sample(const CfPyramidAxis *axis, const double *line, CfBorder border, int i)
{
  double sum = 0.0;

  for (int t = 0; t < axis->prefilter_count; t++)
    sum +=
        axis->prefilter[t] * sample(line, axis->size, border,
                                    (long)axis->factors.decimation * i + axis->prefilter_first + t);
  return sum;
}

static void run_axis(const CfPyramidAxis *axis, const double *line, CfBorder border, double *to)
{
  double *fine = malloc((size_t)axis->fine_count * sizeof *fine);
  double *coarse = malloc((size_t)axis->coarse_count * sizeof *coarse);

  for (int i = 0; i < axis->fine_count; i++)
    fine[i] = fine_sample(axis, line, border, axis->fine_first + i);
  for (int j = 0; j < axis->coarse_count; j++) {
    coarse[j] = 0.0;
    for (int t = 0; t < axis->coarse_taps_count; t++)
      coarse[j] +=
          axis->coarse_taps[t] * fine[axis->factors.decimation2 * (axis->coarse_first + j) +
                                      axis->coarse_taps_first + t - axis->fine_first];
  }
  for (int x = 0; x < axis->size; x++) {
    const int phase = x % axis->factor;
    const int first = x / axis->factor + axis->spline_first[phase] - axis->coarse_first;

    to[x] = 0.0;
    for (int k = 0; k < axis->spline_count; k++)
      to[x] += axis->spline[4 * phase + k] * coarse[first + k];
  }
  free(fine);
  free(coarse);
}

static void blur_exactly(const double *line, int size, double sigma, CfBorder border, double *to)
{
  static double tap[2 * 1000 + 1];
  const int radius = cf_gaussian_radius(sigma);

  cf_gaussian_taps(sigma, radius, tap);
  for (int x = 0; x < size; x++) {
    to[x] = 0.0;
    for (int i = -radius; i <= radius; i++)
      to[x] += tap[i + radius] * sample(line, size, border, (long)x + i);
  }
}

static const struct {
  int decimation, decimation2;
} splits[] = {{1, 1}, {2, 1}, {4, 1}, {8, 1}, {1, 4}, {4, 2}, {8, 8}};

#define SPLITS ((int)(sizeof splits / sizeof splits[0]))

static CfPyramidFactors factors_of(int i)
{
  return (CfPyramidFactors){.decimation = splits[i].decimation,
                            .decimation2 = splits[i].decimation2,
                            .prefilter_sigma = 0.8,
                            .prefilter_reach = 4.0};
}

static void pyramid_is_the_gaussian(CfTest *test)
{
  static double line[MOST_SAMPLES], want[MOST_SAMPLES], got[MOST_SAMPLES];
  const int sizes[] = {1, 2, 7, 63, 200, 1001};

  for (int i = 0; i < SPLITS; i++) {
    for (int s = 0; s < 6; s++) {
      for (int border = 0; border <= CF_BORDER_CONSTANT; border++) {
        const CfPyramidFactors factors = factors_of(i);
        const double sigma = fmin(factors.decimation * factors.decimation2 *
                                      (2.0 + cf_random_unit(&test->random) * 4),
                                  250.0);
        CfPyramidAxis axis = {0};
        CfStatus status = {CF_OK, ""};
        double worst = 0.0;

        /* Black and white: the largest contrast. */
        for (int x = 0; x < sizes[s]; x++)
          line[x] = cf_random_below(&test->random, 2) * 255.0;
        cf_test_context(test, "sigma %g, %dx%d, size %d, border %d", sigma, factors.decimation,
                        factors.decimation2, sizes[s], border);
        if (!CF_EXPECT(test,
                       cf_pyramid_axis(&axis, sigma, sizes[s], (CfBorder)border, &factors, &status),
                       "%s", status.message))
          continue;
        run_axis(&axis, line, (CfBorder)border, got);
        blur_exactly(line, sizes[s], sigma, (CfBorder)border, want);
        for (int x = 0; x < sizes[s]; x++)
          worst = fmax(worst, fabs(got[x] - want[x]));
        CF_EXPECT(test, worst < 0.026, "off by %g", worst);
        cf_pyramid_axis_free(&axis);
      }
    }
  }
}

/* ---- The impulse response ---- */

#define LONGEST_REACH 200
#define KERNEL        (2 * LONGEST_REACH + 1)
#define MOST_PHASES   16

/* kernel[p][LONGEST_REACH + s] is the weight of the sample s after a result of phase p. */
static void find_kernels(const CfPyramidAxis *axis, double kernel[][KERNEL])
{
  static double line[MOST_SAMPLES], to[MOST_SAMPLES];

  for (int i = 0; i < axis->factor; i++) {
    const int at = LONGEST_REACH + i;

    line[at] = 1.0;
    run_axis(axis, line, CF_BORDER_CONSTANT, to);
    line[at] = 0.0;
    for (int s = -LONGEST_REACH; s <= LONGEST_REACH; s++)
      kernel[(at - s) % axis->factor][LONGEST_REACH + s] = to[at - s];
  }
}

/* The largest difference that two kernels make for samples 0 and 255 in the worst order, of which
 * only those from `from` on are visible. */
static double kernel_distance(const double *got, const double *want, int from)
{
  double got_sum = 0.0, want_sum = 0.0, distance = 0.0;

  for (int i = from; i < KERNEL; i++) {
    got_sum += got[i];
    want_sum += want[i];
  }
  for (int i = from; i < KERNEL; i++)
    distance += 127.5 * fabs(got[i] / got_sum - want[i] / want_sum);
  return distance;
}

/* The same where so few samples are visible that alpha is between 1/2 and 1. */
static double tail_distance(const double *got, const double *want)
{
  double alpha = 0.0, worst = 0.0;

  for (int i = KERNEL - 1; alpha <= 1.0; i--) {
    alpha += 255.0 * want[i];
    if (alpha >= 0.5 && alpha <= 1.0)
      worst = fmax(worst, kernel_distance(got, want, i));
  }
  return worst;
}

/* From the smallest sigma that backends use for a D, to one and a half times it. With coarse taps
 * sampled from a Gaussian of the right variance the distances would be 0.045 and 1.81, 0.070 and
 * 2.46, 0.077 and 3.09, 0.077 and 2.24, 0.072 and 2.51, 0.049 and 2.15. */
static void tails_are_those_of_the_gaussian(CfTest *test)
{
  static const struct {
    CfPyramidFactors factors;
    double most, most_in_tail;
  } cases[] = {
      {{2, 1, 0.8, 4.0, false}, 0.028, 1.22}, {{4, 1, 0.8, 4.0, false}, 0.038, 1.55},
      {{8, 1, 0.8, 4.0, false}, 0.046, 1.95}, {{4, 1, 0.8, 4.0, true}, 0.078, 1.95},
      {{8, 1, 0.8, 4.0, true}, 0.066, 2.15},  {{8, 2, 0.8, 4.0, true}, 0.045, 1.98},
  };
  static double want[KERNEL], got[MOST_PHASES][KERNEL];

  for (int i = 0; i < (int)(sizeof cases / sizeof cases[0]); i++) {
    const CfPyramidFactors *factors = &cases[i].factors;
    double worst = 0.0, worst_in_tail = 0.0;

    for (double ratio = 2.0; ratio < 3.0; ratio += 0.0625) {
      const double sigma = ratio * factors->decimation * factors->decimation2;
      const int radius = cf_gaussian_radius(sigma);
      CfPyramidAxis axis = {0};

      CF_EXPECT(
          test,
          cf_pyramid_axis(&axis, sigma, KERNEL + MOST_PHASES, CF_BORDER_CONSTANT, factors, NULL),
          "no plan");
      find_kernels(&axis, got);
      memset(want, 0, sizeof want);
      cf_gaussian_taps(sigma, radius, want + LONGEST_REACH - radius);
      for (int p = 0; p < axis.factor; p++) {
        worst = fmax(worst, kernel_distance(got[p], want, 0));
        worst_in_tail = fmax(worst_in_tail, tail_distance(got[p], want));
      }
      cf_pyramid_axis_free(&axis);
    }
    cf_test_context(test, "%dx%d%s", factors->decimation, factors->decimation2,
                    factors->boxes ? ", boxes" : "");
    CF_EXPECT(test, worst < cases[i].most, "off by %g", worst);
    CF_EXPECT(test, worst_in_tail < cases[i].most_in_tail, "the tail is off by %g", worst_in_tail);
  }
}

/* Fine samples outside the made_ range equal the outermost ones inside; where the border repeats
 * one value, few are made. */
static void made_ones_suffice(CfTest *test)
{
  static double line[MOST_SAMPLES];

  for (int i = 0; i < SPLITS; i++) {
    for (int size = 1; size < 100; size += size < 10 ? 1 : 17) {
      const CfPyramidFactors factors = factors_of(i);
      const CfBorder border = (CfBorder)((i + size) % (CF_BORDER_CONSTANT + 1));
      const bool one_value = border == CF_BORDER_REPLICATE || border == CF_BORDER_CONSTANT;
      CfPyramidAxis axis = {0};

      for (int x = 0; x < size; x++)
        line[x] = cf_random_unit(&test->random);
      cf_test_context(test, "%dx%d, size %d, border %d", factors.decimation, factors.decimation2,
                      size, border);
      CF_EXPECT(test, cf_pyramid_axis(&axis, 200.0, size, border, &factors, NULL), "no plan");
      CF_EXPECT(test,
                axis.stored_first >= axis.fine_first && axis.stored_count >= 1 &&
                    axis.stored_first + axis.stored_count <= axis.fine_first + axis.fine_count,
                "made %d+%d of %d+%d", axis.stored_first, axis.stored_count, axis.fine_first,
                axis.fine_count);
      CF_EXPECT(test,
                !one_value ||
                    axis.stored_count <= size / factors.decimation + axis.prefilter_count + 2,
                "%d made", axis.stored_count);
      for (int j = axis.fine_first; j < axis.fine_first + axis.fine_count; j++) {
        const int last = axis.stored_first + axis.stored_count - 1;
        const int made = j < axis.stored_first ? axis.stored_first : j > last ? last : j;

        CF_EXPECT(test,
                  fabs(fine_sample(&axis, line, border, j) -
                       fine_sample(&axis, line, border, made)) < 1e-12,
                  "fine sample %d is not %d", j, made);
      }
      cf_pyramid_axis_free(&axis);
    }
  }
}

/* The last result reads the last coarse sample, and that the last fine one. */
static void nothing_is_made_in_vain(CfTest *test)
{
  for (int i = 0; i < SPLITS; i++) {
    for (int size = 1; size < 100; size += size < 40 ? 1 : 17) {
      const CfPyramidFactors factors = factors_of(i);
      CfPyramidAxis axis = {0};

      CF_EXPECT(test, cf_pyramid_axis(&axis, 200.0, size, CF_BORDER_WRAP, &factors, NULL),
                "no plan");
      const int last = size - 1;
      const int coarse =
          last / axis.factor + axis.spline_first[last % axis.factor] + axis.spline_count;

      cf_test_context(test, "%dx%d, size %d", factors.decimation, factors.decimation2, size);
      CF_EXPECT(test, axis.coarse_first + axis.coarse_count == coarse, "%d coarse samples",
                axis.coarse_count);
      CF_EXPECT(test,
                axis.fine_first + axis.fine_count == factors.decimation2 * (coarse - 1) +
                                                         axis.coarse_taps_first +
                                                         axis.coarse_taps_count,
                "%d fine samples", axis.fine_count);
      cf_pyramid_axis_free(&axis);
    }
  }
}

static void taps_add_up(CfTest *test)
{
  for (int i = 0; i < SPLITS; i++) {
    const CfPyramidFactors factors = factors_of(i);
    CfPyramidAxis axis = {0};
    double prefilter = 0.0, low = 0.0;

    CF_EXPECT(test, cf_pyramid_axis(&axis, 130.0, 100, CF_BORDER_WRAP, &factors, NULL), "no plan");
    for (int t = 0; t < axis.prefilter_count; t++)
      prefilter += axis.prefilter[t];
    for (int t = 0; t < axis.coarse_taps_count; t++) {
      low += axis.coarse_taps[t];
      CF_EXPECT(test,
                fabs(axis.coarse_taps[t] - axis.coarse_taps[axis.coarse_taps_count - 1 - t]) <
                    1e-15,
                "asymmetric");
    }
    CF_EXPECT(test, fabs(prefilter - 1.0) < 1e-14 && fabs(low - 1.0) < 1e-14, "%g, %g", prefilter,
              low);
    for (int p = 0; p < axis.factor; p++) {
      const double *spline = &axis.spline[4 * p];
      CF_EXPECT(test, fabs(spline[0] + spline[1] + spline[2] + spline[3] - 1.0) < 1e-15, "phase %d",
                p);
    }
    cf_pyramid_axis_free(&axis);
  }
}

static void too_small_is_refused(CfTest *test)
{
  const CfPyramidFactors factors = factors_of(3), none = factors_of(0);
  const CfPyramidFactors large = {.decimation = 8,
                                  .decimation2 = 2 * CF_PYRAMID_LARGEST_FACTOR / 8,
                                  .prefilter_sigma = 0.8,
                                  .prefilter_reach = 4.0};
  CfPyramidAxis axis = {0};
  CfStatus status = {CF_OK, ""};

  CF_EXPECT(test, cf_pyramid_axis(&axis, 30.0, 50, CF_BORDER_WRAP, &factors, NULL), "no plan");
  CF_EXPECT(test, !cf_pyramid_fits(8.84, &factors), "8 fits 8.84");
  CF_EXPECT(test, cf_pyramid_fits(8.85, &factors), "8 does not fit 8.85");
  CF_EXPECT(test, cf_pyramid_fits(0.1, &none), "no pyramid does not fit 0.1");
  CF_EXPECT(test, !cf_pyramid_axis(&axis, 4.0, 50, CF_BORDER_WRAP, &factors, &status), "a plan");
  CF_EXPECT(test, status.code == CF_ERROR_INVALID && axis.storage, "the old plan is gone");
  CF_EXPECT(test, !cf_pyramid_axis(&axis, 900.0, 50, CF_BORDER_WRAP, &large, NULL), "D is 256");
  cf_pyramid_axis_free(&axis);
}

/* The sigmas at which one D ends and the next begins. */
static void factors_follow_sigma(CfTest *test)
{
  static const struct {
    int bits;
    bool weighted;
    double sigma;
    int factor;
  } cases[] = {
      {8, false, -20.0, 1}, {8, false, 3.9, 1},    {8, false, 4.0, 2},    {8, false, 31.9, 8},
      {8, false, 32.0, 16}, {8, false, 250.0, 64}, {8, true, 16.0, 8},    {8, true, 47.9, 8},
      {8, true, 48.0, 16},  {8, true, 250.0, 64},  {10, false, 5.9, 1},   {10, false, 6.0, 2},
      {16, false, 31.9, 1}, {16, false, 32.0, 2},  {16, false, 250.0, 8},
  };

  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    const int got = cf_pyramid_factor(cases[i].sigma, cases[i].bits, cases[i].weighted, 64);

    CF_EXPECT(test, got == cases[i].factor, "case %zu: %d", i, got);
    CF_EXPECT(test,
              cf_pyramid_factor(cases[i].sigma, cases[i].bits, cases[i].weighted, 4) ==
                  (got < 4 ? got : 4),
              "case %zu: more than 4", i);
  }
  CF_EXPECT(test,
            cf_pyramid_level_factor(2.9, 16) == 1 && cf_pyramid_level_factor(3.0, 16) == 2 &&
                cf_pyramid_level_factor(250.0, 16) == 16,
            "levels");
}

/* How D is divided: D1, D2 and the prefilter's width. */
static void factors_are_divided(CfTest *test)
{
  static const CfPyramidLimits wide = {1, 8, 64, true, 0.8, 4.0};
  static const CfPyramidLimits matrix = {4, 8, 64, true, 0.6, 0.0};
  static const CfPyramidLimits plain = {1, 8, 8, false, 0.72, 4.1};
  static const struct {
    const CfPyramidLimits *limits;
    double sigma;
    int bits, decimation, decimation2;
    bool boxes;
    double prefilter;
  } cases[] = {
      {&wide, 3.0, 8, 1, 1, false, 0.8},     {&wide, 10.0, 8, 4, 1, true, 0.8},
      {&wide, 100.0, 8, 8, 4, true, 0.8},    {&wide, 100.0, 10, 8, 4, false, 0.8},
      {&wide, 100.0, 16, 4, 1, false, 1.0},  {&matrix, 2.0, 8, 4, 1, true, 0.6},
      {&matrix, 250.0, 8, 8, 8, true, 0.6},  {&plain, 250.0, 8, 8, 1, false, 0.72},
      {&plain, 250.0, 10, 8, 1, false, 0.8}, {&plain, 40.0, 16, 2, 1, false, 1.0},
  };

  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    const CfPyramidFactors got =
        cf_pyramid_factors(cases[i].sigma, cases[i].bits, false, cases[i].limits);
    const double reach = cases[i].bits > 10  ? 5.0
                         : cases[i].bits > 8 ? 4.0
                                             : cases[i].limits->prefilter_reach;

    CF_EXPECT(test,
              got.decimation == cases[i].decimation && got.decimation2 == cases[i].decimation2 &&
                  got.boxes == cases[i].boxes && got.prefilter_sigma == cases[i].prefilter &&
                  got.prefilter_reach == reach,
              "case %zu: %d, %d, %d, %g", i, got.decimation, got.decimation2, got.boxes,
              got.prefilter_sigma);
  }
  const CfPyramidFactors level = cf_pyramid_level_factors(13.0, &plain);

  CF_EXPECT(test, level.decimation == 8 && level.prefilter_sigma == 0.72, "a level");
}

/* The distance of the farthest sample that has a weight in result x. */
static int reach_of(const CfPyramidAxis *axis, CfBorder border, int x)
{
  const int phase = x % axis->factor, cell = x / axis->factor + axis->spline_first[phase];
  const int first = axis->factors.decimation2 * cell + axis->coarse_taps_first;
  const int last =
      first + axis->factors.decimation2 * (axis->spline_count - 1) + axis->coarse_taps_count - 1;
  int reach = 0;

  for (int fine = first; fine <= last; fine++) {
    for (int t = 0; t < axis->prefilter_count; t++) {
      const int from = cf_border_index(
          border, (long)axis->factors.decimation * fine + axis->prefilter_first + t, axis->size);

      if (from >= 0 && abs(from - x) > reach)
        reach = abs(from - x);
    }
  }
  return reach;
}

static void halo_reaches_all(CfTest *test)
{
  const int sizes[] = {7, 200, 1001};

  for (int i = 0; i < SPLITS; i++) {
    for (int border = 0; border <= CF_BORDER_CONSTANT; border++) {
      for (int s = 0; s < 3; s++) {
        const CfPyramidFactors factors = factors_of(i);
        const double sigma = 2.3 * factors.decimation * factors.decimation2;
        CfPyramidAxis axis = {0};
        int reach = 0;

        if (!CF_EXPECT(test,
                       cf_pyramid_axis(&axis, sigma, sizes[s], (CfBorder)border, &factors, NULL),
                       "no plan"))
          continue;
        const int halo = cf_pyramid_halo(&axis, (CfBorder)border);

        for (int x = 0; x < sizes[s]; x++) {
          const int own = reach_of(&axis, (CfBorder)border, x);

          reach = own > reach ? own : reach;
        }
        cf_test_context(test, "%dx%d, size %d, border %d", factors.decimation, factors.decimation2,
                        sizes[s], border);
        if (border == CF_BORDER_WRAP)
          CF_EXPECT(test, halo == -1, "halo %d", halo);
        else
          CF_EXPECT(test, reach <= halo && (sizes[s] < 1000 || halo <= reach + axis.factor),
                    "it reads %d away, the halo is %d", reach, halo);
        cf_pyramid_axis_free(&axis);
      }
    }
  }
}

static void rows_of_a_plane(CfTest *test)
{
  const CfVideo video = cf_video(CF_FORMAT_NV12, 64, 101);
  CfJob job = {0};
  const int halo[2] = {3, 4}, any[2] = {3, -1};
  const CfPlaneRows all = cf_job_plane_rows(&video, 1, &job);

  job.first_row = 20;
  job.rows = 10;
  const CfPlaneRows made = cf_job_plane_rows(&video, 1, &job);
  const CfPlaneRows read = cf_job_readable_rows(&video, 1, &job, 12);
  const CfPlaneRows any_read = cf_job_readable_rows(&video, 1, &job, -1);

  job.first_row = 90;
  job.rows = 11;
  const CfPlaneRows last = cf_job_plane_rows(&video, 1, &job);

  CF_EXPECT(test, all.first == 0 && all.end == 51, "all: %d, %d", all.first, all.end);
  CF_EXPECT(test, made.first == 10 && made.end == 15, "made: %d, %d", made.first, made.end);
  CF_EXPECT(test, read.first == 0 && read.end == 27, "read: %d, %d", read.first, read.end);
  CF_EXPECT(test, any_read.first == 0 && any_read.end == 51, "any: %d", any_read.end);
  CF_EXPECT(test, last.first == 45 && last.end == 51, "last: %d, %d", last.first, last.end);
  CF_EXPECT(test, cf_luma_halo(&video, halo) == 8 && cf_luma_halo(&video, any) == -1, "luma");
}

static const CfTestCase cases[] = {
    {"pyramid-is-the-gaussian", pyramid_is_the_gaussian, CF_ONCE},
    {"tails-are-those-of-the-gaussian", tails_are_those_of_the_gaussian, CF_ONCE},
    {"made-ones-suffice", made_ones_suffice, CF_ONCE},
    {"nothing-is-made-in-vain", nothing_is_made_in_vain, CF_ONCE},
    {"taps-add-up", taps_add_up, CF_ONCE},
    {"too-small-is-refused", too_small_is_refused, CF_ONCE},
    {"factors-follow-sigma", factors_follow_sigma, CF_ONCE},
    {"factors-are-divided", factors_are_divided, CF_ONCE},
    {"halo-reaches-all", halo_reaches_all, CF_ONCE},
    {"rows-of-a-plane", rows_of_a_plane, CF_ONCE},
    {0},
};

int main(int argc, char **argv)
{
  const CfTestSuite suite = {NULL, cases};

  return cf_test_main(&suite, argc, argv);
}
