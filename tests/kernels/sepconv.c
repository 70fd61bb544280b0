/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Separable convolution: the reference against the definition, the other engines against the
 * reference.
 */
#include "sepconv.h"

#include <stdio.h>
#include <string.h>

#include "bands.h"
#include "naive_fir.h"
#include "sepconv_cases.h"

/* ---- The reference against the definition ---- */

static void naive_kernel(NaiveTaps *taps, const CfKernel *from, int anchor, bool normalize)
{
  double sum = 0.0;

  taps->count = from->taps;
  taps->anchor = anchor < 0 ? from->taps / 2 : anchor;
  for (int i = 0; i < from->taps; i++)
    sum += from->tap[i];
  for (int i = 0; i < from->taps; i++)
    taps->tap[i] = normalize ? from->tap[i] / sum : from->tap[i];
}

static void naive_sepconv(NaiveFilter *filter, const CfSepconvParams *params)
{
  CfKernel row = params->row_kernel, column = params->column_kernel;

  if (params->preset != CF_SEPCONV_CUSTOM)
    cf_sepconv_preset_kernels((CfSepconvPreset)params->preset, params->preset_size, &row, &column);
  naive_kernel(&filter->row, &row, params->anchor_x, params->normalize);
  naive_kernel(&filter->column, &column, params->anchor_y, params->normalize);
  filter->border = (CfBorder)params->border;
  filter->border_color = params->border_color;
  filter->scale = params->scale;
  filter->bias = params->bias +
                 (params->absolute ? 0.0 : cf_sepconv_preset_bias((CfSepconvPreset)params->preset));
  filter->absolute = params->absolute;
  filter->planes = params->planes;
}

/* The largest distance of `got` from the exact value, over all planes. */
static double distance(const CfSepconvParams *params, const CfTestPicture *source,
                       const CfTestPicture *got)
{
  static NaiveFilter filter;
  double largest = 0.0;

  naive_sepconv(&filter, params);
  for (int p = 0; p < cf_format_info(source->video.format)->planes; p++) {
    const Naive naive = naive_plane(&filter, source, p);

    largest = fmax(largest, naive_distance(&naive, got));
  }
  return largest;
}

static void reference_is_the_definition(CfTest *test)
{
  const CfSize sizes[] = {{1, 1}, {1, 7}, {7, 1}, {2, 2}, {3, 5}, {13, 6}};

  for (int i = 0; i < 30; i++) {
    const CfSize *size = &sizes[i % 6];
    CfSepconvParams params = random_params(&test->random);
    CfTestPicture *source, *got;

    if (params.row_kernel.taps * params.column_kernel.taps > 400)
      params.column_kernel = kernel(2, 0.25, 0.5);
    if (params.anchor_y >= params.column_kernel.taps)
      params.anchor_y = 0;
    source = picture(test->format, size->width, size->height, CF_LAYOUT_PADDED,
                     (CfPattern)(i % CF_PATTERN_COUNT), (CfAlphaFill)(i % 2), test->seed);
    got = cf_test_reference(test, &params, source);
    say(test, &params, source);
    if (got) {
      const double worst = distance(&params, source, got);
      CF_EXPECT(test, worst <= 0.5 + 1e-6, "%g from the definition", worst);
    }
    cf_picture_free(got);
    cf_picture_free(source);
  }
}

/* ---- Every engine ---- */

static void agrees_with_reference(CfTest *test)
{
  int round = 0;

  for (const CfSize *size = cf_test_sizes; size->width; size++) {
    for (int i = 0; i < 8; i++, round++) {
      const CfSepconvParams params = random_params(&test->random);
      CfTestPicture *source =
          picture(test->format, size->width, size->height, (CfLayout)(round % CF_LAYOUT_COUNT),
                  (CfPattern)(round % CF_PATTERN_COUNT), (CfAlphaFill)(round % 5 % CF_ALPHA_COUNT),
                  test->seed + (uint64_t)round);

      run_and_compare(test, &params, source);
      cf_picture_free(source);
    }
  }
}

/* Means for which engines may have shortcuts: sizes of many vectors, any number of taps, symmetric
 * or not. */
static void agrees_on_means(CfTest *test)
{
  for (int taps = 2; taps <= 40; taps += 1 + taps / 9) {
    CfSepconvParams params = defaults();
    CfTestPicture *source =
        picture(test->format, 150 + taps, 31, CF_LAYOUT_PADDED,
                (CfPattern)(taps % CF_PATTERN_COUNT), CF_ALPHA_OPAQUE, test->seed);

    params.row_kernel = random_kernel(&test->random, MEAN, taps);
    params.column_kernel =
        random_kernel(&test->random, MEAN, 1 + cf_random_below(&test->random, 25));
    params.border = taps % BORDERS;
    params.anchor_x = cf_random_below(&test->random, taps + 1) - 1;
    run_and_compare(test, &params, source);
    cf_picture_free(source);
  }
}

/* The same with rows at multiples of 64 bytes, and with kernels that sharpen, shift and
 * differentiate. */
static void agrees_when_aligned(CfTest *test)
{
  for (int i = 0; i < 24; i++) {
    const int taps = 1 + cf_random_below(&test->random, i % 4 ? 34 : 129);
    CfSepconvParams params = defaults();
    CfTestPicture *source =
        picture(test->format, 100 + cf_random_below(&test->random, 400),
                1 + cf_random_below(&test->random, 90), CF_LAYOUT_ALIGNED,
                (CfPattern)(i % CF_PATTERN_COUNT), CF_ALPHA_OPAQUE, test->seed + (uint64_t)i);

    params.row_kernel = random_kernel(&test->random, MEAN, taps);
    params.column_kernel =
        random_kernel(&test->random, MEAN, 1 + cf_random_below(&test->random, 25));
    if (i % 3 == 1) {
      params.preset = CF_SEPCONV_SHARPEN;
      params.preset_size = 3 + 2 * cf_random_below(&test->random, 9);
    } else if (i % 3 == 2) {
      params.column_kernel = random_kernel(&test->random, DERIVATIVE, 3);
      params.bias = 0.5;
      params.absolute = i % 2;
    }
    params.scale = i % 5 == 0 ? -0.7 : 1.0;
    params.border = i % BORDERS;
    params.border_color = (uint32_t)cf_random(&test->random) | 0xff000000;
    run_and_compare(test, &params, source);
    cf_picture_free(source);
  }
}

/* row-kernel[0] multiplies the leftmost sample, column-kernel[0] the topmost. */
static void correlates(CfTest *test)
{
  CfSepconvParams params = defaults();
  CfTestPicture *source = picture(CF_FORMAT_GRAY8, 40, 21, CF_LAYOUT_PADDED, CF_PATTERN_NOISE,
                                  CF_ALPHA_OPAQUE, test->seed);
  CfTestPicture *got = cf_picture_new(&source->video, CF_LAYOUT_PADDED);

  params.row_kernel = kernel(3, 1.0, 0.0, 0.0);
  params.column_kernel = kernel(4, 1.0, 0.0, 0.0, 0.0);
  if (cf_test_filter(test, test->engine, &params, 1, source, got)) {
    for (int y = 2; y < 21; y++) {
      for (int x = 1; x < 40; x++)
        CF_EXPECT(test,
                  cf_picture_get(got, 0, x, y, 0) == cf_picture_get(source, 0, x - 1, y - 2, 0),
                  "sample %d %d", x, y);
    }
  }
  params.anchor_x = 0;
  params.anchor_y = 3;
  if (cf_test_filter(test, test->engine, &params, 1, source, got)) {
    for (int y = 3; y < 21; y++) {
      for (int x = 0; x < 40; x++)
        CF_EXPECT(test, cf_picture_get(got, 0, x, y, 0) == cf_picture_get(source, 0, x, y - 3, 0),
                  "sample %d %d with anchors", x, y);
    }
  }
  cf_picture_free(got);
  cf_picture_free(source);
}

static void constant_stays(CfTest *test)
{
  const CfFormatInfo *info = cf_format_info(test->format);

  for (int i = 0; i < 24; i++) {
    CfSepconvParams params = defaults();
    CfTestPicture *source = picture(test->format, 67, 9, CF_LAYOUT_UNALIGNED, CF_PATTERN_CONSTANT,
                                    CF_ALPHA_OPAQUE, test->seed + (uint64_t)i);
    CfTestPicture *got = cf_picture_new(&source->video, source->layout);

    params.preset = (const int[]){CF_SEPCONV_BOX, CF_SEPCONV_BINOMIAL, CF_SEPCONV_GAUSSIAN,
                                  CF_SEPCONV_SHARPEN, CF_SEPCONV_CUSTOM}[i % 5];
    params.preset_size = (const int[]){3, 9, 25, 63, 255}[i / 5];
    params.row_kernel = kernel(4, 1.0, 4.0, -2.0, 1.0);
    params.column_kernel =
        random_kernel(&test->random, MEAN, 1 + cf_random_below(&test->random, 40));
    params.normalize = true;
    params.border = i % CF_BORDER_CONSTANT;
    if (i % 3 == 0) {
      for (int role = 0; role < CF_ROLE_PADDING; role++)
        cf_picture_set_role(source, (CfRole)role, cf_max_code(info));
    } else if (i % 3 == 1 && info->alpha) {
      cf_picture_set_role(source, CF_ROLE_ALPHA, 1 + cf_random_below(&test->random, 255));
    }
    say(test, &params, source);
    if (cf_test_filter(test, test->engine, &params, 1, source, got))
      cf_test_compare_exact(test, got, source);
    cf_picture_free(got);
    cf_picture_free(source);
  }
}

/* Channels that are not selected equal the input, bit for bit, and do not affect the others. */
static void planes_are_chosen(CfTest *test)
{
  const CfFormatInfo *info = cf_format_info(test->format);

  for (int planes = 0; planes < 8; planes++) {
    CfSepconvParams params = defaults();
    CfTestPicture *source = picture(test->format, 37, 11, CF_LAYOUT_PADDED, CF_PATTERN_NOISE,
                                    CF_ALPHA_RANDOM, test->seed);
    CfTestPicture *got = cf_picture_new(&source->video, CF_LAYOUT_PADDED);

    params.preset = planes % 2 ? CF_SEPCONV_BOX : CF_SEPCONV_SOBEL_X;
    params.planes = planes;
    params.bias = 0.25;
    say(test, &params, source);
    if (cf_test_filter(test, test->engine, &params, 1, source, got)) {
      for (int p = 0; p < info->planes; p++) {
        for (int c = 0; c < info->plane[p].channels; c++) {
          const CfRole role = info->plane[p].role[c];
          const int flag = role == CF_ROLE_ALPHA ? ALPHA : naive_is_chroma(role) ? CHROMA : LUMA;
          int differing = 0;

          for (int y = 0; y < cf_plane_height(&source->video, p); y++) {
            for (int x = 0; x < cf_plane_width(&source->video, p); x++)
              differing += cf_picture_raw(got, p, x, y, c) != cf_picture_raw(source, p, x, y, c);
          }
          if (role == CF_ROLE_PADDING)
            continue;
          if (!(planes & flag) || (role == CF_ROLE_ALPHA && !(planes % 2)))
            CF_EXPECT(test, differing == 0, "%d samples changed", differing);
          else
            CF_EXPECT(test, differing > 0, "nothing changed");
        }
      }
    }
    cf_picture_free(got);
    cf_picture_free(source);
  }
}

/* Large taps that cancel: single precision would be codes off. */
static void large_gains_stay_accurate(CfTest *test)
{
  const CfFormat formats[] = {CF_FORMAT_GRAY8, CF_FORMAT_GRAY16_LE, CF_FORMAT_BGRA, CF_FORMAT_AYUV};

  for (int i = 0; i < 24; i++) {
    CfSepconvParams params = defaults();
    CfTestPicture *source = picture(formats[i % 4], 70, 20, CF_LAYOUT_PADDED, CF_PATTERN_PHOTO,
                                    (CfAlphaFill)(i % 2), test->seed + (uint64_t)i);
    const double large = pow(10.0, 1 + i % 7);

    params.row_kernel = random_kernel(&test->random, SIGNED, 6);
    for (int t = 0; t < 3; t++) {
      params.row_kernel.tap[2 * t] = large * cf_random_unit(&test->random);
      params.row_kernel.tap[2 * t + 1] = 0.3 - params.row_kernel.tap[2 * t];
    }
    params.column_kernel = random_kernel(&test->random, MEAN, 5);
    params.border = i % BORDERS;
    run_and_compare(test, &params, source);
    cf_picture_free(source);
  }
}

/* Taps, or a scale, beyond the range of single precision, in otherwise ordinary kernels. */
static void any_range_is_accurate(CfTest *test)
{
  const CfFormat formats[] = {CF_FORMAT_GRAY8, CF_FORMAT_NV12, CF_FORMAT_RGBA, CF_FORMAT_AYUV,
                              CF_FORMAT_P016_LE};
  const struct {
    CfKernel row, column;
    double scale, bias;
  } cases[] = {
      {kernel(2, 1e20, 1e20), kernel(1, 1e20), 1e-40, 0.0},
      {kernel(3, -1e60, 0.0, 1e60), kernel(3, 1e50, 2e50, 1e50), 1e-111, 0.5},
      {kernel(3, 1e60, 1e60, 1e60), kernel(2, 1e60, 1e60), 0.0, 0.25},
      {kernel(3, 1e60, 1e60, 1e60), kernel(2, 1e60, 1e60), 1e-150, 0.25},
      {kernel(3, 1e-60, 2e-60, 1e-60), kernel(1, 1e-20), 1.0, 0.25},
      {kernel(2, 1e-150, 1e-150), kernel(2, 1e150, 1e150), 0.25, 0.0},
      {kernel(2, 1e-9, 3e-9), kernel(1, 1.0), 2.5e8, 0.0},
      {kernel(1, 1.0), kernel(1, 1.0), 1e-60, 0.5},
  };

  for (size_t i = 0; i < 5 * sizeof cases / sizeof cases[0]; i++) {
    CfSepconvParams params = defaults();
    CfTestPicture *source = picture(formats[i % 5], 41, 9, CF_LAYOUT_PADDED, CF_PATTERN_PHOTO,
                                    CF_ALPHA_OPAQUE, test->seed + (uint64_t)i);
    CfTestPicture *got = cf_picture_new(&source->video, source->layout);

    params.row_kernel = cases[i / 5].row;
    params.column_kernel = cases[i / 5].column;
    params.scale = cases[i / 5].scale;
    params.bias = cases[i / 5].bias;
    say(test, &params, source);
    if (cf_test_filter(test, test->engine, &params, 1, source, got)) {
      const double off = distance(&params, source, got);

      CF_EXPECT(test, off <= 1.0, "%g from the real value", off);
    }
    cf_picture_free(got);
    cf_picture_free(source);
  }
}

static void eight_bits_are_accurate(CfTest *test)
{
  const CfPattern patterns[] = {CF_PATTERN_NOISE, CF_PATTERN_BARS, CF_PATTERN_CHECKER,
                                CF_PATTERN_DOTS, CF_PATTERN_EXTREMES};
  double worst = 0.0;

  for (int i = 0; i < 30; i++) {
    CfSepconvParams params = defaults();
    CfTestPicture *source = picture(CF_FORMAT_GRAY8, 70, 41, CF_LAYOUT_ALIGNED, patterns[i % 5],
                                    CF_ALPHA_OPAQUE, test->seed);
    CfTestPicture *got = cf_picture_new(&source->video, source->layout);

    params.row_kernel = random_kernel(&test->random, MEAN, 2 + i);
    params.column_kernel =
        random_kernel(&test->random, MEAN, 2 + cf_random_below(&test->random, 20));
    params.normalize = true;
    if (i % 3 == 0) {
      params.preset = CF_SEPCONV_BOX + i % 3;
      params.preset_size = 3 + i;
      params.preset_size |= 1;
    }
    if (cf_test_filter(test, test->engine, &params, 1, source, got)) {
      const double off = distance(&params, source, got);

      say(test, &params, source);
      CF_EXPECT(test, off <= 0.6, "%g from the real value", off);
      worst = fmax(worst, off);
    }
    cf_picture_free(got);
    cf_picture_free(source);
  }
  cf_test_context(test, "at most %.4f from the real value", worst);
}

static void update_takes_over(CfTest *test)
{
  const CfFormat formats[] = {CF_FORMAT_Y42B, CF_FORMAT_ARGB, CF_FORMAT_P016_LE};

  for (int f = 0; f < 3; f++) {
    CfTestPicture *source = picture(formats[f], 131, 35, CF_LAYOUT_PADDED, CF_PATTERN_NOISE,
                                    CF_ALPHA_RANDOM, test->seed);
    CfTestPicture *got = cf_picture_new(&source->video, CF_LAYOUT_PADDED);
    CfTestPicture *want = cf_picture_new(&source->video, CF_LAYOUT_PADDED);
    const CfSepconvParams first = defaults();
    CfRig *rig = cf_rig_open(test, test->engine, &source->video, &first, 2);

    for (int i = 0; rig && i < 12; i++) {
      const CfSepconvParams params = random_params(&test->random);

      say(test, &params, source);
      if (cf_rig_update(rig, &params) && cf_rig_run(rig, source, got) &&
          cf_test_filter(test, test->engine, &params, 2, source, want))
        cf_test_compare_exact(test, got, want);
    }
    cf_rig_close(rig);
    cf_picture_free(got);
    cf_picture_free(want);
    cf_picture_free(source);
  }
}

/* A state that refuses new params keeps the old ones. */
static void refused_update_changes_nothing(CfTest *test)
{
  const CfOpenOptions options = {.threads = 1};
  CfTestPicture *source = picture(CF_FORMAT_NV12, 70, 20, CF_LAYOUT_PADDED, CF_PATTERN_NOISE,
                                  CF_ALPHA_OPAQUE, test->seed);
  CfTestPicture *want = cf_picture_new(&source->video, CF_LAYOUT_PADDED);
  CfTestPicture *got = cf_picture_new(&source->video, CF_LAYOUT_PADDED);
  const CfJob job = {.source = source->planes, .destination = got->planes};
  CfSepconvParams good = defaults(), bad = defaults();
  CfStatus status = {CF_OK, ""};
  void *state;

  if (test->engine->device_memory) {
    cf_test_skip(test, "host memory only");
  } else {
    good.preset = CF_SEPCONV_SHARPEN;
    bad.preset = CF_SEPCONV_BOX;
    bad.preset_size = 6;
    cf_test_filter(test, test->engine, &good, 1, source, want);
    state = test->engine->open(&source->video, &good, &options, &status);
    CF_EXPECT(test, !test->engine->update(state, &bad, &status), "6 taps are accepted");
    CF_EXPECT(test, status.code == CF_ERROR_INVALID, "code %d", status.code);
    if (CF_EXPECT(test, test->engine->run(state, &job, &status), "does not run"))
      cf_test_compare_exact(test, got, want);
    test->engine->close(state);
  }
  cf_picture_free(got);
  cf_picture_free(want);
  cf_picture_free(source);
}

/* Pictures for every kind of kernel, with and without bands. */
static void bands_are_the_whole(CfTest *test)
{
  const CfSize sizes[] = {{301, 130}, {64, 77}, {33, 20}, {1, 9}, {90, 3}};

  if (!test->engine->halo) {
    cf_test_skip(test, "the engine knows no bands");
    return;
  }
  for (int i = 0; i < 20; i++) {
    const CfSize *size = &sizes[i % 5];
    CfSepconvParams params = random_params(&test->random);
    CfTestPicture *source = picture(test->format, size->width, size->height,
                                    i % 4 ? CF_LAYOUT_ALIGNED : CF_LAYOUT_PADDED, CF_PATTERN_NOISE,
                                    i % 3 ? CF_ALPHA_OPAQUE : CF_ALPHA_RANDOM, test->seed);

    if (i % 3 == 2)
      add_islands(test, source);
    if (i % 2) {
      params.border = i % 4 == 1 ? CF_BORDER_REPLICATE : i / 4;
      params.row_kernel =
          random_kernel(&test->random, MEAN, 1 + cf_random_below(&test->random, 60));
      params.anchor_x = -1;
    }
    say(test, &params, source);
    expect_bands_equal_whole(test, &params, source);
    cf_picture_free(source);
  }
}

/* Where planes use different algorithms, the slowest is named. */
static void algorithm_is_named(CfTest *test)
{
  const CfFormat formats[] = {CF_FORMAT_GRAY8, CF_FORMAT_NV12};
  CfSepconvParams params = defaults();
  char name[2][32] = {"", ""};

  if (test->engine->device_memory) {
    cf_test_skip(test, "the ways of the CPU");
    return;
  }
  params.preset = CF_SEPCONV_GAUSSIAN;
  params.planes = CF_SEPCONV_PLANE_LUMA;
  for (int i = 0; i < 2; i++) {
    CfTestPicture *source = picture(formats[i], 64, 48, CF_LAYOUT_ALIGNED, CF_PATTERN_PHOTO,
                                    CF_ALPHA_OPAQUE, test->seed);
    CfTestPicture *got = cf_picture_new(&source->video, CF_LAYOUT_ALIGNED);
    CfRig *rig = cf_rig_open(test, test->engine, &source->video, &params, 1);

    if (rig && cf_rig_run(rig, source, got))
      snprintf(name[i], sizeof name[i], "%s", cf_rig_algorithm(rig));
    cf_rig_close(rig);
    cf_picture_free(got);
    cf_picture_free(source);
  }
  CF_EXPECT(test, name[0][0] && strcmp(name[0], name[1]) == 0, "%s, with a copied plane %s",
            name[0], name[1]);
}

static const CfTestCase cases[] = {
    {"reference-is-the-definition", reference_is_the_definition, CF_EACH_FORMAT},
    {"agrees-with-reference", agrees_with_reference, CF_EACH_OTHER_ENGINE | CF_EACH_FORMAT},
    {"agrees-on-means", agrees_on_means, CF_EACH_OTHER_ENGINE | CF_EACH_FORMAT},
    {"agrees-when-aligned", agrees_when_aligned, CF_EACH_OTHER_ENGINE | CF_EACH_FORMAT},
    {"correlates", correlates, CF_EACH_ENGINE},
    {"constant-stays", constant_stays, CF_EACH_ENGINE | CF_EACH_FORMAT},
    {"planes-are-chosen", planes_are_chosen, CF_EACH_ENGINE | CF_EACH_FORMAT},
    {"bands-are-the-whole", bands_are_the_whole, CF_EACH_OTHER_ENGINE | CF_EACH_FORMAT},
    {"large-gains-stay-accurate", large_gains_stay_accurate, CF_EACH_OTHER_ENGINE},
    {"any-range-is-accurate", any_range_is_accurate, CF_EACH_ENGINE},
    {"eight-bits-are-accurate", eight_bits_are_accurate, CF_EACH_ENGINE},
    {"update-takes-over", update_takes_over, CF_EACH_ENGINE},
    {"refused-update-changes-nothing", refused_update_changes_nothing, CF_EACH_ENGINE},
    {"algorithm-is-named", algorithm_is_named, CF_EACH_OTHER_ENGINE},
    {0},
};

int main(int argc, char **argv)
{
  const CfTestSuite suite = {&cf_sepconv, cases};

  return cf_test_main(&suite, argc, argv);
}
