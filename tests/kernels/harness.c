/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "harness.h"

#include "cpu/common/level.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_SEED         20240229
#define MAX_PRINTED_FAILURES 5

const CfSize cf_test_sizes[] = {
    {1, 1},   {2, 1},   {1, 2},   {2, 2},   {3, 3},   {1, 37},   {41, 1}, {5, 4},
    {16, 16}, {17, 15}, {31, 33}, {64, 48}, {65, 63}, {130, 67}, {0, 0},
};

/* ---- A running case ---- */

void cf_test_context(CfTest *test, const char *format, ...)
{
  va_list arguments;

  va_start(arguments, format);
  vsnprintf(test->context, sizeof test->context, format, arguments);
  va_end(arguments);
  if (test->verbose) {
    printf("# %s\n", test->context);
    fflush(stdout);
  }
}

void cf_test_skip(CfTest *test, const char *format, ...)
{
  va_list arguments;

  va_start(arguments, format);
  vsnprintf(test->skipped, sizeof test->skipped, format, arguments);
  va_end(arguments);
}

bool cf_test_expect(CfTest *test, bool condition, const char *file, int line, const char *format,
                    ...)
{
  if (condition)
    return true;
  if (test->failures++ < MAX_PRINTED_FAILURES) {
    const char *slash = strrchr(file, '/');
    va_list arguments;

    printf("# %s:%d: ", slash ? slash + 1 : file, line);
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    printf("\n");
    if (test->context[0])
      printf("#   with %s\n", test->context);
  }
  return false;
}

static bool judge(CfTest *test, const CfTestPicture *got, const CfDifference *difference)
{
  const CfOffender *first = &difference->first;
  const CfVideo *video = &got->video;
  char alpha[64] = "";

  CF_EXPECT(test, !difference->low_bits, "bits below the code values are set");
  if (first->plane < 0)
    return !difference->low_bits;
  if (first->got_alpha >= 0)
    snprintf(alpha, sizeof alpha, " (alpha got %d, want %d)", first->got_alpha, first->want_alpha);
  return CF_EXPECT(test, false,
                   "%s %dx%d: plane %d x %d y %d %s: got %d, want %d%s; worst difference %g, "
                   "%ld of %ld samples differ, %.1f dB",
                   cf_format_info(video->format)->name, video->width, video->height, first->plane,
                   first->x, first->y, cf_role_name(first->role), first->got, first->want, alpha,
                   difference->worst, difference->differing, difference->samples, difference->psnr);
}

bool cf_test_compare(CfTest *test, const CfTestPicture *got, const CfTestPicture *want,
                     double tolerance)
{
  const CfDifference difference = cf_picture_compare(got, want, tolerance);

  return judge(test, got, &difference);
}

bool cf_test_compare_exact(CfTest *test, const CfTestPicture *got, const CfTestPicture *want)
{
  const CfDifference difference = cf_picture_compare_exact(got, want);

  return judge(test, got, &difference);
}

/* ---- An engine under test ---- */

struct CfRig {
  CfTest *test;
  const CfEngine *engine;
  const CfMemory *memory; /* NULL where the engine works in host memory */
  CfFilter *filter;
  bool packs;               /* packs pictures for the filter */
  const CfRegions *regions; /* of the following jobs */
  double seconds;           /* likewise */
  bool fresh;
};

static bool params_allowed(CfTest *test, const CfVideo *video, const CfVideo *destination,
                           const void *params)
{
  const CfEffect *effect = test->effect;
  CfStatus status = {CF_OK, ""};
  const bool allowed = cf_params_check(effect->params, params, &status) &&
                       (!effect->check || effect->check(video, params, &status)) &&
                       (!destination || effect->check_destination(video, destination, &status));

  return CF_EXPECT(test, allowed, "the params are refused: %s", status.message);
}

CfRig *cf_rig_open_to(CfTest *test, const CfEngine *engine, const CfVideo *video,
                      const CfVideo *destination, const void *params, int threads)
{
  CfStatus status = {CF_OK, ""};
  CfRig rig = {.test = test, .engine = engine};
  CfVideo handed = *video;

  if (!params_allowed(test, video, destination, params))
    return NULL;
  if (engine->device_memory) {
    rig.memory = cf_device_memory(&status);
    if (!CF_EXPECT(test, rig.memory, "no device: %s", status.message))
      return NULL;
  }
  const CfOpenOptions options = {.threads = threads,
                                 .device = rig.memory ? rig.memory->device() : NULL,
                                 .destination = destination};
  rig.packs = (engine == test->engine || !test->engine) && video->format == test->format &&
              test->handed != test->format;
  if (rig.packs)
    handed.format = test->handed;
  rig.filter = cf_filter_open(engine, &handed, params, &options, &status);
  if (!CF_EXPECT(test, rig.filter, "%s does not open: %s", engine->name, status.message))
    return NULL;

  CfRig *result = malloc(sizeof *result);
  if (!CF_EXPECT(test, result, "no memory for a rig")) {
    cf_filter_close(rig.filter);
    return NULL;
  }
  *result = rig;
  return result;
}

CfRig *cf_rig_open(CfTest *test, const CfEngine *engine, const CfVideo *video, const void *params,
                   int threads)
{
  return cf_rig_open_to(test, engine, video, NULL, params, threads);
}

bool cf_rig_update(CfRig *rig, const void *params)
{
  CfStatus status = {CF_OK, ""};

  return CF_EXPECT(rig->test, cf_filter_update(rig->filter, params, &status),
                   "%s does not update: %s", rig->engine->name, status.message);
}

void cf_rig_set_regions(CfRig *rig, const CfRegions *regions)
{
  rig->regions = regions;
}

void cf_rig_set_pace(CfRig *rig, double seconds, bool fresh)
{
  rig->seconds = seconds;
  rig->fresh = fresh;
}

static bool run_on_device(CfRig *rig, const CfTestPicture *source, CfTestPicture *destination)
{
  const CfMemory *memory = rig->memory;
  CfStatus status = {CF_OK, "a transfer failed"};
  CfMirror from = {.memory = memory}, to = {.memory = memory};
  CfTestPicture *returned = NULL; /* the source after the run */
  CfJob job = {.stream = memory->stream(),
               .regions = rig->regions,
               .seconds = rig->seconds,
               .fresh = rig->fresh};

  bool good = cf_mirror_init(&to, memory, destination) && cf_mirror_upload(&to, destination);
  if (source)
    good = good && cf_mirror_init(&from, memory, source) && cf_mirror_upload(&from, source);
  job.destination = to.planes;
  job.source = source ? from.planes : to.planes;
  good = good && cf_filter_run(rig->filter, &job, &status);
  good = memory->synchronize() && good;
  good = good && cf_mirror_download(&to, destination);
  if (good && source) {
    returned = cf_picture_copy(source, source->layout);
    good = cf_mirror_download(&from, returned);
    CF_EXPECT(rig->test, cf_picture_hash(returned) == cf_picture_hash(source),
              "%s changed its source", rig->engine->name);
    cf_picture_free(returned);
  }
  cf_mirror_free(&from);
  cf_mirror_free(&to);
  return CF_EXPECT(rig->test, good, "%s does not run: %s", rig->engine->name, status.message);
}

static bool run_on_host(CfRig *rig, const CfTestPicture *source, CfTestPicture *destination)
{
  const CfJob job = {.source = source ? source->planes : destination->planes,
                     .destination = destination->planes,
                     .regions = rig->regions,
                     .seconds = rig->seconds,
                     .fresh = rig->fresh};
  const uint64_t before = source ? cf_picture_hash(source) : 0;
  CfStatus status = {CF_OK, ""};

  if (!CF_EXPECT(rig->test, cf_filter_run(rig->filter, &job, &status), "%s does not run: %s",
                 rig->engine->name, status.message))
    return false;
  return CF_EXPECT(rig->test, !source || cf_picture_hash(source) == before, "%s changed its source",
                   rig->engine->name);
}

static bool run_and_check(CfRig *rig, const CfTestPicture *source, CfTestPicture *destination)
{
  long row, byte;
  int plane;

  if (source)
    cf_picture_poison(destination);
  if (!(rig->memory ? run_on_device : run_on_host)(rig, source, destination))
    return false;
  if (cf_picture_guards(destination, &plane, &row, &byte))
    return true;
  return CF_EXPECT(rig->test, false, "%s wrote outside plane %d: row %ld, byte %ld of %zu",
                   rig->engine->name, plane, row, byte, cf_row_bytes(&destination->video, plane));
}

static bool run_packed(CfRig *rig, const CfTestPicture *source, CfTestPicture *destination)
{
  const CfFormat format = rig->test->handed;
  CfTestPicture *from = source ? cf_picture_packed(source, format, source->layout) : NULL;
  CfTestPicture *to = cf_picture_packed(destination, format, destination->layout), *again;
  bool good = run_and_check(rig, from, to);

  cf_picture_unpack(to, destination);
  again = cf_picture_packed(destination, format, destination->layout);
  good = good && CF_EXPECT(rig->test, cf_picture_compare_exact(to, again).first.plane < 0,
                           "%s changed the luma that is no pixel's", rig->engine->name);
  cf_picture_free(from);
  cf_picture_free(to);
  cf_picture_free(again);
  return good;
}

bool cf_rig_run(CfRig *rig, const CfTestPicture *source, CfTestPicture *destination)
{
  return (rig->packs ? run_packed : run_and_check)(rig, source, destination);
}

const char *cf_rig_algorithm(const CfRig *rig)
{
  return cf_filter_algorithm(rig->filter);
}

void cf_rig_close(CfRig *rig)
{
  if (!rig)
    return;
  cf_filter_close(rig->filter);
  free(rig);
}

bool cf_test_filter(CfTest *test, const CfEngine *engine, const void *params, int threads,
                    const CfTestPicture *source, CfTestPicture *destination)
{
  const bool converts = test->effect->check_destination;
  CfRig *rig = cf_rig_open_to(test, engine, source ? &source->video : &destination->video,
                              converts ? &destination->video : NULL, params, threads);
  const bool good = rig && cf_rig_run(rig, source, destination);

  cf_rig_close(rig);
  return good;
}

CfTestPicture *cf_test_reference(CfTest *test, const void *params, const CfTestPicture *source)
{
  CfTestPicture *result = cf_picture_new(&source->video, source->layout);

  if (cf_test_filter(test, test->effect->engines[0], params, 1, source, result))
    return result;
  cf_picture_free(result);
  return NULL;
}

/* ---- The runner ---- */

typedef struct {
  const CfTestSuite *suite;
  uint64_t seed;
  bool list, verbose;
  bool limits_nothing; /* --cpu is no limit here */
  char **filters;      /* parts of names; any one suffices */
  int filter_count;
  int number, failed; /* lines so far */
} Runner;

static bool wanted(const Runner *runner, const char *name)
{
  for (int i = 0; i < runner->filter_count; i++) {
    if (strstr(name, runner->filters[i]))
      return true;
  }
  return runner->filter_count == 0;
}

/* Every name has a seed of its own, so that a case behaves the same alone and among others. */
static uint64_t seed_for(uint64_t seed, const char *name)
{
  CfRandom random = {seed};

  for (; *name; name++)
    random.state ^= cf_random(&random) + (uint8_t)*name;
  return cf_random(&random);
}

static void run_line(Runner *runner, const CfTestCase *test_case, const CfEngine *engine,
                     const CfFormatInfo *format, CfFormat format_id)
{
  CfStatus status = {CF_OK, ""};
  char name[160];

  snprintf(name, sizeof name, "%s%s%s%s%s", engine ? engine->name : "", engine ? "/" : "",
           test_case->name, format ? "/" : "", format ? format->name : "");
  if (!wanted(runner, name))
    return;
  runner->number++;
  if (runner->list) {
    printf("%s\n", name);
    return;
  }

  const CfVideo video = cf_video(format_id, 1, 1);
  CfTest test = {.effect = runner->suite->effect,
                 .engine = engine,
                 .format = cf_planar_video(&video).format,
                 .handed = format_id,
                 .seed = seed_for(runner->seed, name),
                 .name = name,
                 .verbose = runner->verbose};
  test.random.state = test.seed;
  if (engine && engine->device_memory && !cf_device_memory(&status))
    cf_test_skip(&test, "%s", status.message);
  else
    test_case->run(&test);

  if (test.failures > MAX_PRINTED_FAILURES)
    printf("# and %d more failures\n", test.failures - MAX_PRINTED_FAILURES);
  runner->failed += test.failures > 0;
  printf("%sok %d - %s", test.failures ? "not " : "", runner->number, name);
  if (test.skipped[0] && !test.failures)
    printf(" # SKIP %s", test.skipped);
  printf("\n");
  fflush(stdout);
}

static void run_formats(Runner *runner, const CfTestCase *test_case, const CfEngine *engine)
{
  if (!(test_case->each & CF_EACH_FORMAT)) {
    run_line(runner, test_case, engine, NULL, CF_FORMAT_GRAY8);
    return;
  }
  for (int i = 0; i < CF_FORMAT_COUNT; i++)
    run_line(runner, test_case, engine, cf_format_info((CfFormat)i), (CfFormat)i);
}

static void run_case(Runner *runner, const CfTestCase *test_case)
{
  if (!(test_case->each & (CF_EACH_ENGINE | CF_EACH_OTHER_ENGINE))) {
    run_formats(runner, test_case, NULL);
    return;
  }
  for (const CfEngine *const *row = runner->suite->effect->engines; *row; row++) {
    if ((test_case->each & CF_EACH_ENGINE) || strcmp((*row)->name, "reference") != 0)
      run_formats(runner, test_case, *row);
  }
}

static bool parse_command_line(Runner *runner, int argc, char **argv)
{
  int i = 1;

  for (; i < argc && strncmp(argv[i], "--", 2) == 0; i++) {
    if (strcmp(argv[i], "--list") == 0) {
      runner->list = true;
    } else if (strcmp(argv[i], "--verbose") == 0) {
      runner->verbose = true;
    } else if (strcmp(argv[i], "--cpu") == 0 && i + 1 < argc) {
      CfCpuLevel limit;
      if (!cf_cpu_level_named(argv[++i], &limit) || setenv("CUDAFILTERS_CPU", argv[i], true) != 0)
        return false;
      runner->limits_nothing = limit >= cf_cpu_processor_level();
      if (!runner->limits_nothing && cf_cpu_level() != limit) {
        fprintf(stderr, "the engines are not limited to %s\n", argv[i]);
        return false;
      }
    } else if (strcmp(argv[i], "--seed") == 0 && i + 1 < argc) {
      char *end;
      errno = 0;
      runner->seed = strtoull(argv[++i], &end, 0);
      if (errno || *end || end == argv[i])
        return false;
    } else {
      return false;
    }
  }
  runner->filters = argv + i;
  runner->filter_count = argc - i;
  return true;
}

int cf_test_main(const CfTestSuite *suite, int argc, char **argv)
{
  Runner runner = {.suite = suite, .seed = DEFAULT_SEED};

  if (!parse_command_line(&runner, argc, argv)) {
    fprintf(stderr, "usage: %s [--list] [--verbose] [--cpu LEVEL] [--seed N] [PART-OF-A-NAME...]\n",
            argv[0]);
    return 2;
  }
  if (runner.limits_nothing) {
    printf("1..0 # SKIP this processor has no more than that\n");
    return 0;
  }
  if (!runner.list)
    printf("# seed %llu\n", (unsigned long long)runner.seed);
  for (const CfTestCase *test_case = suite->cases; test_case->name; test_case++)
    run_case(&runner, test_case);
  if (runner.number == 0) {
    fprintf(stderr, "no test has such a name; --list prints them all\n");
    return 2;
  }
  if (!runner.list)
    printf("1..%d\n", runner.number);
  return runner.failed ? 1 : 0;
}
