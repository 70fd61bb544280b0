/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Every allocation in the life of a CPU engine fails once: whatever made it says so, the engine
 * goes on with the settings that it had, and works when tried again; nothing is left over. The
 * linker replaces malloc, calloc, aligned_alloc and free by __wrap_malloc and so on.
 */
#include <stdlib.h>

#include "blockavg.h"
#include "filter.h"
#include "gaussblur.h"
#include "harness.h"
#include "llf.h"
#include "sepconv.h"
#include "settings.h"
#include "tonemap.h"

/* Allocations in this life, which of them fails (0: none), and blocks that are not freed. */
static int allocations, failing, blocks;

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_aligned_alloc(size_t alignment, size_t bytes);
void __real_free(void *block);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_aligned_alloc(size_t alignment, size_t bytes);
void __wrap_free(void *block);

static bool fails(void)
{
  return ++allocations == failing;
}

static void *counted(void *block)
{
  blocks += block != NULL;
  return block;
}

void *__wrap_malloc(size_t bytes)
{
  return fails() ? NULL : counted(__real_malloc(bytes));
}

void *__wrap_calloc(size_t count, size_t bytes)
{
  return fails() ? NULL : counted(__real_calloc(count, bytes));
}

void *__wrap_aligned_alloc(size_t alignment, size_t bytes)
{
  return fails() ? NULL : counted(__real_aligned_alloc(alignment, bytes));
}

void __wrap_free(void *block)
{
  blocks -= block != NULL;
  __real_free(block);
}

static const CfRegion some_regions[] = {{2, 1, 10, 8}, {8, 6, 17, 11}};
static const CfRegions ellipses = {
    .region = some_regions, .count = 2, .shape = CF_REGION_ELLIPSE, .feather = 4.0};

typedef struct {
  const char *settings, *other; /* settings that it changes to */
  const CfRegions *regions;
} Work;

static const Work llf[] = {{"harmonics=8", "harmonics=4", NULL},
                           {"color-mode=separate levels=2", "harmonics=16", NULL},
                           {"engine=sampled", "alpha=2", NULL},
                           {"engine=exact levels=2", "alpha=2 color-mode=separate", NULL},
                           {"engine=exact levels=2 color-mode=rgb", "alpha=2", NULL},
                           {NULL, NULL, NULL}};
static const Work gaussblur[] = {{"sigma=2", "sigma=9", NULL},
                                 {"sigma=12 border=constant", "sigma=3", NULL},
                                 {"sigma=9", "sigma=30 border=wrap", NULL},
                                 {"sigma=4 map-mode=radial", "sigma=24", NULL},
                                 {"sigma=9 map-mode=radial map-isolate=true", "sigma=24", NULL},
                                 {"sigma=5", "sigma=20", &ellipses},
                                 {"sigma=0", "sigma=20", &ellipses},
                                 {NULL, NULL, NULL}};
static const Work blockavg[] = {{"block-width=16 block-height=16", "block-width=37", NULL},
                                {"block-width=2 block-height=2", "mode=max", NULL},
                                {"mode=fill", "mode=average", &ellipses},
                                {"anchor=region blocks-across=6", "blocks-across=9", &ellipses},
                                {NULL, NULL, NULL}};
static const Work sepconv[] = {
    {"preset=gaussian preset-size=9", "preset-size=41", NULL},
    {"preset=binomial preset-size=17", "preset=box preset-size=99", NULL},
    {"preset=sharpen", "preset=sobel-x", NULL},
    {"preset=unsharp", "preset-size=99 amount=9", NULL},
    {NULL, NULL, NULL}};
static const Work tonemap[] = {{"detail=0.5", "detail=2 dynamic=true", NULL},
                               {"dynamic=true", "dynamic=false", NULL},
                               {NULL, NULL, NULL}};

static const CfFormat formats[] = {CF_FORMAT_NV12, CF_FORMAT_RGBA, CF_FORMAT_P010_10LE,
                                   CF_FORMAT_UYVY};

typedef struct {
  CfTest *test;
  const CfEngine *engine;
  const char *settings;
  const CfRegions *regions;
  CfVideo video;
  void *params, *other;
  CfTestPicture *source, *result;
  CfTestPicture *first, *second; /* what becomes of it with params, and with other */
  bool known;                    /* first and second are */
  int failures;                  /* that were told in this life */
} Case;

/* Takes note of a failure; returns whether there was none. */
static bool went_well(Case *c, bool good, CfStatus *status, const char *doing)
{
  if (good)
    return true;
  c->failures++;
  CF_EXPECT(c->test, status->code == CF_ERROR_NO_MEMORY, "%s: \"%s\"", doing, status->message);
  *status = (CfStatus){CF_OK, ""};
  return false;
}

/* Runs a job, once more if it fails, which makes of the source what is in `want`. */
static void run(Case *c, CfFilter *filter, CfTestPicture *want)
{
  const CfJob job = {.source = c->source->planes,
                     .destination = c->known ? c->result->planes : want->planes,
                     .regions = c->regions,
                     .fresh = true};
  CfStatus status = {CF_OK, ""};

  cf_picture_poison(c->result);
  if (!went_well(c, cf_filter_run(filter, &job, &status), &status, "run"))
    went_well(c, cf_filter_run(filter, &job, &status), &status, "run again");
  if (c->known)
    cf_test_compare_exact(c->test, c->result, want);
}

/* From open to close. */
static void live(Case *c)
{
  const CfOpenOptions options = {.threads = 1, .destination = &c->result->video};
  const int before = blocks;
  CfStatus status = {CF_OK, ""};
  CfFilter *filter;

  allocations = c->failures = 0;
  filter = cf_filter_open(c->engine, &c->video, c->params, &options, &status);
  if (!went_well(c, filter, &status, "open"))
    filter = cf_filter_open(c->engine, &c->video, c->params, &options, &status);
  if (!CF_EXPECT(c->test, filter, "%s", status.message))
    return;
  run(c, filter, c->first);
  if (!went_well(c, cf_filter_update(filter, c->other, &status), &status, "update")) {
    run(c, filter, c->first);
    went_well(c, cf_filter_update(filter, c->other, &status), &status, "update again");
  }
  run(c, filter, c->second);
  cf_filter_close(filter);
  CF_EXPECT(c->test, c->failures == (failing > 0 && failing <= allocations),
            "failures are told %d times", c->failures);
  CF_EXPECT(c->test, blocks == before, "%d blocks are left over", blocks - before);
}

static void live_with_each_failure(Case *c)
{
  int count;

  c->known = false;
  failing = 0;
  live(c);
  c->known = true;
  live(c);
  count = allocations;
  for (int i = 1; i <= count; i++) {
    cf_test_context(c->test, "%s, %s, allocation %d of %d", c->settings,
                    cf_format_info(c->video.format)->name, i, count);
    failing = i;
    live(c);
  }
  failing = 0;
}

static void test_work(CfTest *test, const CfEffect *effect, const Work *work, CfFormat format)
{
  const CfVideo destination = cf_video(format, 26, 18);
  Case c = {.test = test,
            .engine = cf_effect_engine(effect, "cpu"),
            .settings = work->settings,
            .regions = work->regions,
            .video = destination};

  c.params = cf_settings_parse(effect, work->settings, "");
  c.other = cf_settings_parse(effect, work->settings, work->other);
  if (effect->check_destination)
    c.video.transfer = CF_TRANSFER_PQ;
  c.source = cf_picture_new(&c.video, CF_LAYOUT_ALIGNED);
  cf_picture_fill(c.source, CF_PATTERN_NOISE, CF_ALPHA_RANDOM, 1);
  c.result = cf_picture_new(&destination, CF_LAYOUT_ALIGNED);
  c.first = cf_picture_new(&destination, CF_LAYOUT_ALIGNED);
  c.second = cf_picture_new(&destination, CF_LAYOUT_ALIGNED);
  if (cf_effect_check(effect, &c.video, c.params, NULL) &&
      cf_effect_check(effect, &c.video, c.other, NULL))
    live_with_each_failure(&c);
  cf_picture_free(c.source);
  cf_picture_free(c.result);
  cf_picture_free(c.first);
  cf_picture_free(c.second);
  free(c.params);
  free(c.other);
}

static void test_effect(CfTest *test, const CfEffect *effect, const Work *works)
{
  for (const Work *work = works; work->settings; work++)
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++)
      test_work(test, effect, work, formats[i]);
}

static void llf_without_memory(CfTest *test)
{
  test_effect(test, &cf_llf, llf);
}

static void gaussblur_without_memory(CfTest *test)
{
  test_effect(test, &cf_gaussblur, gaussblur);
}

static void blockavg_without_memory(CfTest *test)
{
  test_effect(test, &cf_blockavg, blockavg);
}

static void sepconv_without_memory(CfTest *test)
{
  test_effect(test, &cf_sepconv, sepconv);
}

static void tonemap_without_memory(CfTest *test)
{
  test_effect(test, &cf_tonemap, tonemap);
}

static const CfTestCase cases[] = {
    {"llf", llf_without_memory, CF_ONCE},
    {"gaussblur", gaussblur_without_memory, CF_ONCE},
    {"blockavg", blockavg_without_memory, CF_ONCE},
    {"sepconv", sepconv_without_memory, CF_ONCE},
    {"tonemap", tonemap_without_memory, CF_ONCE},
    {0},
};

int main(int argc, char **argv)
{
  const CfTestSuite suite = {NULL, cases};

  return cf_test_main(&suite, argc, argv);
}
