/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * preset=unsharp of sepconv: every engine against the definition, computed sample by sample from
 * two-dimensional sums and a separate Gaussian.
 */
#include "sepconv.h"

#include <string.h>

#include "bands.h"
#include "naive_fir.h"
#include "sepconv_cases.h"

/* In code values. Where a difference is this close to the threshold, rounding decides the side. */
#define DOUBT 2e-3

/* The values that an exact sample may have, one for each side of the threshold. */
typedef struct {
  double value[2];
  double alpha; /* divides the values; 1 in formats without alpha */
  bool certain; /* of `alpha` */
} AllowedValues;

static void gaussian_taps(NaiveTaps *taps, int size, int anchor)
{
  const double sigma = 0.3 * ((size - 1) * 0.5 - 1.0) + 0.8;
  double sum = 0.0;

  taps->count = size;
  taps->anchor = anchor < 0 ? size / 2 : anchor;
  for (int i = 0; i < size; i++)
    sum += taps->tap[i] = exp(-0.5 * pow((i - size / 2) / sigma, 2.0));
  for (int i = 0; i < size; i++)
    taps->tap[i] /= sum;
}

/* Computes the channel's value on either side of the threshold. */
static void sharpen(const Naive *naive, const CfSepconvParams *params, int x, int y, int channel,
                    double centre, bool weighted, double value[2])
{
  const double unit = weighted ? naive->max_code : 1.0;
  const double weight =
      weighted ? cf_picture_get(naive->source, naive->plane, x, y, naive->alpha) : 1.0;
  const double own = weight * (cf_picture_get(naive->source, naive->plane, x, y, channel) - centre);
  const double more = own - naive_sum(naive, x, y, channel, centre, weighted);
  const double beyond = fabs(more) / unit - params->threshold * naive->max_code;

  value[0] = beyond > -DOUBT ? own + params->amount * more : own;
  value[1] = beyond > DOUBT ? own + params->amount * more : own;
}

static AllowedValues allowed_values(const Naive *naive, const CfSepconvParams *params, int x, int y,
                                    int channel)
{
  const CfRole role = naive->format->role[channel];
  const bool weighted =
      naive->alpha >= 0 && naive_is_selected(naive, CF_ROLE_ALPHA) && role != CF_ROLE_ALPHA;
  const double centre = naive_is_chroma(role) ? cf_chroma_centre(&naive->source->video) : 0.0;
  AllowedValues sample = {.alpha = 1.0, .certain = true};
  double alpha[2];

  if (!naive_is_selected(naive, role)) {
    sample.value[0] = sample.value[1] = cf_picture_get(naive->source, naive->plane, x, y, channel);
    return sample;
  }
  if (weighted) {
    sharpen(naive, params, x, y, naive->alpha, 0.0, false, alpha);
    sample.alpha = alpha[0];
    sample.certain = alpha[0] == alpha[1];
  }
  sharpen(naive, params, x, y, channel, centre, weighted, sample.value);
  for (int i = 0; i < 2; i++) {
    double value = sample.alpha <= 0.0 ? 0.0 : sample.value[i] / sample.alpha;

    if (role != CF_ROLE_ALPHA)
      value *= params->scale;
    if (role != CF_ROLE_ALPHA && !naive_is_chroma(role))
      value = (params->absolute ? fabs(value) : value) + params->bias * naive->max_code;
    sample.value[i] = fmin(fmax(centre + value, 0.0), naive->max_code);
  }
  return sample;
}

/* The largest distance of `got` from the allowed values in all planes; colours count by alpha. */
static double distance(const CfSepconvParams *params, const CfTestPicture *source,
                       const CfTestPicture *got)
{
  static NaiveFilter filter;
  double largest = 0.0;

  gaussian_taps(&filter.row, params->preset_size, params->anchor_x);
  gaussian_taps(&filter.column, params->preset_size, params->anchor_y);
  filter.border = (CfBorder)params->border;
  filter.border_color = params->border_color;
  filter.planes = params->planes;
  for (int p = 0; p < cf_format_info(source->video.format)->planes; p++) {
    const Naive naive = naive_plane(&filter, source, p);

    for (int i = 0; i < naive.width * naive.height * naive.format->channels; i++) {
      const int channel = i % naive.format->channels, pixel = i / naive.format->channels;
      const int x = pixel % naive.width, y = pixel / naive.width;

      if (naive.format->role[channel] == CF_ROLE_PADDING)
        continue;
      const AllowedValues want = allowed_values(&naive, params, x, y, channel);
      const double code = cf_picture_get(got, p, x, y, channel);
      const double share =
          want.alpha == 1.0 ? 1.0 : fmin(fmax(want.alpha, 0.0) / naive.max_code, 1.0);

      if (want.certain)
        largest =
            fmax(largest, share * fmin(fabs(code - want.value[0]), fabs(code - want.value[1])));
    }
  }
  return largest;
}

static CfSepconvParams random_unsharp(CfRandom *random, int i)
{
  static const int sizes[] = {3, 5, 5, 9, 17, 33, 63};
  static const double amounts[] = {1.0, 0.5, 3.0, 10.0, 0.0};
  static const double thresholds[] = {0.0, 0.0, 0.01, 0.07, 0.3, 1.0};
  CfSepconvParams params = defaults();

  params.preset = CF_SEPCONV_UNSHARP;
  params.preset_size = sizes[i % 7];
  params.amount = amounts[i % 5];
  params.threshold = thresholds[cf_random_below(random, 6)];
  params.border = i % BORDERS;
  params.border_color = (uint32_t)cf_random(random);
  params.normalize = i % 2;
  if (i % 4 == 3) {
    params.scale = 3.0 * cf_random_unit(random) - 1.5;
    params.bias = cf_random_unit(random) - 0.5;
    params.absolute = i % 8 == 3;
    params.anchor_x = cf_random_below(random, params.preset_size);
  }
  params.planes = i % 3 ? LUMA | CHROMA | ALPHA : cf_random_below(random, 8);
  return params;
}

/* The reference is the definition, and the other engines are within a code of it. */
static void is_the_definition(CfTest *test)
{
  const double bound = strcmp(test->engine->name, "reference") == 0 ? 0.5 + 1e-6 : 1.0;
  const CfSize sizes[] = {{1, 1}, {1, 7}, {23, 1}, {13, 6}, {35, 19}};

  for (int i = 0; i < 30; i++) {
    const CfSize *size = &sizes[i % 5];
    const CfSepconvParams params = random_unsharp(&test->random, i);
    CfTestPicture *source =
        picture(test->format, size->width, size->height, (CfLayout)(i % CF_LAYOUT_COUNT),
                (CfPattern)(i % CF_PATTERN_COUNT), (CfAlphaFill)(i % CF_ALPHA_COUNT),
                test->seed + (uint64_t)i);
    CfTestPicture *got = cf_picture_new(&source->video, source->layout);

    say(test, &params, source);
    if (cf_test_filter(test, test->engine, &params, 2, source, got)) {
      const double worst = distance(&params, source, got);

      CF_EXPECT(test, worst <= bound, "%g from the definition, amount %g, threshold %g", worst,
                params.amount, params.threshold);
    }
    cf_picture_free(got);
    cf_picture_free(source);
  }
}

/* Sizes that engines cut into tiles, and the longest taps. */
static void large_pictures_agree(CfTest *test)
{
  for (int i = 0; i < 8; i++) {
    CfSepconvParams params = random_unsharp(&test->random, i);
    CfTestPicture *source =
        picture(test->format, 301 + i, 67, i % 2 ? CF_LAYOUT_ALIGNED : CF_LAYOUT_PADDED,
                CF_PATTERN_PHOTO, i % 2 ? CF_ALPHA_OPAQUE : CF_ALPHA_RANDOM, test->seed);

    params.threshold = 0.0;
    params.anchor_x = -1;
    if (i == 7)
      params.preset_size = CF_MAX_TAPS;
    if (i % 4 == 1)
      add_islands(test, source);
    run_and_compare(test, &params, source);
    if (test->engine->halo)
      expect_bands_equal_whole(test, &params, source);
    cf_picture_free(source);
  }
}

/* Samples that differ from the mean by at most the threshold stay, bit for bit; others do not. */
static void threshold_keeps(CfTest *test)
{
  CfTestPicture *source = picture(CF_FORMAT_GRAY8, 64, 40, CF_LAYOUT_ALIGNED, CF_PATTERN_CONSTANT,
                                  CF_ALPHA_OPAQUE, test->seed);
  CfTestPicture *got = cf_picture_new(&source->video, CF_LAYOUT_PADDED);
  CfSepconvParams params = defaults();

  for (int y = 0; y < 40; y++) {
    for (int x = 0; x < 64; x++)
      cf_picture_set(source, 0, x, y, 0, x < 32 ? 100 + (x + y) % 2 * 4 : 40 + y / 20 * 80);
  }
  params.preset = CF_SEPCONV_UNSHARP;
  params.threshold = 5.0 / 255.0;
  if (cf_test_filter(test, test->engine, &params, 1, source, got)) {
    for (int y = 0; y < 40; y++) {
      for (int x = 0; x < 28; x++)
        CF_EXPECT(test, cf_picture_get(got, 0, x, y, 0) == cf_picture_get(source, 0, x, y, 0),
                  "texture at %d %d", x, y);
    }
    CF_EXPECT(test, cf_picture_get(got, 0, 50, 19, 0) < 40, "the dark side of the edge");
    CF_EXPECT(test, cf_picture_get(got, 0, 50, 20, 0) > 120, "the bright side of the edge");
  }
  cf_picture_free(got);
  cf_picture_free(source);
}

static void identity_is_known(CfTest *test)
{
  CfSepconvParams params = defaults();

  params.preset = CF_SEPCONV_UNSHARP;
  CF_EXPECT(test, !cf_sepconv.is_identity(&params), "amount 1");
  params.amount = 0.0;
  CF_EXPECT(test, cf_sepconv.is_identity(&params), "amount 0");
  params.bias = 0.1;
  CF_EXPECT(test, !cf_sepconv.is_identity(&params), "bias");
}

static const CfTestCase cases[] = {
    {"is-the-definition", is_the_definition, CF_EACH_ENGINE | CF_EACH_FORMAT},
    {"large-pictures-agree", large_pictures_agree, CF_EACH_OTHER_ENGINE | CF_EACH_FORMAT},
    {"threshold-keeps", threshold_keeps, CF_EACH_ENGINE},
    {"identity-is-known", identity_is_known, CF_ONCE},
    {0},
};

int main(int argc, char **argv)
{
  const CfTestSuite suite = {&cf_sepconv, cases};

  return cf_test_main(&suite, argc, argv);
}
