/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Frames whose planes and rows start at odd bytes, stored top down or bottom up: the same samples
 * as elsewhere, and no access that the sanitizer for undefined behaviour, or another processor,
 * would object to.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "blockavg.h"
#include "filter.h"
#include "gaussblur.h"
#include "harness.h"
#include "llf.h"
#include "patterns.h"
#include "sepconv.h"

#define WIDTH  150
#define HEIGHT 61

/* Params for each path through the engines; with `regions` only these are filtered. */
static const struct {
  const char *effect, *settings;
  bool regions;
} cases[] = {
    {"llf", "alpha=0.4", false},
    {"llf", "engine=sampled alpha=0.4", false},
    {"llf", "engine=exact alpha=0.4 levels=2", false},
    {"gaussblur", "sigma=2", false},
    {"gaussblur", "sigma=20", false},
    {"gaussblur", "sigma=20", true},
    {"gaussblur", "sigma=9 map-mode=radial", false},
    {"gaussblur", "sigma=9 map-mode=luma", false},
    {"blockavg", "mode=average block-width=7", false},
    {"blockavg", "mode=min block-height=61", false},
    {"blockavg", "mode=max", false},
    {"blockavg", "mode=average", true},
    {"blockavg", "mode=min anchor=region", true},
    {"sepconv", "preset=box preset-size=9", false},
    {"sepconv", "preset=sharpen scale=1e5 border=constant", false},
    {"sepconv", "planes=luma bias=0.1", false},
};

static const CfRegion region_list[] = {{-5, 3, 60, 40}, {70, 10, 71, 45}};
static const CfRegions some_regions = {
    .region = region_list, .count = 2, .shape = CF_REGION_ELLIPSE, .feather = 4.0};

/* A copy of a picture at odd addresses, with an odd number of bytes between rows; with `bottom_up`
 * its last row comes first. */
typedef struct {
  CfPicture planes;
  uint8_t *allocation[CF_MAX_PLANES];
} OddPicture;

static void copy_rows(const CfVideo *video, const CfPicture *to, const CfPicture *from)
{
  for (int p = 0; p < cf_format_info(video->format)->planes; p++) {
    for (int y = 0; y < cf_plane_height(video, p); y++)
      memcpy(to->data[p] + y * to->stride[p], from->data[p] + y * from->stride[p],
             cf_row_bytes(video, p));
  }
}

static OddPicture odd_copy(const CfTestPicture *from, bool bottom_up)
{
  OddPicture odd = {0};

  for (int p = 0; p < cf_format_info(from->video.format)->planes; p++) {
    const size_t stride = cf_row_bytes(&from->video, p) + 3;

    const int height = cf_plane_height(&from->video, p);

    odd.allocation[p] = calloc((size_t)height + 1, stride);
    odd.planes.data[p] = odd.allocation[p] + 1 + (bottom_up ? (size_t)(height - 1) * stride : 0);
    odd.planes.stride[p] = bottom_up ? -(ptrdiff_t)stride : (ptrdiff_t)stride;
  }
  copy_rows(&from->video, &odd.planes, &from->planes);
  return odd;
}

static void free_odd(OddPicture *odd)
{
  for (int p = 0; p < CF_MAX_PLANES; p++)
    free(odd->allocation[p]);
}

static bool set_params(CfTest *test, const CfEffect *effect, const char *settings, void *params)
{
  char words[128], *rest = words;
  CfStatus status = {CF_OK, ""};
  bool good = true;

  cf_params_init(effect->params, params);
  snprintf(words, sizeof words, "%s", settings);
  for (char *word; good && (word = strtok_r(rest, " ", &rest));) {
    char *value = strchr(word, '=');

    *value++ = '\0';
    good = cf_params_parse(effect->params, params, word, value, &status);
    CF_EXPECT(test, good, "%s", status.message);
  }
  return good;
}

/* Runs the engine on `source` into `destination`, and in place where it can. */
static bool filter_odd(CfTest *test, const CfEngine *engine, const CfVideo *video,
                       const void *params, const CfRegions *regions, const CfPicture *source,
                       const CfPicture *destination)
{
  const CfOpenOptions options = {.threads = 2};
  const CfJob job = {.source = *source, .destination = *destination, .regions = regions};
  CfStatus status = {CF_OK, ""};
  CfFilter *filter = cf_filter_open(engine, video, params, &options, &status);
  const bool good = filter && cf_filter_run(filter, &job, &status);

  CF_EXPECT(test, good, "%s", status.message);
  cf_filter_close(filter);
  return good;
}

static void check_case(CfTest *test, const CfEffect *effect, const CfEngine *engine, int number,
                       bool bottom_up)
{
  const CfVideo video = cf_video(test->handed, WIDTH, HEIGHT);
  const CfRegions *regions = cases[number].regions ? &some_regions : NULL;
  CfTestPicture *source = cf_picture_new(&video, CF_LAYOUT_ALIGNED);
  CfTestPicture *want = cf_picture_new(&video, CF_LAYOUT_ALIGNED);
  CfTestPicture *got = cf_picture_new(&video, CF_LAYOUT_ALIGNED);
  void *params = calloc(1, effect->params_size);

  cf_picture_fill(source, CF_PATTERN_PHOTO, CF_ALPHA_OPAQUE, test->seed);
  cf_picture_fill(want, CF_PATTERN_NOISE, CF_ALPHA_OPAQUE, test->seed);
  OddPicture from = odd_copy(source, bottom_up), to = odd_copy(want, bottom_up);
  cf_test_context(test, "%s %s, %s", effect->name, cases[number].settings, engine->name);
  if (set_params(test, effect, cases[number].settings, params) &&
      filter_odd(test, engine, &video, params, regions, &source->planes, &want->planes) &&
      filter_odd(test, engine, &video, params, regions, &from.planes, &to.planes)) {
    copy_rows(&video, &got->planes, &to.planes);
    cf_test_compare_exact(test, got, want);
  }
  if (engine->in_place &&
      filter_odd(test, engine, &video, params, regions, &from.planes, &from.planes)) {
    copy_rows(&video, &got->planes, &from.planes);
    cf_test_compare_exact(test, got, want);
  }
  free(params);
  free_odd(&from);
  free_odd(&to);
  cf_picture_free(source);
  cf_picture_free(want);
  cf_picture_free(got);
}

static void check_all(CfTest *test, bool bottom_up)
{
  /* The slow engine addresses all formats alike. */
  const bool skip_reference = bottom_up && test->format != CF_FORMAT_NV12;

  for (int i = 0; i < (int)(sizeof cases / sizeof cases[0]); i++) {
    const CfEffect *effect = cf_effect(cases[i].effect);

    for (const CfEngine *const *engine = effect->engines; *engine; engine++) {
      if (!(*engine)->device_memory &&
          !(skip_reference && strcmp((*engine)->name, "reference") == 0))
        check_case(test, effect, *engine, i, bottom_up);
    }
  }
}

static void odd_bytes_are_bytes(CfTest *test)
{
  if (cf_format_info(test->format)->bits > 8)
    check_all(test, false);
}

static void pictures_may_be_bottom_up(CfTest *test)
{
  check_all(test, true);
}

static const CfTestCase test_cases[] = {
    {"odd-bytes-are-bytes", odd_bytes_are_bytes, CF_EACH_FORMAT},
    {"pictures-may-be-bottom-up", pictures_may_be_bottom_up, CF_EACH_FORMAT},
    {0},
};

int main(int argc, char **argv)
{
  const CfTestSuite suite = {NULL, test_cases};

  return cf_test_main(&suite, argc, argv);
}
