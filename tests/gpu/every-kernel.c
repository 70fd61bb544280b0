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

#define N(array) (sizeof(array) / sizeof(array)[0])

typedef struct {
  const char *name;   /* of the test case */
  const char *effect; /* as cf_effect takes it */
  const char *settings;
  const CfRegions *regions;
} Work;

static const CfRegion some_regions[] = {{10, 6, 50, 40}, {40, 30, 90, 90}, {-5, 50, 12, 9}};
static const CfRegions ellipses = {
    .region = some_regions, .count = N(some_regions), .shape = CF_REGION_ELLIPSE, .feather = 4.0};
static const CfRegions rectangles = {
    .region = some_regions, .count = N(some_regions), .shape = CF_REGION_RECTANGLE};
static const CfRegion many_regions[] = {[0 ... 299] = {10, 6, 50, 40}};
static const CfRegions crowd = {
    .region = many_regions, .count = N(many_regions), .shape = CF_REGION_ELLIPSE};

static const Work works[] = {
    {"llf-sine-2", "llf", "harmonics=2", NULL},
    {"llf-sine-8", "llf", "harmonics=8", NULL},
    {"llf-sine-16", "llf", "harmonics=16 beta=0.5", NULL},
    {"llf-sine-separate", "llf", "harmonics=8 color-mode=separate", NULL},
    {"llf-sine-2-levels", "llf", "harmonics=8 levels=2", NULL},
    {"llf-sampled", "llf", "engine=sampled", NULL},
    {"llf-sampled-separate", "llf", "engine=sampled color-mode=separate intensity-levels=7", NULL},
    {"llf-exact", "llf", "engine=exact levels=3", NULL},
    {"llf-exact-rgb", "llf", "engine=exact levels=2 color-mode=rgb", NULL},
    {"gaussblur-0.4", "gaussblur", "sigma=0.4", NULL},
    {"gaussblur-2", "gaussblur", "sigma=2", NULL},
    {"gaussblur-one-axis", "gaussblur", "sigma=3 sigma-vertical=0", NULL},
    {"gaussblur-7-reflect", "gaussblur", "sigma=7 border=reflect", NULL},
    {"gaussblur-9", "gaussblur", "sigma=9", NULL},
    {"gaussblur-12-constant", "gaussblur", "sigma=12 border=constant", NULL},
    {"gaussblur-20", "gaussblur", "sigma=20", NULL},
    {"gaussblur-40-reflect-101", "gaussblur", "sigma=40 border=reflect-101", NULL},
    {"gaussblur-90-wrap", "gaussblur", "sigma=90 sigma-vertical=30 border=wrap", NULL},
    {"gaussblur-sharpen", "gaussblur", "sigma=-2", NULL},
    {"gaussblur-radial", "gaussblur", "sigma=4 map-mode=radial", NULL},
    {"gaussblur-linear", "gaussblur", "sigma=24 map-mode=linear map-angle=30", NULL},
    {"gaussblur-luma", "gaussblur", "sigma=12 map-mode=luma", NULL},
    {"gaussblur-alpha", "gaussblur", "sigma=5 map-mode=alpha", NULL},
    {"gaussblur-isolate", "gaussblur", "sigma=9 map-mode=radial map-isolate=true", NULL},
    {"gaussblur-regions", "gaussblur", "sigma=5", &ellipses},
    {"gaussblur-regions-30", "gaussblur", "sigma=30", &ellipses},
    {"blockavg-2x2", "blockavg", "block-width=2 block-height=2", NULL},
    {"blockavg-16x16", "blockavg", "block-width=16 block-height=16", NULL},
    {"blockavg-64x32", "blockavg", "block-width=64 block-height=32", NULL},
    {"blockavg-37x19", "blockavg", "block-width=37 block-height=19", NULL},
    {"blockavg-min", "blockavg", "block-width=8 block-height=8 mode=min", NULL},
    {"blockavg-max", "blockavg", "block-width=70 block-height=5 mode=max", NULL},
    {"blockavg-frame", "blockavg", "block-width=1024 block-height=1024", NULL},
    {"blockavg-fill", "blockavg", "mode=fill fill-color=1628401664", NULL},
    {"blockavg-fill-regions", "blockavg", "mode=fill", &ellipses},
    {"blockavg-regions", "blockavg", "block-width=8 block-height=8", &ellipses},
    {"blockavg-crowd", "blockavg", "block-width=8 block-height=8", &crowd},
    {"blockavg-rectangles", "blockavg", "block-width=8 block-height=8", &rectangles},
    {"blockavg-rectangles-grids", "blockavg", "blocks-across=6 anchor=region", &rectangles},
    {"blockavg-regions-grids", "blockavg", "blocks-across=6 anchor=region", &ellipses},
    {"sepconv-3", "sepconv", "preset=sharpen", NULL},
    {"sepconv-9", "sepconv", "preset=gaussian preset-size=9", NULL},
    {"sepconv-17-constant", "sepconv",
     "preset=binomial preset-size=17 border=constant border-color=0x80ff4020", NULL},
    {"sepconv-33-reflect-101", "sepconv", "preset=binomial preset-size=33 border=reflect-101",
     NULL},
    {"sepconv-41", "sepconv", "preset=gaussian preset-size=41", NULL},
    {"sepconv-129", "sepconv", "preset=gaussian preset-size=129", NULL},
    {"sepconv-255", "sepconv", "preset=box preset-size=255 border=reflect", NULL},
    {"sepconv-signed", "sepconv",
     "row-kernel=<1,-2,3> column-kernel=<1,2,3,4,-3,2> anchor-y=0 bias=0.25 scale=0.2", NULL},
    {"sepconv-large-gain", "sepconv", "row-kernel=<900,-899> normalize=false absolute=true", NULL},
    {"sepconv-unsharp", "sepconv", "preset=unsharp preset-size=9 amount=1.5", NULL},
    {"sepconv-unsharp-255", "sepconv", "preset=unsharp preset-size=255", NULL},
    {"sepconv-planes", "sepconv", "preset=box preset-size=5 planes=chroma+alpha", NULL},
    {"tonemap", "tonemap", "", NULL},
    {"tonemap-detail", "tonemap", "detail=1.5 dither=false", NULL},
    {"tonemap-dynamic", "tonemap", "detail=0.5 dynamic=true", NULL},
};

static const struct {
  int width, height;
  CfLayout layout;
} pictures[] = {{160, 96, CF_LAYOUT_ALIGNED}, {97, 61, CF_LAYOUT_TIGHT}};

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

/* Two pictures, so that the second finds what the first has left behind. `destination` is NULL
 * where pictures stay what they are. */
static void run_twice(CfTest *test, const CfEngine *engine, const CfVideo *video,
                      const CfVideo *destination, CfLayout layout, const void *params,
                      const CfRegions *regions)
{
  CfTestPicture *source = cf_picture_new(video, layout);
  CfTestPicture *result = cf_picture_new(destination ? destination : video, layout);
  CfRig *rig = cf_rig_open_to(test, engine, video, destination, params, 1);

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

/* Picture `i`, in the test's format; HDR for what makes other pictures than it takes. */
static CfVideo video_of(const CfTest *test, size_t i)
{
  CfVideo video = cf_video(test->format, pictures[i].width, pictures[i].height);

  if (test->effect->check_destination)
    video.transfer = i % 2 ? CF_TRANSFER_HLG : CF_TRANSFER_PQ;
  return video;
}

static void run_to_each(CfTest *test, const Work *work, const CfVideo *video, CfLayout layout,
                        const void *params)
{
  const CfEngine *engine = cf_effect_engine(test->effect, "cuda");

  if (!test->effect->check_destination) {
    run_twice(test, engine, video, NULL, layout, params, work->regions);
    return;
  }
  for (int format = 0; format < CF_FORMAT_COUNT; format++) {
    const CfVideo destination = cf_video((CfFormat)format, video->width, video->height);

    if (test->effect->check_destination(video, &destination, NULL))
      run_twice(test, engine, video, &destination, layout, params, work->regions);
  }
}

static void run_work(CfTest *test)
{
  const Work *work = work_of(test);
  CfStatus status = {CF_OK, ""};
  void *params;

  if (!cf_device_memory(&status)) {
    cf_test_skip(test, "%s", status.message);
    return;
  }
  test->effect = cf_effect(work->effect);
  params = malloc(test->effect->params_size);
  for (size_t i = 0; set_params(test, work, params) && i < N(pictures); i++) {
    const CfVideo video = video_of(test, i);

    if (fits(test, &video, params))
      run_to_each(test, work, &video, pictures[i].layout, params);
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
