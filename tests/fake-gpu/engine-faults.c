/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Every call that the host code of the CUDA engines makes of the runtime fails once: whatever made
 * it says so, what comes after it works, nothing is left over, and no error is left behind for the
 * next launch to find. Only the first frame sets carveouts, for which other threads have to wait.
 * On runtime.c; prints TAP.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device.h"
#include "fake-cuda.h"
#include "filter.h"
#include "picture.h"
#include "runtime.h"
#include "settings.h"

#define N(array) (int)(sizeof(array) / sizeof(array)[0])

CUresult CUDAAPI cuCtxCreate_v2(CUcontext *context, unsigned flags, CUdevice device);

static const CfRegion some_regions[] = {{10, 6, 50, 40}, {40, 30, 90, 90}};
static const CfRegions ellipses = {
    .region = some_regions, .count = N(some_regions), .shape = CF_REGION_ELLIPSE, .feather = 4.0};
static const CfRegions rectangles = {
    .region = some_regions, .count = N(some_regions), .shape = CF_REGION_RECTANGLE};

static const struct {
  const char *effect, *settings, *other; /* settings that it changes to */
  const CfRegions *regions;
} works[] = {
    {"llf", "harmonics=8", "harmonics=4", NULL},
    {"llf", "harmonics=8 color-mode=separate levels=2", "harmonics=16", NULL},
    {"llf", "engine=sampled", "alpha=2", NULL},
    {"llf", "engine=exact levels=3", "alpha=2", NULL},
    {"llf", "engine=exact levels=2 color-mode=rgb", "alpha=2", NULL},
    {"gaussblur", "sigma=2", "sigma=9", NULL},
    {"gaussblur", "sigma=12 border=constant", "sigma=3", NULL},
    {"gaussblur", "sigma=30", "sigma=90 border=wrap", NULL},
    {"gaussblur", "sigma=4 map-mode=radial", "sigma=24", NULL},
    {"gaussblur", "sigma=24 map-mode=luma", "sigma=4", NULL},
    {"gaussblur", "sigma=9 map-mode=radial map-isolate=true", "sigma=24", NULL},
    {"gaussblur", "sigma=5", "sigma=30", &ellipses},
    {"blockavg", "block-width=16 block-height=16", "block-width=37 block-height=19", NULL},
    {"blockavg", "block-width=2 block-height=2", "mode=max", NULL},
    {"blockavg", "mode=fill", "mode=max", NULL},
    {"blockavg", "mode=fill", "mode=average", &ellipses},
    {"blockavg", "block-width=8 block-height=8", "blocks-across=6 anchor=region", &ellipses},
    {"blockavg", "block-width=8 block-height=8", "blocks-across=6 anchor=region", &rectangles},
    {"sepconv", "preset=gaussian preset-size=9", "preset-size=41", NULL},
    {"sepconv", "preset=binomial preset-size=17", "preset=box preset-size=255", NULL},
    {"sepconv", "preset=sharpen", "preset=sobel-x", NULL},
    {"sepconv", "preset=unsharp", "preset-size=255 amount=9", NULL},
    {"tonemap", "detail=0.5", "detail=2 dynamic=true", NULL},
    {"tonemap", "dynamic=true", "dynamic=false", NULL},
};
static const CfFormat formats[] = {CF_FORMAT_NV12, CF_FORMAT_RGBA, CF_FORMAT_P010_10LE,
                                   CF_FORMAT_UYVY};
static const int codes[] = {90, 80};

typedef struct {
  const CfEffect *effect;
  const CfEngine *engine;
  CfVideo video, destination;
  CfJob job;
  void *params, *other;
} Case;

/* The first operation that failed, and what it said; the carveouts that the second frame set. */
typedef struct {
  const char *operation;
  CfStatus status;
  int carveouts;
} Outcome;

static bool note(Outcome *outcome, bool good, const char *operation, CfStatus *status)
{
  if (!good && !outcome->operation)
    *outcome = (Outcome){operation, *status, 0};
  *status = (CfStatus){CF_OK, ""};
  return good;
}

/* What failed once is tried once more. */
#define TRY(call, operation)                                                                       \
  (note(outcome, call, operation, &status) || note(outcome, call, operation, &status))

/* Whether all goes well in the end. */
static bool live(const Case *c, Outcome *outcome)
{
  CfStatus status = {CF_OK, ""};
  CfOpenOptions options = {.destination = &c->destination};
  CfFilter *filter = NULL;
  int carveouts = 0;
  bool good;

  *outcome = (Outcome){NULL, status, 0};
  good = TRY((options.device = cf_device_open(&status)) != NULL, "opening the device") &&
         TRY((filter = cf_filter_open(c->engine, &c->video, c->params, &options, &status)) != NULL,
             "open") &&
         TRY(cf_filter_run(filter, &c->job, &status), "run");
  carveouts = fake_runtime_carveouts();
  good = good && TRY(cf_filter_run(filter, &c->job, &status), "run again");
  outcome->carveouts = fake_runtime_carveouts() - carveouts;
  good = good && TRY(cf_filter_update(filter, c->other, &status), "update") &&
         TRY(cf_filter_run(filter, &c->job, &status), "run after update");
  cf_filter_close(filter);
  cf_device_close(options.device);
  return good;
}

/* Answers that an engine does without: it takes the way that fits every GPU. */
static bool is_harmless(const char *call)
{
  return strcmp(call, "cudaFuncAttributeNonPortableClusterSizeAllowed") == 0 ||
         strcmp(call, "cudaOccupancyMaxActiveClusters") == 0 ||
         strcmp(call, "cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags") == 0;
}

static int check_case(const Case *c, const char *name)
{
  Outcome outcome;
  int count, failures = 0;

  fake_runtime_fail(0);
  if (!live(c, &outcome)) {
    printf("# %s: %s: %s\n", name, outcome.operation, outcome.status.message);
    return 1;
  }
  if (outcome.carveouts != 0) {
    printf("# %s: the second frame sets %d carveouts\n", name, outcome.carveouts);
    return 1;
  }
  count = fake_runtime_calls();
  for (int call = 1; call <= count; call++) {
    const int objects = fake_runtime_objects();
    bool good;

    fake_runtime_fail(call);
    good = live(c, &outcome);
    if (good && fake_runtime_failed() && fake_runtime_objects() == objects &&
        !fake_runtime_has_error() &&
        (outcome.operation ? outcome.status.code == CF_ERROR_NO_MEMORY
                           : is_harmless(fake_runtime_failed())))
      continue;
    failures++;
    printf("# %s: call %d of %d, %s: %s: %s;%s%s %d objects left over\n", name, call, count,
           fake_runtime_failed() ? fake_runtime_failed() : "none",
           outcome.operation ? outcome.operation : "nobody is told", outcome.status.message,
           good ? "" : " does not work afterwards;",
           fake_runtime_has_error() ? " an error stays;" : "", fake_runtime_objects() - objects);
  }
  return failures;
}

static bool fits(const Case *c, const void *params)
{
  CfStatus status = {CF_OK, ""};

  return !c->effect->check || c->effect->check(&c->video, params, &status);
}

static void test_work(int number, int work, CfFormat format, int code)
{
  const CfVideo video = cf_video(format, 160, 96);
  Case c = {.effect = cf_effect(works[work].effect), .video = video, .destination = video};
  CfTestPicture *source = cf_picture_new(&c.video, CF_LAYOUT_ALIGNED);
  CfTestPicture *result = cf_picture_new(&c.destination, CF_LAYOUT_ALIGNED);
  char name[256];

  if (c.effect->check_destination)
    c.video.transfer = CF_TRANSFER_PQ;

  c.engine = cf_effect_engine(c.effect, "cuda");
  c.params = cf_settings_parse(c.effect, works[work].settings, "");
  c.other = cf_settings_parse(c.effect, works[work].settings, works[work].other);
  c.job = (CfJob){
      .source = source->planes, .destination = result->planes, .regions = works[work].regions};
  fake_runtime_set_code(code);
  snprintf(name, sizeof name, "%s %s%s, %s, code %d", works[work].effect, works[work].settings,
           works[work].regions ? " in regions" : "", cf_format_info(format)->name, code);
  if (!fits(&c, c.params) || !fits(&c, c.other))
    printf("ok %d - %s # SKIP not in this format\n", number, name);
  else
    printf("%s %d - %s\n", check_case(&c, name) ? "not ok" : "ok", number, name);
  free(c.params);
  free(c.other);
  cf_picture_free(source);
  cf_picture_free(result);
}

int main(void)
{
  const int count = N(works) * N(formats) * N(codes);
  CUcontext context;

  if (cuCtxCreate_v2(&context, 0, 0) != CUDA_SUCCESS)
    return EXIT_FAILURE;
  printf("1..%d\n", count);
  for (int i = 0; i < count; i++)
    test_work(i + 1, i / N(formats) / N(codes), formats[i / N(codes) % N(formats)],
              codes[i % N(codes)]);
  return EXIT_SUCCESS;
}
