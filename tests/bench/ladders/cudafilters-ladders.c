/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Climbs the ladders: every rung is compared with the reference on a small picture and with the
 * production kernel on the pictures that are timed, and timed beside it.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compare.h"
#include "measure.h"
#include "rung-engine.h"

/* Of the picture that is compared with the reference: odd, and of several bands. */
#define SMALL_WIDTH  453
#define SMALL_HEIGHT 533

#define DEFAULT_RUNS   40
#define SKIPPED_STATUS 77

static const CfLadder *const ladders[] = {&cf_ladder_blur_map,    &cf_ladder_block_mean,
                                          &cf_ladder_separable,   &cf_ladder_bands,
                                          &cf_ladder_convolution, &cf_ladder_matrix};
#define LADDER_COUNT ((int)(sizeof ladders / sizeof ladders[0]))

typedef struct {
  const char *only;
  int runs;
  bool list, json, check, help;
} Options;

/* A ladder being climbed. */
typedef struct {
  const CfLadder *ladder;
  const Options *options;
  void *params;                          /* of its effect */
  CfFrames *frames;                      /* NULL where nothing is timed */
  CfTestPicture *source, *want, *got;    /* small: what the reference makes */
  CfTestPicture *large_want, *large_got; /* of the first timed frame: the production kernel */
  double production_ms;
} Climb;

/* ---- Names ---- */

/* LADDER/RUNG, with warps where the ladder varies them. */
static void name_rung(char *text, size_t size, const CfLadder *ladder, const CfRung *rung)
{
  if (rung->warps)
    snprintf(text, size, "%s/%s, %d warp%s", ladder->name, rung->name, rung->warps,
             rung->warps == 1 ? "" : "s");
  else
    snprintf(text, size, "%s/%s", ladder->name, rung->name);
}

static bool wanted(const Options *options, const CfLadder *ladder, const CfRung *rung)
{
  char name[128];

  name_rung(name, sizeof name, ladder, rung);
  return !options->only || strncmp(name, options->only, strlen(options->only)) == 0;
}

static bool any_wanted(const Options *options, const CfLadder *ladder)
{
  for (int r = 0; r < ladder->rung_count; r++) {
    if (wanted(options, ladder, &ladder->rungs[r]))
      return true;
  }
  return false;
}

static void print_list(const Options *options)
{
  for (int l = 0; l < LADDER_COUNT; l++) {
    for (int r = 0; r < ladders[l]->rung_count; r++) {
      const CfRung *rung = &ladders[l]->rungs[r];
      char name[128];

      name_rung(name, sizeof name, ladders[l], rung);
      if (wanted(options, ladders[l], rung))
        printf("%-36s %s\n", name, rung->teaches);
    }
  }
}

static void print_help(void)
{
  printf("Times the same filters, written plainly at first and with one idea more on each rung of\n"
         "a ladder, beside the kernels of gst-cuda-filters, and checks what each rung makes.\n\n"
         "  cudafilters-ladders [OPTION]...\n\n"
         "  --list       print all rungs and what each teaches; needs no GPU\n"
         "  --only TEXT  rungs whose LADDER/RUNG starts with this, such as blur-map\n"
         "  --runs N     measured runs of each, 1 to %d (default %d)\n"
         "  --check      compare only, measure nothing\n"
         "  --json       print one JSON object a line instead of a table\n"
         "  --help       print this\n\n"
         "Without a GPU it ends with status %d.\n",
         CF_BENCH_MAX_DEVICE_RUNS, DEFAULT_RUNS, SKIPPED_STATUS);
}

/* ---- Command line ---- */

static bool read_runs(const char *text, int *runs, CfStatus *status)
{
  char *end;
  const long value = strtol(text, &end, 10);

  if (*text == '\0' || *end || value < 1 || value > CF_BENCH_MAX_DEVICE_RUNS)
    return cf_fail(status, CF_ERROR_INVALID, "--runs is \"%s\"; it must be 1 to %d", text,
                   CF_BENCH_MAX_DEVICE_RUNS);
  *runs = (int)value;
  return true;
}

static bool read_options(Options *options, int argc, char **argv, CfStatus *status)
{
  enum { LIST = 1, ONLY, RUNS, CHECK, JSON, HELP };
  static const struct option table[] = {{"list", no_argument, NULL, LIST},
                                        {"only", required_argument, NULL, ONLY},
                                        {"runs", required_argument, NULL, RUNS},
                                        {"check", no_argument, NULL, CHECK},
                                        {"json", no_argument, NULL, JSON},
                                        {"help", no_argument, NULL, HELP},
                                        {NULL, 0, NULL, 0}};
  int option;
  bool found = false;

  opterr = 0;
  while ((option = getopt_long(argc, argv, "", table, NULL)) != -1) {
    if (option == '?')
      return cf_fail(status, CF_ERROR_INVALID, "%s is no option or lacks its value; see --help",
                     argv[optind - 1]);
    if (option == RUNS && !read_runs(optarg, &options->runs, status))
      return false;
    if (option == ONLY)
      options->only = optarg;
    options->list |= option == LIST;
    options->check |= option == CHECK;
    options->json |= option == JSON;
    options->help |= option == HELP;
  }
  if (optind < argc)
    return cf_fail(status, CF_ERROR_INVALID, "\"%s\" is not an option; see --help", argv[optind]);
  for (int l = 0; l < LADDER_COUNT; l++)
    found |= any_wanted(options, ladders[l]);
  return found ||
         cf_fail(status, CF_ERROR_INVALID,
                 "--only is \"%s\"; no rung is called so: --list names them", options->only);
}

/* ---- One rung ---- */

static bool compare(const CfTestPicture *got, const CfTestPicture *want, double tolerance,
                    const char *beside, double *error, CfStatus *status)
{
  const CfDifference difference = cf_picture_compare(got, want, tolerance);
  const CfOffender *first = &difference.first;

  if (difference.worst > *error)
    *error = difference.worst;
  return first->plane < 0 ||
         cf_fail(status, CF_ERROR_FAILED,
                 "pixel %d, %d is %d, of %s it is %d; %ld of %ld pixels differ", first->x, first->y,
                 first->got, beside, first->want, difference.differing, difference.samples);
}

/* `error` is the largest difference from the reference. */
static bool check_rung(const Climb *climb, const CfRungParams *params, double *error,
                       CfStatus *status)
{
  const CfLadder *ladder = climb->ladder;
  const CfEngine *engine = cf_rung_engine(ladder);
  double ignored = 0.0;

  cf_picture_poison(climb->got);
  if (!cf_filter_once(engine, params, climb->source, climb->got, status) ||
      !compare(climb->got, climb->want, ladder->tolerance, "the reference", error, status))
    return false;
  if (!climb->frames)
    return true;
  cf_picture_poison(climb->large_got);
  return cf_filter_once(engine, params, climb->frames->frame[0].source, climb->large_got, status) &&
         compare(climb->large_got, climb->large_want, 1.0, "the production kernel", &ignored,
                 status);
}

static bool time_engine(const Climb *climb, const CfEngine *engine, const void *params,
                        CfTimes *times, CfStatus *status)
{
  const CfWork work = {
      .engine = engine, .frames = climb->frames, .params = params, .runs = climb->options->runs};

  return cf_measure(&work, times, status);
}

static void print_rung(const Climb *climb, const CfRung *rung, const CfTimes *times, double error)
{
  const CfLadder *ladder = climb->ladder;
  char name[128];

  name_rung(name, sizeof name, ladder, rung);
  if (climb->options->json) {
    printf("{\"ladder\": \"%s\", \"rung\": \"%s\", \"warps\": %d, \"width\": %d, \"height\": %d, "
           "\"error\": %g, \"teaches\": \"%s\"",
           ladder->name, rung->name, rung->warps, ladder->width, ladder->height, error,
           rung->teaches);
    if (climb->frames)
      printf(", \"median_ms\": %.6g, \"min_ms\": %.6g, \"copy_ms\": %.6g, \"production_ms\": %.6g",
             times->median_ms, times->min_ms, times->copy_ms, climb->production_ms);
    printf("}\n");
  } else if (climb->frames) {
    printf("%-36s %10.1f us %8.2f  error %g\n", name, 1e3 * times->median_ms,
           times->median_ms / climb->production_ms, error);
  } else {
    printf("%-36s error %g\n", name, error);
  }
  fflush(stdout);
}

static bool climb_rung(const Climb *climb, const CfRung *rung)
{
  const CfRungParams params = {.ladder = climb->ladder, .rung = rung};
  CfStatus status = {CF_OK, ""};
  CfTimes times = {.runs = 0};
  double error = 0.0;
  char name[128];

  if (check_rung(climb, &params, &error, &status) &&
      (!climb->frames ||
       time_engine(climb, cf_rung_engine(climb->ladder), &params, &times, &status))) {
    print_rung(climb, rung, &times, error);
    return true;
  }
  name_rung(name, sizeof name, climb->ladder, rung);
  fprintf(stderr, "cudafilters-ladders: %s: %s\n", name, status.message);
  return false;
}

/* ---- One ladder ---- */

static bool set_params(Climb *climb, CfStatus *status)
{
  const CfEffect *effect = cf_effect(climb->ladder->effect);
  char text[256], *rest = NULL;

  climb->params = calloc(1, effect->params_size);
  if (!climb->params)
    return cf_fail(status, CF_ERROR_NO_MEMORY, "no memory for settings");
  cf_params_init(effect->params, climb->params);
  snprintf(text, sizeof text, "%s", climb->ladder->settings);
  for (char *word = strtok_r(text, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
    char *value = strchr(word, '=');

    *value++ = '\0';
    if (!cf_params_parse(effect->params, climb->params, word, value, status))
      return false;
  }
  return true;
}

static bool prepare_check(Climb *climb, CfStatus *status)
{
  const CfEngine *reference = cf_effect_engine(cf_effect(climb->ladder->effect), "reference");
  const CfVideo video = cf_video(CF_FORMAT_GRAY8, SMALL_WIDTH, SMALL_HEIGHT);

  climb->source = cf_picture_new(&video, CF_LAYOUT_ALIGNED);
  climb->want = cf_picture_new(&video, CF_LAYOUT_ALIGNED);
  climb->got = cf_picture_new(&video, CF_LAYOUT_ALIGNED);
  cf_picture_fill(climb->source, CF_PATTERN_PHOTO, CF_ALPHA_OPAQUE, 5);
  return cf_filter_once(reference, climb->params, climb->source, climb->want, status);
}

static bool prepare_timing(Climb *climb, CfStatus *status)
{
  const CfLadder *ladder = climb->ladder;
  const CfVideo video = cf_video(CF_FORMAT_GRAY8, ladder->width, ladder->height);
  const CfEngine *production = cf_production_engine(ladder);
  const CfRungParams wrapped = {.ladder = ladder, .params = climb->params};
  const void *params = ladder->host_memory ? (const void *)&wrapped : climb->params;
  const CfMemory *memory = cf_device_memory(status);
  CfTimes times;

  climb->frames = cf_frames_new(&video, CF_ALPHA_OPAQUE, memory, status);
  if (!climb->frames)
    return false;
  climb->large_want = cf_picture_new(&video, CF_LAYOUT_ALIGNED);
  climb->large_got = cf_picture_new(&video, CF_LAYOUT_ALIGNED);
  if (!cf_filter_once(production, params, climb->frames->frame[0].source, climb->large_want,
                      status) ||
      !time_engine(climb, production, params, &times, status))
    return false;
  climb->production_ms = times.median_ms;
  if (!climb->options->json)
    printf("\n%s, %dx%d. cuda%s: %.1f us, times beside are multiples of it; a copy: %.1f us\n",
           ladder->title, ladder->width, ladder->height, ladder->effect, 1e3 * times.median_ms,
           1e3 * times.copy_ms);
  return true;
}

static bool climb_ladder(const CfLadder *ladder, const Options *options)
{
  Climb climb = {.ladder = ladder, .options = options};
  CfStatus status = {CF_OK, ""};
  bool good = set_params(&climb, &status) && prepare_check(&climb, &status) &&
              (options->check || prepare_timing(&climb, &status));

  if (!good)
    fprintf(stderr, "cudafilters-ladders: %s: %s\n", ladder->name, status.message);
  for (int r = 0; status.code == CF_OK && r < ladder->rung_count; r++) {
    if (wanted(options, ladder, &ladder->rungs[r]))
      good &= climb_rung(&climb, &ladder->rungs[r]);
  }
  cf_frames_free(climb.frames);
  cf_picture_free(climb.source);
  cf_picture_free(climb.want);
  cf_picture_free(climb.got);
  cf_picture_free(climb.large_want);
  cf_picture_free(climb.large_got);
  free(climb.params);
  return good;
}

int main(int argc, char **argv)
{
  Options options = {.runs = DEFAULT_RUNS};
  CfStatus status = {CF_OK, ""};
  bool good = true;

  if (!read_options(&options, argc, argv, &status)) {
    fprintf(stderr, "cudafilters-ladders: %s\n", status.message);
    return 2;
  }
  if (options.help || options.list) {
    if (options.help)
      print_help();
    else
      print_list(&options);
    return EXIT_SUCCESS;
  }
  if (!cf_device_memory(&status)) {
    fprintf(stderr, "cudafilters-ladders: skipped: %s\n", status.message);
    return SKIPPED_STATUS;
  }
  for (int l = 0; l < LADDER_COUNT; l++) {
    if (any_wanted(&options, ladders[l]))
      good &= climb_ladder(ladders[l], &options);
  }
  return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
