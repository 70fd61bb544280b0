/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Samples of 10-bit formats whose unused upper bits are not 0, as broken decoders and uninitialised
 * memory have them: codes beyond the largest. The result for such a frame is undefined, but no
 * engine accesses memory outside its pictures, and the next frame is filtered correctly.
 */
#include <stdlib.h>
#include <string.h>

#include "harness.h"

#define WIDTH  150
#define HEIGHT 61

/* Params for each path through the engines. */
static const struct {
  const char *effect, *settings[3][2];
} cases[] = {
    {"llf", {{"alpha", "0.4"}}},
    {"llf", {{"alpha", "0.4"}, {"beta", "0.5"}, {"harmonics", "12"}}},
    {"llf", {{"alpha", "0.4"}, {"engine", "sampled"}}},
    {"llf", {{"alpha", "0.4"}, {"engine", "exact"}, {"levels", "2"}}},
    {"gaussblur", {{"sigma", "2"}}},
    {"gaussblur", {{"sigma", "20"}}},
    {"gaussblur", {{"sigma", "9"}, {"map-mode", "luma"}}},
    {"blockavg", {{"block-width", "7"}}},
    {"blockavg", {{"mode", "min"}}},
    {"sepconv", {{"preset", "gaussian"}, {"preset-size", "9"}}},
};

static void *params_of(CfTest *test, const CfEffect *effect, int number)
{
  void *params = calloc(1, effect->params_size);
  CfStatus status = {CF_OK, ""};

  cf_params_init(effect->params, params);
  for (int i = 0; i < 3 && cases[number].settings[i][0]; i++)
    CF_EXPECT(test,
              cf_params_parse(effect->params, params, cases[number].settings[i][0],
                              cases[number].settings[i][1], &status),
              "%s", status.message);
  return params;
}

static void fill_all_bits(CfTest *test, CfTestPicture *picture)
{
  for (int p = 0; p < cf_format_info(picture->video.format)->planes; p++) {
    for (int y = 0; y < cf_plane_height(&picture->video, p); y++) {
      uint8_t *row = picture->planes.data[p] + y * picture->planes.stride[p];

      for (size_t i = 0; i < cf_row_bytes(&picture->video, p); i++)
        row[i] = (uint8_t)(y % 3 ? cf_random_below(&test->random, 256) : 255);
    }
  }
}

static void check_case(CfTest *test, const CfEffect *effect, const CfEngine *engine, int number)
{
  const CfVideo video = cf_video(test->format, WIDTH, HEIGHT);
  CfTestPicture *excess = cf_picture_new(&video, CF_LAYOUT_ALIGNED);
  CfTestPicture *plain = cf_picture_new(&video, CF_LAYOUT_ALIGNED);
  CfTestPicture *want = cf_picture_new(&video, CF_LAYOUT_ALIGNED);
  CfTestPicture *got = cf_picture_new(&video, CF_LAYOUT_ALIGNED);
  void *params = params_of(test, effect, number);

  fill_all_bits(test, excess);
  cf_picture_fill(plain, CF_PATTERN_PHOTO, CF_ALPHA_OPAQUE, test->seed);
  cf_test_context(test, "%s, case %d, %s", effect->name, number, engine->name);
  test->effect = effect;
  CfRig *rig = cf_rig_open(test, engine, &video, params, 2);
  if (rig && cf_rig_run(rig, plain, want) && cf_rig_run(rig, excess, got) &&
      cf_rig_run(rig, plain, got))
    cf_test_compare_exact(test, got, want);
  cf_rig_close(rig);
  free(params);
  cf_picture_free(excess);
  cf_picture_free(plain);
  cf_picture_free(want);
  cf_picture_free(got);
}

static bool can_have_excess_bits(const CfFormatInfo *format)
{
  return format->bits > 8 && format->bits + format->shift < 16;
}

static void check_engine(CfTest *test, const char *name)
{
  CfStatus status = {CF_OK, ""};

  if (!can_have_excess_bits(cf_format_info(test->format))) {
    cf_test_skip(test, "all bits of the format's samples count");
    return;
  }
  if (strcmp(name, "cuda") == 0 && !cf_device_memory(&status)) {
    cf_test_skip(test, "%s", status.message);
    return;
  }
  for (int i = 0; i < (int)(sizeof cases / sizeof cases[0]); i++) {
    const CfEffect *effect = cf_effect(cases[i].effect);
    const CfEngine *engine = cf_effect_engine(effect, name);

    if (engine)
      check_case(test, effect, engine, i);
  }
}

static void on_the_reference(CfTest *test)
{
  check_engine(test, "reference");
}

static void on_the_cpu(CfTest *test)
{
  check_engine(test, "cpu");
}

static void on_cuda(CfTest *test)
{
  check_engine(test, "cuda");
}

static const CfTestCase test_cases[] = {
    {"reference", on_the_reference, CF_EACH_FORMAT},
    {"cpu", on_the_cpu, CF_EACH_FORMAT},
    {"cuda", on_cuda, CF_EACH_FORMAT},
    {0},
};

int main(int argc, char **argv)
{
  const CfTestSuite suite = {NULL, test_cases};

  return cf_test_main(&suite, argc, argv);
}
