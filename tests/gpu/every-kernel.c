/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Every effect on CUDA with settings that lead through every algorithm, in every format, on small
 * pictures: what compute-sanitizer watches, for which the tests of tests/kernels take too long.
 * Whether pixels are right is theirs to say. Command line and output are those of
 * tests/kernels/harness.h.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"

typedef struct {
  const char *name;   /* of the test case */
  const char *effect; /* as cf_effect takes it */
  const char *settings;
  bool regions;
} Work;

static const Work works[] = {
    {"llf-sine-2", "llf", "harmonics=2", false},
    {"llf-sine-8", "llf", "harmonics=8", false},
    {"llf-sine-16", "llf", "harmonics=16 beta=0.5", false},
    {"llf-sine-separate", "llf", "harmonics=8 color-mode=separate", false},
    {"llf-sine-2-levels", "llf", "harmonics=8 levels=2", false},
    {"llf-sampled", "llf", "engine=sampled", false},
    {"llf-sampled-separate", "llf", "engine=sampled color-mode=separate intensity-levels=7", false},
    {"llf-exact", "llf", "engine=exact levels=3", false},
    {"llf-exact-rgb", "llf", "engine=exact levels=2 color-mode=rgb", false},
    {"gaussblur-0.4", "gaussblur", "sigma=0.4", false},
    {"gaussblur-2", "gaussblur", "sigma=2", false},
    {"gaussblur-one-axis", "gaussblur", "sigma=3 sigma-vertical=0", false},
    {"gaussblur-7-reflect", "gaussblur", "sigma=7 border=reflect", false},
    {"gaussblur-9", "gaussblur", "sigma=9", false},
    {"gaussblur-12-constant", "gaussblur", "sigma=12 border=constant", false},
    {"gaussblur-20", "gaussblur", "sigma=20", false},
    {"gaussblur-40-reflect-101", "gaussblur", "sigma=40 border=reflect-101", false},
    {"gaussblur-90-wrap", "gaussblur", "sigma=90 sigma-vertical=30 border=wrap", false},
    {"gaussblur-sharpen", "gaussblur", "sigma=-2", false},
    {"gaussblur-radial", "gaussblur", "sigma=4 map-mode=radial", false},
    {"gaussblur-linear", "gaussblur", "sigma=24 map-mode=linear map-angle=30", false},
    {"gaussblur-luma", "gaussblur", "sigma=12 map-mode=luma", false},
    {"gaussblur-alpha", "gaussblur", "sigma=5 map-mode=alpha", false},
    {"gaussblur-regions", "gaussblur", "sigma=5", true},
    {"gaussblur-regions-30", "gaussblur", "sigma=30", true},
    {"blockavg-2x2", "blockavg", "block-width=2 block-height=2", false},
    {"blockavg-16x16", "blockavg", "block-width=16 block-height=16", false},
    {"blockavg-64x32", "blockavg", "block-width=64 block-height=32", false},
    {"blockavg-37x19", "blockavg", "block-width=37 block-height=19", false},
    {"blockavg-min", "blockavg", "block-width=8 block-height=8 mode=min", false},
    {"blockavg-max", "blockavg", "block-width=70 block-height=5 mode=max", false},
    {"blockavg-frame", "blockavg", "block-width=1024 block-height=1024", false},
    {"blockavg-regions", "blockavg", "block-width=8 block-height=8", true},
    {"blockavg-regions-grids", "blockavg", "blocks-across=6 anchor=region", true},
    {"sepconv-3", "sepconv", "preset=sharpen", false},
    {"sepconv-9", "sepconv", "preset=gaussian preset-size=9", false},
    {"sepconv-17-constant", "sepconv",
     "preset=binomial preset-size=17 border=constant border-color=0x80ff4020", false},
    {"sepconv-33-reflect-101", "sepconv", "preset=binomial preset-size=33 border=reflect-101",
     false},
    {"sepconv-41", "sepconv", "preset=gaussian preset-size=41", false},
    {"sepconv-129", "sepconv", "preset=gaussian preset-size=129", false},
    {"sepconv-255", "sepconv", "preset=box preset-size=255 border=reflect", false},
    {"sepconv-signed", "sepconv",
     "row-kernel=<1,-2,3> column-kernel=<1,2,3,4,-3,2> anchor-y=0 bias=0.25 scale=0.2", false},
    {"sepconv-large-gain", "sepconv", "row-kernel=<900,-899> normalize=false absolute=true", false},
    {"sepconv-planes", "sepconv", "preset=box preset-size=5 planes=chroma+alpha", false},
};

static const struct {
  int width, height;
  CfLayout layout;
} pictures[] = {{160, 96, CF_LAYOUT_ALIGNED}, {97, 61, CF_LAYOUT_TIGHT}};

static const CfRegion some_regions[] = {{10, 6, 50, 40}, {40, 30, 90, 90}, {-5, 50, 12, 9}};

#define N(array) (sizeof(array) / sizeof(array)[0])

static const Work *work_of(const CfTest *test)
{
  const size_t length = strcspn(test->name, "/");

  for (size_t i = 0; i < N(works); i++) {
    if (strlen(works[i].name) == length && strncmp(works[i].name, test->name, length) == 0)
      return &works[i];
  }
  abort();
}

static bool set_params(CfTest *test, const Work *work, void *params)
{
  const CfParam *table = test->effect->params;
  CfStatus status = {CF_OK, ""};
  char text[256];

  cf_params_init(table, params);
  snprintf(text, sizeof text, "%s", work->settings);
  for (char *word = strtok(text, " "); word; word = strtok(NULL, " ")) {
    char *value = strchr(word, '=');

    *value++ = '\0';
    if (!CF_EXPECT(test, cf_params_parse(table, params, word, value, &status), "%s",
                   status.message))
      return false;
  }
  return true;
}

/* Settings that some formats do not have are refused for them. */
static bool fits(CfTest *test, const CfVideo *video, const void *params)
{
  CfStatus status = {CF_OK, ""};

  if (!test->effect->check || test->effect->check(video, params, &status))
    return true;
  cf_test_skip(test, "%s", status.message);
  return false;
}

/* Two pictures, so that the second finds what the first has left behind. */
static void run_twice(CfTest *test, const CfEngine *engine, const CfVideo *video, CfLayout layout,
                      const void *params, const CfRegions *regions)
{
  CfTestPicture *source = cf_picture_new(video, layout);
  CfTestPicture *result = cf_picture_new(video, layout);
  CfRig *rig = cf_rig_open(test, engine, video, params, 1);

  cf_picture_fill(source, CF_PATTERN_NOISE, CF_ALPHA_RANDOM, test->seed);
  if (rig) {
    cf_test_context(test, "%dx%d, %s", video->width, video->height, cf_rig_algorithm(rig));
    cf_rig_set_regions(rig, regions);
    for (int i = 0; i < 2; i++)
      cf_rig_run(rig, source, result);
  }
  cf_rig_close(rig);
  cf_picture_free(source);
  cf_picture_free(result);
}

static void run_work(CfTest *test)
{
  const Work *work = work_of(test);
  const CfRegions regions = {some_regions, N(some_regions), CF_REGION_ELLIPSE, 4.0, false, false};
  CfStatus status = {CF_OK, ""};
  void *params;

  if (!cf_device_memory(&status)) {
    cf_test_skip(test, "%s", status.message);
    return;
  }
  test->effect = cf_effect(work->effect);
  params = malloc(test->effect->params_size);
  for (size_t i = 0; set_params(test, work, params) && i < N(pictures); i++) {
    const CfVideo video = cf_video(test->format, pictures[i].width, pictures[i].height);

    if (fits(test, &video, params))
      run_twice(test, cf_effect_engine(test->effect, "cuda"), &video, pictures[i].layout, params,
                work->regions ? &regions : NULL);
  }
  free(params);
}

int main(int argc, char **argv)
{
  CfTestCase cases[N(works) + 1] = {{NULL, NULL, 0}};
  const CfTestSuite suite = {NULL, cases};

  for (size_t i = 0; i < N(works); i++)
    cases[i] = (CfTestCase){works[i].name, run_work, CF_EACH_FORMAT};
  return cf_test_main(&suite, argc, argv);
}
