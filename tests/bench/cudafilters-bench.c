/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The benchmark's command line: what to measure, and how the result is printed.
 */
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "energy.h"
#include "measure.h"
#include "streams.h"

#define MAX_SIZE 32768

#define MOST_REGIONS 1000
#define REGION_SIDE  128

/* What the command line asks for. */
typedef struct {
  const CfEffect *effect;
  const char *element, *backend;
  void *params;
  CfVideo video, destination; /* destination: of effects that make other pictures */
  CfAlphaFill alpha;
  int threads, runs, streams, regions;
  bool json, energy;
} Request;

static const char *const elements[] = {"cudallf", "cudagaussblur", "cudablockavg", "cudasepconv",
                                       "cudatonemap"};
#define ELEMENT_COUNT ((int)(sizeof elements / sizeof elements[0]))

/* An element is called as its effect, with "cuda" before. */
static const CfEffect *effect_of(const char *element)
{
  for (int i = 0; i < ELEMENT_COUNT; i++) {
    if (strcmp(element, elements[i]) == 0)
      return cf_effect(element + strlen("cuda"));
  }
  return NULL;
}

/* ---- Help ---- */

static void print_choices(const CfParam *param)
{
  for (const CfChoice *choice = param->choices; choice->nick; choice++)
    printf("%s%s", choice == param->choices ? " " : "|", choice->nick);
}

static void print_param(const CfParam *param)
{
  printf("    %-17s", param->name);
  switch (param->type) {
  case CF_PARAM_DOUBLE:
  case CF_PARAM_INT:
    printf(" %g..%g", param->minimum, param->maximum);
    break;
  case CF_PARAM_BOOL:
    printf(" true|false");
    break;
  case CF_PARAM_ENUM:
    print_choices(param);
    break;
  case CF_PARAM_FLAGS:
    print_choices(param);
    printf(" joined by +");
    break;
  case CF_PARAM_COLOR:
    printf(" 0xAARRGGBB");
    break;
  case CF_PARAM_KERNEL:
    printf(" numbers such as <1,4,6,4,1>");
    break;
  }
  printf("\n");
}

static void print_help(void)
{
  printf(
      "Times one filter of gst-cuda-filters beside a copy of the same frames.\n\n"
      "  cudafilters-bench --element NAME --backend B --format F --size WxH [OPTION]...\n\n"
      "  --element NAME        one of those below\n"
      "  --backend B           reference, cpu or cuda\n"
      "  --format F            a video format as in caps, such as NV12 or RGBA\n"
      "  --output-format F     what cudatonemap makes of it (default NV12)\n"
      "  --size WxH            frame size in pixels, such as 1920x1080\n"
      "  --property NAME=VALUE a property of the element; may be given again\n"
      "  --threads N           CPU threads, 0 = all (default 0)\n"
      "  --runs N              measured runs, 0 = as many as 2 seconds take (default 0)\n"
      "  --alpha A             of the frames: opaque, random, transparent (default opaque)\n"
      "  --streams N           N filters at once, each in a thread of its own: frames a second\n"
      "                        of all together\n"
      "  --regions N           filter N squares of 128x128 that do not touch, where they fit,\n"
      "                        instead of the whole frame\n"
      "  --energy              the energy of a frame too, where the machine says it\n"
      "  --json                print one JSON object instead of a sentence\n"
      "  --batch FILE          instead of all these: a row of them a line; frames are made once\n"
      "                        for lines that follow each other with the same format, size and\n"
      "                        alpha (-: standard input)\n"
      "  --help                print this\n\n"
      "Formats:");
  for (int i = 0; i < CF_FORMAT_COUNT; i++)
    printf(" %s", cf_format_info((CfFormat)i)->name);
  printf("\n\nElements and their properties:\n");
  for (int i = 0; i < ELEMENT_COUNT; i++) {
    printf("  %s\n", elements[i]);
    for (const CfParam *param = effect_of(elements[i])->params; param->name; param++)
      print_param(param);
  }
}

/* ---- Command line ---- */

static bool parse_whole(const char *text, int maximum, int *number)
{
  char *end;
  long value;

  errno = 0;
  value = strtol(text, &end, 10);
  if (errno || end == text || *end || value < 0 || value > maximum)
    return false;
  *number = (int)value;
  return true;
}

static bool parse_size(const char *text, int *width, int *height, CfStatus *status)
{
  char copy[32], *cross;

  snprintf(copy, sizeof copy, "%s", text);
  cross = strchr(copy, 'x');
  if (cross) {
    *cross = '\0';
    if (parse_whole(copy, MAX_SIZE, width) && parse_whole(cross + 1, MAX_SIZE, height) &&
        *width > 0 && *height > 0)
      return true;
  }
  return cf_fail(status, CF_ERROR_INVALID,
                 "--size is \"%s\"; it must be like 1920x1080, each from 1 to %d", text, MAX_SIZE);
}

static bool parse_element(Request *request, const char *name, CfStatus *status)
{
  request->effect = effect_of(name);
  request->element = name;
  if (!request->effect)
    return cf_fail(status, CF_ERROR_INVALID,
                   "there is no element \"%s\"; there are cudallf, cudagaussblur, cudablockavg, "
                   "cudasepconv and cudatonemap",
                   name);
  request->params = calloc(1, request->effect->params_size);
  if (!request->params)
    return cf_fail(status, CF_ERROR_NO_MEMORY, "no memory for the properties");
  cf_params_init(request->effect->params, request->params);
  return true;
}

static bool parse_property(Request *request, const char *text, CfStatus *status)
{
  const char *equals = strchr(text, '=');
  char name[64];

  if (!equals || equals == text || (size_t)(equals - text) >= sizeof name)
    return cf_fail(status, CF_ERROR_INVALID, "--property is \"%s\"; it must be like sigma=2.5",
                   text);
  snprintf(name, sizeof name, "%.*s", (int)(equals - text), text);
  if (!cf_params_find(request->effect->params, name))
    return cf_fail(status, CF_ERROR_INVALID, "%s has no property \"%s\"; --help lists them",
                   request->element, name);
  return cf_params_parse(request->effect->params, request->params, name, equals + 1, status);
}

static bool parse_alpha(const char *text, CfAlphaFill *alpha, CfStatus *status)
{
  for (int i = 0; i < CF_ALPHA_COUNT; i++) {
    if (strcmp(text, cf_alpha_fill_name((CfAlphaFill)i)) == 0) {
      *alpha = (CfAlphaFill)i;
      return true;
    }
  }
  return cf_fail(status, CF_ERROR_INVALID,
                 "--alpha is \"%s\"; it must be opaque, random or transparent", text);
}

/* The options as text, before anything depends on anything else. */
typedef struct {
  const char *element, *backend, *format, *output_format, *size, *alpha, *threads, *runs, *streams,
      *regions, *batch;
  const char **properties; /* of argc entries */
  int property_count;
  bool json, energy, help;
} Options;

static bool read_options(Options *options, int argc, char **argv, CfStatus *status)
{
  enum {
    ELEMENT = 1,
    BACKEND,
    FORMAT,
    OUTPUT_FORMAT,
    SIZE,
    PROPERTY,
    THREADS,
    RUNS,
    ALPHA,
    STREAMS,
    REGIONS,
    BATCH,
    ENERGY,
    JSON,
    HELP
  };
  static const struct option table[] = {{"element", required_argument, NULL, ELEMENT},
                                        {"backend", required_argument, NULL, BACKEND},
                                        {"format", required_argument, NULL, FORMAT},
                                        {"output-format", required_argument, NULL, OUTPUT_FORMAT},
                                        {"size", required_argument, NULL, SIZE},
                                        {"property", required_argument, NULL, PROPERTY},
                                        {"threads", required_argument, NULL, THREADS},
                                        {"runs", required_argument, NULL, RUNS},
                                        {"alpha", required_argument, NULL, ALPHA},
                                        {"streams", required_argument, NULL, STREAMS},
                                        {"regions", required_argument, NULL, REGIONS},
                                        {"batch", required_argument, NULL, BATCH},
                                        {"energy", no_argument, NULL, ENERGY},
                                        {"json", no_argument, NULL, JSON},
                                        {"help", no_argument, NULL, HELP},
                                        {NULL, 0, NULL, 0}};
  const char **const texts[] = {[ELEMENT] = &options->element,
                                [BACKEND] = &options->backend,
                                [FORMAT] = &options->format,
                                [SIZE] = &options->size,
                                [THREADS] = &options->threads,
                                [RUNS] = &options->runs,
                                [ALPHA] = &options->alpha,
                                [STREAMS] = &options->streams,
                                [REGIONS] = &options->regions,
                                [BATCH] = &options->batch,
                                [OUTPUT_FORMAT] = &options->output_format};
  int option;

  opterr = 0;
  optind = 0; /* once more from the start */
  while ((option = getopt_long(argc, argv, "", table, NULL)) != -1) {
    if (option == '?')
      return cf_fail(status, CF_ERROR_INVALID, "%s is no option or lacks its value; see --help",
                     argv[optind - 1]);
    if (option == JSON)
      options->json = true;
    else if (option == ENERGY)
      options->energy = true;
    else if (option == HELP)
      options->help = true;
    else if (option == PROPERTY)
      options->properties[options->property_count++] = optarg;
    else
      *texts[option] = optarg;
  }
  if (optind < argc)
    return cf_fail(status, CF_ERROR_INVALID, "\"%s\" is not an option; see --help", argv[optind]);
  if (!options->help && !options->batch &&
      (!options->element || !options->backend || !options->format || !options->size))
    return cf_fail(status, CF_ERROR_INVALID,
                   "--element, --backend, --format and --size are needed; see --help");
  return true;
}

/* Of effects that make other pictures, which take HDR: PQ here. */
static bool parse_output(const Options *options, Request *request, CfStatus *status)
{
  CfFormat format = CF_FORMAT_NV12;

  if (!request->effect->check_destination)
    return !options->output_format ||
           cf_fail(status, CF_ERROR_INVALID, "--output-format is for cudatonemap only");
  if (options->output_format && !cf_format_from_name(options->output_format, &format))
    return cf_fail(status, CF_ERROR_INVALID, "there is no format \"%s\"; --help lists them",
                   options->output_format);
  request->destination = cf_video(format, request->video.width, request->video.height);
  request->video.transfer = CF_TRANSFER_PQ;
  return request->effect->check_destination(&request->video, &request->destination, status);
}

static bool understand(const Options *options, Request *request, CfStatus *status)
{
  CfFormat format;
  int width = 0, height = 0;

  if (!parse_element(request, options->element, status))
    return false;
  for (int i = 0; i < options->property_count; i++) {
    if (!parse_property(request, options->properties[i], status))
      return false;
  }
  if (!cf_format_from_name(options->format, &format))
    return cf_fail(status, CF_ERROR_INVALID, "there is no format \"%s\"; --help lists them",
                   options->format);
  if (!parse_size(options->size, &width, &height, status))
    return false;
  if (options->alpha && !parse_alpha(options->alpha, &request->alpha, status))
    return false;
  if (options->threads && !parse_whole(options->threads, 1024, &request->threads))
    return cf_fail(status, CF_ERROR_INVALID, "--threads is \"%s\"; it must be 0 to 1024",
                   options->threads);
  if (options->runs && !parse_whole(options->runs, 1000000, &request->runs))
    return cf_fail(status, CF_ERROR_INVALID, "--runs is \"%s\"; it must be 0 to 1000000",
                   options->runs);
  if (options->streams &&
      (!parse_whole(options->streams, CF_BENCH_MAX_STREAMS, &request->streams) ||
       request->streams < 1))
    return cf_fail(status, CF_ERROR_INVALID, "--streams is \"%s\"; it must be 1 to %d",
                   options->streams, CF_BENCH_MAX_STREAMS);
  if (options->regions && !parse_whole(options->regions, MOST_REGIONS, &request->regions))
    return cf_fail(status, CF_ERROR_INVALID, "--regions is \"%s\"; it must be 0 to %d",
                   options->regions, MOST_REGIONS);
  request->backend = options->backend;
  request->video = cf_video(format, width, height);
  request->json = options->json;
  request->energy = options->energy;
  return parse_output(options, request, status) &&
         cf_effect_check(request->effect, &request->video, request->params, status);
}

static const CfEngine *find_engine(const Request *request, CfStatus *status)
{
  const CfEngine *engine = cf_effect_engine(request->effect, request->backend);
  char built[64] = "";

  if (!engine) {
    for (const CfEngine *const *row = request->effect->engines; *row; row++)
      snprintf(built + strlen(built), sizeof built - strlen(built), " %s", (*row)->name);
    cf_fail(status, CF_ERROR_INVALID, "backend \"%s\" is not in this build, which has:%s",
            request->backend, built);
    return NULL;
  }
  if (engine->device_memory && request->runs > CF_BENCH_MAX_DEVICE_RUNS) {
    cf_fail(status, CF_ERROR_INVALID, "--runs is %d; backend %s allows up to %d", request->runs,
            engine->name, CF_BENCH_MAX_DEVICE_RUNS);
    return NULL;
  }
  return engine;
}

/* ---- Result ---- */

/* Threads that the engine works on; 1 feeds a device, and the reference. */
static int threads_used(const Request *request)
{
  if (strcmp(request->backend, "cpu") != 0)
    return 1;
  return request->threads ? request->threads : (int)sysconf(_SC_NPROCESSORS_ONLN);
}

/* What every row begins with. */
static void print_work(const Request *request, const char *algorithm)
{
  const char *format = cf_format_info(request->video.format)->name;
  const int threads = threads_used(request);

  if (request->json)
    printf("{\"element\": \"%s\", \"backend\": \"%s\", \"algorithm\": \"%s\", \"format\": \"%s\", "
           "\"width\": %d, \"height\": %d, \"threads\": %d",
           request->element, request->backend, algorithm, format, request->video.width,
           request->video.height, threads);
  else
    printf("%s %s (%s) %s %dx%d, %d thread%s", request->element, request->backend, algorithm,
           format, request->video.width, request->video.height, threads, threads == 1 ? "" : "s");
}

static void print_times(const Request *request, const CfTimes *times, double millijoules)
{
  const double ratio = times->median_ms / times->copy_ms;

  print_work(request, times->algorithm);
  if (request->regions)
    printf(request->json ? ", \"regions\": %d" : ", %d regions", request->regions);
  if (request->json)
    printf(", \"runs\": %d, \"median_ms\": %.6g, \"min_ms\": %.6g, \"copy_ms\": %.6g, "
           "\"ratio\": %.4g",
           times->runs, times->median_ms, times->min_ms, times->copy_ms, ratio);
  else
    printf(": median %.4g ms, min %.4g ms; copy %.4g ms, ratio %.3g; %d runs", times->median_ms,
           times->min_ms, times->copy_ms, ratio, times->runs);
  if (request->json && times->cpu_ms > 0.0)
    printf(", \"cpu_ms\": %.6g", times->cpu_ms);
  if (millijoules > 0.0)
    printf(request->json ? ", \"frame_mj\": %.4g" : "; %.4g mJ a frame", millijoules);
  else if (request->energy)
    printf(request->json ? ", \"frame_mj\": null" : "; this machine does not say its energy");
  printf(request->json ? "}\n" : "\n");
}

static void print_rate(const Request *request, const CfRate *rate)
{
  print_work(request, rate->algorithm);
  printf(request->json ? ", \"streams\": %d, \"frames_per_second\": %.5g}\n"
                       : ": %d at once, %.5g frames a second together\n",
         request->streams, rate->frames_per_second);
}

/* ---- Rows ---- */

/* The regions on a grid over the frame. */
static CfRegions spread(CfRegion *region, const Request *request)
{
  const int count = request->regions, width = request->video.width, height = request->video.height;
  int columns = 1;

  while (columns * (columns * height / width) < count)
    columns++;
  const int rows = (count + columns - 1) / columns;
  for (int i = 0; i < count; i++)
    region[i] = (CfRegion){i % columns * width / columns, i / columns * height / rows, REGION_SIDE,
                           REGION_SIDE};
  return (CfRegions){.region = region, .count = count};
}

/* Those of the row before, if they will do: `warm`, since while new ones are made a processor slows
 * down. */
static bool prepare_frames(CfFrames **frames, const Request *request, const CfEngine *engine,
                           bool *warm, CfStatus *status)
{
  const bool converts = request->effect->check_destination;
  const CfMemory *memory = NULL;
  const CfFrames *old = *frames;

  if (engine->device_memory && !(memory = cf_device_memory(status)))
    return false;
  if (old && old->video.format == request->video.format &&
      old->video.width == request->video.width && old->video.height == request->video.height &&
      old->alpha == request->alpha && !old->memory == !memory && old->converts == converts &&
      (!converts || old->destination.format == request->destination.format)) {
    *warm = true;
    return true;
  }
  cf_frames_free(*frames);
  *frames = cf_frames_new(&request->video, converts ? &request->destination : NULL, request->alpha,
                          memory, status);
  return *frames;
}

static bool measure(const Request *request, CfFrames **frames, CfStatus *status)
{
  const CfEngine *engine = find_engine(request, status);
  bool warm = false;

  if (!engine || !prepare_frames(frames, request, engine, &warm, status))
    return false;
  CfRegion squares[MOST_REGIONS];
  const CfRegions regions = spread(squares, request);
  const CfWork work = {.engine = engine,
                       .frames = *frames,
                       .params = request->params,
                       .threads = request->threads,
                       .runs = request->runs,
                       .warm = warm,
                       .regions = request->regions ? &regions : NULL};
  if (request->regions && !engine->regions)
    return cf_fail(status, CF_ERROR_INVALID, "%s knows no regions", request->element);
  if (request->streams) {
    CfRate rate;

    if (!cf_measure_streams(&work, request->streams, &rate, status))
      return false;
    print_rate(request, &rate);
    return true;
  }
  CfTimes times;
  double millijoules = 0.0;

  if (!cf_measure(&work, &times, status) ||
      (request->energy && !cf_measure_energy(&work, &millijoules, status)))
    return false;
  print_times(request, &times, millijoules);
  return true;
}

static bool run_batch(const char *path, CfFrames **frames, CfStatus *status);

/* One command line. */
static bool run_row(int argc, char **argv, bool in_batch, CfFrames **frames, CfStatus *status)
{
  const char **properties = calloc((size_t)argc, sizeof *properties);
  Options options = {.properties = properties};
  Request request = {.alpha = CF_ALPHA_OPAQUE};
  bool good = properties && read_options(&options, argc, argv, status);

  if (good && options.help)
    print_help();
  else if (good && options.batch)
    good = in_batch ? cf_fail(status, CF_ERROR_INVALID, "--batch is not for a line of a batch")
                    : run_batch(options.batch, frames, status);
  else
    good = good && understand(&options, &request, status) && measure(&request, frames, status);
  if (!good && options.json && in_batch)
    printf("{\"error\": \"%s\"}\n", status->code == CF_ERROR_INVALID ? "refused" : "failed");
  fflush(stdout);
  free(request.params);
  free(properties);
  return good;
}

/* Goes on after a row that fails. */
static bool run_batch(const char *path, CfFrames **frames, CfStatus *status)
{
  enum { MOST_WORDS = 64 };
  FILE *file = strcmp(path, "-") == 0 ? stdin : fopen(path, "r");
  char line[4096];
  int failed = 0;

  if (!file)
    return cf_fail(status, CF_ERROR_INVALID, "--batch: %s cannot be read", path);
  while (fgets(line, sizeof line, file)) {
    char *words[MOST_WORDS + 1] = {"cudafilters-bench"}, *rest = NULL;
    int count = 1;
    CfStatus row = {CF_OK, ""};

    for (char *word = strtok_r(line, " \n", &rest); word && count < MOST_WORDS;
         word = strtok_r(NULL, " \n", &rest))
      words[count++] = word;
    if (count > 1 && !run_row(count, words, true, frames, &row)) {
      fprintf(stderr, "cudafilters-bench: %s\n", row.message);
      failed++;
    }
  }
  if (file != stdin)
    fclose(file);
  return !failed || cf_fail(status, CF_ERROR_FAILED, "rows that failed: %d", failed);
}

int main(int argc, char **argv)
{
  CfStatus status = {CF_OK, ""};
  CfFrames *frames = NULL;
  const bool good = run_row(argc, argv, false, &frames, &status);

  if (!good)
    fprintf(stderr, "cudafilters-bench: %s\n", status.message);
  cf_frames_free(frames);
  return good ? EXIT_SUCCESS : status.code == CF_ERROR_INVALID ? 2 : EXIT_FAILURE;
}
