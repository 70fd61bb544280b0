/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Separable convolution of pictures with alpha: what weighting by alpha must not change.
 */
#include <string.h>

#include "naive_fir.h"
#include "sepconv_cases.h"

static void opaque_is_as_without_alpha(CfTest *test)
{
  for (int i = 0; i < 30; i++) {
    CfSepconvParams params = random_params(&test->random);
    CfTestPicture *with = picture(CF_FORMAT_RGBA, 65, 20, CF_LAYOUT_PADDED, CF_PATTERN_NOISE,
                                  CF_ALPHA_OPAQUE, test->seed + (uint64_t)i);
    const CfVideo video = cf_video(CF_FORMAT_RGBx, 65, 20);
    CfTestPicture *without = cf_picture_new(&video, CF_LAYOUT_PADDED);
    CfTestPicture *got_with = cf_picture_new(&with->video, CF_LAYOUT_PADDED);
    CfTestPicture *got_without = cf_picture_new(&video, CF_LAYOUT_PADDED);

    params.border_color |= 0xff000000;
    /* Larger ones have taps such as 1/6, whose sums can be ties that round either way. */
    if (params.preset == CF_SEPCONV_SOBEL_X || params.preset == CF_SEPCONV_SOBEL_Y)
      params.preset_size = 3;
    for (int y = 0; y < 20; y++)
      memcpy(without->planes.data[0] + y * without->planes.stride[0],
             with->planes.data[0] + y * with->planes.stride[0], 4 * 65);
    say(test, &params, with);
    if (cf_test_filter(test, test->engine, &params, 2, with, got_with) &&
        cf_test_filter(test, test->engine, &params, 2, without, got_without)) {
      for (int y = 0; y < 20; y++) {
        for (int x = 0; x < 65; x++) {
          CF_EXPECT(test, cf_picture_get(got_with, 0, x, y, 3) == 255, "alpha at %d %d", x, y);
          for (int c = 0; c < 3; c++)
            CF_EXPECT(test,
                      cf_picture_get(got_with, 0, x, y, c) ==
                          cf_picture_get(got_without, 0, x, y, c),
                      "channel %d at %d %d", c, x, y);
        }
      }
    }
    cf_picture_free(with);
    cf_picture_free(without);
    cf_picture_free(got_with);
    cf_picture_free(got_without);
  }
}

/* Where nothing is visible there is no colour either, whatever scale and bias are. */
static void transparent_is_empty(CfTest *test)
{
  const CfFormat formats[] = {CF_FORMAT_RGBA, CF_FORMAT_ARGB, CF_FORMAT_AYUV};

  for (int i = 0; i < 12; i++) {
    CfSepconvParams params = defaults();
    CfTestPicture *source = picture(formats[i % 3], 70, 9, CF_LAYOUT_PADDED, CF_PATTERN_NOISE,
                                    CF_ALPHA_TRANSPARENT, test->seed);
    CfTestPicture *want = cf_picture_new(&source->video, CF_LAYOUT_PADDED);
    CfTestPicture *got = cf_picture_new(&source->video, CF_LAYOUT_PADDED);

    params.preset = CF_SEPCONV_BOX + i / 3;
    params.bias = 0.5;
    params.border = i % CF_BORDER_CONSTANT;
    cf_picture_fill(want, CF_PATTERN_NOISE, CF_ALPHA_TRANSPARENT, 0);
    for (int role = 0; role < CF_ROLE_ALPHA; role++)
      cf_picture_set_role(want, (CfRole)role, naive_is_chroma((CfRole)role) ? 128 : 0);
    say(test, &params, source);
    if (cf_test_filter(test, test->engine, &params, 1, source, got))
      cf_test_compare_exact(test, got, want);
    cf_picture_free(got);
    cf_picture_free(want);
    cf_picture_free(source);
  }
}

/* Engines may skip the weights where everything is opaque. */
static void islands_of_alpha(CfTest *test)
{
  const CfFormat formats[] = {CF_FORMAT_RGBA, CF_FORMAT_ARGB, CF_FORMAT_AYUV};

  for (int i = 0; i < 24; i++) {
    CfSepconvParams params = defaults();
    CfTestPicture *source = picture(formats[i % 3], 333, 150, CF_LAYOUT_ALIGNED, CF_PATTERN_PHOTO,
                                    CF_ALPHA_OPAQUE, test->seed + (uint64_t)i);

    add_islands(test, source);
    params.row_kernel = random_kernel(&test->random, MEAN, 1 + cf_random_below(&test->random, 90));
    params.column_kernel =
        random_kernel(&test->random, MEAN, 1 + cf_random_below(&test->random, 40));
    params.border = i % BORDERS;
    if (i % 2)
      params.anchor_y = cf_random_below(&test->random, params.column_kernel.taps);
    if (i % 8 == 7)
      params.planes = LUMA | CHROMA;
    run_and_compare(test, &params, source);
    cf_picture_free(source);
  }
}

/* State that an engine keeps from earlier pictures, such as that the last one was opaque, must not
 * show. */
static void pictures_that_come_again(CfTest *test)
{
  const int lengths[] = {5, 17, 41, 81, 129};

  for (int i = 0; i < 10; i++) {
    const CfFormat format = i % 2 ? CF_FORMAT_ARGB : CF_FORMAT_RGBA;
    CfSepconvParams params = defaults();
    CfTestPicture *source[2], *once[2], *got;

    params.row_kernel = random_kernel(&test->random, MEAN, lengths[i / 2]);
    params.column_kernel = random_kernel(&test->random, MEAN, lengths[i / 2]);
    params.border = i % BORDERS;
    for (int k = 0; k < 2; k++) {
      source[k] = picture(format, 333, 250, CF_LAYOUT_ALIGNED, CF_PATTERN_NOISE, CF_ALPHA_OPAQUE,
                          test->seed + (uint64_t)i);
      once[k] = cf_picture_new(&source[k]->video, CF_LAYOUT_ALIGNED);
    }
    add_islands(test, source[1]);
    got = cf_picture_new(&source[0]->video, CF_LAYOUT_ALIGNED);
    say(test, &params, source[1]);

    CfRig *rig = cf_rig_open(test, test->engine, &source[0]->video, &params, 2);
    for (int frame = 0; rig && frame < 6; frame++) {
      const int k = (frame + 1) / 2 % 2; /* 0 1 1 0 0 1 */
      const bool first = frame < 2;

      if (cf_rig_run(rig, source[k], first ? once[k] : got) && !first)
        cf_test_compare_exact(test, got, once[k]);
    }
    cf_rig_close(rig);
    for (int k = 0; k < 2; k++) {
      cf_picture_free(source[k]);
      cf_picture_free(once[k]);
    }
    cf_picture_free(got);
  }
}

/* All results, of alpha and of colours, lie next to a tie between two codes. Where an engine is a
 * little off, each may round to another code than the reference's, but not both up or both down:
 * colour times alpha would then be off by more than 1. */
static void alpha_and_colours_near_ties(CfTest *test)
{
  const CfFormat formats[] = {CF_FORMAT_RGBA, CF_FORMAT_ARGB, CF_FORMAT_AYUV};

  for (int i = 0; i < 12; i++) {
    CfSepconvParams params = defaults();
    CfTestPicture *source = picture(formats[i % 3], 200, 80, CF_LAYOUT_ALIGNED, CF_PATTERN_NOISE,
                                    CF_ALPHA_RANDOM, test->seed);
    const int lowest = 150 + 8 * i;

    for (int y = 0; y < 80; y++) {
      for (int x = 0; x < 200; x++) {
        for (int c = 0; c < 4; c++)
          cf_picture_set(source, 0, x, y, c, lowest + cf_random_below(&test->random, 2));
      }
    }
    params.preset = CF_SEPCONV_BINOMIAL + i % 2;
    params.preset_size = 5 + 4 * (i / 2);
    run_and_compare(test, &params, source);
    cf_picture_free(source);
  }
}

static const CfTestCase cases[] = {
    {"opaque-is-as-without-alpha", opaque_is_as_without_alpha, CF_EACH_ENGINE},
    {"transparent-is-empty", transparent_is_empty, CF_EACH_ENGINE},
    {"islands-of-alpha", islands_of_alpha, CF_EACH_OTHER_ENGINE},
    {"pictures-that-come-again", pictures_that_come_again, CF_EACH_ENGINE},
    {"alpha-and-colours-near-ties", alpha_and_colours_near_ties, CF_EACH_OTHER_ENGINE},
    {0},
};

int main(int argc, char **argv)
{
  const CfTestSuite suite = {&cf_sepconv, cases};

  return cf_test_main(&suite, argc, argv);
}
